package inferform.rules.CST002

import rego.v1

import data.inferform.lib.plan

about := {
	"title": "Every pool has a price with its date and source",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Add the price of the instance type to the catalogue or the price file, with date and source.",
	"source": "Readiness criterion: cost accounting; requirement A9",
}

subjects := plan.pools

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": entry.at, "message": sprintf("%s nodes have no price", [part.kind])} if {
	some entry in subjects
	some part in entry.pool.purchase
	part.usd_per_hour <= 0
}

fail contains {"address": entry.at, "message": sprintf("the price of %s nodes has no %s", [part.kind, name])} if {
	some entry in subjects
	some part in entry.pool.purchase
	some name in ["price_as_of", "price_source"]
	object.get(part, name, "") == ""
}

fail contains {"address": entry.at, "message": "has no line in the cost of the plan"} if {
	some entry in subjects
	not line(entry) in lines
}

unknown := set()

line(entry) := sprintf("%s/%s", [entry.model_name, entry.pool_name])

lines := {name | input.plan.cost.by_pool[name]}
