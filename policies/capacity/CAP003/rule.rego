package inferform.rules.CAP003

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan

about := {
	"title": "Everything that belongs on GPU nodes tolerates their taint",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Add the toleration {key: TAINT, operator: Exists, effect: NoSchedule}; serving pods also select their pool's nodes.",
	"source": "FC-14",
}

subjects := array.concat(agents, [{"pod": pair.pod, "node": node_of(pair.entry)} |
	some pair in kubernetes.pairs
	pair.entry.pool.infrastructure.gpus_per_node > 0
])

expects := "the plan has models on GPUs" if count(plan.gpu_pools) > 0

fail contains {"address": subject.pod.at, "message": sprintf("does not tolerate the taint %s of %s/%s", [subject.node.taint_key, subject.node.model, subject.node.pool])} if {
	some subject in subjects
	not kubernetes.tolerates(subject.pod, subject.node.taint_key)
}

fail contains {"address": subject.pod.at, "message": sprintf("does not tolerate the taint of tenant %s on the nodes of %s/%s", [subject.node.tenant, subject.node.model, subject.node.pool])} if {
	some subject in subjects
	is_string(subject.node.tenant)
	not tolerates_tenant(subject.pod, subject.node.tenant)
}

fail contains {"address": subject.pod.at, "message": sprintf("does not keep to the nodes of %s/%s", [subject.node.model, subject.node.pool])} if {
	some subject in subjects
	subject.pod.kind != "DaemonSet"
	not keeps_to(subject.pod, subject.node)
}

unknown := set()

# Daemonsets and the GPU nodes they would run on.
agents := [{"pod": pod, "node": node} |
	some pod in daemonsets
	some node in nodes
	targets(pod, node)
]

daemonsets := [{"at": pod.at, "kind": pod.kind, "spec": object.filter(pod.spec, ["nodeSelector", "affinity", "tolerations"])} |
	some pod in kubernetes.pods
	pod.kind == "DaemonSet"
]

nodes := [node_of(entry) | some entry in plan.gpu_pools]

# What a daemonset may select nodes by. Labels that nobody gives these nodes do not match.
node_of(entry) := {
	"model": entry.model_name,
	"pool": entry.pool_name,
	"taint_key": entry.pool.infrastructure.taint_key,
	"tenant": object.get(entry.pool.infrastructure, "tenant", null),
	"labels": {
		"kubernetes.io/os": "linux",
		"kubernetes.io/arch": "amd64",
		"node.kubernetes.io/instance-type": entry.pool.instance_type,
		"inferform.dev/accelerator": "nvidia",
		"inferform.dev/os": entry.pool.infrastructure.os,
		"inferform.dev/efa": efa(entry),
		"inferform.dev/model": entry.model_name,
		"inferform.dev/pool": entry.pool_name,
		"inferform.dev/role": object.get(entry.pool, "role", "aggregated"),
	},
}

tolerates_tenant(pod, tenant) if {
	some toleration in object.get(pod.spec, "tolerations", [])
	toleration.key == "inferform.dev/tenant"
	object.get(toleration, "value", tenant) == tenant
}

tolerates_tenant(pod, _) if {
	some toleration in object.get(pod.spec, "tolerations", [])
	toleration.operator == "Exists"
	not toleration.key
}

efa(entry) := "true" if entry.pool.infrastructure.efa.interfaces > 0

efa(entry) := "false" if entry.pool.infrastructure.efa == null

targets(pod, node) if {
	# Most daemonsets of a model are told apart by this alone.
	object.get(object.get(pod.spec, "nodeSelector", {}), "inferform.dev/model", node.model) == node.model
	kubernetes.selects({"matchLabels": object.get(pod.spec, "nodeSelector", {})}, node.labels)
	some term in terms(pod)
	kubernetes.selects({"matchExpressions": object.get(term, "matchExpressions", [])}, node.labels)
}

# Terms are alternatives; a pod without any may go everywhere.
terms(pod) := pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms

terms(pod) := [{}] if not pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution

keeps_to(pod, node) if {
	pod.spec.nodeSelector["inferform.dev/model"] == node.model
	pod.spec.nodeSelector["inferform.dev/pool"] == node.pool
}

keeps_to(pod, node) if {
	some term in pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
	some expression in term.matchExpressions
	expression.key == "inferform.dev/pool"
}
