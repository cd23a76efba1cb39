package inferform.tests.SRV001

import rego.v1

import data.serving.SRV001 as sample
import data.inferform.rules.SRV001 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.objects as given.objects
	count(subjects) > 0
	fail := rule.fail with input.objects as given.objects
	count(fail) == 0
	unknown := rule.unknown with input.objects as given.objects
	count(unknown) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.objects as given.objects
	count(fail) > 0
}

test_registry_port_is_no_tag if {
	given := [{"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": [{"image": "registry.example.com:5000/vllm"}]}}}}]
	fail := rule.fail with input.objects as given
	fail == {{"address": "Deployment/a", "message": "the image registry.example.com:5000/vllm names no version"}}
}
