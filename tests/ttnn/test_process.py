"""Programs of a stock ttnn under `kprof record`, on a simulator that is a chip for real hosts.

Run by a Python that has ttnn and kprof. `KPROF` names the program, `KPROF_TTNN_SIMULATOR` the library
of the simulated chip (`KPROF_TTSIM_WH` will do); `TT_METAL_SLOW_DISPATCH_MODE` counts as always.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
SIMULATOR = os.environ.get("KPROF_TTNN_SIMULATOR") or os.environ.get("KPROF_TTSIM_WH")
MISSING = [
    name
    for name, is_there in (
        ("the package ttnn", importlib.util.find_spec("ttnn") is not None),
        ("the package kprof", importlib.util.find_spec("kprof") is not None),
        ("the program's name in KPROF", "KPROF" in os.environ),
        ("a simulator in KPROF_TTNN_SIMULATOR", SIMULATOR is not None),
    )
    if not is_there
]
if MISSING:
    message = f"no stock ttnn to test: expected {', '.join(MISSING)}"
    assert os.environ.get("CI") != "true", message
    pytest.skip(message, allow_module_level=True)

IS_FAST = "TT_METAL_SLOW_DISPATCH_MODE" not in os.environ
REPLAYED = ["MatmulDeviceOperation", "BinaryNgDeviceOperation", "TransposeDeviceOperation"]


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Folder of what is compiled, for all tests of a run."""
    return os.environ.get("XDG_CACHE_HOME") or tmp_path_factory.mktemp("cache")


class Recorded:
    """What a program under `kprof record` left."""

    def __init__(self, done: subprocess.CompletedProcess, output: pathlib.Path) -> None:
        self.exit_code = done.returncode
        self.said = done.stdout + done.stderr
        self.output = output

    @property
    def rows(self) -> list[dict[str, str]]:
        (path,) = self.output.glob("reports/**/ops_perf_results*.csv")
        with path.open(newline="") as file:
            return list(csv.DictReader(file))

    @property
    def names(self) -> list[str]:
        return [row["OP CODE"] for row in self.rows]

    @property
    def report(self) -> str:
        (capture,) = self.output.glob(".logs/*.kprof")
        return run([os.environ["KPROF"], "report", str(capture)], {}).stdout


def run(words: list[str], variables: dict[str, str], folder: pathlib.Path = HERE):
    environment = {**os.environ, **variables}
    return subprocess.run(
        words, env=environment, cwd=folder, capture_output=True, text=True, timeout=600
    )


@pytest.fixture
def variables(cache):
    return {
        "XDG_CACHE_HOME": str(cache),
        "KPROF_TTNN_COMPILER": str(HERE / "compiler" / "riscv-tt-elf-g++"),
        "TT_METAL_SIMULATOR": SIMULATOR,
        "TT_METAL_DISPATCH_TELEMETRY_DISABLE": "1",
    }


@pytest.fixture
def record(tmp_path, variables):
    """Runs one of the programs under `kprof record`."""

    def recorded(program: str, *arguments: str, options: tuple[str, ...] = ("-r",)) -> Recorded:
        words = [os.environ["KPROF"], "record", *options, "-o", str(tmp_path), "--"]
        words += [sys.executable, str(HERE / "programs" / program), *arguments]
        return Recorded(run(words, variables, tmp_path), tmp_path)

    return recorded


def is_complete(row: dict[str, str]) -> bool:
    durations = int(row["DEVICE FW DURATION [ns]"]), int(row["DEVICE KERNEL DURATION [ns]"])
    return durations[0] > durations[1] > 0 and int(row["CORE COUNT"]) > 0


