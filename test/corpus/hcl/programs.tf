terraform {
  backend "kubernetes" {
    exec {
      command = "./x"
    }
  }
}

provider "kubernetes" {
  dynamic "exec" {
    for_each = [1]
    content {
      command = "./x"
    }
  }
}

module "m" {
  source = "./m"
}

removed {
  from = terraform_data.a
  provisioner "local-exec" {
    command = "./x"
  }
}
