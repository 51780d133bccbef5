terraform {
  required_version = ">= 1.5"
  required_providers {
    null = { source = "hashicorp/null", version = "~> 3.2" }
  }
  backend "s3" {
    bucket     = "states"
    key        = "prod/terraform.tfstate" # where
    secret_key = "not for anybody"
    assume_role = { role_arn = "arn:x", token = "t" }
  }
}

resource "terraform_data" "x" {
  input = "a ${upper("b ${"c"}")} $${not} %{ if true }d%{ endif }"
  provisioner "local-exec" {
    command = <<-EOT
      echo } "${self.id}"
    EOT
  }
}