def package_files() -> dict[str, tuple[int, int]]:
    folder = pathlib.Path(importlib.util.find_spec("ttnn").origin).parent
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def test_every_op_is_a_row_with_its_tensors_and_kernels(record):
    before = package_files()
    recorded = record("ops.py")
    assert recorded.exit_code == 0, recorded.said
    rows = recorded.rows
    eager = rows[:5]
    assert [row["OP CODE"] for row in eager] == ["SliceDeviceOperation", "ConcatDeviceOperation", *REPLAYED]
    assert [int(row["GLOBAL CALL COUNT"]) for row in eager] == [1024 * n for n in range(1, 6)]
    assert all(is_complete(row) for row in eager)
    # 32 and 64 rows are dealt out, two by two tiles are computed on a core each.
    assert [row["CORE COUNT"] for row in eager[:3]] == ["32", "64", "4"]
    slice_, concat, matmul = eager[:3]
    assert slice_["ATTRIBUTES"].startswith("{'operation': 'ttnn.slice'")
    assert "[1; 1; 32; 64]" in slice_["ATTRIBUTES"]
    assert (slice_["INPUT_0_Y_PAD[LOGICAL]"], slice_["OUTPUT_0_Y_PAD[LOGICAL]"]) == ("64[64]", "32[32]")
    assert (concat["INPUT_1_LAYOUT"], concat["INPUT_1_DATATYPE"]) == ("ROW_MAJOR", "UINT32")
    assert matmul["INPUT_1_MEMORY"] == "DEV_0_DRAM_INTERLEAVED"
    assert matmul["MATH FIDELITY"].startswith("HiFi")
    assert "bmm" in matmul["COMPUTE KERNEL SOURCE"]
    assert "slice_reader" in slice_["DATA MOVEMENT KERNEL SOURCE"]
    assert slice_["COMPUTE KERNEL SOURCE"] == "[]"
    assert package_files() == before
    # Launches of the profiler itself are no ops.
    assert "GenericOp" not in recorded.report
    assert "Anomalies" not in recorded.report


@pytest.mark.skipif(not IS_FAST, reason="traces need fast dispatch")
def test_replays_of_a_trace_are_told_apart(record):
    rows = record("ops.py").rows
    captured, replayed = rows[5:8], rows[8:]
    assert all(row["METAL TRACE REPLAY SESSION ID"] == "" for row in captured)
    replays = [(row["OP CODE"], int(row["METAL TRACE REPLAY SESSION ID"])) for row in replayed]
    assert sorted(replays) == sorted((name, n) for name in REPLAYED for n in range(1, 11))
    assert all(is_complete(row) for row in replayed)
    assert len({row["DEVICE FW START CYCLE"] for row in replayed}) == 30
    assert len({row["HOST START TS"] for row in replayed}) in range(1, 31)


def test_nothing_is_lost_where_lanes_hold_43_programs(record):
    recorded = record("loop.py", "300", options=("-r", "--op-support-count", "43"))
    rows = recorded.rows
    assert recorded.names == ["CloneOperation"] * 300
    assert all(is_complete(row) for row in rows)
    # Each of the two data movement kernels on 64 cores, and its firmware.
    assert re.search(r"Kept: 76,800 zones", recorded.report)
    assert "Anomalies" not in recorded.report


@pytest.mark.parametrize(
    ("how", "exit_code", "op_count"),
    [
        ("without closing the device", 0, 2),
        ("in an exception", 1, 2),
        ("SIGTERM", 143, 2),
        ("SIGINT", 130, 2),
        ("SIGKILL", 137, 1),
    ],
)
def test_a_program_that_ends_early_keeps_what_ran(record, how, exit_code, op_count):
    recorded = record("ends.py", how)
    assert recorded.exit_code == exit_code, recorded.said
    names = ["SliceDeviceOperation", "ConcatDeviceOperation"][:op_count]
    assert [name for name in names if name in recorded.report] == names
    assert recorded.report.count("ConcatDeviceOperation") == op_count - 1


def test_a_program_that_opens_no_device_is_told_so(record):
    recorded = record("ends.py", "without a device", options=())
    sentence = "kprof: the program has opened no device, so that nothing was profiled"
    assert sentence in recorded.said
    assert "Traceback" not in recorded.said


