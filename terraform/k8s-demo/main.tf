# What the demo on a cluster manages: one Deployment, whose state lies in a Secret of the cluster. A Deployment's selector cannot be changed, so that an
# edit of the one line with the label replaces it while it runs.

terraform {
  required_version = ">= 1.4"

  required_providers {
    kubernetes = {
      source = "hashicorp/kubernetes"
    }
  }

  backend "kubernetes" {
    namespace     = "sbx-demo-state"
    secret_suffix = "k8s-demo"
  }
}

# The backend finds the credential by KUBE_CONFIG_PATH; the releases of this provider differ in the name that they ask for.
provider "kubernetes" {
  config_path = "/run/sbx/cred/0"
}

variable "image" {
  type    = string
  default = "registry.k8s.io/pause:3.10"
}

locals {
  labels = {
    app = "web"
  }
}

resource "kubernetes_deployment" "web" {
  metadata {
    name      = "web"
    namespace = "sbx-demo"
  }

  spec {
    replicas = 1

    selector {
      match_labels = local.labels
    }

    template {
      metadata {
        labels = local.labels
      }

      spec {
        container {
          name  = "web"
          image = var.image

          resources {
            limits {
              cpu    = "100m"
              memory = "32Mi"
            }
          }
        }
      }
    }
  }
}
