"""Cycles by line of the kernels of stock ops, as the simulated chip counts them."""

from __future__ import annotations

import collections
import csv
import os

import pytest
from test_process import IS_FAST, SIMULATOR, cache, recorded_in, run, variables

__all__ = ["cache", "variables"]

KERNEL_ENTRY_CYCLES = 200
"""Most cycles of a kernel's code outside of its zone: its start-up, and the zone's own markers."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, variables):
    """Some ops with counted lines; the library of the simulated chip must be kprof's."""
    options = ("-r", "--simulate", SIMULATOR, "--lines")
    recorded = recorded_in(tmp_path_factory.mktemp("lines"), variables, "ops.py", options=options)
    assert recorded.exit_code == 0, recorded.said
    if not (recorded.output / ".logs" / "kprof_lines.csv").exists():
        assert "only kprof's own simulated chip counts them" in recorded.said
        pytest.skip("the simulator does not count")
    return recorded


def lines(recorded) -> list[dict[str, str]]:
    with (recorded.output / ".logs" / "kprof_lines.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def zone_cycles(recorded) -> tuple[collections.Counter, collections.Counter]:
    """Cycles in the kernel zones of each program and RISC, and the number of these zones."""
    cycles, counts, starts = collections.Counter(), collections.Counter(), {}
    with (recorded.output / ".logs" / "profile_log_device.csv").open(newline="") as file:
        next(file)
        for row in csv.DictReader(file, skipinitialspace=True):
            risc = row["RISC processor type"]
            if not row["zone name"].endswith("-KERNEL"):
                continue
            place = (row["core_x"], row["core_y"], risc)
            time = int(row["time[cycles since reset]"])
            if row["type"] == "ZONE_START":
                starts[place] = time
            else:
                key = (int(row["run host ID"]), risc)
                cycles[key] += time - starts.pop(place)
                counts[key] += 1
    assert not starts
    return cycles, counts


def test_the_code_of_every_kernel_takes_the_cycles_of_its_zone(recorded):
    zones, counts = zone_cycles(recorded)
    found = collections.Counter()
    for row in lines(recorded):
        if row["code"] in ("kernel", "profiler"):
            found[int(row["run_host_id"]), row["risc"]] += int(row["total_cycles"])
    assert set(zones) == set(found)
    for key, cycles in zones.items():
        outside = found[key] - cycles
        assert 0 < outside <= KERNEL_ENTRY_CYCLES * counts[key], (key, cycles, found[key])


def test_every_kernel_has_its_file_and_lines(recorded):
    ops = collections.defaultdict(set)
    without_line = total = 0
    for row in lines(recorded):
        if row["code"] == "firmware":
            continue
        assert row["code"] in ("kernel", "profiler"), row
        assert os.path.isfile(row["elf"]), row
        ops[row["op_name"]].add(row["elf"].split("/kernels/")[1].split("/")[0])
        total += int(row["total_cycles"])
        without_line += 0 if row["line"] else int(row["total_cycles"])
    # Start-up code in assembly has no lines.
    assert without_line <= total / 20, (without_line, total)
    named = {op: names for op, names in ops.items() if op}
    expected = {
        "SliceDeviceOperation": "slice",
        "ConcatDeviceOperation": "concat",
        "MatmulDeviceOperation": "bmm",
        "BinaryNgDeviceOperation": "eltwise_binary",
        "TransposeDeviceOperation": "transpose",
    }
    assert set(named) == set(expected)
    for op, part in expected.items():
        assert any(part in name for name in named[op]), (op, named[op])


def test_waits_are_named_and_what_is_no_op_is_left_out(recorded):
    waits = {row["waits_for"] for row in lines(recorded) if row["op_name"] == "MatmulDeviceOperation"}
    assert "CB_WAIT 0" in waits, waits
    if IS_FAST:
        assert "belong to no op are left out: dispatch kernels" in recorded.said
    shown = run([os.environ["KPROF"], "lines", str(recorded.output), "--op", "Matmul"], {})
    assert shown.returncode == 0, shown.stderr
    assert "CB_WAIT 0" in shown.stdout
