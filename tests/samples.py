"""Hand-made plans for tests of what is rendered from a plan, so that they do not depend on sizing.

`sample_plan()` has four pools: llama-8b (one L4 node each, spot + on-demand, self-managed), llama-70b (two replicas of
TP 4 on a p5.48xlarge), llama-405b (two p5 nodes a replica: LeaderWorkerSet, EFA, placement group) and bge (embeddings on CPU).
"""

from __future__ import annotations

from typing import Any

from inferform.plan import DeploymentPlan

GIB = 2**30


def _memory(device: int, weights: int, kv: int, per_token: int) -> dict[str, Any]:
    return {
        "fits": True,
        "device_memory_bytes": device,
        "budget_bytes": int(device * 0.9),
        "weights_bytes_per_gpu": weights,
        "activation_bytes_per_gpu": 2 * GIB,
        "runtime_bytes_per_gpu": GIB,
        "kv_cache_bytes_per_gpu": kv,
        "kv_cache_bytes_per_token": per_token,
        "kv_cache_tokens": kv // per_token,
        "max_concurrency": round(kv / per_token / 8192, 2),
        "limits": [],
    }


def _count(low: int, steady: int, high: int) -> dict[str, int]:
    return {"min": low, "steady": steady, "max": high}


def pool(**changes: Any) -> dict[str, Any]:
    """A p5.48xlarge pool of TP 4 replicas as plain data; `changes` replaces top-level keys, nested dicts are merged."""
    base: dict[str, Any] = {
        "role": "aggregated",
        "instance_type": "p5.48xlarge",
        "gpu": "H100-80GB-SXM5",
        "gpu_memory_bytes": 81559 * 2**20,
        "compute_capability": 9.0,
        "nodes": _count(1, 1, 2),
        "replicas": _count(2, 2, 4),
        "nodes_per_replica": 1,
        "replicas_per_node": 2,
        "tp": 4,
        "pp": 1,
        "dp": 1,
        "ep": 1,
        "max_model_len": 8192,
        "max_num_seqs": 256,
        "max_num_batched_tokens": 8192,
        "gpu_memory_utilization": 0.9,
        "kv_cache_tokens": 600000,
        "ttft_ms": {"p50": 210.0, "p95": 480.0, "p99": 700.0},
        "tpot_ms": {"p50": 18.0, "p95": 25.0, "p99": 30.0},
        "requests_per_s": 4.2,
        "output_tokens_per_s": 1260.0,
        "concurrency": 32.0,
        "memory": _memory(81559 * 2**20, 18 * GIB, 45 * GIB, 81920),
        "purchase": [
            {
                "kind": "on_demand",
                "instance_types": ["p5.48xlarge"],
                "nodes": _count(1, 1, 2),
                "usd_per_hour": 55.04,
                "price_as_of": "2026-07-20",
                "price_source": "catalogue",
                "reservation_id": None,
                "zone": None,
                "ends_at": None,
            }
        ],
        "infrastructure": {
            "kind": "managed",
            "os": "al2023",
            "ami_id": None,
            "ami_type": "AL2023_x86_64_NVIDIA",
            "autoscaled": True,
            "zones": ["use1-az4", "use1-az6"],
            "coupled": False,
            "placement_group": False,
            "efa": None,
            "vcpus": 192,
            "memory_bytes": 2048 * GIB,
            "gpus_per_node": 8,
            "local_nvme_count": 8,
            "local_nvme_bytes": 30400 * 10**9,
            "root_volume_bytes": 100 * GIB,
            "ephemeral_storage_bytes": 30400 * 10**9,
            "max_pods": 100,
            "taint_key": "nvidia.com/gpu",
            "quota_family": "P",
            "quota_vcpus": 384,
        },
        "lifecycle": {
            "startup_failure_threshold": 60,
            "startup_period_s": 10,
            "progress_deadline_s": 900,
            "pre_stop_s": 15,
            "shutdown_timeout_s": 103,
            "grace_s": 128,
            "strategy": "RollingUpdate",
            "max_surge": 1,
            "max_unavailable": 0,
            "rollout_interrupts": False,
        },
        "scaling": {
            "kind": "keda",
            "min": 2,
            "max": 4,
            "idle": None,
            "triggers": [
                {"signal": "queue", "target": 8.0, "why": "8 waiting requests clear within the TTFT objective"},
                {"signal": "request_rate", "target": 3.818, "why": "4.2 requests a second, less the 10 % that a scaler waits before it acts"},
                {"signal": "kv_use", "target": 0.85, "why": "KV cache above 85 % preempts"},
            ],
            "polling_interval_s": 15,
            "cooldown_s": 900,
            "scale_up_window_s": 30,
            "scale_down_window_s": 900,
            "scale_down_period_s": 120,
            "fallback_failures": 3,
            "fallback_replicas": 2,
        },
        "pod": {"pods_per_replica": 1, "gpus": 4, "cpu_millis": 90000, "memory_bytes": 900 * GIB, "shm_bytes": 16 * GIB, "model_cache_bytes": 90 * GIB},
    }
    for key, value in changes.items():
        base[key] = {**base[key], **value} if isinstance(value, dict) and isinstance(base.get(key), dict) else value
    return base


