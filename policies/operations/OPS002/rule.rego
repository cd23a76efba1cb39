package inferform.rules.OPS002

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "Somebody hears when it goes wrong",
	"severity": "warn",
	"needs": ["plan", "objects"],
	"remedy": "Turn observability on, or add a PrometheusRule with alerts that name a severity and how long they wait.",
	"source": "Requirement E6",
}

subjects := [{"at": kubernetes.at(object_), "alert": rule} |
	some object_ in kubernetes.of_kinds({"PrometheusRule"})
	some group in object_.spec.groups
	some rule in group.rules
	rule.alert
]

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": subject.at, "message": sprintf("the alert %s has no %s", [subject.alert.alert, name])} if {
	some subject in subjects
	some name in ["for", "expr"]
	not subject.alert[name]
}

fail contains {"address": subject.at, "message": sprintf("the alert %s has no severity", [subject.alert.alert])} if {
	some subject in subjects
	not subject.alert.labels.severity
}

unknown := set()
