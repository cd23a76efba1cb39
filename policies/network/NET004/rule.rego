package inferform.rules.NET004

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan

about := {
	"title": "Streams are neither cut nor held back",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Write timeouts.request on every rule (\"0s\" for streams), and keep compression and buffering away from the routes.",
	"source": "Readiness criterion: streaming; FC-23, FC-25",
}

subjects := [{"at": kubernetes.at(route), "rule": rule} |
	some route in kubernetes.of_kinds({"HTTPRoute", "AIGatewayRoute"})
	some rule in route.spec.rules
	count(object.get(rule, "backendRefs", [])) > 0
]

expects := "the plan has a gateway" if input.plan.gateway.enabled

fail contains {"address": subject.at, "message": "no timeouts.request: the gateway's own 15 s or 60 s cut answers short"} if {
	some subject in subjects
	not subject.rule.timeouts.request
}

fail contains {"address": subject.at, "message": sprintf("answers are cut after %v s, the longest takes %v s", [seconds(subject.rule.timeouts.request), longest])} if {
	some subject in subjects
	seconds(subject.rule.timeouts.request) > 0
	seconds(subject.rule.timeouts.request) < longest
}

fail contains {"address": kubernetes.at(policy), "message": "compresses responses, which holds events back"} if {
	input.plan.gateway.streaming
	some policy in kubernetes.of_kinds({"BackendTrafficPolicy"})
	count(array.concat(object.get(policy.spec, "compression", []), object.get(policy.spec, "compressor", []))) > 0
}

fail contains {"address": kubernetes.at(policy), "message": "reads whole responses before it lets them pass"} if {
	input.plan.gateway.streaming
	some policy in kubernetes.of_kinds({"EnvoyExtensionPolicy"})
	some processor in policy.spec.extProc
	processor.processingMode.response.body in {"Buffered", "BufferedPartial"}
}

fail contains {"address": "plan/gateway", "message": "streaming is off although people wait for answers"} if {
	not input.plan.gateway.streaming
	count(plan.latency_sensitive) > 0
}

unknown := set()

longest := max(array.concat([0], [ceil((entry.model.max_output_tokens * entry.pool.tpot_ms.p50) / 1000) |
	some entry in plan.pools
	entry.model.task == "generate"
]))

# Gateway API durations: hours, minutes, seconds and milliseconds.
scales := {"h": 3600, "m": 60, "s": 1, "ms": 0.001}

seconds(text) := sum([value |
	scale := scales[unit]
	some part in regex.find_n(concat("", ["[0-9]+", unit, "([^a-z]|$)"]), text, -1)
	value := to_number(regex.find_n("[0-9]+", part, 1)[0]) * scale
])
