package inferform.rules.SRV003

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "A model has time to load and is watched when it has",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Give the engine a startupProbe as long as the load, a readinessProbe, and a livenessProbe that forgives two misses.",
	"source": "FC-20",
}

# Workers of a group answer no requests; their leader does.
subjects := [pair | some pair in kubernetes.pairs; pair.pod.part != "worker"]

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": subject.pod.at, "message": sprintf("no %s", [probe])} if {
	some subject in subjects
	some probe in ["startupProbe", "readinessProbe"]
	count([1 | some container in subject.pod.spec.containers; container[probe]]) == 0
}

fail contains {"address": subject.pod.at, "message": sprintf("the start-up probe gives up after %d s, loading may take %d s", [patience(container), planned(subject.entry)])} if {
	some subject in subjects
	some container in subject.pod.spec.containers
	patience(container) < planned(subject.entry)
}

fail contains {"address": subject.pod.at, "message": "the liveness probe kills at the first miss or two"} if {
	some subject in subjects
	some container in subject.pod.spec.containers
	object.get(container.livenessProbe, "failureThreshold", 3) < 3
}

fail contains {"address": subject.pod.at, "message": sprintf("%s waits %d s at first; that is the start-up probe's work", [probe, container[probe].initialDelaySeconds])} if {
	some subject in subjects
	some container in subject.pod.spec.containers
	some probe in ["livenessProbe", "readinessProbe"]
	container[probe].initialDelaySeconds > 0
}

fail contains {"address": subject.pod.at, "message": sprintf("the rollout gives up after %d s, before a replica may have started", [subject.pod.workload.progressDeadlineSeconds])} if {
	some subject in subjects
	subject.pod.workload.progressDeadlineSeconds <= planned(subject.entry)
}

unknown := set()

patience(container) := object.get(container.startupProbe, "failureThreshold", 3) * object.get(container.startupProbe, "periodSeconds", 10)

planned(entry) := entry.pool.lifecycle.startup_failure_threshold * entry.pool.lifecycle.startup_period_s
