"""Compares the time to open a log in Python, up to a frame of polars, with the same in Rust.

    open_log.py RUST PATH [--rounds N] [--at-most RATIO]

RUST is the example `open_log`, PATH a device log or capture. Both make the table of all records;
Python passes it to polars. The two run in turn, so that other load on the machine slows both.
Prints the medians, and fails if Python takes more than RATIO times as long.

    cargo build --release --manifest-path python/Cargo.toml --example open_log
    kprof run --workload matmul --ops 361 --op-support-count 2000 -o log
    python python/benches/open_log.py python/target/release/examples/open_log log
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time

import polars

import kprof


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rust")
    parser.add_argument("path")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--at-most", type=float, default=1.2)
    arguments = parser.parse_args()
    seconds: dict[str, list[float]] = {"Rust": [], "Python": [], "polars alone": []}
    with subprocess.Popen(
        [arguments.rust, arguments.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as rust:
        assert rust.stdin is not None and rust.stdout is not None
        # The first round only fills the file cache of the system; it is not counted.
        for round_number in range(arguments.rounds + 1):
            rust.stdin.write("\n")
            rust.stdin.flush()
            rows, elapsed = rust.stdout.readline().split()
            begun = time.perf_counter()
            records = kprof.open(arguments.path).records
            made = time.perf_counter()
            frame = polars.DataFrame(records)
            ended = time.perf_counter()
            assert frame.height == int(rows), (frame.height, rows)
            del records, frame
            if round_number > 0:
                seconds["Rust"].append(float(elapsed))
                seconds["Python"].append(ended - begun)
                seconds["polars alone"].append(ended - made)
        rust.stdin.close()
    medians = {side: statistics.median(times) for side, times in seconds.items()}
    for side, times in seconds.items():
        print(f"{side}: {medians[side]:.3f} s ({min(times):.3f} to {max(times):.3f})")
    ratio = medians["Python"] / medians["Rust"]
    print(f"{rows} records, {arguments.rounds} rounds: Python takes {ratio:.2f} times as long")
    if ratio > arguments.at_most:
        raise SystemExit(f"expected at most {arguments.at_most}")


if __name__ == "__main__":
    main()
