"""Terraform on one stack, with its progress told and its cut-off runs mended."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferform.errors import StateError
from inferform.operate.folder import CONFIG, write, write_json
from inferform.operate.progress import Phase, Progress, Step
from inferform.terraform import Settings, Terraform, Tool

Json = dict[str, Any]
SHOWN = "shown.json"
# How the cloud names an object, from attributes that are known before it is made: terraform import takes it by this.
_IDENTITY = {
    "aws_autoscaling_group": "{name}",
    "aws_cloudwatch_log_group": "{name}",
    "aws_eks_access_entry": "{cluster_name}:{principal_arn}",
    "aws_eks_addon": "{cluster_name}:{addon_name}",
    "aws_eks_cluster": "{name}",
    "aws_eks_node_group": "{cluster_name}:{node_group_name}",
    "aws_iam_instance_profile": "{name}",
    "aws_iam_role": "{name}",
    "aws_iam_role_policy": "{role}:{name}",
    "aws_iam_role_policy_attachment": "{role}/{policy_arn}",
    "aws_kms_alias": "{name}",
    "aws_placement_group": "{name}",
    "aws_s3_bucket": "{bucket}",
    "aws_s3_bucket_policy": "{bucket}",
    "aws_s3_bucket_public_access_block": "{bucket}",
}


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

    def write(self, config: Mapping[str, Any]) -> None:
        """Put the configuration in place."""
        write(self.folder / CONFIG, json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n")

    def open(self) -> tuple[str, ...]:
        """Make the directory ready, after mending what a cut-off run left; gives warnings about what could not be mended.

        Raises: StateError while terraform of an earlier run is still at work.
        """
        self._tell("init", "begin")
        self._wait_for_earlier()
        self.terraform.init()
        warnings = self._mend()
        self._tell("init", "end")
        return warnings

    def plan(self, file: str, *, destroy: bool = False, refresh_only: bool = False, phase: Phase = "plan") -> tuple[bool, Json]:
        """Plan into `file`; whether there is anything to do, and the plan as JSON, which is kept beside it."""
        self._tell(phase, "begin")
        different = self.terraform.plan(file, destroy=destroy, refresh_only=refresh_only)
        document = self.terraform.show(file)
        if not refresh_only:
            write_json(self.folder / SHOWN, document)
        self._tell(phase, "end")
        return different, document

    def apply(self, file: str, total: int, *, phase: Phase = "apply") -> None:
        """Apply a saved plan of `total` changes, telling each."""
        self._tell(phase, "begin", total=total)
        self.terraform.apply(file)
        self._tell(phase, "end", total=total)

    def settle(self) -> None:
        """Read back what the cloud filled in after each object was made, so that only later changes count as drift."""
        self._tell("settle", "begin")
        self.terraform.refresh()
        self._tell("settle", "end")

    def outputs(self) -> Json:
        """Values of the outputs that are not sensitive."""
        return {name: o["value"] for name, o in sorted(self.terraform.outputs().items()) if not o.get("sensitive")}

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

    def _mend(self) -> tuple[str, ...]:
        """Take objects into the state that a killed terraform was just making; warnings for those it cannot find by name."""
        doubtful = self.terraform.unfinished()
        if not doubtful:
            return ()
        there = set(self.terraform.resources())
        values = self._planned_values()
        warnings = []
        for address in doubtful:
            if address in there:
                continue
            kind = address.split(".")[-2]
            try:
                identity = _IDENTITY[kind].format_map(values.get(address, {}))
            except KeyError:
                warnings.append(
                    f"{self.stack}: terraform was killed while it made {address}; if the cloud has it, it is not in the state and will be made again. "
                    f"Look for one without an owner among those tagged with this deployment; delete it, or adopt it before apply: "
                    f"terraform -chdir={self.folder} import '{address}' ID"
                )
                continue
            if self.terraform.adopt(address, identity):
                self.progress(Step("init", "progress", self.stack, address, "adopt", text=f"took {identity} into the state"))
        self.terraform.forget_unfinished()
        return tuple(warnings)

    def _planned_values(self) -> dict[str, Json]:
        """Known attributes of every resource in the plan that was shown last, by address."""
        try:
            document = json.loads((self.folder / SHOWN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {c["address"]: {k: v for k, v in (c["change"].get("after") or {}).items() if isinstance(v, str)} for c in document.get("resource_changes", [])}

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
