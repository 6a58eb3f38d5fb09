"""Runs tt-metal's own report scripts on logs of kprof, and kprof on the same logs.

Usage: check.py KPROF WORK_FOLDER

The scripts come from the PyPI package named in UPSTREAM; it is only run. Exit code 1 if
anything differs, with a line for each difference.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import logs

UPSTREAM = "ttnn==0.81.1"
ANALYSES = "ttnn/tt_metal/tools/profiler/cpp_device_analyses.json"
WANTED = ("tracy/", "tt_llk_perf/", "ttnn/tt_metal/tt-llk/tools/include/", ANALYSES)


class Failure(Exception):
    """What differs, or which program failed."""


def fetch_upstream(work):
    """Takes the scripts out of the package, which is far larger."""
    scripts = work / "upstream"
    if (scripts / "tracy").is_dir():
        return scripts
    # The package is built for one version of Python; the scripts run with this one, too.
    wheel = ["--no-deps", "--only-binary=:all:", "--python-version", "3.10"]
    wheel += ["--platform", "manylinux_2_34_x86_64", "--dest", str(work / "wheel"), UPSTREAM]
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *wheel], check=True)
    with zipfile.ZipFile(next((work / "wheel").glob("*.whl"))) as archive:
        archive.extractall(scripts, [name for name in archive.namelist() if name.startswith(WANTED)])
    return scripts


class Upstream:
    def __init__(self, work):
        self.scripts = fetch_upstream(work)
        self.home = work / "home"
        self.home.mkdir(exist_ok=True)

    def run(self, script, artifacts, *options):
        environment = dict(
            os.environ,
            PYTHONPATH=str(self.scripts),
            TT_METAL_HOME=str(self.home),
            TT_METAL_PROFILER_DIR=str(artifacts),
            LLK_HOME=str(self.scripts / "ttnn/tt_metal/tt-llk"),
        )
        command = [sys.executable, str(self.scripts / "tracy" / script), *map(str, options)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{script} {options}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout


def kprof(program, *options):
    done = subprocess.run([program, *map(str, options)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"kprof {options}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


def expect(what, found, expected):
    if found != expected:
        raise Failure(f"{what}: expected {expected!r}, found {found!r}")
    print(f"ok {what}", flush=True)


def compare(what, upstream, theirs, ours, work):
    """Their comparison, and then every byte."""
    upstream.run("compare_full_op_report.py", work, theirs, ours)
    their_lines = theirs.read_bytes().splitlines(keepends=True)
    our_lines = ours.read_bytes().splitlines(keepends=True)
    for number, (their, our) in enumerate(zip(their_lines, our_lines), 1):
        if their != our:
            raise Failure(f"{what}, line {number}:\n upstream {their!r}\n kprof    {our!r}")
    expect(f"{what}: {len(their_lines)} lines, every byte", len(our_lines), len(their_lines))


SHAPES = {
    "plain": dict(traces=False),
    "traces": dict(),
    "sums": dict(sums=True, mhz=1350),
    "devices": dict(devices=(0, 1, 4), sums=True, sub_devices=True, mhz=900),
    "counters": dict(counters=["fpu", "instruction", "pack", "unpack", "l1"]),
    "dispatch": dict(traces=False, dispatch=True, devices=(0, 2), mhz=1200),
    "dispatch and traces": dict(dispatch=True),
    "quasar": dict(arch="quasar", devices=(0, 3), mhz=1100),
    "quasar counters": dict(
        arch="quasar", counters=["fpu", "instruction", "pack", "unpack", "l1_client_206"], mhz=1250
    ),
    "quasar clients of L1": dict(arch="quasar", counters=["fpu", "l1_client_7"], devices=(0, 1)),
    "quasar second packer": dict(arch="quasar", counters=["l1_client_294"], traces=False),
    "quasar banks of L1": dict(arch="quasar", counters=["l1_client_42", "instruction"], traces=False),
    "some counters": dict(counters=["fpu", "l1"], arch="blackhole", devices=(0, 2)),
}
SEED = 1


def sessions(program, upstream, work):
    """Upstream's ops report and ours from the same generated folders."""
    for name, shape in SHAPES.items():
        artifacts = work / f"session-{name}".replace(" ", "-")
        shutil.rmtree(artifacts, ignore_errors=True)
        logs.session(SEED, **shape).write(artifacts)
        yield name, check_session, (name, program, upstream, artifacts)


