"""Programs of a stock ttnn under `kprof record`, on a simulator that is a chip for real hosts.

Run by a Python that has ttnn and kprof. `KPROF` names the program, `KPROF_TTNN_SIMULATOR` the library
of the simulated chip (`KPROF_TTSIM_WH` will do); `TT_METAL_SLOW_DISPATCH_MODE` counts as always.
"""

from __future__ import annotations

import collections
import csv
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import time

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
    def ops_csv(self) -> pathlib.Path:
        """The report of `-r`, in a folder named by its date."""
        (path,) = self.output.glob("reports/2*/ops_perf_results*.csv")
        return path

    @property
    def rows(self) -> list[dict[str, str]]:
        with self.ops_csv.open(newline="") as file:
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
        words, env=environment, cwd=folder, capture_output=True, text=True, timeout=1800
    )


@pytest.fixture(scope="session")
def variables(cache):
    return {
        "XDG_CACHE_HOME": str(cache),
        "KPROF_TTNN_COMPILER": str(HERE / "compiler" / "riscv-tt-elf-g++"),
        "TT_METAL_SIMULATOR": SIMULATOR,
        "TT_METAL_DISPATCH_TELEMETRY_DISABLE": "1",
    }


def recorded_in(folder, variables, program, *arguments, options=("-r",)) -> Recorded:
    """Runs one of the programs under `kprof record`."""
    words = [os.environ["KPROF"], "record", *options, "-o", str(folder), "--"]
    words += [sys.executable, str(HERE / "programs" / program), *arguments]
    return Recorded(run(words, variables, folder), folder)


@pytest.fixture
def record(tmp_path, variables):
    return lambda *words, **options: recorded_in(tmp_path, variables, *words, **options)


@pytest.fixture(scope="session")
def all_ops(tmp_path_factory, variables):
    """The program with every op of the list, and what the RISCs stored meanwhile."""
    folder = tmp_path_factory.mktemp("all_ops")
    package, home = package_files(), user_files(variables)
    stores = {"KPROF_CHIP_STORES": str(folder / "stores.csv"), "KPROF_CHIP_STORE_RANGE": "0-4000"}
    recorded = recorded_in(folder, {**variables, **stores}, "all_ops.py")
    assert recorded.exit_code == 0, recorded.said
    assert package_files() == package
    assert user_files(variables) == home
    return recorded


@pytest.fixture(scope="session")
def replays(tmp_path_factory, variables):
    """Some ops, and a trace of three that is replayed ten times."""
    recorded = recorded_in(tmp_path_factory.mktemp("replays"), variables, "ops.py")
    assert recorded.exit_code == 0, recorded.said
    return recorded


def is_complete(row: dict[str, str]) -> bool:
    durations = int(row["DEVICE FW DURATION [ns]"]), int(row["DEVICE KERNEL DURATION [ns]"])
    return durations[0] > durations[1] > 0 and int(row["CORE COUNT"]) > 0


def package_files() -> dict[str, tuple[int, int]]:
    folder = pathlib.Path(importlib.util.find_spec("ttnn").origin).parent
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def user_files(variables: dict[str, str]) -> list[str]:
    """Files that tt-metal itself would leave in the user's folders."""
    folders = [pathlib.Path.home() / ".cache" / "tt-metal-cache"]
    if "TT_METAL_CACHE" in os.environ:
        folders.append(pathlib.Path(os.environ["TT_METAL_CACHE"]))
    return sorted(str(path) for folder in folders for path in folder.rglob("*"))


