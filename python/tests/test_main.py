"""``python -m kprof``: the command lines of TT-Metal's pages, with ``tracy`` changed to ``kprof``."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kprof
from kprof import __main__ as main

SCRIPT = """
import sys
import kprof

def inner():
    return 1

def function_under_test():
    return inner() + 1

def outside():
    return 0

outside()
profiler = kprof.Profiler()
profiler.enable()
function_under_test()
profiler.disable()
kprof.signpost("Measurement Start")
print("argv", sys.argv[1:], __name__)
"""


def run(
    folder: Path, line: str, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command line in a folder with the script, and a module with the same content."""
    (folder / "your_script.py").write_text(SCRIPT)
    (folder / "package").mkdir(exist_ok=True)
    (folder / "package" / "module.py").write_text(SCRIPT)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TT_METAL")}
    return subprocess.run(
        [sys.executable, "-m", "kprof", *shlex.split(line)],
        cwd=folder, env=environment | (variables or {}), capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def zones(folder: Path) -> list[str]:
    [capture] = folder.glob("*/.logs/python_host_*.kprof")
    trace = folder / "host.trace.json"
    kprof.open(capture).export(trace)


    events = json.loads(trace.read_text())["traceEvents"]
    return [event["name"] for event in events if event["ph"] in "XB"]


def test_every_function_without_p(tmp_path: Path) -> None:
    output = run(tmp_path, "-o out your_script.py --batch 16")
    assert output.returncode == 0, output.stderr
    assert output.stdout == "argv ['--batch', '16'] __main__\n"
    found = zones(tmp_path)
    for name in ("outside", "function_under_test", "inner"):
        assert found.count(f"PY_FUNC_{name}") == 1, found


def test_only_what_profilers_enclose_with_p(tmp_path: Path) -> None:
    assert run(tmp_path, "-p -o out your_script.py").returncode == 0
    found = zones(tmp_path)
    assert found.count("PY_FUNC_inner") == 1 and "PY_FUNC_outside" not in found
    assert not [name for name in found if name.startswith("PY_LINE_")]


def test_lines_of_a_module_with_p_and_l(tmp_path: Path) -> None:
    output = run(tmp_path, "-p -l -o out -m package.module -x")
    assert output.stdout == "argv ['-x'] __main__\n", output.stderr
    assert "PY_LINE_inner" in zones(tmp_path)
    assert run(tmp_path, "-l your_script.py").returncode == 2


@pytest.mark.parametrize(
    "options",
    [
        "-p -v",
        "-p -r -v -n name",
        "-p --sync-host-device",
        "-p -v --no-op-info-cache",
        "-p -v --op-support-count 5000",
        "-p -v --collect-noc-traces",
        "-p --dump-device-data-mid-run",
        "-p --no-device",
        "-pv -n name --check-exit-code",
        "-p --profiler-capture-perf-counters=fpu,instrn",
        "-p --device-memory-profiler --profile-dispatch-cores --tracy-tools-folder tools",
        "-p --profiler-capture-perf-counters fpu,pack,unpack,l1,instrn,all",
        "--partial --verbose --lines --name-append name --sync-host-device",
    ],
)
def test_options_reach_kprof_record(tmp_path: Path, options: str) -> None:
    output = run(tmp_path, f"{options} -o out your_script.py")
    assert output.returncode == 0, output.stderr
    assert output.stdout.startswith("argv [] __main__\n")
    report = tmp_path / "out/reports/name/ops_perf_results_name.csv"
    assert report.exists() == ("-r" in options.split())
    assert "PY_FUNC_function_under_test" in zones(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--sync-host-devcie", "unknown option --sync-host-devcie; did you mean --sync-host-device?"),
        ("-r --perf-counter-mutlipass", "did you mean --perf-counter-multipass?"),
        ("--name-append", "option --name-append needs a value"),
        ("--report=yes", "option --report has no value"),
    ],
)
def test_a_misspelt_option_is_named(tmp_path: Path, options: str, said: str) -> None:
    line = options if "append" in options else f"{options} your_script.py"
    output = run(tmp_path, line)
    assert output.returncode == 2
    assert said in output.stderr
    assert "argv" not in output.stdout, "the program did not run"


def test_every_option_of_kprof_record_is_known(tmp_path: Path) -> None:
    """Options with a value may have it after `=` or as the next word."""
    program = os.environ.get("KPROF", "kprof")
    listed = subprocess.run(
        [program, "record", "--list-options"], check=True, capture_output=True, text=True
    ).stdout
    names = [line.split()[1] for line in listed.splitlines()]
    assert {"stream", "read-every", "tracy", "perf-counter-multipass"} <= set(names)
    options = main._options_of(listed)
    for line in listed.splitlines():
        _, name, value = line.split()
        text = None if value == "none" else "7"
        word = f"--{name}" if text is None else f"--{name}=7"
        assert main._split([word, "a.py", "-r"], options) == ([(name, text)], ["a.py", "-r"])
        if value == "optional":
            assert main._split([f"--{name}", "a.py"], options) == ([(name, None)], ["a.py"])


def test_variables_before_the_command_line_reach_the_program(tmp_path: Path) -> None:
    of_user = {
        "TT_METAL_DEVICE_PROFILER": "1",
        "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT": "5000",
        "TT_METAL_PROFILER_SYNC": "1",
        "TT_METAL_PROFILER_MID_RUN_DUMP": "1",
        "TT_METAL_WATCHER_NOINLINE": "1",
        "TT_METAL_READ_DEBUG_DELAY_CORES": "0,0",
    }
    (tmp_path / "prints.py").write_text("import json, os; print(json.dumps(dict(os.environ)))")
    output = run(tmp_path, "-p -r -o out prints.py", of_user)
    assert output.returncode == 0, output.stderr
    found = json.loads(output.stdout.splitlines()[0])
    assert {name: found.get(name) for name in of_user} == of_user


def test_a_program_of_machine_code_is_recorded_without_python(tmp_path: Path) -> None:
    output = run(tmp_path, "-r -v -p -o out /bin/sh -c 'echo $0 $TT_METAL_DEVICE_PROFILER; exit 5' x")
    assert output.returncode == 5, output.stderr
    assert output.stdout.startswith("x 1\n")
    assert list(tmp_path.glob("out/.logs/python_host_*.kprof")) == [], "no Python was traced"


def test_exit_codes_and_signals_are_the_programs(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import kprof, sys; kprof.signpost('x'); sys.exit(7)")
    assert run(tmp_path, "-o out fails.py").returncode == 7
    assert len(list(tmp_path.glob("out/.logs/python_host_*.kprof"))) == 1, "kept all the same"
    assert run(tmp_path, "--check-exit-code -o out fails.py").returncode == 4
    (tmp_path / "dies.py").write_text("import os; os.kill(os.getpid(), 9)")
    assert run(tmp_path, "-o out dies.py").returncode == 128 + signal.SIGKILL


def test_wrong_command_lines_are_one_sentence_and_the_usage(tmp_path: Path) -> None:
    for line in ("--unknown your_script.py", "-p"):
        output = run(tmp_path, line)
        assert output.returncode == 2
        assert len(output.stderr.splitlines()) == 2 and "usage:" in output.stderr
