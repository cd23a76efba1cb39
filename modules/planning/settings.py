"""What the engine of a model is started with: version, image, and extra arguments merged into the fields they set (FC-17, FC-18)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inferform.engines import Engine as ServingEngine
from inferform.engines import find_engine
from inferform.errors import InputError, Problem
from inferform.spec import ModelSpec, Parallelism, Quantization

# Key of `split_extra_args` -> field of the model's spec.
_FIELDS = {
    "max_model_len": "max_model_len", "max_num_seqs": "max_num_seqs", "max_num_batched_tokens": "max_num_batched_tokens",
    "gpu_memory_utilization": "gpu_memory_utilization", "kv_cache": "kv_cache", "quantization": "quantization", "prefix_caching": "prefix_caching",
    "chunked_prefill": "chunked_prefill", "enforce_eager": "enforce_eager",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """A model's spec with its extra arguments merged in, and the engine that serves it."""

    spec: ModelSpec
    engine: ServingEngine
    version: str
    image: str
    extra_args: tuple[str, ...]
    notes: tuple[str, ...]


def settle(name: str, spec: ModelSpec, device: str) -> Settings:
    """The model's settings. Raises: InputError for an engine, version, image or argument that cannot be used, all at once."""
    field = f"models.{name}"
    engine = find_engine(spec.engine.value, field=f"{field}.engine")
    version, image = engine.pin(spec.engine_version, spec.image, "cpu" if device == "cpu" else "gpu", field=field)
    owned, rest = engine.split_extra_args(spec.extra_args, version, field=f"{field}.extra_args")
    if spec.quantize is not None:
        # What the job makes is the precision to plan for.
        spec = spec.model_copy(update={"quantization": Quantization(spec.quantize.method.value)})
    changes, notes = _merged(field, spec, owned)
    merged = ModelSpec.model_validate({**spec.model_dump(exclude_unset=False), **changes}) if changes else spec
    return Settings(merged, engine, version, image, rest, notes)


def _merged(field: str, spec: ModelSpec, owned: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Spec fields that the arguments set; an argument that contradicts a field that is set is refused."""
    changes: dict[str, Any] = {}
    notes: list[str] = []
    problems: list[Problem] = []
    for key, target in _FIELDS.items():
        if key not in owned:
            continue
        given = getattr(spec, target) if target in spec.model_fields_set else None
        held = getattr(given, "value", given)
        if held is not None and held != owned[key]:
            problems.append(
                Problem(
                    f"sets {target} to {owned[key]}, but the spec says {held}", f"{field}.extra_args", value=str(owned[key])[:40], fix="keep one of the two"
                )
            )
        changes[target] = owned[key]
        notes.append(f"{target} {owned[key]} comes from extra_args")
    degrees: dict[str, int] = {key: owned[key] for key in ("tp", "pp", "dp") if key in owned}
    if degrees or owned.get("expert_parallel"):
        explicit = spec.parallelism if isinstance(spec.parallelism, Parallelism) else None
        base = explicit or Parallelism()
        clash = {k: v for k, v in degrees.items() if explicit is not None and k in explicit.model_fields_set and getattr(explicit, k) != v}
        problems += [
            Problem(f"sets {k} to {v}, but parallelism says {getattr(base, k)}", f"{field}.extra_args", value=str(v), fix="keep one of the two")
            for k, v in sorted(clash.items())
        ]
        values = {**base.model_dump(), **degrees}
        if owned.get("expert_parallel"):
            values["ep"] = values["tp"] * values["dp"]
        changes["parallelism"] = values
        notes.append("parallelism " + ", ".join(f"{k} {v}" for k, v in sorted(values.items()) if v > 1) + " comes from extra_args")
    if "shutdown_timeout_s" in owned:
        problems.append(
            Problem(
                "the drain time follows from the longest generation", f"{field}.extra_args", value=str(owned["shutdown_timeout_s"])[:40],
                fix="leave --shutdown-timeout out and set lifecycle.grace",
            )
        )  # fmt: skip
    if problems:
        raise InputError(problems)
    return changes, tuple(notes)
