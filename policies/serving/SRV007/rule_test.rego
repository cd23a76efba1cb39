package inferform.tests.SRV007

import rego.v1

import data.serving.SRV007 as sample
import data.inferform.rules.SRV007 as rule

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

test_recreate_needs_no_numbers if {
	given := sample.allowed
	object_ := given.objects[0]
	changed := object.union(object_, {"spec": object.union(object.remove(object_.spec, ["strategy"]), {"strategy": {"type": "Recreate"}})})
	fail := rule.fail with input.plan as given.plan with input.objects as [changed]
	count(fail) == 0
}
