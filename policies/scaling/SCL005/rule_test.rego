package inferform.tests.SCL005

import rego.v1

import data.scaling.SCL005 as sample
import data.inferform.rules.SCL005 as rule

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

test_a_spare_of_the_spec_counts if {
	given := {"models": {"m": {"task": "generate", "profile": "interactive", "pools": {"p": {"replicas": {"min": 1}, "scaling": {"min": 1, "idle": null}, "infrastructure": {}}}}}}
	alone := rule.fail with input.plan as given with input.spec as {"models": {"m": {}}, "capacity": {"warm_standby": 0}}
	count(alone) == 1
	spared := rule.fail with input.plan as given with input.spec as {"models": {"m": {}}, "capacity": {"warm_standby": 1}}
	count(spared) == 0
}