OPS = [
    ("SliceDeviceOperation", "ttnn.slice"),
    ("ConcatDeviceOperation", "ttnn.concat"),
    ("PadDeviceOperation", "ttnn.pad"),
    ("ReshapeViewDeviceOperation", "ttnn.reshape"),
    ("CloneOperation", "ttnn.clone"),
    ("RepeatCodegenDeviceOperation", "ttnn.repeat"),
    # `full` fills the tensor on the host and launches nothing.
    ("CopyDeviceOperation", "ttnn.to_memory_config"),
    ("SliceDeviceOperation", "ttnn.slice"),
    ("ConcatDeviceOperation", "ttnn.concat"),
    ("MatmulDeviceOperation", "ttnn.matmul"),
    ("BinaryNgDeviceOperation", "ttnn.add"),
    ("BinaryNgDeviceOperation", "ttnn.subtract"),
    ("TilizeDeviceOperation", "ttnn.to_layout"),
    ("UntilizeCodegenDeviceOperation", "ttnn.to_layout"),
    ("TransposeDeviceOperation", "ttnn.transpose"),
    ("TransposeDeviceOperation", "ttnn.permute"),
]


def test_every_op_is_a_row_with_its_tensors_and_kernels(all_ops):
    rows = all_ops.rows
    assert [row["OP CODE"] for row in rows] == [code for code, _ in OPS]
    for row, (_, name) in zip(rows, OPS):
        assert row["ATTRIBUTES"].startswith(f"{{'operation': '{name}'"), row["ATTRIBUTES"]
    assert [int(row["GLOBAL CALL COUNT"]) for row in rows] == [1024 * n for n in range(1, len(OPS) + 1)]
    assert all(is_complete(row) for row in rows)
    cores = [int(row["CORE COUNT"]) for row in rows]
    # 32 and 64 rows are distributed over as many cores. Two by two tiles are computed on one core
    # each.
    assert (cores[:2], cores[4], cores[7:10], cores[14:]) == ([32, 64], 64, [2, 8, 4], [4, 4])
    slice_, concat, matmul = rows[0], rows[1], rows[9]
    assert "[1; 1; 32; 64]" in slice_["ATTRIBUTES"]
    assert (slice_["INPUT_0_Y_PAD[LOGICAL]"], slice_["OUTPUT_0_Y_PAD[LOGICAL]"]) == ("64[64]", "32[32]")
    assert (concat["INPUT_1_LAYOUT"], concat["INPUT_1_DATATYPE"]) == ("ROW_MAJOR", "UINT32")
    assert matmul["INPUT_1_MEMORY"] == "DEV_0_DRAM_INTERLEAVED"
    assert matmul["MATH FIDELITY"].startswith("HiFi")
    assert "bmm" in matmul["COMPUTE KERNEL SOURCE"]
    assert "slice_reader" in slice_["DATA MOVEMENT KERNEL SOURCE"]
    assert slice_["COMPUTE KERNEL SOURCE"] == "[]"
    # A kernel has some hundred bytes. The size is empty for a processor without a kernel.
    sizes = [matmul[f"TENSIX {name} MAX KERNEL SIZE [B]"] for name in ("DM 0", "DM 1", "COMPUTE 1")]
    assert all(200 < int(size) < 20_000 for size in sizes), sizes
    assert slice_["TENSIX COMPUTE 1 MAX KERNEL SIZE [B]"] == ""
    # The profiler's own launches are not counted as ops.
    assert "GenericOp" not in all_ops.report
    assert "Anomalies" not in all_ops.report
    assert "Lost: nothing" in all_ops.report


def log_rows(recorded: Recorded) -> list[dict[str, str]]:
    with (recorded.output / ".logs" / "profile_log_device.csv").open(newline="") as file:
        next(file)
        return list(csv.DictReader(file, skipinitialspace=True))


def aiclk_mhz(recorded: Recorded) -> int:
    first = (recorded.output / ".logs" / "profile_log_device.csv").open().readline()
    return int(re.search(r"CHIP_FREQ\[MHz\]: (\d+)", first)[1])


def test_durations_are_those_of_the_records(all_ops):
    """From the first start of a zone to its last end on any core, as tt-metal defines them."""
    times = {}
    for row in log_rows(all_ops):
        kind = row["zone name"].rpartition("-")[2]
        times.setdefault((row["run host ID"], kind), []).append(int(row["time[cycles since reset]"]))
    mhz, count = aiclk_mhz(all_ops), 0
    for row in all_ops.rows:
        for kind, title in (("FW", "DEVICE FW DURATION [ns]"), ("KERNEL", "DEVICE KERNEL DURATION [ns]")):
            found = times[row["GLOBAL CALL COUNT"], kind]
            assert abs((max(found) - min(found)) * 1000 / mhz - int(row[title])) < 1, (row["OP CODE"], kind)
            count += 1
    assert count == 2 * len(OPS)


