"""The memory of one GPU as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inferform.cli.formats.table import bullets, pairs
from inferform.quantities import format_bytes


def memory_text(asked: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """What takes the memory, what is left for the KV cache, and what would help where it does not fit."""
    degrees = ", ".join(f"{key} {asked[key]}" for key in ("tp", "pp") if asked.get(key, 1) != 1)
    where = f"{asked.get('model')} on {asked.get('gpu') or format_bytes(plan['device_memory_bytes'])}{f' ({degrees})' if degrees else ''}"
    engine = f", {asked.get('engine', 'vllm')} {asked['engine_version']}" if "engine_version" in asked else ""
    share = plan["budget_bytes"] / plan["device_memory_bytes"] if plan["device_memory_bytes"] else 0.0
    rows = [
        ("GPU memory", format_bytes(plan["device_memory_bytes"])),
        ("engine may take", f"{format_bytes(plan['budget_bytes'])} ({share:.0%})"),
        ("weights", format_bytes(plan["weights_bytes_per_gpu"])),
        ("activations", format_bytes(plan["activation_bytes_per_gpu"])),
        ("runtime", format_bytes(plan["runtime_bytes_per_gpu"])),
        ("KV cache", f"{format_bytes(plan['kv_cache_bytes_per_gpu'])}, {plan['kv_cache_tokens']:,} tokens of {plan['kv_cache_bytes_per_token']:,} bytes"),
        ("requests at once", f"{plan['max_concurrency']:,.1f} of full length"),
    ]
    parts = [f"{where}{engine}: {'fits' if plan['fits'] else 'does not fit'}", pairs(rows)]
    return "\n".join([*parts, bullets(plan["limits"])] if plan["limits"] else parts)
