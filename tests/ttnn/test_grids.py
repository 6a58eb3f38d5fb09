"""Simulated chips with the worker cores of a card: `kprof record --simulate CHIP:CORES`."""

from __future__ import annotations

import csv
import os

import pytest
from test_meshes import by_chip
from test_process import CHIP, HERE, IS_FAST, cache, is_complete, record, run, variables  # noqa: F401

pytestmark = pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")

# Columns and rows of the grid of ttnn, and the harvested rows or columns, by chip. TT-Metal's core
# descriptors take the last row of a Wormhole's worker cores to dispatch, and a Blackhole's last column.
# An n300 dispatches from Ethernet cores.
GRIDS = {
    "wormhole_b0": (8, 9, []),
    "wormhole_b0:72": (8, 8, [11]),
    "wormhole_b0:64": (8, 8, [11, 1]),
    "blackhole:130": (12, 10, [1]),
    "blackhole:120": (11, 10, [1, 16]),
    "blackhole:120:7": (11, 10, [1, 16]),
}


def worker_cores(recorded) -> set[tuple[int, int]]:
    """Coordinates of the cores with zones in the device log."""
    (log,) = recorded.output.glob(".logs/profile_log_device.csv")
    with log.open(newline="") as file:
        file.readline()
        rows = csv.DictReader(file, skipinitialspace=True)
        return {(int(row["core_x"]), int(row["core_y"])) for row in rows if "FW" in row["zone name"]}


@pytest.mark.parametrize("chip", GRIDS)
def test_ops_spread_over_the_cores_that_a_card_has(record, chip):
    columns, rows, harvested = GRIDS[chip]
    recorded = record("grid.py", options=("-r", "--simulate", chip))
    assert recorded.exit_code == 0, recorded.said
    said = [line for line in recorded.said.splitlines() if line.startswith("= ")]
    banks = 12 if chip.startswith("wormhole") else 7 if chip.endswith(":7") else 8
    assert said == [f"= grid {columns} {rows}", f"= banks {banks}", "= wrong 0"], recorded.said
    cores = {row["OP CODE"]: row["CORE COUNT"] for row in recorded.rows}
    assert cores["CloneOperation"] == cores["BinaryNgDeviceOperation"] == str(columns * rows), cores
    assert all(is_complete(row) for row in recorded.rows)
    assert "Lost: nothing" in recorded.report
    found = worker_cores(recorded)
    line = 1 if chip.startswith("wormhole") else 0
    assert len(found) == columns * rows, sorted(found)
    assert not {core[line] for core in found} & set(harvested), sorted(found)


def test_two_chips_with_the_cores_of_a_card_have_their_own_ops(record):
    recorded = record("two_devices.py", "devices", options=("-r", "--simulate", "wormhole_b0:64*2"))
    assert recorded.exit_code == 0, recorded.said
    assert by_chip(recorded) == {"0": ["CloneOperation"] * 3, "1": ["SliceDeviceOperation"] * 2}
    assert "Lost: nothing" in recorded.report


@pytest.mark.skipif(not IS_FAST, reason="streams need fast dispatch")
def test_records_of_a_cards_cores_are_streamed(record):
    recorded = record("grid.py", options=("-r", "--stream", "--simulate", "wormhole_b0:64"))
    assert recorded.exit_code == 0, recorded.said
    cores = {row["OP CODE"]: row["CORE COUNT"] for row in recorded.rows}
    assert cores["CloneOperation"] == cores["BinaryNgDeviceOperation"] == "64", cores
    assert "Lost: nothing" in recorded.report


@pytest.mark.parametrize(
    ("chip", "refusal"),
    [
        ("wormhole_b0:56", "wormhole_b0 comes with 64, 72 or 80 worker cores, not with 56"),
        (
            "wormhole_b0:8x7",
            "expected a number of worker cores after wormhole_b0: (64, 72, 80), found `8x7`; it includes those "
            "from which ttnn dispatches",
        ),
        ("blackhole:130:7", "expected a number of DRAM channels after blackhole:130: (8), found `7`"),
    ],
)
def test_a_grid_that_no_card_has_is_refused_in_a_sentence(tmp_path, chip, refusal):
    done = run([os.environ["KPROF"], "record", "--simulate", chip, "-o", str(tmp_path), "--", "true"], {}, HERE)
    assert done.returncode == 2, done.stdout + done.stderr
    assert refusal in done.stderr, done.stderr