def test_upstreams_script_shows_the_same_ops(all_ops, replays):
    package = pathlib.Path(importlib.util.find_spec("ttnn").origin).parent
    for recorded in (all_ops, replays):
        folder = recorded.output
        variables = {
            "TT_METAL_HOME": str(folder),
            "TT_METAL_PROFILER_DIR": str(folder),
            "LLK_HOME": str(package / "tt_metal" / "tt-llk"),
        }
        script = package.parent / "tracy" / "process_ops_logs.py"
        done = run([sys.executable, str(script), "-o", str(folder), "-n", "theirs"], variables, folder)
        assert done.returncode == 0, done.stderr
        theirs_path = folder / "reports" / "theirs" / "ops_perf_results_theirs.csv"
        with theirs_path.open(newline="") as file:
            theirs = list(csv.DictReader(file))
        titles = [
            title
            for title in theirs[0]
            # Excluded: tt-metal's program hash replaces the program's number, tt-metal's latencies
            # count the profiler's own launches, and means by core need tt-metal's own perf report.
            if title != "PROGRAM HASH" and not title.startswith("OP TO OP") and "PER CORE" not in title
        ]
        exact = ["ops", str(folder), "--upstream-exact", "-n", "ours", "-o", str(folder)]
        assert run([os.environ["KPROF"], *exact], {}).returncode == 0
        ours_path = folder / "reports" / "ours" / "ops_perf_results_ours.csv"
        with ours_path.open(newline="") as file:
            ours = list(csv.DictReader(file))
        assert len(ours) == len(theirs)
        assert [
            (number, title, our[title], their[title])
            for number, (our, their) in enumerate(zip(ours, theirs))
            for title in titles
            if our[title] != their[title]
        ] == []


def cells(rows: list[dict[str, str]], titles: list[str]) -> list[list[str]]:
    return [[row[title] for title in titles] for row in rows]


def test_tt_perf_report_shows_the_same_ops(all_ops):
    tool = pathlib.Path(os.environ.get("KPROF_REPORTS_PYTHON", sys.executable)).with_name("tt-perf-report")
    tables = []
    for number, words in enumerate(([str(tool), "--no-color"], [os.environ["KPROF"], "perf"])):
        out = all_ops.output / f"perf-{number}.csv"
        done = run([*words, str(all_ops.ops_csv), "--csv", str(out)], {})
        assert done.returncode == 0, done.stderr
        with out.open(newline="") as file:
            tables.append(list(csv.DictReader(file)))
        out.unlink()
    titles = ["ID", "OP Code", "Device Time", "Op-to-Op Gap", "Cores", "FLOPs %", "Math Fidelity"]
    theirs, ours = (cells(table, titles) for table in tables)
    assert ours == theirs
    assert len(ours) == len(OPS)
    # kprof knows the bytes, and so the bound, of more kinds of ops.
    bounds = zip(*(cells(table, ["Bound"]) for table in tables))
    assert all(their == own for their, own in bounds if their != [""])


@pytest.mark.skipif(not IS_FAST, reason="traces need fast dispatch")
def test_replays_of_a_trace_are_told_apart(replays):
    rows = replays.rows
    captured, replayed = rows[5:8], rows[8:]
    assert all(row["METAL TRACE REPLAY SESSION ID"] == "" for row in captured)
    sessions = [(row["OP CODE"], int(row["METAL TRACE REPLAY SESSION ID"])) for row in replayed]
    assert sorted(sessions) == sorted((name, n) for name in REPLAYED for n in range(1, 11))
    assert all(is_complete(row) for row in replayed)
    assert len({row["DEVICE FW START CYCLE"] for row in replayed}) == 30
    assert len({row["HOST START TS"] for row in replayed}) in range(1, 31)


