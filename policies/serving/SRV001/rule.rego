package inferform.rules.SRV001

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "Images are pinned",
	"severity": "deny",
	"needs": ["objects"],
	"remedy": "Name a version tag or a digest.",
	"source": "FC-18: without a version the flags cannot be checked",
}

subjects := [{"at": pod.at, "image": container.image} |
	some pod in kubernetes.pods
	some container in kubernetes.containers(pod)
]

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": subject.at, "message": sprintf("the image %s names no version", [subject.image])} if {
	some subject in subjects
	not pinned(subject.image)
}

unknown := set()

pinned(image) if contains(image, "@sha256:")

pinned(image) if {
	parts := split(image, "/")
	last := split(parts[count(parts) - 1], ":")
	count(last) == 2
	not last[1] in {"", "latest", "nightly", "main"}
}
