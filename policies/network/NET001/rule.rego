package inferform.rules.NET001

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "Publishing the gateway is a decision",
	"severity": "warn",
	"needs": ["plan"],
	"remedy": "Keep gateway.internal true, or record who answers for the public endpoint as a waiver.",
	"source": "Peers' gap 6: no public endpoint by accident",
}

subjects := [input.plan.gateway | input.plan.gateway.enabled]

fail contains {"address": "plan/gateway", "message": sprintf("the models answer on the internet as %s", [host(gateway)])} if {
	some gateway in subjects
	not gateway.internal
}

fail contains {"address": kubernetes.at(service), "message": "the load balancer faces the internet"} if {
	some service in kubernetes.of_kinds({"Service"})
	service.spec.type == "LoadBalancer"
	input.plan.gateway.internal
	object.get(object.get(service.metadata, "annotations", {}), "service.beta.kubernetes.io/aws-load-balancer-scheme", "internet-facing") != "internal"
}

unknown := set()

host(gateway) := gateway.host if gateway.host != null

host(gateway) := "the load balancer's own name" if gateway.host == null
