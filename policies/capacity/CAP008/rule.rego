package inferform.rules.CAP008

import rego.v1

import data.inferform.lib.plan

about := {
	"title": "Nodes that Karpenter starts are bounded, tainted and hardened",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Give each NodePool the pool's taint and limits, and its EC2NodeClass encrypted volumes, a pinned image and IMDSv2 with one hop.",
	"source": "FC-14; Karpenter, NodePools and NodeClasses",
}

subjects := [entry | some entry in plan.pools; entry.pool.infrastructure.kind == "karpenter"]

expects := "Karpenter is planned" if input.plan.karpenter != null

fail contains {"address": entry.at, "message": "no NodePool is rendered for this pool"} if {
	some entry in subjects
	count(pools_of(entry)) == 0
}

fail contains {"address": at(pool), "message": sprintf("has no taint %s", [entry.pool.infrastructure.taint_key])} if {
	some entry in subjects
	entry.pool.infrastructure.gpus_per_node > 0
	some pool in pools_of(entry)
	kept_away := {taint.key | some taint in object.get(pool.spec.template.spec, "taints", []); taint.effect == "NoSchedule"}
	wanted := entry.pool.infrastructure.taint_key
	not wanted in kept_away
}

fail contains {"address": at(pool), "message": "has no limits, so it may grow beyond the plan"} if {
	some entry in subjects
	some pool in pools_of(entry)
	count(object.get(pool.spec, "limits", {})) == 0
}

fail contains {"address": at(pool), "message": sprintf("its EC2NodeClass %s is not rendered", [class_name(pool)])} if {
	some entry in subjects
	some pool in pools_of(entry)
	name := class_name(pool)
	not name in {class.metadata.name | some class in classes}
}

fail contains {"address": at(class), "message": "instance metadata is open to pods or to version 1"} if {
	some class in classes
	options := object.get(class.spec, "metadataOptions", {})
	not hardened(options)
}

fail contains {"address": at(class), "message": sprintf("volume %s is not encrypted", [volume.deviceName])} if {
	some class in classes
	some volume in class.spec.blockDeviceMappings
	object.get(volume.ebs, "encrypted", false) != true
}

fail contains {"address": at(class), "message": "names no volumes, so they are not encrypted by it"} if {
	some class in classes
	count(object.get(class.spec, "blockDeviceMappings", [])) == 0
}

fail contains {"address": at(class), "message": sprintf("image %s is not pinned: each release replaces nodes", [term.alias])} if {
	some class in classes
	some term in class.spec.amiSelectorTerms
	endswith(term.alias, "@latest")
}

unknown := set()

pools_of(entry) := [pool |
	some pool in input.objects
	pool.kind == "NodePool"
	labels := pool.spec.template.metadata.labels
	labels["inferform.dev/model"] == entry.model_name
	labels["inferform.dev/pool"] == entry.pool_name
]

classes := [class | some class in input.objects; class.kind == "EC2NodeClass"]

class_name(pool) := pool.spec.template.spec.nodeClassRef.name

hardened(options) if {
	options.httpTokens == "required"
	options.httpPutResponseHopLimit == 1
}

at(object_) := sprintf("%s/%s", [object_.kind, object_.metadata.name])
