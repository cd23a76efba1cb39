package inferform.rules.CAP007

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan
import data.inferform.lib.wording

about := {
	"title": "Each GPU pool has one device plugin",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Run one k8s-device-plugin daemonset on AL2023 pools, and none on Bottlerocket, whose image brings its own.",
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

plugins(entry) := [plugin.at | some plugin in all_plugins; entry.pool.infrastructure.os in plugin.systems]

all_plugins := [{"at": pod.at, "systems": allowed_systems(pod)} |
	some pod in kubernetes.pods
	pod.kind == "DaemonSet"
	advertises(pod)
]

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
