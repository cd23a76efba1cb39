package inferform.rules.SEC003

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "Volumes are encrypted",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Set encrypted to true on every volume of the launch template.",
	"source": "AWS Foundational Security Best Practices EC2.3 and EC2.7",
}

subjects := terraform.of_types({"aws_launch_template", "aws_instance", "aws_ebs_volume"})

expects := "the plan has nodes" if count(input.plan.models) > 0

fail contains {"address": node.at, "message": "names no volume, so the image decides about encryption"} if {
	some node in subjects
	node.type == "aws_launch_template"
	count(volumes(node)) == 0
	not terraform.is_unknown(node, "block_device_mappings")
}

fail contains {"address": node.at, "message": "has a volume that is not encrypted"} if {
	some node in subjects
	some volume in volumes(node)
	not terraform.is_true(volume, "encrypted")
	not terraform.is_unknown(volume, "encrypted")
}

unknown contains {"address": node.at, "message": "encryption of a volume is known after apply only"} if {
	some node in subjects
	some volume in volumes(node)
	terraform.is_unknown(volume, "encrypted")
}

unknown contains {"address": node.at, "message": "the volumes are known after apply only"} if {
	some node in subjects
	terraform.is_unknown(node, "block_device_mappings")
}

# Devices without `ebs` are the instance's own disks.
volumes(node) := found if {
	node.type == "aws_launch_template"
	found := [volume |
		some mapping in terraform.blocks(node, "block_device_mappings")
		some volume in terraform.blocks(mapping, "ebs")
	]
}

volumes(node) := [node] if node.type == "aws_ebs_volume"

volumes(node) := array.concat(terraform.blocks(node, "root_block_device"), terraform.blocks(node, "ebs_block_device")) if node.type == "aws_instance"
