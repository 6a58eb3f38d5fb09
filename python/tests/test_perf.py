"""Statistics of device performance, on simulated runs and on quantiles from printed tables."""

import inspect
import json
import math
import random
import sys
import time
from pathlib import Path

import pytest

from kprof.perf import (
    check_device_perf,
    is_slower,
    mean_interval,
    prep_device_perf_report,
    run_device_perf,
    run_device_perf_detailed,
    run_model_device_perf_test,
    student_below,
    student_quantile,
)

# Student's t from the tables of NIST's handbook of statistical methods, section 1.3.6.7.2.
TABLE = [
    (0.90, 1, 3.078), (0.95, 2, 2.920), (0.975, 4, 2.776), (0.99, 5, 3.365), (0.975, 10, 2.228),
    (0.995, 9, 3.250), (0.999, 30, 3.385), (0.95, 100, 1.660), (0.975, 1, 12.706),
]


@pytest.mark.parametrize(("probability", "freedom", "expected"), TABLE)
def test_quantiles_are_those_of_the_tables(
    probability: float, freedom: int, expected: float
) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(expected, abs=0.0006)
    assert student_below(expected, freedom) == pytest.approx(probability, abs=0.0002)


def samples(seed: int, mean: float, noise: float, count: int) -> list[float]:
    source = random.Random(seed)
    return [source.gauss(mean, mean * noise) for _ in range(count)]


COL = "AVG DEVICE FW SAMPLES/S"


def fails(values: list[float], expected: float, margin: float) -> bool:
    from kprof.perf import PerfResults

    results = PerfResults({COL: sum(values) / len(values)}, {COL: values})
    try:
        check_device_perf(results, margin, {COL: expected}, assert_on_fail=True)
    except AssertionError:
        return True
    return False


def test_a_check_has_few_false_alarms_and_finds_two_percent() -> None:
    """The margin is 1 %. Ten runs are made, with a scatter of 0.5 %."""
    trials = 2000
    alarms = sum(fails(samples(seed, 100, 0.005, 10), 100, 0.01) for seed in range(trials))
    at_edge = sum(fails(samples(seed, 101, 0.005, 10), 100, 0.01) for seed in range(trials))
    found = sum(fails(samples(seed, 98, 0.005, 10), 100, 0.01) for seed in range(trials))
    assert alarms <= 0.01 * trials
    # Even a true value on the edge of the window gives no alarm.
    assert at_edge <= 0.01 * trials
    assert found >= 0.95 * trials


def test_a_window_alone_would_not_do() -> None:
    """TT-Metal's check on the same runs gives an alarm for a noisy run of an unchanged value."""
    trials = 2000
    single = sum(abs(samples(seed, 101, 0.005, 1)[0] - 100) > 1 for seed in range(trials))
    assert single > 0.3 * trials


def test_a_regression_has_few_false_alarms_and_two_percent_is_found() -> None:
    """Launches scatter by 1 %, twenty on each side."""
    trials = 2000
    pairs = [
        (samples(seed, 100, 0.01, 20), samples(trials + seed, 100, 0.01, 20))
        for seed in range(trials)
    ]
    assert sum(is_slower(*pair) is True for pair in pairs) <= 0.01 * trials
    slower = [(before, [value * 1.02 for value in after]) for before, after in pairs]
    assert sum(is_slower(*pair) is True for pair in slower) >= 0.95 * trials
    faster = [(before, [value * 0.98 for value in after]) for before, after in pairs]
    assert sum(is_slower(*pair) is True for pair in faster) == 0


def test_samples_without_scatter_and_single_ones() -> None:
    assert mean_interval([5.0]) == (5.0, 5.0)
    assert is_slower([5, 5], [6, 6]) and not is_slower([5, 5], [5, 5])
    assert is_slower([5], [6, 6]) is None and is_slower([5, 0], [6, 6]) is None
    # As in TT-Metal: plain results have no samples, so only the window counts.
    assert check_device_perf({COL: 97.0}, 0.03, {COL: 100.0}) == {
        f"Lower Threshold {COL}": 97.0, f"Upper Threshold {COL}": 103.0,
    }
    with pytest.raises(AssertionError, match="expected 97 to 103, found 96"):
        check_device_perf({COL: 96.0}, 0.03, {COL: 100.0}, assert_on_fail=True)


def test_signatures_are_those_of_tt_metal() -> None:
    run = list(inspect.signature(run_device_perf).parameters)
    assert run == [
        "command", "subdir", "num_iterations", "cols", "batch_size", "op_name", "has_signposts",
        "device_analysis_types",
    ]
    check = inspect.signature(check_device_perf)
    assert list(check.parameters) == [
        "post_processed_results", "margin", "expected_perf_cols", "assert_on_fail",
    ]
    assert check.parameters["assert_on_fail"].default is False
    assert list(inspect.signature(run_device_perf_detailed).parameters) == [
        "command", "subdir", "cols", "op_name", "has_signposts", "warmup_iters",
        "device_analysis_types", "per_op",
    ]
    assert list(inspect.signature(prep_device_perf_report).parameters) == [
        "model_name", "batch_size", "post_processed_results", "expected_results", "comments",
    ]
    model = inspect.signature(run_model_device_perf_test).parameters
    assert list(model) == [
        "command", "expected_device_perf_ns_per_iteration", "subdir", "model_name",
        "num_iterations", "batch_size", "margin", "comments",
    ]
    defaults = [model[name].default for name in ("num_iterations", "batch_size", "margin")]
    assert defaults == [1, 1, 0.015]


