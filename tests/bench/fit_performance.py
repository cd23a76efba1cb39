"""Fits the constants of the step model anew, cross-validates them and writes both with the rows that fitted them.

Usage: python tests/bench/fit_performance.py [--cases FILE.csv] [--check] [--cross-validate] [--rounds N]

The measured rows are not part of this repository: `../shared/data/measured/performance_cases.csv` beside the checkout, or --cases.
--check fits nothing and prints the errors of the constants that ship. --cross-validate also refits without each (model, GPU) in
turn, and without each family of GPUs, and writes the errors on what was left out; `estimate` takes its error bands from them.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from inferform.errors import InputError, MissingToolError
from inferform.sizing import silicon
from inferform.sizing.error_bands import measured_errors
from inferform.sizing.fitting import Row, dependence, figures, fit, log_errors
from inferform.sizing.roofline import Constants, constants, family

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measured_rows import CASES, LEFT_OUT, ROOT, read_rows

DATA = ROOT / "modules/sizing/data"
# (lowest, where physics puts it, highest) by the beginning of a constant's name; without a row a constant stays in the middle.
BOUNDS = {
    "compute_": (0.3, 0.55, 0.8), "read_": (0.6, 0.85, 0.92), "kv_": (0.3, 0.65, 0.9), "attention_fp8_context": (1.0, 1.4, 2.0), "attention_": (0.2, 0.55, 0.8),
    "expert_compute_": (0.08, 0.25, 1.0), "expert_int4_read": (0.1, 0.4, 1.0), "expert_layer_us": (2, 15, 60), "narrow_columns": (20, 100, 3000),
    "hidden_passes": (6, 10, 40), "pcie_rate": (0.2, 0.5, 0.9), "pcie_latency_us": (10, 40, 80), "pcie_ring_us": (5, 40, 80), "nvlink_rate": (0.3, 0.8, 0.95),
    "nvlink_latency_us": (3, 10, 15), "nvlink_ring_us": (2, 15, 30), "layer_us_": (1, 20, 30), "step_us_": (50, 400, 5000), "sequence_us_": (0.5, 2, 30),
    "host_sequence_us_": (2, 20, 60), "host_grace": (1, 1.5, 2.5), "eager_layer_us": (1, 10, 60), "request_ms_": (2, 30, 150),
}  # fmt: skip
Errors = list[tuple[Row, str, float]]


def bound(name: str) -> tuple[float, float, float]:
    return BOUNDS[max((prefix for prefix in BOUNDS if name.startswith(prefix)), key=len)]


def refit(
    rows: Sequence[Row], start: dict[str, float], felt: dict[str, frozenset[str]], rounds: int, told: Callable[[int, float], None] | None = None
) -> dict[str, float]:
    """Constants fitted to these rows. What none of them speaks about, but others do, goes to where physics puts it."""
    ids = {row.id for row in rows}
    free = {name for name, speaking in felt.items() if speaking & ids}
    begin = {name: bound(name)[1] if name in felt and name not in free else value for name, value in start.items()}
    limits = {name: (bound(name)[0], bound(name)[2]) for name in free}
    return fit(rows, begin, limits, physics={name: bound(name)[1] for name in begin}, felt=felt, rounds=rounds, told=told)


def shipped() -> dict[str, Any]:
    entries: dict[str, Any] = json.loads((DATA / "performance_constants.json").read_text(encoding="utf-8"))["constants"]
    return entries


def all_errors(rows: Sequence[Row], values: dict[str, float]) -> Errors:
    known = Constants(values, "")
    return [(row, key, error) for row in rows for key, error in log_errors(row, known).items()]


def left_out_errors(rows: Sequence[Row], values: dict[str, float], fold: Callable[[Row], str], rounds: int) -> Errors:
    """Errors on each fold of constants that were fitted without it."""
    found: Errors = []
    start, felt = time.monotonic(), dependence(rows, values)
    for name in sorted({fold(row) for row in rows}):
        out = [row for row in rows if fold(row) == name]
        without = refit([row for row in rows if fold(row) != name], values, felt, rounds)
        errors = all_errors(out, without)
        worst = {key: statistics.median(abs(math.exp(e) - 1) for _, k, e in errors if k == key) for key in sorted({k for _, k, _ in errors})}
        print(f"without {name:50} {len(out):3} rows, {time.monotonic() - start:4.0f} s:", ", ".join(f"{k} {v:.1%}" for k, v in worst.items()), flush=True)
        found += errors
    return found


def told(errors: Errors) -> None:
    groups: dict[str, list[float]] = {}
    for row, key, error in errors:
        kind = "moe" if row.request.model.moe else "dense"
        for name in (f"{key} all", f"{key} {kind} {row.request.engine}", f"{key} {row.group}"):
            groups.setdefault(name, []).append(math.exp(error) - 1)
    for name, found in sorted(groups.items()):
        off = sorted(abs(e) for e in found)
        print(f"{name:62} n={len(off):4} median={statistics.median(off):6.1%} mean={statistics.mean(off):6.1%} bias={statistics.median(found):+6.1%}")


def summary(errors: Errors) -> dict[str, dict[str, float]]:
    """Number, median, mean, 80th percentile and share within 20 % by figure, and by `figure kind` and `figure kind engine`."""
    groups: dict[str, list[float]] = {}
    for row, key, error in errors:
        kind = "moe" if row.request.model.moe else "dense"
        for name in (key, f"{key} {kind}", f"{key} {kind} {row.request.engine}"):
            groups.setdefault(name, []).append(abs(math.exp(error) - 1))
    out = {}
    for name, off in sorted(groups.items()):
        off.sort()
        out[name] = {
            "rows": len(off), "median": round(statistics.median(off), 4), "mean": round(statistics.mean(off), 4),
            "p80": round(off[min(len(off) - 1, int(0.8 * len(off)))], 4), "within_20_percent": round(sum(e <= 0.2 for e in off) / len(off), 3),
        }  # fmt: skip
    return out


def silicon_errors(rows: Sequence[Row]) -> Errors:
    """Errors of the measured kernel tables on the rows that they answer; none without the optional package."""
    found: Errors = []
    for row in rows:
        try:
            got = figures(silicon.estimate(row.request))
        except MissingToolError:
            return []
        except InputError:
            continue
        found += [(row, key, math.log(max(got[key], 1e-9) / want)) for key, want in sorted(row.measured.items())]
    return found


def write_errors(rows: Sequence[Row], values: dict[str, float], inside: Errors, rounds: int) -> None:
    outside = left_out_errors(rows, values, lambda row: row.fold, rounds)
    beyond = left_out_errors(rows, values, lambda row: family(row.request.gpu), rounds)
    report: dict[str, Any] = {
        "note": "Errors of the step model on the measured rows, as shares of what was measured. Written by tests/bench/fit_performance.py --cross-validate.",
        "in_sample": summary(inside),
        "cross_validated": {"left_out": "each model and GPU in turn", **summary(outside)},
        "other_family": {"left_out": "each family of GPUs in turn", **summary(beyond)},
        "families": sorted({family(row.request.gpu) for row in rows}),
    }
    tables = silicon_errors(rows)
    # Measured where the optional package is; elsewhere the figures of the last run stay.
    report["silicon"] = summary(tables) if tables else measured_errors().get("silicon", {})
    (DATA / "performance_errors.json").write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{'median and mean of':40} {'in sample':>21} {'cross-validated':>21} {'other family':>21}")
    for name in sorted(summary(inside)):
        columns = [s[name] for s in (summary(inside), summary(outside), summary(beyond))]
        print(f"{name:40}", " ".join(f"{c['median']:>10.1%} {c['mean']:>10.1%}" for c in columns))


def write_constants(rows: Sequence[Row], values: dict[str, float]) -> None:
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row.id)
    speaking, group_of = dependence(rows, values), {row.id: row.group for row in rows}
    before = shipped()
    entries: dict[str, Any] = {}
    for name, value in sorted(values.items()):
        touched = sorted({group_of[i] for i in speaking.get(name, ())})
        why = {"fitted_on": touched} if touched else {"assumed": before[name].get("assumed", "no measured row depends on it; where physics puts it")}
        entries[name] = {"value": float(f"{value:.4g}"), **why}
    data = {
        "source": f"constants fitted on {len(rows)} published measurements",
        "note": "Efficiencies of the step model (roofline.py). Figures come from public benchmark tables; see NOTICE. Written by tests/bench/fit_performance.py.",
        "read": "2026-12-01", "rows": {k: sorted(v) for k, v in sorted(groups.items())}, "left_out": dict(sorted(LEFT_OUT.items())), "constants": entries,
    }  # fmt: skip
    (DATA / "performance_constants.json").write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--check", action="store_true", help="fit nothing")
    parser.add_argument("--cross-validate", action="store_true", help="refit without each model and GPU, and write the errors")
    parser.add_argument("--rounds", type=int, default=25)
    args = parser.parse_args()
    if not args.cases.exists():
        print(f"{args.cases} is not there; give the measured rows with --cases")
        return 5
    rows = read_rows(args.cases)
    values = dict(constants().values)
    if not args.check:
        start = time.monotonic()
        values = refit(
            rows,
            values,
            dependence(rows, values),
            args.rounds,
            lambda turn, loss: print(f"round {turn}: loss {loss:.4f}, {time.monotonic() - start:.0f} s", flush=True),
        )
        write_constants(rows, values)
    errors = all_errors(rows, values)
    told(errors)
    if args.cross_validate:
        write_errors(rows, values, errors, args.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
