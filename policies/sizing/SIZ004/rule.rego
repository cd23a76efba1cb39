package inferform.rules.SIZ004

import rego.v1

import data.inferform.lib.plan
import data.inferform.lib.wording

about := {
	"title": "The plan meets its latency objectives at the tail",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Allow more replicas or a faster GPU, or relax slo.ttft_p95 or slo.tpot_p95.",
	"source": "Readiness criterion: tail latency; requirement A6",
}

subjects := [entry |
	some entry in plan.pools
	objectives := [objective | some objective in [entry.model.slo_ttft_p95_ms, entry.model.slo_tpot_p95_ms]; objective != null]
	count(objectives) > 0
]

fail contains {"address": entry.at, "message": sprintf("time to first token p95 %s ms is above the objective of %s ms", [wording.whole(entry.pool.ttft_ms.p95), wording.whole(entry.model.slo_ttft_p95_ms)])} if {
	some entry in subjects
	entry.pool.role in {"aggregated", "prefill"}
	entry.model.slo_ttft_p95_ms != null
	entry.pool.ttft_ms.p95 > entry.model.slo_ttft_p95_ms
}

fail contains {"address": entry.at, "message": sprintf("time per output token p95 %s ms is above the objective of %s ms", [wording.whole(entry.pool.tpot_ms.p95), wording.whole(entry.model.slo_tpot_p95_ms)])} if {
	some entry in subjects
	entry.pool.role in {"aggregated", "decode"}
	entry.model.slo_tpot_p95_ms != null
	entry.pool.tpot_ms.p95 > entry.model.slo_tpot_p95_ms
}

unknown := set()
