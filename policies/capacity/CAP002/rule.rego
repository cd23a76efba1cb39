package inferform.rules.CAP002

import rego.v1

import data.inferform.lib.plan
import data.inferform.lib.terraform
import data.inferform.lib.wording

about := {
	"title": "A coupled pool lives in one Availability Zone",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Name one zone in models.MODEL.nodes.zones.",
	"source": "FC-07; AWS EC2 user guide, placement groups",
}

subjects := [entry |
	some entry in plan.pools
	bound(entry)
]

bound(entry) if entry.pool.infrastructure.coupled

bound(entry) if entry.pool.infrastructure.placement_group

bound(entry) if entry.pool.infrastructure.efa.interfaces > 0

bound(entry) if entry.pool.nodes_per_replica > 1

fail contains {"address": entry.at, "message": sprintf("spans %d zones: %s", [count(zones), wording.listed(zones)])} if {
	some entry in subjects
	zones := entry.pool.infrastructure.zones
	count(zones) != 1
}

# Several subnets of one zone are in order, but then somebody else's tool wrote them: ours passes one a zone.
fail contains {"address": group.at, "message": sprintf("a coupled pool with %d subnets", [count(group.known[name])])} if {
	some group in coupled_groups
	some name in ["subnet_ids", "vpc_zone_identifier"]
	not terraform.has_unknown(group, name)
	count(group.known[name]) != 1
}

unknown contains {"address": group.at, "message": sprintf("%s is known after apply only, and nothing shows where it comes from", [name])} if {
	some group in coupled_groups
	some name in ["subnet_ids", "vpc_zone_identifier"]
	terraform.may_be_set(group, name)
}

coupled_groups := [group |
	some group in terraform.of_types({"aws_eks_node_group", "aws_autoscaling_group"})
	group.name in names
]

names := {sprintf("%s-%s", [entry.model_name, entry.pool_name]) | some entry in subjects}
