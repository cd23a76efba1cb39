package inferform.rules.CST001

import rego.v1

import data.inferform.lib.wording

about := {
	"title": "The steady fleet stays inside the budget",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Relax an objective, choose a cheaper purchase, or raise budget.usd_per_month.",
	"source": "Requirement A9",
}

subjects := [input.plan.cost | input.plan.cost.budget_usd_per_month != null]

expects := "the spec names a budget" if input.spec.budget.usd_per_month

fail contains {"address": "plan/cost", "message": sprintf("the steady fleet costs %s USD a month, the budget is %s", [wording.whole(cost.usd_per_month), wording.whole(cost.budget_usd_per_month)])} if {
	some cost in subjects
	cost.usd_per_month > cost.budget_usd_per_month
}

unknown := set()
