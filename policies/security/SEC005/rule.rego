package inferform.rules.SEC005

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "No bucket can be made public",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Add an aws_s3_bucket_public_access_block for the bucket with all four settings true, and no public ACL.",
	"source": "AWS Foundational Security Best Practices S3.8",
}

subjects := terraform.of_types({"aws_s3_bucket"})

blocks := terraform.of_types({"aws_s3_bucket_public_access_block"})

settings := ["block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"]

expects := "the plan keeps weights in a bucket" if input.plan.model_store.bucket

fail contains {"address": bucket.at, "message": "no public access block covers the bucket"} if {
	some bucket in subjects
	count(guards(bucket)) == 0
}

fail contains {"address": guard.at, "message": sprintf("%s is not true", [setting])} if {
	some bucket in subjects
	some guard in guards(bucket)
	some setting in settings
	not terraform.is_true(guard, setting)
	not terraform.is_unknown(guard, setting)
}

fail contains {"address": bucket.at, "message": sprintf("has the ACL %s", [bucket.known.acl])} if {
	some bucket in array.concat(subjects, terraform.of_types({"aws_s3_bucket_acl"}))
	startswith(bucket.known.acl, "public-")
}

unknown contains {"address": guard.at, "message": sprintf("%s is known after apply only", [setting])} if {
	some bucket in subjects
	some guard in guards(bucket)
	some setting in settings
	terraform.is_unknown(guard, setting)
}

guards(bucket) := terraform.referring(blocks, "bucket", bucket, "bucket")
