"""Events that a Python program records of itself; each sample of TT-Metal's pages, with its import changed."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import kprof
from kprof import Profiler, signpost


@pytest.fixture(autouse=True)
def empty(tmp_path: Path) -> Iterator[None]:
    """Takes out what an earlier test has recorded."""
    kprof.save_host_events(tmp_path / "before.kprof")
    yield


def events(tmp_path: Path) -> list[dict]:
    """Host events in the order of time, as Chrome's JSON has them."""
    capture, trace = tmp_path / "host.kprof", tmp_path / "host.trace.json"
    kprof.save_host_events(capture)
    kprof.open(capture).export(trace)
    found = json.loads(trace.read_text())["traceEvents"]
    return [event for event in found if event["ph"] in "XiIB"]


def names(tmp_path: Path) -> list[str]:
    return [event["name"] for event in events(tmp_path)]


def test_signposts(tmp_path: Path) -> None:
    signpost(header="Run number 5", message="This is the run after 5 warmup runs")
    signpost(header="Run result post proc")
    signpost("Measurement Start", "Beginning timed runs")
    capture = tmp_path / "host.kprof"
    assert kprof.save_host_events(capture) == 3
    expected = ["Run number 5", "Run result post proc", "Measurement Start"]
    assert kprof.open(capture).signposts == expected


def test_messages_with_colour(tmp_path: Path) -> None:
    kprof.tracy_message("Starting batch processing")
    kprof.tracy_message("Critical section entered", color=0xFF0000)
    kprof.message("plain")
    with pytest.raises(ValueError, match="0x1000000"):
        kprof.tracy_message("wrong", color=0x1000000)
    found = " ".join(names(tmp_path))
    for text in ("Starting batch processing", "Critical section entered", "plain"):
        assert text in found
    assert "wrong" not in found


def test_manual_zones(tmp_path: Path) -> None:
    kprof.start_tracy_zone("my_file.py", "MY_CUSTOM_ZONE", line_number=42)
    with kprof.zone("inner"):
        pass
    assert kprof.stop_tracy_zone("MY_CUSTOM_ZONE", color=0x00FF00)
    assert not kprof.stop_tracy_zone("MY_CUSTOM_ZONE")
    found = [event for event in events(tmp_path) if event["ph"] == "X"]
    assert [event["name"] for event in found] == ["MY_CUSTOM_ZONE", "inner"]
    outer, inner = found
    assert outer["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]


def child() -> int:
    total = 1
    return total


def function_under_test() -> int:
    return child() + child()


def fails() -> None:
    raise KeyError("on purpose")


def test_functions_between_enable_and_disable(tmp_path: Path) -> None:
    child()
    profiler = Profiler()
    assert profiler.enable()
    function_under_test()
    with pytest.raises(KeyError):
        fails()
    profiler.disable()
    child()
    own = [name for name in names(tmp_path) if name.removeprefix("PY_FUNC_") in OWN]
    assert own == ["PY_FUNC_function_under_test", "PY_FUNC_child", "PY_FUNC_child", "PY_FUNC_fails"]


OWN = {"child", "function_under_test", "fails"}


def test_lines(tmp_path: Path) -> None:
    with Profiler(lines=True):
        child()
    found = [event for event in events(tmp_path) if event["name"].endswith("_child")]
    assert [event["name"] for event in found] == ["PY_FUNC_child", "PY_LINE_child", "PY_LINE_child"]
    function, *lines = found
    for line in lines:
        assert function["ts"] <= line["ts"]
        assert line["ts"] + line["dur"] <= function["ts"] + function["dur"] + 0.002


def test_threads_that_begin_meanwhile_are_traced(tmp_path: Path) -> None:
    with Profiler():
        thread = threading.Thread(target=function_under_test)
        thread.start()
        thread.join()
    assert names(tmp_path).count("PY_FUNC_child") == 2


def test_another_tracer_is_left_alone() -> None:
    import sys

    def other(*_: object) -> None:
        return None

    sys.setprofile(other)
    try:
        profiler = Profiler()
        assert not profiler.enable()
        profiler.disable()
        assert sys.getprofile() is other
    finally:
        sys.setprofile(None)


def test_host_events_come_along_with_a_read(tmp_path: Path) -> None:
    with kprof.zone("reading"):
        signpost("before")
    mesh = kprof.SimulatedMesh("matmul", seed=2, ops=1)
    capture = tmp_path / "run.kprof"
    recording = kprof.read_device_profiler(mesh, capture, with_host_events=True)
    assert recording.signposts == ["before"] == kprof.open(capture).signposts