def test_a_device_may_be_opened_again_and_again(record):
    assert record("opens.py").names == ["SliceDeviceOperation"] * 3


def test_too_little_memory_names_the_largest_count(variables, tmp_path):
    done = run([sys.executable, str(HERE / "programs" / "full_memory.py")], variables, tmp_path)
    assert done.returncode == 0, done.stderr
    # Lanes of 1,000 programs need more than a megabyte of each bank.
    found = re.search(r"found (\d+); the largest count that fits is (\d+)", done.stderr)
    assert found, done.stderr
    assert 300_000 < int(found[1]) < 500_000
    assert 43 < int(found[2]) < 1_000
    assert "0 records" in done.stdout


def test_parts_of_a_program_are_profiled_from_code(variables, tmp_path):
    done = run([sys.executable, str(HERE / "programs" / "in_code.py")], variables, tmp_path)
    assert done.returncode == 0, done.stderr
    # A clone runs two kernels on 64 cores; each leaves a zone of its own and one of firmware.
    assert "2 ops, 1024 records" in done.stdout
    assert "1 ops, 512 records" in done.stdout


RISCS = {"BRISC": 0, "NCRISC": 1, "TRISC_0": 2, "TRISC_1": 3, "TRISC_2": 4}
KINDS = {"ZONE_START": 0, "ZONE_END": 1}


def stored_pairs(path: pathlib.Path) -> set[tuple[str, str, int, int, int]]:
    """Words that a RISC had side by side in L1, as the simulator saw them stored."""
    pairs, held = set(), {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            place = row["x"], row["y"], int(row["risc"])
            address, word = int(row["address"]), int(row["value"])
            words = held.setdefault(place, {})
            words[address] = word
            if address - 4 in words:
                pairs.add((*place, words[address - 4], word))
            if address + 4 in words:
                pairs.add((*place, word, words[address + 4]))
    return pairs


def test_every_record_is_what_a_risc_has_stored(record, variables, tmp_path):
    stores = tmp_path / "stores.csv"
    variables["KPROF_CHIP_STORES"] = str(stores)
    variables["KPROF_CHIP_STORE_RANGE"] = "0-4000"
    # Its last lines fail where compute kernels compute nothing; the records count all the same.
    record("ops.py")
    if not stores.exists():
        pytest.skip("this simulator does not tell what was stored")
    pairs, count = stored_pairs(stores), 0
    with (tmp_path / ".logs" / "profile_log_device.csv").open(newline="") as file:
        next(file)
        for row in csv.DictReader(file, skipinitialspace=True):
            time, number = int(row["time[cycles since reset]"]), int(row["timer_id"]) & 0xFFFF
            marker = 1 << 31 | (KINDS[row["type"]] << 16 | number) << 12 | time >> 32 & 0xFFF
            place = row["core_x"], row["core_y"], RISCS[row["RISC processor type"]]
            assert (*place, marker, time & 0xFFFF_FFFF) in pairs, row
            count += 1
    assert count > 1000


CHIP = pathlib.Path(importlib.util.find_spec("kprof").origin).with_name("libkprof_chip.so")


@pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")
def test_the_simulator_of_the_wheel_leads_to_a_page(variables, tmp_path):
    del variables["TT_METAL_SIMULATOR"]
    kprof = os.environ["KPROF"]
    words = [kprof, "record", "-r", "--simulate", "blackhole", "-o", str(tmp_path), "--"]
    done = run([*words, sys.executable, str(HERE / "programs" / "ops.py")], variables, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (capture,) = tmp_path.glob(".logs/*.kprof")
    page = tmp_path / "report.html"
    assert run([kprof, "export", str(capture), "-o", str(page)], variables).returncode == 0
    assert "MatmulDeviceOperation" in page.read_text()
    info = run([kprof, "report", str(capture)], variables).stdout
    assert info.startswith("blackhole at 1350 MHz")
