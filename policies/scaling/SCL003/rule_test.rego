package inferform.tests.SCL003

import rego.v1

import data.scaling.SCL003 as sample
import data.inferform.rules.SCL003 as rule

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

test_fc27_empty_result_must_not_mean_idle if {
	given := sample.allowed
	object_ := given.objects[0]
	open := object.union(object_, {"spec": object.union(object_.spec, {"triggers": [{"type": "prometheus", "metadata": {}}], "fallback": {"replicas": 9}})})
	fail := rule.fail with input.plan as given.plan with input.objects as [open]
	count(fail) == 2
}
