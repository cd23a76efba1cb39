package inferform.rules.SIZ006

import rego.v1

import data.inferform.lib.plan

about := {
	"title": "Requests are batched",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Raise max_num_seqs or max_num_batched_tokens, or turn chunked_prefill on.",
	"source": "Readiness criterion: batching; FC-19",
}

subjects := [entry | some entry in plan.pools; entry.model.task == "generate"]

fail contains {"address": entry.at, "message": "serves one request at a time"} if {
	some entry in subjects
	entry.pool.max_num_seqs < 2
}

fail contains {"address": entry.at, "message": sprintf("a step has room for %d tokens, fewer than its %d sequences", [entry.pool.max_num_batched_tokens, entry.pool.max_num_seqs])} if {
	some entry in subjects
	entry.pool.max_num_batched_tokens < entry.pool.max_num_seqs
}

fail contains {"address": entry.at, "message": sprintf("without chunked prefill a prompt of %d tokens does not fit a step of %d", [entry.pool.max_model_len, entry.pool.max_num_batched_tokens])} if {
	some entry in subjects
	not entry.model.chunked_prefill
	entry.pool.max_num_batched_tokens < entry.pool.max_model_len
}

unknown := set()
