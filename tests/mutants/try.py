#!/usr/bin/env python3
"""Tries wrong code: each change must make the tests fail.

Run by hand from the root of a clean checkout; a change is undone before the next one.

    python3 tests/mutants/try.py            # all of them
    python3 tests/mutants/try.py settling   # those whose name contains the word
"""

import pathlib
import subprocess
import sys

READER = "host-reader/reader/src/"
TRUTH = ["cargo", "test", "--offline", "-q", "-p", "tests", "--test", "system", "truth::what"]
CLOCK = ["cargo", "test", "--offline", "-q", "-p", "kprof-clock-fit"]

# Name, file, text that is there once, text in its place, the tests that must fail.
MUTANTS = [
    (
        "last record of odd lanes lost",
        READER + "decode/mod.rs",
        "        self.lower_last_time();\n        let Self",
        "        self.lower_last_time();\n"
        "        if self.lane.heads.len() % 2 == 1 && self.lane.heads.last().is_some_and(|h| h.data_count() == 0) {\n"
        "            self.lane.heads.pop();\n            self.lane.times.pop();\n        }\n        let Self",
        TRUTH,
    ),
    (
        "control settling off",
        READER + "read/plan.rs",
        "    const ATTEMPTS: usize = 8;\n",
        "    const ATTEMPTS: usize = 0;\n",
        TRUTH,
    ),
    (
        "losses counted again at each read",
        READER + "read/memory.rs",
        "            counters: Some(Counters::of(control)),",
        "            counters: self.counters,",
        TRUTH,
    ),
    (
        "stale runs accepted",
        READER + "decode/words.rs",
        "self.context.lane_generation.is_none_or(|generation| header.generation == generation)",
        "header.generation < 8",
        TRUTH,
    ),
    (
        "leftovers accepted",
        READER + "decode/damage.rs",
        "        self.context.lane_generation?;\n",
        "        self.context.lane_generation.filter(|_| false)?;\n",
        TRUTH,
    ),
    (
        "lanes read from their beginning every time",
        READER + "read/memory.rs",
        "                *words = lane.end;",
        "                *words = 0;",
        TRUTH,
    ),
    (
        "range of stamps not taken from the clock",
        READER + "decode/time.rs",
        "        self.epoch = epoch;\n",
        "",
        TRUTH,
    ),
    (
        "read acknowledged although a lane could not be read",
        READER + "read/acknowledge.rs",
        "if !is_whole || run_counter",
        "if run_counter",
        ["cargo", "test", "--offline", "-q", "-p", "kprof-reader", "--lib", "read::tests"],
    ),
    (
        "clock bound halved",
        "host-reader/clock-fit/src/line.rs",
        "        self.bound.at(distance) + ROUNDING",
        "        0.5 * self.bound.at(distance) + ROUNDING",
        CLOCK,
    ),
]


def main() -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    unnoticed = []
    for name, path, old, new, tests in MUTANTS:
        if wanted not in name:
            continue
        file = pathlib.Path(path)
        text = file.read_text()
        if text.count(old) != 1:
            print(f"{name}: the text to change is there {text.count(old)} times in {path}")
            unnoticed.append(name)
            continue
        try:
            file.write_text(text.replace(old, new))
            result = subprocess.run(tests, capture_output=True, text=True)
        finally:
            file.write_text(text)
        compiled = "could not compile" not in result.stderr
        is_noticed = result.returncode != 0 and compiled
        print(f"{name}: {'noticed' if is_noticed else 'NOT NOTICED' if compiled else 'does not compile'}", flush=True)
        if not is_noticed:
            unnoticed.append(name)
    print("all noticed" if not unnoticed else f"not noticed: {unnoticed}")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
