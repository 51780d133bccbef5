module "net" {
  source  = "git::https://git.example.com/infra/net.git//sub?ref=v1.2.3"
  version = "~> 1.0"
  providers = {
    aws = aws.west
  }
}

module "app" { source = "../modules/app" }

module "vpc" {
  source = "terraform-aws-modules/vpc/aws" # a registry's
  name   = "x${var.y}"
}
