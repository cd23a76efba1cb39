package inferform.tests.SRV009

import rego.v1

import data.serving.SRV009 as sample
import data.inferform.rules.SRV009 as rule

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

test_pool_that_nothing_serves if {
	given := sample.allowed
	fail := rule.fail with input.plan as given.plan with input.objects as []
	fail == {{"address": "plan/llama-70b/aggregated", "message": "no workload serves this pool"}}
}
