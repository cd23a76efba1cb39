package inferform.tests.SRV004

import rego.v1

import data.serving.SRV004 as sample
import data.inferform.rules.SRV004 as rule

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

test_drain_longer_than_the_grace if {
	given := sample.allowed
	short := {"models": {"llama-70b": {"task": "embed", "pools": {"aggregated": {"lifecycle": {"grace_s": 60, "pre_stop_s": 30}}}}}}
	fail := rule.fail with input.plan as short with input.objects as given.objects
	fail == {{"address": "Deployment/acme-contract-qa/llama-70b-aggregated", "message": "killed after 128 s, while the engine drains for 103 s"}}
}
