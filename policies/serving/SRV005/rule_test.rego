package inferform.tests.SRV005

import rego.v1

import data.serving.SRV005 as sample
import data.inferform.rules.SRV005 as rule

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

test_budget_of_another_namespace_does_not_count if {
	given := sample.allowed
	moved := [given.objects[0], object.union(given.objects[1], {"metadata": {"name": "x", "namespace": "other"}})]
	fail := rule.fail with input.plan as given.plan with input.objects as moved
	fail == {{"address": "Deployment/acme-contract-qa/llama-70b-aggregated", "message": "no PodDisruptionBudget selects its pods"}}
}
