package inferform.rules.SEC018

import rego.v1

import data.inferform.lib.kubernetes

about := {
	"title": "Serving pods hold no power over their node",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Set allowPrivilegeEscalation false, drop ALL capabilities, and use neither privileged nor the host's namespaces or folders.",
	"source": "Kubernetes Pod Security Standards, restricted",
}

subjects := kubernetes.serving

expects := "the plan has models" if count(input.plan.models) > 0

fail contains {"address": subject.at, "message": sprintf("%s is privileged", [container.name])} if {
	some subject in subjects
	some container in kubernetes.containers(subject)
	container.securityContext.privileged
}

fail contains {"address": subject.at, "message": sprintf("%s may gain privileges", [container.name])} if {
	some subject in subjects
	some container in kubernetes.containers(subject)
	object.get(object.get(container, "securityContext", {}), "allowPrivilegeEscalation", true) != false
}

fail contains {"address": subject.at, "message": sprintf("%s keeps capabilities", [container.name])} if {
	some subject in subjects
	some container in kubernetes.containers(subject)
	not drops_all(container)
}

fail contains {"address": subject.at, "message": sprintf("shares %s with the node", [name])} if {
	some subject in subjects
	some name in ["hostNetwork", "hostPID", "hostIPC"]
	subject.spec[name] == true
}

fail contains {"address": subject.at, "message": sprintf("mounts the node's folder %s", [volume.hostPath.path])} if {
	some subject in subjects
	some volume in subject.spec.volumes
	volume.hostPath
}

unknown := set()

drops_all(container) if "ALL" in container.securityContext.capabilities.drop
