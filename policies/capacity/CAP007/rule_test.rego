package inferform.tests.CAP007

import rego.v1

import data.capacity.CAP007 as sample
import data.inferform.rules.CAP007 as rule

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

test_fc15_bottlerocket_brings_its_own if {
	given := sample.allowed
	entry := given.plan.models["llama-70b"].pools.aggregated
	own := {"models": {"m": {"pools": {"p": object.union(entry, {"infrastructure": object.union(entry.infrastructure, {"os": "bottlerocket"})})}}}}
	fail := rule.fail with input.plan as own with input.objects as given.objects
	count(fail) == 1
	none := rule.fail with input.plan as own with input.objects as []
	count(none) == 0
}
