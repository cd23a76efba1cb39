package inferform.rules.SEC012

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "The Kubernetes API is private or open to named ranges only",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Turn endpoint_private_access on, and endpoint_public_access off or list public_access_cidrs (cloud.endpoint.public_cidrs in the spec).",
	"source": "AWS Foundational Security Best Practices EKS.1",
}

subjects := terraform.of_types({"aws_eks_cluster"})

expects := "the plan has a cluster" if input.plan.cloud

# EKS opens the endpoint to the world where nothing is said.
fail contains {"address": cluster.at, "message": "the API is open to the internet"} if {
	some cluster in subjects
	some config in terraform.blocks(cluster, "vpc_config")
	public(config)
	not terraform.has_unknown(config, "public_access_cidrs")
	count(object.get(config.known, "public_access_cidrs", [])) == 0
}

fail contains {"address": cluster.at, "message": sprintf("the API is open to %s", [range])} if {
	some cluster in subjects
	some config in terraform.blocks(cluster, "vpc_config")
	public(config)
	some range in config.known.public_access_cidrs
	to_number(split(range, "/")[1]) < 8
}

fail contains {"address": cluster.at, "message": "nodes reach the API from outside the VPC only"} if {
	some cluster in subjects
	some config in terraform.blocks(cluster, "vpc_config")
	not terraform.is_true(config, "endpoint_private_access")
	not terraform.is_unknown(config, "endpoint_private_access")
}

unknown contains {"address": cluster.at, "message": sprintf("%s is known after apply only", [name])} if {
	some cluster in subjects
	some config in terraform.blocks(cluster, "vpc_config")
	some name in ["endpoint_private_access", "endpoint_public_access", "public_access_cidrs"]
	terraform.has_unknown(config, name)
}

public(config) if {
	object.get(config.known, "endpoint_public_access", true) in {true, "true"}
	not terraform.is_unknown(config, "endpoint_public_access")
}
