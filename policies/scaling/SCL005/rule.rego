package inferform.rules.SCL005

import rego.v1

import data.inferform.lib.plan
import data.inferform.lib.wording

about := {
	"title": "A loaded replica stands by where people wait",
	"severity": "warn",
	"needs": ["plan"],
	"remedy": "Set capacity.warm_standby to 1 or scaling.min to 2, and leave idle out.",
	"source": "Readiness criterion: warm standby; requirement B5",
}

subjects := plan.latency_sensitive

fail contains {"address": entry.at, "message": sprintf("scales to zero: the next request waits %s s for a load", [wording.whole(object.get(object.get(entry.model, "load", {}), "total_s", 0))])} if {
	some entry in subjects
	to_zero(entry)
}

fail contains {"address": entry.at, "message": "one replica, and none to take its place while another loads"} if {
	some entry in subjects
	not to_zero(entry)
	entry.pool.replicas.min < 2
	not standby(entry)
}

unknown := set()

to_zero(entry) if entry.pool.scaling.min == 0

to_zero(entry) if entry.pool.scaling.idle == 0

standby(entry) if input.spec.models[entry.model_name].capacity.warm_standby > 0

standby(entry) if {
	object.get(input.spec.models[entry.model_name], "capacity", null) == null
	input.spec.capacity.warm_standby > 0
}
