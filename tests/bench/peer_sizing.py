"""Runs aiconfigurator and our step model on the same measured rows and prints both errors and both times.

Usage: python tests/bench/peer_sizing.py [--cases FILE.csv] [--rows N] [--show]

Needs aiconfigurator-core beside inferform (the extra `silicon`) and the measured rows; says which one is missing and ends with 0
otherwise. The peer is asked as its users ask it: the batch with the highest throughput for offline rows, the stated concurrency for
online rows, with its newest tables. Rows that it cannot answer are left out for both, and counted.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from inferform.errors import InputError
from inferform.sizing.fitting import Row, figures
from inferform.sizing.performance import EstimateRequest, estimate
from inferform.sizing.roofline import ONE_BYTE_KV

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measured_rows import CASES, read_rows

BATCHES = (8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)


class Peer:
    """The peer's aggregated-serving estimate, through its own library."""

    def __init__(self) -> None:
        from aiconfigurator_core.sdk import config, models, perf_database  # type: ignore[import-not-found]
        from aiconfigurator_core.sdk.backends.factory import get_backend  # type: ignore[import-not-found]
        from inferform.sizing import silicon

        logging.disable(logging.ERROR)
        self.config, self.models, self.databases, self.get_backend, self.names = config, models, perf_database, get_backend, silicon
        self.loaded: dict[tuple[Any, ...], Any] = {}

    def ask(self, request: EstimateRequest) -> dict[str, float]:
        """The figures of a row. Raises: ValueError, RuntimeError, KeyError or AssertionError for what it has no answer to."""
        backend, model, database = self._load(request)
        if request.concurrency is not None:
            found = self._run(backend, model, database, request, request.concurrency)
            return {"tpot_ms": found["tpot"], "ttft_ms": found["ttft"]}
        rates = []
        for batch in BATCHES:
            found = self._run(backend, model, database, request, batch)
            rates.append(found["seq/s"] * request.output_tokens if found else 0.0)
        return {"output_tokens_per_s": max(rates)}

    def _run(self, backend: Any, model: Any, database: Any, request: EstimateRequest, batch: int) -> dict[str, float]:
        runtime = self.config.RuntimeConfig(batch_size=batch, isl=request.input_tokens, osl=request.output_tokens)
        summary = backend.run_agg(model, database, runtime, ctx_tokens=max(8192, batch))
        if summary.check_oom() or summary.check_kv_cache_oom():
            return {}
        result: dict[str, float] = summary.get_result_dict()
        return result

    def _load(self, request: EstimateRequest) -> tuple[Any, Any, Any]:
        names = self.names
        key = (request.model.id, request.gpu.name, request.engine, request.tp, request.pp, request.weights, request.kv_cache)
        if key not in self.loaded:
            system, engine, name = names.SYSTEMS[request.gpu.name], names.ENGINES[request.engine], names.known_model(request.model)
            if name is None:
                raise ValueError("no such model")
            kv = "fp8" if request.kv_cache in ONE_BYTE_KV else "bfloat16"
            experts = {"moe_quant_mode": names.EXPERTS[request.weights], "moe_tp_size": request.tp, "moe_ep_size": 1} if request.model.moe else {}
            from aiconfigurator_core.sdk.config_builders import build_model_config  # type: ignore[import-not-found]

            built = build_model_config(
                **{"moe_tp_size": request.tp, "moe_ep_size": 1, **experts}, tp_size=request.tp, pp_size=request.pp, attention_dp_size=1,
                gemm_quant_mode=names.MATRICES[request.weights], kvcache_quant_mode=kv,
            )  # fmt: skip
            database = self.databases.get_database(system, engine, self.databases.get_latest_database_version(system, engine))
            if database is None:
                raise ValueError("no tables")
            self.loaded[key] = (self.get_backend(engine), self.models.get_model(name, built, engine), database)
        found: tuple[Any, Any, Any] = self.loaded[key]
        return found


def missing() -> str | None:
    if importlib.util.find_spec("aiconfigurator_core") is None:
        return "aiconfigurator-core is not installed beside inferform: pip install 'inferform[silicon]'"
    return None


def compare(rows: list[Row], *, show: bool) -> None:
    peer = Peer()
    errors: dict[str, list[tuple[float, float]]] = {}
    ours_s = peer_s = 0.0
    refused = 0
    for row in rows:
        try:
            start = time.perf_counter()
            theirs = peer.ask(row.request)
            peer_s += time.perf_counter() - start
        except (ValueError, RuntimeError, KeyError, AssertionError, InputError) as err:
            refused += 1
            if show:
                print(f"{row.id} {row.fold}: refused: {str(err)[:100]}")
            continue
        start = time.perf_counter()
        ours = figures(estimate(row.request))
        ours_s += time.perf_counter() - start
        kind = f"{'moe' if row.request.model.moe else 'dense'} {row.request.engine}"
        for key, measured in row.measured.items():
            if not theirs.get(key):
                continue
            pair = (abs(theirs[key] / measured - 1), abs(ours[key] / measured - 1))
            for name in (key, f"{key} {kind}"):
                errors.setdefault(name, []).append(pair)
            if show:
                print(f"{row.id} {row.fold:44} {row.request.weights:6} tp{row.request.tp} {key}: {measured:.1f}, peer {theirs[key]:.1f}, ours {ours[key]:.1f}")
    answered = len(rows) - refused
    print(f"{answered} of {len(rows)} rows answered by both; peer {peer_s:.1f} s, ours {ours_s:.2f} s")
    print(f"{'':44} {'rows':>5}  {'peer median':>11} {'mean':>7}  {'ours median':>11} {'mean':>7}")
    for name, pairs in sorted(errors.items()):
        cells = [(statistics.median(p[i] for p in pairs), statistics.mean(p[i] for p in pairs)) for i in (0, 1)]
        print(f"{name:44} {len(pairs):5}  " + "  ".join(f"{median:>11.1%} {mean:>7.1%}" for median, mean in cells))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--rows", type=int, help="ask no more than so many rows, evenly spread")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    why = missing() or (None if args.cases.exists() else f"{args.cases} is not there; give the measured rows with --cases")
    if why:
        print(f"skipped: {why}")
        return 0
    rows = read_rows(args.cases)
    if args.rows:
        rows = rows[:: max(1, len(rows) // args.rows)]
    compare(rows, show=args.show)
    return 0


if __name__ == "__main__":
    sys.exit(main())
