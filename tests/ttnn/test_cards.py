"""Whole ops on simulated chips beside their durations on cards, from public ops CSVs: the table of docs/silicon.md.

`cards.jsonl` has a line for each kind of row of those CSVs: the shapes, types and memory of an op, the cores
that it took, the names of its kernels, the padded shape of its output, and its least, median and greatest duration.
Older versions padded sharded outputs to whole shards, which is left out. The input of a sharded move has the shard of its
output, because the CSVs name a shard that cannot hold the tensor. Other keys of a line:

- `back_to_back`: the card began within 2 us after the op before; with all other ops, it had waited for the host.
- `risc`: the durations are of the kernels of this RISC. In sources of 2024, kernels of TRISCs began up to 0.65 us
  before those of the other RISCs; since tt-metal's kernels wait for the go message themselves, all begin together.
- `partial_sums`: the format to which the card's version unpacked partial sums of 32 bits.

Without `KPROF_CARDS=all`, only a sample runs, and no table is compared. `BLESS=1 KPROF_CARDS=all` writes the table.
"""

from __future__ import annotations

import collections
import csv
import importlib.util
import json
import os
import pathlib
import re
import statistics
import sys

import pytest
from test_process import CHIP, HERE, IS_FAST, cache, run, variables  # noqa: F401

pytestmark = pytest.mark.skipif(
    not CHIP.exists() or not IS_FAST, reason="expected the simulated chip of the package kprof, and fast dispatch"
)

CARDS = HERE / "cards.jsonl"
PAGE = HERE.parents[1] / "docs" / "silicon.md"
ROWS = [json.loads(line) for line in CARDS.read_text().splitlines()]
IS_WHOLE = os.environ.get("KPROF_CARDS") == "all"
# One short row of each class and chip.
SAMPLE_NS = 6_000
# Rows that one process runs.
PROCESS_ROWS = 25
# Where buffers lie and when cores start differs from process to process: the same row took 18,600 and 20,303 ns.
DRIFT_POINTS = 10
# Between two records, a row is the op's own if its device op has one of these names: other launches move
# tensors for it.
CODES = {
    "matmul": "Matmul",
    "interleaved_to_sharded": "InterleavedToSharded",
    "sharded_to_interleaved": "ShardedToInterleaved",
    "transpose": "Transpose",
    "permute": "Permute|Transpose",
    "add": "Binary",
    "sub": "Binary",
    "mul": "Binary",
    "tilize": "Tilize",
    "untilize": "Untilize",
    "tilize_with_val_padding": "TilizeWithValPadding",
    "untilize_with_unpadding": "UntilizeWithUnpadding",
    "reshape": "Reshape",
    "concat": "Concat",
    "slice": "Slice",
    "pad": "Pad",
    "to_memory_config": "Copy|Clone",
    "move": "Move",
}


class Found:
    """What the simulator gave for a row: durations after the first one, cores, names of kernels, and the padded shape
    of the output."""

    def __init__(self, row, ops: list[dict[str, str]]) -> None:
        column = f"DEVICE {row['risc']} KERNEL DURATION [ns]" if "risc" in row else "DEVICE KERNEL DURATION [ns]"
        durations = [int(op[column]) for op in ops]
        self.ns = round(statistics.median(durations[1:]))
        self.output = [int(ops[-1][f"OUTPUT_0_{axis}_PAD[LOGICAL]"].partition("[")[0]) for axis in "WZYX"]
        self.cores = int(ops[-1]["CORE COUNT"])
        titles = ("COMPUTE KERNEL SOURCE", "DATA MOVEMENT KERNEL SOURCE")
        paths = [path for title in titles for path in re.findall(r"[\w./-]+\.cpp", ops[-1][title] or "")]
        # This version has some kernels written for another interface of the host, under names with this ending.
        self.kernels = sorted({pathlib.PurePath(path).stem.removesuffix("_metal2") + ".cpp" for path in paths})


def is_replayable(row) -> bool:
    return "reason" not in row


def chosen() -> list[int]:
    """Numbers of the rows to run."""
    numbers = [number for number, row in enumerate(ROWS) if is_replayable(row)]
    if IS_WHOLE:
        return numbers
    first = {}
    for number in numbers:
        row = ROWS[number]
        if row["ns"][1] <= SAMPLE_NS:
            first.setdefault((row["class"], row["chip"], str(row["grid"])), number)
    return sorted(first.values())


def processes(numbers: list[int]) -> list[list[int]]:
    """Rows that run in one process: on one chip with one grid and one format of partial sums."""
    by_chip = collections.defaultdict(list)
    for number in numbers:
        row = ROWS[number]
        by_chip[row["chip"], str(row["grid"]), row.get("partial_sums")].append(number)
    return [some[at : at + PROCESS_ROWS] for some in by_chip.values() for at in range(0, len(some), PROCESS_ROWS)]


