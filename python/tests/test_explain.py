"""Causes of slowness, compared with the program `kprof`."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import kprof


def program(*args: str | Path) -> bytes:
    """Output of the program `kprof`."""
    command = os.environ.get("KPROF")
    if command is None:
        assert os.environ.get("CI") != "true", "KPROF names no kprof"
        pytest.skip("KPROF names no kprof")
    return subprocess.run([command, *args], check=True, capture_output=True).stdout


def capture(path: Path, *args: str) -> None:
    program("capture", "-o", path, *args)


def told(path: Path) -> dict[str, Any]:
    """Returns the output of `kprof explain`, without the names of the file."""
    document = json.loads(program("explain", path, "--json"))
    return {key: document[key] for key in document if key not in ("input", "run", "title")}


def causes_of(page: str) -> Any:
    """Causes in the data of a page."""
    facts = re.search(r'<script type="application/json" id="facts">(.*?)</script>', page, re.DOTALL)
    assert facts
    return json.loads(facts.group(1))["causes"]


PIPELINE = ("--workload", "pipeline", "--ops", "1", "--pipeline", "tiles=60,reader=1620,writer=700")


@pytest.mark.parametrize(
    ("args", "causes"),
    [
        ((*PIPELINE, "--waits", "totals"), ["latency"]),
        ((*PIPELINE, "--waits", "events"), None),
        (("--workload", "random", "--ops", "12", "--seed", "3"), None),
    ],
)
def test_causes_are_those_of_the_program(
    args: tuple[str, ...], causes: list[str] | None, tmp_path: Path
) -> None:
    path = tmp_path / "run.kprof"
    capture(path, *args)
    recording = kprof.open(path)
    explained = recording.explain()
    assert explained == told(path)
    assert explained["schema_version"] == 1 and explained["ops"] and explained["devices"]
    if causes is not None:
        assert [finding["cause"] for finding in explained["findings"]] == causes
    program("export", path, "-o", tmp_path / "program.html")
    expected = causes_of((tmp_path / "program.html").read_text())
    sentences = [finding["sentence"] for finding in expected["findings"]]
    assert sentences == [finding["sentence"] for finding in explained["findings"]]
    recording.export(tmp_path / "own.html")
    assert causes_of((tmp_path / "own.html").read_text()) == expected
    assert causes_of(recording.html()) == expected


def test_the_tracks_of_causes_are_in_perfetto(tmp_path: Path) -> None:
    path = tmp_path / "run.kprof"
    capture(path, *PIPELINE, "--waits", "events")
    program("export", path, "-o", tmp_path / "program.pftrace")
    kprof.open(path).export(tmp_path / "own.pftrace")
    sizes = [(tmp_path / name).stat().st_size for name in ("program.pftrace", "own.pftrace")]
    # Equal except for the title.
    assert abs(sizes[0] - sizes[1]) < 100


def test_a_log_tells_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "profile_log_device.csv"
    path.write_text(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n"
        "PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,"
        "run host ID,zone name,type\n"
        "0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START\n"
        "0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END\n"
    )
    explained = kprof.open(path).explain()
    assert explained["findings"] == [] and explained["untold"]
    (device,) = explained["devices"]
    shares = {share["class"]: share["percent"] for share in device["time"]["shares"]}
    assert shares["data_movement"] == 100.0 and sum(shares.values()) == 100.0
    assert explained == told(path)


def test_an_ops_csv_is_explained_as_the_program_does(tmp_path: Path) -> None:
    path = tmp_path / "ops_perf_results.csv"
    titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]"
    # Two iterations, the first of which compiles.
    rows = [("Matmul", 40_000, 30_000_000), ("Softmax", 10_000, 20_000_000)]
    rows += [("Matmul", 40_000, 5_000), ("Softmax", 10_000, 50_000)]
    lines = [f"{op},tt_dnn_device,0,{kernel},{gap}" for op, kernel, gap in rows]
    path.write_text("\n".join([titles, *lines, ""]))
    table = kprof.open_ops_csv(path)
    explained = table.explain()
    # A gap of 50 us minus 6 us for a launch, in 100 us.
    (device,) = explained["devices"]
    shares = {share["class"]: share["percent"] for share in device["time"]["shares"]}
    assert shares["host_late"] == 44.0
    assert (explained["steady"]["first_row"], explained["steady"]["last_row"]) == (4, 5)
    assert explained["findings"][0]["cause"] == "host"
    assert table.explain("all")["steady"] is None
    with pytest.raises(ValueError, match="steady, last or all"):
        table.explain("first")
    assert explained == told(path)


def test_noc_traces_beside_a_log_are_read_as_by_the_program(tmp_path: Path) -> None:
    path = tmp_path / "profile_log_device.csv"
    path.write_text(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n"
        "PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,"
        "run host ID,zone name,type\n"
        "0,1,1,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START\n"
        "0,1,1,BRISC,7,356,0,1024,BRISC-KERNEL,ZONE_END\n"
    )
    alone = kprof.open(path).explain()
    assert alone["noc_events"] is None and alone["findings"] == []
    write = {"type": "WRITE_", "noc": "NOC_0", "dx": 2, "dy": 1, "num_bytes": 7168}
    edge = {"zone": "BRISC-KERNEL", "zone_phase": "ZONE_START"}
    core = {"proc": "BRISC", "sx": 1, "sy": 1, "src_device_id": 0, "run_host_id": 1024}
    end = edge | {"zone_phase": "ZONE_END"}
    events = [(100, edge), (110, write), (356, end)]
    trace = [core | {"op_name": "", "timestamp": time} | event for time, event in events]
    (tmp_path / "noc_trace_dev0_ID1024.json").write_text(json.dumps(trace))
    explained = kprof.open(path).explain()
    assert "1 noc_trace file" in explained["noc_events"]
    # 7,168 bytes in 256 cycles, over a link that carries 32 bytes a cycle.
    (finding,) = explained["findings"]
    assert (finding["cause"], finding["figure"]) == ("noc", 87.5)
    assert finding["where"]
    assert explained == told(path)
