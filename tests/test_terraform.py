"""terraform.py against the real terraform, with built-in resources only: no provider, no cloud."""

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
from inferform.errors import InputError, MissingToolError, StateError, ToolFailedError
from inferform.terraform import Settings, Terraform, find_terraform, managed, outputs
from inferform.terraform_process import process_started, read_json, run
from inferform.terraform_tool import environment

SETTINGS = Settings(os.environ, isolated=True, lock_timeout_s=0)
needs_terraform = pytest.mark.skipif(
    not any((Path(p) / n).exists() for p in os.environ["PATH"].split(":") for n in ("terraform", "tofu")), reason="terraform is not installed"
)


def data_stack(resources: dict[str, Any], outputs: dict[str, Any] | None = None) -> dict[str, Any]:
    """A stack of built-in terraform_data resources."""
    return {"terraform": {"required_version": ">= 1.10"}, "resource": {"terraform_data": resources}, **({"output": outputs} if outputs else {})}


def sleeper(seconds: float) -> dict[str, Any]:
    """A resource whose creation takes so long."""
    return {"input": seconds, "provisioner": [{"local-exec": {"command": f"sleep {seconds}"}}]}


def terraform(folder: Path, config: dict[str, Any], events: list[dict[str, Any]] | None = None, settings: Settings = SETTINGS) -> Terraform:
    """An initialised working directory."""
    folder.mkdir(exist_ok=True)
    (folder / "cdk.tf.json").write_text(json.dumps(config), encoding="utf-8")
    made = Terraform(folder, settings, find_terraform(settings), events.append if events is not None else None)
    made.init()
    return made


@needs_terraform
def test_plan_apply_and_second_plan(tmp_path: Path) -> None:
    """A saved plan is applied as it is, tells each resource as it comes, and leaves nothing to do."""
    events: list[dict[str, Any]] = []
    tf = terraform(tmp_path / "one", data_stack({"a": {"input": "x"}, "b": {"input": "y"}}, {"a": {"value": "${terraform_data.a.output}"}}), events)
    assert [] == tf.resources()
    assert tf.plan("plan.bin")
    assert ["create", "create"] == [c["change"]["actions"][0] for c in tf.show("plan.bin")["resource_changes"]]
    tf.apply("plan.bin")
    assert ["terraform_data.a", "terraform_data.b"] == sorted(e["hook"]["resource"]["addr"] for e in events if e["type"] == "apply_complete")
    assert {"a": "x"} == outputs(tf.state())
    assert ["terraform_data.a", "terraform_data.b"] == sorted(tf.resources())
    assert not tf.plan("plan.bin")
    assert tf.running_pid() is None


def test_addresses_in_a_stored_state() -> None:
    """Modules, counts and keys are part of an address; data sources and deposed objects are not listed."""
    rows = [
        {"mode": "managed", "type": "aws_vpc", "name": "main", "instances": [{}, {"deposed": "1234"}]},
        {"mode": "managed", "type": "aws_eip", "name": "nat", "module": "module.net", "instances": [{"index_key": 0}, {"index_key": "a"}]},
        {"mode": "data", "type": "aws_ami", "name": "x", "instances": [{}]},
    ]
    assert ["aws_vpc.main", "module.net.aws_eip.nat[0]", 'module.net.aws_eip.nat["a"]'] == managed({"resources": rows})
    assert [] == managed({})
    assert {"b": 1} == outputs({"outputs": {"b": {"value": 1}, "a": {"value": "s", "sensitive": True}}})


@needs_terraform
def test_destroy_plan_empties_the_state(tmp_path: Path) -> None:
    """A destroy plan names every resource and its apply leaves none."""
    tf = terraform(tmp_path / "one", data_stack({"a": {"input": "x"}}))
    tf.plan("plan.bin")
    tf.apply("plan.bin")
    assert tf.plan("gone.bin", destroy=True)
    assert {"terraform_data.a": "delete"} == tf.planned()
    assert [["delete"]] == [c["change"]["actions"] for c in tf.show("gone.bin")["resource_changes"]]
    tf.apply("gone.bin")
    assert [] == tf.resources()


