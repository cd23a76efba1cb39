package inferform.tests.SCL001

import rego.v1

import data.scaling.SCL001 as sample
import data.inferform.rules.SCL001 as rule

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

test_fc28_scaler_without_a_target if {
	given := sample.allowed
	fail := rule.fail with input.plan as given.plan with input.objects as [given.objects[1]]
	fail == {{"address": "ScaledObject/acme-contract-qa/llama-70b-aggregated", "message": "there is no Deployment llama-70b-aggregated to scale"}}
}
