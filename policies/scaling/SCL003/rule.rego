package inferform.rules.SCL003

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan

about := {
	"title": "Scaling follows the model's own load",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Scale on queue, queue_wait, request_rate, kv_use, in_flight_tokens or ttft_p95; write ignoreNullValues \"false\" and a fallback between min and max.",
	"source": "Readiness criterion: token metrics; FC-27",
}

subjects := kubernetes.of_kinds({"ScaledObject", "HorizontalPodAutoscaler"})

expects := "the plan scales its pools" if count(plan.scaled) > 0

fail contains {"address": kubernetes.at(scaler), "message": "cpu and memory say nothing about a model on a GPU"} if {
	some scaler in subjects
	count(signals(scaler)) == 0
}

fail contains {"address": kubernetes.at(scaler), "message": sprintf("trigger %d counts missing metrics as no load", [number + 1])} if {
	some scaler in subjects
	scaler.spec.minReplicaCount > 0
	some number, trigger in scaler.spec.triggers
	trigger.type == "prometheus"
	object.get(trigger.metadata, "ignoreNullValues", "true") != "false"
}

fail contains {"address": kubernetes.at(scaler), "message": "has no fallback for the time without metrics"} if {
	some scaler in subjects
	scaler.kind == "ScaledObject"
	not scaler.spec.fallback.replicas
}

fail contains {"address": kubernetes.at(scaler), "message": sprintf("falls back to %d replicas, outside %d to %d", [scaler.spec.fallback.replicas, scaler.spec.minReplicaCount, scaler.spec.maxReplicaCount])} if {
	some scaler in subjects
	outside(scaler)
}

unknown := set()

# Triggers of KEDA and metrics of an HPA that are about more than processor and memory.
signals(scaler) := [one |
	some one in array.concat(object.get(scaler.spec, "triggers", []), object.get(scaler.spec, "metrics", []))
	not one.type in {"cpu", "memory", "Resource", "ContainerResource"}
]

outside(scaler) if scaler.spec.fallback.replicas < scaler.spec.minReplicaCount

outside(scaler) if scaler.spec.fallback.replicas > scaler.spec.maxReplicaCount
