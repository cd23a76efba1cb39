"""Hostile specs through the whole way: sized and rendered, or refused; user text stays text in every output."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inferform.errors import InputError
from inferform.load import load_spec
from inferform.planner import size
from inferform.render import render
from test_hostile import BASE, as_yaml, documents, loaded

# What other languages would evaluate: Terraform, Jinja, Helm, shell, and the kubelet's own $(NAME).
EXPRESSIONS = [
    "${jsonencode(self)}",
    "%{ for x in y }x%{ endfor }",
    "{{ 7 * 7 }}",
    "$(HF_TOKEN)",
    "$$(HF_TOKEN)",
    "`id`",
    "'; touch pwned; '",
    '"; touch pwned',
    "a: b # c",
    "é😀",
    "-",
]
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@quick
@given(document=documents())
def test_changed_specs_are_rendered_or_refused(document: Any, tmp_path: Path) -> None:
    """What loads is sized and rendered in every environment, or refused as an input error; every rendered object parses."""
    for one in loaded(tmp_path, as_yaml(document)):
        try:
            files = render(size(one.spec, one.environment))
        except InputError as err:
            assert err.problems
            continue
        for name, text in files.items():
            assert ".." not in name.split("/")
            assert not name.startswith("/")
            if name.endswith(".yaml"):
                assert list(yaml.safe_load_all(text))


NUMBERS: dict[str, tuple[str, ...]] = {
    "models.llama-8b.max_model_len": ("16", "100000000"), "models.llama-8b.max_num_seqs": ("1", "65536"), "models.llama-8b.max_num_batched_tokens": ("16", "10000000"),
    "models.llama-8b.gpu_memory_utilization": ("1e-300", "0.98"), "models.llama-8b.workload.peak_rps": ("1e-300", "1000000"), "models.llama-8b.workload.burst": ("1", "100"),
    "models.llama-8b.workload.input_tokens": ("{mean: 1}", "{mean: 10000000}", "{mean: 1, p95: 10000000}"),
    "models.llama-8b.workload.output_tokens": ("{mean: 1}", "{mean: 10000000}"), "models.llama-8b.slo.ttft_p95": ("0.000000001ms", "3600s"),
    "models.llama-8b.slo.tpot_p95": ("0.000000001ms", "60s"), "models.llama-8b.parallelism": ("{tp: 1024}", "{pp: 1024}", "{tp: 1024, pp: 1024, dp: 1024, ep: 1024}", "{dp: 1024}"),
    "models.llama-8b.shm": ("64Mi", "2048Gi"),
    "models.llama-8b.model_cache": ("1Gi", "65536Gi"), "models.llama-8b.nodes": ("{root_size: 16384Gi}", "{max_pods: 8}", "{max_pods: 737}"),
    "models.llama-8b.lifecycle": ("{pre_stop: 0s}", "{pre_stop: 1h, grace: 1s}", "{grace: 1d}"), "budget": ("{usd_per_month: 1e-300}", "{usd_per_month: 1e9}"),
    "scaling": ("{min: 10000, max: 10000}", "{min: 0, max: 1}", "{scale_in_delay: 0s}"), "capacity": ("{warm_standby: 16}", "{min_nodes: 10000}", "{max_nodes: 1}"),
}  # fmt: skip


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in NUMBERS.items() for value in values])
def test_the_ends_of_every_range_are_answered(field: str, value: str, tmp_path: Path) -> None:
    """The smallest and largest numbers that a spec may hold give a plan that renders, or an input error."""
    path = tmp_path / "spec.yaml"
    path.write_text(json.dumps(changed([(field, value)])), encoding="utf-8")
    answered(path)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    changes=st.lists(
        st.sampled_from([(field, value) for field, values in NUMBERS.items() for value in values]), min_size=2, max_size=4, unique_by=lambda c: c[0]
    )
)
def test_ends_of_ranges_together_are_answered(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    """So do several of them at once."""
    document = changed(changes)
    path = tmp_path / "spec.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    answered(path)


def changed(changes: list[tuple[str, str]]) -> dict[str, Any]:
    """The valid document with some fields set to YAML values."""
    document = copy.deepcopy(BASE)
    for field, value in changes:
        part = document
        *parents, last = field.split(".")
        for key in parents:
            part = part[key]
        part[last] = yaml.safe_load(value)
    return document


def answered(path: Path) -> None:
    """Fails unless a spec is rendered or refused with problems."""
    try:
        files = render(size(load_spec(path).spec))
    except InputError as err:
        assert err.problems
        assert all(p.message for p in err.problems)
        return
    assert files


def strings(node: Any) -> list[str]:
    """Every text in a parsed document."""
    if isinstance(node, dict):
        return [s for key, value in node.items() for s in (*strings(key), *strings(value))]
    return [s for item in node for s in strings(item)] if isinstance(node, list) else [node] if isinstance(node, str) else []


def kubelet(text: str) -> str:
    """An argument as the kubelet hands it to the program: $$ is a dollar, $(NAME) a variable that must not be there."""
    out, rest = "", text
    while "$" in rest:
        before, _, rest = rest.partition("$")
        assert not rest.startswith("("), f"the kubelet would expand {text!r}"
        out += before + "$"
        rest = rest.removeprefix("$")
    return out + rest


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_in_an_argument_reach_the_engine_as_they_are(expression: str, tmp_path: Path) -> None:
    """No template language, YAML or the kubelet changes what a user writes as an engine argument."""
    document = copy.deepcopy(BASE)
    document["models"]["llama-8b"]["extra_args"] = [f"--chat-template={expression}"]
    path = tmp_path / "spec.yaml"
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    files = render(size(load_spec(path).spec))
    containers = [
        c
        for name, text in files.items()
        if name.startswith("serving/")
        for o in yaml.safe_load_all(text)
        if o and o["kind"] == "Deployment"
        for c in o["spec"]["template"]["spec"]["containers"]
    ]
    arguments = [kubelet(a) for c in containers for a in (*c.get("command", ()), *c.get("args", ())) if "chat-template" in a or expression in kubelet_safe(a)]
    assert any(expression in a for a in arguments)


def kubelet_safe(text: str) -> str:
    """An argument as the kubelet hands it over, or as it is where the kubelet would expand it."""
    try:
        return kubelet(text)
    except AssertionError:
        return text


PROGRAM = "import sys; from inferform.cli.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["size", "render", "synth", "check", "cost"])
@pytest.mark.parametrize(
    "change",
    [{"name": "${x}"}, {"models": {"../x": {}}}, {"budget": {"usd_per_month": 0.01}}, {"cloud": {"provider": "aws", "region": "mars-north-1"}}],
    ids=str,
)
def test_a_failing_command_writes_nothing(command: str, change: dict[str, Any], tmp_path: Path) -> None:
    """Whole processes on bad specs: exit 2, no traceback, no result, and no file or folder beside the spec."""
    (tmp_path / "spec.yaml").write_bytes(as_yaml({**BASE, **change}))
    out = ["--out", "build"] if command in ("render", "synth") else []
    ran = subprocess.run([sys.executable, "-c", PROGRAM, command, "spec.yaml", *out], text=True, capture_output=True, check=False, cwd=tmp_path, timeout=120)
    assert (2, "") == (ran.returncode, ran.stdout)
    assert "Traceback" not in ran.stderr
    assert "internal fault" not in ran.stderr
    assert ["spec.yaml"] == [p.name for p in tmp_path.iterdir()]


@pytest.mark.slow
@pytest.mark.parametrize("expression", ["${jsonencode(self)}", "%{ for x in y }x%{ endfor }"])
def test_user_text_is_no_expression_in_terraform(expression: str, tmp_path: Path) -> None:
    """No expression that a user wrote stands live in a cdk.tf.json."""
    from inferform.stacks.app import synthesize

    document = copy.deepcopy(BASE)
    document["models"]["llama-8b"]["extra_args"] = [f"--chat-template={expression}"]
    path = tmp_path / "spec.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    manifest = synthesize(size(load_spec(path).spec), tmp_path / "tree")
    escaped = expression.replace("${", "$${").replace("%{", "%%{")
    texts = [text for stack in manifest.stacks for text in strings(json.loads((tmp_path / "tree" / stack.path).read_text()))]
    assert texts
    assert [] == [text for text in texts if expression in text.replace(escaped, "")]
