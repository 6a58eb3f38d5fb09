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
    return [row["MODULE"] or None, row["CALL FUNCTION"], int(line)]


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


def stacks(recorded: Recorded, *words: str) -> list[tuple[list[str], int]]:
    """The stacks that `kprof` writes into a file, with their cycles."""
    path = recorded.output / "stacks.folded"
    done = run([os.environ["KPROF"], *words, "-o", str(path)], {})
    assert done.returncode == 0, done.stderr
    lines = [line.rpartition(" ") for line in path.read_text().splitlines() if line[0] != "["]
    return [(stack.split(";"), int(cycles)) for stack, _, cycles in lines]


FRAME = re.compile(r"(.+?)(?: \[(Transformer.*)\])? at transformer\.py:(\d+)$")


def call_of(stack: list[str]) -> tuple[str | None, str, int]:
    """Module, function and line of the innermost function of a stack."""
    frames = [frame.groups() for frame in map(FRAME.match, stack) if frame]
    modules = [module for _, module, _ in frames if module]
    return modules[-1] if modules else None, frames[-1][0], int(frames[-1][2])


def test_stacks_go_from_the_program_to_its_zones(model):
    """Functions are those that the program itself knows; cycles are those of the chip's own stacks."""
    capture = str(next(model.output.glob(".logs/*.kprof")))
    called = stacks(model, "export", capture, "-f", "folded-calls")
    calls = expected(model)
    found = {call_of(stack) for stack, _ in called}
    assert found == {tuple(call) for call in calls["eager"] + calls["traced"]}
    inner = [" [Transformer]", " [Transformer.decoder.layers.", " [Transformer.decoder.layers."]
    for stack, _ in called:
        assert stack[1].startswith("<module> at transformer.py:")
        module = call_of(stack)[0] or ""
        # Also a part of a layer that the program calls by itself is told with its place in the model.
        if re.match(r"Transformer\.decoder\.layers\.\d\.\w", module) and "mlp.up" not in module:
            assert all(part in frame for part, frame in zip(inner, stack[2:5])), stack
    sums: dict[tuple, int] = collections.Counter()
    for stack, cycles in called:
        (risc,) = (at for at, frame in enumerate(stack) if frame in RISCS)
        sums[(stack[0], *stack[risc:])] += cycles
    chip = stacks(model, "export", capture, "-f", "folded-chip")
    assert sums == {tuple(stack): cycles for stack, cycles in chip}


RISCS = ("BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2")


def test_stacks_go_from_the_program_to_lines_of_kernels(variables, tmp_path):
    recorded = recorded_in(tmp_path, variables, "loop.py", "2", options=("--lines",))
    assert recorded.exit_code == 0, recorded.said
    called = stacks(recorded, "lines", str(recorded.output))
    done = run([os.environ["KPROF"], "lines", str(recorded.output), "--json"], {})
    rows = json.loads(done.stdout)["lines"]
    assert sum(cycles for _, cycles in called) == sum(row["total_cycles"] for row in rows)
    # Each op is called by the program, and not by another op.
    cycles = collections.Counter()
    for stack, count in called:
        (risc,) = (at for at, frame in enumerate(stack) if frame in RISCS)
        assert re.match(r".+ at loop\.py:\d+$", stack[risc - 2]), stack
        cycles[stack[risc - 1]] += count
    by_op = collections.Counter()
    for row in rows:
        by_op[row["op_name"]] += row["total_cycles"]
    assert cycles == by_op and len(by_op) > 0
    # Lines of kernels end the stacks.
    assert any(re.search(r" at \w+\.(?:cpp|h|hpp):\d+$", stack[-1]) for stack, _ in called)


def test_modules_are_slices_from_their_first_op_to_their_last(model):
    """Slices of modules in a trace, against the starts and ends of the ops that the trace has."""
    capture = str(next(model.output.glob(".logs/*.kprof")))
    path = model.output / "trace.json"
    done = run([os.environ["KPROF"], "export", capture, "-o", str(path)], {})
    assert done.returncode == 0, done.stderr
    events = json.loads(path.read_text())["traceEvents"]
    # In the order of their starts. Replayed ops may overlap, in rows of their own.
    ops = [event for event in events if event.get("cat") == "op"]
    begun, spans = collections.defaultdict(list), []
    for event in (event for event in events if event["tid"] >= 1_000_000):
        row = event["tid"] - 1_000_000
        if event["ph"] == "B":
            begun[row].append((f"{row} {event['args']['module']}", event["ts"]))
        elif event["ph"] == "E":
            spans.append((*begun[row].pop(), event["ts"]))

    def modules(op: dict) -> list[str]:
        module = op["args"].get("module", "").replace("[out.proj]", "[out\0proj]")
        parts = module.split(".") if module else []
        return [".".join(parts[: depth + 1]).replace("\0", ".") for depth in range(len(parts))]

    # Ops of each module and row, with no op of another module between them.
    runs: dict[str, list[list[float]]] = collections.defaultdict(list)
    for number, op in enumerate(ops):
        for name in modules(op):
            own = runs[f"{op['tid']} {name}"]
            if not own or any(name not in modules(other) for other in ops[own[-1][2] : number]):
                own.append([op["ts"], 0, 0])
            own[-1][1:] = [op["ts"] + op["dur"], number]
    told = sorted((name, start, end) for name, own in runs.items() for start, end, _ in own)
    found = sorted(spans)
    assert [name for name, *_ in found] == [name for name, *_ in told]
    for (_, *one), (_, *other) in zip(found, told):
        assert one == pytest.approx(other, abs=0.0011)


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