@pytest.mark.parametrize("kind", ["totals", "events"])
def test_waits_of_a_matmul_are_read_and_explained(record, kind):
    recorded = record("waits.py", options=("-r", "--waits", kind))
    assert recorded.exit_code == 0, recorded.said
    report = recorded.report
    # Cores that receive tiles wait at a semaphore for the cores that send them.
    assert re.search(r"NCRISC +SEM_WAIT +semaphore", report), report
    assert re.search(r"BRISC +NOC_READ_BARRIER +NoC", report), report
    assert "Lost: nothing" in report and "Anomalies" not in report
    kprof = os.environ["KPROF"]
    explained = run([kprof, "explain", str(recorded.output)], {}).stdout
    sums = re.search(r"Waits: ([\d,]+) sums, ([\d,]+) single waits, ([\d,]+) signals", explained)
    counts = [int(count.replace(",", "")) for count in sums.groups()]
    assert counts[0] > 500 and (kind == "totals") == (counts[1:] == [0, 0]), counts
    page = recorded.output / "page.html"
    assert run([kprof, "export", str(recorded.output), "-o", str(page)], {}).returncode == 0
    assert "NOC_READ_BARRIER" in page.read_text()


@pytest.mark.parametrize("op_count", [int(os.environ.get("KPROF_TTNN_OP_COUNT", "300"))])
def test_nothing_is_lost_where_lanes_hold_43_programs(record, op_count):
    recorded = record("loop.py", str(op_count), options=("-r", "--op-support-count", "43"))
    rows = recorded.rows
    assert recorded.names == ["CloneOperation"] * op_count
    assert all(is_complete(row) for row in rows)
    # The zones of two data movement kernels on each of 64 cores, and of their firmware.
    assert f"Kept: {256 * op_count:,} zones" in recorded.report
    assert "Anomalies" not in recorded.report


@pytest.mark.parametrize("other", [(), ("without the first core",)])
def test_chips_in_sub_devices_are_read_while_they_are_loaded(record, other):
    recorded = record("sub_devices.py", "120", *other, options=("-r", "--op-support-count", "43"))
    assert recorded.exit_code == 0, recorded.said
    assert "a read failed" not in recorded.said
    rows = recorded.rows
    assert recorded.names == ["GenericOpDeviceOperation"] * 120 + ["CloneOperation"]
    assert all(is_complete(row) for row in rows)
    first_half = 18 if other else 28
    assert [int(row["CORE COUNT"]) for row in rows] == [first_half, 28] * 60 + [64]
    # One zone of the kernel and one zone of the firmware on each core. A clone consists of two
    # kernels.
    zones = 60 * 2 * (first_half + 28) + 4 * 64
    assert f"Kept: {zones:,} zones" in recorded.report
    assert "Anomalies" not in recorded.report


def count_of(line: str, what: str) -> int:
    """The number before a word in a line of the report."""
    found = re.search(rf"([\d,]+) {what}", line)
    return int(found[1].replace(",", "")) if found else 0


def test_what_overflows_unread_is_counted(record):
    recorded = record("unread.py", "120", options=("-r", "--op-support-count", "43"))
    lines = recorded.report.splitlines()
    (kept,) = (line for line in lines if line.startswith("Kept:"))
    (lost,) = (line for line in lines if line.startswith("Lost:"))
    lost_markers = count_of(lost.partition("; left out")[0], "markers of unknown kind")
    kept_markers = 2 * count_of(kept, "zones")
    assert kept_markers > 64 * 43 and lost_markers > 64 * 43
    # Two kernels on each of 64 cores, each with a firmware zone: four zones with two markers each.
    assert kept_markers + lost_markers == 120 * 64 * 8, (kept, lost)


