package inferform.rules.SEC010

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "No policy allows everything on everything",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "List the actions and the resources that the role needs.",
	"source": "AWS IAM best practices, least privilege; CIS AWS Foundations 1.16",
}

subjects := array.concat(
	terraform.of_types({"aws_iam_policy", "aws_iam_role_policy", "aws_iam_user_policy", "aws_iam_group_policy"}),
	[source | some source in terraform.data_sources; source.type == "aws_iam_policy_document"],
)

expects := "a cluster has roles" if count(terraform.of_types({"aws_iam_role"})) > 0

fail contains {"address": policy.at, "message": sprintf("allows %s on every resource", [action])} if {
	some policy in subjects
	some statement in statements(policy)
	allows(statement)
	everything(statement)
	some action in actions(statement)
	wild(action)
}

fail contains {"address": policy.at, "message": "allows all actions but those it names"} if {
	some policy in subjects
	some statement in statements(policy)
	allows(statement)
	count(named(statement, "NotAction", "not_actions")) > 0
}

unknown contains {"address": policy.at, "message": "the policy is known after apply only"} if {
	some policy in subjects
	policy.type != "aws_iam_policy_document"
	not readable(policy)
}

readable(policy) if is_object(json.unmarshal(terraform.text(policy, "policy")))

statements(policy) := terraform.as_list(json.unmarshal(terraform.text(policy, "policy")).Statement) if policy.type != "aws_iam_policy_document"

statements(policy) := found if {
	policy.type == "aws_iam_policy_document"
	found := [block.known | some block in terraform.blocks(policy, "statement")]
}

# Policies in JSON and Terraform's policy documents spell the same things differently.
allows(statement) if object.get(statement, "Effect", object.get(statement, "effect", "Allow")) == "Allow"

everything(statement) if "*" in named(statement, "Resource", "resources")

actions(statement) := named(statement, "Action", "actions")

named(statement, upper, lower) := [value |
	some name in [upper, lower]
	some value in as_values(statement[name])
]

wild(action) if action in {"*", "*:*"}

wild(action) if endswith(action, ":*")

as_values(value) := value if is_array(value)

as_values(value) := [value] if is_string(value)
