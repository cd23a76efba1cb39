package inferform.tests.SEC017

import rego.v1

import data.security.SEC017 as sample
import data.inferform.rules.SEC017 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.plan as given.plan with input.objects as given.objects
	count(subjects) > 0
	fail := rule.fail with input.plan as given.plan with input.objects as given.objects
	count(fail) == 0
	unknown := rule.unknown with input.plan as given.plan with input.objects as given.objects
	count(unknown) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.plan as given.plan with input.objects as given.objects
	count(fail) > 0
}

test_fc34_optional_reference if {
	given := [{"kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": [{
		"name": "c",
		"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "n", "key": "k", "optional": true}}}],
	}]}}}}]
	fail := rule.fail with input.plan as {"models": {}} with input.objects as given
	count(fail) == 1
}

test_fc34_counting_tokens_is_no_secret if {
	given := [{"kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "MAX_TOKENS", "value": "700"}]}]}}}}]
	fail := rule.fail with input.plan as {"models": {}} with input.objects as given
	count(fail) == 0
}
