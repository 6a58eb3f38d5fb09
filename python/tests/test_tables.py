"""Tables of recordings, compared with the program `kprof` and with rows written by hand."""

import csv
import json
import os
import subprocess
import typing
from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.compute
import pyarrow.csv
import pytest

import kprof

LOG = """ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
0,1,2,BRISC,7,100,0,1024,,,BRISC-FW,ZONE_START,10,fw.cc,
0,1,2,BRISC,8,110,0,1024,,,BRISC-KERNEL,ZONE_START,20,fw.cc,
0,1,2,BRISC,9,120,77,1024,,,VALUE,TS_DATA,30,k.cc,
0,1,2,BRISC,8,150,0,1024,,,BRISC-KERNEL,ZONE_END,20,fw.cc,
0,1,2,BRISC,7,160,0,1024,,,BRISC-FW,ZONE_END,10,fw.cc,
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "profile_log_device.csv"
    path.write_text(LOG)
    return path


@pytest.fixture(scope="module")
def matmul() -> kprof.Recording:
    return kprof.read_device_profiler(kprof.SimulatedMesh("matmul", seed=5, ops=6))


def test_records_of_a_log_are_its_rows(log: Path) -> None:
    rows = polars.DataFrame(kprof.open(log).records).to_dicts()
    kinds = ["ZONE_START", "ZONE_START", "TS_DATA", "ZONE_END", "ZONE_END"]
    names = ["BRISC-FW", "BRISC-KERNEL", "VALUE", "BRISC-KERNEL", "BRISC-FW"]
    assert [row["kind"] for row in rows] == kinds
    assert [row["zone"] for row in rows] == names
    assert [row["cycle"] for row in rows] == [100, 110, 120, 150, 160]
    assert [row["value"] for row in rows] == [None, None, 77, None, None]
    assert {(row["chip_id"], row["core_x"], row["core_y"], row["risc"]) for row in rows} == {
        (0, 1, 2, "BRISC")
    }
    assert {row["run_host_id"] for row in rows} == {1024}


def test_zones_and_ops_have_durations(log: Path) -> None:
    recording = kprof.open(log)
    zones = pyarrow.table(recording.zones).to_pylist()
    found = {
        (row["name"], row["duration_cycles"], row["depth"], row["has_synthetic_end"]) for row in zones
    }
    assert found == {("BRISC-FW", 60, 0, False), ("BRISC-KERNEL", 40, 1, False)}
    (op,) = pyarrow.table(recording.ops).to_pylist()
    # 500 MHz: two nanoseconds a cycle.
    assert (op["program"], op["firmware_ns"], op["kernel_ns"]) == (1, 120, 80)
    assert op["imbalance"] == 1.0
    assert op["name"] is None and op["trace_id"] is None and op["duration_doubt"] is None


def plain(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """Returns the values of a column; texts use pyarrow's type for small strings."""
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    is_text = not pyarrow.types.is_primitive(column.type) and not pyarrow.types.is_null(column.type)
    return column.cast(pyarrow.string()) if is_text else column


TABLES = ("records", "zones", "ops", "zone_statistics", "losses")
TABLES += ("host_zones", "host_events", "buffers", "op_buffers")
TABLES += ("waits", "wait_sums", "profiler_time")


def test_pandas_polars_and_pyarrow_agree(matmul: kprof.Recording) -> None:
    for name in TABLES:
        table = getattr(matmul, name)
        of_arrow = pyarrow.table(table)
        of_polars = polars.DataFrame(table)
        of_pandas = pandas.DataFrame.from_arrow(table)
        assert of_arrow.num_rows == of_polars.height == len(of_pandas)
        assert of_arrow.column_names == of_polars.columns == list(of_pandas.columns)
        of_arrow.validate(full=True)
        for column in of_arrow.column_names:
            expected = plain(of_arrow.column(column))
            other = plain(of_polars.select(column).to_arrow().column(0))
            assert other.equals(expected), (name, column)
            series = of_pandas[column]
            assert series.isna().sum() == expected.null_count, (name, column)
            values = expected.drop_null().to_numpy()
            assert (series.dropna().to_numpy() == values).all(), (name, column)
    assert pyarrow.table(matmul.records).num_rows == matmul.record_count > 10_000


