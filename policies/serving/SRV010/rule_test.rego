package inferform.tests.SRV010

import rego.v1

import data.serving.SRV010 as sample
import data.inferform.rules.SRV010 as rule

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
	fail == {{"address": "plan/llama-70b", "message": "0.8 of the score is enough, production asks for 0.95"}}
}

test_outside_production_the_share_is_free if {
	given := sample.disallowed
	fail := rule.fail with input.plan as object.union(given.plan, {"environment": "dev"}) with input.objects as given.objects
	count(fail) == 0
}

test_without_the_job_nothing_is_compared if {
	given := sample.allowed
	fail := rule.fail with input.plan as given.plan with input.objects as []
	fail == {{"address": "plan/llama-70b", "message": "no job compares the checkpoint with the original (share 0.96)"}}
}
