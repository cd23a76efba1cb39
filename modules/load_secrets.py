"""Shapes of tokens and keys, so that none is accepted in a spec, and none is ever repeated in a message.

Source of the shapes: the prefixes that the issuers publish for secret scanning; read 2026-12-01.
"""

from __future__ import annotations

import re

SHAPES: tuple[tuple[str, str], ...] = (
    ("a Hugging Face token", r"\b(?:hf|api_org)_[A-Za-z0-9]{8,}"),
    ("an API key", r"(?<![A-Za-z0-9])(?:sk|pk|rk|gsk|nvapi|xai)-[A-Za-z0-9_-]{16,}|\bgsk_[A-Za-z0-9]{16,}"),
    ("an AWS access key", r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b"),
    ("an AWS secret key", r"(?i)aws_?secret_?access_?key['\"]?\s*[:=]\s*['\"]?[A-Za-z0-9/+]{30,}"),
    ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{16,}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("a Google API key", r"\bAIza[A-Za-z0-9_-]{30,}"),
    ("a signed web token", r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"),
    ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    ("credentials in an address", r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{1,256}:[^\s/@\"']{1,256}@"),
)
_ANY = re.compile("|".join(f"(?P<s{i}>{pattern.removeprefix('(?i)')})" for i, (_, pattern) in enumerate(SHAPES)))
# A field whose name says that it holds a secret; `..._tokens` counts tokens of text.
_SECRET_NAME = re.compile(r"(?i)(^|[._-])(token|secret|passw(or)?d|credentials?|api_?key|private_?key)($|[._-])|secret")


def secret_in(text: str) -> str | None:
    """What kind of secret `text` holds, None where it holds none."""
    match = _ANY.search(text)
    return SHAPES[int((match.lastgroup or "s0")[1:])][0] if match else None


def redacted(text: str) -> str:
    """`text` with every token-shaped part taken out and every character that does not print written as an escape."""
    text = _ANY.sub("[secret]", text)
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def names_a_secret(field: str) -> bool:
    """True where a field's name says that its value is a secret, so that the value is not repeated."""
    return bool(_SECRET_NAME.search(field))


def shortened(text: str, width: int = 60) -> str:
    """`text` for a message: redacted, one line, at most `width` characters."""
    text = redacted(text)
    return text if len(text) <= width else text[: width - 1] + "…"
