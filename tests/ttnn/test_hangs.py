"""Where the RISCs stand in a launch of a stock ttnn that never ends, and what is kept of it."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from test_process import CHIP, HERE, cache, run, variables

__all__ = ["cache", "variables"]

CORES = {"wormhole_b0": [(1, 1), (2, 1)], "blackhole": [(1, 2), (2, 2)]}
"""The cores (0,0) and (1,0) of ttnn, on NoC 0."""
PUSH = {
    "BRISC": {
        "state": "waits",
        "waits_for": "CB_WAIT 3",
        "polled_value": 1,
        "signalled_by": "NCRISC",
        "zone_name": "WRITES",
        "mark": "// a push is missing",
    },
    "NCRISC": {"state": "ended"},
}
ENDLESS = {
    "NCRISC": {"state": "runs", "waits_for": None, "zone_name": "COMPUTES", "mark": "number"},
    "BRISC": {"state": "waits", "waits_for": "NCRISC", "code": "firmware"},
}
EXPECTED = {"push": PUSH, "endless": ENDLESS}


def source_line(file: str, line: int) -> str:
    return pathlib.Path(file).read_text().splitlines()[int(line) - 1]


def check(rows: list[dict], chip: str, kind: str) -> None:
    assert [(row["core_x"], row["core_y"]) for row in rows[::2]] == CORES[chip]
    assert len(rows) == 2 * len(EXPECTED[kind]), rows
    for number, row in enumerate(rows):
        assert row["op_name"] == "GenericOpDeviceOperation", row
        expected = dict(EXPECTED[kind][row["risc"]])
        mark = expected.pop("mark", None)
        # The cause comes first.
        assert row["is_cause"] is (number % 2 == 0) is (mark is not None), row
        for key, value in expected.items():
            assert row[key] == value, (key, row)
        if mark is None:
            continue
        assert row["is_moving"] is True and row["code"] == "kernel", row
        # The innermost function of a wait is in tt-metal's header.
        frames = [(row["file"], row["line"])]
        frames += re.findall(r" at (\S+):(\d+)", row["inlined_into"] or "")
        assert any(mark in source_line(*frame) for frame in frames), row


def hung(words: list[str], variables: dict[str, str], folder: pathlib.Path):
    """Starts a program that hangs; returns the process and the id of the program in it."""
    environment = {**os.environ, **variables}
    environment.pop("TT_METAL_SIMULATOR", None)
    output, said = (folder / "output").open("w"), (folder / "said").open("w")
    process = subprocess.Popen(words, env=environment, cwd=folder, stdout=output, stderr=said)
    while "= hangs" not in (folder / "output").read_text():
        assert process.poll() is None, (folder / "said").read_text()
        time.sleep(0.1)
    (of_program,) = folder.glob("out/.logs/process-*")
    return process, of_program.name.partition("-")[2]


def wait_until(process: subprocess.Popen, is_reached) -> None:
    for _ in range(600):
        if is_reached():
            return
        assert process.poll() is None, "the program has ended"
        time.sleep(0.2)
    raise AssertionError("expected a state that the program did not reach in 120 s")


def standing(kprof: str, program: str) -> list[dict]:
    asked = run([kprof, "attach", "--where", program, "--json"], {})
    assert asked.returncode == 0, asked.stderr
    return json.loads(asked.stdout)["standing"]


def is_open(kprof: str, program: str) -> bool:
    """Returns true if the launch that hangs is open, and the zones of its causes are known."""
    rows = standing(kprof, program)
    return len(rows) == 4 and all(row["zone_name"] for row in rows if row["is_cause"])


def ended(process: subprocess.Popen, number: int) -> int:
    process.send_signal(number)
    return process.wait(timeout=300)


@pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")
@pytest.mark.parametrize("chip", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("kind", EXPECTED)
def test_a_launch_that_hangs_is_told_of_while_it_does_and_at_the_end(kind, chip, tmp_path, variables):
    kprof, out = os.environ["KPROF"], tmp_path / "out"
    words = [kprof, "record", "--simulate", chip, "--json", "-o", str(out), "--"]
    words += [sys.executable, str(HERE / "programs" / "hung.py"), kind]
    process, program = hung(words, variables, tmp_path)
    try:
        # The kernels are compiled and launched after the program has said that it hangs.
        wait_until(process, lambda: is_open(kprof, program))
        check(standing(kprof, program), chip, kind)
        text = run([kprof, "attach", "--where", program], {}).stdout
        assert text.startswith("A launch is open on 2 cores\n"), text
        (x, y) = CORES[chip][0]
        assert f"chip 0, core ({x},{y}) and 1 other core: launch 0 of GenericOpDeviceOperation is open" in text
        exit_code = ended(process, signal.SIGTERM)
    finally:
        process.kill()
    said = (tmp_path / "said").read_text()
    assert exit_code == 128 + 15, said
    document = json.loads((tmp_path / "output").read_text().splitlines()[-1])
    check(document["standing"], chip, kind)
    assert f"chip 0, core ({x},{y}) and 1 other core: launch 0 of GenericOpDeviceOperation did not end" in said
    assert not list(out.glob(".logs/*.json"))
    # Every zone that the kernels have recorded is kept.
    (capture,) = out.glob(".logs/*.kprof")
    report = json.loads(run([kprof, "report", str(capture), "--json", "--rows", "0"], {}).stdout)
    zones = {row["name"]: row["count"] for row in report["zones"]}
    of_kernels = {name: zones.get(name, 0) for name in ("READS", "FIRST", "WRITES", "COMPUTES")}
    open_zones = {zone["name"]: zone["risc_count"] for zone in report["unfinished"]["open_zones"]}
    if kind == "push":
        assert of_kernels == {"READS": 2, "FIRST": 2, "WRITES": 0, "COMPUTES": 0}
        assert open_zones == {"WRITES": 2}
    else:
        assert of_kernels == dict.fromkeys(of_kernels, 0)
        assert open_zones == {"COMPUTES": 2, "BRISC-FW": 2}
    assert report["lost"]["records"] == 0, report["lost"]


@pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")
def test_a_second_interrupt_ends_a_call_that_never_returns(tmp_path, variables):
    kprof, out = os.environ["KPROF"], tmp_path / "out"
    words = [kprof, "record", "--simulate", "wormhole_b0", "--json", "-o", str(out), "--"]
    words += [sys.executable, str(HERE / "programs" / "hung.py"), "push"]
    process, program = hung(words, variables, tmp_path)
    told = tmp_path / "said"
    try:
        wait_until(process, lambda: (out / ".logs").is_dir() and is_open(kprof, program))
        process.send_signal(signal.SIGINT)
        # Interrupts before the user is told change nothing.
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        wait_until(process, lambda: "press Ctrl-C again" in told.read_text())
        exit_code = ended(process, signal.SIGINT)
    finally:
        process.kill()
    said = told.read_text()
    assert exit_code == 128 + 2, said
    assert said.count("press Ctrl-C again") == 1, said
    document = json.loads((tmp_path / "output").read_text().splitlines()[-1])
    check(document["standing"], "wormhole_b0", "push")
    (capture,) = out.glob(".logs/*.kprof")
    report = json.loads(run([kprof, "report", str(capture), "--json", "--rows", "0"], {}).stdout)
    assert {zone["name"]: zone["risc_count"] for zone in report["unfinished"]["open_zones"]} == {"WRITES": 2}
    assert report["lost"]["records"] == 0, report["lost"]


DONE = 20
"""Zones that `MANY` of hung.py records on each core before it hangs."""
CHUNK = 8
"""Cells that a stream publishes together. A zone takes one; those of the last chunk are not published yet."""


@pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")
@pytest.mark.parametrize("chip", ["wormhole_b0", "blackhole"])
def test_a_hang_of_streaming_kernels_keeps_what_they_published_and_says_what_is_unknown(chip, tmp_path, variables):
    kprof, out = os.environ["KPROF"], tmp_path / "out"
    words = [kprof, "record", "--stream", "--simulate", chip, "--json", "-o", str(out), "--"]
    words += [sys.executable, str(HERE / "programs" / "hung.py"), "many"]
    process, program = hung(words, variables, tmp_path)

    def is_hung() -> bool:
        rows = standing(kprof, program)
        return len(rows) == 4 and all(row["waits_for"] == "CB_WAIT 3" for row in rows if row["is_cause"])

    try:
        wait_until(process, is_hung)
        rows = standing(kprof, program)
        text = run([kprof, "attach", "--where", program], {}).stdout
        exit_code = ended(process, signal.SIGTERM)
    finally:
        process.kill()
    said = (tmp_path / "said").read_text()
    assert exit_code == 128 + 15, said
    document = json.loads((tmp_path / "output").read_text().splitlines()[-1])
    for found in (rows, document["standing"]):
        causes = [row for row in found if row["is_cause"]]
        assert [(row["core_x"], row["core_y"]) for row in causes] == CORES[chip]
        for row in causes:
            assert (row["risc"], row["state"], row["zone_name"]) == ("BRISC", "waits", None), row
            frames = [(row["file"], row["line"])]
            frames += re.findall(r" at (\S+):(\d+)", row["inlined_into"] or "")
            assert any(PUSH["BRISC"]["mark"] in source_line(*frame) for frame in frames), row
    assert "; its open zones are unknown" in text, text
    assert "; its open zones are unknown" in said, said
    (capture,) = out.glob(".logs/*.kprof")
    report = json.loads(run([kprof, "report", str(capture), "--json", "--rows", "0"], {}).stdout)
    for tables in (report, document):
        zones = {row["name"]: row["count"] for row in tables.get("zones", report["zones"])}
        counts = {name: zones.get(name, 0) for name in ("READS", "DONE", "WRITES")}
        # The kernel with READS has ended, which publishes all of its cells. How full the last chunk of the
        # other kernel is, depends on the op before.
        assert (counts["READS"], counts["WRITES"]) == (2, 0), counts
        assert 2 * (DONE - CHUNK) <= counts["DONE"] < 2 * DONE and counts["DONE"] % 2 == 0, counts
    lost, unfinished = report["lost"], report["unfinished"]
    assert lost["records"] is None and lost["is_lower_bound"] is True, lost
    assert any("had not ended" in reason for reason in lost["uncounted"]), lost
    assert unfinished["open_zones"] == [] and unfinished["unknown_count"] == 2, unfinished
    shown = run([kprof, "report", str(capture)], {}).stdout
    assert "in unknown zones: 2 RISCs, because a zone is streamed when it ends" in shown, shown


INTERRUPTED = """
import signal, sys, time
import tensors
device = tensors.open_device()
if sys.argv[1] == "handler":
    signal.signal(signal.SIGINT, lambda number, frame: print("= handled", flush=True))
print("= hangs", flush=True)
end = time.monotonic() + 14
while time.monotonic() < end:
    try:
        time.sleep(0.1)
    except KeyboardInterrupt:
        print("= interrupted", flush=True)
print("= ended", flush=True)
"""


@pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")
@pytest.mark.parametrize("kind", ["handler", "exception"])
def test_a_program_that_handles_interrupts_is_not_ended_by_them(kind, tmp_path, variables):
    kprof, out = os.environ["KPROF"], tmp_path / "out"
    program = tmp_path / "interrupted.py"
    program.write_text(INTERRUPTED)
    words = [kprof, "record", "--simulate", "wormhole_b0", "-o", str(out), "--"]
    words += [sys.executable, str(program), kind]
    process, _ = hung(words, {**variables, "PYTHONPATH": str(HERE / "programs")}, tmp_path)
    try:
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(6)
        assert process.wait(timeout=300) == 0
    finally:
        process.kill()
    output, said = ((tmp_path / name).read_text() for name in ("output", "said"))
    word = {"handler": "= handled", "exception": "= interrupted"}[kind]
    assert output.count(word) == 2 and "= ended" in output, output
    assert "Ctrl-C" not in said, said
