package inferform.rules.SRV002

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan

about := {
	"title": "GPUs and memory are guaranteed",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Set equal requests and limits for memory and for every device.",
	"source": "Kubernetes, extended resources and quality of service",
}

subjects := [pair | some pair in kubernetes.pairs; pair.entry.pool.infrastructure.gpus_per_node > 0]

expects := "the plan has models on GPUs" if count(plan.gpu_pools) > 0

fail contains {"address": subject.pod.at, "message": sprintf("asks for %d GPUs, the plan gives a pod %d", [gpus(subject.pod), subject.entry.pool.pod.gpus])} if {
	some subject in subjects
	gpus(subject.pod) != subject.entry.pool.pod.gpus
}

fail contains {"address": subject.pod.at, "message": sprintf("%s of %s: requests and limits differ", [name, container.name])} if {
	some subject in subjects
	some container in subject.pod.spec.containers
	limit := container.resources.limits[name]
	guaranteed(name)
	object.get(object.get(container.resources, "requests", {}), name, limit) != limit
}

fail contains {"address": subject.pod.at, "message": sprintf("%s has no memory limit", [container.name])} if {
	some subject in subjects
	some container in subject.pod.spec.containers
	not container.resources.limits.memory
}

unknown := set()

# Whole GPUs, and parts of one by the name that the device plugin gives them.
gpus(pod) := sum([to_number(amount) |
	some container in pod.spec.containers
	amount := container.resources.limits[name]
	startswith(name, "nvidia.com/")
])

guaranteed(name) if name == "memory"

guaranteed(name) if contains(name, "/")
