"""Wrong arguments are refused in one sentence; a path may be any type that names a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import kprof


def refused(error: type[Exception], call: Any, *args: Any, **named: Any) -> str:
    with pytest.raises(error) as caught:
        call(*args, **named)
    # Exactly the expected type, not another one such as an OverflowError.
    assert caught.type is error, caught.value
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


@pytest.fixture(scope="module")
def recording() -> kprof.Recording:
    return kprof.read_device_profiler(kprof.SimulatedMesh("matmul", ops=1))


@pytest.mark.parametrize("chips", [0, -1, 1025, 2**31, 2**32, 2**63, 2**64, 10**400])
def test_chips_have_a_bound(chips: int) -> None:
    sentence = refused(ValueError, kprof.SimulatedMesh, chips=chips)
    assert sentence.startswith("expected chips from 1 to 1024, found ")
    assert str(chips) in sentence


def test_numbers_are_whole_and_in_bounds() -> None:
    mesh = kprof.SimulatedMesh
    assert "chips as a whole number, found str" in refused(TypeError, mesh, chips="2")
    assert "chips as a whole number, found float" in refused(TypeError, mesh, chips=1.5)
    assert "seed from 0 to 18446744073709551615, found -1" in refused(ValueError, mesh, seed=-1)
    assert "found 18446744073709551616" in refused(ValueError, mesh, seed=2**64)
    assert "ops from 0 to 2097151, found -1" in refused(ValueError, mesh, ops=-1)
    assert "found 2097152" in refused(ValueError, mesh, ops=2**21)
    assert "a line from 0 to 4294967295" in refused(
        ValueError, kprof.start_tracy_zone, "a.py", "f", 2**32
    )
    for color in [-1, 2**24, 2**63, 2**64]:
        sentence = refused(ValueError, kprof.message, "text", color)
        assert sentence == f"expected a colour 0xRRGGBB from 0 to 16777215, found {color}"
    assert "whole number, found str" in refused(TypeError, kprof.signpost, "x", None, "red")


def test_periods_are_times() -> None:
    mesh = kprof.SimulatedMesh("matmul", ops=1)
    for period in [-1, float("nan"), float("inf"), 1e300]:
        assert "period in seconds" in refused(ValueError, kprof.PeriodicReader, mesh, period)
    refused(TypeError, kprof.PeriodicReader, mesh, None)
    refused(TypeError, kprof.PeriodicReader, None)
    refused(TypeError, kprof.read_device_profiler, None)


def test_only_recordings_are_compared(recording: kprof.Recording) -> None:
    expected = "expected a Recording, or a list of them, found "
    for other, name in [(None, "NoneType"), ("a.kprof", "str"), (3, "int")]:
        assert refused(TypeError, kprof.diff, recording, other) == expected + name
        assert refused(TypeError, recording.diff, other) == expected + name
        assert refused(TypeError, kprof.diff, [recording, other], recording) == expected + name
    assert "at least one Recording" in refused(ValueError, kprof.diff, [], recording)
    for confidence in [0, 1, -1, 2**63, float("nan")]:
        refused(ValueError, kprof.diff, recording, recording, confidence)
    refused(TypeError, kprof.diff, recording, recording, None)
    assert kprof.diff((recording,), [recording]) == kprof.diff(recording, recording)


class Named:
    """Names a file as bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> bytes:
        return os.fsencode(self.path)


def test_a_path_is_whatever_names_a_file(tmp_path: Path, recording: kprof.Recording) -> None:
    count = recording.record_count
    for number, form in enumerate([str, os.fsencode, Path, Named]):
        capture = tmp_path / f"{number}.kprof"
        mesh = kprof.SimulatedMesh("matmul", ops=1)
        assert kprof.read_device_profiler(mesh, form(capture)).record_count == count
        assert kprof.open(form(capture)).record_count == count
        assert len(kprof.open_all(form(capture))) == 1
        page = tmp_path / f"{number}.html"
        recording.export(form(page))
        assert page.stat().st_size > 1000
        events = tmp_path / f"{number}-host.kprof"
        kprof.save_host_events(form(events))
        assert events.is_file()
        periodic = tmp_path / f"{number}-periodic.kprof"
        with kprof.PeriodicReader(kprof.SimulatedMesh("matmul", ops=1), 0.01, form(periodic)):
            pass
        assert periodic.is_file()
    for wrong in [None, 3, -1, 2.5]:
        refused(TypeError, kprof.open, wrong)
        refused(TypeError, kprof.open_all, wrong)
        refused(TypeError, kprof.open_ops_csv, wrong)
        refused(TypeError, kprof.save_host_events, wrong)
        refused(TypeError, recording.export, wrong)


def test_runs_are_numbers_from_1(tmp_path: Path) -> None:
    capture = tmp_path / "run.kprof"
    kprof.read_device_profiler(kprof.SimulatedMesh("matmul", ops=1), capture)
    for run in [0, -1, 2, 2**63]:
        assert f"found run={run}" in refused(ValueError, kprof.open, capture, run)
    refused(TypeError, kprof.open, capture, "1")
    csv = tmp_path / "ops.csv"
    csv.write_text("OP CODE,GLOBAL CALL COUNT\nMatmul,1\n")
    assert isinstance(kprof.open_ops_csv(csv), kprof.OpsTable)
    assert "use kprof.open_ops_csv" in refused(ValueError, kprof.open, csv)
    assert "expected an ops CSV" in refused(ValueError, kprof.open_ops_csv, capture)


def test_files_of_something_else_are_refused(tmp_path: Path) -> None:
    for name, content in [("a.kprof", b"no capture"), ("b.csv", b"\xff\xfe\0"), ("c", b"")]:
        (tmp_path / name).write_bytes(content)
        assert name in refused(ValueError, kprof.open, tmp_path / name)
    assert "nowhere" in refused(FileNotFoundError, kprof.open, "nowhere")
    refused(ValueError, kprof.open, "a\0b")
