package inferform.rules.NET005

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "Clients cannot choose their tenant",
	"severity": "deny",
	"needs": ["objects"],
	"remedy": "Remove the tenant header from requests (ClientTrafficPolicy headers.earlyRequestHeaders.remove) and set it from the verified identity.",
	"source": "FC-32; llm-d, flow control guide",
}

# Every header that a limit tells tenants apart by.
subjects := [{"at": kubernetes.at(policy), "header": header.name} |
	some policy in kubernetes.of_kinds({"BackendTrafficPolicy"})
	some rule in policy.spec.rateLimit.global.rules
	some selector in rule.clientSelectors
	some header in selector.headers
	header.type == "Distinct"
]

fail contains {"address": subject.at, "message": sprintf("limits by %s, which any client may send", [subject.header])} if {
	some subject in subjects
	not lower(subject.header) in stripped
}

unknown := set()

stripped := {lower(name) |
	some policy in kubernetes.of_kinds({"ClientTrafficPolicy"})
	some name in policy.spec.headers.earlyRequestHeaders.remove
}
