package inferform.tests.NET006

import rego.v1

import data.network.NET006 as sample
import data.inferform.rules.NET006 as rule

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

test_fc13_open_egress_is_not_enough if {
	given := sample.disallowed
	fail := rule.fail with input.plan as given.plan with input.terraform as given.terraform
	fail == {{"address": "nodes/aws_launch_template.llama-405b-aggregated", "message": "no group of its EFA interfaces lets all traffic out to itself"}}
}

test_fc13_rules_on_a_group_that_is_not_attached if {
	given := sample.allowed
	changes := given.terraform.nodes.resource_changes
	detached := object.union(changes[0], {"config": {"network_interfaces": [{"security_groups": {"references": ["aws_security_group.other.id"]}}, {}]}})
	fail := rule.fail with input.plan as given.plan with input.terraform as {"nodes": {"resource_changes": [detached, changes[1], changes[2], changes[3]]}}
	count(fail) == 0
	unknown := rule.unknown with input.plan as given.plan with input.terraform as {"nodes": {"resource_changes": [detached, changes[1], changes[2], changes[3]]}}
	count(unknown) == 1
}

test_fc13_pools_without_efa_need_none if {
	given := {"nodes": {"resource_changes": [{
		"address": "aws_launch_template.a", "mode": "managed", "type": "aws_launch_template", "name": "a",
		"change": {"actions": ["create"], "after": {}, "after_unknown": {}},
	}]}}
	subjects := rule.subjects with input.plan as {"models": {}} with input.terraform as given
	count(subjects) == 0
}
