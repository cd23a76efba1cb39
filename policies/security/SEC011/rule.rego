package inferform.rules.SEC011

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "Roles name who may take them on",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Name the service, account or role in Principal, or add a Condition that does.",
	"source": "AWS IAM user guide, role trust policies",
}

subjects := terraform.of_types({"aws_iam_role"})

expects := "the plan has nodes, and nodes have a role" if count(input.plan.models) > 0

fail contains {"address": role.at, "message": "anybody may take this role on"} if {
	some role in subjects
	some statement in terraform.as_list(json.unmarshal(terraform.text(role, "assume_role_policy")).Statement)
	statement.Effect == "Allow"
	anybody(statement.Principal)
	not statement.Condition
}

unknown contains {"address": role.at, "message": "who may take the role on is known after apply only"} if {
	some role in subjects
	not readable(role)
}

readable(role) if is_object(json.unmarshal(terraform.text(role, "assume_role_policy")))

anybody(principal) if principal == "*"

anybody(principal) if principal.AWS == "*"

anybody(principal) if "*" in principal.AWS
