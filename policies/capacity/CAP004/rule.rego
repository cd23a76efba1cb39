package inferform.rules.CAP004

import rego.v1

import data.inferform.lib.plan
import data.inferform.lib.terraform

about := {
	"title": "GPU nodes keep other pods away",
	"severity": "deny",
	"needs": ["plan", "terraform"],
	"remedy": "Give the node group the pool's taint (NO_SCHEDULE) and the labels inferform.dev/model and inferform.dev/pool.",
	"source": "FC-14; EKS best practices, dedicated nodes",
}

# Nodes that Karpenter starts come from objects of the cluster, which CAP008 looks at.
subjects := [entry | some entry in plan.gpu_pools; grouped(entry)]

expects := "the plan has models on GPUs" if {
	some entry in plan.pools
	entry.pool.gpu != null
	grouped(entry)
}

grouped(entry) if object.get(entry.pool.infrastructure, "kind", "managed") != "karpenter"

fail contains {"address": entry.at, "message": "no node group or scaling group is made for this pool"} if {
	some entry in subjects
	not entry.at in pools_made
}

fail contains {"address": one.group.at, "message": sprintf("has no taint %s", [one.taint_key])} if {
	some one in made
	one.group.type == "aws_eks_node_group"
	not tainted(one.group, one.taint_key)
	not terraform.has_unknown(one.group, "taint")
}

fail contains {"address": one.group.at, "message": sprintf("has no label %s", [key])} if {
	some one in made
	one.group.type == "aws_eks_node_group"
	not terraform.is_unknown(one.group, "labels")
	some key in ["inferform.dev/model", "inferform.dev/pool"]
	not one.group.known.labels[key]
}

unknown contains {"address": one.group.at, "message": "taints are known after apply only"} if {
	some one in made
	one.group.type == "aws_eks_node_group"
	not tainted(one.group, one.taint_key)
	terraform.has_unknown(one.group, "taint")
}

# Self-managed nodes carry taint and labels in their user data; the tags of their group tell the autoscaler the same.
fail contains {"address": one.group.at, "message": sprintf("does not tell the autoscaler of the taint %s", [one.taint_key])} if {
	some one in made
	one.autoscaled
	one.group.type == "aws_autoscaling_group"
	key := sprintf("k8s.io/cluster-autoscaler/node-template/taint/%s", [one.taint_key])
	not key in {tag.known.key | some tag in terraform.blocks(one.group, "tag")}
	not terraform.is_unknown(one.group, "tag")
}

pools_made := {one.pool | some one in made}

# The groups of each pool. A capacity block is a group of its own, with the reservation in its name.
made := [one |
	some group in terraform.of_types({"aws_eks_node_group", "aws_autoscaling_group"})
	some wanted in wanteds
	wanted.name == split(group.name, "-cr-")[0]
	one := object.union(wanted, {"group": group})
]

wanteds := [wanted |
	some entry in subjects
	wanted := {
		"name": sprintf("%s-%s", [entry.model_name, entry.pool_name]),
		"pool": entry.at,
		"taint_key": entry.pool.infrastructure.taint_key,
		"autoscaled": object.get(entry.pool.infrastructure, "autoscaled", false),
	}
]

tainted(group, key) if {
	some taint in terraform.blocks(group, "taint")
	taint.known.key == key
	taint.known.effect == "NO_SCHEDULE"
}
