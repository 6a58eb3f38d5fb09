"""Programs of a stock ttnn under `kprof record --stream`: on kprof's own simulated chip, on a library that
kprof's own one forwards to, and on ttsim where `KPROF_TTSIM_WH` and `KPROF_TTSIM_BH` name its libraries.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
from test_process import CHIP, HERE, IS_FAST, KINDS, REPLAYED, RISCS, SIMULATOR, Recorded, is_complete, log_rows
from test_process import recorded_in
from test_process import cache, run, stored_pairs, variables

__all__ = ["cache", "variables"]

pytestmark = pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")

NOT_STREAMED = {"NCRISC-FW", "TRISC-FW"}
"""Zones for which tt-metal's firmware has no room beside the code that streams."""
STALL = "PROFILER-DRAM-STALL"
DURATION = "DEVICE KERNEL DURATION [ns]"


def in_folder(folder, variables, program, *arguments, options=(), chip="wormhole_b0") -> Recorded:
    own = {name: value for name, value in variables.items() if name != "TT_METAL_SIMULATOR"}
    own.setdefault("KPROF_TTNN_COMPUTES", "0")
    return recorded_in(folder, own, program, *arguments, options=("-r", "--simulate", chip, *options))


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


def assert_same_ops_and_zones(classic: Recorded, streamed: Recorded) -> None:
    """Compares a run whose records were streamed with one whose records were pushed into DRAM."""
    [expected, found] = [tables(recorded) for recorded in (classic, streamed)]
    assert zone_counts(found) == zone_counts(expected)
    assert sum(zone_counts(found).values()) > 5_000
    # A core without a kernel records no firmware zone in a launch.
    assert [cause for cause, count in found["lost"].items() if count and cause not in ("validate_off", "omitted_records")] == []
    assert found["anomalies"] == 0
    said = [line for line in streamed.said.splitlines() if line.startswith("kprof: ")]
    assert all(line.startswith(("kprof: ttnn 0.81.1", "kprof: recorded")) for line in said), said
    columns = ["OP CODE", "GLOBAL CALL COUNT", "CORE COUNT", "METAL TRACE REPLAY SESSION ID", "INPUT_0_LAYOUT"]
    key = lambda row: [row[title] for title in columns]  # noqa: E731
    assert sorted(map(key, streamed.rows)) == sorted(map(key, classic.rows))


def test_streamed_ops_have_the_zones_of_other_ops_and_nothing_is_lost(both):
    classic, streamed = both
    assert_same_ops_and_zones(*both)
    # Ops that were captured into the trace did not run at that time.
    ran = [[row for row in recorded.rows if row[DURATION]] for recorded in both]
    assert len(ran[0]) == len(ran[1]) and all(is_complete(row) for row in ran[1])
    # Both runs use the same kernels and the same simulator. Durations differ, because a streamed
    # zone costs less and the clocks of cores agree.
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
    # A RISC counts the zones that it drops, which may include the zones of firmware and kernel.
    assert TURNS * TURN_CORES <= turns + lost <= (TURNS + 2) * TURN_CORES, (turns, found["losses"])
    assert turns > 250 * TURN_CORES
    if policy == "--stream":
        assert (turns, lost) == (TURNS * TURN_CORES, 0)
        assert any(zone["name"] == STALL for zone in found["zones"])
    else:
        assert lost > 0, "a thread does not empty rings as fast as a kernel fills them"
    assert [op["name"] for op in found["ops"]] == ["GenericOpDeviceOperation"]
    assert found["anomalies"] == 0


def capture_tool() -> str:
    """The capture tool of the PyPI package `iree-base-runtime`."""
    tool = os.environ.get("KPROF_TRACY_CAPTURE") or shutil.which("iree-tracy-capture")
    if tool is None:
        message = "no iree-tracy-capture: install iree-base-runtime, or name it in KPROF_TRACY_CAPTURE"
        assert os.environ.get("CI") != "true", message
        pytest.skip(message)
    return tool


