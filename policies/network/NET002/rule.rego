package inferform.rules.NET002

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "A published gateway speaks TLS only",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Set gateway.tls_secret, or keep gateway.internal true.",
	"source": "Requirement D1",
}

subjects := [input.plan.gateway | input.plan.gateway.enabled]

fail contains {"address": "plan/gateway", "message": "answers on the internet without TLS"} if {
	some gateway in subjects
	not gateway.internal
	object.get(gateway, "tls_secret", null) == null
}

fail contains {"address": kubernetes.at(gateway), "message": sprintf("the listener %s is plain %s", [listener.name, listener.protocol])} if {
	input.plan.gateway.tls_secret != null
	some gateway in kubernetes.of_kinds({"Gateway"})
	some listener in gateway.spec.listeners
	listener.protocol in {"HTTP", "TCP", "UDP"}
	not redirects(gateway, listener)
}

unknown := set()

# A plain listener may send people on to the other one.
redirects(gateway, listener) if {
	some route in kubernetes.of_kinds({"HTTPRoute"})
	some parent in route.spec.parentRefs
	parent.name == gateway.metadata.name
	parent.sectionName == listener.name
	count([1 | some rule in route.spec.rules; count(object.get(rule, "backendRefs", [])) > 0]) == 0
}