def check_session(what, program, upstream, artifacts):
    reports = artifacts / "reports"
    file = "ops_perf_results_{0}.csv"
    at = lambda name: reports / name / file.format(name)
    upstream.run("process_ops_logs.py", artifacts, "-o", artifacts, "-n", "legacy")
    kprof(program, "ops", artifacts, "--upstream-exact", "-n", "kprof_legacy", "--force-legacy-device-logs")
    compare(f"{what}, from the device log", upstream, at("legacy"), at("kprof_legacy"), artifacts)
    upstream.run("process_ops_logs.py", artifacts, "-o", artifacts, "-n", "only", "--device-only")
    kprof(program, "ops", artifacts, "--upstream-exact", "-n", "kprof_only", "--device-only")
    compare(f"{what}, of the device alone", upstream, at("only"), at("kprof_only"), artifacts)
    compare_per_core(what, reports)
    # A device perf report of kprof, and the results of both programs from it.
    kprof(program, "ops", artifacts, "--upstream-exact", "-n", "kprof_only", "--device-only", "--perf-report")
    upstream.run("process_ops_logs.py", artifacts, "-o", artifacts, "-n", "report")
    kprof(program, "ops", artifacts, "--upstream-exact", "-n", "kprof_report")
    compare(f"{what}, from the perf report", upstream, at("report"), at("kprof_report"), artifacts)


def compare_per_core(what, reports):
    """Upstream's columns of cores stand in an order of their own."""
    tables = []
    for name in ("only", "kprof_only"):
        with open(reports / name / f"per_core_op_to_op_times_{name}.csv", newline="") as file:
            tables.append(list(csv.DictReader(file)))
    expect(f"{what}, per core op to op", tables[1], tables[0])


def counts(upstream, artifacts, setup):
    log = artifacts / ".logs/profile_log_device.csv"
    options = ["-d", log, "-s", setup, "--no-artifacts", "--no-print-stats"]
    upstream.run("process_device_log.py", artifacts, *options)
    with open(artifacts / "output/device/device_analysis_data.json") as file:
        device = json.load(file)["data"]["devices"]["0"]["cores"]["DEVICE"]
    stats = {name: analysis["stats"] for name, analysis in device.get("analysis", {}).items()}
    events = device["riscs"]["TENSIX"].get("events", {})
    return stats, {name: len(rows) for name, rows in events.items()}


