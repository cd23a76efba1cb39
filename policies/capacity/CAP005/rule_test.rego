package inferform.tests.CAP005

import rego.v1

import data.capacity.CAP005 as sample
import data.inferform.rules.CAP005 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.terraform as given.terraform
	count(subjects) > 0
	fail := rule.fail with input.terraform as given.terraform
	count(fail) == 0
	unknown := rule.unknown with input.terraform as given.terraform
	count(unknown) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.terraform as given.terraform
	count(fail) > 0
}

test_destroyed_scaling_group_counts_its_nodes if {
	given := {"nodes": {"from": "plan", "resource_changes": [{
		"address": "aws_autoscaling_group.a", "mode": "managed", "type": "aws_autoscaling_group", "name": "a",
		"change": {"actions": ["delete"], "before": {"desired_capacity": 4}, "after": null, "after_unknown": {}},
	}]}}
	fail := rule.fail with input.terraform as given
	fail == {{"address": "nodes/aws_autoscaling_group.a", "message": "is destroyed with 4 nodes"}}
}
