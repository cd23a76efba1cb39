package inferform.tests.SEC012

import rego.v1

import data.security.SEC012 as sample
import data.inferform.rules.SEC012 as rule

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

test_public_to_the_world_by_range if {
	fail := rule.fail with input.terraform as {"a": {"resource_changes": [cluster({"endpoint_private_access": true, "endpoint_public_access": true, "public_access_cidrs": ["0.0.0.0/0"]})]}}
	count(fail) == 1
}

test_private_only if {
	fail := rule.fail with input.terraform as {"a": {"resource_changes": [cluster({"endpoint_private_access": true, "endpoint_public_access": false})]}}
	count(fail) == 0
}

cluster(config) := {
	"address": "aws_eks_cluster.x", "mode": "managed", "type": "aws_eks_cluster", "name": "x",
	"change": {"actions": ["create"], "after": {"vpc_config": [config]}, "after_unknown": {"vpc_config": [{"subnet_ids": true}]}},
}
