package inferform.tests.SEC010

import rego.v1

import data.security.SEC010 as sample
import data.inferform.rules.SEC010 as rule

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

test_policy_document_of_terraform if {
	given := {"a": {"resource_changes": [{
		"address": "data.aws_iam_policy_document.x", "mode": "data", "type": "aws_iam_policy_document", "name": "x",
		"change": {"actions": ["read"], "after": {"statement": [{"actions": ["*"], "resources": ["*"]}]}, "after_unknown": {}},
	}]}}
	fail := rule.fail with input.terraform as given
	count(fail) == 1
}

test_single_statement_is_read if {
	given := {"a": {"resource_changes": [{
		"address": "aws_iam_policy.x", "mode": "managed", "type": "aws_iam_policy", "name": "x",
		"change": {"actions": ["create"], "after": {"policy": `{"Statement": {"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}}`}, "after_unknown": {}},
	}]}}
	fail := rule.fail with input.terraform as given
	fail == {{"address": "a/aws_iam_policy.x", "message": "allows all actions but those it names"}}
}
