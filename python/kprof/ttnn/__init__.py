"""Profiles programs that use ttnn as pip installs it, without building tt-metal from source.

`kprof record` loads this package in the program that it starts. To use it in code::

    import kprof.ttnn

    kprof.ttnn.prepare()
    import ttnn

    device = ttnn.open_device(device_id=0)
    with kprof.ttnn.profile(device) as profile:
        ttnn.matmul(a, b)
    recording = profile.recording()

:func:`prepare` makes tt-metal compile kernels and firmware with kprof's header, as is required.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from .. import Recording, _native, tracing

SESSION_VARIABLE = "KPROF_TTNN_SESSION"
"""Options of the session as JSON; `kprof record` sets it."""
_PREPARED = "KPROF_TTNN_PREPARED"
"""Options that kernels are compiled for, as JSON; `prepare` sets it."""


class _Loader(importlib.abc.Loader):
    """Loads a module with its own loader, then patches it."""

    def __init__(self, loader: Any, change: Callable[[Any], object]) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._loader.exec_module(module)
        self._change(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for the program to import a module."""

    def __init__(self, module: str, change: Callable[[Any], object]) -> None:
        self._module = module
        self._change = change

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self._module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._change)
        return spec


def start(ttnn: Any) -> Any:
    """Begins the session that the environment describes; returns it."""
    from .session import Options, begin, begin_again_after_fork

    begin_again_after_fork(ttnn)
    return begin(ttnn, Options.from_environment(os.environ[SESSION_VARIABLE]))


def use_own_logs(folder: str) -> str:
    """Makes tt-metal keep its logs in a folder of this process below `folder`; returns its path.

    The logs name the launches of a process by numbers that each process counts from 1.
    """
    own = os.path.join(folder, f"process-{os.getpid()}")
    os.makedirs(own, exist_ok=True)
    os.environ["TT_METAL_LOGS_PATH"] = own
    return own


def prepare(program_support_count: int = 1000, sums: bool = False) -> None:
    """Makes tt-metal compile kernels with kprof's header; call it before `import ttnn`.

    ``program_support_count`` is the number of programs that a lane holds between two reads. With
    ``sums``, the chip records sums of zones in compute kernels.
    """
    if "ttnn" in sys.modules:
        raise RuntimeError("expected prepare() before `import ttnn`, found ttnn imported")
    logs = os.environ.get("TT_METAL_LOGS_PATH") or os.getcwd()
    variables = _native.ttnn_environment(sys.executable, logs, program_support_count, sums)
    os.environ.update(variables)
    use_own_logs(os.path.join(logs, "generated", "kprof"))
    os.environ[_PREPARED] = json.dumps({"program_support_count": program_support_count, "sums": sums})


class Profile:
    """Profile of an opened device during the block of ``with``."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._session: Any = None
        self._recording: Any = None

    def __enter__(self) -> Profile:
        import ttnn

        from .session import ACTIVE, Options, begin

        if ACTIVE:
            raise RuntimeError("expected one profile at a time, found another one in progress")
        options = Options(**json.loads(os.environ.get(_PREPARED, "{}")))
        options.logs = os.environ["TT_METAL_LOGS_PATH"]
        self._session = begin(ttnn, options)
        self._session.open(self._device)
        return self

    def __exit__(self, *error: object) -> None:
        from .session import end

        self._session.close(self._device)
        self._recording = end(self._session)

    def recording(self) -> Recording:
        """Returns the recording, which is complete when the block has ended."""
        if self._recording is None:
            raise RuntimeError("expected recording() after the `with` block, found it inside")
        return Recording(self._recording)


def profile(device: Any) -> Profile:
    """Profiles ``device`` during the block of ``with``; call :func:`prepare` first."""
    return Profile(device)


def _trace_functions(tracy: Any) -> None:
    """Makes the program's profilers use this package, since ttnn's own profiler needs Tracy."""
    tracy.Profiler = tracing.Profiler


def wait_for_ttnn() -> None:
    """Profiles ttnn from its import on, if `kprof record` has started the program."""
    if SESSION_VARIABLE not in os.environ or "ttnn" in sys.modules:
        return
    sys.meta_path.insert(0, _Finder("ttnn", start))
    options = json.loads(os.environ[SESSION_VARIABLE])
    use_own_logs(options["logs"])
    if options.get("partial"):
        tracing.LINES = bool(options.get("lines"))
        sys.meta_path.insert(0, _Finder("tracy", _trace_functions))