def test_what_the_host_did_is_a_table(tmp_path: Path) -> None:
    kprof.save_host_events(tmp_path / "before.kprof")
    kprof.start_tracy_zone("model.py", "forward", line_number=42)
    with kprof.zone("inner"):
        kprof.message("half", 0xFF8000)
    kprof.stop_tracy_zone("id:7", color=0x00FF00)
    kprof.signpost("warm", "3 runs")
    kprof.save_host_events(tmp_path / "host.kprof")
    recording = kprof.open(tmp_path / "host.kprof")
    zones = polars.DataFrame(recording.host_zones)
    assert zones.select("recording", "name", "function", "line", "depth").rows()[0] == (
        "host", "forward", "forward", 42, 0
    )  # fmt: skip
    assert zones["name"].to_list() == ["forward", "inner"]
    assert zones["text"].to_list() == ["id:7", None]
    assert zones["color"].to_list() == ["#00ff00", None]
    assert set(zones["process_id"]) == {os.getpid()}
    outer, inner = zones.to_dicts()
    assert outer["start_ns"] == 0 and outer["self_ns"] == outer["duration_ns"] - inner["duration_ns"]
    events = polars.DataFrame(recording.host_events).select("kind", "name", "text", "color")
    assert events.rows() == [
        ("message", None, "half", "#ff8000"),
        ("signpost", "warm", "3 runs", None),
    ]
    assert polars.DataFrame(recording.buffers).is_empty()


def dataset_rows(dataset: Path, table: str) -> polars.DataFrame:
    """Rows of the one recording of a dataset, without its host."""
    (file,) = (dataset / table).glob("date=*/run=c/*.parquet")
    return polars.read_parquet(file, hive_partitioning=False).drop("host")


def test_tables_of_the_host_are_those_of_the_dataset(tmp_path: Path) -> None:
    """Compares every cell with a file that `kprof` writes and another library reads."""
    program = os.environ.get("KPROF")
    if program is None:
        assert os.environ.get("CI") != "true", "KPROF names no kprof"
        pytest.skip("KPROF names no kprof")
    command = [program, "capture", "--device-memory-profiler", "--ops", "12", "--seed", "9"]
    command += ["-o", str(tmp_path / "c.kprof")]
    subprocess.run(command, check=True, capture_output=True)
    command = [program, "export", str(tmp_path / "c.kprof"), "--format", "parquet", "--host", "h"]
    command += ["--recording", "c", "-o", str(tmp_path / "set")]
    subprocess.run(command, check=True, capture_output=True)
    recording = kprof.open(tmp_path / "c.kprof")
    for name, least in [("host_zones", 4), ("host_events", 24), ("buffers", 24), ("op_buffers", 23)]:
        written = dataset_rows(tmp_path / "set", name)
        own = pyarrow.table(getattr(recording, name))
        assert own.num_rows >= least, name
        assert own.column_names == written.columns
        assert [plain(column).to_pylist() for column in own.columns] == [
            written[column].to_list() for column in written.columns
        ]
        kinds = {plain(column).type for column in own.columns}
        assert pyarrow.uint32() in kinds or name == "buffers"


def test_lines_are_those_of_the_command(tmp_path: Path) -> None:
    program = os.environ.get("KPROF")
    if program is None:
        assert os.environ.get("CI") != "true", "KPROF names no kprof"
        pytest.skip("KPROF names no kprof")
    command = [program, "run", "--workload", "matmul", "--ops", "2", "--grid", "1x2"]
    subprocess.run([*command, "--lines", "-o", tmp_path], check=True, capture_output=True)
    command = [program, "lines", "--json", str(tmp_path)]
    expected = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["lines"]
    recording = kprof.open(tmp_path)
    assert pyarrow.table(recording.lines).to_pylist() == expected
    assert sum(row["total_cycles"] for row in expected) > 10_000
    table = tmp_path / ".logs/kprof_lines.csv"
    table.write_text(table.read_text() + "x,y\n")
    with pytest.warns(UserWarning, match="1 row of the lines is skipped"):
        assert pyarrow.table(recording.lines).num_rows == len(expected)
    table.unlink()
    assert recording.lines is None


