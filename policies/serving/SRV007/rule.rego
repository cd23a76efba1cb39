package inferform.rules.SRV007

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "A rollout can begin and end",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Write the strategy out: Recreate, or RollingUpdate with maxSurge and maxUnavailable of which one is above 0.",
	"source": "FC-40",
}

subjects := [workload |
	some pair in kubernetes.pairs
	workload := {"at": pair.pod.at, "kind": pair.pod.kind, "spec": pair.pod.workload}
	pair.pod.part != "worker"
]

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": subject.at, "message": "the rollout strategy is left to Kubernetes"} if {
	some subject in subjects
	subject.kind == "Deployment"
	not subject.spec.strategy.type
}

fail contains {"address": subject.at, "message": "maxSurge and maxUnavailable are not both written out"} if {
	some subject in subjects
	rolling(subject)
	count([1 | some name in ["maxSurge", "maxUnavailable"]; object.get(settings(subject), name, null) != null]) < 2
}

fail contains {"address": subject.at, "message": "maxSurge and maxUnavailable are both 0: no pod may go before another comes"} if {
	some subject in subjects
	settings(subject).maxSurge in {0, "0", "0%"}
	settings(subject).maxUnavailable in {0, "0", "0%"}
}

unknown := set()

rolling(subject) if subject.spec.strategy.type == "RollingUpdate"

rolling(subject) if subject.kind == "LeaderWorkerSet"

settings(subject) := object.get(subject.spec.strategy, "rollingUpdate", {}) if subject.kind == "Deployment"

settings(subject) := object.get(object.get(subject.spec, "rolloutStrategy", {}), "rollingUpdateConfiguration", {}) if subject.kind == "LeaderWorkerSet"