PROGRAM = """
import os, pathlib
logs = pathlib.Path(os.environ["TT_METAL_PROFILER_DIR"]) / ".logs"
assert os.environ["TT_METAL_DEVICE_PROFILER"] == "1" and not logs.exists()
logs.mkdir(parents=True)
count = pathlib.Path("count")
number = int(count.read_text()) if count.exists() else 0
count.write_text(str(number + 1))
rows = ["ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64",
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, "
    "run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data"]
for op in (1, 2):
    for cycle, kind in ((op * 10000, "START"), (op * 10000 + 1000 + number, "END")):
        rows.append(f"0,1,2,BRISC,7,{cycle},0,{op << 10},,,BRISC-FW,ZONE_{kind},1,fw.cc,")
(logs / "profile_log_device.csv").write_text("\\n".join(rows) + "\\n")
"""


def test_a_command_is_run_and_its_ops_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TT_METAL_PROFILER_DIR", raising=False)
    monkeypatch.delenv("TT_METAL_HOME", raising=False)
    command = [sys.executable, "-c", PROGRAM]
    results = run_device_perf(command, "model", 3, ["DEVICE FW"], 8)
    # Two ops of 1000, 1001 and 1002 ns.
    assert results.samples["AVG DEVICE FW DURATION [ns]"] == [2000, 2002, 2004]
    expected = {
        "AVG DEVICE FW SAMPLES/S": 8e9 / 2002, "MIN DEVICE FW SAMPLES/S": 8e9 / 2004,
        "MAX DEVICE FW SAMPLES/S": 8e9 / 2000, "AVG DEVICE FW DURATION [ns]": 2002,
        "MIN DEVICE FW DURATION [ns]": 2000, "MAX DEVICE FW DURATION [ns]": 2004,
    }
    assert dict(results) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="no start"):
        run_device_perf(command, "model", 1, ["DEVICE FW"], 8, has_signposts=True)
    with pytest.raises(ValueError, match="found none among 2 rows"):
        run_device_perf(command, "model", 1, ["DEVICE FW"], 8, op_name="Matmul")
    with pytest.raises(ValueError, match="at least one"):
        run_device_perf(command, "model", 0, ["DEVICE FW"], 8)


# Two devices, the second of which started first. Of each device the first launch is a warm-up.
REPORT = """
import os, pathlib
reports = pathlib.Path(os.environ["TT_METAL_PROFILER_DIR"]) / "reports" / "today"
reports.mkdir(parents=True, exist_ok=True)
rows = ["OP CODE,OP TYPE,DEVICE ID,DEVICE FW START CYCLE,DEVICE KERNEL DURATION [ns]",
    "start,signpost,,,",
    "ttnn::AllGather,tt_dnn_device,0,200,900", "ttnn::AllGather,tt_dnn_device,0,300,100",
    "Softmax,tt_dnn_device,0,350,7", "ttnn::AllGather,tt_dnn_device,0,400,-",
    "ttnn::AllGather,tt_dnn_device,1,100,800", "ttnn::AllGather,tt_dnn_device,1,300,110",
    "ttnn::AllGather,tt_dnn_device,1,400,120",
    "stop,signpost,,,", "ttnn::AllGather,tt_dnn_device,1,500,5000"]
(reports / "ops_perf_results_today.csv").write_text("\\n".join(rows) + "\\n")
"""


def test_launches_of_an_op_are_described_without_warm_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TT_METAL_PROFILER_DIR", str(tmp_path / "profiler"))
    command = [sys.executable, "-c", REPORT]
    cols = ["DEVICE KERNEL"]
    found = run_device_perf_detailed(command, "op", cols, "AllGather", True, warmup_iters=2)
    # 100, 110 and 120 ns; the launch without a duration does not count.
    assert found == {"DEVICE KERNEL": pytest.approx(
        {"AVG": 110, "MIN": 100, "MAX": 120, "STD": 10}
    )}
    by_op = run_device_perf_detailed(
        command, "op", cols, "", has_signposts=True, warmup_iters=0, per_op=True
    )
    assert set(by_op) == {"ttnn::AllGather", "Softmax"}
    assert by_op["Softmax"]["DEVICE KERNEL"]["AVG"] == 7
    assert math.isnan(by_op["Softmax"]["DEVICE KERNEL"]["STD"])
    with pytest.raises(ValueError, match="expected launches of Matmul, found 4 other ops"):
        run_device_perf_detailed(command, "op", cols, "Matmul")


