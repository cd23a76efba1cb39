package inferform.rules.SEC001

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "Nodes hand out metadata to token holders only (IMDSv2)",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Set metadata_options.http_tokens to \"required\".",
	"source": "AWS EC2 user guide, IMDS options; CIS AWS Foundations 5.6",
}

subjects := terraform.of_types({"aws_launch_template", "aws_instance"})

expects := "the plan has nodes" if count(input.plan.models) > 0

fail contains {"address": node.at, "message": "the metadata service answers without a session token"} if {
	some node in subjects
	not asks_for_token(node)
	not may_ask(node)
}

unknown contains {"address": node.at, "message": "metadata_options.http_tokens is known after apply only"} if {
	some node in subjects
	may_ask(node)
}

asks_for_token(node) if {
	some options in terraform.blocks(node, "metadata_options")
	options.known.http_tokens == "required"
}

asks_for_token(node) if {
	some options in terraform.blocks(node, "metadata_options")
	options.known.http_endpoint == "disabled"
}

may_ask(node) if terraform.is_unknown(node, "metadata_options")

may_ask(node) if {
	some options in terraform.blocks(node, "metadata_options")
	terraform.is_unknown(options, "http_tokens")
}
