"""Peak memory of the profiling run that an engine makes before it sizes its cache.

Two things are alive at different times: the forward pass over a full batch of prompt tokens, and the sampler over one row of
logits a sequence. With default limits the sampler is the larger one, so that the peak follows vocabulary x sequences, not
the size of the model.
"""

from __future__ import annotations

import math

from inferform.catalog.types import Model
from inferform.sizing.memory_constants import ActivationLaw, Version, activation_laws


def activation_bytes(
    model: Model, *, tp: int, ep: int, pp: int, samples: bool, max_num_seqs: int, max_num_batched_tokens: int, weights: str, version: Version
) -> int:
    """Peak bytes on one rank; `samples` is True for the last stage of a pipeline."""
    law = [law for law in activation_laws() if law.since <= version][-1]
    return _peak(model, law, tp=tp, ep=ep, pp=pp, samples=samples, sequences=max_num_seqs, tokens=max_num_batched_tokens, weights=weights)


def _peak(model: Model, law: ActivationLaw, *, tp: int, ep: int, pp: int, samples: bool, sequences: int, tokens: int, weights: str) -> int:
    hidden = tokens * model.hidden * 2
    # A stage that is not the last receives and sends the hidden state and the residual.
    forward = _dense_bytes(model, tp, tokens) + 4 * hidden + (2 * hidden if pp > 1 else 0)
    workspace = 0 if weights == "mxfp4" else expert_workspace_bytes(model, tp, ep, tokens)
    sampler = 0
    if samples and not model.encoder:
        # The engine samples for at most one sequence a token of the batch.
        logits = min(sequences, tokens) * model.vocab * 4
        sampler = hidden + int(law.logits_copies * logits)
    vision = law.vision_bytes if model.vision_params else 0
    if law.workspace_kept:
        return max(forward, sampler) + workspace + law.fixed_bytes + vision
    return max(forward + workspace, sampler) + law.fixed_bytes + vision


def _dense_bytes(model: Model, tp: int, tokens: int) -> int:
    """Inside one MLP: gate and up side by side, then their product (or up and its activation)."""
    width = model.intermediate
    if model.moe is not None:
        width = max(width if model.moe.dense_layers else 0, model.moe.shared_intermediate)
    return tokens * (3 if model.gated_mlp else 2) * math.ceil(width / tp) * 2


def expert_workspace_bytes(model: Model, tp: int, ep: int, tokens: int) -> int:
    """Two buffers of the fused expert kernels: every token once for each chosen expert.

    Shape: tokens x top-k x max(expert width, hidden) and tokens x top-k x max(2 x expert width, hidden), 16 bits.
    Checked against the excess over the dense law of Qwen3-30B-A3B (0.50 GiB), DeepSeek-V2-Lite (0.44) and Mixtral TP2 (0.66).
    """
    if model.moe is None:
        return 0
    width = model.moe.intermediate if ep > 1 else math.ceil(model.moe.intermediate / tp)
    rows = tokens * model.moe.experts_per_token
    return rows * (max(width, model.hidden) + max((2 if model.gated_mlp else 1) * width, model.hidden)) * 2
