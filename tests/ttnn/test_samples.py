"""Sampled lines of the kernels of stock ops, compared with the exact ones of the same run."""

from __future__ import annotations

import collections
import csv
import math
import os

import pytest
from test_process import SIMULATOR, cache, recorded_in, run, variables

__all__ = ["cache", "variables"]

EVERY_CYCLES = 13
ENOUGH_SAMPLES = 2000
"""Samples of a RISC in a program from which on its lines are compared as a whole."""
DISTANCE_MAX = 0.07
"""Largest total variation that was measured is 0.067, of which samples of this number cause 0.03."""
MANY_SAMPLES = 8000
"""Samples of a RISC in a program from which on the error of sampling is the smaller one."""
Z = 1.959963984540054


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, variables):
    """Some ops, counted and sampled."""
    return sampled(tmp_path_factory.mktemp("samples"), variables, "ops.py", EVERY_CYCLES)


def sampled(folder, variables, program: str, every_cycles: int):
    """Counts and samples a program; the library of the simulated chip must be kprof's."""
    options = ("-r", "--simulate", SIMULATOR, "--lines", f"--sample={every_cycles}")
    recorded = recorded_in(folder, variables, program, options=options)
    assert recorded.exit_code == 0, recorded.said
    if not (recorded.output / ".logs" / "kprof_lines.csv").exists():
        assert "only kprof's own simulated chip counts them" in recorded.said
        pytest.skip("the simulator does not count")
    return recorded


