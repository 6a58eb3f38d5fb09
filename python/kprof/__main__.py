"""``python -m kprof``: runs a Python program under ``kprof record``, and traces its functions.

Takes the options of TT-Metal's ``python -m tracy``. The program runs in a separate process, which
writes the events of :mod:`kprof.tracing` next to the files of ``kprof record``. If the program is
native and not a script, only ``kprof record`` records it.
"""

from __future__ import annotations

import getopt
import os
import pathlib
import runpy
import shutil
import sys

from . import tracing

_USAGE = "usage: python -m kprof [options of kprof record] [-m module | script] [arguments]"
_SHORT = "vlprmo:n:t:a:h"
# Options of `kprof record`; those with `=` have a value.
_LONG = [
    "output-folder=", "report", "name-append=", "verbose", "partial", "lines", "module", "port=",
    "check-exit-code", "process-logs-only", "child-functions=", "json", "no-device",
    "op-support-count=", "no-op-info-cache", "profile-dispatch-cores", "enable-sum-profiling",
    "enable-accumulate-profiling", "sync-host-device", "device-trace-profiler",
    "device-memory-profiler", "dump-device-data-mid-run", "disable-device-data-dump-to-files",
    "disable-device-data-push-to-tracy", "collect-noc-traces", "profiler-capture-perf-counters=",
    "no-runtime-analysis", "waits=", "keep-going", "simulate=",
    "tracy-tools-folder=", "web-app-port=", "no-web-server",
    "device-analysis-types=", "help", "no-capture-tool",
]  # fmt: skip
_PYTHON = {"-p": "-p", "--partial": "-p", "-l": "-l", "--lines": "-l", "-m": "-m", "--module": "-m"}


def main(arguments: list[str]) -> int:
    """Runs the program under ``kprof record``; in the inner process, runs it directly."""
    try:
        options, program = getopt.getopt(arguments, _SHORT, _LONG)
    except getopt.GetoptError as error:
        print(f"kprof: {error}\n{_USAGE}", file=sys.stderr)
        return 2
    names = [name for name, _ in options]
    of_python = sorted({_PYTHON[name] for name in names if name in _PYTHON})
    if "-h" in names or "--help" in names:
        print(_USAGE)
        return 0
    if not program and "--process-logs-only" not in names:
        print(f"kprof: expected a script, or -m and a module\n{_USAGE}", file=sys.stderr)
        return 2
    if "-l" in of_python and "-p" not in of_python:
        print("kprof: -l goes with -p", file=sys.stderr)
        return 2
    if "--no-capture-tool" in names:
        return _run(program, of_python)
    kprof = os.environ.get("KPROF") or shutil.which("kprof")
    if kprof is None:
        print("kprof: expected the program `kprof` on the path, or named by KPROF", file=sys.stderr)
        return 2
    command = [kprof, "record"]
    for name, value in options:
        if name not in _PYTHON:
            command += [name, value] if value else [name]
    if program and "-m" not in of_python and _is_native(program[0]):
        command += ["--", *program]
    elif program:
        command += ["--", sys.executable, "-m", "kprof", "--no-capture-tool", *of_python, *program]
    # This process is no longer needed. `kprof record` receives and forwards its signals.
    os.execv(kprof, command)


def _is_native(path: str) -> bool:
    """Returns true for a native program, which has no Python to trace."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _run(program: list[str], of_python: list[str]) -> int:
    """Runs the program in this process, and always writes the recorded events at its end."""
    tracing.LINES = "-l" in of_python
    # With -p, the program enables its profilers itself.
    profiler = None if "-p" in of_python else tracing.Profiler()
    sys.argv = program
    if profiler is not None:
        profiler.enable()
    try:
        if "-m" in of_python:
            # Like `python -m`, search the current folder for modules.
            sys.path[0] = os.getcwd()
            runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
            runpy.run_path(program[0], run_name="__main__")
    finally:
        if profiler is not None:
            profiler.disable()
        _save()
    return 0


def _save() -> None:
    folder = pathlib.Path(os.environ.get("TT_METAL_PROFILER_DIR", "generated/profiler"), ".logs")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"python_host_{os.getpid()}.kprof"
    count = tracing.save_host_events(path)
    print(f"kprof: {count} events of Python in {path}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
