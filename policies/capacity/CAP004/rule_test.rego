package inferform.tests.CAP004

import rego.v1

import data.capacity.CAP004 as sample
import data.inferform.rules.CAP004 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.plan as given.plan with input.terraform as given.terraform
	count(subjects) > 0
	fail := rule.fail with input.plan as given.plan with input.terraform as given.terraform
	count(fail) == 0
	unknown := rule.unknown with input.plan as given.plan with input.terraform as given.terraform
	count(unknown) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.plan as given.plan with input.terraform as given.terraform
	count(fail) > 0
}

test_pool_without_a_group if {
	given := sample.allowed.plan
	fail := rule.fail with input.plan as given with input.terraform as {"nodes": {"resource_changes": []}}
	fail == {{"address": "plan/llama-70b/aggregated", "message": "no node group or scaling group is made for this pool"}}
}
