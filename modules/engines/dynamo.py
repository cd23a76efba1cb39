"""NVIDIA Dynamo: its vLLM worker takes vLLM's own engine options beside a few of its own.

Source: published wheel ai-dynamo 1.6.1 (its vLLM extra pins the engine; worker and frontend options, example graphs) and the
operator of the same repository (ports, probes, accounts); facts only, Apache-2.0, read 2026-12-01.
"""

from __future__ import annotations

from inferform.engines.flagged import joined
from inferform.engines.tiers import DISK_MOUNT, TierSupport
from inferform.engines.vllm import Vllm
from inferform.plan import ModelPlan, PoolPlan
from inferform.quantities import GIB

VERSION = "1.6.1"
# The engine inside the runtime image of that release.
VLLM_VERSION = "0.31.0"
WORKER_IMAGE = f"nvcr.io/nvidia/ai-dynamo/vllm-runtime:{VERSION}"
FRONTEND_IMAGE = f"nvcr.io/nvidia/ai-dynamo/dynamo-frontend:{VERSION}"
# Where a worker tells about its health and metrics, and a frontend answers; names are the operator's.
SYSTEM_PORT, SYSTEM_PORT_NAME, HTTP_PORT = 9090, "system", 8000
LIVE_PATH, HEALTH_PATH = "/live", "/health"
# Its block manager pins memory of its own and lays its disk file out at the start.
KV_TIERS = TierSupport()
# Laying out large tiers takes minutes; the default of its leader is shorter.
_TIERS_START_S = 1800


def worker_command(model: ModelPlan, pool: PoolPlan, model_path: str) -> list[str]:
    """The command line of a prefill or decode worker. Raises InputError when the plan asks for what its engine cannot do."""
    engine = Vllm()
    words = engine.engine_words(model, pool)
    engine.check_words(words, model)
    return [
        "python3",
        "-m",
        "dynamo.vllm",
        "--model",
        model_path,
        *joined("--served-model-name", model.served_name),
        "--disaggregation-mode",
        pool.role,
        *words,
    ]


def worker_environment(pool: PoolPlan) -> dict[str, str]:
    """Environment of a worker beside its engine's: the sizes of its KV tiers, in whole GiB so that no reading of GB exceeds them."""
    tiers = pool.pod.kv_tiers
    if tiers is None:
        return {}
    values = {"DYN_KVBM_CPU_CACHE_GB": str(tiers.cpu_bytes // GIB), "DYN_KVBM_LEADER_WORKER_INIT_TIMEOUT_SECS": str(_TIERS_START_S)}
    if tiers.disk_bytes:
        values |= {"DYN_KVBM_DISK_CACHE_DIR": DISK_MOUNT, "DYN_KVBM_DISK_CACHE_GB": str(tiers.disk_bytes // GIB)}
    return values


def frontend_command() -> list[str]:
    """The command line of a frontend: prompts go where their prefix went before, as the router itself remembers, without an event bus."""
    return ["python3", "-m", "dynamo.frontend", "--http-port", str(HTTP_PORT), "--router-mode", "kv", "--no-router-kv-events"]


def discovery_role(graph: str) -> str:
    """Name of the Role that the operator makes for a graph's discovery; accounts of one's own are bound to it."""
    return f"{graph}-k8s-service-discovery-role"