def table(recorded, name: str) -> list[dict[str, str]]:
    with (recorded.output / ".logs" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def line_of(row: dict[str, str]) -> tuple[str, ...]:
    """What tells the line of a row from others; firmware is one line."""
    if row["code"] == "firmware":
        return ("firmware",)
    return (row["code"], row["function"] or row["address"], row["file"], row["line"])


def kernel_of(row: dict[str, str]) -> tuple[str, str]:
    return row["run_host_id"], row["risc"]


def at_least(count: int, expected: float) -> float:
    """The probability that a Poisson-distributed number which is not 0 is at least `count`."""
    below = sum(math.exp(-expected) * expected**n / math.factorial(n) for n in range(count))
    return (1 - below) / -math.expm1(-expected)


def least_expected(found: float) -> float:
    """The expected number with which a number that is not 0 is at least `found` in 2.5 % of cases."""
    if found <= 1:
        return 0.0
    if found > 50:
        return found
    low, high = 0.0, found
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if at_least(math.ceil(found), middle) < 0.025 else (low, middle)
    return low


def interval(count: int, of: int, effective: int) -> tuple[float, float]:
    """Wilson's score interval, whose lower end takes into account that lines without samples are not shown."""
    share = count / of
    middle = (share + Z * Z / (2 * effective)) / (1 + Z * Z / effective)
    half = Z / (1 + Z * Z / effective) * (share * (1 - share) / effective + Z * Z / (4 * effective**2)) ** 0.5
    return min(middle - half, least_expected(share * effective) / effective), middle + half


class Kernel:
    """Lines of one RISC in the launches of one program: exact cycles, samples and what they are worth."""

    def __init__(self) -> None:
        self.cycles, self.samples = collections.Counter(), collections.Counter()
        self.effective: dict[tuple[str, ...], int] = {}

    def distance(self) -> float:
        """Total variation between the exact shares and the sampled ones."""
        cycles, samples = self.cycles.total(), self.samples.total()
        lines = self.cycles.keys() | self.samples.keys()
        return sum(abs(self.cycles[one] / cycles - self.samples[one] / samples) for one in lines) / 2

    def held(self) -> tuple[int, int]:
        """The number of lines whose interval holds the exact share, and of all sampled lines."""
        cycles, samples = self.cycles.total(), self.samples.total()
        held = 0
        for line, count in self.samples.items():
            low, high = interval(count, samples, self.effective[line])
            held += low <= self.cycles[line] / cycles <= high
        return held, len(self.samples)


def kernels_of(recorded) -> dict[tuple[str, str], Kernel]:
    kernels: dict[tuple[str, str], Kernel] = collections.defaultdict(Kernel)
    for row in table(recorded, "kprof_samples.csv"):
        kernel, line = kernels[kernel_of(row)], line_of(row)
        kernel.samples[line] += int(row["samples"])
        effective = int(row["effective_samples"])
        kernel.effective[line] = min(effective, kernel.effective.get(line, effective))
    for row in table(recorded, "kprof_lines.csv"):
        if kernel_of(row) in kernels:
            kernels[kernel_of(row)].cycles[line_of(row)] += int(row["total_cycles"])
    return kernels


def test_sampled_shares_are_near_the_exact_ones(recorded):
    kernels = kernels_of(recorded)
    enough = {key: one for key, one in kernels.items() if one.samples.total() >= ENOUGH_SAMPLES}
    told = {key: (one.samples.total(), round(one.distance(), 4)) for key, one in enough.items()}
    print(told)
    assert len(enough) >= 3, {key: one.samples.total() for key, one in kernels.items()}
    assert all(distance <= DISTANCE_MAX for _, distance in told.values()), told


def test_the_intervals_hold_the_exact_shares(recorded):
    held = [kernel.held() for kernel in kernels_of(recorded).values()]
    found, lines = sum(one for one, _ in held), sum(all_ for _, all_ in held)
    print(found, lines)
    assert lines > 100
    assert found / lines >= 0.95, (found, lines)


def test_twenty_kernels_are_as_near_as_their_intervals_say(tmp_path, variables):
    """Up to 137,000 samples of a RISC in a program: the intervals hold where sampling has no error left."""
    recorded = sampled(tmp_path, variables, "sampled.py", EVERY_CYCLES)
    kernels = [one for one in kernels_of(recorded).values() if one.samples.total() >= ENOUGH_SAMPLES]
    distances = sorted(round(kernel.distance(), 4) for kernel in kernels)
    many = [kernel.held() for kernel in kernels if kernel.samples.total() > MANY_SAMPLES]
    found, lines = sum(one for one, _ in many), sum(all_ for _, all_ in many)
    print(distances, found, lines)
    assert len(kernels) >= 20
    assert sum(distance <= 0.05 for distance in distances) >= 0.95 * len(kernels), distances
    assert len(many) >= 5 and found / lines >= 0.95, (found, lines)


def test_a_sampled_table_has_no_exact_numbers(recorded):
    rows = table(recorded, "kprof_samples.csv")
    assert rows
    exact = [name for name in rows[0] if name.endswith("_cycles") or name == "instructions"]
    assert len(exact) == 15
    assert all(row[name] == "" for row in rows for name in exact)
    for row in rows:
        low, share, high = (float(row[f"sample_share{end}"]) for end in ("_low", "", "_high"))
        assert 0 <= low <= share <= high <= 1
        assert int(row["effective_samples"]) <= int(row["risc_samples"])
    assert all(row["samples"] == "" for row in table(recorded, "kprof_lines.csv"))


def test_the_program_and_its_zones_are_what_they_were(recorded, tmp_path, variables):
    """No time of a kernel on the chip changes."""
    plain = recorded_in(tmp_path, variables, "ops.py", options=("-r", "--simulate", SIMULATOR))
    assert plain.exit_code == 0, plain.said
    assert plain.names == recorded.names
    names = [name for name in plain.rows[0] if name.startswith("DEVICE") and "DURATION" in name]
    assert len(names) > 10 and any(row["DEVICE FW DURATION [ns]"] for row in plain.rows)
    for before, after in zip(plain.rows, recorded.rows, strict=True):
        assert [before[name] for name in names] == [after[name] for name in names]


def test_the_samples_are_shown(recorded):
    shown = run([os.environ["KPROF"], "lines", str(recorded.output), "--sampled", "--op", "Matmul"], {})
    assert shown.returncode == 0, shown.stderr
    assert "samples of all RISCs; shares are estimates" in shown.stdout
    assert "samples, one every 12 to 13 cycles in" in recorded.said
