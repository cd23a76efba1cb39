package inferform.rules.SEC008

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "Terraform state is encrypted and locked",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Use the s3 backend with encrypt and use_lockfile true and without dynamodb_table.",
	"source": "FC-36; Terraform, s3 backend",
}

subjects := [backend |
	document := input.terraform[stack]
	settings := document.settings.backend.s3
	some one in terraform.as_list(settings)
	backend := {"at": sprintf("%s/terraform.backend.s3", [stack]), "settings": one}
]

# A plan alone does not say where its state lives; a synthesized stack does.
expects := "the plan keeps its state in s3" if {
	input.plan.state.backend == "s3"
	document := input.terraform[_]
	count(object.get(document, "settings", {})) > 0
}

fail contains {"address": backend.at, "message": sprintf("%s is not true", [setting])} if {
	some backend in subjects
	some setting in ["encrypt", "use_lockfile"]
	not object.get(backend.settings, setting, false) in {true, "true"}
}

fail contains {"address": backend.at, "message": "locks through dynamodb_table, which is deprecated"} if {
	some backend in subjects
	backend.settings.dynamodb_table
}

fail contains {"address": backend.at, "message": sprintf("%s is no literal", [setting])} if {
	some backend in subjects
	value := backend.settings[setting]
	is_string(value)
	contains(value, "${")
}

unknown := set()
