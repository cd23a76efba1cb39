package inferform.rules.SIZ005

import rego.v1

import data.inferform.lib.plan

about := {
	"title": "The KV cache holds a request of full length",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Lower max_model_len, or give the replica more memory.",
	"source": "Readiness criterion: paging; FC-03",
}

subjects := [entry | some entry in plan.gpu_pools; entry.model.task == "generate"]

expects := "the plan has chat models on GPUs" if {
	some entry in plan.pools
	entry.model.task == "generate"
}

fail contains {"address": entry.at, "message": sprintf("a request may have %d tokens, the cache holds %d", [entry.pool.max_model_len, entry.pool.kv_cache_tokens])} if {
	some entry in subjects
	entry.pool.kv_cache_tokens < entry.pool.max_model_len
}

unknown := set()
