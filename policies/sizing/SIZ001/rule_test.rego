package inferform.tests.SIZ001

import rego.v1

import data.sizing.SIZ001 as sample
import data.inferform.rules.SIZ001 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.plan as given.plan
	count(subjects) > 0
	fail := rule.fail with input.plan as given.plan
	count(fail) == 0
	unknown := rule.unknown with input.plan as given.plan
	count(unknown) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.plan as given.plan
	count(fail) > 0
}

test_more_than_nine_tenths if {
	given := sample.allowed.plan
	entry := given.models["llama-70b"].pools.aggregated
	memory := object.union(entry.memory, {"budget_bytes": entry.memory.device_memory_bytes * 0.95})
	changed := {"models": {"m": {"pools": {"p": object.union(entry, {"memory": memory})}}}}
	fail := rule.fail with input.plan as changed
	fail == {{"address": "plan/m/p", "message": "plans with 95.0 % of the GPU's memory, 90 % is the most"}}
}
