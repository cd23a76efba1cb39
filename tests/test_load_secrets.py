"""FC-34: a spec refers to secrets and never holds one."""

from __future__ import annotations

from pathlib import Path

import pytest
from inferform.errors import InputError, Problem
from inferform.load import load_spec
from inferform.load_secrets import redacted, secret_in
from specs import MINIMAL, with_model, write


def problems(folder: Path, text: str) -> list[Problem]:
    """What is wrong with a spec; fails when nothing is."""
    with pytest.raises(InputError) as caught:
        load_spec(write(folder, text))
    return list(caught.value.problems)


TOKENS = [
    "hf_" + "a1B2" * 8,
    "sk-proj-" + "x9" * 16,
    "AKIA" + "A1B2" * 4,
    "ghp_" + "z8" * 18,
    "https://user:pa55word@example.com/x",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
]


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize(
    "place", ["    hf_token: '{}'\n", "    extra_args: [--api-key, '{}']\n", "    source2: '{}'\n", "# {}\n", "    '{}': 1\n", "    slo: '{}'\n"]
)
def test_fc34_a_literal_token_is_refused_and_not_repeated(tmp_path: Path, token: str, place: str) -> None:
    """FC-34: a token in a field, an argument, a field name or a comment is refused and no message holds it."""
    text = MINIMAL.replace("    slo: {ttft_p95: 1s, tpot_p95: 60ms}\n", "") + place.format(token)
    found = problems(tmp_path, text)
    assert any("a secret never stands in a spec" in p.message for p in found)
    assert token not in "\n".join(str(p) for p in found)
    assert token[8:] not in "\n".join(str(p) for p in found)


def test_fc34_a_token_written_with_escapes_is_found(tmp_path: Path) -> None:
    """FC-34: YAML escapes do not hide a token."""
    found = problems(tmp_path, with_model('extra_args: ["\\x68f_' + "a1B2" * 8 + '"]'))
    assert ["models.llama-8b.extra_args[0]"] == [p.field for p in found]


def test_fc34_a_short_secret_in_a_secret_field_is_not_repeated(tmp_path: Path) -> None:
    """FC-34: what stands under a name such as hf_token or hf_token_secret is never shown, whatever its shape."""
    for line in ("hf_token: hunter2", "password: hunter2", "token: hunter2"):
        assert "hunter2" not in "\n".join(map(str, problems(tmp_path, with_model(line))))
    text = MINIMAL.replace("hf_token_secret: {name: hf-token}", "hf_token_secret: Hunter2")
    assert "Hunter2" not in "\n".join(map(str, problems(tmp_path, text)))


def test_fc34_a_reference_is_all_a_spec_takes(tmp_path: Path) -> None:
    """FC-34: the name and key of a Kubernetes Secret load."""
    secret = load_spec(write(tmp_path, MINIMAL)).spec.models["llama-8b"].hf_token_secret
    assert secret is not None
    assert ("hf-token", "token") == (secret.name, secret.key)


def test_fc34_a_literal_key_among_the_engine_arguments_is_refused(tmp_path: Path) -> None:
    """FC-34: an engine flag that carries a key is refused whatever the key looks like."""
    found = problems(tmp_path, with_model("extra_args: [--api-key, letmein]"))
    assert ["models.llama-8b.extra_args"] == [p.field for p in found]
    assert "letmein" not in str(found[0])


@pytest.mark.parametrize(
    "text", ["risk-averse-and-very-long-model-name", "hf_hub", "shared_prefix_tokens", "sk-8", "s3://bucket/models", "https://example.com:8443/a", "AKIA"]
)
def test_ordinary_words_are_no_secrets(text: str) -> None:
    """Names that only begin like a token are left alone."""
    assert secret_in(text) is None
    assert text == redacted(text)
