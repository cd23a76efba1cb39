package inferform.rules.SIZ001

import rego.v1

import data.inferform.lib.plan
import data.inferform.lib.wording

about := {
	"title": "GPU memory keeps a margin",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Lower gpu_memory_utilization, choose a smaller precision, more GPUs a replica, or a larger GPU.",
	"source": "Readiness criterion: memory margin; requirement A1: at most 90 % of a GPU is planned",
}

subjects := plan.gpu_pools

expects := "the plan has models on GPUs" if {
	some entry in plan.pools
	entry.pool.gpu != null
}

fail contains {"address": entry.at, "message": sprintf("does not fit: %s", [wording.listed(object.get(entry.pool.memory, "limits", []))])} if {
	some entry in subjects
	not entry.pool.memory.fits
}

fail contains {"address": entry.at, "message": sprintf("plans %s of %s GiB, over the budget of %s GiB", [wording.gib(used(entry)), wording.gib(entry.pool.memory.device_memory_bytes), wording.gib(entry.pool.memory.budget_bytes)])} if {
	some entry in subjects
	used(entry) > entry.pool.memory.budget_bytes
}

fail contains {"address": entry.at, "message": sprintf("plans with %s %% of the GPU's memory, 90 %% is the most", [wording.decimal((100 * entry.pool.memory.budget_bytes) / entry.pool.memory.device_memory_bytes)])} if {
	some entry in subjects
	# One part in a thousand is rounding, not a decision.
	entry.pool.memory.budget_bytes > 0.901 * entry.pool.memory.device_memory_bytes
}

unknown := set()

used(entry) := sum([
	entry.pool.memory.weights_bytes_per_gpu,
	entry.pool.memory.activation_bytes_per_gpu,
	entry.pool.memory.runtime_bytes_per_gpu,
	entry.pool.memory.kv_cache_bytes_per_gpu,
])
