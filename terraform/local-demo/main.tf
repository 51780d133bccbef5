# What the demo manages: two objects of Terraform's builtin provider, so that it needs no network and no cloud account. The second one stands for a
# live resource that must not be replaced unseen.

terraform {
  required_version = ">= 1.4"
}

variable "image" {
  type    = string
  default = "registry.example/web:1.0"
}

resource "terraform_data" "release" {
  input = "release of ${var.image}"
}

resource "terraform_data" "web" {
  input            = "the web server"
  triggers_replace = [var.image]
}

output "release" {
  value = terraform_data.release.output
}
