package inferform.rules.SEC006

import rego.v1

import data.inferform.lib.terraform

about := {
	"title": "Buckets answer over TLS only",
	"severity": "deny",
	"needs": ["terraform"],
	"remedy": "Add a bucket policy that denies every request with aws:SecureTransport \"false\".",
	"source": "AWS Foundational Security Best Practices S3.5",
}

subjects := terraform.of_types({"aws_s3_bucket"})

all_policies := terraform.of_types({"aws_s3_bucket_policy"})

expects := "the plan keeps weights in a bucket" if input.plan.model_store.bucket

fail contains {"address": bucket.at, "message": "no policy denies requests without TLS"} if {
	some bucket in subjects
	not denies_plain(bucket)
	count(unreadable(bucket)) == 0
}

unknown contains {"address": policy.at, "message": "the policy is known after apply only"} if {
	some bucket in subjects
	not denies_plain(bucket)
	some policy in unreadable(bucket)
}

policies(bucket) := terraform.referring(all_policies, "bucket", bucket, "bucket")

unreadable(bucket) := [policy | some policy in policies(bucket); not readable(policy)]

readable(policy) if is_object(json.unmarshal(terraform.text(policy, "policy")))

denies_plain(bucket) if {
	some policy in policies(bucket)
	some statement in terraform.as_list(json.unmarshal(terraform.text(policy, "policy")).Statement)
	statement.Effect == "Deny"
	all_callers(statement.Principal)
	all_actions(statement.Action)
	some transport in as_values(statement.Condition.Bool["aws:SecureTransport"])
	transport in {"false", false}
}

all_callers(principal) if principal == "*"

all_callers(principal) if principal.AWS == "*"

all_actions(action) if {
	some one in as_values(action)
	one in {"*", "s3:*"}
}

as_values(value) := value if is_array(value)

as_values(value) := [value] if not is_array(value)
