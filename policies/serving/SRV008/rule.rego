package inferform.rules.SRV008

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan

about := {
	"title": "Shared prefixes are computed once",
	"severity": "warn",
	"needs": ["plan"],
	"remedy": "Set prefix_caching to true.",
	"source": "Readiness criterion: prefix cache",
}

subjects := [entry | some entry in plan.pools; entry.model.task == "generate"]

fail contains {"address": entry.at, "message": "prefix caching is off"} if {
	some entry in subjects
	not entry.model.prefix_caching
}

fail contains {"address": pair.pod.at, "message": "the engine is told not to keep prefixes"} if {
	some pair in kubernetes.pairs
	some container in pair.pod.spec.containers
	"--no-enable-prefix-caching" in container.args
	pair.entry.model.task == "generate"
}

unknown := set()