def test_ops_zones_and_losses_are_those_of_the_report(tmp_path: Path) -> None:
    """Compares names, nulls and values with `kprof report --json`."""
    program = os.environ.get("KPROF")
    if program is None:
        assert os.environ.get("CI") != "true", "KPROF names no kprof"
        pytest.skip("KPROF names no kprof")
    workloads = [
        ["--workload", "trace-replay", "--device-trace-profiler"],
        ["--workload", "multi-op-overflow", "--op-support-count", "50"],
    ]
    for workload in workloads:
        path = tmp_path / "run.kprof"
        subprocess.run([program, "capture", *workload, "-o", path], check=True, capture_output=True)
        command = [program, "report", "--json", str(path)]
        report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        recording = kprof.open(path)
        for name, key in [("ops", "ops"), ("zone_statistics", "zones"), ("losses", "losses")]:
            table = pyarrow.table(getattr(recording, name))
            assert table.to_pylist() == report[key], name
        assert recording.report()["ops"] == report["ops"]
        assert report["ops"][0]["op_to_op_latency_ns"] is None
        path.unlink()
    assert report["losses"]


@pytest.mark.parametrize("more", [
    ["--workload", "pipeline", "--pipeline", "tiles=5", "--waits", "events"],
    ["--ops", "40", "--enable-accumulate-profiling"],
])  # fmt: skip
def test_tables_of_waits_are_those_of_the_dataset(tmp_path: Path, more: list[str]) -> None:
    """Compares every cell of both chips with files from `kprof`, read by another library."""
    program = os.environ.get("KPROF")
    if program is None:
        assert os.environ.get("CI") != "true", "KPROF names no kprof"
        pytest.skip("KPROF names no kprof")
    command = [program, "capture", "--devices", "2", *more, "-o", str(tmp_path / "c.kprof")]
    subprocess.run(command, check=True, capture_output=True)
    command = [program, "export", str(tmp_path / "c.kprof"), "--format", "parquet", "--host", "h"]
    command += ["--recording", "c", "-o", str(tmp_path / "set")]
    subprocess.run(command, check=True, capture_output=True)
    recording = kprof.open(tmp_path / "c.kprof")
    rows = 0
    for name in ["waits", "wait_sums", "profiler_time"]:
        own = polars.DataFrame(getattr(recording, name))
        rows += own.height
        if own.is_empty():
            # A table without rows has no file.
            assert not (tmp_path / "set" / name).exists(), name
            continue
        written = dataset_rows(tmp_path / "set", name)
        assert set(own["chip_id"]) == {0, 1}, name
        assert own.columns == written.columns
        assert own.rows() == written.rows(), name
    assert rows >= 128
    if "--waits" in more:
        # The sums over launches equal those of the report.
        sums = polars.DataFrame(recording.wait_sums).group_by("chip_id", "risc", "kind", "key").sum()
        found = {tuple(row[key] for key in ("chip_id", "risc", "kind", "key", "waits", "total_cycles"))
                 for row in sums.to_dicts()}  # fmt: skip
        keys = ("chip_id", "risc", "kind", "key", "count", "total_cycles")
        assert found == {tuple(row[key] for key in keys) for row in recording.report()["waits"]}
    else:
        totals = polars.DataFrame(recording.profiler_time)
        assert set(totals["kind"]) == {"push of several launches"}
        zones = polars.DataFrame(recording.zones).filter(polars.col("name") == "PROFILER-DRAM-PUSH")
        assert totals["count"].sum() == zones.height
        assert totals["total_cycles"].sum() == zones["duration_cycles"].sum()
        assert totals["max_cycles"].max() == zones["duration_cycles"].max()


