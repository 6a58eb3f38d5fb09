"""Compares what `kprof record` costs a program with what Tracy's own capture costs it.

    overhead.py KPROF CAPTURE WORK [ROUNDS]

KPROF is the program, CAPTURE the tool of Tracy that the package iree-base-runtime carries, WORK a
folder. One client serves both: that of Tracy 0.12.2, which says that it speaks protocol 72, the
only one that this tool knows; both have the same items. The program of this folder records a
million zones of ten threads, messages and plots. Each round runs it alone, under the tool and
under kprof; figures are of the program itself, from its start until it has sent everything.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

ZONES, THREADS = 1_000_000, 10
HERE = pathlib.Path(__file__).parent
CLIENT, LIBRARY = "0.18.2", "0.26.0"
MANIFEST = f"""[package]
name = "tracy-load"
version = "0.1.0"
edition = "2024"

[workspace]

[dependencies]
tracy-client = {{ version = "={CLIENT}", default-features = false, features = ["enable", "only-localhost", "only-ipv4"] }}
tracy-client-sys = "={LIBRARY}"
{{patch}}
[profile.dev]
opt-level = 2
"""
PATCH = """
[patch.crates-io]
tracy-client-sys = { path = "sys" }
"""
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TRACY_PORT"}


def build(work):
    """Builds the program with the client that both sides understand."""
    shutil.copytree(HERE / "src", work / "src", dirs_exist_ok=True)
    manifest = work / "Cargo.toml"
    if not (work / "sys").exists():
        manifest.write_text(MANIFEST.replace("{patch}", ""))
        listed = subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=work, check=True,
                                capture_output=True)
        packages = json.loads(listed.stdout)["packages"]
        [source] = [each["manifest_path"] for each in packages if each["name"] == "tracy-client-sys"]
        shutil.copytree(pathlib.Path(source).parent, work / "sys")
        header = work / "sys/tracy/common/TracyProtocol.hpp"
        text = header.read_text()
        assert text.count("ProtocolVersion = 74") == 1, "expected protocol 74"
        header.write_text(text.replace("ProtocolVersion = 74", "ProtocolVersion = 72"))
    manifest.write_text(MANIFEST.replace("{patch}", PATCH))
    subprocess.run(["cargo", "build", "-q"], cwd=work, check=True)
    return work / "target/debug/tracy-load"


# Measures the program below it, whoever starts it.
TIMED = """
import json, resource, subprocess, sys, time
begun = time.monotonic()
code = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
json.dump([time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024], open(sys.argv[1], "w"))
sys.exit(code)
"""


def timed(work, load):
    account = work / "account"
    words = [sys.executable, "-c", TIMED, work / "times", load, ZONES, THREADS, account]
    return [str(word) for word in words]


def run_alone(work, load, _tool):
    subprocess.run(timed(work, load), check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)


def run_capture(work, load, tool):
    with open(work / "capture.log", "w") as log:
        server = subprocess.Popen([tool, "-f", "-o", work / "capture.tracy"], stdout=log, stderr=log)
        environment = {**ENVIRONMENT, "TRACY_NO_EXIT": "1"}
        subprocess.run(timed(work, load), check=True, env=environment, stdout=subprocess.DEVNULL)
        assert server.wait(120) == 0
    zones = re.search(r"Zones: ([\d,]+)", (work / "capture.log").read_text())
    assert int(zones[1].replace(",", "")) == ZONES + 1, zones[1]


def run_kprof(work, load, kprof):
    arguments = [kprof, "record", "--json", "-o", work / "out", "--", *timed(work, load)]
    output = subprocess.run(arguments, check=True, env=ENVIRONMENT, capture_output=True).stdout
    [process] = json.loads(output.splitlines()[-1])["processes"]
    assert process["zones"] == ZONES + 1 and not process["damage"], process


def main():
    kprof, tool = (os.path.abspath(name) for name in sys.argv[1:3])
    work = pathlib.Path(sys.argv[3]).absolute()
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 9
    work.mkdir(parents=True, exist_ok=True)
    load = build(work)
    ways = {"alone": (run_alone, None), "Tracy's capture": (run_capture, tool),
            "kprof record": (run_kprof, kprof)}
    figures = collections.defaultdict(list)
    for _ in range(rounds):
        for way, (run, server) in ways.items():
            run(work, load, server)
            figures[way].append(json.loads((work / "times").read_text()))
            time.sleep(0.2)
    print(f"{ZONES:,} zones of {THREADS} threads, {rounds} rounds: median (least)")
    for way, rows in figures.items():
        elapsed, used, memory = zip(*rows)
        print(f"{way:16} {statistics.median(elapsed):6.2f} s ({min(elapsed):.2f})"
              f" {statistics.median(used):6.2f} s of processor ({min(used):.2f})"
              f" {statistics.median(memory):6.0f} MiB")
    column = lambda way, place: [row[place] for row in figures[way]]
    for place, what in (0, "elapsed time"), (1, "processor time"):
        ours, theirs = column("kprof record", place), column("Tracy's capture", place)
        is_worse = min(ours) > min(theirs) and statistics.median(ours) > statistics.median(theirs)
        assert not is_worse, f"kprof record costs the program more {what} than Tracy's capture"
    print("2 passed, 0 failed")


main()
