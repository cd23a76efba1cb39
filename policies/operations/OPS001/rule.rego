package inferform.rules.OPS001

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "Every replica is measured",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Turn observability on, or add a PodMonitor or ServiceMonitor that selects the pool's pods.",
	"source": "Readiness criterion: telemetry; requirement E6",
}

subjects := [pair | some pair in kubernetes.pairs; pair.pod.part != "worker"]

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": subject.pod.at, "message": "nothing reads the metrics of its pods"} if {
	some subject in subjects
	not scraped(subject.pod)
}

unknown := set()

pod_monitors := kubernetes.of_kinds({"PodMonitor"})

service_monitors := kubernetes.of_kinds({"ServiceMonitor"})

services := kubernetes.of_kinds({"Service"})

scraped(pod) if {
	some monitor in pod_monitors
	kubernetes.may_select(monitor.spec.selector, pod.labels)
	reaches(monitor, pod.namespace)
	kubernetes.selects(monitor.spec.selector, pod.labels)
}

scraped(pod) if {
	some monitor in service_monitors
	reaches(monitor, pod.namespace)
	some service in services
	kubernetes.selects(monitor.spec.selector, object.get(service.metadata, "labels", {}))
	kubernetes.selects({"matchLabels": service.spec.selector}, pod.labels)
}

reaches(monitor, namespace) if monitor.spec.namespaceSelector.any

reaches(monitor, namespace) if namespace in monitor.spec.namespaceSelector.matchNames

reaches(monitor, namespace) if {
	not monitor.spec.namespaceSelector
	kubernetes.namespace_of(monitor) == namespace
}
