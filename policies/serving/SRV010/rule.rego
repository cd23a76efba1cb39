package inferform.rules.SRV010

import rego.v1

about := {
	"title": "A quantized checkpoint is compared before pods load it",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Set quantize.evaluation.min_score_share to at least 0.98 for 8 bits and 0.95 for 4 bits in production, and let the rendered job publish.",
	"source": "Readiness criterion: quality of quantized models",
}

# What 8 bits and 4 bits usually keep of a score, with a point to spare.
least := {"fp8": 0.98, "awq": 0.95, "gptq": 0.95, "nvfp4": 0.95}

subjects := [{"at": sprintf("plan/%s", [name]), "name": name, "made": made} |
	made := input.plan.models[name].quantize
	is_object(made)
]

expects := "the plan has a quantization job" if {
	made := input.plan.models[name].quantize
	is_object(made)
}

fail contains {"address": subject.at, "message": sprintf("%v of the score is enough, production asks for %v", [subject.made.min_score_share, least[subject.made.method]])} if {
	some subject in subjects
	startswith(input.plan.environment, "prod")
	subject.made.min_score_share < least[subject.made.method]
}

fail contains {"address": subject.at, "message": sprintf("no job compares the checkpoint with the original (share %v)", [subject.made.min_score_share])} if {
	some subject in subjects
	count([job | some job in jobs(subject.name); gate(job) == subject.made.min_score_share]) == 0
}

unknown := set()

jobs(name) := [object |
	some object in input.objects
	object.kind == "Job"
	object.metadata.labels["inferform.dev/model"] == name
	object.metadata.labels["app.kubernetes.io/component"] == "model-quantize"
]

# What the step that publishes asks for.
gate(job) := to_number(variable.value) if {
	some container in job.spec.template.spec.containers
	some variable in container.env
	variable.name == "MIN_SCORE_SHARE"
}
