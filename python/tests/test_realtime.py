"""Records of ttnn's real-time profiler. It is active on chips only, and there is none here: a stand-in with
the functions and fields of ttnn 0.81.1 delivers the records, from a thread of its own as ttnn does."""

import csv
import threading
import types

import pytest
from kprof.ttnn.realtime import COLUMNS, RealtimeRecords


def record(**fields):
    given = {"chip_id": 0, "runtime_id": 7, "start_timestamp": 1_000, "end_timestamp": 3_700}
    given |= {"frequency": 1.35, "kernel_sources": ["a/reader.cpp", "a/writer.cpp"]}
    return types.SimpleNamespace(**(given | fields))


class StandIn:
    """The functions of `ttnn.device`, and a thread that delivers batches."""

    def __init__(self, batches=(), is_active=True, refuses=""):
        self.batches, self.is_active, self.refuses = batches, is_active, refuses
        self.callbacks, self.thread = {}, None

    def IsProgramRealtimeProfilerActive(self):
        return self.is_active

    def RegisterProgramRealtimeProfilerCallback(self, callback):
        if self.refuses:
            raise RuntimeError(self.refuses)
        self.callbacks[1] = callback
        self.thread = threading.Thread(target=self.deliver)
        self.thread.start()
        return 1

    def deliver(self):
        for batch in self.batches:
            if 1 in self.callbacks:
                self.callbacks[1](batch)

    def UnregisterProgramRealtimeProfilerCallback(self, handle):
        del self.callbacks[handle]


def batch(*records, dropped=0):
    return types.SimpleNamespace(records=list(records), dropped=dropped)


def kept(device, tmp_path):
    path = tmp_path / "program.realtime.csv"
    records = RealtimeRecords(types.SimpleNamespace(device=device), str(path))
    records.begin()
    if getattr(device, "thread", None):
        device.thread.join()
    records.end()
    rows = list(csv.DictReader(path.open(newline=""))) if path.exists() else []
    return records, rows


def test_each_record_is_a_row_with_its_ticks_and_duration(tmp_path):
    device = StandIn([batch(record(), record(chip_id=3, runtime_id=8, frequency=1.0), dropped=5)])
    records, rows = kept(device, tmp_path)
    assert tuple(rows[0]) == COLUMNS
    assert [row["chip_id"] for row in rows] == ["0", "3"]
    assert [row["runtime_id"] for row in rows] == ["7", "8"]
    assert [(row["start_ticks"], row["end_ticks"]) for row in rows] == [("1000", "3700")] * 2
    # 2,700 ticks are 2,000 ns at 1.35 ticks in a nanosecond.
    assert [float(row["duration_ns"]) for row in rows] == [2_000.0, 2_700.0]
    assert [row["dropped_before"] for row in rows] == ["5", "0"]
    assert rows[0]["kernel_sources"] == "a/reader.cpp;a/writer.cpp"
    assert device.callbacks == {} and records.problem is None
    assert records.summary().startswith("2 records of ttnn's real-time profiler are in ")
    assert records.summary().endswith("; ttnn dropped 5 more")


@pytest.mark.parametrize("fields", [{"frequency": 0.0}, {"end_timestamp": 999}, {"frequency": -1.0}])
def test_a_duration_that_does_not_follow_from_a_record_is_unknown(fields, tmp_path):
    _, rows = kept(StandIn([batch(record(**fields))]), tmp_path)
    assert [row["duration_ns"] for row in rows] == [""]


def test_single_records_of_an_earlier_ttnn_are_kept_too(tmp_path):
    single = record(program_id=9)
    del single.runtime_id
    _, rows = kept(StandIn([single, single]), tmp_path)
    assert [row["runtime_id"] for row in rows] == ["9", "9"]


@pytest.mark.parametrize("device", [None, types.SimpleNamespace(), StandIn([batch(record())], is_active=False)])
def test_where_it_is_not_there_or_not_active_nothing_is_registered_or_written(device, tmp_path):
    records, rows = kept(device, tmp_path)
    assert (rows, records.summary(), records.problem) == ([], None, None)
    assert not list(tmp_path.iterdir())
    assert not getattr(device, "callbacks", {})


def test_a_refusal_or_a_record_of_another_form_is_a_sentence_and_no_error(tmp_path):
    records, _ = kept(StandIn(refuses="the dispatch core has no room"), tmp_path)
    assert records.problem == "the dispatch core has no room"
    records, rows = kept(StandIn([batch(types.SimpleNamespace()), batch(record())]), tmp_path)
    assert "program_id" in records.problem and len(rows) == 1


def test_records_after_a_device_was_opened_again_are_added(tmp_path):
    path = tmp_path / "program.realtime.csv"
    device = StandIn([batch(record())])
    records = RealtimeRecords(types.SimpleNamespace(device=device), str(path))
    for _ in range(2):
        records.begin()
        device.thread.join()
        records.end()
    assert records.count == 2 and len(path.read_text().splitlines()) == 3
