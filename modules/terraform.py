"""The only place that runs terraform: init, plan, show, apply, output, import in one working directory.

Results come from files and JSON commands only, with the error stream apart. Errors carry terraform's own diagnostics.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferform.errors import StateError, ToolFailedError
from inferform.terraform_process import Event, Finished, read_events, read_json, run, running
from inferform.terraform_tool import Settings, Tool, environment, find_terraform

__all__ = ["Diagnostic", "Settings", "Terraform", "TerraformError", "Tool", "find_terraform"]

MARKER = "terraform.running"
_STALE = "Saved plan is stale"
_LOCKED = "Error acquiring the state lock"
_CONTEXT = re.compile(r"(resource|data)\.(\w+)\.([\w-]+)")
_PREAMBLE = "Terraform encountered problems during initiali"


@dataclass(frozen=True)
class Diagnostic:
    """One message of terraform. `address` is the resource it speaks of, empty when none."""

    severity: str
    summary: str
    detail: str
    address: str

    def __str__(self) -> str:
        detail = f": {' '.join(self.detail.split())}" if self.detail else ""
        return f"{f'{self.address}: ' if self.address else ''}{self.summary}{detail}"


class TerraformError(ToolFailedError):
    """A terraform command failed; `diagnostics` holds its errors."""

    def __init__(self, message: str, output: str, diagnostics: tuple[Diagnostic, ...]):
        super().__init__(message, output)
        self.diagnostics = diagnostics


class Terraform:
    """Terraform in one working directory, which holds `cdk.tf.json`.

    `on_event` gets every machine-readable event of plan and apply as terraform writes it (apply_start, apply_complete, ...).
    The output of the last run of each command stays in `logs/` of the directory.
    """

    def __init__(self, folder: Path, settings: Settings, tool: Tool, on_event: Callable[[Event], None] | None = None):
        self.folder = folder
        self.settings = settings
        self.tool = tool
        self.on_event = on_event

    def init(self) -> None:
        """Make the directory ready: providers and state backend."""
        # -reconfigure: what the directory remembers of an earlier backend is only a note; the state is where the configuration says.
        self._check(self._run("init", "-input=false", "-json", "-reconfigure"))

    def planned(self) -> dict[str, str]:
        """What the last plan does, by address: create, update, replace, delete, ... (from its events, without a provider)."""
        rows = (e["change"] for e in read_events(self._log("plan").with_suffix(".stdout")) if e["type"] == "planned_change")
        return {c["resource"]["addr"]: c["action"] for c in rows}

    def plan(self, out: str, *, destroy: bool = False, refresh_only: bool = False, refresh: bool = True) -> bool:
        """Plan into the file `out`; True when there is anything to do (resources or outputs)."""
        flags = [f for f, on in (("-destroy", destroy), ("-refresh-only", refresh_only), ("-refresh=false", not refresh)) if on]
        finished = self._run("plan", "-json", "-detailed-exitcode", f"-out={out}", *flags, *self._common())
        self._check(finished, good=(0, 2))
        return finished.code == 2

    def show(self, plan_file: str) -> dict[str, Any]:
        """A saved plan as terraform's plan JSON (resource_changes with after_unknown, configuration, ...)."""
        return self._json("show", "-json", plan_file)

    def state(self) -> dict[str, Any]:
        """The state as it is stored, whatever the backend; empty where there is none. Starts no provider."""
        finished = self._run("state", "pull")
        self._check(finished)
        if not finished.stdout.stat().st_size:
            return {}
        document: dict[str, Any] = read_json(finished)
        return document

    def schema(self) -> dict[str, Any]:
        """Schemas of the providers in use."""
        return self._json("providers", "schema", "-json")

    def apply(self, plan_file: str) -> None:
        """Apply exactly the saved plan.

        Raises: StateError when the state has moved since the plan; TerraformError with what the cloud refused.
        """
        self._check(self._run("apply", "-json", *self._common(), plan_file, marker=self.folder / MARKER))

    def refresh(self) -> None:
        """Bring the state up to what the cloud has now, changing nothing there."""
        self._check(self._run("apply", "-refresh-only", "-auto-approve", "-json", *self._common(), marker=self.folder / MARKER))

    def adopt(self, address: str, identity: str) -> bool:
        """Take an existing object of the cloud into the state; False when terraform could not.

        Raises: TerraformError when terraform was killed, so that nobody takes the object for absent.
        """
        flags = [f for f in self._common() if not f.startswith("-parallelism")]
        finished = self._run("import", "-no-color", *flags, address, identity, marker=self.folder / MARKER)
        if finished.code < 0:
            self._check(finished)
        return finished.code == 0

    def resources(self) -> list[str]:
        """Addresses of the managed resources in the state."""
        return managed(self.state())

    def running_pid(self) -> int | None:
        """The process that still changes this stack: terraform outlives a killed Inferform."""
        return running(self.folder / MARKER)

    def unfinished(self) -> list[str]:
        """Addresses whose creation began and never ended in the last apply: terraform itself was killed."""
        begun: dict[str, None] = {}
        for event in read_events(self._log("apply").with_suffix(".stdout")):
            hook = event.get("hook") or {}
            address = (hook.get("resource") or {}).get("addr", "")
            if event["type"] == "apply_start" and hook.get("action") == "create":
                begun[address] = None
            elif event["type"] in ("apply_complete", "apply_errored"):
                begun.pop(address, None)
        return list(begun)

    def forget_unfinished(self) -> None:
        """Drop the note of the last apply, once what it left is settled."""
        self._log("apply").with_suffix(".stdout").unlink(missing_ok=True)
        (self.folder / MARKER).unlink(missing_ok=True)

    def _log(self, command: str) -> Path:
        return self.folder / "logs" / command

    def _common(self) -> list[str]:
        return ["-input=false", f"-lock-timeout={self.settings.lock_timeout_s}s", f"-parallelism={self.settings.parallelism}"]

    def _run(self, command: str, *arguments: str, marker: Path | None = None) -> Finished:
        return run(
            [self.tool.path, command, *arguments],
            folder=self.folder,
            environ=environment(self.settings),
            log=self._log(command),
            timeout_s=self.settings.timeout_s,
            on_event=self.on_event if command in ("plan", "apply") else None,
            marker=marker,
        )

    def _json(self, command: str, *arguments: str) -> dict[str, Any]:
        finished = self._run(command, *arguments)
        self._check(finished)
        document: dict[str, Any] = read_json(finished)
        return document

    def _check(self, finished: Finished, good: tuple[int, ...] = (0,)) -> None:
        """Raise with terraform's diagnostics unless the command ended well."""
        where = f"{self.folder.name}: {finished.command}"
        if finished.interrupted:
            raise StateError(f"{where} was interrupted and stopped cleanly; its state is saved, run the same command again to go on")
        if finished.timed_out:
            raise ToolFailedError(f"{where} took longer than {self.settings.timeout_s:.0f} s and was stopped", finished.complaint())
        if finished.code in good:
            return
        found = errors(read_events(finished.stdout))
        if any(d.summary == _STALE for d in found):
            raise StateError(f"{self.folder.name}: the state changed after the plan was made, so this plan no longer holds; run plan again")
        if any(d.summary == _LOCKED for d in found):
            said = " ".join(str(d) for d in found)[:800]
            raise StateError(
                f"{self.folder.name}: somebody else holds the state lock; {said}. If that run is dead: terraform -chdir={self.folder} force-unlock with the ID above"
            )
        text = "; ".join(str(d) for d in found) or finished.complaint() or f"exit code {finished.code}"
        raise TerraformError(f"{where} failed: {text}", finished.complaint(), tuple(found))


