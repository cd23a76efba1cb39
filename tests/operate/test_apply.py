"""Apply runs exactly the saved plan or nothing, and goes on after it was cut off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import PolicyDeniedError, StateError, ToolFailedError
from inferform.operate.apply import apply
from inferform.operate.backend import Backend
from inferform.operate.destroy import destroy
from inferform.operate.drift import drift
from inferform.operate.plan import plan
from inferform.operate.results import ApplyResult, PlanResult
from inferform.operate.steps import Evidence, Steps
from inferform.plan import DeploymentPlan
from inferform.terraform import Settings, Terraform, find_terraform
from operate.tiny import ACTOR, BACKEND, RULES, Seen, stacks, tiny_plan


def planned(folder: Path, source: DeploymentPlan | None = None, steps: Steps | None = None) -> PlanResult:
    return plan(source or tiny_plan(), folder, backend=BACKEND, actor=ACTOR, rules=RULES, steps=steps or Seen().product())


def applied(folder: Path, source: DeploymentPlan | None = None, steps: Steps | None = None) -> ApplyResult:
    return apply(source or tiny_plan(), folder, backend=BACKEND, actor=ACTOR, rules=RULES, steps=steps or Seen().product())


def addresses(folder: Path, stack: str) -> list[str]:
    """What the state of a stack holds."""
    return sorted(Terraform(folder / "work" / stack, BACKEND.settings, find_terraform(BACKEND.settings)).resources())


def test_apply_runs_the_plan_and_keeps_what_it_applied(tmp_path: Path) -> None:
    """All stacks are applied in order, outputs come back, and plan, digests and audit are kept."""
    shown = planned(tmp_path)
    result = applied(tmp_path)
    assert [("network", "applied"), ("cluster", "applied"), ("nodes", "applied")] == [(s.stack, s.state) for s in result.stacks]
    assert (6, 0, 0, 0) == tuple(result.counts.model_dump().values())
    assert {"network": {"vpc": "10.0.0.0/16"}, "cluster": {"name": "10.0.0.0/16"}, "nodes": {}} == result.outputs
    assert shown.digest == result.digest
    assert not result.resumed
    assert tiny_plan().model_dump(mode="json") == json.loads((tmp_path / "applied/plan.json").read_text())
    assert [] == list(tmp_path.rglob("*.tfplan"))
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert ["plan", "apply", "applied"] == [line["action"] for line in lines]
    assert {("ada@acme.example", "2026-12-01T08:00:00Z", shown.digest)} == {(line["who"], line["when"], line["digest"]) for line in lines}


def test_apply_needs_a_plan(tmp_path: Path) -> None:
    """Without a saved plan, and again after it was applied, apply says to plan first."""
    with pytest.raises(StateError, match=r"there is no saved plan in .*; run inferform plan first"):
        applied(tmp_path)
    planned(tmp_path)
    applied(tmp_path)
    with pytest.raises(StateError, match="there is no saved plan"):
        applied(tmp_path)


def test_a_changed_spec_is_refused(tmp_path: Path) -> None:
    """A plan of one spec is not applied for another; nothing is touched."""
    planned(tmp_path)
    with pytest.raises(StateError, match="the spec, the prices, the catalogue or inferform itself changed since plan"):
        applied(tmp_path, tiny_plan(cidr="10.1.0.0/16"))
    assert [] == list((tmp_path / "state").glob("*.tfstate"))


@pytest.mark.parametrize("file", ["saved.tfplan", "cdk.tf.json"])
def test_digest_mismatch_is_refused(tmp_path: Path, file: str) -> None:
    """A plan file or configuration that is not the one that was shown is never run."""
    planned(tmp_path)
    path = tmp_path / "work/network" / file
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(StateError, match=f"{file} is not the (saved plan that was shown|configuration that was planned)"):
        applied(tmp_path)
    assert [] == list((tmp_path / "state").glob("*.tfstate"))


def test_a_changed_record_is_refused(tmp_path: Path) -> None:
    """What the plan shows cannot be edited afterwards."""
    planned(tmp_path)
    record = json.loads((tmp_path / "record.json").read_text())
    record["result"]["stacks"][1]["changes"] = []
    (tmp_path / "record.json").write_text(json.dumps(record))
    with pytest.raises(StateError, match="was changed after it was made"):
        applied(tmp_path)
    (tmp_path / "record.json").write_text("{")
    with pytest.raises(StateError, match="is not what inferform wrote"):
        applied(tmp_path)


def test_fc10_what_the_cloud_would_refuse_is_not_tried(tmp_path: Path) -> None:
    """FC-10: a plan with a blocking notice is not applied; the error says what to run first, and nothing is touched."""
    planned(tmp_path)
    record = json.loads((tmp_path / "record.json").read_text())
    risk = {"level": "block", "code": "min-above-desired", "address": "nodes/x", "message": "min rises to 5, above the 4 nodes desired now", "nodes": 5}
    record["result"]["risks"] = [{**risk, "remedy": "Set desired first: aws eks update-nodegroup-config"}, {**risk, "level": "red", "message": "a pool goes"}]
    (tmp_path / "record.json").write_text(json.dumps(record))
    with pytest.raises(StateError, match=r"^min rises to 5, above the 4 nodes desired now\. Set desired first: aws eks update-nodegroup-config$"):
        applied(tmp_path)
    assert [] == list((tmp_path / "state").glob("*.tfstate"))


def test_another_backend_is_refused(tmp_path: Path) -> None:
    """A plan made on a sandbox is not applied to the cloud, nor the other way."""
    planned(tmp_path)
    other = Backend("sandbox", BACKEND.settings)
    with pytest.raises(StateError, match="the saved plan is for aws, not for sandbox"):
        apply(tiny_plan(), tmp_path, backend=other, actor=ACTOR, rules=RULES, steps=Seen().product())


def test_what_is_in_another_cloud_is_left_alone(tmp_path: Path) -> None:
    """After an apply to a sandbox neither plan, drift nor destroy goes to the cloud from its folder, or the other way."""
    one, product = tiny_plan(pools=["bge"]), Seen().product()
    sandbox = Backend("sandbox", BACKEND.settings)
    plan(one, tmp_path, backend=sandbox, actor=ACTOR, rules=RULES, steps=product)
    apply(one, tmp_path, backend=sandbox, actor=ACTOR, rules=RULES, steps=product)
    words = r"what is applied from .* is in sandbox, not in aws; give --sandbox, or another folder with --out"
    with pytest.raises(StateError, match=words):
        planned(tmp_path, one)
    with pytest.raises(StateError, match=words):
        drift(one, tmp_path, backend=BACKEND, actor=ACTOR, steps=product)
    with pytest.raises(StateError, match=words):
        destroy(one, tmp_path, backend=BACKEND, actor=ACTOR, steps=product)
    assert ["terraform_data.bge-aggregated"] == addresses(tmp_path, "nodes")


def test_a_verdict_that_denies_stops_apply(tmp_path: Path) -> None:
    """The plan is shown with its verdict; apply refuses with the findings and exit code 3."""
    seen = Seen(deny=lambda evidence: ["the bucket is public"])
    assert not planned(tmp_path, steps=seen.product()).allowed
    with pytest.raises(PolicyDeniedError, match="the policy denies this plan: TST001 plan: the bucket is public") as caught:
        applied(tmp_path)
    assert 3 == caught.value.exit_code
    assert [] == list((tmp_path / "state").glob("*.tfstate"))


def test_the_policy_of_today_decides(tmp_path: Path) -> None:
    """A plan that was allowed is refused when the rules or waivers of today deny it; nothing is touched."""
    planned(tmp_path)
    late = Seen(deny=lambda evidence: ["the waiver has expired"] if evidence.terraform_plans["network"]["resource_changes"] else [])
    with pytest.raises(PolicyDeniedError, match="the waiver has expired"):
        applied(tmp_path, steps=late.product())
    assert [] == list((tmp_path / "state").glob("*.tfstate"))


def test_what_is_only_known_at_apply_is_judged_then(tmp_path: Path) -> None:
    """A stack that waited is judged by its terraform plan before it is applied, and stops there when denied."""

    def deny(evidence: Evidence) -> list[str]:
        found = evidence.terraform_plans.get("cluster", {}).get("resource_changes", [])
        return ["open to 10.0.0.0/16"] if any(c["change"]["after"].get("input") == "10.0.0.0/16" for c in found) else []

    seen = Seen(deny=deny)
    assert planned(tmp_path, steps=seen.product()).allowed
    with pytest.raises(PolicyDeniedError, match=r"open to 10\.0\.0\.0/16"):
        applied(tmp_path, steps=seen.product())
    assert (["terraform_data.vpc"], []) == (addresses(tmp_path, "network"), addresses(tmp_path, "cluster"))
    assert {"network": "done"} == json.loads((tmp_path / "journal.json").read_text())["stacks"]


def test_a_stack_that_would_do_more_than_was_shown_is_refused(tmp_path: Path) -> None:
    """Cluster was shown as it stands; when the network's new output would change it too, apply stops and asks for a plan that shows it."""
    one = tiny_plan(pools=["bge"])
    planned(tmp_path, one)
    applied(tmp_path, one)
    moved = tiny_plan(pools=["bge"], cidr="10.9.0.0/16")
    planned(tmp_path, moved)
    with pytest.raises(
        StateError, match=r"cluster: the plan that is possible now does more than was shown: update terraform_data\.main \(not shown\); run inferform plan"
    ):
        applied(tmp_path, moved)
    # One more plan shows it, and so on down the stacks; nothing is applied unseen.
    planned(tmp_path, moved)
    with pytest.raises(StateError, match="nodes: the plan that is possible now does more"):
        applied(tmp_path, moved)
    planned(tmp_path, moved)
    assert [("network", "unchanged"), ("cluster", "unchanged"), ("nodes", "applied")] == [(s.stack, s.state) for s in applied(tmp_path, moved).stacks]


