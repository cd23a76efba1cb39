package inferform.rules.SIZ003

import rego.v1

import data.inferform.lib.plan

about := {
	"title": "Replicas stay inside the interconnect they need",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Keep tp within one node and use pp across nodes; give pools that span nodes EFA and one zone.",
	"source": "Readiness criterion: interconnect; requirement A3",
}

subjects := plan.gpu_pools

expects := "the plan has models on GPUs" if {
	some entry in plan.pools
	entry.pool.gpu != null
}

fail contains {"address": entry.at, "message": sprintf("tensor parallel %d spans nodes of %d GPUs", [entry.pool.tp, entry.pool.infrastructure.gpus_per_node])} if {
	some entry in subjects
	entry.pool.tp > entry.pool.infrastructure.gpus_per_node
}

fail contains {"address": entry.at, "message": sprintf("a replica of %d nodes has no EFA", [entry.pool.nodes_per_replica])} if {
	some entry in subjects
	entry.pool.nodes_per_replica > 1
	entry.pool.infrastructure.efa == null
}

fail contains {"address": entry.at, "message": sprintf("a replica of %d nodes may be spread over zones", [entry.pool.nodes_per_replica])} if {
	some entry in subjects
	entry.pool.nodes_per_replica > 1
	not entry.pool.infrastructure.coupled
}

fail contains {"address": entry.at, "message": sprintf("tp %d x pp %d x dp %d is not what its pods hold, %d x %d GPUs", [entry.pool.tp, entry.pool.pp, entry.pool.dp, entry.pool.pod.pods_per_replica, entry.pool.pod.gpus])} if {
	some entry in subjects
	product([entry.pool.tp, entry.pool.pp, entry.pool.dp]) != product([entry.pool.pod.pods_per_replica, entry.pool.pod.gpus])
}

unknown := set()
