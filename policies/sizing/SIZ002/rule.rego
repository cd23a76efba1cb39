package inferform.rules.SIZ002

import rego.v1

import data.inferform.lib.plan
import data.inferform.lib.wording

about := {
	"title": "The GPU computes the chosen precision",
	"severity": "deny",
	"needs": ["plan"],
	"remedy": "Choose another quantization or kv_cache, or a GPU whose compute capability has it.",
	"source": "Readiness criterion: precision; requirement A4; NVIDIA compute capabilities",
}

subjects := plan.gpu_pools

expects := "the plan has models on GPUs" if {
	some entry in plan.pools
	entry.pool.gpu != null
}

# Lowest compute capability with tensor cores, or kernels of the engine, for a weight format.
lowest := {"fp8": 8.9, "nvfp4": 10.0, "mxfp4": 9.0, "awq": 7.5, "gptq": 7.5, "int8": 7.5, "bf16": 8.0}

fail contains {"address": entry.at, "message": sprintf("%s weights need compute capability %s, %s has %s", [entry.model.weights, wording.decimal(lowest[entry.model.weights]), entry.pool.gpu, wording.decimal(entry.pool.compute_capability)])} if {
	some entry in subjects
	entry.pool.compute_capability < lowest[entry.model.weights]
}

fail contains {"address": entry.at, "message": sprintf("an %s KV cache needs compute capability 8.9, %s has %s", [entry.model.kv_cache, entry.pool.gpu, wording.decimal(entry.pool.compute_capability)])} if {
	some entry in subjects
	startswith(entry.model.kv_cache, "fp8")
	entry.pool.compute_capability < 8.9
}

unknown contains {"address": entry.at, "message": sprintf("the compute capability of %s is not known", [entry.pool.gpu])} if {
	some entry in subjects
	entry.pool.compute_capability == null
}
