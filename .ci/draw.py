"""Draws which of the slow tests a run of the gate makes, and prints those that it leaves out.

    draw.py SECONDS PROGRAM...

`slow.txt` beside this file has a line for each slow test: the seconds that it takes on a usual
machine, its program, its name. Tests of the named programs are drawn until they take SECONDS, or
less on a slower machine; `KPROF_GATE_SEED` decides which. `KPROF_SLOW_TESTS=all` draws all, as
`.ci/full` does.
"""

import concurrent.futures
import os
import pathlib
import random
import re
import sys
import time

# What `job` takes on a usual machine: a core of 2020 and later.
USUAL_SECONDS = 0.3
JOB_ROUNDS = 2_000_000
# A machine that happens to be busy while it is measured still makes a tenth of the tests.
MOST_TIMES = 10.0


def job(_number: int) -> int:
    return sum(value * value % 7 for value in range(JOB_ROUNDS))


def slowness() -> float:
    """Returns how many times slower than a usual machine this one is, with two programs at once."""
    with concurrent.futures.ProcessPoolExecutor(2) as programs:
        list(programs.map(job, range(2)))
        start = time.monotonic()
        list(programs.map(job, range(2)))
        return min(MOST_TIMES, max(1.0, (time.monotonic() - start) / USUAL_SECONDS))


# Where the sources of each program's tests are.
FOLDERS = {
    "system": "tests/system",
    "commands": "cli/tests",
    "datasets": "cli/tests",
    "sim": "sim",
    "chip": "chip",
    "tracy": "host-reader/tests",
    "tt_metal": "tests/tt_metal",
    "ttnn": "tests/ttnn",
    "ttnn-blackhole": "tests/ttnn",
    "ttnn-slow-dispatch": "tests/ttnn",
}


def is_there(program: str, name: str) -> bool:
    """Returns whether a test of that name, or a file of tests, is in the program's sources."""
    last = name.rpartition("::")[2]
    if last.endswith(".py"):
        return pathlib.Path(name).exists()
    sources = [path for ending in ("rs", "py") for path in pathlib.Path(FOLDERS[program]).rglob(f"*.{ending}")]
    return any(re.search(rf"\b(fn|def) {last}\(", path.read_text()) for path in sources)


def slow_tests(programs: list[str]) -> list[tuple[float, str]]:
    lines = pathlib.Path(__file__).with_name("slow.txt").read_text().splitlines()
    tests = [line.split() for line in lines if line and not line.startswith("#")]
    gone = [name for _, program, name in tests if program in programs and not is_there(program, name)]
    assert not gone, f"expected the tests of slow.txt, found no {', '.join(gone)}"
    return [(float(seconds), name) for seconds, program, name in tests if program in programs]


def main(seconds: float, programs: list[str]) -> None:
    tests = slow_tests(programs)
    assert tests, f"expected slow tests of {programs} in slow.txt, found none"
    times = slowness()
    is_all = os.environ.get("KPROF_SLOW_TESTS") == "all"
    room = float("inf") if is_all else seconds / times
    random.Random(f"{os.environ['KPROF_GATE_SEED']} {programs}").shuffle(tests)
    left_out = []
    for position, (takes, name) in enumerate(tests):
        # At least one of them runs, also if it alone takes too long.
        if position > 0 and takes > room:
            left_out.append(name)
        else:
            room -= takes
    print(
        f"{len(tests) - len(left_out)} of {len(tests)} slow tests of {', '.join(programs)} are drawn,"
        f" on a machine {times:.1f} times slower than usual; skipped: {', '.join(left_out) or 'none'}",
        file=sys.stderr,
    )
    print("\n".join(left_out))


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
