package inferform.rules.CAP006

import rego.v1

import data.inferform.lib.plan

about := {
	"title": "A capacity block is used as it was bought",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Give the block its reservation_id, zone, max_nodes and a single instance type, and keep spot out of its pool.",
	"source": "FC-08; AWS EC2 user guide, Capacity Blocks for ML",
}

subjects := [{"entry": entry, "block": part} |
	some entry in plan.pools
	some part in entry.pool.purchase
	part.kind == "capacity_block"
]

fail contains {"address": subject.entry.at, "message": sprintf("the block has no %s", [name])} if {
	some subject in subjects
	some name in ["reservation_id", "zone", "ends_at"]
	object.get(subject.block, name, null) == null
}

fail contains {"address": subject.entry.at, "message": sprintf("the block lists %d instance types", [count(subject.block.instance_types)])} if {
	some subject in subjects
	count(subject.block.instance_types) != 1
}

fail contains {"address": subject.entry.at, "message": sprintf("the block is in %s, the pool is not", [subject.block.zone])} if {
	some subject in subjects
	subject.block.zone != null
	not subject.block.zone in subject.entry.pool.infrastructure.zones
}

fail contains {"address": subject.entry.at, "message": "block and spot nodes in one pool"} if {
	some subject in subjects
	some part in subject.entry.pool.purchase
	part.kind == "spot"
}

unknown := set()
