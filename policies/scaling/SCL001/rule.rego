package inferform.rules.SCL001

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan

about := {
	"title": "One workload has one scaler",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Keep one ScaledObject a workload, with all triggers in it, and no HorizontalPodAutoscaler beside it.",
	"source": "FC-28",
}

subjects := kubernetes.of_kinds({"ScaledObject", "HorizontalPodAutoscaler"})

expects := "the plan scales its pools" if count(plan.scaled) > 0

fail contains {"address": scaler.at, "message": sprintf("%s is scaled by %s too", [scaler.name, other.at])} if {
	some scaler in scalers
	some other in scalers
	scaler.target == other.target
	scaler.at != other.at
}

fail contains {"address": entry.at, "message": "nothing scales this pool"} if {
	some entry in plan.scaled
	entry.at in kubernetes.served
	not entry.at in pools_scaled
}

fail contains {"address": scaler.at, "message": sprintf("there is no %s %s to scale", [scaler.kind, scaler.name])} if {
	some scaler in scalers
	not scaler.target in workloads
}

unknown := set()

scalers := [scaler |
	some object_ in subjects
	scaler := {
		"at": kubernetes.at(object_),
		"kind": kubernetes.target_kind(object_),
		"name": object_.spec.scaleTargetRef.name,
		"target": kubernetes.target_of(object_),
	}
]

targets := {scaler.target | some scaler in scalers}

workloads := {kubernetes.reference(pod.namespace, pod.kind, pod.name) | some pod in kubernetes.pods}

pools_scaled := {pair.entry.at |
	some pair in kubernetes.pairs
	kubernetes.reference(pair.pod.namespace, pair.pod.kind, pair.pod.name) in targets
}
