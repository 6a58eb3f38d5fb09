"""Ops of a stock ttnn on a simulated chip without some limits: `kprof record --what-if`."""

from __future__ import annotations

import json
import os

import pytest
from test_meshes import ARCH
from test_process import CHIP, cache, is_complete, recorded_in, run, variables  # noqa: F401

pytestmark = pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")


def test_what_dram_and_the_noc_cost_a_copy_and_a_sum(tmp_path, variables):  # noqa: F811
    recordings = {}
    for name, options in {"base": (), "dram": ("--what-if", "dram=free"), "noc": ("--what-if", "noc=free")}.items():
        folder = tmp_path / name
        folder.mkdir()
        recorded = recorded_in(folder, variables, "grid.py", options=("-r", "--simulate", ARCH, *options))
        assert recorded.exit_code == 0, recorded.said
        assert "= wrong 0" in recorded.said.splitlines(), recorded.said
        assert all(is_complete(row) for row in recorded.rows)
        assert "Lost: nothing" in recorded.report
        recordings[name] = recorded
    limits = {"dram": "DRAM", "noc": "NoC rates"}
    for name, limit in limits.items():
        expected = f"Simulated times leave out L1 banks, and, as requested, {limit}."
        assert expected in recordings[name].report
    without = [word for name in limits for word in ("--without", str(recordings[name].output))]
    kprof, base = os.environ["KPROF"], recordings["base"]
    explained = run([kprof, "explain", str(base.output), *without, "--json"], {})
    assert explained.returncode == 0, explained.stderr
    costs = json.loads(explained.stdout)["limits"]
    assert [cost["limits"] for cost in costs] == [["DRAM"], ["NoC rates"]]
    for name, cost in zip(limits, costs):
        ops = sum(1 for row in base.rows if row["OP TYPE"] == "tt_dnn_device")
        assert cost["launch_count"] == ops == len(recordings[name].rows)
        for key, recorded in {"with_ns": base, "without_ns": recordings[name]}.items():
            # The CSV has whole nanoseconds.
            durations = [int(row["DEVICE KERNEL DURATION [ns]"]) for row in recorded.rows]
            assert cost[key] == pytest.approx(sum(durations), abs=len(durations)), (name, key)
    # A copy moves 64 bytes of each of a few hundred rows, and reads and writes DRAM in turns.
    assert costs[0]["with_ns"] > costs[0]["without_ns"] > 0
