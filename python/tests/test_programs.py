"""Figures of the programs of the latest read and of all reads."""

import csv
from pathlib import Path

import kprof
import polars
import pytest


def read_all(mesh: kprof.SimulatedMesh) -> tuple[list[dict], dict, kprof.Recording]:
    reader = kprof.MeshReader(mesh)
    assert reader.latest_programs_perf_data() == reader.all_programs_perf_data() == {}
    latest, has_more = [], True
    while has_more:
        has_more = reader.read()
        latest.append(reader.latest_programs_perf_data())
    every = reader.all_programs_perf_data()
    return latest, every, reader.finish()


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_programs_are_those_of_the_device_perf_report(tmp_path: Path, arch: str) -> None:
    """Compares every value with the report of the whole run, which other code writes."""
    latest, every, recording = read_all(kprof.SimulatedMesh("matmul", arch=arch, chips=2, ops=5))
    assert latest == [every] and sorted(every) == [0, 1]
    recording.export(tmp_path / "cpp_device_perf_report.csv")
    with open(tmp_path / "cpp_device_perf_report.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [program for chip in (0, 1) for program in every[chip]]
    assert len(rows) == len(found) == 10
    compared = 0
    for row, program in zip(rows, found):
        assert int(row["GLOBAL CALL COUNT"]) == program["runtime_id"]
        assert int(row["CORE COUNT"]) == program["core_count"]
        assert program["trace_id"] is None and program["trace_id_counter"] is None
        for title, cell in row.items():
            if title.endswith("[ns]") and ("DURATION" in title or "FIRST TO LAST" in title):
                result = program["results"].get(title)
                # The whole run has more exact clocks of tiles: they are also measured at its end.
                if result is None or not cell:
                    assert result is None and not cell, title
                else:
                    assert abs(int(cell) - result["duration_ns"]) <= 60, title
                    compared += 1
    assert compared >= 10 * 9


def test_each_read_has_its_own_programs(tmp_path: Path) -> None:
    mesh = kprof.SimulatedMesh("multi-op", ops=3)
    latest, every, recording = read_all(mesh)
    ops = polars.DataFrame(recording.ops)
    assert len(latest) == 2
    ids = [[program["runtime_id"] for program in read[0]] for read in latest]
    assert ids[0] + ids[1] == ops["run_host_id"].to_list()
    assert [program["runtime_id"] for program in every[0]] == ids[0] + ids[1]
    assert every[0] == latest[0][0] + latest[1][0]
    kernels = [program["results"]["DEVICE KERNEL DURATION [ns]"] for program in every[0]]
    # A cycle is a nanosecond at 1000 MHz.
    for kernel, op in zip(kernels, ops.to_dicts()):
        assert kernel["duration_ns"] == kernel["end_cycle"] - kernel["start_cycle"]
        assert abs(kernel["duration_ns"] - op["kernel_ns"]) <= 60


def test_a_reader_that_is_finished_is_refused() -> None:
    mesh = kprof.SimulatedMesh("matmul", ops=1)
    reader = kprof.MeshReader(mesh)
    reader.finish()
    for call in (reader.read, reader.finish):
        with pytest.raises(ValueError, match="found a finished one"):
            call()
