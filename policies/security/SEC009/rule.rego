package inferform.rules.SEC009

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "No security group is open to the internet",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Name the groups or address ranges that may connect.",
	"source": "AWS Foundational Security Best Practices EC2.18 and EC2.19",
}

subjects := terraform.of_types({"aws_security_group", "aws_default_security_group", "aws_security_group_rule", "aws_vpc_security_group_ingress_rule"})

expects := "the plan has nodes, and nodes have security groups" if count(input.plan.models) > 0

fail contains {"address": ingress.at, "message": sprintf("lets in everybody (%s)", [range])} if {
	some ingress in ingresses
	some name in ["cidr_blocks", "ipv6_cidr_blocks", "cidr_ipv4", "cidr_ipv6"]
	some range in as_values(ingress.block.known[name])
	open(range)
}

unknown contains {"address": ingress.at, "message": sprintf("%s is known after apply only", [name])} if {
	some ingress in ingresses
	some name in ["cidr_blocks", "ipv6_cidr_blocks", "cidr_ipv4", "cidr_ipv6"]
	terraform.has_unknown(ingress.block, name)
	not a_network_of_ours(ingress.block, name)
}

ingresses := array.concat(
	[{"at": group.at, "block": block} |
		some group in subjects
		group.type in {"aws_security_group", "aws_default_security_group"}
		some block in terraform.blocks(group, "ingress")
	],
	[{"at": rule.at, "block": rule} |
		some rule in subjects
		rule.type in {"aws_security_group_rule", "aws_vpc_security_group_ingress_rule"}
		object.get(rule.known, "type", "ingress") == "ingress"
	],
)

# Ranges of up to /7 are the internet for all practical purposes.
open(range) if to_number(split(range, "/")[1]) < 8

# The range of a VPC or subnet that the same stack makes is not the internet.
a_network_of_ours(block, name) if {
	some reference in block.config[name].references
	regex.match(`^aws_(vpc|subnet)[.].*cidr_block`, reference)
}

as_values(value) := value if is_array(value)

as_values(value) := [value] if is_string(value)
