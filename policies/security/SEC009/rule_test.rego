package inferform.tests.SEC009

import rego.v1

import data.security.SEC009 as sample
import data.inferform.rules.SEC009 as rule

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

test_open_range_inside_a_group if {
	given := {"a": {"resource_changes": [group({"ingress": [{"cidr_blocks": ["10.0.0.0/8"], "ipv6_cidr_blocks": ["::/0"]}]}, {})]}}
	fail := rule.fail with input.terraform as given
	fail == {{"address": "a/aws_security_group.x", "message": "lets in everybody (::/0)"}}
}

test_half_the_internet_is_open_too if {
	fail := rule.fail with input.terraform as {"a": {"resource_changes": [group({"ingress": [{"cidr_blocks": ["0.0.0.0/1", "128.0.0.0/1"]}]}, {})]}}
	count(fail) == 2
}

test_range_known_after_apply_is_unknown if {
	unknown := rule.unknown with input.terraform as {"a": {"resource_changes": [group({"ingress": [{}]}, {"ingress": [{"cidr_blocks": true}]})]}}
	count(unknown) == 1
}

group(after, unknown) := {
	"address": "aws_security_group.x", "mode": "managed", "type": "aws_security_group", "name": "x",
	"change": {"actions": ["create"], "after": after, "after_unknown": unknown},
}
