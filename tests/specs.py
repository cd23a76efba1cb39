"""Small spec documents for tests of loading and of the commands."""

from __future__ import annotations

from pathlib import Path

MINIMAL = """\
name: demo
cloud: {provider: aws, region: us-east-1}
models:
  llama-8b:
    source: meta-llama/Llama-3.1-8B-Instruct
    hf_token_secret: {name: hf-token}
    workload:
      peak_rps: 2
      input_tokens: {mean: 500}
      output_tokens: {mean: 100}
    slo: {ttft_p95: 1s, tpot_p95: 60ms}
"""


def write(folder: Path, text: str, name: str = "spec.yaml") -> Path:
    """A spec file in `folder`."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def with_model(lines: str) -> str:
    """The minimal spec with more lines in its model (indented by four blanks here)."""
    return MINIMAL + "".join(f"    {line}\n" for line in lines.strip().splitlines())
