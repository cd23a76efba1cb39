package inferform.rules.SRV005

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "Nodes drain one replica at a time",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Add a PodDisruptionBudget with maxUnavailable 1 that selects the pool's pods.",
	"source": "Peers' gap 6; Kubernetes, disruptions",
}

subjects := [pair | some pair in kubernetes.pairs; pair.pod.part != "worker"]

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": subject.pod.at, "message": "no PodDisruptionBudget selects its pods"} if {
	some subject in subjects
	not subject.pod.at in covered_addresses
}

fail contains {"address": kubernetes.at(one.budget), "message": "allows no eviction at all, so nodes never drain"} if {
	some one in covered
	blocks(one.budget, one.replicas_min)
}

covered_addresses := {one.at | some one in covered}

covered := [one |
	some subject in subjects
	some budget in budgets(subject.pod)
	one := {"at": subject.pod.at, "budget": budget, "replicas_min": subject.entry.pool.replicas.min}
]

unknown := set()

all_budgets := kubernetes.of_kinds({"PodDisruptionBudget"})

budgets(pod) := [budget |
	some budget in all_budgets
	kubernetes.namespace_of(budget) == pod.namespace
	kubernetes.may_select(budget.spec.selector, pod.labels)
	kubernetes.selects(budget.spec.selector, pod.labels)
]

blocks(budget, replicas_min) if budget.spec.maxUnavailable in {0, "0", "0%"}

blocks(budget, replicas_min) if budget.spec.minAvailable == "100%"

blocks(budget, replicas_min) if {
	is_number(budget.spec.minAvailable)
	budget.spec.minAvailable >= replicas_min
}
