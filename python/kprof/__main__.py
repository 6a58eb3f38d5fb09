"""``python -m kprof``: runs a Python program under ``kprof record``, and traces its functions.

Takes the options of TT-Metal's ``python -m tracy``. The program runs in a separate process, which
writes the events of :mod:`kprof.tracing` next to the files of ``kprof record``. If the program is
native and not a script, only ``kprof record`` records it.
"""

from __future__ import annotations

import difflib
import os
import pathlib
import runpy
import shutil
import subprocess
import sys

from . import tracing

_USAGE = "usage: python -m kprof [options of kprof record] [-m module | script] [arguments]"
# Options that this module itself follows.
_PYTHON = {"partial": "-p", "lines": "-l", "module": "-m"}


# Options that need no list of `kprof record`: those of Python, and that of the inner process.
_INNER = "--no-capture-tool"
_OWN_OPTIONS = """\
h help none
p partial none
l lines none
m module none
- no-capture-tool none
"""


class _OptionError(Exception):
    """An option that is not known, or lacks its value."""


def _options_of(text: str) -> dict[str, tuple[str, str]]:
    """Returns each spelling of an option with its long name and the kind of its value."""
    options = {}
    for line in text.splitlines():
        short, name, value = line.split()
        options[f"--{name}"] = (name, value)
        if short != "-":
            options[f"-{short}"] = (name, value)
    return options


def _split(
    arguments: list[str], options: dict[str, tuple[str, str]]
) -> tuple[list[tuple[str, str | None]], list[str]]:
    """Returns the options before the program, by long name, and the program with its arguments."""
    found: list[tuple[str, str | None]] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        spelling, equals, text = word.partition("=") if word.startswith("--") else (word[:2], "", "")
        spelling = _whole(spelling, options)
        name, value = options[spelling]
        given = text if equals else None
        if not word.startswith("--") and len(word) > 2:
            # Letters after the first are its value or further options.
            if value == "none":
                rest.insert(0, f"-{word[2:]}")
            else:
                given = word[2:]
        if value == "none" and equals:
            raise _OptionError(f"option {spelling} has no value")
        if value == "required" and given is None:
            if not rest:
                raise _OptionError(f"option {spelling} needs a value")
            given = rest.pop(0)
        found.append((name, given))
    return found, rest


def _whole(spelling: str, options: dict[str, tuple[str, str]]) -> str:
    """Returns the full spelling of an option, which may be shortened if no other begins so."""
    if spelling in options:
        return spelling
    longer = [one for one in options if spelling.startswith("--") and one.startswith(spelling)]
    if len(longer) == 1:
        return longer[0]
    similar = difflib.get_close_matches(spelling, options, 1)
    hint = f"; did you mean {similar[0]}?" if similar else ""
    raise _OptionError(f"unknown option {spelling}{hint}")


def main(arguments: list[str]) -> int:
    """Runs the program under ``kprof record``; in the inner process, runs it directly."""
    kprof = os.environ.get("KPROF") or shutil.which("kprof") or ""
    # `kprof record` starts the inner process with this option first.
    listed = "" if arguments[:1] == [_INNER] else _listed(kprof)
    if listed is None:
        print("kprof: expected the program `kprof` of this version on the path, or named by KPROF",
              file=sys.stderr)  # fmt: skip
        return 2
    try:
        options, program = _split(arguments, _options_of(_OWN_OPTIONS + listed))
    except _OptionError as error:
        print(f"kprof: {error}\n{_USAGE}", file=sys.stderr)
        return 2
    names = [name for name, _ in options]
    of_python = sorted({_PYTHON[name] for name in names if name in _PYTHON})
    if "help" in names:
        print(_USAGE)
        return 0
    if not program and "process-logs-only" not in names:
        print(f"kprof: expected a script, or -m and a module\n{_USAGE}", file=sys.stderr)
        return 2
    if "-l" in of_python and "-p" not in of_python:
        print("kprof: -l goes with -p", file=sys.stderr)
        return 2
    if "no-capture-tool" in names:
        return _run(program, of_python)
    command = [kprof, "record"]
    for name, value in options:
        if name not in _PYTHON:
            command.append(f"--{name}" if value is None else f"--{name}={value}")
    if program and "-m" not in of_python and _is_native(program[0]):
        command += ["--", *program]
    elif program:
        command += ["--", sys.executable, "-m", "kprof", _INNER, *of_python, *program]
    # This process is no longer needed. `kprof record` receives and forwards its signals.
    os.execv(kprof, command)


def _listed(kprof: str) -> str | None:
    """Returns the options of ``kprof record``, which has their only list; None without kprof."""
    try:
        command = [kprof, "record", "--list-options"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


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
