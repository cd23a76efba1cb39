package inferform.tests.SEC016

import rego.v1

import data.security.SEC016 as sample
import data.inferform.rules.SEC016 as rule

test_allowed if {
	given := sample.allowed
	subjects := rule.subjects with input.files as given.files
	count(subjects) > 0
	fail := rule.fail with input.files as given.files
	count(fail) == 0
	unknown := rule.unknown with input.files as given.files
	count(unknown) == 0
}

test_disallowed if {
	given := sample.disallowed
	fail := rule.fail with input.files as given.files
	count(fail) > 0
}

test_fc34_finding_names_the_line_and_not_the_value if {
	secret := concat("", ["hf_", "abcdefghijklmnopqrstuvwxyz"])
	given := {"a/b.yaml": sprintf("x: 1\ny: %s\n", [secret])}
	fail := rule.fail with input.files as given
	fail == {{"address": "a/b.yaml:2", "message": "holds a Hugging Face token"}}
}

test_text_that_only_names_tokens if {
	fail := rule.fail with input.files as {"a": "HF_TOKEN hf-token sk-short eyJ max_tokens: 700 https://example.com:8080/a@b\nhttp://a:9090\nto@b"}
	count(fail) == 0
}
