package inferform.tests.SEC003

import rego.v1

import data.security.SEC003 as sample
import data.inferform.rules.SEC003 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.terraform as given.terraform
	count(subjects) > 0
	fail := rule.fail with input.terraform as given.terraform
	count(fail) == 0
	unknown := rule.unknown with input.terraform as given.terraform
	count(unknown) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.terraform as given.terraform
	count(fail) > 0
}

test_block_written_as_one_object if {
	fail := rule.fail with input.terraform as {"a": {"resource_changes": [template({"block_device_mappings": [{"ebs": {"encrypted": true}}]}, {})]}}
	count(fail) == 0
}

test_no_volume_named if {
	fail := rule.fail with input.terraform as {"a": {"resource_changes": [template({}, {})]}}
	count(fail) == 1
}

test_key_known_after_apply_does_not_hide_the_flag if {
	given := {"a": {"resource_changes": [template(
		{"block_device_mappings": [{"ebs": [{"encrypted": "false"}]}]},
		{"block_device_mappings": [{"ebs": [{"kms_key_id": true}]}]},
	)]}}
	fail := rule.fail with input.terraform as given
	count(fail) == 1
}

template(after, unknown) := {
	"address": "aws_launch_template.x", "mode": "managed", "type": "aws_launch_template", "name": "x",
	"change": {"actions": ["create"], "after": after, "after_unknown": unknown},
}
