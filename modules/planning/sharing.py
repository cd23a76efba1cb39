"""Several replicas on one GPU: MIG instances, or turns on a whole card (FC-31). A part is a card of its own to the search."""

from __future__ import annotations

import math
from dataclasses import replace

from inferform.catalog.slices import mig_profiles, parts
from inferform.catalog.types import Instance
from inferform.errors import Problem
from inferform.plan_isolation import SharingPlan
from inferform.spec import ModelSpec
from inferform.spec_isolation import GpuSharing

_RESOURCE = "nvidia.com/gpu"


def shared(field: str, spec: ModelSpec, engine: str, instances: tuple[Instance, ...], *, many_tenants: bool, problems: list[Problem]) -> tuple[Instance, ...]:
    """The instance types as nodes of divided GPUs; those whose cards cannot be divided so are left out."""
    sharing = spec.hardware.sharing
    assert sharing is not None
    at = f"{field}.hardware.sharing"
    what = "a MIG instance" if sharing.mode == "mig" else "a turn on a card"
    degrees = spec.parallelism if spec.parallelism != "auto" else None
    for name in ("tp", "pp", "dp", "ep") if degrees else ():
        value = getattr(degrees, name)
        if value > 1:
            problems.append(
                Problem(
                    f"a process sees one GPU in {what}, and nothing links it to another",
                    f"{field}.parallelism.{name}",
                    value=str(value),
                    legal=("1",),
                    fix=f"set {name} 1, or leave hardware.sharing out and use whole GPUs",
                )
            )
    if sharing.mode == "time-slicing":
        problems += _turns(at, engine, many_tenants)
    divided = tuple(_divided(instance, sharing) for instance in instances if instance.gpu and _can(instance, sharing))
    if not divided and sharing.mode == "mig":
        cards = sorted({i.gpu for i in instances if i.gpu})
        legal = tuple(dict.fromkeys(profile for card in cards for profile in mig_profiles(card)))
        fix = (
            f"use one of these, which {', '.join(c for c in cards if mig_profiles(c))} hold" if legal else "name GPUs that have MIG, such as A100, H100 or H200"
        )
        problems.append(Problem("is no MIG profile of the GPUs that may be used", f"{at}.profile", value=str(sharing.profile), legal=legal, fix=fix))
    return divided


def _turns(at: str, engine: str, many_tenants: bool) -> list[Problem]:
    found = []
    if many_tenants:
        found.append(
            Problem(
                "gateway.auth lets several tenants in, and time-slicing keeps neither their memory nor their faults apart",
                f"{at}.mode",
                value="time-slicing",
                legal=("mig",),
                fix="use mode mig, or leave hardware.sharing out and use whole GPUs",
            )
        )
    if engine != "vllm":
        # FC-22: a share of free memory means something else for each engine on a card.
        found.append(
            Problem(
                f"two engines of {engine} on one card would each take what the other counts as free",
                f"{at}.mode",
                value="time-slicing",
                legal=("mig",),
                fix="use engine: vllm, whose memory share is of the whole card, or mode mig",
            )
        )
    return found


def _can(instance: Instance, sharing: GpuSharing) -> bool:
    return sharing.mode == "time-slicing" or sharing.profile in mig_profiles(instance.gpu or "")


def _divided(instance: Instance, sharing: GpuSharing) -> Instance:
    name = f"{instance.gpu}/{sharing.profile or sharing.replicas}"
    return replace(instance, gpu=name, gpu_count=instance.gpu_count * parts(name), interconnect="none")


def sharing_plan(instance: Instance) -> SharingPlan | None:
    """How a node's GPUs are divided; None for whole ones."""
    name = instance.gpu or ""
    card, _, part = name.rpartition("/")
    if not card:
        return None
    if part.isdecimal():
        return SharingPlan(mode="time-slicing", profile=None, resource=_RESOURCE, parts=parts(name))
    return SharingPlan(mode="mig", profile=part, resource=f"nvidia.com/mig-{part}", parts=parts(name))


def utilization(share: float, sharing: SharingPlan | None) -> float:
    """The engine's share of the memory that it sees: all of a MIG instance's, and of a whole card that it takes turns on only its part."""
    if sharing is None or sharing.mode == "mig":
        return share
    return math.floor(share / sharing.parts * 1000) / 1000


def node_problems(field: str, kind: str, os: str) -> list[Problem]:
    """Kinds of nodes that do not know parts of GPUs."""
    found = []
    if kind == "karpenter":
        found.append(
            Problem(
                "Karpenter counts whole GPUs, so that pods that ask for a part wait for ever",
                f"{field}.kind",
                value=kind,
                legal=("managed", "self_managed"),
                fix="use self_managed",
            )
        )
    if os == "bottlerocket":
        found.append(
            Problem("Bottlerocket brings a device plugin of its own, which offers whole GPUs", f"{field}.os", value=os, legal=("al2023",), fix="use al2023")
        )
    return found


def sharing_warning(sharing: SharingPlan | None) -> str | None:
    """What a user should know before several replicas take turns on a card."""
    if sharing is None or sharing.mode == "mig":
        return None
    return (
        f"{sharing.parts} replicas take turns on each GPU: they share its memory and its faults, latencies are planned as for an equal part of the card "
        "and rise when all are busy; use mode mig where that matters"
    )
