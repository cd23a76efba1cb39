package inferform.tests.SRV002

import rego.v1

import data.serving.SRV002 as sample
import data.inferform.rules.SRV002 as rule

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

test_fewer_gpus_than_planned if {
	given := sample.allowed
	changed := {"models": {"llama-70b": {"pools": {"aggregated": {"infrastructure": {"gpus_per_node": 8}, "pod": {"gpus": 8}}}}}}
	fail := rule.fail with input.plan as changed with input.objects as given.objects
	fail == {{"address": "Deployment/acme-contract-qa/llama-70b-aggregated", "message": "asks for 4 GPUs, the plan gives a pod 8"}}
}