def managed(state: dict[str, Any]) -> list[str]:
    """Addresses of the managed resources in a stored state."""
    found = []
    for row in state.get("resources", []):
        if row.get("mode") != "managed":
            continue
        base = f"{row['module']}.{row['type']}.{row['name']}" if row.get("module") else f"{row['type']}.{row['name']}"
        keys = [i.get("index_key") for i in row.get("instances", []) if not i.get("deposed")]
        found += [base if key is None else f"{base}[{json.dumps(key)}]" for key in keys]
    return found


def outputs(state: dict[str, Any]) -> dict[str, Any]:
    """Values of the outputs in a stored state; sensitive ones are left out."""
    return {name: o["value"] for name, o in sorted(state.get("outputs", {}).items()) if not o.get("sensitive")}


def errors(events: list[Event]) -> list[Diagnostic]:
    """The errors among events, each once, in order."""
    found = []
    for event in events:
        said = event.get("diagnostic", {})
        if event["type"] == "diagnostic" and said.get("severity") == "error":
            found.append(Diagnostic("error", said.get("summary", ""), said.get("detail", ""), said.get("address") or _context_address(said)))
    said_once = list(dict.fromkeys(found))
    # init adds that it met problems; the problems themselves say more.
    return [d for d in said_once if not d.summary.startswith(_PREAMBLE)] or said_once


def _context_address(said: dict[str, Any]) -> str:
    """The resource whose block a message points into, such as `aws_vpc.main`; empty when it points elsewhere."""
    match = _CONTEXT.match((said.get("snippet") or {}).get("context") or "")
    return f"{'data.' if match.group(1) == 'data' else ''}{match.group(2)}.{match.group(3)}" if match else ""
