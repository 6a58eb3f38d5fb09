"""Programs of a stock ttnn under `kprof record --stream`, on kprof's own simulated chip."""

from __future__ import annotations

import collections
import json
import os

import pytest
from test_process import CHIP, IS_FAST, KINDS, REPLAYED, RISCS, Recorded, is_complete, log_rows, recorded_in
from test_process import cache, run, stored_pairs, variables

__all__ = ["cache", "variables"]

pytestmark = pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")

SIMULATED = ("-r", "--simulate", "wormhole_b0")
NOT_STREAMED = {"NCRISC-FW", "TRISC-FW"}
"""Zones for which tt-metal's firmware has no room beside the code that streams."""
STALL = "PROFILER-DRAM-STALL"
DURATION = "DEVICE KERNEL DURATION [ns]"


def in_folder(folder, variables, program, *arguments, options=()) -> Recorded:
    own = {name: value for name, value in variables.items() if name != "TT_METAL_SIMULATOR"}
    own["KPROF_TTNN_COMPUTES"] = "0"
    return recorded_in(folder, own, program, *arguments, options=(*SIMULATED, *options))


def tables(recorded: Recorded) -> dict:
    (capture,) = recorded.output.glob(".logs/*.kprof")
    return json.loads(run([os.environ["KPROF"], "report", str(capture), "--json"], {}).stdout)


def zone_counts(tables: dict) -> dict[str, int]:
    """Numbers of zones by name."""
    counts: dict[str, int] = collections.Counter()
    for zone in tables["zones"]:
        counts[zone["name"]] += zone["count"]
    return {name: count for name, count in counts.items() if name not in NOT_STREAMED | {STALL}}


@pytest.fixture(scope="session")
def both(tmp_path_factory, variables):
    """The same program with lanes in DRAM, and streamed."""
    recorded = []
    for name, options in (("classic", ()), ("streamed", ("--stream", "--read-every", "500us"))):
        folder = tmp_path_factory.mktemp(name)
        own = variables
        if options:
            stores = {"KPROF_CHIP_STORES": str(folder / "stores.csv"), "KPROF_CHIP_STORE_RANGE": "0-4000"}
            own = {**variables, **stores}
        found = in_folder(folder, own, "ops.py", options=options)
        assert found.exit_code == 0, found.said
        recorded.append(found)
    return recorded


def test_streamed_ops_have_the_zones_of_other_ops_and_nothing_is_lost(both):
    classic, streamed = both
    [expected, found] = [tables(recorded) for recorded in both]
    assert zone_counts(found) == zone_counts(expected)
    assert sum(zone_counts(found).values()) > 5_000
    # Launches without a kernel on a core leave no firmware zone there.
    assert [cause for cause, count in found["lost"].items() if count and cause != "validate_off"] == []
    assert found["anomalies"] == 0
    said = [line for line in streamed.said.splitlines() if line.startswith("kprof: ")]
    assert all(line.startswith(("kprof: ttnn 0.81.1", "kprof: recorded")) for line in said), said
    columns = ["OP CODE", "GLOBAL CALL COUNT", "CORE COUNT", "METAL TRACE REPLAY SESSION ID", "INPUT_0_LAYOUT"]
    key = lambda row: [row[title] for title in columns]  # noqa: E731
    assert sorted(map(key, streamed.rows)) == sorted(map(key, classic.rows))
    # Ops that were captured into the trace did not run then.
    ran = [[row for row in recorded.rows if row[DURATION]] for recorded in both]
    assert len(ran[0]) == len(ran[1]) and all(is_complete(row) for row in ran[1])
    # The same kernels on the same simulator: a streamed zone costs less, and clocks of cores agree.
    [before, after] = [sum(int(row[DURATION]) for row in rows) for rows in ran]
    assert before / 2 < after < before * 3 / 2, (before, after)
    if IS_FAST:
        assert len(streamed.rows) == 8 + 10 * len(REPLAYED)


