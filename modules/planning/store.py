"""The model store: its copy in another region, and the file system in front of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from inferform.catalog.price_book import PriceBook
from inferform.errors import Problem
from inferform.plan import ModelPlan
from inferform.plan_store import DistributionPlan, LustrePlan, ModelStorePlan, ReplicaPlan
from inferform.planning.frame import bucket_name
from inferform.quantities import GIB
from inferform.spec import DeploymentSpec
from inferform.spec_store import Lustre


def store_plan(spec: DeploymentSpec, environment: str, models: dict[str, ModelPlan], zones: Sequence[str]) -> ModelStorePlan:
    """The store as the spec says; a file system without a zone stands where most pools may run."""
    store = spec.model_store
    identity = {"tenant": spec.tenant, "name": spec.name, "environment": environment}
    replica = None
    if store.replicate_to:
        replica = ReplicaPlan(region=store.replicate_to, bucket=bucket_name("models-copy", **identity, region=store.replicate_to))
    lustre = lustre_plan(store.lustre, zone=store.lustre.zone or _middle(models, zones)) if store.lustre else None
    return ModelStorePlan(
        bucket=bucket_name("models", **identity, region=spec.cloud.region), keep_old_days=store.keep_old_days, replica=replica, lustre=lustre,
        distribution=DistributionPlan(node_agents=spec.cold_start.node_agents, image_peers=spec.cold_start.image_peers),
    )  # fmt: skip


def lustre_plan(lustre: Lustre, zone: str) -> LustrePlan:
    """The file system in this zone."""
    made = lustre.file_system
    return LustrePlan(
        storage_gib=lustre.storage // GIB, mb_per_s_per_tib=lustre.throughput, zone=zone, file_system_id=made.id if made else None,
        mount_name=made.mount_name if made else None,
    )  # fmt: skip


def store_problems(spec: DeploymentSpec, models: dict[str, ModelPlan], zones: Sequence[str], book: PriceBook) -> list[Problem]:
    """What cannot be: a copy in the same or an unknown region, a file system outside the network, sources that do not exist."""
    store, found = spec.model_store, []
    if store.replicate_to == spec.cloud.region:
        found.append(Problem("is where the store already is", "model_store.replicate_to", value=store.replicate_to, fix="name another region, or leave it out"))
    elif store.replicate_to and store.replicate_to not in book.regions():
        found.append(Problem("is not a region that is known", "model_store.replicate_to", value=store.replicate_to, legal=book.regions()))
    lustre = store.lustre
    if lustre and lustre.zone and lustre.zone not in zones:
        found.append(Problem("is not among the zones of the network", "model_store.lustre.zone", value=lustre.zone, legal=tuple(zones), fix="leave it out"))
    if spec.cold_start.weights_from == "lustre" and lustre is None:
        found.append(
            Problem(
                "there is no file system to load from",
                "cold_start.weights_from",
                value="lustre",
                legal=("auto", "store", "peers"),
                fix="give model_store.lustre, or use auto",
            )
        )
    elif spec.cold_start.weights_from == "lustre" and lustre and lustre.file_system is None:
        found.append(
            Problem(
                "pods can mount the file system only once it exists: its id and mount name are made by the first apply",
                "cold_start.weights_from",
                value="lustre",
                legal=("auto", "store", "peers"),
                fix="apply with auto first, then write the outputs of the stack file_system into model_store.lustre.file_system",
            )
        )
    if spec.cold_start.image_peers:
        found += [problem for name, model in sorted(models.items()) for problem in _without_mirrors(name, model)]
    return found


def _without_mirrors(name: str, model: ModelPlan) -> list[Problem]:
    """Nodes whose containerd cannot be told to keep layers and to ask a mirror."""
    nodes = [pool.infrastructure for pool in model.pools.values()]
    found = []
    if any(node.os == "bottlerocket" for node in nodes):
        what = "Bottlerocket's containerd takes no mirror settings from a DaemonSet, so these nodes cannot pull from each other"
        found.append(Problem(what, f"models.{name}.nodes.os", value="bottlerocket", legal=("al2023",), fix="use al2023, or turn cold_start.image_peers off"))
    if any(node.kind == "karpenter" for node in nodes):
        what = "the node class of Karpenter's pools carries no containerd settings, so these nodes cannot pull from each other"
        legal = ("managed", "self_managed")
        found.append(Problem(what, f"models.{name}.nodes.kind", value="karpenter", legal=legal, fix="choose another kind, or turn cold_start.image_peers off"))
    return found


def store_warnings(plan: ModelStorePlan, models: dict[str, ModelPlan]) -> list[str]:
    """What a user should know about a file system: that it waits to be mounted, and who reads across zones."""
    lustre = plan.lustre
    if lustre is None:
        return []
    if lustre.file_system_id is None:
        return [
            "model_store.lustre is paid for but not used yet: after the apply write the outputs file_system_id and file_system_mount_name of the stack "
            "file_system into model_store.lustre.file_system"
        ]
    far = sorted(
        f"{name}/{role}"
        for name, model in models.items()
        for role, pool in model.pools.items()
        if pool.pod.weights_from == "lustre" and lustre.zone not in pool.infrastructure.zones
    )
    return [f"{', '.join(far)}: weights come from the file system in {lustre.zone}, another zone, whose traffic is billed"] if far else []


def _middle(models: dict[str, ModelPlan], zones: Sequence[str]) -> str:
    """The zone where most pools may run, the first by name among equals."""
    votes = Counter(zone for model in models.values() for pool in model.pools.values() for zone in pool.infrastructure.zones if zone in zones)
    return min(zones, key=lambda zone: (-votes[zone], zone))
