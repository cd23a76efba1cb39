"""The question to the memory planner, and the engine defaults that fill what it leaves open."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inferform.catalog.types import Gpu, Model
from inferform.errors import InputError, Problem
from inferform.sizing.memory_constants import GIB, EngineName, Version, constants, has, read_version
from inferform.sizing.runtime import default_interconnect

_LARGE_CARD_BYTES = 70 * GIB
_A100_BYTES = 80 * GIB
_FIRST_ENGINE_CHUNK = 2048
_FIRST_ENGINE_WHOLE = 32768


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """One question to the memory planner. None takes the engine's own default for that card and version.

    `gpu_memory_bytes` is the total that a process sees; it makes an unknown GPU usable and overrides the catalogue's figure.
    Without an engine version the answer covers old and new versions; CUDA graphs are then left to the share outside of the budget.
    With `whole_card` the utilization is a share of the whole card for every engine, as vLLM and the spec mean it, and not the
    engine's own fraction (TensorRT-LLM: of free memory; SGLang: without activations); engines then get the same budget (FC-22).
    """

    model: Model
    gpu: Gpu | None = None
    gpu_memory_bytes: int | None = None
    gpu_name: str = ""
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    weights: str = "auto"
    kv_cache: str = "auto"
    gpu_memory_utilization: float | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    enforce_eager: bool = False
    engine: EngineName = "vllm"
    engine_version: str | None = None
    interconnect: str | None = None
    whole_card: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """A request with every default filled in. `share` is the utilization that applies."""

    request: MemoryRequest
    version: Version | None
    device_bytes: int
    share: float
    budget_bytes: int
    weights: str
    interconnect: str
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int

    @property
    def gpu_name(self) -> str:
        """The card for people."""
        return self.request.gpu.name if self.request.gpu else self.request.gpu_name or "the GPU"


def settle(request: MemoryRequest) -> Settings:
    """The request with the engine's defaults for this card and version.

    Raises: InputError when the memory of the GPU is not known.
    """
    device = request.gpu_memory_bytes or (request.gpu.device_memory_bytes if request.gpu else None)
    if device is None:
        name = request.gpu.name if request.gpu else request.gpu_name or "the GPU"
        raise InputError(Problem(f"the memory of {name} is not known", field="gpu_memory_bytes", fix="give the bytes that a process on it sees"))
    version = read_version(request.engine_version) if request.engine_version else None
    share = request.gpu_memory_utilization or default_utilization(request.engine, version)
    length = request.max_model_len or request.model.max_position
    sequences, tokens = _batch_defaults(request, device, version, length)
    return Settings(
        request=request,
        version=version,
        device_bytes=device,
        share=share,
        # TensorRT-LLM budgets with what is free after loading, not with a share of the card.
        budget_bytes=device if request.engine == "tensorrt-llm" and not request.whole_card else math.ceil(device * share),
        weights=own_weights(request.model) if request.weights == "auto" else request.weights,
        interconnect=request.interconnect or default_interconnect(request.gpu, device),
        max_model_len=length,
        max_num_seqs=request.max_num_seqs or sequences,
        max_num_batched_tokens=request.max_num_batched_tokens or tokens,
    )


def own_weights(model: Model) -> str:
    """The precision that the checkpoint itself has."""
    if model.quantization is not None:
        return model.quantization.weights
    return "fp16" if model.dtype == "float16" else "bf16"


def default_utilization(engine: str, version: Version | None) -> float:
    """Share of a GPU that an engine takes when nothing is said; 0.90 for a vLLM whose version is not known."""
    if engine == "sglang":
        return float(constants()["sglang"]["static_fraction"])
    if engine == "tensorrt-llm":
        return float(constants()["tensorrt-llm"]["free_fraction"])
    return 0.92 if version is not None and has("utilization_092", version) else 0.90


def profiles_chunks(version: Version | None, length: int) -> bool:
    """Whether the first engine (before 0.8) profiles one chunk without sampling, as it did above 32,768 tokens of context.

    Below that it profiles a whole context with sampling; later engines always sample.
    """
    return version is not None and not has("one_engine_loop", version) and length > _FIRST_ENGINE_WHOLE


def _batch_defaults(request: MemoryRequest, device: int, version: Version | None, length: int) -> tuple[int, int]:
    """(sequences, batched tokens) of one step when the request leaves them open."""
    if request.engine == "tensorrt-llm":
        own = constants()["tensorrt-llm"]
        return own["max_batch_size"], own["max_num_tokens"]
    if request.engine == "vllm" and version is not None and not has("one_engine_loop", version):
        return 256, _FIRST_ENGINE_CHUNK if profiles_chunks(version, length) else max(length, _FIRST_ENGINE_CHUNK)
    # vLLM gives its larger defaults to cards of 70 GiB and more, except the A100, where they lowered throughput.
    large = device >= _LARGE_CARD_BYTES and not _may_be_a100(request, device)
    tokens = 8192 if large else 2048
    # Without chunked prefill, as encoders run, one step carries a whole input.
    return (1024 if large else 256), max(tokens, length) if request.model.encoder else tokens


def _may_be_a100(request: MemoryRequest, device: int) -> bool:
    """Whether the card is an A100, or has its size and no name; engines decide by the name."""
    name = request.gpu.name if request.gpu else request.gpu_name
    return "a100" in name.lower() if name else device <= _A100_BYTES