def test_lanes_share_batches(matmul: kprof.Recording) -> None:
    for table in (matmul.records, matmul.zones):
        found = pyarrow.table(table)
        lanes = found.select(["chip_id", "core_x", "core_y", "risc"]).unify_dictionaries()
        assert lanes.group_by(lanes.column_names).aggregate([]).num_rows > 300
        batches = found.to_batches()
        assert max(batch.num_rows for batch in batches) <= 1 << 16
        # Two consecutive batches would not fit into one.
        sizes = [batch.num_rows for batch in batches]
        assert all(a + b > 1 << 15 for a, b in zip(sizes, sizes[1:]))


def test_a_table_outlives_its_recording() -> None:
    mesh = kprof.SimulatedMesh("matmul", seed=1, ops=1)
    table = pyarrow.table(kprof.read_device_profiler(mesh).records)
    column = table.column("cycle").combine_chunks()
    first = column[0].as_py()
    del mesh
    again = kprof.read_device_profiler(kprof.SimulatedMesh("matmul", seed=1, ops=1))
    assert pyarrow.table(again.records).column("cycle")[0].as_py() == first


def test_the_times_of_a_long_lane_are_not_copied(tmp_path: Path) -> None:
    """Lanes of one core: one with 20,000 records between two short ones."""
    head = "\n".join(LOG.splitlines()[:2])
    rows = [
        f"0,1,2,{risc},9,{1000 + 10 * index},{index},1024,,,VALUE,TS_DATA,30,k.cc,"
        for risc, count in (("BRISC", 3), ("NCRISC", 20_000), ("TRISC_0", 4))
        for index in range(count)
    ]
    path = tmp_path / "profile_log_device.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    recording = kprof.open(path)
    tables = [pyarrow.table(recording.records) for _ in range(2)]
    for table in tables:
        assert sorted(batch.num_rows for batch in table.to_batches()) == [3, 4, 20_000]
        counts = [*range(3), *range(20_000), *range(4)]
        assert table.column("value").equals(pyarrow.chunked_array([pyarrow.array(counts, "u8")]))
        cycles = pyarrow.array([1000 + 10 * count for count in counts], "u8")
        assert table.column("cycle").equals(pyarrow.chunked_array([cycles]))
    addresses = [table.column("cycle").chunk(1).buffers()[1].address for table in tables]
    assert addresses[0] == addresses[1]


def addresses(column: pyarrow.ChunkedArray) -> list[list[int | None]]:
    """Returns the addresses of the buffers of each chunk of a column."""
    return [[buffer and buffer.address for buffer in part.buffers()] for part in column.chunks]


def test_libraries_take_numbers_where_they_are(matmul: kprof.Recording) -> None:
    """Leaves texts out: polars encodes their dictionaries again, with 32-bit keys."""
    for table in (matmul.records, matmul.zones, matmul.ops):
        made = pyarrow.table(table)
        frames = [polars.DataFrame(table), polars.from_arrow(made, rechunk=False)]
        numbers = [field.name for field in made.schema if pyarrow.types.is_integer(field.type)]
        assert len(numbers) >= 7
        for name in numbers:
            expected = addresses(made.column(name))
            assert addresses(pyarrow.table(table).column(name)) == expected, name
            for frame in frames:
                assert addresses(pyarrow.chunked_array(frame[name])) == expected, name
            copy = pyarrow.array(made.column(name).to_pylist(), made.schema.field(name).type)
            assert addresses(pyarrow.chunked_array([copy])) != expected, "a copy is found out"


def log_rows(path: Path) -> pyarrow.Table:
    """Returns rows of a device log that are equal in every workspace: source paths start at the
    simulator's folder, and ids of zones, which depend on the full path, are left out."""
    rows = pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(skip_rows=1))
    rows = rows.rename_columns([name.strip() for name in rows.column_names])
    files = pyarrow.compute.replace_substring_regex(rows["source file"], r"^.*/sim/src/", "sim/src/")
    place = rows.column_names.index("source file")
    return rows.set_column(place, "source file", files).drop_columns(["timer_id"])


