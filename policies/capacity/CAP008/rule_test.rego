package inferform.tests.CAP008

import rego.v1

import data.capacity.CAP008 as sample
import data.inferform.rules.CAP008 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.plan as given.plan with input.objects as given.objects
	count(subjects) > 0
	fail := rule.fail with input.plan as given.plan with input.objects as given.objects
	count(fail) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.plan as given.plan with input.objects as given.objects
	messages := {finding.message | some finding in fail}
	messages == {
		"has no taint nvidia.com/gpu",
		"has no limits, so it may grow beyond the plan",
		"instance metadata is open to pods or to version 1",
		"volume /dev/xvda is not encrypted",
		"image al2023@latest is not pinned: each release replaces nodes",
	}
}

test_pool_without_objects if {
	given := sample.allowed
	fail := rule.fail with input.plan as given.plan with input.objects as []
	fail == {{"address": "plan/chat/aggregated", "message": "no NodePool is rendered for this pool"}}
}

test_class_that_is_missing if {
	given := sample.allowed
	pools := [object_ | some object_ in given.objects; object_.kind == "NodePool"]
	fail := rule.fail with input.plan as given.plan with input.objects as pools
	fail == {{"address": "NodePool/chat-aggregated", "message": "its EC2NodeClass chat-aggregated is not rendered"}}
}

test_class_without_volumes if {
	given := sample.allowed
	bare := [object.union(object.remove(object_, ["spec"]), {"spec": object.remove(object_.spec, ["blockDeviceMappings"])}) | some object_ in given.objects]
	fail := rule.fail with input.plan as given.plan with input.objects as bare
	fail == {{"address": "EC2NodeClass/chat-aggregated", "message": "names no volumes, so they are not encrypted by it"}}
}
