"""The sandbox as a backend of operate: isolated terraform, fake credentials, stacks fitted to the double."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inferform.operate.backend import Backend
from inferform.sandbox.adapt import adapt
from inferform.sandbox.provider import lay_mirror, read_schema
from inferform.terraform import Settings

# The double accepts any signature; these only have to be there.
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "sandbox", "AWS_SECRET_ACCESS_KEY": "sandbox", "AWS_EC2_METADATA_DISABLED": "true"}


def sandbox_backend(url: str, folder: Path, environ: Mapping[str, str]) -> Backend:
    """A backend for the double at `url`; the provider and its schema are kept in `folder`.

    Raises: MissingToolError when terraform or the provider binary is not there.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings(environ, cli_config=lay_mirror(folder), variables=_CREDENTIALS, isolated=True, lock_timeout_s=10)
    schema = read_schema(folder, settings)

    def fit(stacks: Mapping[str, dict[str, Any]], state: Path) -> dict[str, tuple[dict[str, Any], tuple[str, ...]]]:
        return {name: (done.config, done.removed) for name, done in adapt(stacks, schema, endpoint=url, state=state).items()}

    return Backend("sandbox", settings, fit)
