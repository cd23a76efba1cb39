package inferform.rules.SEC013

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "Kubernetes secrets are encrypted with a key of our own",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Set encryption_config with resources [\"secrets\"] and a KMS key.",
	"source": "AWS EKS best practices, envelope encryption; FC-33",
}

subjects := terraform.of_types({"aws_eks_cluster"})

expects := "the plan has a cluster" if input.plan.cloud

fail contains {"address": cluster.at, "message": "secrets are not encrypted with a key of our own"} if {
	some cluster in subjects
	not encrypted(cluster)
	not may_be(cluster)
}

unknown contains {"address": cluster.at, "message": "the key is known after apply only, and nothing shows where it comes from"} if {
	some cluster in subjects
	not encrypted(cluster)
	may_be(cluster)
}

encrypted(cluster) if {
	some config in terraform.blocks(cluster, "encryption_config")
	"secrets" in config.known.resources
	some provider in terraform.blocks(config, "provider")
	terraform.is_set(provider, "key_arn")
}

may_be(cluster) if terraform.is_unknown(cluster, "encryption_config")

may_be(cluster) if {
	some config in terraform.blocks(cluster, "encryption_config")
	terraform.has_unknown(config, "resources")
}

may_be(cluster) if {
	some config in terraform.blocks(cluster, "encryption_config")
	some provider in terraform.blocks(config, "provider")
	terraform.may_be_set(provider, "key_arn")
}
