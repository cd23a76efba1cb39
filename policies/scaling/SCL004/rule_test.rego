package inferform.tests.SCL004

import rego.v1

import data.scaling.SCL004 as sample
import data.inferform.rules.SCL004 as rule

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

test_fc26_idle_count if {
	given := sample.allowed
	object_ := given.objects[0]
	idle := object.union(object_, {"spec": object.union(object_.spec, {"idleReplicaCount": 1})})
	fail := rule.fail with input.plan as given.plan with input.objects as [idle]
	count(fail) == 1
}

test_fc29_silence_is_the_default_of_kubernetes if {
	given := sample.allowed
	object_ := given.objects[0]
	bare := object.union(object.remove(object_, ["spec"]), {"spec": object.remove(object_.spec, ["advanced"])})
	fail := rule.fail with input.plan as given.plan with input.objects as [bare]
	count(fail) == 2
}
