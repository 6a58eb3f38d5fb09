"""Device performance of a command, judged by statistics instead of a fixed window.

``run_device_perf``, ``run_device_perf_detailed``, ``check_device_perf``, ``prep_device_perf_report``
and ``run_model_device_perf_test`` have the names, parameters and results that the model tests of
TT-Metal use. A window alone cannot distinguish noise from change. Here a mean counts as
outside of the window only if its whole confidence interval is outside. So at most 1 of 100 checks
fails without a cause.
"""

from __future__ import annotations

import csv
import functools
import logging
import math
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_LOG = logging.getLogger("kprof")

FALSE_ALARM_RATE = 0.005
"""Probability that a check fails in one direction although nothing has changed."""


class PerfResults(dict[str, float]):
    """Results by column, as in TT-Metal, with the samples that they were computed from."""

    def __init__(self, results: Mapping[str, float], samples: Mapping[str, Sequence[float]]):
        super().__init__(results)
        self.samples = {column: list(values) for column, values in samples.items()}


def _artifacts_folder() -> Path:
    folder = os.environ.get("TT_METAL_PROFILER_DIR")
    return Path(folder) if folder else Path(os.environ.get("TT_METAL_HOME", ""), "generated/profiler")


def run_device_perf(
    command: str | Sequence[str],
    subdir: str,
    num_iterations: int,
    cols: Sequence[str],
    batch_size: int,
    op_name: str = "",
    has_signposts: bool = False,
    device_analysis_types: Sequence[str] = ("device_kernel_duration",),
) -> PerfResults:
    """Runs a command several times with the device profiler on, and adds up its ops.

    ``cols`` are names such as ``DEVICE FW``. For each, ``<col> DURATION [ns]`` is summed over the
    ops whose code contains ``op_name``, between the signposts ``start`` and ``stop`` if given.
    ``device_analysis_types`` is accepted and ignored: every figure is computed anyway.
    """
    if num_iterations < 1:
        raise ValueError(f"expected at least one iteration, found {num_iterations}")
    durations: dict[str, list[float]] = {col: [] for col in cols}
    for _ in range(num_iterations):
        rows = _ops_between_signposts(_profiled_rows(command, subdir), has_signposts)
        for col in cols:
            durations[col].append(_total(rows, f"{col} DURATION [ns]", op_name))
    results: dict[str, float] = {}
    samples: dict[str, list[float]] = {}
    for col, totals in durations.items():
        rates = [batch_size * 1e9 / total for total in totals]
        mean = statistics.fmean(totals)
        results[f"AVG {col} SAMPLES/S"] = batch_size * 1e9 / mean
        results[f"MIN {col} SAMPLES/S"] = min(rates)
        results[f"MAX {col} SAMPLES/S"] = max(rates)
        results[f"AVG {col} DURATION [ns]"] = mean
        results[f"MIN {col} DURATION [ns]"] = min(totals)
        results[f"MAX {col} DURATION [ns]"] = max(totals)
        samples[f"AVG {col} SAMPLES/S"] = rates
        samples[f"AVG {col} DURATION [ns]"] = totals
    return PerfResults(results, samples)


def run_device_perf_detailed(
    command: str | Sequence[str],
    subdir: str,
    cols: Sequence[str],
    op_name: str = "",
    has_signposts: bool = False,
    warmup_iters: int = 0,
    device_analysis_types: Sequence[str] | None = None,
    per_op: bool = False,
) -> dict[str, Any]:
    """Runs a command once with the device profiler on, and describes the launches of an op.

    For each column, the result has ``AVG``, ``MIN``, ``MAX`` and ``STD`` of ``<col> DURATION [ns]``
    over the launches of ``op_name``; with ``per_op``, for each op code and column. ``STD`` of a
    single launch is not a number. Launches are taken in turn from each device, and the first
    ``warmup_iters`` of them (with ``per_op``, of each op) are left out.
    """
    del device_analysis_types  # Every figure is computed anyway.
    rows = _ops_between_signposts(_profiled_rows(command, subdir), has_signposts)
    rows = _of_op(rows, op_name)
    if not per_op:
        return _column_statistics(_in_turn(rows)[warmup_iters:], cols)
    codes = dict.fromkeys(_code(row) for row in rows if row.get("DEVICE ID"))
    of_code = {code: [row for row in rows if _code(row) == code] for code in codes}
    return {
        code: _column_statistics(_in_turn(own)[warmup_iters:], cols)
        for code, own in of_code.items()
    }


