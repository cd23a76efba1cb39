package inferform.rules.SEC016

import rego.v1

about := {
	"title": "No output holds a secret",
	"severity": "deny",
	"needs": ["files"],
	"remedy": "Take the value out, revoke it at its issuer, and refer to a Kubernetes Secret (hf_token_secret in the spec).",
	"source": "FC-34; token prefixes as their issuers publish them for secret scanning",
}

subjects := [path | input.files[path]]

expects := "something must have been rendered"

# What starts a secret, and what follows: looking for the start first is what makes this quick. No boundary in front of it: a
# token may follow any character, and texts this specific are not met by chance.
shapes := [
	{"kind": "a Hugging Face token", "starts": ["hf_", "api_org_"], "after": `^[A-Za-z0-9]{20}`},
	{"kind": "an API key", "starts": ["sk-", "nvapi-", "gsk_"], "after": `^[A-Za-z0-9_-]{20}`},
	{"kind": "an AWS access key", "starts": ["AKIA", "ASIA"], "after": `^[0-9A-Z]{16}`},
	{"kind": "a GitHub token", "starts": ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"], "after": `^[A-Za-z0-9_]{30}`},
	{"kind": "a GitLab token", "starts": ["glpat-"], "after": `^[A-Za-z0-9_-]{20}`},
	{"kind": "a Slack token", "starts": ["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"], "after": `^[A-Za-z0-9-]{10}`},
	{"kind": "a Google API key", "starts": ["AIza"], "after": `^[A-Za-z0-9_-]{35}`},
	{"kind": "a signed web token", "starts": ["eyJ"], "after": `^[A-Za-z0-9_-]{10,}[.]eyJ[A-Za-z0-9_-]{10}`},
	{"kind": "a private key", "starts": ["-----BEGIN "], "after": `^[A-Z ]*PRIVATE KEY-----`},
	{"kind": "credentials in an address", "starts": ["://"], "after": `^[^ /:@\\\n]+:[^ /:@\\\n]+@`},
]

# The finding says where and what, never the text itself.
fail contains {"address": sprintf("%s:%d", [path, line]), "message": sprintf("holds %s", [shape.kind])} if {
	text := input.files[path]
	some shape in shapes
	some start in shape.starts
	contains(text, start)
	parts := split(text, start)
	some number, part in parts
	number > 0
	regex.match(shape.after, substring(part, 0, 120))
	line := count(split(concat(start, array.slice(parts, 0, number)), "\n"))
}

unknown := set()
