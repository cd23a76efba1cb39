package inferform.rules.SRV004

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "Answers are finished before a pod goes",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Set terminationGracePeriodSeconds above preStop plus the time of the longest answer (lifecycle.grace in the spec).",
	"source": "FC-21",
}

subjects := kubernetes.pairs

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": subject.pod.at, "message": sprintf("killed after %d s, the plan gives it %d s", [grace(subject.pod), subject.entry.pool.lifecycle.grace_s])} if {
	some subject in subjects
	grace(subject.pod) < subject.entry.pool.lifecycle.grace_s
}

fail contains {"address": subject.pod.at, "message": sprintf("killed after %d s, the longest answer and the pause before it take %d s", [grace(subject.pod), longest(subject.entry)])} if {
	some subject in subjects
	subject.entry.model.task == "generate"
	grace(subject.pod) < longest(subject.entry)
}

fail contains {"address": subject.pod.at, "message": sprintf("killed after %d s, while the engine drains for %d s", [grace(subject.pod), drain])} if {
	some subject in subjects
	some container in subject.pod.spec.containers
	some drain in drains(container)
	grace(subject.pod) <= drain + subject.entry.pool.lifecycle.pre_stop_s
}

fail contains {"address": subject.pod.at, "message": "stops at once, before the gateway knows: no preStop pause"} if {
	some subject in subjects
	subject.pod.part != "worker"
	count([1 | some container in subject.pod.spec.containers; container.lifecycle.preStop]) == 0
}

unknown := set()

# Kubernetes gives 30 s where nothing is said.
grace(pod) := object.get(pod.spec, "terminationGracePeriodSeconds", 30)

longest(entry) := entry.pool.lifecycle.pre_stop_s + ceil((entry.model.max_output_tokens * entry.pool.tpot_ms.p50) / 1000)

drains(container) := [to_number(container.args[i + 1]) |
	container.args[i] == "--shutdown-timeout"
]
