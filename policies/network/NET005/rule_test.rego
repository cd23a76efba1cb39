package inferform.tests.NET005

import rego.v1

import data.network.NET005 as sample
import data.inferform.rules.NET005 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.objects as given.objects
	count(subjects) > 0
	fail := rule.fail with input.objects as given.objects
	count(fail) == 0
	unknown := rule.unknown with input.objects as given.objects
	count(unknown) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.objects as given.objects
	count(fail) > 0
}
