# Rendered Kubernetes objects, as rules look at them.
package inferform.lib.kubernetes

import rego.v1

import data.inferform.lib.plan

model_label := "inferform.dev/model"

pool_label := "inferform.dev/pool"

of_kinds(kinds) := [object_ | some object_ in input.objects; object_.kind in kinds]

# Address of an object in findings: Kind/namespace/name.
at(object_) := sprintf("%s/%s/%s", [object_.kind, object_.metadata.namespace, object_.metadata.name]) if object_.metadata.namespace

at(object_) := sprintf("%s/%s", [object_.kind, object_.metadata.name]) if not object_.metadata.namespace

# Every pod template; `part` tells the templates of one object apart, `workload` is the spec of that object without them.
pods := array.concat(array.concat(plain_pods, group_pods), cron_pods)

plain_pods := [pod |
	some object_ in input.objects
	object_.kind in {"Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet"}
	pod := pod_of(object_, object_.spec.template, "pod")
]

group_pods := [pod |
	some object_ in input.objects
	object_.kind == "LeaderWorkerSet"
	some part in ["leader", "worker"]
	template := object_.spec.leaderWorkerTemplate[sprintf("%sTemplate", [part])]
	pod := pod_of(object_, template, part)
]

cron_pods := [pod |
	some object_ in input.objects
	object_.kind == "CronJob"
	pod := pod_of(object_, object_.spec.jobTemplate.spec.template, "pod")
]

pod_of(object_, template, part) := {
	"at": at(object_),
	"kind": object_.kind,
	"name": object_.metadata.name,
	"namespace": namespace_of(object_),
	"workload": object.remove(object_.spec, ["template", "jobTemplate", "leaderWorkerTemplate"]),
	"part": part,
	"labels": object.get(object.get(template, "metadata", {}), "labels", {}),
	"spec": template.spec,
}

namespace_of(object_) := object_.metadata.namespace

namespace_of(object_) := "" if not object_.metadata.namespace

# What a scaler scales; a Deployment where the kind is left out.
target_of(scaler) := reference(namespace_of(scaler), target_kind(scaler), scaler.spec.scaleTargetRef.name)

target_kind(scaler) := scaler.spec.scaleTargetRef.kind

target_kind(scaler) := "Deployment" if not scaler.spec.scaleTargetRef.kind

# Pods that serve a pool, and the workloads they belong to.
serving := [pod |
	some pod in pods
	pod.kind in {"Deployment", "StatefulSet", "LeaderWorkerSet"}
	pod.labels[model_label]
	pod.labels[pool_label]
]

# Every serving pod with the pool it belongs to, less what only says how the pool was sized and bought.
pairs := [{"pod": pod, "entry": entry} |
	some pod in serving
	model_name := pod.labels[model_label]
	pool_name := pod.labels[pool_label]
	whole := plan.entry_of(model_name, pool_name)
	entry := object.union(
		object.remove(whole, ["pool"]),
		{"pool": object.remove(whole.pool, ["memory", "purchase", "scaling"])},
	)
]

# Addresses of the pools that something serves.
served := {pair.entry.at | some pair in pairs}

containers(pod) := array.concat(pod.spec.containers, object.get(pod.spec, "initContainers", []))

tolerates(pod, key) if {
	some toleration in pod.spec.tolerations
	object.get(toleration, "effect", "NoSchedule") == "NoSchedule"
	object.get(toleration, "key", key) == key
	toleration.operator == "Exists"
}

tolerates(pod, key) if {
	some toleration in pod.spec.tolerations
	object.get(toleration, "effect", "NoSchedule") == "NoSchedule"
	toleration.key == key
	object.get(toleration, "operator", "Equal") == "Equal"
	toleration.value == "present"
}

# Namespace, kind and name as one text, to compare objects and references by.
reference(namespace, kind, name) := sprintf("%s %s %s", [namespace, kind, name])

# A quick look that rules most out: selectors of one model do not pick pods of another.
may_select(selector, labels) if {
	own := object.get(labels, model_label, "")
	object.get(object.get(selector, "matchLabels", {}), model_label, own) == own
}

# Whether a label selector picks these labels; an empty selector picks all.
selects(selector, labels) if {
	count(unmatched_labels(selector, labels)) == 0
	count(unmatched_expressions(selector, labels)) == 0
}

unmatched_labels(selector, labels) := [key |
	wanted := object.get(selector, "matchLabels", {})
	value := wanted[key]
	object.get(labels, key, null) != value
]

unmatched_expressions(selector, labels) := [expression |
	some expression in object.get(selector, "matchExpressions", [])
	not holds(expression, labels)
]

holds(expression, labels) if {
	expression.operator == "In"
	labels[expression.key] in expression.values
}

holds(expression, labels) if {
	expression.operator == "Exists"
	labels[expression.key]
}

holds(expression, labels) if {
	expression.operator == "NotIn"
	not object.get(labels, expression.key, null) in expression.values
}

holds(expression, labels) if {
	expression.operator == "DoesNotExist"
	not labels[expression.key]
}
