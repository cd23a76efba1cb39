"""Look-ups of accelerators by any usual spelling."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from inferform.catalog.slices import part_of
from inferform.catalog.tables import number, rows, scaled, whole
from inferform.catalog.types import Gpu
from inferform.errors import InputError, Nearest, Problem

GIB = 2**30
MIB = 2**20
# Words that say nothing about which card it is.
_NOISE = {
    "nvidia",
    "amd",
    "aws",
    "google",
    "tesla",
    "geforce",
    "quadro",
    "instinct",
    "gpu",
    "tensor",
    "core",
    "blackwell",
    "hbm2",
    "hbm2e",
    "hbm3",
    "hbm3e",
    "generation",
    "workstation",
}
# Characters that no card's name has.
_STRANGE = r"[^\w\s().,/+-]"
_SAME = {"sxm2": "sxm", "sxm4": "sxm", "sxm5": "sxm", "sxm6": "sxm", "hgx": "sxm", "pci": "pcie", "se": "bse", "server": "bse", "edition": "bse"}


@cache
def _table() -> dict[str, Gpu]:
    return {row["gpu"]: _gpu(row) for row in rows("gpus.csv")}


@cache
def _preferred() -> dict[frozenset[str], str]:
    """Spelling (as tokens) -> card meant by it where several cards fit."""
    return {_tokens(alias): row["gpu"] for row in rows("gpus.csv") for alias in row["aliases"].split("|") if alias}


@cache
def _by_tokens() -> dict[str, frozenset[str]]:
    return {name: _tokens(name) for name in _table()}


def _gpu(row: dict[str, str]) -> Gpu:
    cuda = number(row["cuda_memory_gib"])
    smi = whole(row["nvidia_smi_memory_mib"])
    marketing = number(row["marketing_memory_gb"])
    return Gpu(
        name=row["gpu"],
        vendor=row["vendor"],
        arch=row["arch"],
        compute_capability=number(row["compute_capability"]),
        memory_bytes=None if smi is None else smi * MIB,
        memory_bandwidth_bytes_per_s=float(row["memory_bandwidth_gb_per_s"]) * 1e9,
        fp16_flops=scaled(row["fp16_dense_tflops"], 1e12),
        fp8_flops=scaled(row["fp8_dense_tflops"], 1e12),
        int8_ops=scaled(row["int8_dense_tops"], 1e12),
        fp4_flops=scaled(row["fp4_dense_tflops"], 1e12),
        native_fp8=row["native_fp8"] == "y",
        native_fp4=row["native_fp4"] == "y",
        nvlink_bytes_per_s_per_gpu=float(row["nvlink_gb_per_s_bidirectional"] or 0) * 1e9,
        pcie_gen=whole(row["pcie_gen"]),
        source=row["source"],
        read=row["read"],
        cuda_memory_bytes=None if cuda is None else round(cuda * GIB),
        marketing_memory_bytes=None if marketing is None else round(marketing * 1e9),
        native_bf16=row["native_bf16"] == "y",
        notes=row["notes"],
    )


def _tokens(name: str) -> frozenset[str]:
    """`NVIDIA A100-SXM4-80GB` -> {a100, sxm, 80gb}; remarks in brackets are dropped."""
    words = re.findall(r"[a-z0-9.]+", re.sub(r"\(.*?\)", " ", name.lower()))
    joined = re.sub(r"\b(\d+) (gb|gib|g)\b", r"\1gb", " ".join(words))
    joined = re.sub(r"\b(\d+)(?:gib|g)\b", r"\1gb", joined)
    joined = re.sub(r"\b(rtx|gtx)(\d)", r"\1 \2", joined)
    joined = re.sub(r"\b(a100|h100|h200|b200)(sxm|pcie|nvl)", r"\1 \2", joined)
    return frozenset(_SAME.get(word, word) for word in joined.split() if word not in _NOISE)


def all_gpus() -> tuple[Gpu, ...]:
    """Every accelerator of the catalogue, in file order."""
    return tuple(_table().values())


@lru_cache(maxsize=1024)
def find_gpu(name: str) -> Gpu:
    """The accelerator meant by a usual spelling: `H100`, `H100 80GB`, `A100-SXM-80GB`, `NVIDIA A100-SXM4-80GB`, `RTX PRO 6000`.

    A spelling that leaves the variant open means the variant in the `aliases` column (`H100` is the SXM5 card).
    Raises: InputError listing the nearest names, or all the cards that fit when none is preferred.
    """
    table = _table()
    if name in table:
        return table[name]
    card, _, part = name.rpartition("/")
    if card in table:
        return part_of(table[card], part)
    asked = _tokens(name)
    if asked in _preferred() and not re.search(_STRANGE, name):
        return table[_preferred()[asked]]
    # A memory size or a lone letter names no card.
    named = any(not word.endswith("gb") and len(word) > 1 for word in asked) and not re.search(_STRANGE, name)
    fits = [known for known, tokens in _by_tokens().items() if named and asked <= tokens]
    if len(fits) == 1:
        return table[fits[0]]
    if fits:
        raise InputError(
            Problem(f'GPU name "{name}" fits several cards', field="gpu", value=name, legal=tuple(fits), fix=f"write one of them, such as {fits[0]}")
        )
    near = Nearest("-".join(sorted(asked)), tuple(table)).suggestions() or Nearest(name, tuple(table)).suggestions()
    fix = (f"did you mean {near[0]}? " if near else "") + "a card outside the catalogue needs its memory in bytes"
    raise InputError(Problem(f'GPU "{name}" is not in the catalogue', field="gpu", value=name, legal=near or tuple(table), fix=fix))
