package inferform.tests.SEC001

import rego.v1

import data.security.SEC001 as sample
import data.inferform.rules.SEC001 as rule

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

test_template_without_options if {
	fail := rule.fail with input.terraform as {"a": {"resource_changes": [template({}, {})]}}
	fail == {{"address": "a/aws_launch_template.x", "message": "the metadata service answers without a session token"}}
}

test_known_after_apply_is_neither if {
	given := {"a": {"resource_changes": [template({"metadata_options": [{}]}, {"metadata_options": [{"http_tokens": true}]})]}}
	fail := rule.fail with input.terraform as given
	count(fail) == 0
	unknown := rule.unknown with input.terraform as given
	count(unknown) == 1
}

test_deleted_template_is_no_subject if {
	given := {"a": {"resource_changes": [object.union(template({}, {}), {"change": {"actions": ["delete"], "after": null}})]}}
	subjects := rule.subjects with input.terraform as given
	count(subjects) == 0
}

template(after, unknown) := {
	"address": "aws_launch_template.x", "mode": "managed", "type": "aws_launch_template", "name": "x",
	"change": {"actions": ["create"], "after": after, "after_unknown": unknown},
}
