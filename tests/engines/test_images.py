"""Image references."""

from __future__ import annotations

import pytest
from inferform.engines.images import Image, read_image
from inferform.errors import InputError

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vllm/vllm-openai:v0.33.0", Image("vllm/vllm-openai", "v0.33.0", "")),
        ("registry.example:5000/team/vllm:1", Image("registry.example:5000/team/vllm", "1", "")),
        (f"vllm/vllm-openai@{DIGEST}", Image("vllm/vllm-openai", "", DIGEST)),
        (f"vllm/vllm-openai:latest@{DIGEST}", Image("vllm/vllm-openai", "latest", DIGEST)),
        ("ubuntu:24", Image("ubuntu", "24", "")),
    ],
)
def test_references_are_taken_apart(text: str, expected: Image) -> None:
    """Registry ports, tags and digests are told apart."""
    assert expected == read_image(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("vllm/vllm-openai", "has no tag"), ("a:5000/b", "has no tag"), ("x/y:latest", "tag latest"), ("A b", "not an image")]
)
def test_fc18_unpinned_images_are_refused(text: str, expected: str) -> None:
    """Without tag or digest, or with latest, the flag set is unknown and the image is refused."""
    with pytest.raises(InputError, match=expected):
        read_image(text, field="models.a.image")
