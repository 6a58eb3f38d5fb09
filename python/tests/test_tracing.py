"""Events recorded by a Python program; samples from TT-Metal's pages with a changed import."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import kprof
from kprof import Profiler, signpost


@pytest.fixture(autouse=True)
def empty(tmp_path: Path) -> Iterator[None]:
    """Removes the events of an earlier test."""
    kprof.save_host_events(tmp_path / "before.kprof")
    yield


def events(tmp_path: Path) -> list[dict]:
    """Returns host events in time order, in the form of Chrome's JSON."""
    capture, trace = tmp_path / "host.kprof", tmp_path / "host.trace.json"
    kprof.save_host_events(capture)
    kprof.open(capture).export(trace)
    found = json.loads(trace.read_text())["traceEvents"]
    return [event for event in found if event["ph"] in "XiIB"]


def colors(tmp_path: Path) -> dict[str, str | None]:
    return {event["name"]: event["args"].get("color") for event in events(tmp_path)}


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
    with pytest.raises(ValueError, match="16777216"):
        kprof.tracy_message("wrong", color=0x1000000)
    kprof.message("black", color=0)
    kprof.message("orange", 0xFF8000)
    with pytest.raises(ValueError):
        kprof.message("wrong", color=-1)
    signpost("green", color=0x00FF00)
    signpost("no colour", "at all")
    assert colors(tmp_path) == {
        "Starting batch processing": "#f0f8ff",
        "Critical section entered": "#ff0000",
        "plain": None,
        "black": "#000000",
        "orange": "#ff8000",
        "green": "#00ff00",
        "no colour": None,
    }


def test_manual_zones(tmp_path: Path) -> None:
    kprof.start_tracy_zone("my_file.py", "MY_CUSTOM_ZONE", line_number=42)
    with kprof.zone("inner"):
        pass
    assert kprof.stop_tracy_zone("MY_CUSTOM_ZONE", color=0x00FF00)
    assert not kprof.stop_tracy_zone("MY_CUSTOM_ZONE")
    found = [event for event in events(tmp_path) if event["ph"] == "X"]
    assert [event["name"] for event in found] == ["MY_CUSTOM_ZONE", "inner"]
    outer, inner = found
    assert (outer["args"].get("color"), inner["args"].get("color")) == ("#00ff00", None)
    assert outer["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]


def run_model_with_profiling(mesh: kprof.SimulatedMesh, num_iterations: int) -> kprof.Recording:
    """Runs the complete example of TT-Metal's guide, without the model."""
    profiler = Profiler()
    signpost("Warmup Phase Start", f"Running {1} warmup iterations")
    function_under_test()
    signpost("Warmup Phase End")
    signpost("Measurement Phase Start", f"Running {num_iterations} measured iterations")
    profiler.enable()
    for i in range(num_iterations):
        if i % 10 == 0:
            signpost(f"Iteration {i}")
        function_under_test()
    profiler.disable()
    signpost("Measurement Phase End")
    return kprof.read_device_profiler(mesh, with_host_events=True)


def test_a_model_between_signposts(tmp_path: Path) -> None:
    recording = run_model_with_profiling(kprof.SimulatedMesh("matmul", ops=2), 25)
    assert recording.signposts == [
        "Warmup Phase Start",
        "Warmup Phase End",
        "Measurement Phase Start",
        *(f"Iteration {i}" for i in (0, 10, 20)),
        "Measurement Phase End",
    ]
    trace = tmp_path / "run.trace.json"
    recording.export(trace)
    found = [event["name"] for event in json.loads(trace.read_text())["traceEvents"]]
    assert found.count("PY_FUNC_function_under_test") == 25, "none of the warm-up"


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