@needs_terraform
def test_stale_plan_is_told_plainly(tmp_path: Path) -> None:
    """A plan older than the state is a StateError that says to plan again."""
    tf = terraform(tmp_path / "one", data_stack({"a": {"input": "x"}}))
    tf.plan("old.bin")
    tf.plan("new.bin")
    tf.apply("new.bin")
    with pytest.raises(StateError, match="run plan again"):
        tf.apply("old.bin")


@needs_terraform
def test_errors_carry_summary_detail_and_address(tmp_path: Path) -> None:
    """What terraform refuses is told with the resource it speaks of."""
    config = data_stack(
        {"a": {"input": "x", "lifecycle": {"precondition": [{"condition": "${local.offered}", "error_message": "The zone offers no p5.48xlarge."}]}}}
    )
    tf = terraform(tmp_path / "one", {**config, "locals": {"offered": False}})
    with pytest.raises(
        ToolFailedError, match=r"one: terraform plan failed: terraform_data\.a: Resource precondition failed: The zone offers no p5\.48xlarge\."
    ):
        tf.plan("plan.bin")


@needs_terraform
def test_a_held_state_lock_is_told_with_its_holder(tmp_path: Path) -> None:
    """While one run holds the state lock, another one fails with a StateError that shows who holds it."""
    tf = terraform(tmp_path / "one", data_stack({"a": sleeper(3)}))
    tf.plan("plan.bin")
    first = threading.Thread(target=tf.apply, args=("plan.bin",))
    first.start()
    other = Terraform(tf.folder, SETTINGS, tf.tool)
    deadline = time.monotonic() + 30
    while other.running_pid() is None or not list(tf.folder.glob(".terraform.tfstate.lock.info")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with pytest.raises(StateError, match=r"(?s)one: somebody else holds the state lock;.*Who"):
        other.plan("other.bin")
    first.join()
    assert other.running_pid() is None


@needs_terraform
def test_interrupt_is_passed_on_once_and_state_is_kept(tmp_path: Path) -> None:
    """Ctrl-C lets terraform finish what runs, start nothing more, and save its state."""
    tf = terraform(tmp_path / "one", data_stack({"a": sleeper(2), "b": {"input": "y", "depends_on": ["terraform_data.a"]}}))
    tf.plan("plan.bin")
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom inferform.terraform import Settings, Terraform, find_terraform\n"
        # Ctrl-C reaches this program even where the tests run in a background that ignores it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "s = Settings(os.environ, isolated=True)\nt = Terraform(Path(sys.argv[1]), s, find_terraform(s), lambda e: print(e['type'], flush=True))\n"
        "try:\n    t.apply('plan.bin')\nexcept Exception as err:\n    print(type(err).__name__, err, flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tf.folder)], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    for line in child.stdout:
        if line.startswith("apply_start"):
            break
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    rest = child.communicate(timeout=60)[0]
    assert "StateError one: terraform apply was interrupted and stopped cleanly" in rest
    # The interrupt makes the provisioner's shell stop as well, so a is recorded (tainted) and b was never begun.
    assert ["terraform_data.a"] == tf.resources()


@needs_terraform
def test_terraform_outlives_a_killed_caller(tmp_path: Path) -> None:
    """kill -9 of the caller leaves terraform to finish and save; the marker names it meanwhile."""
    tf = terraform(tmp_path / "one", data_stack({"a": sleeper(2), "b": {"input": "y", "depends_on": ["terraform_data.a"]}}))
    tf.plan("plan.bin")
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom inferform.terraform import Settings, Terraform, find_terraform, managed, outputs\n"
        "s = Settings(os.environ, isolated=True)\nt = Terraform(Path(sys.argv[1]), s, find_terraform(s), lambda e: print(e['type'], flush=True))\nt.apply('plan.bin')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tf.folder)], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    for line in child.stdout:
        if line.startswith("apply_start"):
            break
    child.kill()
    child.wait()
    pid = tf.running_pid()
    assert pid is not None
    deadline = time.monotonic() + 30
    while tf.running_pid() is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert ["terraform_data.a", "terraform_data.b"] == sorted(tf.resources())
    assert [] == tf.unfinished()


def fake(folder: Path, script: str) -> Settings:
    """Settings with a terraform that is a shell script."""
    path = folder / "terraform"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return Settings({"PATH": f"{folder}:/usr/bin:/bin"}, lock_timeout_s=0)


def test_missing_terraform_is_told(tmp_path: Path) -> None:
    """Without terraform and tofu on the path the error says what to install, with the exit code for a missing tool."""
    with pytest.raises(MissingToolError, match=r"terraform or tofu is not on the search path; install Terraform >= 1\.10"):
        find_terraform(Settings({"PATH": str(tmp_path)}))
    assert 5 == MissingToolError.exit_code


def test_fc36_old_terraform_is_rejected(tmp_path: Path) -> None:
    """FC-36: a terraform before 1.10 has no lock file for S3 state and is refused."""
    with pytest.raises(InputError, match=r"version 1\.9\.8; at least 1\.10 is needed"):
        find_terraform(fake(tmp_path, """echo '{"terraform_version": "1.9.8"}'"""))


def test_fc36_answers_that_do_not_begin_as_json_fail_clearly(tmp_path: Path) -> None:
    """FC-36: a warning on standard output in front of the JSON is an error that quotes it; on the error stream it does no harm."""
    with pytest.raises(ToolFailedError, match="the output is not JSON, it begins with: Warning: dynamodb_table is deprecated"):
        find_terraform(fake(tmp_path, """echo 'Warning: dynamodb_table is deprecated'; echo '{"terraform_version": "1.11.0"}'"""))
    assert "1.11.0" == find_terraform(fake(tmp_path, """echo 'Warning: deprecated' >&2; echo '{"terraform_version": "1.11.0"}'""")).version


def test_broken_json_is_told(tmp_path: Path) -> None:
    """JSON that was cut off is an error of its own, not a traceback."""
    finished = run(["/bin/sh", "-c", "printf '{\"a\": '"], folder=tmp_path, environ={}, log=tmp_path / "x", timeout_s=10)
    with pytest.raises(ToolFailedError, match="the JSON output is broken"):
        read_json(finished)


def test_timeout_stops_with_an_interrupt(tmp_path: Path) -> None:
    """A command that takes too long gets SIGINT, so that it can save what it did."""
    finished = run(
        ["/bin/sh", "-c", "trap 'echo saved; exit 3' INT; while :; do sleep 0.1; done"], folder=tmp_path, environ={}, log=tmp_path / "x", timeout_s=0.3
    )
    assert finished.timed_out
    assert (3, "saved\n") == (finished.code, finished.stdout.read_text())


def test_environment_is_scrubbed(tmp_path: Path) -> None:
    """Variables that change a plan never reach terraform; an isolated run sees no account of the caller either."""
    given = {"PATH": "/bin", "HOME": "/h", "AWS_PROFILE": "prod", "TF_VAR_x": "1", "TF_CLI_ARGS": "-lock=false", "TF_WORKSPACE": "w", "SECRET": "s"}
    given["TF_CLI_CONFIG_FILE"] = str(tmp_path / "absent")
    ours = {"TF_IN_AUTOMATION": "1", "TF_INPUT": "0", "CHECKPOINT_DISABLE": "1"}
    assert {"PATH": "/bin", "HOME": "/h", "AWS_PROFILE": "prod"} | ours == environment(Settings(given))
    assert {"PATH": "/bin", "HOME": "/h", "A": "b"} | ours == environment(Settings(given, isolated=True, variables={"A": "b"}))


def test_plugin_cache_is_made_and_the_callers_wins(tmp_path: Path) -> None:
    """The cache folder exists before terraform runs; the caller's own cache is kept."""
    made = environment(Settings({}, plugin_cache=tmp_path / "cache"))
    assert (str(tmp_path / "cache"), True) == (made["TF_PLUGIN_CACHE_DIR"], (tmp_path / "cache").is_dir())
    assert "/mine" == environment(Settings({"TF_PLUGIN_CACHE_DIR": "/mine"}, plugin_cache=tmp_path / "cache"))["TF_PLUGIN_CACHE_DIR"]


def test_a_process_is_known_by_number_and_start() -> None:
    """An ended process is not found again under its number."""
    child = subprocess.Popen(["/bin/sleep", "60"])
    assert process_started(child.pid) is not None
    child.kill()
    time.sleep(0.05)
    assert process_started(child.pid) is None  # a zombie has ended
    child.wait()
    assert process_started(child.pid) is None
