# The pools of a plan, as rules look at them.
package inferform.lib.plan

import rego.v1

# Every pool with its model; `at` is its address in findings.
pools := [entry |
	input.plan.models[model_name].pools[pool_name]
	entry := entry_of(model_name, pool_name)
]

entry_of(model_name, pool_name) := {
	"at": sprintf("plan/%s/%s", [model_name, pool_name]),
	"model_name": model_name,
	"pool_name": pool_name,
	"model": object.remove(input.plan.models[model_name], ["pools", "why", "rejected"]),
	"pool": input.plan.models[model_name].pools[pool_name],
}

gpu_pools := [entry | some entry in pools; entry.pool.infrastructure.gpus_per_node > 0]

efa_pools := [entry | some entry in pools; entry.pool.infrastructure.efa.interfaces > 0]

# People wait for answers of these models.
latency_sensitive := [entry | some entry in pools; entry.model.profile in {"interactive", "agentic"}; entry.model.task == "generate"]

scaled := [entry | some entry in pools; entry.pool.scaling.kind != "fixed"]

taint_keys := {entry.pool.infrastructure.taint_key | some entry in gpu_pools}
