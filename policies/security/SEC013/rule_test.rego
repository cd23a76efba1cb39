package inferform.tests.SEC013

import rego.v1

import data.security.SEC013 as sample
import data.inferform.rules.SEC013 as rule

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

# FC-33: known after apply passes only where the configuration shows the reference.
test_fc33_unknown_key_without_reference_is_unknown if {
	given := {"a": {"resource_changes": [cluster({})]}}
	fail := rule.fail with input.terraform as given
	count(fail) == 0
	unknown := rule.unknown with input.terraform as given
	count(unknown) == 1
}

test_fc33_unknown_key_with_reference_passes if {
	given := {"a": {"resource_changes": [cluster({"encryption_config": [{"provider": [{"key_arn": {"references": ["aws_kms_key.k.arn"]}}]}]})]}}
	fail := rule.fail with input.terraform as given
	count(fail) == 0
	unknown := rule.unknown with input.terraform as given
	count(unknown) == 0
}

cluster(config) := {
	"address": "module.platform.module.eks.aws_eks_cluster.x", "mode": "managed", "type": "aws_eks_cluster", "name": "x", "config": config,
	"change": {
		"actions": ["create"],
		"after": {"encryption_config": [{"resources": ["secrets"], "provider": [{}]}]},
		"after_unknown": {"encryption_config": [{"resources": [false], "provider": [{"key_arn": true}]}]},
	},
}
