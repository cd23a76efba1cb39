package inferform.rules.CAP007

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan
import data.inferform.lib.wording

about := {
	"title": "Each GPU pool has one device plugin",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Run one k8s-device-plugin daemonset on AL2023 pools, one of its own where GPUs are divided, and none on Bottlerocket, whose image brings its own.",
	"source": "FC-15",
}

subjects := plan.gpu_pools

expects := "the plan has models on GPUs" if {
	some entry in plan.pools
	entry.pool.gpu != null
}

fail contains {"address": entry.at, "message": "nothing advertises its GPUs, so pods stay pending"} if {
	some entry in subjects
	entry.pool.infrastructure.os != "bottlerocket"
	count(plugins(entry)) == 0
}

fail contains {"address": entry.at, "message": sprintf("%d device plugins replace each other's registrations: %s", [count(plugins(entry)), wording.listed(plugins(entry))])} if {
	some entry in subjects
	count(plugins(entry)) > 1
}

fail contains {"address": entry.at, "message": "a second device plugin beside Bottlerocket's own"} if {
	some entry in subjects
	entry.pool.infrastructure.os == "bottlerocket"
	count(plugins(entry)) == 1
}

unknown := set()

plugins(entry) := [plugin.at |
	some plugin in all_plugins
	entry.pool.infrastructure.os in plugin.systems
	selects(plugin.selector, entry)
	not kept_out(plugin, entry)
]

all_plugins := [{"at": pod.at, "systems": allowed_systems(pod), "selector": object.get(pod.spec, "nodeSelector", {}), "whole_only": whole_only(pod)} |
	some pod in kubernetes.pods
	pod.kind == "DaemonSet"
	advertises(pod)
]

# Every label that the pod selects nodes by is one of the pool's.
selects(selector, entry) if {
	labels := {"inferform.dev/model": entry.model_name, "inferform.dev/pool": entry.pool_name}
	count([key | value := selector[key]; object.get(labels, key, "") != value]) == 0
}

# Nodes whose GPUs are divided say so by a label, which others keep away from.
kept_out(plugin, entry) if {
	plugin.whole_only
	is_object(object.get(entry.pool.infrastructure, "sharing", null))
}

whole_only(pod) := count([1 |
	some term in pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
	some expression in term.matchExpressions
	expression.key == "inferform.dev/gpu-sharing"
	expression.operator == "DoesNotExist"
]) > 0

advertises(pod) if {
	some container in pod.spec.containers
	contains(container.image, "nvidia/k8s-device-plugin")
}

allowed_systems(pod) := found if {
	found := [value |
		some term in pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
		some expression in term.matchExpressions
		expression.key == "inferform.dev/os"
		expression.operator == "In"
		some value in expression.values
	]
	count(found) > 0
}

allowed_systems(pod) := ["al2023", "bottlerocket"] if {
	count([1 |
		some term in pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
		some expression in term.matchExpressions
		expression.key == "inferform.dev/os"
	]) == 0
}