def test_counts_are_those_of_the_program(tmp_path: Path) -> None:
    """Runs the same workload, chips and seed with `kprof run`, without Python."""
    program = os.environ.get("KPROF")
    if program is None:
        assert os.environ.get("CI") != "true", "KPROF names no kprof"
        pytest.skip("KPROF names no kprof")
    for workload, arch, seed in [("matmul", "blackhole", 3), ("full-buffer", "wormhole_b0", 4)]:
        command = [program, "run", "--json", "--workload", workload, "--arch", arch]
        command += ["--seed", str(seed), "-o", str(tmp_path / workload)]
        expected = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        mesh = kprof.SimulatedMesh(workload, arch=arch, seed=seed)
        recording = kprof.read_device_profiler(mesh)
        summary = recording.report()["summary"]
        kept = summary["kept"]
        assert kept["zones"] + kept["open_zones"] == expected["kept"]["zones"]
        for kind in ("data", "events", "sums", "open_zones", "orphan_ends"):
            assert kept[kind] == expected["kept"][kind], kind
        assert summary["words_read"] == expected["words_read"]
        losses = pyarrow.table(recording.losses).to_pylist()
        assert len(losses) == len(expected["losses"])
        assert sum(row["zones"] for row in losses) == sum(
            row["zones"] for row in expected["losses"]
        )
        written = tmp_path / "own.csv"
        recording.export(written, "device-log")
        log = tmp_path / workload / ".logs" / "profile_log_device.csv"
        first, second = log_rows(written), log_rows(log)
        assert first.num_rows == recording.record_count
        unequal = [name for name in first.column_names if not first[name].equals(second[name])]
        assert first.column_names == second.column_names and not unequal


def test_every_output_is_written(matmul: kprof.Recording, tmp_path: Path) -> None:
    written = []
    for output in kprof.Recording.outputs():
        try:
            matmul.export(tmp_path / output, output)
        except ValueError as error:
            assert "found none" in str(error), output
            continue
        written.append(output)
        assert os.stat(tmp_path / output).st_size > 0
    assert set(kprof.Recording.outputs()) - set(written) == {"noc-traces"}
    rows = list(csv.DictReader((tmp_path / "ops").open()))
    assert len(rows) == 6 and {row["DEVICE ARCH"] for row in rows} == {"wormhole_b0"}


def test_the_ending_of_a_path_chooses_the_output(matmul: kprof.Recording, tmp_path: Path) -> None:
    matmul.export(tmp_path / "run.trace.json")
    assert json.loads((tmp_path / "run.trace.json").read_text())["traceEvents"]
    with pytest.raises(ValueError, match="expected an output, or a path that ends in"):
        matmul.export(tmp_path / "run.txt")
    with pytest.raises(ValueError, match="there is no output `csv`; choose from perfetto"):
        matmul.export(tmp_path / "run.csv", "csv")


def test_a_notebook_gets_the_page_inline(matmul: kprof.Recording) -> None:
    page = matmul._repr_html_()
    assert page.startswith('<iframe srcdoc="') and page.count("<iframe") == 1
    # All content of the attribute is escaped.
    assert page[len('<iframe srcdoc="') :].index('"') > 10_000
    assert "<!doctype html" in matmul.html()[:100].lower()


def test_an_ops_csv_is_a_table(matmul: kprof.Recording, tmp_path: Path) -> None:
    path = tmp_path / "ops_perf_results.csv"
    matmul.export(path)
    table = pyarrow.table(kprof.open_ops_csv(path))
    rows = list(csv.DictReader(path.open()))
    assert table.num_rows == len(rows)
    durations = table.column("DEVICE FW DURATION [ns]").to_pylist()
    assert durations == [float(row["DEVICE FW DURATION [ns]"]) for row in rows]
    assert table.column("OP CODE").to_pylist() == [row["OP CODE"] for row in rows]
    path.write_text(path.read_text() + "one,two\n")
    with pytest.raises(ValueError, match="cells in row 8, found 2"):
        kprof.open_ops_csv(path)