def keep_cores(log, most):
    """Drops the rows of all but some cores: upstream takes minutes for a million rows."""
    lines = log.read_text().splitlines(keepends=True)
    of = lambda line: tuple(line.split(",")[1:3])
    cores = sorted({of(line) for line in lines[2:]})
    kept = set(cores[:: max(1, len(cores) // most)][:most])
    log.write_text("".join(lines[:2] + [line for line in lines[2:] if of(line) in kept]))
    return len(kept), len(cores)


KEPT_CORES = 4
RISCS = ("BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2")
KERNELS = "{} KERNEL_START->KERNEL_END"


def expect_full_buffer(stats, events):
    expect("full buffer", stats["Marker Repeat"]["Count"], KEPT_CORES * 23 * 5 * 125)


def expect_timestamped_events(stats, events):
    expect("timestamped events", events["all_events"], KEPT_CORES * 5 * 2 * 100)


def expect_multi_op(stats, events):
    expect("multi op", stats[KERNELS.format("BRISC")]["Count"], KEPT_CORES * 2000)


def expect_overflow(stats, events):
    # TT-Metal's device sends the words of a TRISC's previous launch again, so it keeps only 200.
    counts = dict.fromkeys(RISCS[:2], 1000) | dict.fromkeys(RISCS[2:], 280)
    for risc, count in counts.items():
        expect(f"overflow {risc}", stats[KERNELS.format(risc)]["Count"], KEPT_CORES * count)


def expect_cycle_count(stats, events):
    for risc in RISCS:
        average = stats[KERNELS.format(risc)]["Average"]
        expect(f"cycle count {risc}", 20_800 < average < 1_040_000, True)


# The counts that tt-metal's own tests expect, by workload, with the class of the analyses.
WORKLOADS = {
    "full-buffer": ("test_full_buffer", expect_full_buffer),
    "timestamped-events": ("test_timestamped_events", expect_timestamped_events),
    "multi-op": ("test_multi_op", expect_multi_op),
    "multi-op-overflow": ("test_multi_op_buffer_overflow", expect_overflow),
    "cycle-count": ("test_custom_cycle_count", expect_cycle_count),
}


def check_workload(program, upstream, artifacts, workload):
    setup, expect_counts = WORKLOADS[workload]
    shutil.rmtree(artifacts, ignore_errors=True)
    kprof(program, "run", "--workload", workload, "-o", artifacts)
    cores = keep_cores(artifacts / ".logs/profile_log_device.csv", KEPT_CORES)
    expect(f"{workload}: cores", cores, (KEPT_CORES, 64))
    expect_counts(*counts(upstream, artifacts, setup))


def check_capture(program, upstream, artifacts):
    """A capture's logs, reported on by both: as many ops, on as many cores."""
    shutil.rmtree(artifacts, ignore_errors=True)
    capture = artifacts / "matmul.kprof"
    artifacts.mkdir()
    kprof(program, "capture", "--workload", "matmul", "--ops", "5", "-o", capture)
    told = json.loads(kprof(program, "ops", capture, "-n", "ours", "--json").stdout)
    expect("capture: rows", (told["rows"], told["device_ops"], told["problem_count"]), (5, 5, 0))
    stats, _ = counts(upstream, artifacts, "default_setup")
    expect("capture: ops", stats["device_fw_duration"]["Count"], 5)
    upstream.run("process_ops_logs.py", artifacts, "-o", artifacts, "-n", "theirs", "--device-only")
    kprof(program, "ops", artifacts, "--upstream-exact", "-n", "exact", "--device-only")
    reports = artifacts / "reports"
    theirs, ours = (reports / name / f"ops_perf_results_{name}.csv" for name in ("theirs", "exact"))
    compare("capture, of the device alone", upstream, theirs, ours, artifacts)


def check_analyses(program, upstream, artifacts, shape):
    """The durations that kprof knows are those of upstream's list, in its order and form."""
    shutil.rmtree(artifacts, ignore_errors=True)
    logs.session(7, **SHAPES[shape]).write(artifacts)
    report = artifacts / ".logs/cpp_device_perf_report.csv"
    tables = []
    for analyses in [[], ["--analyses", upstream.scripts / ANALYSES]]:
        kprof(program, "ops", artifacts, "-n", "analyses", "--perf-report", *analyses)
        with open(report, newline="") as file:
            tables.append(list(csv.DictReader(file)))
    built_in, listed = tables
    expect("analyses: titles", list(listed[0]), list(built_in[0]))
    expect("analyses: cells", listed, built_in)


def checks(program, upstream, work):
    for workload in WORKLOADS:
        artifacts = work / f"workload-{workload}"
        yield workload, check_workload, (program, upstream, artifacts, workload)
    yield "capture", check_capture, (program, upstream, work / "capture")
    for shape in ("traces", "quasar"):
        artifacts = work / f"analyses-{shape}"
        yield f"analyses of {shape}", check_analyses, (program, upstream, artifacts, shape)
    yield from sessions(program, upstream, work)


def main():
    program, work = sys.argv[1], Path(sys.argv[2]).resolve()
    work.mkdir(parents=True, exist_ok=True)
    upstream = Upstream(work)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        jobs = [(name, threads.submit(check, *given)) for name, check, given in checks(program, upstream, work)]
    failures = [(name, job.exception()) for name, job in jobs if job.exception()]
    for name, failure in failures:
        print(f"FAILED {name}: {failure if isinstance(failure, Failure) else repr(failure)}")
    print(f"{len(jobs) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
