package inferform.tests.CAP001

import rego.v1

import data.capacity.CAP001 as sample
import data.inferform.rules.CAP001 as rule

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

test_batch_may_run_on_spot if {
	given := sample.disallowed.plan
	batch := {"models": {"m": object.union(given.models["llama-70b"], {"profile": "batch"})}}
	fail := rule.fail with input.plan as batch
	count(fail) == 0
}
