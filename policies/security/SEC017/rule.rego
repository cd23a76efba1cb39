package inferform.rules.SEC017

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "Tokens reach pods by reference",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Name a Kubernetes Secret in hf_token_secret; the container gets it through valueFrom.secretKeyRef.",
	"source": "FC-34",
}

subjects := [{"at": pod.at, "model": object.get(pod.labels, "inferform.dev/model", ""), "container": container} |
	some pod in kubernetes.pods
	some container in kubernetes.containers(pod)
]

expects := "the plan has models" if count(input.plan.models) > 0

secret_name := `(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)$`

fail contains {"address": subject.at, "message": sprintf("%s of %s is a literal", [entry.name, subject.container.name])} if {
	some subject in subjects
	some entry in subject.container.env
	regex.match(secret_name, upper(entry.name))
	object.get(entry, "value", "") != ""
}

fail contains {"address": subject.at, "message": sprintf("%s may be missing when the pod starts: the reference is optional", [entry.name])} if {
	some subject in subjects
	some entry in subject.container.env
	entry.valueFrom.secretKeyRef.optional == true
}

fail contains {"address": sprintf("plan/%s", [name]), "message": "the model is gated, and no container gets a token"} if {
	model := input.plan.models[name]
	model.gated
	not has_token(name, model)
}

# An engine that loads by hub name downloads by itself.
fail contains {"address": subject.at, "message": sprintf("%s downloads %s without a token", [subject.container.name, source])} if {
	some subject in subjects
	some source in subject.container.args
	source in gated_sources
	not "HF_TOKEN" in {entry.name | some entry in subject.container.env}
}

unknown := set()

has_token(name, model) if sprintf("%s %s %s", [name, model.hf_token_secret.name, model.hf_token_secret.key]) in tokens_given

tokens_given := {sprintf("%s %s %s", [subject.model, entry.valueFrom.secretKeyRef.name, entry.valueFrom.secretKeyRef.key]) |
	some subject in subjects
	some entry in subject.container.env
	entry.name == "HF_TOKEN"
}

gated_sources := {model.source |
	model := input.plan.models[_]
	model.gated
}
