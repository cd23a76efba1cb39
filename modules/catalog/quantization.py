"""What a checkpoint says about its own precision, and which of its weights that covers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from inferform.catalog.config import Config
from inferform.catalog.types import CheckpointQuantization, Part, QuantizedPart, Tensor

# What engines quantize when a method is applied to a whole model: linear layers, never embeddings, head, router and norms.
LINEAR_PARTS: frozenset[Part] = frozenset({"attention", "linear", "mamba", "mlp", "expert", "shared_expert"})
_BITS = {"fp8": 8, "int8": 8, "awq": 4, "gptq": 4, "nvfp4": 4, "mxfp4": 4}
_SAFE_PATTERN = re.compile(r"\^?(?:\w|-|\\\.|\.\*|\.|\\d\+|\\d|\[0-9\]\+|\((?:\?:)?(?:\w|-|\\\.|\|)+\))*\$?")
_GROUP = {"awq": 128, "gptq": 128, "nvfp4": 16, "mxfp4": 32}


def read_quantization(config: Config, text: Config, separate: Config | None, tensors: tuple[Tensor, ...]) -> CheckpointQuantization | None:
    """The quantization of a checkpoint: `quantization_config` of the config (or of its text part), or `hf_quant_config.json` beside it."""
    own = config.part("quantization_config", "compression_config") or text.part("quantization_config", "compression_config")
    if separate is not None:
        inner = separate.part("quantization")
        own = own or inner
        if inner is not None and own is not inner and own is not None:
            own = Config({**inner.values, **own.values}, own.file, prefix=own.prefix, problems=own.problems)
    if own is None:
        return None
    method = own.text("quant_method", default="modelopt").lower()
    kv_cache = _kv_cache(own)
    ignored = tuple(dict.fromkeys(name for key in ("ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers") for name in own.texts(key)))
    weights, bits, group, block = _weights(own, method)
    parts = _mixed_parts(own, tensors) or _parts(weights, bits, group, ignored, tensors, zero_points=not _symmetric(own, method))
    if parts and not weights:
        weights = max((p.method for p in parts), key=lambda m: sum(t.params for t in tensors for p in parts if p.tensor == t.name and p.method == m))
        bits, group = _BITS[weights], _GROUP.get(weights)
    if not weights:
        return None
    return CheckpointQuantization(method, bits, group, block, ignored, kv_cache, weights, parts)


def default_parts(weights: str, tensors: Iterable[Tensor]) -> tuple[QuantizedPart, ...]:
    """What a method usually covers on a model without its own statement: MXFP4 the experts, the others every linear layer."""
    if weights not in _BITS:
        return ()
    covered = [t for t in tensors if t.part in LINEAR_PARTS and t.rows > 1 and t.cols > 1]
    if weights == "mxfp4" and any(t.part == "expert" for t in covered):
        covered = [t for t in covered if t.part == "expert"]
    return tuple(QuantizedPart(t.name, weights, _BITS[weights], _GROUP.get(weights)) for t in dict.fromkeys(covered))


def _kv_cache(own: Config) -> str | None:
    algorithm = own.text("kv_cache_quant_algo").lower()
    scheme = own.values.get("kv_cache_scheme")
    if algorithm.startswith("fp8"):
        return "fp8"
    bits = scheme.get("num_bits") if isinstance(scheme, dict) else None
    return "fp8" if bits == 8 else None


def _weights(own: Config, method: str) -> tuple[str, int, int | None, tuple[int, int] | None]:
    """(class of the weights, bits, group size, block); the class is empty for mixed or unknown statements."""
    sizes = own.wholes("weight_block_size", low=1, high=100_000)
    block = (sizes[0], sizes[1]) if sizes and len(sizes) == 2 else None
    algorithm = own.text("quant_algo").lower()
    if method in {"awq", "gptq", "awq_marlin", "gptq_marlin"}:
        bits = own.whole("bits", "w_bit", default=4, high=16)
        group = own.values.get("group_size", own.values.get("q_group_size"))
        name = ("awq" if "awq" in method else "gptq") if bits == 4 else "int8"
        return name, bits, group if isinstance(group, int) and group > 0 else None, None
    if method in {"fp8", "fbgemm_fp8"} or algorithm in {"fp8", "fp8_pb_wo", "fp8_pc_pt"}:
        return "fp8", 8, None, block
    if method == "mxfp4" or "mxfp4" in own.text("format"):
        return "mxfp4", 4, 32, None
    if "nvfp4" in algorithm or "nvfp4" in own.text("format") or own.text("quant_algo") == "W4A16_NVFP4":
        return "nvfp4", 4, 16, None
    if algorithm in {"w4a16_awq", "int4_awq"}:
        return "awq", 4, 128, None
    if method == "compressed-tensors":
        return _compressed(own)
    if method in {"bitsandbytes", "bnb"}:
        return ("int8", 8, None, None) if own.flag("load_in_8bit", default=False) else ("gptq", 4, 64, None)
    if method in {"modelopt", "modelopt_fp4"} or algorithm == "mixed_precision":
        return "", 0, None, None
    own.problem(
        "quant_method", "is not a method that Inferform knows", method, legal=("awq", "bitsandbytes", "compressed-tensors", "fp8", "gptq", "modelopt", "mxfp4")
    )
    return "", 0, None, None


def _compressed(own: Config) -> tuple[str, int, int | None, tuple[int, int] | None]:
    groups = own.part("config_groups")
    names = sorted(groups.values) if groups is not None else []
    first = groups.part(names[0]) if groups is not None and names else None
    weights = first.part("weights") if first is not None else None
    if weights is None:
        own.problem("config_groups", "wants at least one group that states its weights")
        return "", 0, None, None
    bits = weights.whole("num_bits", default=8, high=16)
    group = weights.whole("group_size", default=0, low=-1)
    structure = weights.wholes("block_structure", low=1, high=100_000)
    block = (structure[0], structure[1]) if structure and len(structure) == 2 else None
    is_float = weights.text("type", default="int") == "float"
    if bits == 8:
        return ("fp8" if is_float else "int8"), 8, None, block
    if is_float:
        return ("nvfp4", 4, 16, None) if group == 16 else ("mxfp4", 4, 32, None)
    return "gptq", bits, group if group > 0 else None, None


def _symmetric(own: Config, method: str) -> bool:
    """Whether a compressed-tensors checkpoint stores scales without zero points; the older formats always have both."""
    groups = own.part("config_groups") if method == "compressed-tensors" else None
    first = groups.part(min(groups.values)) if groups is not None and groups.values else None
    weights = first.part("weights") if first is not None else None
    return weights is not None and weights.flag("symmetric", default=True)


def _mixed_parts(own: Config, tensors: tuple[Tensor, ...]) -> tuple[QuantizedPart, ...]:
    """Parts of a checkpoint that lists its quantized layers one by one."""
    listed = own.part("quantized_layers")
    if listed is None:
        return ()
    found: dict[tuple[str, int | None], str] = {}
    for name in listed.values:
        entry = listed.part(name)
        algorithm = entry.text("quant_algo").lower() if entry is not None else ""
        method = "nvfp4" if "nvfp4" in algorithm else "fp8" if "fp8" in algorithm else "awq" if "awq" in algorithm else ""
        if method:
            layer, module = _split(name)
            found[module, layer] = method
    parts = []
    for tensor in dict.fromkeys(tensors):
        by_method: dict[str, list[int]] = {}
        for layer in tensor.layers or (None,):
            stated = (
                found.get((tensor.name, layer))
                or found.get((_module(tensor.name), layer))
                or found.get((tensor.name, None))
                or found.get((_module(tensor.name), None))
            )
            if stated:
                by_method.setdefault(stated, []).extend([] if layer is None else [layer])
        parts += [QuantizedPart(tensor.name, method, _BITS[method], _GROUP.get(method), tuple(layers)) for method, layers in by_method.items()]
    return tuple(parts)


def _module(name: str) -> str:
    return name.rsplit(".", 1)[0]


def _split(name: str) -> tuple[int | None, str]:
    """`model.layers.3.mlp.experts.17.up_proj` -> (3, `mlp.experts.up_proj`); the layer is None outside of layers and for `*`."""
    match = re.search(r"(?:^|\.)layers\.(\d+|\*)\.?(.*)$", name)
    if not match:
        return None, name.rsplit(".", 1)[-1] if name.endswith("lm_head") else name
    inner = re.sub(r"\.experts\.\d+(?=\.|$)", ".experts", match.group(2))
    return (None if match.group(1) == "*" else int(match.group(1))), inner


def _parts(
    weights: str, bits: int, group: int | None, ignored: tuple[str, ...], tensors: tuple[Tensor, ...], *, zero_points: bool
) -> tuple[QuantizedPart, ...]:
    """Every linear weight but the ignored ones."""
    if not weights:
        return ()
    rules = _Rules(ignored)
    parts = []
    for tensor in dict.fromkeys(tensors):
        if tensor.part not in LINEAR_PARTS or tensor.rows == 1 or tensor.cols == 1:
            continue
        if not tensor.layers:
            kept: tuple[int, ...] = ()
            if rules.ignores(tensor.name, None):
                continue
        else:
            kept = tuple(layer for layer in tensor.layers if not rules.ignores(tensor.name, layer))
            if not kept:
                continue
        parts.append(QuantizedPart(tensor.name, weights, bits, group, () if kept == tensor.layers else kept, zero_points))
    return tuple(parts)


class _Rules:
    """Ignore rules in the spellings that checkpoints use: full names, module prefixes, globs, `re:` patterns, bare module names."""

    def __init__(self, ignored: tuple[str, ...]):
        self.exact: set[tuple[int | None, str]] = set()
        self.globs: list[str] = []
        self.patterns: list[re.Pattern[str]] = []
        self.bare: set[str] = set()
        for rule in ignored:
            if rule.startswith("re:"):
                self._add_pattern(rule[3:])
            elif re.search(r"(^|\.)layers\.(\d+|\*)", rule):
                layer, inner = _split(rule)
                if "*" in inner or "?" in inner or not inner:
                    self.globs.append(f"layers.{'*' if layer is None else layer}.{inner or '*'}")
                elif layer is None or not rule.endswith("*"):
                    self.exact.add((layer, inner))
            elif "*" in rule:
                self.globs.append(rule if rule.startswith("*") else "*" + rule)
            else:
                self.bare.add(rule.rsplit(".", 1)[-1] if "lm_head" in rule else rule)

    def _add_pattern(self, text: str) -> None:
        # A pattern is data from a file. Only forms that match in bounded time are taken: words, dots, `.*` (at most four times), digits,
        # and alternatives without repetition. Any other ignores nothing.
        if len(text) <= 200 and text.count("*") <= 4 and _SAFE_PATTERN.fullmatch(text):
            self.patterns.append(re.compile(text))

    def ignores(self, name: str, layer: int | None) -> bool:
        """Whether the tensor of one layer stays in 16 bits."""
        segments = name.split(".")
        modules = [".".join(segments[: i + 1]) for i in range(len(segments))]
        if any((layer, module) in self.exact or (None, module) in self.exact for module in modules):
            return True
        if any(segment in self.bare for segment in segments) or any(module in self.bare for module in modules):
            return True
        full = name if layer is None else f"layers.{layer}.{name}"
        if any(fnmatchcase(full, glob) or fnmatchcase(f"model.{full}", glob) or fnmatchcase(f"language_model.model.{full}", glob) for glob in self.globs):
            return True
        return any(pattern.search(f"model.{full}") for pattern in self.patterns)
