"""The marker ``kprof``: fails a test on losses, on ops that take too long, or on regressions.

::

    @pytest.mark.kprof(max_ns={"Matmul": 20_000}, baseline="matmul")
    def test_matmul(kprof_recordings):
        kprof_recordings.append(kprof.read_device_profiler(mesh))

A test that runs on chips need not append anything: TT-Metal's profiler is on during the test, and
the plugin reads the profiler's logs. With ``--kprof-update-baselines``, the durations are stored in
the folder ``--kprof-baselines`` as the baseline of later runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import Recording, open_all
from .perf import FALSE_ALARM_RATE, is_slower

_VARIABLES = {"TT_METAL_DEVICE_PROFILER": "1", "TTNN_OP_PROFILER": "1"}
_ARGUMENTS = {"allow_losses", "max_ns", "baseline"}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kprof")
    group.addoption(
        "--kprof-baselines", default=".kprof-baselines", help="Folder of the baselines"
    )
    group.addoption(
        "--kprof-update-baselines", action="store_true", help="Write baselines, compare with none"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "kprof(allow_losses=False, max_ns=None, baseline=None): profile the test and fail it on "
        "losses, on an op over its time, or on an op slower than in the baseline",
    )


@pytest.fixture
def kprof_recordings(request: pytest.FixtureRequest) -> list[Recording]:
    """Recordings that the marker checks."""
    return request.node.stash.setdefault(_RECORDINGS, [])


_RECORDINGS = pytest.StashKey[list[Recording]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    marker = item.get_closest_marker("kprof")
    if marker is None:
        return (yield)
    unknown = set(marker.kwargs) - _ARGUMENTS
    if unknown or marker.args:
        pytest.fail(f"expected of kprof() {sorted(_ARGUMENTS)}, found {sorted(unknown)}")
    recordings = item.stash.setdefault(_RECORDINGS, [])
    folder = Path(item.config.rootpath) / ".pytest_cache" / "kprof" / _file_name(item.nodeid)
    logs = folder / ".logs" / "profile_log_device.csv"
    logs.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    changed = _VARIABLES | {"TT_METAL_PROFILER_DIR": str(folder)}
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        result = yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    if logs.exists():
        recordings.extend(open_all(folder))
    failures = judge(recordings, item.config, **marker.kwargs)
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)
    return result


def judge(
    recordings: list[Recording],
    config: pytest.Config,
    allow_losses: bool = False,
    max_ns: dict[str, float] | None = None,
    baseline: str | None = None,
) -> list[str]:
    """Returns a sentence for each problem in the recordings of a test."""
    if not recordings:
        return ["expected a recording of the test, found none: nothing was profiled"]
    failures = []
    if not allow_losses and any(recording.has_losses for recording in recordings):
        failures.append("records were lost; the table of losses has where")
    durations = _durations(recordings)
    for name, limit in (max_ns or {}).items():
        found = [ns for op, samples in durations.items() if name in op for ns in samples]
        if not found:
            failures.append(f"expected an op {name} with a known duration, found none")
        elif max(found) > limit:
            failures.append(f"{name}: expected at most {limit:g} ns, found {max(found):g} ns")
    if baseline is not None:
        failures.extend(_regressions(durations, _baseline_path(config, baseline), config))
    return failures


def _durations(recordings: list[Recording]) -> dict[str, list[float]]:
    """Returns kernel nanoseconds by op, without launches of unknown duration."""
    durations: dict[str, list[float]] = {}
    for recording in recordings:
        for name, program, ns in recording.op_durations():
            if ns is not None:
                durations.setdefault(name or f"program {program}", []).append(float(ns))
    return durations


def _regressions(
    durations: dict[str, list[float]], path: Path, config: pytest.Config
) -> Iterator[str]:
    if config.getoption("--kprof-update-baselines"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(durations, indent=1, sort_keys=True) + "\n")
        return
    if not path.exists():
        yield f"expected a baseline {path}, found none; --kprof-update-baselines writes it"
        return
    stored: dict[str, list[float]] = json.loads(path.read_text())
    common = sorted(durations.keys() & stored.keys())
    if not common:
        yield f"expected ops of the baseline {path}, found none of them"
    for name in common:
        # The rate of false alarms is divided among the ops, so that it holds for the whole test.
        rate = FALSE_ALARM_RATE / len(common)
        if is_slower(stored[name], durations[name], rate):
            means = [sum(side) / len(side) for side in (stored[name], durations[name])]
            yield f"{name}: slower than the baseline, {means[0]:.1f} ns then, {means[1]:.1f} now"


def _baseline_path(config: pytest.Config, name: str) -> Path:
    folder: Any = config.getoption("--kprof-baselines")
    return Path(config.rootpath) / folder / f"{_file_name(name)}.json"


def _file_name(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in text)
