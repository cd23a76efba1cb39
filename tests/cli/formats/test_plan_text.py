"""The report of a plan names what a person decides on, in 100 columns."""

from __future__ import annotations

from inferform.cli.formats.plan_text import plan_text
from inferform.plan import DeploymentPlan
from samples import plan_data, sample_plan


def test_the_report_fits_100_columns() -> None:
    """The widest sample (multi-node, EFA, long names) keeps to the width."""
    assert 100 >= max(len(line) for line in plan_text(sample_plan()).splitlines())


def test_the_report_names_hardware_counts_speed_and_money() -> None:
    """Instance, GPU, degrees, counts, latencies, purchase and cost of the 405B model are there."""
    text = plan_text(sample_plan())
    row = next(line for line in text.splitlines() if "8 x H100-80GB-SXM5   8   2" in line)
    assert ["p5.48xlarge", "2-2-4", "1-1-2", "480", "25.0", "4.20"] == [w for w in row.split() if w in ("p5.48xlarge", "2-2-4", "1-1-2", "480", "25.0", "4.20")]
    assert "bought 1-2-2 on-demand at $0.98 an hour (2026-07-20), 0-1-4 spot at $0.41 an hour (2026-07-20)" in " ".join(text.split())
    assert "$120.00 an hour, $87,600 a month of 730 hours (budget $12,000)" in text
    assert "P on-demand: 1,152 vCPUs" in text


def test_reasons_and_warnings_are_shown_and_long_lists_cut() -> None:
    """Why, the first six that were not chosen with the count of the rest, and every warning."""
    data = plan_data()
    data["warnings"] = ["spot alone carries the burst"]
    data["models"]["llama-70b"]["rejected"] = [{"candidate": f"candidate {n}", "reason": "too dear"} for n in range(9)]
    text = plan_text(DeploymentPlan.model_validate(data))
    assert "- fp8: H100 computes it natively" in text
    assert "- candidate 5: too dear" in text
    assert "candidate 6" not in text
    assert "and 3 more; --format json lists them all" in text
    assert "Warnings\n  - spot alone carries the burst" in text


def test_cold_starts_are_told_by_node() -> None:
    """A new node and one that has both, each step, the way of the weights and why; without figures of ways the pod's own start."""
    data = plan_data()
    path = {
        "kind": "disk",
        "bandwidth_bytes_per_s": 2.5e9,
        "image_s": 216.0,
        "download_s": 28.8,
        "load_s": 12.0,
        "warmup_s": 60.0,
        "overlap_s": 28.8,
        "ready_s": 288.0,
    }
    data["models"]["llama-70b"]["load"] |= {"image_s": 216.0, "ready_s": 288.0, "warm_s": 72.0, "paths": [path], "why": "the fastest of what is there"}
    text = plan_text(DeploymentPlan.model_validate(data))
    assert "  a new node answers in 288 s: image 216 s (download 29 s meanwhile), load 12 s, warm up 60 s\n" in text
    assert "  one that has image and weights answers in 72 s; weights come from the bucket by local disks\n" in text
    assert "- weights from the bucket by local disks: the fastest of what is there" in text
    assert "  ready in 101 s: download 29 s, load 12 s, warm up 60 s" in text