def test_a_report_has_the_columns_of_tt_metal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = {"AVG DEVICE KERNEL SAMPLES/S": 410.25, "MAX_NEW_TOKENS": 20}
    edges = {
        "Lower Threshold AVG DEVICE KERNEL SAMPLES/S": 400.0,
        "Upper Threshold AVG DEVICE KERNEL SAMPLES/S": 420.0,
    }
    path = prep_device_perf_report("bert", 8, results, edges, "tests/a")
    assert path.name == f"device_perf_bert_tests_a_{time.strftime('%Y_%m_%d')}.csv"
    titles, cells = path.read_text().splitlines()
    assert dict(zip(titles.split(", "), cells.split(", "))) == {
        "Model": "bert", "Setting": "tests/a", "Batch": "8",
        "AVG DEVICE KERNEL SAMPLES/S": "410.2500",
        "Lower Threshold AVG DEVICE KERNEL SAMPLES/S": "400.0000",
        "Upper Threshold AVG DEVICE KERNEL SAMPLES/S": "420.0000",
        "MAX_NEW_TOKENS": "20",
    }


def test_a_model_is_run_checked_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TT_METAL_PROFILER_DIR", str(tmp_path / "profiler"))
    program = REPORT.replace("DEVICE KERNEL DURATION [ns]", ",".join(
        f"DEVICE {part} DURATION [ns]" for part in ("KERNEL", "FW", "BRISC KERNEL")
    ))
    for number in ("900", "100", "7", "-", "800", "110", "120", "5000"):
        program = program.replace(f",{number}\"", f",{number},{number},{number}\"")
    command = [sys.executable, "-c", program]
    # 900 + 100 + 7 + 800 + 110 + 120 + 5000 ns.
    run_model_device_perf_test(command, 7037 * 1.01, "model", "bert", comments="ok")
    assert len(list(tmp_path.glob("device_perf_bert_ok_*.csv"))) == 1
    with pytest.raises(AssertionError, match="AVG DEVICE KERNEL DURATION"):
        run_model_device_perf_test(command, 7037 * 1.02, "model", "bert", comments="slow")
    assert not list(tmp_path.glob("device_perf_bert_slow_*.csv"))


MARKED = """
import json, kprof, pytest

def read(**options):
    return kprof.read_device_profiler(kprof.SimulatedMesh("matmul", **({"ops": 4} | options)))
"""


def run_marked(pytester: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(MARKED + body)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)


def test_the_marker_fails_on_an_op_over_its_time(pytester: pytest.Pytester) -> None:
    result = run_marked(pytester, """
@pytest.mark.kprof(max_ns={"": 10**9})
def test_fits(kprof_recordings):
    kprof_recordings.append(read())

@pytest.mark.kprof(max_ns={"": 10, "NoSuchOp": 10})
def test_is_over(kprof_recordings):
    kprof_recordings.append(read())
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*expected at most 10 ns, found *", "*expected an op NoSuchOp*"])


def test_the_marker_fails_on_losses_and_on_nothing(pytester: pytest.Pytester) -> None:
    result = run_marked(pytester, """
def lossy():
    return kprof.read_device_profiler(kprof.SimulatedMesh("full-buffer"))

@pytest.mark.kprof
def test_loses(kprof_recordings):
    kprof_recordings.append(lossy())

@pytest.mark.kprof(allow_losses=True)
def test_may_lose(kprof_recordings):
    kprof_recordings.append(lossy())

@pytest.mark.kprof
def test_records_nothing():
    pass

@pytest.mark.kprof(typo=1)
def test_typo():
    pass
""")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*records were lost*", "*nothing was profiled*", "*'typo'*"])


def test_the_marker_compares_with_a_baseline(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.kprof(baseline="matmul")
def test_ops(kprof_recordings):
    kprof_recordings.append(read(seed=3, ops=24))
"""
    run_marked(pytester, body).assert_outcomes(failed=1)
    run_marked(pytester, body, "--kprof-update-baselines").assert_outcomes(passed=1)
    run_marked(pytester, body).assert_outcomes(passed=1)
    path = pytester.path / ".kprof-baselines" / "matmul.json"
    stored = json.loads(path.read_text())
    several = [name for name, values in stored.items() if len(values) > 1]
    assert several, "no op of the workload is launched twice"
    path.write_text(json.dumps({name: [v / 2 for v in values] for name, values in stored.items()}))
    result = run_marked(pytester, body)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*slower than the baseline*"])


def test_logs_that_a_test_leaves_are_read(pytester: pytest.Pytester) -> None:
    result = run_marked(pytester, f"""
import subprocess, sys
PROGRAM = {PROGRAM!r}

@pytest.mark.kprof(max_ns={{"program 1": 5000}})
def test_chip():
    subprocess.run([sys.executable, "-c", PROGRAM.replace("and not logs.exists()", "").replace(
        "logs.mkdir(parents=True)", "logs.mkdir(parents=True, exist_ok=True)").replace(
        "BRISC-FW", "BRISC-KERNEL")], check=True)
""")
    result.assert_outcomes(passed=1)
