"""What a GPU can do with each weight and cache precision, and what a precision costs in quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from inferform.catalog.types import Gpu, Model
from inferform.errors import Problem
from inferform.sizing.memory_constants import constants

WEIGHTS = ("bf16", "fp16", "fp8", "int8", "awq", "gptq", "nvfp4", "mxfp4")
KV_CACHES = ("auto", "bf16", "fp16", "fp8", "fp8_e4m3", "fp8_e5m2", "float32")
Compute = Literal["native", "weight_only", "none"]
Accuracy = Literal["reference", "near_lossless", "small_loss", "visible_loss"]


@dataclass(frozen=True, slots=True)
class Method:
    """One weight precision. Capabilities are NVIDIA compute capabilities.

    `native` is where the arithmetic itself runs in this precision, `weight_only` where weights are stored so and computed in 16 bits;
    `last` bounds native use from above. `bits` includes scales at the usual group size.
    """

    name: str
    bits: float
    native: float | None
    weight_only: float | None
    accuracy: Accuracy
    last: float = 99.0


# Hardware support by the engine's documentation (vLLM quantization pages; INT8 is not offered on Blackwell), accuracy by the usual
# evaluations of each method: 8-bit recovers about 99 % or more of the 16-bit scores, 4-bit with groups 96-99 %.
METHODS = {
    method.name: method
    for method in (
        Method("bf16", 16, 8.0, None, "reference"),
        Method("fp16", 16, 7.0, None, "reference"),
        Method("fp8", 8, 8.9, 8.0, "near_lossless"),
        Method("int8", 8, 7.5, None, "near_lossless", last=9.9),
        Method("awq", 4.16, None, 7.5, "small_loss"),
        Method("gptq", 4.16, None, 7.5, "small_loss"),
        Method("nvfp4", 4.5, 10.0, 8.0, "small_loss"),
        Method("mxfp4", 4.25, 10.0, 8.0, "small_loss"),
    )
}
_RANK: dict[Accuracy, int] = {"reference": 0, "near_lossless": 1, "small_loss": 2, "visible_loss": 3}


@dataclass(frozen=True, slots=True)
class PrecisionCheck:
    """What forbids a precision and what should be known about it."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]


def compute_kind(gpu: Gpu, weights: str) -> Compute:
    """Whether the GPU computes in this precision, only stores weights in it, or cannot use it.

    INT8 is not offered on Blackwell: engines have no kernels for it there, and B300 cuts its INT8 arithmetic to a few percent.
    """
    method = METHODS[weights]
    if gpu.vendor != "nvidia" or gpu.compute_capability is None:
        # Outside NVIDIA the catalogue says what is native; nothing else is promised.
        native = weights in {"bf16", "fp16"} or (weights == "fp8" and gpu.native_fp8) or (weights in {"nvfp4", "mxfp4"} and gpu.native_fp4)
        return "native" if native else "none"
    capability = gpu.compute_capability
    if method.native is not None and method.native <= capability <= method.last:
        return "native"
    return "weight_only" if method.weight_only is not None and capability >= method.weight_only else "none"


def accuracy_class(weights: str) -> Accuracy:
    """How far a precision moves from the 16-bit model."""
    return METHODS[weights].accuracy


def at_least(weights: str, floor: Accuracy) -> bool:
    """Whether a precision is no worse than a floor."""
    return _RANK[METHODS[weights].accuracy] <= _RANK[floor]


def check_precision(
    model: Model, gpu: Gpu, *, weights: str, kv_cache: str = "auto", engine: str = "vllm", engine_version: str | None = None, field: str = ""
) -> PrecisionCheck:
    """FC-05: what a GPU cannot run, and what it runs without the expected speed-up.

    Mixture-of-experts FP8 below capability 8.9 needs a weight-only expert kernel, which counts only when the catalogue lists it for
    the pinned engine version. TensorRT-LLM has no weight-only FP8. An e5m2 cache never goes with FP8 weights.
    """
    problems: list[Problem] = []
    warnings: list[str] = []
    kind = compute_kind(gpu, weights)
    found = f"{gpu.compute_capability}" if gpu.compute_capability is not None else gpu.arch
    if weights == "fp8" and kind != "native":
        families = "g6 and g6e have 8.9, p5 has 9.0"
        if model.moe is not None and not _has_expert_kernel(engine, engine_version, gpu):
            problems.append(Problem(f"FP8 experts need compute capability 8.9, {gpu.name} has {found}", f"{field}quantization", value="fp8", fix=families))
        elif engine == "tensorrt-llm" or kind == "none":
            problems.append(
                Problem(f"FP8 with {engine} needs compute capability 8.9, {gpu.name} has {found}", f"{field}quantization", value="fp8", fix=families)
            )
        else:
            warnings.append(f"FP8 on {gpu.name} (capability {found}) is weight-only: one byte a weight, arithmetic at the 16-bit rate")
    elif kind == "none":
        problems.append(
            Problem(f"{gpu.name} (capability {found}) cannot run {weights} weights", f"{field}quantization", value=weights, legal=usable_weights(gpu))
        )
    elif kind == "weight_only" and METHODS[weights].native is not None:
        warnings.append(f"{weights} on {gpu.name} (capability {found}) is weight-only: small weights, arithmetic at the 16-bit rate")
    own = model.quantization
    is_fp8 = weights == "fp8" or (own is not None and own.weights == "fp8" and weights == "auto")
    if kv_cache == "fp8_e5m2" and is_fp8:
        problems.append(
            Problem("an fp8_e5m2 cache does not go with an FP8 checkpoint on any GPU", f"{field}kv_cache", value=kv_cache, fix="use fp8_e4m3 or auto")
        )
    elif kv_cache.startswith("fp8") and gpu.compute_capability is not None and gpu.compute_capability < 8.9:
        warnings.append(f"an FP8 cache on {gpu.name} (capability {found}) saves memory only, it does not speed attention up")
    return PrecisionCheck(tuple(problems), tuple(warnings))


def usable_weights(gpu: Gpu) -> tuple[str, ...]:
    """Precisions that a GPU can run, widest first."""
    return tuple(name for name in WEIGHTS if compute_kind(gpu, name) != "none")


def _has_expert_kernel(engine: str, version: str | None, gpu: Gpu) -> bool:
    listed = constants().get(engine, {}).get("weight_only_fp8_expert_kernels", {})
    return version is not None and gpu.compute_capability in listed.get(version, [])
