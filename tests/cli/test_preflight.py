"""`inferform preflight` on the command line: options, exit codes, streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.double import AwsDouble, ready
from inferform.catalog.instances import gpu_instances
from inferform.cli.formats.preflight_text import bootstrap_text, preflight_text
from inferform.cloud.results import BootstrapResult, BucketStep, Counts, Finding, PreflightResult
from specs import MINIMAL, write

Run = Callable[..., Any]


@pytest.fixture
def aws() -> Iterator[AwsDouble]:
    """A double of AWS with an empty account that has quotas and prices."""
    double = AwsDouble().start()
    ready(double)
    double.account.quotas[("ec2", "L-DB2E81BA")] = 1000
    yield double
    double.stop()


def spec(folder: Path, aws: AwsDouble, more: str = "") -> Path:
    """The minimal spec with a state bucket of its own."""
    text = MINIMAL.replace("region: us-east-1}", 'region: us-east-1, kubernetes_version: "1.35"}')
    return write(folder, f"{text}state: {{bucket: state-{aws.number}}}\n{more}")


def test_blockers_end_with_1_and_the_findings_as_json(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """Without the state bucket preflight blocks; the document has ids, severities, fixes and the sums."""
    path = spec(tmp_path, aws)
    ran = inferform("preflight", path, "--sandbox", aws.url, "--format", "json")
    assert (1, "") == (ran.code, ran.err)
    assert {"name", "environment", "region", "account", "blocked", "counts", "findings"} == set(ran.data)
    assert (True, aws.number) == (ran.data["blocked"], ran.data["account"])
    blockers = [f for f in ran.data["findings"] if f["severity"] == "blocker"]
    assert [("STA001", f"inferform bootstrap {path} --env default")] == [(f["id"], f["command"]) for f in blockers]


def test_the_command_of_the_fix_mends_it(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """After bootstrap nothing blocks and preflight ends with 0."""
    path = spec(tmp_path, aws)
    assert 0 == inferform("bootstrap", path, "--sandbox", aws.url).code
    ran = inferform("preflight", path, "--sandbox", aws.url, "--format", "json")
    assert (0, False) == (ran.code, ran.data["blocked"])


def test_text_fits_the_terminal_and_says_what_to_do(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """Severities in order, a line of fix and a command below each, what is well in a table, the sum at the end."""
    ran = inferform("preflight", spec(tmp_path, aws), "--sandbox", aws.url)
    lines = ran.out.splitlines()
    assert f"demo in default: preflight of us-east-1, account {aws.number}" == lines[0]
    assert lines.index("Blocks an apply") < lines.index("As needed")
    assert any(line.startswith("    $ inferform bootstrap ") for line in lines)
    assert lines[-1].startswith("1 blocking, ")
    assert 100 >= max(len(line) for line in lines)


def test_all_environments_are_checked_side_by_side(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """--all gives a result an environment, each for its own region; --env beside it is an input error; one blocked blocks the whole."""
    aws.market.on_demand |= {(kind, "us-west-2"): usd for (kind, _), usd in list(aws.market.on_demand.items())}
    more = "environments: {dev: {}, west: {cloud: {region: us-west-2}, state: {bucket: west-" + aws.number + "}}}\n"
    path = spec(tmp_path, aws, more)
    ran = inferform("preflight", path, "--all", "--sandbox", aws.url, "--format", "json")
    assert (1, True) == (ran.code, ran.data["blocked"])
    assert [("dev", "us-east-1"), ("west", "us-west-2")] == [(r["environment"], r["region"]) for r in ran.data["results"]]
    for env in ("dev", "west"):
        assert 0 == inferform("bootstrap", path, "--env", env, "--sandbox", aws.url).code
    text = inferform("preflight", path, "--all", "--sandbox", aws.url)
    assert "demo in dev: preflight of us-east-1" in text.out
    assert "demo in west: preflight of us-west-2" in text.out
    wrong = inferform("preflight", path, "--all", "--env", "dev", "--sandbox", aws.url)
    assert (2, "") == (wrong.code, wrong.out)
    assert "give one of --env and --all" in wrong.err


def test_strict_blocks_what_could_not_be_checked(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """A gap in what may be seen is 0 as a rule and 1 with --strict."""
    path = spec(tmp_path, aws)
    inferform("bootstrap", path, "--sandbox", aws.url)
    aws.market.on_demand.clear()
    assert 0 == inferform("preflight", path, "--sandbox", aws.url).code
    assert 1 == inferform("preflight", path, "--sandbox", aws.url, "--strict").code


def test_the_row_of_a_fix_is_a_price_that_the_plan_takes(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """A dearer live price warns; planned with the row that the fix names, it is as planned."""
    path = spec(tmp_path, aws)
    for key in aws.market.on_demand:
        aws.market.on_demand[key] *= 2
    plan = inferform("size", path, "--format", "json").data
    kind = plan["models"]["llama-8b"]["pools"]["aggregated"]["instance_type"]
    aws.market.on_demand[(kind, "us-east-1")] = 9.5

    def subject(*more: object) -> dict[str, Any]:
        findings = inferform("preflight", path, "--sandbox", aws.url, "--format", "json", *more).data["findings"]
        return next(f for f in findings if f["subject"] == f"{kind} on-demand")

    row = subject()["fix"].rpartition(" ")[2]
    assert row.startswith(f"{kind},us-east-1,on_demand,9.5,")
    # At the live price alone the plan would take another type, so every other type is dearer still.
    rows = [row, *(f"{k},us-east-1,on_demand,99,2026-12-01" for k in other_types(kind))]
    prices = write(tmp_path, "\n".join(["instance_type,region,purchase,usd_per_hour,as_of", *rows]), "prices.csv")
    assert ("ok", "$9.5000 an hour") == ((f := subject("--prices", prices))["severity"], f["found"])


def other_types(kind: str) -> list[str]:
    """All GPU instance types but one."""
    return [i.name for i in gpu_instances() if i.name != kind]


def test_no_credentials_is_one_finding_and_1(tmp_path: Path, inferform: Run, aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a way into AWS the command says so and ends with 1, without a traceback."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)
    ran = inferform("preflight", spec(tmp_path, aws), "--format", "json")
    assert (1, ["IDN001"]) == (ran.code, [f["id"] for f in ran.data["findings"]])


@pytest.mark.parametrize("args", [["--limit", "0"], ["--env", "nowhere"], ["--no-such"]])
def test_bad_input_ends_with_2(args: list[str], tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """A slip in the options or the environment is no finding."""
    ran = inferform("preflight", spec(tmp_path, aws), "--sandbox", aws.url, *args)
    assert (2, "") == (ran.code, ran.out)
    assert 0 == aws.heard


def finding(severity: Any, **more: str) -> Finding:
    return Finding(id="TST001", title="Test", severity=severity, subject="thing", found="found so", **more)


def test_long_commands_can_be_pasted() -> None:
    """A command longer than a line goes on with a backslash, and joined again it is the command."""
    command = "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-417A185B --desired-value 1152 --region us-east-1"
    result = PreflightResult(
        name="demo", environment="prod", region="us-east-1", account=None, blocked=True, counts=Counts(blocker=1, warning=0, unknown=0, ok=0),
        findings=(finding("blocker", needed="more", fix="ask for it", command=command),),
    )  # fmt: skip
    lines = preflight_text(result).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("    $ "))
    pasted = "\n".join(lines[at : at + 2]).replace("    $ ", "").replace(" \\\n", " ")
    assert command.split() == pasted.split()
    assert 100 >= max(len(line) for line in lines)
    assert "demo in prod: preflight of us-east-1, no account" == lines[0]


def test_counts_are_words() -> None:
    """One warning is a warning, two are warnings; what is nought is left out."""
    result = PreflightResult(
        name="demo", environment="prod", region="us-east-1", account="1", blocked=False, counts=Counts(blocker=0, warning=1, unknown=2, ok=0),
        findings=(finding("warning"), finding("unknown"), finding("unknown")),
    )  # fmt: skip
    assert preflight_text(result).endswith("1 warning, 2 not checked.")


def test_bootstrap_report() -> None:
    """A dry run says how much is to do."""
    step = BucketStep(name="versions", found="off", wanted="Enabled", action="would change")
    result = BootstrapResult(
        name="demo", environment="prod", backend="s3", bucket="b", region="us-east-1", account="1", dry_run=True, changed=False, steps=(step,)
    )
    assert bootstrap_text(result).endswith("1 to do; run it without --dry-run.")
    assert "Nothing to change." in bootstrap_text(result.model_copy(update={"steps": (step.model_copy(update={"action": "kept"}),)}))