def test_a_tracy_capture_tool_receives_every_zone_while_the_program_runs(tmp_path, variables):
    tool, turns = capture_tool(), 1_000
    own = {name: value for name, value in variables.items() if name != "TT_METAL_SIMULATOR"}
    options = ["--stream", "--tracy=127.0.0.1:0", "--tracy-wait", "--tracy-drop-after", "20"]
    words = [os.environ["KPROF"], "record", "--simulate", "wormhole_b0", *options, "-o", str(tmp_path), "--"]
    words += [sys.executable, str(HERE / "programs" / "long_kernel.py"), str(turns)]
    environment = {**os.environ, **own}
    program = subprocess.Popen(
        words, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    said = []
    for line in program.stderr:
        said.append(line)
        if line.startswith("kprof: waiting for Tracy viewers on 127.0.0.1:"):
            break
    assert said[-1].startswith("kprof: waiting for Tracy viewers on"), said
    file, port = tmp_path / "live.tracy", said[-1].strip().rpartition(":")[2]
    done = run([tool, "-f", "-a", "127.0.0.1", "-p", port, "-o", str(file)], {}, tmp_path)
    said += program.stderr.readlines()
    assert program.wait(timeout=600) == 0, said
    assert done.returncode == 0 and file.stat().st_size > 1_000, done.stdout + done.stderr
    found = tables(Recorded(subprocess.CompletedProcess(words, 0, "", ""), tmp_path))
    assert sum(zone["count"] for zone in found["zones"] if zone["name"] == "TURN") == turns * TURN_CORES
    # Every lane of the chip streams, so viewers receive all zones of the recording.
    (sent,) = [line for line in said if "received all kept data: " in line]
    zones, lanes = re.search(r": (\d+) zones on (\d+) lanes$", sent.strip()).groups()
    assert int(zones) == sum(zone["count"] for zone in found["zones"]) == found["kept"]["zones"]
    assert int(lanes) >= TURN_CORES


@pytest.mark.parametrize("chip", ["wormhole_b0", SIMULATOR], ids=["own", "forwarded"])
def test_a_device_that_is_opened_again_is_streamed_again(tmp_path, variables, chip):
    recorded = in_folder(tmp_path, variables, "opens.py", options=("--stream",), chip=chip)
    assert recorded.exit_code == 0, recorded.said
    found = tables(recorded)
    assert [op["name"] for op in found["ops"]] == ["SliceDeviceOperation"] * 3
    assert (found["lost"]["other"], found["anomalies"]) == (0, 0)


def test_a_killed_program_leaves_what_was_read_until_then(tmp_path, variables):
    # The path of a socket has at most 107 bytes.
    with tempfile.TemporaryDirectory() as sockets:
        own = {**variables, "TMPDIR": sockets}
        recorded = in_folder(tmp_path, own, "ends.py", "SIGKILL", options=("--stream",))
        assert list(pathlib.Path(sockets).glob("kprof-chip-*")) == []
    assert recorded.exit_code == 137, recorded.said
    found = tables(recorded)
    assert [op["name"] for op in found["ops"]][:1] == ["SliceDeviceOperation"], found["ops"]
    assert found["kept"]["zones"] > 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--stream",), "expected --simulate with --stream, because this kprof was built without access"),
        (("--stream", "--simulate", "/no/libttsim.so"), "expected the simulator's library as /no/libttsim.so"),
        (("--stream", "--profile-dispatch-cores"), "cannot be used with"),
    ],
)
def test_what_cannot_be_streamed_is_refused(tmp_path, variables, options, sentence):
    recorded = recorded_in(tmp_path, variables, "loop.py", "1", options=options)
    assert recorded.exit_code == 2
    assert sentence in recorded.said


@pytest.fixture(scope="session", params=[("wormhole_b0", "KPROF_TTSIM_WH"), ("blackhole", "KPROF_TTSIM_BH")])
def ttsim(request) -> str:
    """The value of `--simulate` for a library of ttsim."""
    kind, variable = request.param
    if variable not in os.environ:
        pytest.skip(f"no ttsim to test: expected its library in {variable}")
    return f"{kind}={os.environ[variable]}"


def test_ops_on_ttsim_have_the_same_zones_and_results_if_they_are_streamed(tmp_path, variables, ttsim):
    computes = {**variables, "KPROF_TTNN_COMPUTES": "1"}
    recorded = []
    for name, options in (("classic", ()), ("streamed", ("--stream",))):
        (tmp_path / name).mkdir()
        found = in_folder(tmp_path / name, computes, "ops.py", options=options, chip=ttsim)
        assert found.exit_code == 0, found.said
        recorded.append(found)
    assert_same_ops_and_zones(*recorded)


def test_a_kernel_on_ttsim_with_more_zones_than_a_ring_has_cells_loses_none(tmp_path, variables, ttsim):
    recorded = in_folder(tmp_path, variables, "long_kernel.py", str(TURNS), options=("--stream",), chip=ttsim)
    assert recorded.exit_code == 0, recorded.said
    found = tables(recorded)
    (turns,) = [zone["count"] for zone in found["zones"] if zone["name"] == "TURN"]
    assert turns == TURNS * TURN_CORES
    assert [loss for loss in found["losses"] if loss["cause"] == "ring full"] == []
    assert found["anomalies"] == 0
