"""Look-ups of instance types, their network wiring and where they are offered."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, cast

from inferform.catalog.gpus import find_gpu
from inferform.catalog.tables import number, rows, whole
from inferform.catalog.types import EfaLayout, Instance
from inferform.errors import InputError, Nearest, Problem

GIB = 2**30
# EC2 counts vCPUs per family group and market; the letters that open the type's name decide the group.
_QUOTA_FAMILY = {"p": "P", "g": "G and VT", "gr": "G and VT", "vt": "G and VT", "inf": "Inf", "trn": "Trn", "dl": "DL", "f": "F", "x": "X", "u": "High Memory"}


@cache
def _table() -> dict[str, Instance]:
    return {row["instance_type"]: _instance(row) for row in rows("instances.csv")}


def _instance(row: dict[str, str]) -> Instance:
    return Instance(
        name=row["instance_type"],
        provider=row["provider"],
        gpu=row["gpu"] or None,
        gpu_count=int(row["gpu_count"]),
        interconnect=cast(Literal["none", "pcie", "nvlink", "nvswitch", "neuronlink"], row["interconnect"]),
        vcpus=int(row["vcpus"]),
        memory_bytes=round(float(row["memory_gib"]) * GIB),
        local_nvme_count=whole(row["local_nvme_count"]) or 0,
        local_nvme_bytes=round((number(row["local_nvme_gb"]) or 0) * 1e9),
        network_bytes_per_s=(number(row["network_gbit_per_s"]) or 0) * 1e9 / 8,
        efa_interfaces=whole(row["efa_interfaces"]) or 0,
        network_cards=whole(row["network_cards"]) or 1,
        cluster_placement=row["cluster_placement"] == "y",
        capacity_blocks=row["capacity_blocks"] == "y",
        spot=row["spot"] == "y",
        max_enis=whole(row["max_enis"]),
        max_pods=whole(row["max_pods"]),
        arch=row["arch"],
        source=row["source"],
        read=row["read"],
        gpu_share=float(row["gpu_share"]),
        notes=row["notes"],
    )


def find_instance(name: str) -> Instance:
    """One instance type. Raises: InputError with the nearest names."""
    table = _table()
    found = table.get(name) or table.get(name.strip().lower())
    if found:
        return found
    near = Nearest(name, tuple(table)).suggestions()
    raise InputError(
        Problem(
            f'instance type "{name}" is not in the catalogue', field="instance_type", value=name, legal=near, fix=f"did you mean {near[0]}?" if near else ""
        )
    )


def gpu_instances(provider: str = "aws", vendor: str = "nvidia") -> tuple[Instance, ...]:
    """Instance types of a provider that carry whole cards of one vendor, by name."""
    found = [i for i in _table().values() if i.provider == provider and i.gpu and i.gpu_share == 1 and find_gpu(i.gpu).vendor == vendor]
    return tuple(sorted(found, key=lambda i: i.name))


def cpu_instances(provider: str = "aws") -> tuple[Instance, ...]:
    """Instance types of a provider without accelerators, by name."""
    return tuple(sorted((i for i in _table().values() if i.provider == provider and i.gpu is None), key=lambda i: i.name))


@cache
def _efa() -> dict[str, EfaLayout]:
    return {
        row["instance_type"]: EfaLayout(
            instance_type=row["instance_type"],
            network_cards=whole(row["network_cards"]),
            interfaces=int(row["efa_interfaces_max"]),
            efa_cards=tuple(int(card) for card in row["efa_card_indexes"].split("|") if card),
            max_enis=whole(row["max_enis"]),
            enis_per_card=whole(row["enis_per_card"]),
            default_card=whole(row["default_card_index"]) or 0,
            ena_extra=row["ena_extra"],
            source=row["source"],
            read=row["read"],
            notes=row["notes"],
        )
        for row in rows("efa.csv")
    }


def efa_layout(name: str) -> EfaLayout | None:
    """EFA wiring of one instance type; None when the type has no EFA. Raises: InputError when the type is not known."""
    return _efa().get(find_instance(name).name)


@cache
def _zones() -> dict[str, dict[str, list[tuple[str, bool]]]]:
    """Instance type -> region -> (zone, is a local zone)."""
    table: dict[str, dict[str, list[tuple[str, bool]]]] = {}
    for row in rows("zones.csv"):
        table.setdefault(row["instance_type"], {}).setdefault(row["region"], []).append((row["zone"], row["local_zone"] == "y"))
    return table


def offering_known(instance_type: str) -> bool:
    """Whether the catalogue read where this type is offered; when False, `zones` cannot say that it is not offered."""
    return find_instance(instance_type).name in _zones()


def zones(region: str, instance_type: str, *, local_zones: bool = False) -> tuple[str, ...]:
    """Zone ids of a region that offer the type, sorted; empty means not offered there when `offering_known`, else not known.

    Local zones (such as Atlanta's) are left out unless asked for: they lack most other services.
    """
    found = _zones().get(find_instance(instance_type).name, {}).get(region, [])
    return tuple(sorted(zone for zone, local in found if local_zones or not local))


def offered_regions(instance_type: str) -> tuple[str, ...]:
    """Regions that offer the type in an ordinary zone, sorted; empty when not known or nowhere."""
    known = _zones().get(find_instance(instance_type).name, {})
    return tuple(sorted(region for region, found in known.items() if any(not local for _, local in found)))


def quota_family(name: str) -> str:
    """The EC2 vCPU quota that counts this type: `P`, `G and VT`, `Inf`, `Trn`, ... or `Standard` (A, C, D, H, I, M, R, T, Z)."""
    letters = re.match("[a-z]*", name.lower())
    return _QUOTA_FAMILY.get(letters.group() if letters else "", "Standard")
