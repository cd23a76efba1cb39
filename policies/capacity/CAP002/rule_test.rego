package inferform.tests.CAP002

import rego.v1

import data.capacity.CAP002 as sample
import data.inferform.rules.CAP002 as rule

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

test_fc07_subnets_behind_an_expression if {
	given := sample.allowed.plan
	wired := {"nodes": {"resource_changes": [group({"subnet_ids": {"references": ["local.zones-llama-405b-aggregated"]}})]}}
	fail := rule.fail with input.plan as given with input.terraform as wired
	count(fail) == 0
	unknown := rule.unknown with input.plan as given with input.terraform as wired
	count(unknown) == 0
	bare := {"nodes": {"resource_changes": [group({})]}}
	undecided := rule.unknown with input.plan as given with input.terraform as bare
	count(undecided) == 1
}

group(config) := {
	"address": "aws_eks_node_group.llama-405b-aggregated", "mode": "managed", "type": "aws_eks_node_group", "name": "llama-405b-aggregated", "config": config,
	"change": {"actions": ["create"], "after": {}, "after_unknown": {"subnet_ids": true}},
}
