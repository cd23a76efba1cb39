"""Applies that are killed at random points, of real stacks on the sandbox with the real terraform and provider.

Model store and identity of one model: sixteen resources in two stacks, the second of which reads the first. They are synthesized
once; what is killed is everything from the saved plan to the last write. Run as a program it is the apply that gets killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inferform.errors import InferformError
from inferform.operate.apply import apply
from inferform.operate.backend import Backend
from inferform.operate.plan import plan
from inferform.operate.progress import Step
from inferform.operate.results import ApplyResult, PlanResult
from inferform.operate.steps import StackConfig, Steps
from inferform.plan import DeploymentPlan
from inferform.sandbox.backend import sandbox_backend
from operate.tiny import ACTOR, RULES, Seen, tiny_plan
from samples import plan_data

Json = dict[str, Any]
STACKS = ("model_store", "identity")
# What every message of an apply that could not go on has to say.
ADVICE = ("run inferform apply again", "run inferform plan again", "run the same command again", "run this command again")


def fleet(name: str) -> DeploymentPlan:
    """The sample plan under a name of its own, so that several can live in one account."""
    data = plan_data()
    data["cost"] |= {"budget_usd_per_month": None}
    data["model_store"]["bucket"] = f"{name}-models"
    return DeploymentPlan.model_validate(data | {"name": name, "models": {"bge": data["models"]["bge"]}})


def synthesized(name: str, folder: Path) -> str:
    """The two stacks of a fleet, as `real` reads them."""
    made = Steps().synthesize(fleet(name), folder)
    # What hangs on a cluster is left out: provider 3.39 does not know it, and a cluster takes its time.
    del made["identity"].config["data"]["terraform_remote_state"]["cluster"]
    del made["identity"].config["resource"]["aws_eks_pod_identity_association"]
    return json.dumps({s: [made[s].config, [d for d in made[s].dependencies if d in STACKS]] for s in STACKS})


def real(stacks: Path) -> Steps:
    """Steps that hand out what was synthesized."""
    product = Seen().product()
    document = json.loads(stacks.read_text())
    return Steps(
        size=product.size,
        render=product.render,
        judge=product.judge,
        synthesize=lambda plan, out: {s: StackConfig(c, tuple(d)) for s, (c, d) in document.items()},
    )


def built_in() -> Steps:
    """The tiny deployment: three stacks of terraform's own resources, a tenth of a second each."""
    return Seen(slow=0.1).product()


@dataclass
class Life:
    """One deployment that is planned, killed again and again while it is applied, and completed."""

    folder: Path
    source: DeploymentPlan
    backend: Backend
    steps: Steps
    child: Sequence[str]
    seed: int
    kills: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - the same points every time, nothing secret

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def plan(self) -> PlanResult:
        return plan(self.source, self.out, backend=self.backend, actor=ACTOR, rules=RULES, steps=self.steps)

    def kill(self, whom: str, most_lines: int) -> bool:
        """Apply in a process of its own and kill -9 it, or the terraform that it runs, at a random point; False when it ended before that."""
        at, delay_s = self._random.randint(6, most_lines), self._random.random() * 0.3
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        child = subprocess.Popen([sys.executable, __file__, *self.child], stdout=subprocess.PIPE, text=True, env=environ)
        assert child.stdout
        lines = [line for line, _ in zip(child.stdout, range(at), strict=False)]
        time.sleep(delay_s)
        if child.poll() is not None:
            rest = child.communicate()[0]
            self._ended(child.returncode, [*lines, *rest.splitlines()])
            return False
        where = f"line {at}, {lines[-1].strip()}" if lines else "start"
        if whom == "terraform" and (pids := _children(child.pid)):
            # terraform leads a session of its own, and its provider goes with it.
            os.killpg(pids[0], signal.SIGKILL)
            lines += child.communicate(timeout=120)[0].splitlines()
            self._ended(child.returncode, lines)
        else:
            child.kill()
            child.communicate(timeout=120)
        self.kills.append(f"{whom} after {where}")
        return True

    def _ended(self, code: int, lines: list[str]) -> None:
        """Done, or a last word that says what to do."""
        self.warned += [line for line in lines if line.startswith("warning ")]
        self.said.append(lines[-1].strip() if lines else "")
        assert code == 0 or any(a in self.said[-1] for a in ADVICE), self.said[-1]

    def complete(self) -> ApplyResult:
        """Apply, and do what it says until it is done; three times are enough."""
        for _ in range(3):
            try:
                done = apply(self.source, self.out, backend=self.backend, actor=ACTOR, rules=RULES, steps=self.steps)
            except InferformError as err:
                self.said.append(" ".join(str(err).split()))
                assert any(a in self.said[-1] for a in ADVICE), self.said[-1]
                if "run inferform plan" in self.said[-1]:
                    self.plan()
            else:
                self.warned += done.warnings
                return done
        raise AssertionError(self.said)


def _children(pid: int) -> list[int]:
    """Processes that a process has started and that still run."""
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def tell(step: Step) -> None:
    """One line a step."""
    print(step.phase, step.state, step.stack, step.address, step.text, flush=True)


if __name__ == "__main__":
    kind, out, name, url = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    from operate.tiny import BACKEND

    source = fleet(name) if kind == "real" else tiny_plan()
    backend = sandbox_backend(url, Path(sys.argv[5]), os.environ) if kind == "real" else BACKEND
    steps = real(out.parent / "stacks.json") if kind == "real" else built_in()
    try:
        for warning in apply(source, out, tell, backend=backend, actor=ACTOR, rules=RULES, steps=steps).warnings:
            print("warning", warning, flush=True)
    except InferformError as err:
        print(" ".join(str(err).split()), flush=True)
        sys.exit(err.exit_code)
