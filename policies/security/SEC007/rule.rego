package inferform.rules.SEC007

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "Buckets keep earlier versions",
	"severity": "warn",
	"needs": ["terraform"],
	"remedy": "Add an aws_s3_bucket_versioning with status Enabled for the bucket.",
	"source": "AWS Foundational Security Best Practices S3.14",
}

subjects := terraform.of_types({"aws_s3_bucket"})

versionings := terraform.of_types({"aws_s3_bucket_versioning"})

expects := "the plan keeps weights in a bucket" if input.plan.model_store.bucket

fail contains {"address": bucket.at, "message": "an overwritten or deleted object cannot be brought back"} if {
	some bucket in subjects
	count(statuses(bucket, {"Enabled", "known after apply"})) == 0
}

unknown contains {"address": bucket.at, "message": "versioning is known after apply only"} if {
	some bucket in subjects
	count(statuses(bucket, {"Enabled"})) == 0
	count(statuses(bucket, {"known after apply"})) > 0
}

statuses(bucket, wanted) := [status |
	some versioning in terraform.referring(versionings, "bucket", bucket, "bucket")
	some configuration in terraform.blocks(versioning, "versioning_configuration")
	status := status_of(configuration)
	status in wanted
]

status_of(configuration) := configuration.known.status

status_of(configuration) := "known after apply" if terraform.is_unknown(configuration, "status")