def test_a_plan_older_than_the_state_is_refused(tmp_path: Path) -> None:
    """When somebody else applied in between, terraform calls the plan stale and apply says so."""
    planned(tmp_path)
    folder = tmp_path / "work/network"
    other = Terraform(folder, BACKEND.settings, find_terraform(BACKEND.settings))
    other.plan("other.tfplan")
    other.apply("other.tfplan")
    with pytest.raises(StateError, match="network: the state changed after the plan was made"):
        applied(tmp_path)


def test_apply_goes_on_after_a_failure(tmp_path: Path) -> None:
    """When a stack fails, what was made is kept; the next apply goes on and does not touch what is done."""
    broken = tmp_path / "fail"
    broken.touch()

    def synth(source: DeploymentPlan, folder: Path) -> dict[str, Any]:
        made = stacks(source)
        made["cluster"].config["resource"]["terraform_data"]["main"]["provisioner"] = [{"local-exec": {"command": f"test ! -e {broken}"}}]
        return made

    steps = Steps(render=Seen().product().render, synthesize=synth, judge=Seen().product().judge)
    planned(tmp_path, steps=steps)
    with pytest.raises(ToolFailedError, match=r"cluster: terraform apply failed: .*; mend the cause and run inferform apply again: it goes on from there"):
        applied(tmp_path, steps=steps)
    broken.unlink()
    result = applied(tmp_path, steps=steps)
    assert result.resumed
    assert [("network", "done_before"), ("cluster", "applied"), ("nodes", "applied")] == [(s.stack, s.state) for s in result.stacks]


