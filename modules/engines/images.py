"""Container image references: an engine's flags can only be checked against a pinned one."""

from __future__ import annotations

import re
from typing import NamedTuple

from inferform.errors import InputError, Problem

# repository[:tag][@digest]; a colon before the last slash belongs to the registry's port.
_REFERENCE = re.compile(
    r"(?P<repository>[a-z0-9.\-]+(?::\d+)?(?:/[a-z0-9._\-]+)*)(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._\-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


class Image(NamedTuple):
    """An image reference in its parts; `tag` and `digest` are empty when absent."""

    repository: str
    tag: str
    digest: str


def read_image(reference: str, *, field: str = "image") -> Image:
    """The parts of a pinned reference. Raises InputError without tag or digest, with tag `latest` (FC-18), or when it is no reference."""
    match = _REFERENCE.fullmatch(reference)
    # The registry's port can swallow a tag (`name:1`), so a lone name with digits behind a colon is read as name and tag.
    if match and "/" not in match["repository"] and ":" in match["repository"] and not match["tag"]:
        repository, _, tag = match["repository"].partition(":")
        return Image(repository, tag, match["digest"] or "")
    if not match:
        raise InputError(
            Problem("is not an image reference", field=field, value=reference[:80], fix="write it as registry/name:tag or registry/name@sha256:digest")
        )
    image = Image(match["repository"], match["tag"] or "", match["digest"] or "")
    if image.digest:
        return image
    if image.tag in ("", "latest"):
        what = "has no tag" if not image.tag else "has the tag latest"
        raise InputError(
            Problem(
                f"{what}, so the engine's flags cannot be checked", field=field, value=reference[:80], fix="pin a version, such as vllm/vllm-openai:v0.33.0"
            )
        )
    return image
