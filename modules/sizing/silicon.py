"""Step times from measured kernel tables, through the optional package aiconfigurator-core: the same questions, another source.

The queueing picture stays (`queueing.py`, `benchmark.py`); only the time of one step comes from the tables. They exist for some GPUs,
engines and models; whatever they lack is said, never made up.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module, resources
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from inferform.catalog.types import Model
from inferform.errors import InputError, MissingToolError, Problem
from inferform.sizing.error_bands import table_bands
from inferform.sizing.performance import Estimate, EstimateRequest, estimate_with
from inferform.sizing.roofline import ONE_BYTE_KV, Constants, Layout, StepCosts, step_costs

PACKAGE = "aiconfigurator_core"
# Catalogue name -> the package's name of the system.
SYSTEMS = {
    "A100-80GB-SXM4": "a100_sxm", "H100-80GB-SXM5": "h100_sxm", "H200-141GB-SXM5": "h200_sxm", "B200-180GB": "b200_sxm", "B300-288GB": "b300_sxm",
    "GB200-186GB": "gb200", "GB300-288GB": "gb300", "L40S": "l40s", "RTX-PRO-6000-BSE": "rtx_pro_6000_server",
}  # fmt: skip
ENGINES = {"vllm": "vllm", "tensorrt-llm": "trtllm", "sglang": "sglang"}
MATRICES = {"bf16": "bfloat16", "fp16": "bfloat16", "fp8": "fp8", "int8": "sq", "awq": "int4_wo", "gptq": "int4_wo", "nvfp4": "nvfp4", "mxfp4": "bfloat16"}
EXPERTS = {"bf16": "bfloat16", "fp16": "bfloat16", "fp8": "fp8", "awq": "int4_wo", "gptq": "int4_wo", "nvfp4": "nvfp4", "mxfp4": "w4a16_mxfp4"}
# Fields of a config.json that make two models the same for step times.
_SHAPE = ("num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads")


def estimate(request: EstimateRequest, fitted: Constants | None = None) -> Estimate:
    """As `performance.estimate`, with step times from the tables; the constants still give the time outside of the engine.

    Raises: MissingToolError where the package is not installed, InputError for what its tables do not hold or what does not fit.
    """
    _engine()
    try:
        found = estimate_with(request, fitted, measured_costs)
    except InputError:
        raise
    # The package's own word for what its tables or its models lack: unlisted quantization, head counts, versions.
    except (ValueError, RuntimeError, AssertionError, KeyError) as err:
        lines = str(err).splitlines() or [type(err).__name__]
        raise InputError(Problem(f"the measured tables have no answer: {lines[0][:200]}", field="performance_model", value="silicon")) from err
    known = table_bands("moe" if request.model.moe else "dense", request.engine)
    how = found.source.split(" constants,")[0].rpartition("; ")[0].removeprefix("step model, ")
    source = f"measured kernel tables of aiconfigurator-core {_version()}, {how}; queueing as in the step model; {known.source}"
    return replace(found, source=source, error_band=dict(known.shares))


def measured_costs(model: Model, layout: Layout, fitted: Constants | None = None) -> StepCosts:
    """Costs whose step times come from the tables. Raises: InputError for a model, card or engine that the package does not know."""
    problems = []
    if layout.gpu.name not in SYSTEMS:
        problems.append(Problem("has no measured tables", field="gpu", value=layout.gpu.name, legal=tuple(SYSTEMS)))
    if layout.weights not in (EXPERTS if model.moe else MATRICES):
        problems.append(Problem("has no measured tables", field="weights", value=layout.weights))
    name = known_model(model)
    if name is None:
        problems.append(Problem("no model of this shape comes with the measured tables", field="model", value=model.id, legal=tuple(sorted(_models()))[:20]))
    if problems or name is None:
        raise InputError(problems)
    handle = _handle(name, layout, moe=model.moe is not None)
    return replace(step_costs(model, layout, fitted), measured_step_s=_Steps(handle, layout.pp))


class _Steps:
    """Seconds of one step of one stage by the tables; between whole numbers of sequences it is a straight line."""

    __slots__ = ("handle", "stages")

    def __init__(self, handle: Any, stages: int):
        self.handle = handle
        self.stages = stages

    def __call__(self, decode: float, context: float, prompt: float, prompt_context: float) -> float:
        low = int(decode)
        share = decode - low
        near = self._whole(low, context, prompt, prompt_context)
        return near if share < 1e-6 else near * (1 - share) + self._whole(low + 1, context, prompt, prompt_context) * share

    def _whole(self, decode: int, context: float, prompt: float, prompt_context: float) -> float:
        if prompt < 0.5:
            return float(self.handle.decode_step_latency(max(1, decode), max(1, round(context)), 2)) / 1e3 / self.stages if decode else 0.0
        # Prompt tokens see half of their prompt on average, running sequences what is behind them: prompt and half of the answer.
        length = max(1, round(2 * prompt_context))
        answer = max(2, round(2 * (context - length)))
        return float(self.handle.mixed_step_latency(max(1, round(prompt)), decode, length, answer)) / 1e3 / self.stages


def known_model(model: Model) -> str | None:
    """The package's name of this model, or of one of the same shape."""
    if model.id in _models():
        return model.id
    own = (model.layers, model.hidden, model.heads, model.kv_heads, model.moe.experts if model.moe else 0)
    return next((name for name, shape in sorted(_models().items()) if shape == own), None)


@cache
def _models() -> dict[str, tuple[int, ...]]:
    """Shape of every model that the package brings its configuration for; checkpoints of other precisions are the same shape."""
    found = {}
    for path in resources.files(PACKAGE).joinpath("model_configs").iterdir():
        if not path.name.endswith("_config.json") or "quant_config" in path.name:
            continue
        config = json.loads(path.read_text(encoding="utf-8"))
        config = config.get("text_config") or config
        experts = config.get("num_experts") or config.get("num_local_experts") or config.get("n_routed_experts") or 0
        if all(isinstance(config.get(key), int) for key in _SHAPE):
            found[path.name.removesuffix("_config.json").replace("--", "/")] = (*(config[key] for key in _SHAPE), experts)
    return found


@cache
def _engine() -> Any:
    """The package's entry. Raises: MissingToolError."""
    try:
        found = import_module(f"{PACKAGE}.sdk").EngineHandle
    except ImportError as err:
        raise MissingToolError("--performance-model silicon needs aiconfigurator-core; install it with: pip install 'inferform[silicon]'") from err
    # It tells of fallback rows for every table that it loads.
    logging.getLogger(PACKAGE).setLevel(logging.CRITICAL)
    return found


@cache
def _version() -> str:
    try:
        return version("aiconfigurator-core")
    except PackageNotFoundError:
        return "of unknown version"


@lru_cache(maxsize=256)
def _handle(name: str, layout: Layout, *, moe: bool) -> Any:
    experts = {"moe_quant_mode": EXPERTS[layout.weights], "moe_tp_size": layout.tp * layout.dp // layout.ep, "moe_ep_size": layout.ep} if moe else {}
    return _engine().compile(
        name, SYSTEMS[layout.gpu.name], ENGINES[layout.engine], tp_size=layout.tp, pp_size=layout.pp, attention_dp_size=layout.dp,
        gemm_quant_mode=MATRICES[layout.weights], kvcache_quant_mode="fp8" if layout.kv_cache in ONE_BYTE_KV else "bfloat16", **experts,
    )  # fmt: skip
