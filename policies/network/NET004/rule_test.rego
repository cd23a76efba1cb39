package inferform.tests.NET004

import rego.v1

import data.network.NET004 as sample
import data.inferform.rules.NET004 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.plan as given.plan with input.objects as given.objects
	count(subjects) > 0
	fail := rule.fail with input.plan as given.plan with input.objects as given.objects
	count(fail) == 0
	unknown := rule.unknown with input.plan as given.plan with input.objects as given.objects
	count(unknown) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.plan as given.plan with input.objects as given.objects
	count(fail) > 0
}

test_fc23_timeout_below_the_longest_answer if {
	given := sample.allowed
	object_ := given.objects[0]
	short := object.union(object.remove(object_, ["spec"]), {"spec": {"rules": [{"backendRefs": [{"name": "a"}], "timeouts": {"request": "1m10s"}}]}})
	fail := rule.fail with input.plan as given.plan with input.objects as [short]
	fail == {{"address": "HTTPRoute/acme-contract-qa/llama-70b", "message": "answers are cut after 70 s, the longest takes 74 s"}}
	long := object.union(object.remove(object_, ["spec"]), {"spec": {"rules": [{"backendRefs": [{"name": "a"}], "timeouts": {"request": "30m"}}]}})
	fine := rule.fail with input.plan as given.plan with input.objects as [long]
	count(fine) == 0
}

test_fc25_compression_holds_events_back if {
	given := sample.allowed
	policy := {"kind": "BackendTrafficPolicy", "metadata": {"name": "a", "namespace": "n"}, "spec": {"compression": [{"type": "Gzip"}]}}
	fail := rule.fail with input.plan as given.plan with input.objects as [given.objects[0], policy]
	count(fail) == 1
}