def model(pools: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A 70B model in FP8 on vLLM as plain data."""
    base: dict[str, Any] = {
        "source": "meta-llama/Llama-3.3-70B-Instruct",
        "served_name": "llama-70b",
        "architecture": "LlamaForCausalLM",
        "task": "generate",
        "engine": "vllm",
        "engine_version": "0.33.0",
        "image": "vllm/vllm-openai:v0.33.0",
        "weights": "fp8",
        "checkpoint_quantized": False,
        "kv_cache": "auto",
        "prefix_caching": True,
        "chunked_prefill": True,
        "enforce_eager": False,
        "topology": "aggregated",
        "profile": "interactive",
        "max_output_tokens": 700,
        "gated": True,
        "hf_token_secret": {"name": "hf-token", "key": "token"},
        "extra_args": [],
        "slo_ttft_p95_ms": 1200.0,
        "slo_tpot_p95_ms": 50.0,
        "load": {"weights_bytes": 72 * 10**9, "bandwidth_bytes_per_s": 2.5e9, "download_s": 28.8, "load_s": 12.0, "warmup_s": 60.0, "total_s": 100.8},
        "pools": pools,
        "why": ["fp8: H100 computes it natively"],
        "rejected": [{"candidate": "g6e.12xlarge fp8 TP4", "reason": "TTFT p95 2.1 s above 1.2 s"}],
    }
    return {**base, **changes}


def plan_data() -> dict[str, Any]:
    """The sample plan as plain data, to change before validation."""
    l4 = pool(
        instance_type="g6.2xlarge",
        gpu="L4",
        gpu_memory_bytes=23034 * 2**20,
        compute_capability=8.9,
        nodes=_count(2, 3, 6),
        replicas=_count(2, 3, 6),
        replicas_per_node=1,
        tp=1,
        kv_cache_tokens=60000,
        memory=_memory(23034 * 2**20, 9 * GIB, 8 * GIB, 131072),
        purchase=[
            {
                "kind": kind,
                "instance_types": types,
                "nodes": nodes,
                "usd_per_hour": usd,
                "price_as_of": "2026-07-20",
                "price_source": "catalogue",
                "reservation_id": rid,
                "zone": None,
                "ends_at": None,
            }
            for kind, types, nodes, usd, rid in (
                ("on_demand", ["g6.2xlarge", "g6.4xlarge"], _count(1, 2, 2), 0.9776, None),
                ("spot", ["g6.2xlarge", "g6.4xlarge"], _count(0, 1, 4), 0.41, None),
            )
        ],
        infrastructure={
            "kind": "self_managed",
            "ami_type": None,
            "vcpus": 8,
            "memory_bytes": 32 * GIB,
            "gpus_per_node": 1,
            "local_nvme_count": 1,
            "local_nvme_bytes": 450 * 10**9,
            "ephemeral_storage_bytes": 450 * 10**9,
            "max_pods": 58,
            "quota_family": "G and VT",
            "quota_vcpus": 48,
        },
        scaling={"min": 2, "max": 6, "fallback_replicas": 3},
        pod={"gpus": 1, "cpu_millis": 6500, "memory_bytes": 27 * GIB, "shm_bytes": 2 * GIB, "model_cache_bytes": 20 * GIB},
    )
    big = pool(
        nodes=_count(2, 2, 4),
        replicas=_count(1, 1, 2),
        nodes_per_replica=2,
        replicas_per_node=1,
        tp=8,
        pp=2,
        kv_cache_tokens=300000,
        infrastructure={
            "zones": ["use1-az4"],
            "coupled": True,
            "placement_group": True,
            "quota_vcpus": 768,
            "efa": {"network_cards": 32, "interfaces": 32, "interface_type_first": "efa", "interface_type_rest": "efa-only"},
        },
        lifecycle={"strategy": "RollingUpdate", "max_surge": 1, "max_unavailable": 0},
        scaling={"min": 1, "max": 2, "fallback_replicas": 1},
        pod={"pods_per_replica": 2, "gpus": 8, "cpu_millis": 180000, "memory_bytes": 1900 * GIB, "shm_bytes": 32 * GIB, "model_cache_bytes": 500 * GIB},
    )
    cpu = pool(
        instance_type="c7i.4xlarge",
        gpu=None,
        gpu_memory_bytes=0,
        compute_capability=None,
        replicas_per_node=1,
        nodes=_count(1, 1, 2),
        replicas=_count(1, 1, 2),
        tp=1,
        max_model_len=512,
        kv_cache_tokens=0,
        memory={**_memory(32 * GIB, GIB, 0, 1), "kv_cache_tokens": 0, "max_concurrency": 0.0},
        purchase=[
            {
                "kind": "on_demand",
                "instance_types": ["c7i.4xlarge"],
                "nodes": _count(1, 1, 2),
                "usd_per_hour": 0.714,
                "price_as_of": "2026-07-20",
                "price_source": "catalogue",
                "reservation_id": None,
                "zone": None,
                "ends_at": None,
            }
        ],
        infrastructure={
            "ami_type": "AL2023_x86_64_STANDARD",
            "vcpus": 16,
            "memory_bytes": 32 * GIB,
            "gpus_per_node": 0,
            "local_nvme_count": 0,
            "local_nvme_bytes": 0,
            "ephemeral_storage_bytes": 100 * GIB,
            "max_pods": 234,
            "quota_family": "Standard",
            "quota_vcpus": 32,
        },
        scaling={
            "min": 1,
            "max": 2,
            "fallback_replicas": 1,
            "triggers": [
                {"signal": "queue", "target": 8.0, "why": "queue"},
                {"signal": "request_rate", "target": 3.818, "why": "rate"},
            ],
        },
        pod={"gpus": 0, "cpu_millis": 14000, "memory_bytes": 26 * GIB, "shm_bytes": GIB, "model_cache_bytes": 3 * GIB},
    )
    return {
        "name": "contract-qa",
        "tenant": "acme",
        "environment": "prod",
        "namespace": "acme-contract-qa",
        "spec_digest": "0" * 64,
        "inferform_version": "0.1.0",
        "catalog_as_of": "2026-12-01",
        "cloud": {
            "provider": "aws",
            "region": "us-east-1",
            "zones": ["use1-az1", "use1-az4", "use1-az6"],
            "vpc_cidr": "10.0.0.0/16",
            "kubernetes_version": "1.33",
            "public_cidrs": [],
            "admins": ["arn:aws:iam::111122223333:role/platform"],
            "system_pool": {"instance_type": "m7i.2xlarge", "nodes": _count(2, 2, 4), "usd_per_hour": 0.4032, "vcpus": 8, "memory_bytes": 32 * GIB},
            "cluster": {"support": {"kind": "extended", "standard_until": "2026-07-29", "extended_until": "2027-07-29"}, "load_balancer_controller": True},
        },
        "models": {
            "bge": model(
                {"aggregated": cpu},
                source="BAAI/bge-large-en-v1.5",
                served_name="bge",
                architecture="BertModel",
                task="embed",
                weights="bf16",
                gated=False,
                hf_token_secret=None,
                image="vllm/vllm-openai-cpu:v0.33.0",
                max_output_tokens=1,
                slo_tpot_p95_ms=None,
            ),
            "llama-405b": model({"aggregated": big}, source="meta-llama/Meta-Llama-3.1-405B", served_name="llama-405b"),
            "llama-70b": model({"aggregated": pool()}),
            "llama-8b": model({"aggregated": l4}, source="meta-llama/Meta-Llama-3.1-8B", served_name="llama-8b"),
        },
        "gateway": {
            "enabled": True,
            "class_name": "envoy-gateway",
            "host": "llm.example.com",
            "tls_secret": "llm-tls",
            "internal": True,
            "streaming": True,
            "timeout_s": None,
            "stream_idle_timeout_s": 300.0,
            "buffer_limit_bytes": 50 * 2**20,
        },
        "observability": {"enabled": True, "prometheus_url": "http://prometheus-operated.monitoring.svc:9090"},
        "state": {"backend": "s3", "bucket": "inferform-acme-state", "key_prefix": "acme/contract-qa/prod"},
        "model_store": {"bucket": "contract-qa-prod-models-0a1b2c3d"},
        "quotas": [{"family": "P", "market": "on_demand", "vcpus": 1152, "detail": "6 x p5.48xlarge x 192 vCPUs"}],
        "protected": False,
        "cost": {
            "usd_per_hour": 120.0,
            "usd_per_month": 87600.0,
            "usd_per_hour_max": 300.0,
            "usd_per_mtok": 1.2,
            "usd_per_mtok_output": 9.0,
            "by_pool": {"llama-70b/aggregated": 55.04},
            "budget_usd_per_month": 12000.0,
        },
        "warnings": [],
        "termination": {
            "chart_version": "0.27.6",
            "namespace": "kube-system",
            "service_account": "aws-node-termination-handler",
            "queue": "contract-qa-prod-node-termination",
            "tag": "aws-node-termination-handler/contract-qa-prod",
            "drain_s": {"llama-8b-aggregated": 188},
        },
    }


def sample_plan() -> DeploymentPlan:
    """The sample plan, validated."""
    return DeploymentPlan.model_validate(plan_data())
