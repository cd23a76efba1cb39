package inferform.tests.SCL002

import rego.v1

import data.scaling.SCL002 as sample
import data.inferform.rules.SCL002 as rule

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

test_fc39_without_a_scaler_the_count_is_written if {
	given := sample.allowed
	fail := rule.fail with input.plan as given.plan with input.objects as [given.objects[0]]
	count(fail) == 1
	written := sample.disallowed
	fine := rule.fail with input.plan as given.plan with input.objects as [written.objects[0]]
	count(fine) == 0
}
