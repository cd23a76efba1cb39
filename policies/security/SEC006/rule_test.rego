package inferform.tests.SEC006

import rego.v1

import data.security.SEC006 as sample
import data.inferform.rules.SEC006 as rule

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

test_unreadable_policy_is_unknown if {
	given := {"a": {"resource_changes": [
		{"address": "aws_s3_bucket.x", "mode": "managed", "type": "aws_s3_bucket", "name": "x", "change": {"actions": ["create"], "after": {"bucket": "b"}, "after_unknown": {}}},
		{
			"address": "aws_s3_bucket_policy.x", "mode": "managed", "type": "aws_s3_bucket_policy", "name": "x",
			"change": {"actions": ["create"], "after": {"bucket": "b"}, "after_unknown": {"policy": true}},
		},
	]}}
	fail := rule.fail with input.terraform as given
	count(fail) == 0
	unknown := rule.unknown with input.terraform as given
	count(unknown) == 1
}
