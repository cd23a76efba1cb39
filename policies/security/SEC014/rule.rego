package inferform.rules.SEC014

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "The control plane writes its logs",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Enable the log types api, audit and authenticator.",
	"source": "AWS Foundational Security Best Practices EKS.8",
}

subjects := terraform.of_types({"aws_eks_cluster"})

expects := "the plan has a cluster" if input.plan.cloud

fail contains {"address": cluster.at, "message": sprintf("the %s log is off", [kind])} if {
	some cluster in subjects
	not terraform.has_unknown(cluster, "enabled_cluster_log_types")
	some kind in ["api", "audit", "authenticator"]
	not kind in object.get(cluster.known, "enabled_cluster_log_types", [])
}

unknown contains {"address": cluster.at, "message": "the log types are known after apply only"} if {
	some cluster in subjects
	terraform.has_unknown(cluster, "enabled_cluster_log_types")
}
