"""Questions of agents about recordings of a stock ttnn, answered by the tools of `kprof mcp` as they describe themselves.

Each is answered by at most two calls, each of at most 4 kB. What is right is the programs' own arithmetic, or what they
themselves have read from the simulated chip.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import subprocess

import pytest
from test_process import HERE, IS_FAST, SIMULATOR, cache, recorded_in, variables

__all__ = ["cache", "variables"]

OPTIONS = ("-r", "--simulate", SIMULATOR, "--device-memory-profiler")
MOST_CALLS, MOST_BYTES = 2, 4096


class Agent:
    """A client of `kprof mcp` with one recording."""

    def __init__(self, path: pathlib.Path) -> None:
        self.server = subprocess.Popen(
            [os.environ["KPROF"], "mcp", "--root", "/", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.number = 0
        version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
        self.request("initialize", version)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.tools = {tool["name"]: tool for tool in self.request("tools/list", {})["tools"]}
        self.calls = 0
        self.questions = 0

    def send(self, message: dict) -> None:
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()

    def request(self, method: str, params: dict) -> dict:
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return json.loads(self.server.stdout.readline())["result"]

    def call(self, tool: str, **arguments) -> dict:
        """An answer, with its rows as dictionaries."""
        known = self.tools[tool]["inputSchema"]["properties"]
        assert set(arguments) <= set(known), f"{tool} does not describe {arguments}"
        text = self.request("tools/call", {"name": tool, "arguments": arguments})["content"][0]["text"]
        assert len(text.encode()) <= MOST_BYTES, (tool, arguments, len(text))
        self.calls += 1
        answer = json.loads(text)
        assert "error" not in answer, answer
        answer["rows"] = [dict(zip(answer["columns"], row)) for row in answer["rows"]]
        for row in answer["rows"]:
            for column, cell in row.items():
                assert cell is not None or answer["null_means"][column], (tool, column)
        return answer

    def ask(self, tool: str, **arguments) -> list[dict]:
        """The rows of a whole answer, which takes at most two calls."""
        before = self.calls
        answer = self.call(tool, **arguments)
        rows = answer["rows"]
        while answer["more"] is not None:
            assert self.calls - before < MOST_CALLS, f"{tool} {arguments}: {answer['row_count']} rows"
            answer = self.call("more", handle=answer["more"])
            rows += answer["rows"]
        self.questions += 1
        return rows

    def first(self, tool: str, **arguments) -> dict:
        """The first row of an answer that is sorted as it was asked."""
        self.questions += 1
        return self.call(tool, **arguments)["rows"][0]

    def fact(self, name: str) -> object:
        """A fact of the provenance."""
        return next(row["value"] for row in self.ask("provenance") if row["name"] == name)


@pytest.fixture(scope="module")
def model(tmp_path_factory, variables):
    """A recorded transformer, and what it has printed of its calls."""
    recorded = recorded_in(tmp_path_factory.mktemp("model"), variables, "transformer.py", options=OPTIONS)
    assert recorded.exit_code == 0, recorded.said
    told = next(json.loads(line) for line in recorded.said.splitlines() if line.startswith('{"eager"'))
    agent = Agent(next(recorded.output.glob(".logs/*.kprof")))
    # A library that was named by its path may be any simulator.
    agent.says_simulated = True if "Simulated times" in recorded.report else None
    return agent, told


def modules_of(told) -> collections.Counter:
    """Number of ops of each module and of those in it; the ops of a trace count at their capture and replays."""
    counts = collections.Counter()
    for module, *_ in told["eager"] + (4 if IS_FAST else 0) * told["traced"]:
        parts = (module or "").replace("[out.proj]", "[out\0proj]").split(".")
        counts.update(".".join(parts[:depth]).replace("\0", ".") for depth in range(1, len(parts) + 1))
    return counts


def test_questions_about_ops_modules_and_lines(model):
    agent, told = model
    counts = modules_of(told)
    (run,) = agent.ask("recordings")
    assert run["ops"] == len(told["eager"]) + (3 * len(told["traced"]) if IS_FAST else 0)
    assert agent.fact("is_simulated") is agent.says_simulated
    assert agent.fact("architecture") in ("wormhole_b0", "blackhole")
    assert agent.fact("file_kind") == "capture"
    assert agent.fact("launch_count") == run["ops"]
    assert agent.first("losses")["cause"] if run["lost_records"] else True
    # Which module has most ops, how many has one, and where is it in the tree?
    whole = agent.first("by", sort="op_count")
    assert (whole["name"], whole["op_count"]) == ("Transformer", counts["Transformer"])
    for path in ("layers.1.mlp", "layers.0.attention.q_proj", "layers.0.norms.1", "parts[out.proj]"):
        groups = {row["name"]: row for row in agent.ask("by", name=path) if row["op"] is None}
        assert groups, path
        for name, row in groups.items():
            assert row["op_count"] == counts[name], name
    attention = agent.ask("by", name="layers.0.attention")
    (one,) = [row for row in attention if row["name"] == "Transformer.decoder.layers.0.attention" and not row["op"]]
    inner = [row for row in attention if row["depth"] == one["depth"] + 1]
    times = [row["device_time_us"] for row in inner if row["device_time_us"] is not None]
    assert sum(times) == pytest.approx(one["device_time_us"], rel=1e-9)
    # Which line calls most ops? Which function?
    calls = told["eager"] + (4 if IS_FAST else 0) * told["traced"]
    lines = collections.Counter(line for *_, line in calls)
    most = agent.first("by", column="location", sort="op_count")
    path, _, line = most["name"].rpartition(":")
    assert pathlib.Path(path) == HERE / "programs" / "transformer.py"
    assert most["op_count"] == lines[int(line)] == max(lines.values())
    functions = collections.Counter(function for _, function, _ in calls)
    assert {row["name"] for row in agent.ask("by", column="function")} == set(functions)


def test_questions_about_the_memory_of_a_model(model):
    agent, told = model
    lines = {f"{HERE / 'programs' / 'transformer.py'}:{line}": module for module, _, line in told["eager"] + told["traced"]}
    peaks = {row["memory"]: row for row in agent.ask("memory")}
    assert set(peaks) == {"L1", "DRAM"}
    for peak in peaks.values():
        # The line that calls the op, and one of the modules that do.
        assert peak["location"] in lines
        assert peak["used_bytes"] <= peak["capacity_bytes"]
        assert peak["free_bytes"] == peak["capacity_bytes"] - peak["used_bytes"]
    assert peaks["L1"]["reserved_bytes"] + peaks["L1"]["circular_buffer_bytes"] + peaks["L1"]["buffer_bytes"] == (
        peaks["L1"]["used_bytes"]
    )
    makers = agent.ask("memory", part="makers", sort="bytes")
    for memory, peak in peaks.items():
        own = [row for row in makers if row["memory"] == memory]
        assert sum(row["bytes"] for row in own) == peak["used_bytes"]
    # A weight of 64 x 64 elements of two bytes has 4 tiles: one in each of some banks.
    tensors = agent.first("memory", part="map", sort="size_bytes", op=str(peaks["L1"]["run_host_id"] >> 10))
    assert tensors["size_bytes"] > 0
    outlived = agent.call("memory", part="outlived")
    assert outlived["row_count"] == len({(row["memory"], row["start"]) for row in outlived["rows"]}) or outlived["more"]
    assert agent.fact("ops_without_launch_messages_count") == 0


def test_questions_about_memory_that_the_program_has_read_from_the_chip(tmp_path_factory, variables):
    folder = tmp_path_factory.mktemp("memory")
    truth_file = folder / "truth.json"
    recorded = recorded_in(folder, variables, "memory.py", str(truth_file), options=OPTIONS[1:])
    assert recorded.exit_code == 0, recorded.said
    truths = json.loads(truth_file.read_text())
    agent = Agent(next(recorded.output.glob(".logs/*.kprof")))
    assert agent.fact("ops_with_memory_count") == len(truths)
    by_id = {truth["program"]: truth for truth in truths}
    for name in ("matmul", "concat", "transpose"):
        truth = next(truth for truth in truths if truth["op"] == name)
        # Circular buffers of the first core, as the chip had them.
        core, of_core = next(iter(truth["cores"].items()))
        rows = agent.ask("memory", part="map", op=str(truth["program"]), core=core, kind="circular buffer")
        x, y = map(int, core.split("-"))
        own = {
            row["number"]: [row["start"], row["size_bytes"]]
            for row in rows
            if holds(row["core_ranges"], x, y)
        }
        assert own == {int(number): place[:2] for number, place in of_core["circular_buffers"].items()}, name
        (of_op,) = agent.ask("memory", part="ops", op=str(truth["program"]))
        assert of_op["location"].endswith(f"memory.py:{truth['line']}")
    (peak,) = [row for row in agent.ask("memory") if row["memory"] == "L1"]
    truth = by_id[peak["run_host_id"] >> 10]
    assert peak["location"].endswith(f"memory.py:{truth['line']}")
    made = {row["kind"]: row for row in agent.ask("memory", part="makers", sort="bytes") if row["memory"] == "L1"}
    assert made["circular buffer"]["location"] == peak["location"]
    rooms = agent.ask("explain", part="rooms")
    assert rooms and all(row["has_room"] == (row["needed_bytes"] <= row["largest_free_bytes"]) for row in rooms)


def holds(ranges: str, x: int, y: int) -> bool:
    """Whether a core is in a text of rectangles."""
    for part in (ranges or "").split():
        first, _, last = part.partition(":")
        (left, top), (right, bottom) = (map(int, corner.split("-")) for corner in (first, last or first))
        if left <= x <= right and top <= y <= bottom:
            return True
    return False


def test_questions_about_programs_that_were_built_again(tmp_path_factory, variables):
    folder = tmp_path_factory.mktemp("programs")
    planted_file = folder / "planted.json"
    recorded = recorded_in(folder, variables, "rebuilt.py", str(planted_file), options=OPTIONS[:3])
    assert recorded.exit_code == 0, recorded.said
    planted = json.loads(planted_file.read_text())
    agent = Agent(next(recorded.output.glob(".logs/*.kprof")))
    sums = agent.call("programs")
    assert sums["call_count"] == len(planted)
    assert sums["built_count"] == sum(is_built for _, is_built, _ in planted)
    reasons = {launch: reason for launch, _, reason in planted if reason}
    assert sums["rebuilt_count"] == len(reasons)
    assert sums["unknown_count"] == 0
    rebuilds = agent.ask("programs", part="rebuilds")
    found = {row["run_host_id"] >> 10: row["reason"] for row in rebuilds}
    assert set(found) == set(reasons)
    for launch, reason in reasons.items():
        if isinstance(reason, list):
            assert all(f"{name}: " in found[launch] for name in reason), (found[launch], reason)
    assert sum(row["built_count"] for row in agent.ask("programs", sort="built_count")) == sums["built_count"]


def test_questions_about_what_follows_a_signpost(tmp_path, variables):
    recorded = recorded_in(tmp_path, variables, "ends.py", "without closing the device", options=OPTIONS[1:])
    assert recorded.exit_code == 0, recorded.said
    agent = Agent(next(recorded.output.glob(".logs/*.kprof")))
    # One op precedes the program's only signpost, and one follows it.
    groups = {row["name"]: row["op_count"] for row in agent.ask("by", column="signpost")}
    assert groups == {None: 1, "between": 1}