def test_an_ops_csv_of_chips_alone_is_a_table(log: Path, tmp_path: Path) -> None:
    """Without host data there are no op codes."""
    path = tmp_path / "ops_perf_results.csv"
    kprof.open(log).export(path)
    table = pyarrow.table(kprof.open_ops_csv(path))
    assert "OP CODE" not in table.column_names
    assert table.column("GLOBAL CALL COUNT").to_pylist() == [1024]
    assert table.column("DEVICE FW DURATION [ns]").to_pylist() == [120]


def test_an_ops_csv_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ops.csv"
    path.write_bytes(b'\xef\xbb\xbf"OP CODE","CORES"\r\n"Mat\nmul, ""x""","64"\r\n')
    table = pyarrow.table(kprof.open_ops_csv(path))
    assert table.to_pylist() == [{"OP CODE": 'Mat\nmul, "x"', "CORES": 64.0}]
    path.write_bytes(b"OP CODE,CORES\ncaf\xe9,64\n")
    with pytest.raises(ValueError, match="ops.csv: expected an ops CSV in UTF-8, .* 0xe9"):
        kprof.open_ops_csv(path)


def test_runs_of_a_capture_are_chosen_by_number(tmp_path: Path) -> None:
    capture = tmp_path / "run.kprof"
    mesh = kprof.SimulatedMesh("matmul", seed=9, ops=2)
    recording = kprof.read_device_profiler(mesh, capture)
    again = kprof.open(capture)
    assert pyarrow.table(again.zones).equals(pyarrow.table(recording.zones))
    with pytest.raises(ValueError, match="holds 1 run, found run=2"):
        kprof.open(capture, run=2)
    with pytest.raises(ValueError, match="run.kprof"):
        kprof.read_device_profiler(kprof.SimulatedMesh(), capture)


def test_a_diff_finds_what_is_larger() -> None:
    small = [
        kprof.read_device_profiler(kprof.SimulatedMesh("matmul", seed=seed, ops=4))
        for seed in (1, 2)
    ]
    same = small[0].diff(small[0])
    assert same["changes"] and all(change["ratio"] == 1 for change in same["changes"])
    assert kprof.diff(small, small)["changes"]
    with pytest.raises(ValueError, match="between 0 and 1"):
        small[0].diff(small[1], confidence=95)


@pytest.mark.parametrize("content", [b"", b"no log", b"\x8aKPROF\r\n", bytes(range(256)) * 9])
def test_what_is_no_recording_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError) as error:
        kprof.open(path)
    assert "\n" not in str(error.value).strip()


def test_a_missing_file_is_a_file_not_found_error(tmp_path: Path) -> None:
    path = tmp_path / "nowhere"
    for call in (kprof.open, kprof.open_all, kprof.open_ops_csv):
        with pytest.raises(FileNotFoundError) as error:
            call(path)
        assert error.value.filename == str(path)
    # An existing folder without a log is a different error.
    with pytest.raises(ValueError, match="profile_log_device.csv"):
        kprof.open(tmp_path)


def test_each_function_that_opens_returns_one_type() -> None:
    """Type checkers can check every use of the package before it runs."""
    returned = {
        call: typing.get_type_hints(call)["return"]
        for call in (kprof.open, kprof.open_all, kprof.open_ops_csv)
    }
    assert list(returned.values()) == [kprof.Recording, list[kprof.Recording], kprof.OpsTable]


def test_a_damaged_capture_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    capture = tmp_path / "run.kprof"
    recording = kprof.read_device_profiler(kprof.SimulatedMesh("matmul", seed=9, ops=2), capture)
    whole = capture.read_bytes()
    capture.write_bytes(whole[: len(whole) - 2000])
    with pytest.warns(UserWarning, match="the rest is used"):
        cut = kprof.open(capture)
    assert cut.uncounted and cut.record_count <= recording.record_count


def test_unknown_workloads_are_refused() -> None:
    assert "matmul" in kprof.workloads()
    with pytest.raises(ValueError, match="there is no workload `x`"):
        kprof.SimulatedMesh("x")
    with pytest.raises(ValueError, match="there is no architecture `x`"):
        kprof.SimulatedMesh(arch="x")
