"""ttnn's own real-time profiler of programs, as far as it is there without a chip."""

from __future__ import annotations

import ttnn
from test_process import recorded_in
from test_process import cache, variables

__all__ = ["cache", "variables"]

FUNCTIONS = ("IsProgramRealtimeProfilerActive", "RegisterProgramRealtimeProfilerCallback")
FIELDS = {"chip_id", "runtime_id", "start_timestamp", "end_timestamp", "frequency", "kernel_sources"}


def test_ttnn_has_the_functions_and_fields_of_the_stand_in_with_which_it_is_tested():
    """The stand-in is in python/tests/test_realtime.py."""
    for name in (*FUNCTIONS, "UnregisterProgramRealtimeProfilerCallback"):
        assert callable(getattr(ttnn.device, name))
    assert FIELDS <= set(dir(ttnn.device.ProgramRealtimeRecord))
    assert {"records", "dropped"} <= set(dir(ttnn.device.ProgramRealtimeRecordBatch))


def test_a_program_on_a_simulator_is_recorded_without_its_records(tmp_path, variables):
    recorded = recorded_in(tmp_path, variables, "opens.py", options=())
    assert recorded.exit_code == 0, recorded.said
    assert "real-time profiler" not in recorded.said, recorded.said
    assert list(tmp_path.glob(".logs/*.kprof")) and not list(tmp_path.glob(".logs/*.realtime.csv"))
