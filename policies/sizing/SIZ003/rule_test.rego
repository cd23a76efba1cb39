package inferform.tests.SIZ003

import rego.v1

import data.sizing.SIZ003 as sample
import data.inferform.rules.SIZ003 as rule

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

test_two_nodes_without_efa if {
	given := {"models": {"m": {"pools": {"p": {
		"tp": 8, "pp": 2, "dp": 1, "nodes_per_replica": 2, "pod": {"pods_per_replica": 2, "gpus": 8},
		"infrastructure": {"gpus_per_node": 8, "coupled": false, "efa": null},
	}}}}}
	fail := rule.fail with input.plan as given
	count(fail) == 2
}