def check_device_perf(
    post_processed_results: Mapping[str, float],
    margin: float,
    expected_perf_cols: Mapping[str, float],
    assert_on_fail: bool = False,
) -> dict[str, float]:
    """Compares results with expected values; returns the edges of the windows.

    A result with several samples is outside of its window if the confidence interval of its mean
    is outside. A result without samples is compared by its value.
    """
    edges: dict[str, float] = {}
    failures = []
    samples = getattr(post_processed_results, "samples", {})
    for col, expected in expected_perf_cols.items():
        low, high = (1 - margin) * expected, (1 + margin) * expected
        edges |= {f"Lower Threshold {col}": low, f"Upper Threshold {col}": high}
        found = post_processed_results[col]
        first, last = mean_interval(samples.get(col) or [found])
        if last < low or first > high:
            failures.append(
                f"{col}: expected {low:g} to {high:g}, found {found:g} "
                f"(interval {first:g} to {last:g})"
            )
    for failure in failures:
        _LOG.error("%s", failure)
    if assert_on_fail:
        assert not failures, "; ".join(failures)
    return edges


def prep_device_perf_report(
    model_name: str,
    batch_size: int,
    post_processed_results: Mapping[str, float],
    expected_results: Mapping[str, float],
    comments: str,
) -> Path:
    """Writes ``device_perf_<model>_<comments>_<date>.csv`` in the current folder, with each result
    and the edges of its window; returns its path.

    TT-Metal's function also saves a record for Tenstorrent's database; this one does not.
    """
    cells = {"Model": model_name, "Setting": comments, "Batch": str(batch_size)}
    for name, value in post_processed_results.items():
        cells[name] = format(value, ".0f" if float(value).is_integer() else ".4f")
        for edge in ("Lower", "Upper"):
            threshold = expected_results.get(f"{edge} Threshold {name}")
            if threshold is not None:
                cells[f"{edge} Threshold {name}"] = format(threshold, ".4f")
    name = f"device_perf_{model_name}_{comments}_{time.strftime('%Y_%m_%d')}.csv"
    path = Path(name.replace("/", "_").replace(os.sep, "_"))
    path.write_text(", ".join(cells) + "\n" + ", ".join(cells.values()), encoding="utf-8")
    return path


def run_model_device_perf_test(
    command: str | Sequence[str],
    expected_device_perf_ns_per_iteration: float,
    subdir: str,
    model_name: str,
    num_iterations: int = 1,
    batch_size: int = 1,
    margin: float = 0.015,
    comments: str = "",
) -> None:
    """Runs a model, checks the mean duration of its kernels, and writes the report.

    The kernels of one run may take ``expected_device_perf_ns_per_iteration``, more or less by the
    share ``margin``. Raises ``AssertionError`` if they do not, as ``check_device_perf`` judges it.
    """
    columns = ["DEVICE FW", "DEVICE KERNEL", "DEVICE BRISC KERNEL"]
    results = run_device_perf(
        command, subdir=subdir, num_iterations=num_iterations, cols=columns, batch_size=batch_size
    )
    expected = {"AVG DEVICE KERNEL DURATION [ns]": expected_device_perf_ns_per_iteration}
    edges = check_device_perf(results, margin, expected, assert_on_fail=True)
    prep_device_perf_report(model_name, batch_size, results, edges, comments)


def mean_interval(
    samples: Sequence[float], error_rate: float = 2 * FALSE_ALARM_RATE
) -> tuple[float, float]:
    """Returns the confidence interval of the mean at ``error_rate``; the sample if there is one."""
    mean = statistics.fmean(samples)
    if len(samples) < 2:
        return mean, mean
    error = statistics.stdev(samples) / math.sqrt(len(samples))
    width = student_quantile(1 - error_rate / 2, len(samples) - 1) * error
    return mean - width, mean + width


def is_slower(
    before: Sequence[float], after: Sequence[float], error_rate: float = FALSE_ALARM_RATE
) -> bool | None:
    """Returns true if ``after`` takes longer than ``before``, by Welch's test of the logarithms;
    ``None`` if ``before`` or ``after`` has fewer than two samples above 0."""
    sides = [[math.log(value) for value in side if value > 0] for side in (before, after)]
    if min(map(len, sides)) < 2:
        return None
    means = [statistics.fmean(side) for side in sides]
    errors = [statistics.variance(side) / len(side) for side in sides]
    total = sum(errors)
    if total == 0:
        return means[1] > means[0]
    freedom = total**2 / sum(e**2 / (len(s) - 1) for e, s in zip(errors, sides) if e)
    distance = (means[1] - means[0]) / math.sqrt(total)
    return distance > 0 and student_below(distance, freedom) > 1 - error_rate


