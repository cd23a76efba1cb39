package inferform.tests.OPS001

import rego.v1

import data.operations.OPS001 as sample
import data.inferform.rules.OPS001 as rule

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
