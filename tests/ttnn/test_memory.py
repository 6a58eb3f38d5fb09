"""Memory of stock ops: the table of a recording, and what the firmware and the program know of it."""

from __future__ import annotations

import json
import os
import pathlib

import pytest
from test_process import IS_FAST, SIMULATOR, cache, recorded_in, run, variables

__all__ = ["cache", "variables"]

OPTIONS = ("--simulate", SIMULATOR, "--device-memory-profiler")


class Memory:
    """What `kprof memory` shows of a recording, and the truth."""

    def __init__(self, recorded, truth) -> None:
        self.recorded = recorded
        self.truths = json.loads(truth.read_text())
        shown = self.shown("--json")
        assert shown.returncode == 0, shown.stderr
        self.document = json.loads(shown.stdout)
        self.rows = self.document["memory"]

    def shown(self, *options):
        return run([os.environ["KPROF"], "memory", str(self.recorded.output), *options], {})

    def of(self, program: int) -> list[dict]:
        return [row for row in self.rows if row["run_host_id"] >> 10 == program]


@pytest.fixture(scope="module")
def memory(tmp_path_factory, variables):
    folder = tmp_path_factory.mktemp("memory")
    truth = folder / "truth.json"
    recorded = recorded_in(folder, variables, "memory.py", str(truth), options=OPTIONS)
    assert recorded.exit_code == 0, recorded.said
    if "only kprof's own simulated chip records them" in recorded.said:
        pytest.skip("the simulator records no launch messages")
    return Memory(recorded, truth)


def cores_of(row: dict) -> set[str]:
    """The cores of a row, from the text of their rectangles."""
    found = set()
    for part in row["core_ranges"].split():
        first, _, last = part.partition(":")
        x, y = map(int, first.split("-"))
        last_x, last_y = map(int, (last or first).split("-"))
        found |= {f"{a}-{b}" for a in range(x, last_x + 1) for b in range(y, last_y + 1)}
    assert len(found) == row["core_count"]
    return found


def sides(shape: str) -> list[str]:
    """The sides of a shape such as `[1, 1, 64, 64] BFLOAT16 TILE`; ops may have a view with more ones."""
    found = shape.partition("]")[0].strip("[").split(", ")
    while found and found[0] == "1":
        found.pop(0)
    return found


def test_launch_messages_are_those_in_every_core(memory):
    assert len(memory.truths) >= 20
    checked = 0
    for truth in memory.truths:
        found = {}
        for row in memory.of(truth["program"]):
            if row["core_ranges"] is None or row["kind"] in ("profiler", "configuration"):
                continue
            assert row["launches"] == 1, row
            for core in cores_of(row):
                of_core = found.setdefault(core, {"kernels": {}, "circular_buffers": {}})
                place = [row["start"], row["size_bytes"]]
                if row["kind"] == "kernel":
                    of_core["kernels"][row["content"]] = place
                else:
                    assert row["kind"] == "circular buffer", row
                    pages = [row["page_count"], row["page_bytes"]]
                    of_core["circular_buffers"][str(row["number"])] = place + pages
        assert truth["cores"], truth["op"]
        assert found == truth["cores"], truth["op"]
        checked += len(found)
    assert checked > 20


def test_every_tensor_is_one_of_the_program(memory):
    for before, after in zip(memory.truths, memory.truths[1:]):
        # What was there after an op is there at the next, which adds its result.
        at_launch = {(region, start): (size, sides(shape)) for region, size, start, shape in after["tensors"]}
        found = {
            (row["memory"], row["start"]): (row["size_bytes"], sides(row["content"]))
            for row in memory.of(after["program"])
            if row["kind"] == "tensor"
        }
        assert set(at_launch) <= set(found), (after["op"], before["op"])
        for key, value in at_launch.items():
            assert found[key] == value, (after["op"], key)