@functools.lru_cache(maxsize=256)
def student_quantile(probability: float, freedom: float) -> float:
    """Returns the quantile of Student's t for a probability of at least 0.5."""
    low, high = 0.0, 1.0
    while student_below(high, freedom) < probability:
        low, high = high, high * 2
    for _ in range(80):
        middle = (low + high) / 2
        if student_below(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high


def student_below(value: float, freedom: float) -> float:
    """Returns the probability that Student's t is below a value of at least 0."""
    return 1 - _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + value**2)) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by Lentz's continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    log_front += a * math.log(x) + b * math.log1p(-x)
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    fraction = d
    for m in range(1, 500):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            c = 1 + numerator / c
            d = 1 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return math.exp(log_front) * fraction / a


def _profiled_rows(command: str | Sequence[str], subdir: str) -> list[dict[str, str]]:
    """Runs a command with the device profiler on; returns the rows of its ops report."""
    artifacts = _artifacts_folder() / subdir
    shutil.rmtree(artifacts / ".logs", ignore_errors=True)
    environment = os.environ | {
        "TT_METAL_DEVICE_PROFILER": "1",
        "TTNN_OP_PROFILER": "1",
        "TT_METAL_PROFILER_DIR": str(artifacts.absolute()),
    }
    subprocess.run(command, shell=isinstance(command, str), check=True, env=environment)
    return _ops_rows(artifacts)


def _of_op(rows: list[dict[str, str]], op_name: str) -> list[dict[str, str]]:
    """Returns the rows of an op, named with or without namespaces or templates around it."""
    endings = (f"::{op_name}", f"{op_name}>")
    tests = (
        lambda code: not op_name or code == op_name,
        lambda code: code.endswith(endings[0]),
        lambda code: any(ending in code for ending in endings),
    )
    for test in tests:
        found = [row for row in rows if test(_code(row))]
        if found:
            return found
    codes = list(dict.fromkeys(_code(row) for row in rows))
    raise ValueError(f"expected launches of {op_name}, found {len(codes)} other ops: {codes[:10]}")


def _in_turn(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Returns the first row of each device, then the second of each, and so on. The device that
    started first comes first."""
    devices: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if row.get("DEVICE ID"):
            devices.setdefault(row["DEVICE ID"], []).append(row)
    if not devices:
        raise ValueError(f"expected rows of devices, found none among {len(rows)} rows")
    start = "DEVICE FW START CYCLE"
    queues = sorted(devices.values(), key=lambda own: float(own[0].get(start) or "inf"))
    longest = max(map(len, queues))
    return [own[turn] for turn in range(longest) for own in queues if turn < len(own)]


def _column_statistics(
    rows: list[dict[str, str]], cols: Sequence[str]
) -> dict[str, dict[str, float]]:
    statistics_by_column = {}
    for col in cols:
        values = _values(rows, f"{col} DURATION [ns]")
        statistics_by_column[col] = {
            "AVG": statistics.fmean(values),
            "MIN": min(values),
            "MAX": max(values),
            "STD": statistics.stdev(values) if len(values) > 1 else math.nan,
        }
    return statistics_by_column


def _ops_rows(artifacts: Path) -> list[dict[str, str]]:
    """Returns rows of the newest ops report of the command, or of a report made from its logs."""
    reports = artifacts.glob("reports/**/ops_perf_results*.csv")
    newest = max(reports, key=lambda path: path.stat().st_mtime_ns, default=None)
    with tempfile.TemporaryDirectory() as folder:
        logs = artifacts / ".logs" / "profile_log_device.csv"
        if newest is None or (logs.exists() and logs.stat().st_mtime > newest.stat().st_mtime):
            from . import open_all

            newest = Path(folder) / "ops_perf_results.csv"
            open_all(artifacts)[0].export(newest, "ops")
        with newest.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def _ops_between_signposts(
    rows: list[dict[str, str]], has_signposts: bool
) -> list[dict[str, str]]:
    if not has_signposts:
        return rows
    codes = [_code(row) for row in rows]
    missing = [name for name in ("start", "stop") if name not in codes]
    if missing:
        raise ValueError(f"expected the signposts start and stop, found no {missing[0]}")
    return rows[codes.index("start") + 1 : codes.index("stop")]


def _total(rows: list[dict[str, Any]], column: str, op_name: str) -> float:
    named = [row for row in rows if op_name in _code(row)]
    if rows and not named:
        raise ValueError(f"expected ops with {op_name} in their names, found none among {len(rows)} rows")
    return math.fsum(_values(named, column))


def _values(rows: list[dict[str, Any]], column: str) -> list[float]:
    """Returns the numbers of a column; fails if there are none."""
    if rows and column not in rows[0]:
        raise ValueError(f"expected a column {column} in the ops report, found none")
    cells = [row[column] for row in rows if row[column] not in ("", "-", None)]
    if not cells:
        raise ValueError(f"expected ops with {column}, found none among {len(rows)} rows")
    return [float(cell) for cell in cells]


def _code(row: Mapping[str, str]) -> str:
    """Returns the op's code; a report without host data has no op codes."""
    return row.get("OP CODE", "")
