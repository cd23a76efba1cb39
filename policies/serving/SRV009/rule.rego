package inferform.rules.SRV009

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan

about := {
	"title": "Pods say whom they cost",
	"severity": "warn",
	"needs": ["plan", "objects"],
	"remedy": "Label the pods with inferform.dev/tenant, deployment, model and pool.",
	"source": "Readiness criterion: cost accounting; requirement A9",
}

subjects := kubernetes.serving

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": subject.at, "message": sprintf("has no label %s", [key])} if {
	some subject in subjects
	some key in ["inferform.dev/tenant", "inferform.dev/deployment", "inferform.dev/model", "inferform.dev/pool"]
	not subject.labels[key]
}

fail contains {"address": entry.at, "message": "no workload serves this pool"} if {
	some entry in plan.pools
	not entry.at in kubernetes.served
}

unknown := set()
