package inferform.rules.SEC004

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "Buckets are encrypted at rest",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Add an aws_s3_bucket_server_side_encryption_configuration with aws:kms for the bucket.",
	"source": "AWS Foundational Security Best Practices S3.17",
}

subjects := terraform.of_types({"aws_s3_bucket"})

configurations := terraform.of_types({"aws_s3_bucket_server_side_encryption_configuration"})

expects := "the plan keeps weights in a bucket" if input.plan.model_store.bucket

fail contains {"address": bucket.at, "message": "no encryption is configured for the bucket"} if {
	some bucket in subjects
	count(algorithms(bucket)) == 0
}

fail contains {"address": bucket.at, "message": sprintf("encrypts with %s", [algorithm])} if {
	some bucket in subjects
	some algorithm in algorithms(bucket)
	not algorithm in {"aws:kms", "aws:kms:dsse", "AES256", "known after apply"}
}

unknown contains {"address": bucket.at, "message": "the algorithm is known after apply only"} if {
	some bucket in subjects
	"known after apply" in algorithms(bucket)
}

algorithms(bucket) := [algorithm |
	some configuration in terraform.referring(configurations, "bucket", bucket, "bucket")
	some part in terraform.blocks(configuration, "rule")
	some defaults in terraform.blocks(part, "apply_server_side_encryption_by_default")
	algorithm := algorithm_of(defaults)
]

algorithm_of(defaults) := "known after apply" if terraform.is_unknown(defaults, "sse_algorithm")

algorithm_of(defaults) := defaults.known.sse_algorithm if not terraform.is_unknown(defaults, "sse_algorithm")
