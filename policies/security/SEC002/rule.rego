package inferform.rules.SEC002

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "The metadata service is out of reach of pods (hop limit 1)",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Set metadata_options.http_put_response_hop_limit to 1; a pool that needs 2 is recorded as a waiver.",
	"source": "AWS EKS best practices, restrict access to the instance profile",
}

subjects := terraform.of_types({"aws_launch_template", "aws_instance"})

expects := "the plan has nodes" if count(input.plan.models) > 0

fail contains {"address": node.at, "message": "no hop limit is set for the metadata service"} if {
	some node in subjects
	not has_limit(node)
	not may_have(node)
}

fail contains {"address": node.at, "message": sprintf("pods reach the metadata service: hop limit %v, 1 is the most", [options.known.http_put_response_hop_limit])} if {
	some node in subjects
	some options in terraform.blocks(node, "metadata_options")
	options.known.http_put_response_hop_limit > 1
}

unknown contains {"address": node.at, "message": "the hop limit is known after apply only"} if {
	some node in subjects
	may_have(node)
}

has_limit(node) if {
	some options in terraform.blocks(node, "metadata_options")
	options.known.http_put_response_hop_limit > 0
}

may_have(node) if terraform.is_unknown(node, "metadata_options")

may_have(node) if {
	some options in terraform.blocks(node, "metadata_options")
	terraform.is_unknown(options, "http_put_response_hop_limit")
}
