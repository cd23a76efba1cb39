package inferform.rules.SCL004

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan

about := {
	"title": "Up at once, down slowly",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Write the behavior: scaleUp stabilizationWindowSeconds at most 60, scaleDown at least 600 and one pod a period.",
	"source": "Readiness criterion: hysteresis; requirement E2; FC-29",
}

subjects := kubernetes.of_kinds({"ScaledObject", "HorizontalPodAutoscaler"})

expects := "the plan scales its pools" if count(plan.scaled) > 0

fail contains {"address": kubernetes.at(scaler), "message": sprintf("scales down after %d s, models need 600 s or more", [window(scaler, "scaleDown", 300)])} if {
	some scaler in subjects
	window(scaler, "scaleDown", 300) < 600
}

fail contains {"address": kubernetes.at(scaler), "message": sprintf("scales up after %d s only", [window(scaler, "scaleUp", 0)])} if {
	some scaler in subjects
	window(scaler, "scaleUp", 0) > 60
}

fail contains {"address": kubernetes.at(scaler), "message": "may take several replicas away at once"} if {
	some scaler in subjects
	count([1 | some policy in policies(scaler); policy.type == "Pods"; policy.value == 1]) == 0
}

fail contains {"address": kubernetes.at(scaler), "message": "an idle count is only possible as 0, below a minimum of at least 1"} if {
	some scaler in subjects
	not idle_fits(scaler)
}

unknown := set()

behavior(scaler) := object.get(scaler.spec.advanced.horizontalPodAutoscalerConfig, "behavior", {}) if scaler.kind == "ScaledObject"

behavior(scaler) := {} if {
	scaler.kind == "ScaledObject"
	not scaler.spec.advanced.horizontalPodAutoscalerConfig
}

behavior(scaler) := object.get(scaler.spec, "behavior", {}) if scaler.kind == "HorizontalPodAutoscaler"

window(scaler, way, default_s) := object.get(object.get(behavior(scaler), way, {}), "stabilizationWindowSeconds", default_s)

policies(scaler) := object.get(object.get(behavior(scaler), "scaleDown", {}), "policies", [])

# FC-26
idle_fits(scaler) if object.get(scaler.spec, "idleReplicaCount", null) == null

idle_fits(scaler) if {
	scaler.spec.idleReplicaCount == 0
	scaler.spec.minReplicaCount > 0
}
