package inferform.rules.CAP001

import rego.v1

import data.inferform.lib.plan

about := {
	"title": "Spot never carries people's requests alone",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Put on_demand, reserved or capacity_block with min_nodes of at least 1 before spot, or use profile batch.",
	"source": "Requirement A8",
}

subjects := plan.latency_sensitive

fail contains {"address": entry.at, "message": "every node that is always there is a spot node"} if {
	some entry in subjects
	count([part | some part in entry.pool.purchase; part.kind == "spot"]) > 0
	firm := sum([part.nodes.min | some part in entry.pool.purchase; part.kind != "spot"])
	firm == 0
}

fail contains {"address": entry.at, "message": sprintf("%d of %d steady nodes are spot, half is the most", [spot, entry.pool.nodes.steady])} if {
	some entry in subjects
	spot := sum([part.nodes.steady | some part in entry.pool.purchase; part.kind == "spot"])
	spot > entry.pool.nodes.steady / 2
}

unknown := set()
