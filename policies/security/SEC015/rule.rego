package inferform.rules.SEC015

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "Keys rotate",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Set enable_key_rotation to true.",
	"source": "AWS Foundational Security Best Practices KMS.4",
}

# Asymmetric keys cannot rotate.
subjects := [key |
	some key in terraform.of_types({"aws_kms_key"})
	object.get(key.known, "customer_master_key_spec", "SYMMETRIC_DEFAULT") in {"SYMMETRIC_DEFAULT", null}
]

expects := "secrets and weights are encrypted with a key of our own" if input.plan.cloud

fail contains {"address": key.at, "message": "the key does not rotate"} if {
	some key in subjects
	not terraform.is_true(key, "enable_key_rotation")
	not terraform.is_unknown(key, "enable_key_rotation")
}

unknown contains {"address": key.at, "message": "rotation is known after apply only"} if {
	some key in subjects
	terraform.is_unknown(key, "enable_key_rotation")
}