def root_with_grid(folder: pathlib.Path, grid) -> pathlib.Path:
    """A root of TT-Metal with links to the package's files, whose descriptors of cores have a grid of these columns
    and rows: older versions took one from a variable."""
    (package,) = importlib.util.find_spec("ttnn").submodule_search_locations
    package, (x, y) = pathlib.Path(package), grid
    root = folder / f"grid-{x}x{y}"
    descriptors = root / "tt_metal" / "core_descriptors"
    if descriptors.is_dir():
        return root
    descriptors.mkdir(parents=True)
    for to, of, other in [(root, package, "tt_metal"), (root / "tt_metal", package / "tt_metal", descriptors.name)]:
        for entry in of.iterdir():
            if entry.name != other:
                (to / entry.name).symlink_to(entry)
    for path in (package / "tt_metal" / descriptors.name).iterdir():
        end = rf"\g<1>[{x - 1}, {y - 1}]"
        text, count = re.subn(r"(start: \[0, 0\]\n *end: )\[-?\d+, -?\d+\]", end, path.read_text())
        assert count or "blackhole_140" not in path.name, path
        (descriptors / path.name).write_text(text)
    return root


def simulate(folder: pathlib.Path, variables, numbers: list[int]):
    """Runs rows; returns what was found for each, or in which words it was refused."""
    row = ROWS[numbers[0]]
    variables = {name: value for name, value in variables.items() if name != "TT_METAL_SIMULATOR"}
    if "partial_sums" in row:
        # The names under which kernels are kept do not tell the format.
        variables["KPROF_STAND_IN_PARTIAL_SUMS"] = row["partial_sums"]
        variables["XDG_CACHE_HOME"] = str(pathlib.Path(variables["XDG_CACHE_HOME"]) / row["partial_sums"])
    if row["grid"] is not None:
        # The path of the root is part of what is compiled, so it stays the same from run to run.
        root = root_with_grid(pathlib.Path(variables["XDG_CACHE_HOME"]), row["grid"])
        variables["TT_METAL_RUNTIME_ROOT"] = str(root)
    words = [os.environ["KPROF"], "record", "-r", "--simulate", row["chip"], "-o", str(folder), "--"]
    words += [sys.executable, str(HERE / "programs" / "cards.py"), str(CARDS), ",".join(map(str, numbers))]
    done = run(words, variables, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    results = {int(number): reason for number, reason in re.findall(r"^= refused (\d+) (.*)$", done.stdout, re.M)}
    (report,) = folder.glob("reports/2*/ops_perf_results*.csv")
    ops, number = collections.defaultdict(list), None
    with report.open(newline="") as file:
        for op in csv.DictReader(file):
            if op["OP TYPE"] == "signpost":
                number = int(op["OP CODE"].rpartition(" ")[2])
            elif op["OP TYPE"] == "tt_dnn_device" and number is not None and re.match(CODES[ROWS[number]["call"]], op["OP CODE"]):
                ops[number].append(op)
    for number, own in ops.items():
        if number not in results:
            results[number] = Found(ROWS[number], own)
    return results


@pytest.fixture(scope="module")
def results(tmp_path_factory, variables):
    found = {}
    for numbers in processes(chosen()):
        found |= simulate(tmp_path_factory.mktemp("cards"), variables, numbers)
    return found


def error_percent(row, found: Found) -> float:
    return 100 * (found.ns - row["ns"][1]) / row["ns"][1]


def difference(row, found) -> str | None:
    """Why a row says nothing about the simulator's time; `None` if it does."""
    if not isinstance(found, Found):
        return "refused by this version of ttnn"
    if found.cores != row["cores"]:
        return "on another number of cores in this version of ttnn"
    if row["kernels"] and found.kernels != row["kernels"]:
        return "other kernels in this version of ttnn"
    assert found.output == row["output"], f"expected the output {row['output']} of {shown(row)}, found {found.output}"
    return None


def shown(row) -> str:
    """A row in words: its op, shapes, types, memory and cores."""

    def tensor(facts):
        memory = facts["memory"]
        place = memory["buffer"] if memory["layout"] == "interleaved" else memory["layout"].replace("_", " ")
        layout = "" if facts["layout"] == "tile" else " rows"
        return "x".join(map(str, facts["shape"])) + f" {facts['type']}{layout} {place}"

    inputs = ", ".join(map(tensor, row["inputs"][:2]))
    fidelity = f" {row['options']['fidelity']}" if "fidelity" in row["options"] else ""
    return f"{row['call']}{fidelity} of {inputs}; {row['cores']} cores"


def family(row) -> str:
    return row["chip"].partition(":")[0]


def table(results) -> list[str]:
    """Errors by class and chip, of the rows whose cores and kernels are those of the card."""
    classes = collections.defaultdict(list)
    for number, found in results.items():
        row = ROWS[number]
        if difference(row, found) is None:
            classes[row["class"], family(row)].append((error_percent(row, found), row, found))
    lines = ["| class | chip | rows | median % | p90 % | worst row | card ns | simulated ns |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for (name, chip), errors in sorted(classes.items()):
        sizes = sorted(abs(error) for error, _, _ in errors)
        # The least error that is not below nine tenths of all.
        p90 = sizes[(9 * len(sizes) + 9) // 10 - 1]
        _, row, found = max(errors, key=lambda one: abs(one[0]))
        cells = [name, chip, len(errors), f"{statistics.median(sizes):.1f}", f"{p90:.1f}", shown(row), row["ns"][1]]
        lines.append("| " + " | ".join(map(str, [*cells, found.ns])) + " |")
    return lines


def other_rows(results) -> list[str]:
    """What is not in the table, counted by reason."""
    reasons = collections.Counter()
    for number, row in enumerate(ROWS):
        if not is_replayable(row):
            reasons[row["class"], family(row), row["reason"]] += row["rows"]
        elif number not in results:
            reasons[row["class"], family(row), "starts no op of its own in this version of ttnn"] += 1
        elif reason := difference(row, results[number]):
            reasons[row["class"], family(row), reason] += 1
    lines = ["| class | chip | rows that are not compared | reason |", "|---|---|---|---|"]
    for (name, chip, reason), count in sorted(reasons.items()):
        lines.append(f"| {name} | {chip} | {count} | {reason} |")
    return lines


def section(page: str, mark: str) -> str:
    """What the page has behind the mark."""
    return page.partition(f"<!-- {mark} -->\n")[2].partition("<!-- end -->")[0]


def blessed(page: str, mark: str, lines: list[str]) -> str:
    """The page with these lines behind the mark."""
    start, end = f"<!-- {mark} -->\n", "<!-- end -->"
    before, found, rest = page.partition(start)
    assert found, f"expected `{start.strip()}` in {PAGE.name}"
    return before + start + "\n".join(lines) + "\n" + end + rest.partition(end)[2]


def is_told(page: str, lines: list[str]) -> bool:
    """Whether the page has these classes with as many rows, and errors that are near."""

    def cells(line: str) -> list[str]:
        return [cell.strip() for cell in line.strip("|").split("|")]

    told = {tuple(cells(line)[:3]): cells(line)[3:5] for line in section(page, "whole ops").splitlines()[2:]}
    found = {tuple(cells(line)[:3]): cells(line)[3:5] for line in lines[2:]}
    pairs = [(one, told[key]) for key, one in found.items() if key in told]
    near = all(abs(float(a) - float(b)) <= DRIFT_POINTS for one, other in pairs for a, b in zip(one, other))
    return told.keys() == found.keys() and near


def test_whole_ops_take_the_time_that_the_page_says(results):
    with open(os.environ.get("KPROF_CARDS_OUTPUT", os.devnull), "w") as file:
        for number, found in sorted(results.items()):
            row = ROWS[number]
            told = f"{error_percent(row, found):+.1f} % {found.ns}" if isinstance(found, Found) else found
            print(number, difference(row, found) or "", told, row["ns"], shown(row), sep="\t", file=file)
    page = PAGE.read_text()
    if IS_WHOLE:
        expected = blessed(page, "whole ops", table(results))
        expected = blessed(expected, "whole ops that are not compared", other_rows(results))
        if os.environ.get("BLESS") == "1":
            PAGE.write_text(expected)
            return
        assert section(page, "whole ops that are not compared") == section(expected, "whole ops that are not compared")
        assert is_told(page, table(results)), table(results)
        return
    # The page's rows are of all ops; a sample must stay within the greatest error of its class.
    compared = section(page, "whole ops")
    for number, found in results.items():
        row = ROWS[number]
        if difference(row, found) is None:
            (line,) = re.findall(rf"^\| {re.escape(row['class'])} \| {family(row)} \|.*$", compared, re.M)
            card, simulated = (int(cell) for cell in line.split("|")[-3:-1])
            worst = abs(100 * (simulated - card) / card)
            assert abs(error_percent(row, found)) <= worst + DRIFT_POINTS, (shown(row), row["ns"], found.ns)
