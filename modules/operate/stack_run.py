"""Terraform on one stack, with its progress told and its cut-off runs mended."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferform.errors import StateError
from inferform.operate.folder import CONFIG, write
from inferform.operate.progress import Phase, Progress, Step
from inferform.operate.recovery import adopt, advice
from inferform.terraform import Settings, Terraform, Tool, outputs

Json = dict[str, Any]
LOOK = "look.tfplan"


@dataclass
class StackRun:
    """One stack in one working directory."""

    stack: str
    folder: Path
    settings: Settings
    tool: Tool
    progress: Progress

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.terraform = Terraform(self.folder, self.settings, self.tool, self._event)
        self._phase: Phase = "init"
        self._total = self._done = 0
        self.warnings: list[str] = []

    def write(self, config: Mapping[str, Any]) -> None:
        """Put the configuration in place."""
        write(self.folder / CONFIG, json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n")

    def open(self) -> None:
        """Make the directory ready.

        Raises: StateError while terraform of an earlier run is still at work.
        """
        self._tell("init", "begin")
        self._wait_for_earlier()
        self.terraform.init()
        self._tell("init", "end")

    def plan(self, file: str) -> tuple[bool, Json]:
        """Plan into `file`; whether there is anything to do, and the plan as JSON.

        What a killed terraform was just making is taken into the state first; `warnings` tells what could not be. The caller
        keeps those and then calls `forget_cut_off`, so that a kill in between loses no word of it.
        """
        self._tell("plan", "begin")
        different, document = self.terraform.plan(file), self.terraform.show(file)
        doubtful = self.terraform.unfinished()
        # An adopted object makes the ids of those that hang on it known, so there may be several rounds.
        while doubtful and (adopted := adopt(self.terraform, doubtful, document)):
            for address in adopted:
                self.progress(Step("plan", "progress", self.stack, address, "adopt", text="was made by the run that was cut off"))
            different, document = self.terraform.plan(file), self.terraform.show(file)
            doubtful = [a for a in doubtful if a not in adopted]
        self.warnings += [f"{self.stack}: {line}" for a in doubtful if (line := advice(self.terraform, a, document))]
        self._tell("plan", "end")
        return different, document

    def forget_cut_off(self) -> None:
        """What a killed run left is settled or told."""
        self.terraform.forget_unfinished()

    def look(self) -> Json:
        """What the cloud has otherwise than the state, as a refresh-only plan; empty when nothing."""
        self._tell("drift", "begin")
        different = self.terraform.plan(LOOK, refresh_only=True)
        document = self.terraform.show(LOOK) if different else {}
        (self.folder / LOOK).unlink(missing_ok=True)
        self._tell("drift", "end")
        return document

    def destroy(self, file: str) -> int:
        """Destroy everything in the stack; how many objects that were."""
        self._tell("destroy", "begin")
        self.terraform.plan(file, destroy=True)
        self._total = sum(action == "delete" for action in self.terraform.planned().values())
        self.terraform.apply(file)
        (self.folder / file).unlink(missing_ok=True)
        self._tell("destroy", "end")
        return self._total

    def apply(self, file: str, total: int) -> None:
        """Apply a saved plan of `total` changes, telling each."""
        self._tell("apply", "begin", total=total)
        self.terraform.apply(file)
        self._tell("apply", "end")

    def settle(self) -> None:
        """Read back what the cloud filled in after each object was made, so that only later changes count as drift."""
        self._tell("settle", "begin")
        self.terraform.refresh()
        self._tell("settle", "end")

    def outputs(self) -> Json:
        """Values of the outputs that are not sensitive."""
        return outputs(self.terraform.state())

    # What a cut-off run left

    def _wait_for_earlier(self) -> None:
        """Terraform outlives a killed Inferform; give it a moment to end, then say that it is still there."""
        deadline = time.monotonic() + self.settings.lock_timeout_s
        while (pid := self.terraform.running_pid()) is not None:
            if time.monotonic() > deadline:
                raise StateError(
                    f"{self.stack}: terraform of an earlier run that was cut off is still at work (process {pid}); "
                    f"it ends by itself and keeps its state: run this command again then, or stop it cleanly with kill -INT {pid}"
                )
            self.progress(Step("init", "progress", self.stack, text=f"waiting for terraform of the earlier run (process {pid})"))
            time.sleep(0.2)

    # Progress

    def _tell(self, phase: Phase, state: str, total: int = 0) -> None:
        if state == "begin":
            self._phase, self._total, self._done = phase, total, 0
            self.progress(Step(phase, "begin", self.stack, total=total))
        else:
            self.progress(Step(phase, "end", self.stack, done=self._done, total=self._total))

    def _event(self, event: Json) -> None:
        """Pass a machine-readable event of terraform on as progress."""
        hook = event.get("hook") or event.get("change") or {}
        address = (hook.get("resource") or {}).get("addr", "")
        kind = event["type"]
        if kind == "apply_complete":
            self._done += 1
        if kind in ("apply_start", "apply_complete", "apply_errored", "apply_progress", "planned_change", "refresh_complete"):
            self.progress(Step(self._phase, "progress", self.stack, address, str(hook.get("action", "")), self._done, self._total, kind))
