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
    program("capture", "--kernels", "native", "-o", path, *args)


def told(path: Path) -> dict[str, Any]:
    """What `kprof explain` tells, without the names of the file."""
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
    # Alike but for the title.
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
