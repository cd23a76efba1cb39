"""The sandbox as a backend of operate: isolated terraform, fake credentials, stacks fitted to the double."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
from inferform.operate.backend import Backend
from inferform.sandbox.adapt import adapt
from inferform.sandbox.provider import lay_mirror, read_schema
from inferform.terraform import Settings

# The double accepts any signature; these only have to be there.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "sandbox", "AWS_SECRET_ACCESS_KEY": "sandbox", "AWS_EC2_METADATA_DISABLED": "true"}


def sandbox_backend(url: str, folder: Path, environ: Mapping[str, str]) -> Backend:
    """A backend for the double at `url`; the provider and its schema are kept in `folder`.

    Raises: MissingToolError when terraform or the provider binary is not there.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings(environ, cli_config=lay_mirror(folder), variables=CREDENTIALS, isolated=True, lock_timeout_s=10)
    schema = read_schema(folder, settings)

    def fit(stacks: Mapping[str, dict[str, Any]], state: Path) -> dict[str, tuple[dict[str, Any], tuple[str, ...]]]:
        region = next((p["region"] for c in stacks.values() for p in c.get("provider", {}).get("aws", []) if "region" in p), "us-east-1")

        def offerings(kinds: Sequence[str]) -> list[str]:
            filters = [{"Name": "instance-type", "Values": list(kinds)}]
            pages = client(url, "ec2", region).get_paginator("describe_instance_type_offerings").paginate(LocationType="availability-zone-id", Filters=filters)
            return sorted({o["Location"] for page in pages for o in page["InstanceTypeOfferings"]})

        done = adapt(stacks, schema, endpoint=url, state=state, offerings=offerings)
        return {name: (stack.config, stack.removed) for name, stack in done.items()}

    return Backend("sandbox", settings, fit)


def client(url: str, service: str, region: str) -> Any:
    """A boto3 client of the double."""
    session = boto3.Session(CREDENTIALS["AWS_ACCESS_KEY_ID"], CREDENTIALS["AWS_SECRET_ACCESS_KEY"], region_name=region)
    return session.client(service, endpoint_url=url)
