package inferform.rules.NET003

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "Namespaces are closed by default",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Add a NetworkPolicy with an empty podSelector, policyTypes Ingress and Egress and no rules; open what is needed with others.",
	"source": "Requirement C8; EKS best practices, network security",
}

# Namespaces in which models are served.
subjects := [namespace |
	some namespace in {pod.namespace | some pod in kubernetes.serving}
]

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": sprintf("Namespace/%s", [namespace]), "message": sprintf("%s traffic is open where nothing is said", [way])} if {
	some namespace in subjects
	some way in ["Ingress", "Egress"]
	not closed(namespace, way)
}

unknown := set()

network_policies := kubernetes.of_kinds({"NetworkPolicy"})

closed(namespace, way) if {
	some policy in network_policies
	policy.metadata.namespace == namespace
	count(policy.spec.podSelector) == 0
	way in policy.spec.policyTypes
	count(object.get(policy.spec, lower(way), [])) == 0
}
