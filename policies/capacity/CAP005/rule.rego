package inferform.rules.CAP005

import rego.v1

about := {
	"title": "Destroying or replacing a pool is a decision",
	"severity": "warn",
	"needs": ["terraform"],
	"remedy": "Read the plan again: these nodes and the models on them go away. Rename nothing, or drain the pool first.",
	"source": "FC-38; peers' gap 6",
}

subjects := [change_ |
	document := input.terraform[stack]
	document.from != "synth"
	some change in document.resource_changes
	change.type in {"aws_eks_node_group", "aws_autoscaling_group", "aws_eks_cluster", "aws_s3_bucket", "aws_vpc"}
	change_ := {"at": sprintf("%s/%s", [stack, change.address]), "type": change.type, "actions": change.change.actions, "before": change.change.before}
]

fail contains {"address": change.at, "message": sprintf("%s with %d nodes", [verb(change), nodes(change)])} if {
	some change in subjects
	"delete" in change.actions
	change.type in {"aws_eks_node_group", "aws_autoscaling_group"}
}

fail contains {"address": change.at, "message": sprintf("%s with everything in it", [verb(change)])} if {
	some change in subjects
	"delete" in change.actions
	change.type in {"aws_eks_cluster", "aws_s3_bucket", "aws_vpc"}
}

unknown := set()

verb(change) := "is replaced" if "create" in change.actions

verb(change) := "is destroyed" if not "create" in change.actions

nodes(change) := change.before.scaling_config[0].desired_size

nodes(change) := change.before.desired_capacity