def test_concurrent_apply_is_refused_with_the_holder(tmp_path: Path) -> None:
    """While one apply works, another one refuses, naming process, host and time of the first."""
    seen = Seen(slow=2.0)
    planned(tmp_path, steps=seen.product())
    done: list[ApplyResult] = []
    first = threading.Thread(target=lambda: done.append(applied(tmp_path, steps=seen.product())))
    first.start()
    deadline = time.monotonic() + 30
    while not (tmp_path / "lock").is_file() or "apply" not in (tmp_path / "lock").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with pytest.raises(StateError, match=rf"inferform apply \(process {os.getpid()} on .*, since 2026-12-01T08:00:00Z\) is at work"):
        applied(tmp_path, steps=seen.product())
    first.join()
    assert 6 == done[0].counts.create
    assert "" == (tmp_path / "lock").read_text()


def cut_off(folder: Path, *, slow: float, at: str, how: signal.Signals = signal.SIGKILL, delay_s: float = 0.0) -> None:
    """Apply in a process of its own and end it when it tells `at`."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    script = Path(__file__).with_name("cut_off.py")
    child = subprocess.Popen([sys.executable, str(script), str(folder), str(slow)], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths})
    assert child.stdout
    for line in child.stdout:
        if line.startswith(at):
            break
    else:
        raise AssertionError(f"{at} never came")
    time.sleep(delay_s)
    child.send_signal(how)
    child.wait()
    child.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "at", ["synth end", "init begin network", "apply begin network", "apply end network", "plan end cluster", "apply progress nodes", "apply end nodes"]
)
def test_killed_apply_is_completed_by_the_next(tmp_path: Path, at: str) -> None:
    """kill -9 at any point: the next apply completes, every resource exists once, and the plan after it is empty."""
    steps = Seen(slow=0.5).product()
    planned(tmp_path, steps=steps)
    cut_off(tmp_path, slow=0.5, at=at)
    patient = Backend("aws", Settings(os.environ, isolated=True, lock_timeout_s=30))
    result = apply(tiny_plan(), tmp_path, backend=patient, actor=ACTOR, rules=RULES, steps=steps)
    assert ["network", "cluster", "nodes"] == [s.stack for s in result.stacks]
    assert ["terraform_data.vpc"] == addresses(tmp_path, "network")
    assert 4 == len(addresses(tmp_path, "nodes"))
    assert not planned(tmp_path, steps=steps).has_changes


@pytest.mark.slow
def test_interrupted_apply_stops_cleanly(tmp_path: Path) -> None:
    """Ctrl-C is passed on to terraform, which saves what it made; the next apply goes on."""
    steps = Seen(slow=1.0).product()
    planned(tmp_path, steps=steps)
    cut_off(tmp_path, slow=1.0, at="apply progress nodes", how=signal.SIGINT)
    result = applied(tmp_path, steps=steps)
    assert result.resumed
    assert ["done_before", "done_before", "applied"] == [s.state for s in result.stacks]


@pytest.mark.slow
def test_killed_terraform_is_told(tmp_path: Path) -> None:
    """When terraform itself is killed, the next run names what may exist without being in the state, and completes."""
    steps = Seen(slow=1.0).product()
    planned(tmp_path, steps=steps)
    script = threading.Thread(target=cut_off, args=(tmp_path,), kwargs={"slow": 1.0, "at": "apply progress nodes"})
    script.start()
    script.join()
    pid = json.loads((tmp_path / "work/nodes/terraform.running").read_text())["pid"]
    os.killpg(pid, signal.SIGKILL)
    result = applied(tmp_path, steps=steps)
    assert result.resumed
    assert 4 == len(addresses(tmp_path, "nodes"))
    assert result.warnings
    assert "nodes: terraform was killed while it made terraform_data." in result.warnings[0]
    assert 'import "terraform_data.' in result.warnings[0]


@pytest.mark.slow
def test_apply_waits_for_terraform_of_a_killed_run_or_says_so(tmp_path: Path) -> None:
    """While terraform of the killed run works, the next apply waits its time and then names the process."""
    steps = Seen(slow=6.0).product()
    planned(tmp_path, steps=steps)
    cut_off(tmp_path, slow=6.0, at="apply progress nodes")
    with pytest.raises(StateError, match=r"nodes: terraform of an earlier run that was cut off is still at work \(process \d+\)"):
        applied(tmp_path, steps=steps)
    patient = Backend("aws", Settings(os.environ, isolated=True, lock_timeout_s=30))
    assert apply(tiny_plan(), tmp_path, backend=patient, actor=ACTOR, rules=RULES, steps=steps).resumed