def test_every_streamed_zone_is_a_cell_that_a_risc_has_stored(both):
    classic, streamed = both
    pairs, open_zones, count = stored_pairs(streamed.output / "stores.csv"), {}, 0
    for row in log_rows(streamed):
        if row["type"] not in KINDS:
            continue
        place = row["core_x"], row["core_y"], RISCS[row["RISC processor type"]]
        number, time = int(row["timer_id"]) & 0xFFFF, int(row["time[cycles since reset]"])
        begun = open_zones.setdefault((place, number), [])
        if row["type"] == "ZONE_START":
            begun.append(time)
            continue
        cycles, low = time - begun.pop(), time & 0xFFFF_FFFF
        short = number << 16 | cycles
        is_short = cycles < 1 << 16 and number < 0xFFF0
        assert (*place, short if is_short else 0xFFF0 << 16 | number, low) in pairs, row
        count += 1
    begun = [row["zone name"] for row in log_rows(classic) if row["type"] == "ZONE_START"]
    assert count >= sum(name not in NOT_STREAMED for name in begun) > 500
    assert not any(open_zones.values())


TURNS, TURN_CORES = 3_000, 4


@pytest.mark.parametrize("policy", ["--stream", "--stream=drop"])
def test_a_kernel_with_more_zones_than_a_ring_has_cells_is_read_while_it_runs(tmp_path, variables, policy):
    recorded = in_folder(tmp_path, variables, "long_kernel.py", str(TURNS), options=(policy,))
    assert recorded.exit_code == 0, recorded.said
    found = tables(recorded)
    (turns,) = [zone["count"] for zone in found["zones"] if zone["name"] == "TURN"]
    full = [loss for loss in found["losses"] if loss["cause"] == "ring full"]
    lost = sum(loss["zones"] for loss in full)
    # What a RISC has dropped it counts, and the firmware's zone and the kernel's may be among them.
    assert TURNS * TURN_CORES <= turns + lost <= (TURNS + 2) * TURN_CORES, (turns, found["losses"])
    assert turns > 250 * TURN_CORES
    if policy == "--stream":
        assert (turns, lost) == (TURNS * TURN_CORES, 0)
        assert any(zone["name"] == STALL for zone in found["zones"])
    else:
        assert lost > 0, "a thread does not empty rings as fast as a kernel fills them"
    assert [op["name"] for op in found["ops"]] == ["GenericOpDeviceOperation"]
    assert found["anomalies"] == 0


def test_a_device_that_is_opened_again_is_streamed_again(tmp_path, variables):
    recorded = in_folder(tmp_path, variables, "opens.py", options=("--stream",))
    assert recorded.exit_code == 0, recorded.said
    found = tables(recorded)
    assert [op["name"] for op in found["ops"]] == ["SliceDeviceOperation"] * 3
    assert (found["lost"]["other"], found["anomalies"]) == (0, 0)


def test_a_killed_program_leaves_what_was_read_until_then(tmp_path, variables):
    recorded = in_folder(tmp_path, variables, "ends.py", "SIGKILL", options=("--stream",))
    assert recorded.exit_code == 137, recorded.said
    found = tables(recorded)
    assert [op["name"] for op in found["ops"]][:1] == ["SliceDeviceOperation"], found["ops"]
    assert found["kept"]["zones"] > 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--stream",), "--stream needs kprof's own simulated chip"),
        (("--stream", "--simulate", "/no/libttsim.so"), "--stream needs kprof's own simulated chip"),
        (("--stream", "--profile-dispatch-cores"), "cannot be used with"),
    ],
)
def test_what_cannot_be_streamed_is_refused(tmp_path, variables, options, sentence):
    recorded = recorded_in(tmp_path, variables, "loop.py", "1", options=options)
    assert recorded.exit_code == 2
    assert sentence in recorded.said
