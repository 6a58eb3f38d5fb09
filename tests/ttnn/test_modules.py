"""Calls of ops: the module, function and line of each, and times by module, of a small model."""

from __future__ import annotations

import collections
import json
import os
import pathlib
import re

import pytest
from test_process import HERE, IS_FAST, Recorded, cache, recorded_in, run, variables

__all__ = ["cache", "variables"]
PROGRAM = HERE / "programs" / "transformer.py"


@pytest.fixture(scope="module")
def model(variables, tmp_path_factory) -> Recorded:
    recorded = recorded_in(tmp_path_factory.mktemp("model"), variables, PROGRAM.name)
    assert recorded.exit_code == 0, recorded.said
    return recorded


def expected(recorded: Recorded) -> dict[str, list]:
    """What the program has printed of its calls, in the order of their launches."""
    return next(json.loads(line) for line in recorded.said.splitlines() if line.startswith('{"eager"'))


def found(row: dict[str, str]) -> list:
    file, _, line = row["CALL LOCATION"].rpartition(":")
    assert pathlib.Path(file) == PROGRAM
    # Before Python 3.11, functions have no qualified names.
    return [row["MODULE"] or None, row["CALL FUNCTION"].rpartition(".")[2], int(line)]


def test_each_op_has_its_module_function_and_line(model):
    calls = expected(model)
    rows = model.rows
    once = [found(row) for row in rows if not row["METAL TRACE REPLAY SESSION ID"]]
    assert len(calls["eager"]) > 3 * 55
    # While a trace is captured, its ops do not run.
    assert once == calls["eager"] + calls["traced"]
    replays = collections.defaultdict(list)
    for row in rows:
        if row["METAL TRACE REPLAY SESSION ID"]:
            replays[row["METAL TRACE REPLAY SESSION ID"]].append(found(row))
    assert list(replays.values()) == [calls["traced"]] * (3 if IS_FAST else 0)


def test_times_by_module_are_the_sums_of_their_ops(model):
    """Modules as the program itself knows them, times as the report has them."""
    times_ns = collections.Counter()
    counts = collections.Counter()
    calls = expected(model)
    # The capture of the trace, then its replays.
    modules = [module for module, *_ in calls["eager"] + 4 * calls["traced"]]
    for module, row in zip(modules, model.rows, strict=True):
        parts = (module or "").replace("[out.proj]", "[out\0proj]").split(".")
        for depth in range(1, len(parts) + 1):
            path = ".".join(parts[:depth]).replace("\0", ".")
            times_ns[path] += int(row["DEVICE KERNEL DURATION [ns]"] or 0)
            counts[path] += 1
    done = run([os.environ["KPROF"], "perf", str(model.ops_csv), "--by", "module", "--json"], {})
    assert done.returncode == 0, done.stderr
    by = json.loads(done.stdout)["by"]
    groups = [group for group in by["groups"] if group["op"] is None]
    assert {group["value"] or "": group["op_count"] for group in groups} == dict(counts)
    microseconds = {group["value"] or "": group["device_time_us"] for group in groups}
    assert {path: round(us * 1000) for path, us in microseconds.items()} == dict(times_ns)
    whole = sum(int(row["DEVICE KERNEL DURATION [ns]"] or 0) for row in model.rows)
    assert round(by["total"]["device_time_us"] * 1000) == whole
    report = [os.environ["KPROF"], "report", str(next(model.output.glob(".logs/*.kprof"))), "--json"]
    ops = json.loads(run(report, {}).stdout.splitlines()[0])["ops"]
    assert sum(op["kernel_ns"] for op in ops) == whole


def test_calls_are_not_kept_if_they_are_switched_off(tmp_path, variables):
    columns = {"MODULE", "CALL FUNCTION", "CALL LOCATION"}
    recorded = recorded_in(tmp_path, variables, "loop.py", "3", options=("-r", "--no-calls"))
    assert recorded.exit_code == 0, recorded.said
    assert recorded.rows and not columns & set(recorded.rows[0])


@pytest.mark.skipif(
    "KPROF_TTNN_FULL" not in os.environ, reason="needs the optimised wheel: part of .ci/full"
)
def test_frames_of_a_call_cost_little(variables, tmp_path):
    """At most 2 % of a call, by pairs of calls in one process. That the lower end of the interval is compared
    leaves room for a busy machine, and none for a library without optimisation, which takes 7 %."""
    program = HERE.parents[1] / "python" / "benches" / "frames.py"
    recorded = recorded_in(tmp_path, variables, program, "600", "trace", options=())
    assert recorded.exit_code == 0, recorded.said
    figure = r": ([-\d.]+) us \(([-\d.]+) to ([-\d.]+)\), (\d+) pairs"
    [(call_us, *_, count)] = re.findall("a call without frames" + figure, recorded.said)
    [(_, low_us, *_)] = re.findall("frames of a call" + figure, recorded.said)
    assert int(count) > 250 and float(call_us) > 20
    assert float(low_us) <= 0.02 * float(call_us), recorded.said