def test_every_byte_counts_once_and_the_peak_is_right(memory):
    peaks = []
    for truth in memory.truths:
        rows = [row for row in memory.of(truth["program"]) if row["memory"] == "L1"]
        common = [row for row in rows if row["core_ranges"] is None]
        for core in truth["cores"]:
            used = set()
            own = [row for row in rows if row["core_ranges"] is not None and core in cores_of(row)]
            counted = 0
            for row in common + own:
                used |= set(range(row["start"] // 2, (row["start"] + row["size_bytes"]) // 2))
                counted += row["counted_bytes"]
            assert counted == 2 * len(used), (truth["op"], core)
            peaks.append((counted, truth["program"], core))
    most = max(counted for counted, _, _ in peaks)
    (peak,) = [peak for peak in memory.document["peaks"] if peak["memory"] == "L1"]
    assert peak["used_bytes"] == most
    assert not peak["is_lower_bound"]
    first = min(program for counted, program, _ in peaks if counted == most)
    assert peak["run_host_id"] >> 10 == first
    fullest = {core for counted, program, core in peaks if (counted, program) == (most, first)}
    assert cores_of({**peak, "core_count": len(fullest)}) <= fullest
    parts = [peak[f"{part}_bytes"] for part in ("reserved", "circular_buffer", "buffer")]
    assert sum(parts) == most
    assert peak["free_bytes"] == peak["capacity_bytes"] - most


def test_owners_and_last_uses_are_told(memory):
    by_name = {}
    for row in memory.of(memory.truths[-1]["program"]):
        if row["kind"] == "tensor":
            by_name.setdefault(row["owner"], []).append(row)
    assert len(by_name["ttnn.matmul"]) == 2
    last = {row["last_use_run_host_id"] >> 10 for row in by_name["ttnn.matmul"]}
    matmuls = {truth["program"] for truth in memory.truths if truth["op"] == "matmul"}
    # Nothing takes their results.
    assert last == matmuls
    assert "that no later op has as a tensor" in memory.shown().stdout


def test_every_op_and_buffer_has_the_line_of_its_call(memory):
    program = str(pathlib.Path(__file__).parent / "programs" / "memory.py")
    peaks = {truth["program"]: truth["line"] for truth in memory.truths}
    for peak in memory.document["peaks"]:
        assert peak["location"] == f"{program}:{peaks[peak['run_host_id'] >> 10]}"
        assert peak["module"] is None
    before, checked = set(), 0
    for truth in memory.truths:
        rows = [row for row in memory.of(truth["program"]) if row["kind"] == "tensor"]
        for row in rows:
            # What is there for the first time is the result of the op, or was made before the first one.
            if before and (row["memory"], row["start"], row["content"]) not in before and row["owner"]:
                assert row["owner_location"] == f"{program}:{truth['line']}", (truth["op"], row)
                checked += 1
        before = {(row["memory"], row["start"], row["content"]) for row in rows}
    assert checked >= 15
    # Tensors that were made without a launch are known, too: the line is in the program's own helper.
    first = [row for row in memory.of(memory.truths[0]["program"]) if row["kind"] == "tensor"]
    made = [row["owner_location"] for row in first if row["owner"] and row["owner_location"]]
    assert made and all("/programs/" in location for location in made), first


def test_makers_sum_up_to_the_peak(memory):
    for peak in memory.document["peaks"]:
        own = [maker for maker in memory.document["makers"] if maker["memory"] == peak["memory"]]
        assert sum(maker["bytes"] for maker in own) == peak["used_bytes"]
    makers = {maker["kind"]: maker for maker in memory.document["makers"] if maker["memory"] == "L1"}
    peak = memory.document["peaks"][0]
    truth = next(of for of in memory.truths if of["program"] == peak["run_host_id"] >> 10)
    # The configuration in front of kernels is theirs.
    code = sum(size for _, size in truth["cores"][first_core(peak)]["kernels"].values())
    assert code <= makers["kernel"]["bytes"] == peak["kernel_bytes"] < peak["reserved_bytes"]
    assert makers["circular buffer"]["range_count"] == len(truth["cores"][first_core(peak)]["circular_buffers"])


def first_core(peak: dict) -> str:
    return peak["core_ranges"].split()[0].partition(":")[0]


def test_counts_say_what_is_unknown(memory):
    counts = memory.document["counts"]
    assert counts["ops"] == len(memory.truths)
    assert {value for key, value in counts.items() if key != "ops"} == {0}
    one = memory.shown("--op", "Matmul", "--core", "1-1" if "1-1" in memory.truths[7]["cores"] else "1-2")
    assert one.returncode == 0, one.stderr
    assert "during MatmulDeviceOperation" in one.stdout
    other = memory.shown("--op", "Softmax")
    assert other.returncode == 2
    assert "expected an op with `Softmax` in its name" in other.stderr


def rows_of(recorded) -> tuple[dict, list[dict]]:
    assert recorded.exit_code == 0, recorded.said
    shown = run([os.environ["KPROF"], "memory", str(recorded.output), "--json"], {})
    assert shown.returncode == 0, shown.stderr
    document = json.loads(shown.stdout)
    return document["counts"], document["memory"]


@pytest.mark.skipif(not IS_FAST, reason="traces need fast dispatch")
def test_replays_of_a_trace_use_the_memory_of_their_ops(memory, tmp_path, variables):
    counts, rows = rows_of(recorded_in(tmp_path, variables, "ops.py", options=OPTIONS))
    assert counts["ops_without_launch_messages"] == 0

    def of(program: int, kind: str) -> list[tuple]:
        names = ("core_ranges", "number", "content", "start", "size_bytes", "page_count", "page_bytes")
        return sorted(
            tuple(str(row[name]) for name in names if kind != "kernel" or name != "start")
            for row in rows
            if row["run_host_id"] >> 10 == program and row["kind"] == kind
        )

    for eager, traced in ((3, 6), (4, 7), (5, 8)):
        for kind in ("circular buffer", "kernel"):
            assert of(eager, kind), eager
            assert of(eager, kind) == of(traced, kind), (eager, kind)
        launches = {row["launches"] for row in rows if row["run_host_id"] >> 10 == traced and row["core_ranges"]}
        assert launches == {10}
    reserved = {row["size_bytes"] for row in rows if row["kind"] == "reserved"}
    # What belongs to kernels is within what tt-metal reserves.
    for row in rows:
        if row["kind"] in ("kernel", "configuration"):
            assert row["start"] + row["size_bytes"] <= min(reserved), row


def test_a_device_that_is_opened_again_has_its_launches_and_no_old_buffers(memory, tmp_path, variables):
    counts, rows = rows_of(recorded_in(tmp_path, variables, "opens.py", options=OPTIONS))
    assert counts["ops"] >= 3
    assert {value for key, value in counts.items() if key != "ops"} == {0}
    tensors = {}
    for row in rows:
        if row["kind"] == "tensor":
            tensors.setdefault(row["run_host_id"], set()).add(row["start"])
    # Each device has the argument and the result of its op.
    assert {len(found) for found in tensors.values()} == {2}, tensors


def test_explain_knows_whether_tensors_in_dram_would_fit_into_l1(memory):
    shown = run([os.environ["KPROF"], "explain", str(memory.recorded.output), "--json"], {})
    assert shown.returncode == 0, shown.stderr
    rooms = json.loads(shown.stdout)["l1_rooms"]
    assert 2 <= len(rooms) <= 3, rooms
    # What the allocator takes for the same tensors where the program has put them into L1.
    sizes = {}
    for row in memory.rows:
        if row["memory"] == "L1" and row["kind"] == "tensor":
            sizes[row["content"]] = min(row["size_bytes"], sizes.get(row["content"], row["size_bytes"]))
    compared = 0
    for room in rooms:
        op = str(room["run_host_id"] >> 10)
        peak = json.loads(memory.shown("--json", "--op", op).stdout)["peaks"][0]
        # An interleaved tensor needs the same addresses on every core.
        ranges = [row for row in memory.of(int(op)) if row["memory"] == "L1"]
        free, largest = 0, 0
        for row in sorted(ranges, key=lambda row: row["start"]):
            largest = max(largest, row["start"] - free)
            free = max(free, row["start"] + row["size_bytes"])
        assert room["largest_free_bytes"] == max(largest, peak["capacity_bytes"] - free)
        assert room["circular_buffer_bytes"] == peak["circular_buffer_bytes"]
        assert room["has_room"] == (room["needed_bytes"] <= room["largest_free_bytes"])
        content = room["sentence"].partition(" in DRAM, ")[2].partition(", would take")[0].removeprefix("such as ")
        if content in sizes:
            compared += 1
            assert room["needed_bytes"] == room["tensor_count"] * sizes[content], room
    assert compared >= 2
