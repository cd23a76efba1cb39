package inferform.rules.SCL002

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "The scaler owns the replica count",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Leave spec.replicas out of a workload that is scaled, and write it where nothing scales.",
	"source": "FC-39",
}

subjects := [pair.pod | some pair in kubernetes.pairs; pair.pod.part != "worker"]

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": pod.at, "message": sprintf("spec.replicas %d and a scaler: every sync resets the count", [pod.workload.replicas])} if {
	some pod in subjects
	scaled(pod)
	pod.workload.replicas >= 0
}

fail contains {"address": pod.at, "message": "neither spec.replicas nor a scaler says how many"} if {
	some pod in subjects
	not scaled(pod)
	object.get(pod.workload, "replicas", null) == null
}

unknown := set()

scaled(pod) if kubernetes.reference(pod.namespace, pod.kind, pod.name) in targets

targets := {kubernetes.target_of(scaler) |
	some scaler in kubernetes.of_kinds({"ScaledObject", "HorizontalPodAutoscaler"})
}
