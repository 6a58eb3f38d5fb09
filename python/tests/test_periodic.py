"""Reading a mesh from a thread while it runs."""

import time
from pathlib import Path

import pytest

import kprof


def figures(recording: kprof.Recording) -> dict:
    """Counts of a recording that do not depend on when it was read."""
    kept = recording.report()["summary"]["kept"]
    return {"kept": kept, "losses": recording.has_losses, "ops": len(recording.op_durations())}


def test_what_is_read_meanwhile_is_what_is_read_afterwards(tmp_path: Path) -> None:
    afterwards = kprof.read_device_profiler(kprof.SimulatedMesh("matmul", chips=2, seed=7))
    mesh = kprof.SimulatedMesh("matmul", chips=2, seed=7)
    capture = tmp_path / "run.kprof"
    with kprof.PeriodicReader(mesh, period=0.0005, capture=capture) as reader:
        with pytest.raises(ValueError, match="a running one"):
            _ = reader.recording
        mesh.run()
        deadline = time.monotonic() + 60
        while reader.read_count < 3 and time.monotonic() < deadline:
            time.sleep(0.001)
    assert mesh.pending_phases == 0
    assert reader.read_count >= 4 and reader.failed_read_count == 0
    assert figures(reader.recording) == figures(afterwards)
    assert figures(kprof.open(capture)) == figures(afterwards)
    assert not reader.recording.has_losses
    assert reader.stop() is reader.recording


def test_events_of_the_host_come_along() -> None:
    mesh = kprof.SimulatedMesh("matmul", ops=2)
    with kprof.PeriodicReader(mesh, with_host_events=True) as reader:
        kprof.signpost("while it runs")
        mesh.run()
    assert "while it runs" in reader.recording.signposts


@pytest.mark.parametrize("period", [-1.0, float("nan"), float("inf")])
def test_a_period_that_is_no_time_is_an_error(period: float) -> None:
    with pytest.raises(ValueError, match="expected a period in seconds"):
        kprof.PeriodicReader(kprof.SimulatedMesh("matmul", ops=1), period)


def test_a_capture_that_cannot_be_written_is_an_error() -> None:
    with pytest.raises(ValueError, match="nowhere"):
        kprof.PeriodicReader(kprof.SimulatedMesh("matmul", ops=1), capture="/nowhere/x.kprof")