def test_transfers_on_the_noc_are_those_of_a_clone(record):
    """64 rows of 256 bytes are read by NCRISCs and written by BRISCs, once each; banks take turns."""
    recorded = record("loop.py", "2", options=("-r", "--collect-noc-traces"))
    assert recorded.exit_code == 0, recorded.said
    paths = sorted((recorded.output / ".logs").glob("noc_trace_dev0_*.json"))
    assert [path.name.rpartition("_ID")[2] for path in paths] == ["1024.json", "2048.json"]
    for path in paths:
        transfers = [event for event in json.loads(path.read_text()) if "num_bytes" in event]
        for kind, risc in (("READ", "NCRISC"), ("WRITE_", "BRISC")):
            moved = [event for event in transfers if event["type"] == kind]
            assert {event["proc"] for event in moved} == {risc}
            assert len({(event["sx"], event["sy"]) for event in moved}) == 64
            assert [event["num_bytes"] for event in moved] == [256] * 64
            banks = collections.Counter((event["dx"], event["dy"]) for event in moved)
            assert sorted(banks.values()) == bank_rows(64, len(banks))
        assert len(transfers) == 128
    # There are no paths for the profiler's own launches.
    assert len(paths) == 2
    shown = run([os.environ["KPROF"], "noc", str(recorded.output)], {})
    assert "lost" not in shown.stderr, shown.stderr


@pytest.mark.parametrize("lines", [(), ("-l",)])
def test_functions_are_recorded_where_the_program_enables_its_profiler(record, lines):
    recorded = record("zones.py", options=("-p", *lines))
    assert recorded.exit_code == 0, recorded.said
    (capture,) = recorded.output.glob(".logs/*.kprof")
    trace = recorded.output / "trace.json"
    assert run([os.environ["KPROF"], "export", str(capture), "-f", "chrome", "-o", str(trace)], {}).returncode == 0
    events = json.loads(trace.read_text())["traceEvents"]
    names = collections.Counter(event["name"] for event in events if event["ph"] == "X")
    assert (names["PY_FUNC_seen"], names["PY_FUNC_unseen"], names["of_its_own"]) == (2, 0, 1)
    # The loop runs twice in the first call and once in the second. As Python counts, the line of
    # the loop is executed before each turn and after the last one.
    assert names["PY_LINE_seen"] == (3 + 5 if lines else 0)
    functions = {name for name in names if name.startswith("PY_")}
    # No functions of kprof itself are recorded.
    own = ("operation", "_make_room", "_count_launches", "dumps", "helper", "__enter__")
    assert not {name for name in functions if name.partition("_")[2].partition("_")[2] in own}, functions


def bank_rows(row_count: int, bank_count: int) -> list[int]:
    """Rows of each bank where they are dealt out in turn, sorted."""
    return sorted(len(range(bank, row_count, bank_count)) for bank in range(bank_count))


def test_a_version_that_nobody_has_tried_is_told_and_tried(record, variables, tmp_path):
    about = tmp_path / "versions" / "ttnn-0.99.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ttnn\nVersion: 0.99.0\n")
    variables = {**variables, "PYTHONPATH": str(about.parent)}
    # Kernels of another version are compiled again, which takes long.
    is_full = "KPROF_TTNN_FULL" in os.environ
    program = ("loop.py", "1") if is_full else ("ends.py", "without a device")
    recorded = recorded_in(tmp_path, variables, *program)
    assert recorded.exit_code == 0, recorded.said
    assert re.search(r"kprof: ttnn 0\.99\.0 was not tested with kprof, only version 0\.81\.1", recorded.said), recorded.said
    assert recorded.names == ["CloneOperation"] * is_full


COMPILER = HERE / "compiler" / "riscv-tt-elf-g++"


def compiler_that_fails(folder: pathlib.Path) -> pathlib.Path:
    """A compiler to which one kernel is no valid C++ where kprof's header is in use."""
    path = folder / "riscv-tt-elf-g++"
    path.write_text(
        f'''#!/bin/sh
case "$* $(cat kernel_includes.hpp ../kernel_includes.hpp 2>/dev/null)" in
*-DPROFILE_KERNEL=*-c*concat*) echo "k.cpp:7:1: error: a conflict" >&2; exit 1 ;;
esac
exec {COMPILER} "$@"
'''
    )
    path.chmod(0o755)
    return path


