"""How long and how large the synth of the sample plan is, beside the same resources through the prebuilt AWS bindings.

    python tests/bench/synth_bindings.py [--seconds 600]

Each way runs in a process of its own; time is from its start to its end, memory is the proportional share of the process and
of the Node.js processes below it at their largest. The bindings are no dependency (their wheel is 59 MB): without
`cdktf-cdktf-provider-aws` installed the script measures our own way and says what is missing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
BINDINGS = "cdktf_cdktf_provider_aws"
# Attribute names that the bindings spell otherwise, because Python or the bindings use the word.
RENAMED = {"self": "self_attribute"}


def own_way(out: Path) -> None:
    """Synthesize the sample plan as the product does."""
    sys.path.insert(0, str(TESTS))
    import samples
    from inferform.stacks.app import synthesize

    synthesize(samples.sample_plan(), out)


def bindings_way(out: Path) -> None:
    """Build every resource of the synthesized sample plan in `out` through its class of the bindings, and synthesize again."""
    from inferform.stacks import cdk, schema

    cdktf = cdk.load("cdktf")
    app = cdktf.App(outdir=str(out / "bindings"), skip_validation=True)
    provider = importlib.import_module(f"{BINDINGS}.provider")
    for path in sorted(out.glob("stacks/*/cdk.tf.json")):
        stack = cdktf.TerraformStack(app, path.parent.name)
        provider.AwsProvider(stack, "aws", region="us-east-1")
        config = json.loads(path.read_text(encoding="utf-8"))
        for where in ("resource", "data"):
            for kind, named in config.get(where, {}).items():
                if kind.startswith("aws_"):
                    owner = f"data_{kind}" if where == "data" else kind.removeprefix("aws_")
                    module = importlib.import_module(f"{BINDINGS}.{owner}")
                    construct = _named(module, owner)
                    rows = schema.document("aws")[where][kind]
                    for name, attributes in named.items():
                        construct(stack, f"{where}.{kind}.{name}", **_arguments(module, owner, attributes, rows))
    app.synth()


def _named(module: Any, name: str) -> Any:
    # Capitals inside a word (S3) follow no rule; a class that another would hide has an A behind its name.
    wanted = name.replace("_", "").lower()
    return next(getattr(module, n) for w in (f"{wanted}a", wanted) for n in dir(module) if n.lower() == w)


def _arguments(module: Any, owner: str, attributes: dict[str, Any], rows: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments, with blocks as structs of the bindings; lifecycle and dependencies add nothing to what is measured."""
    found = {}
    for name, value in attributes.items():
        if name not in ("lifecycle", "depends_on"):
            nested = rows[name].get("attributes")
            items = value if isinstance(value, list) else [value]
            structs = [_named(module, f"{owner}{name}")(**_arguments(module, f"{owner}{name}", i, nested)) for i in items] if nested else []
            found[RENAMED.get(name, name)] = (structs if isinstance(value, list) else structs[0]) if nested else _listed(value, rows[name]["type"])
    return found


def _listed(value: Any, kind: str) -> Any:
    # The bindings take lists only as lists; an expression for one is wrapped, which writes about as much.
    return [value] if kind.startswith("list(") and isinstance(value, str) else value


def measure(way: str, out: Path, limit_s: float) -> tuple[float, float]:
    """(seconds, MB at most) of one way in a process of its own."""
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, __file__, "--way", way, "--out", str(out)])
    most = 0.0
    while child.poll() is None:
        most = max(most, sum(_share_mb(pid) for pid in _family(child.pid)))
        if time.perf_counter() - start > limit_s:
            child.kill()
            raise SystemExit(f"{way}: stopped after {limit_s:.0f} s")
        time.sleep(0.02)
    if child.returncode:
        raise SystemExit(f"{way}: failed with {child.returncode}")
    return time.perf_counter() - start, most


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [pid, *(p for c in children for p in _family(int(c)))]


def _share_mb(pid: int) -> float:
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0.0
    return sum(int(r.split()[1]) for r in rows if r.startswith("Pss:")) / 1024


def main() -> None:
    """Measure both ways, or run one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="longest run of one way")
    parser.add_argument("--way", choices=("own", "bindings"), help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        (own_way if arguments.way == "own" else bindings_way)(arguments.out)
        return
    with tempfile.TemporaryDirectory() as folder:
        for way in ("own", "bindings"):
            if way == "bindings" and importlib.util.find_spec(BINDINGS) is None:
                print(f"bindings: not measured; pip install {BINDINGS.replace('_', '-')}==21.22.1")
                continue
            seconds, most_mb = measure(way, Path(folder), arguments.seconds)
            print(f"{way}: {seconds:.1f} s, {most_mb:.0f} MB")


if __name__ == "__main__":
    main()
