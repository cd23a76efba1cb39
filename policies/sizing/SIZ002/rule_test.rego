package inferform.tests.SIZ002

import rego.v1

import data.sizing.SIZ002 as sample
import data.inferform.rules.SIZ002 as rule

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

test_fp8_cache_on_ampere if {
	given := {"models": {"m": {"weights": "bf16", "kv_cache": "fp8_e4m3", "pools": {"p": {"gpu": "A10G", "compute_capability": 8.6, "infrastructure": {"gpus_per_node": 1}}}}}}
	fail := rule.fail with input.plan as given
	count(fail) == 1
}