@pytest.mark.skipif(
    "KPROF_TTNN_FULL" not in os.environ, reason="compiles everything twice: part of .ci/full"
)
def test_a_kernel_that_conflicts_with_the_header_is_named(record, variables, tmp_path, monkeypatch):
    monkeypatch.setitem(variables, "KPROF_TTNN_COMPILER", str(compiler_that_fails(tmp_path)))
    monkeypatch.setitem(variables, "XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ("without closing the device",)
    failed = recorded_in(tmp_path, variables, "ends.py", *words, options=())
    assert failed.exit_code != 0
    assert re.search(r"does not compile with kprof's header.*a conflict.*--keep-going", failed.said), failed.said
    # The second program finds the kernel compiled, and says the same.
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        kept = recorded_in(tmp_path / folder, variables, "ends.py", *words, options=("--keep-going",))
        assert kept.exit_code == 0, kept.said
        told = re.findall(r"does not compile.*concat.*a conflict; it ran without profiling", kept.said)
        assert len(told) == 1, kept.said
        assert "SliceDeviceOperation" in kept.report
        lost = "Lost: unknown; kernels that do not compile with kprof's header ran without profiling"
        assert lost in kept.report, kept.report


def test_a_program_whose_kernels_do_not_compile_has_recorded_nothing(variables, tmp_path, monkeypatch):
    compiler = tmp_path / "riscv-tt-elf-g++"
    compiler.write_text('#!/bin/sh\necho "k.cpp:7:1: error: no such thing" >&2; exit 1\n')
    compiler.chmod(0o755)
    monkeypatch.setitem(variables, "KPROF_TTNN_COMPILER", str(compiler))
    monkeypatch.setitem(variables, "XDG_CACHE_HOME", str(tmp_path / "cache"))
    failed = recorded_in(tmp_path, variables, "ends.py", "without closing the device", options=("-r",))
    assert failed.exit_code != 0
    assert re.search(r"failed \(exit code \d+\) before any kernel of it ran, so that nothing was profiled", failed.said)
    assert "Lost: nothing" not in failed.said and "kprof: recorded" not in failed.said, failed.said


def test_a_capture_keeps_the_options_with_which_it_was_recorded(variables, tmp_path):
    for waits in ("off", "totals"):
        folder = tmp_path / waits
        folder.mkdir()
        words = ("ends.py", "without closing the device")
        recorded = recorded_in(folder, variables, *words, options=("--waits", waits))
        assert recorded.exit_code == 0, recorded.said
        explained = run([os.environ["KPROF"], "explain", str(recorded.output)], {}).stdout
        assert ("waits were not recorded (--waits off)" in explained) == (waits == "off"), explained


def test_two_programs_at_once_keep_to_themselves(tmp_path, variables):
    kprof, program = os.environ["KPROF"], HERE / "programs" / "loop.py"
    running = []
    for name, count in (("one", "5"), ("two", "9")):
        words = [kprof, "record", "-r", "-n", name, "-o", str(tmp_path / name), "-m", "loop", count]
        environment = {**os.environ, **variables, "PYTHONPATH": str(program.parent)}
        running.append(subprocess.Popen(words, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True))
    for process, name, count in zip(running, ("one", "two"), (5, 9)):
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said
        path = tmp_path / name / "reports" / name / f"ops_perf_results_{name}.csv"
        with path.open(newline="") as file:
            assert [row["OP CODE"] for row in csv.DictReader(file)] == ["CloneOperation"] * count


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
    # Lanes for 1,000 programs need more than a megabyte of each bank.
    found = re.search(r"found (\d+); the largest count that fits is (\d+)", done.stderr)
    assert found, done.stderr
    assert 300_000 < int(found[1]) < 500_000
    assert 43 < int(found[2]) < 1_000
    assert "0 records" in done.stdout


def test_parts_of_a_program_are_profiled_from_code(variables, tmp_path):
    done = run([sys.executable, str(HERE / "programs" / "in_code.py")], variables, tmp_path)
    assert done.returncode == 0, done.stderr
    # A clone runs two kernels on 64 cores. Each kernel has one zone, and its firmware another.
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


def test_every_record_is_what_a_risc_has_stored(all_ops):
    stores = all_ops.output / "stores.csv"
    if not stores.exists():
        pytest.skip("this simulator does not tell what was stored")
    pairs, count = stored_pairs(stores), 0
    for row in log_rows(all_ops):
        time, number = int(row["time[cycles since reset]"]), int(row["timer_id"]) & 0xFFFF
        marker = 1 << 31 | (KINDS[row["type"]] << 16 | number) << 12 | time >> 32 & 0xFFF
        place = row["core_x"], row["core_y"], RISCS[row["RISC processor type"]]
        assert (*place, marker, time & 0xFFFF_FFFF) in pairs, row
        count += 1
    assert count > 1000


CHIP = pathlib.Path(importlib.util.find_spec("kprof").origin).with_name("libkprof_chip.so")


def typed_lines(page: str) -> list[str]:
    """The lines of the first block of a page of the documentation."""
    block = re.search(r"```sh\n(.*?)```", (HERE.parents[1] / "docs" / page).read_text(), re.DOTALL)
    return block[1].strip().splitlines()


@pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")
def test_a_newcomer_types_six_lines_for_a_page(variables, tmp_path):
    lines = typed_lines("ttnn.md")
    assert len(lines) <= 6 and lines[0].startswith("pip install ttnn kprof")
    (tmp_path / "model.py").write_text((HERE / "programs" / "waits.py").read_text())
    (tmp_path / "tensors.py").write_text((HERE / "programs" / "tensors.py").read_text())
    path = f"{pathlib.Path(os.environ['KPROF']).parent}:{os.environ['PATH']}"
    environment = {name: value for name, value in variables.items() if name.startswith(("XDG", "KPROF"))}
    # The packages that pip would install are already installed.
    for line in lines[1:]:
        done = run(["sh", "-c", line], {**environment, "PATH": path}, tmp_path)
        assert done.returncode == 0, (line, done.stdout + done.stderr)
    page = (tmp_path / "report.html").read_text()
    assert "MatmulDeviceOperation" in page
    assert "MatmulDeviceOperation" in run([os.environ["KPROF"], "report", "generated/profiler"], {}, tmp_path).stdout


@pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")
def test_the_simulator_of_the_wheel_leads_to_a_page(variables, tmp_path):
    variables = {name: value for name, value in variables.items() if name != "TT_METAL_SIMULATOR"}
    kprof = os.environ["KPROF"]
    variables = {**variables, "KPROF_TTNN_COMPUTES": "0"}
    words = [kprof, "record", "-r", "--simulate", "blackhole", "-o", str(tmp_path), "--"]
    done = run([*words, sys.executable, str(HERE / "programs" / "ops.py")], variables, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (capture,) = tmp_path.glob(".logs/*.kprof")
    page = tmp_path / "report.html"
    assert run([kprof, "export", str(capture), "-o", str(page)], variables).returncode == 0
    assert "MatmulDeviceOperation" in page.read_text()
    info = run([kprof, "report", str(capture)], variables).stdout
    assert info.startswith("blackhole at 1350 MHz")


@pytest.mark.skipif(not IS_FAST, reason="the host itself waits for launches")
def test_a_program_that_hangs_in_a_call_ends_at_sigterm(tmp_path, variables):
    """As it does without kprof, though kprof handles the signal in order to read the chips."""
    program = str(HERE / "programs" / "hangs.py")
    words = [os.environ["KPROF"], "record", "-o", str(tmp_path), "--", sys.executable, program]
    output = tmp_path / "output"
    with output.open("w") as file:
        process = subprocess.Popen(words, env={**os.environ, **variables}, cwd=tmp_path, stdout=file, stderr=file)
    try:
        while "= hangs" not in output.read_text():
            assert process.poll() is None, output.read_text()
            time.sleep(0.1)
        # Until the call that never returns has begun.
        time.sleep(10)
        # `kprof record` passes it on.
        process.terminate()
        assert process.wait(timeout=300) == 128 + 15, output.read_text()
    finally:
        process.kill()
    said = output.read_text()
    assert "waits in a call that does not return" in said and "device-" in said, said
