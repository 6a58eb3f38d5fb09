"""Profiles a stock ttnn, as pip installs it, without a build of tt-metal from source.

`kprof record` loads this in the program that it starts. In code::

    import kprof.ttnn

    with kprof.ttnn.profile(device) as profile:
        ttnn.matmul(a, b)
    recording = profile.recording()

Kernels and firmware must have been compiled with kprof's header, which is what `kprof record`
arranges before the program starts: :func:`prepare` does the same in code, before `import ttnn`.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from typing import Any

SESSION_VARIABLE = "KPROF_TTNN_SESSION"
"""Options of the session as JSON; `kprof record` sets it."""


class _Loader(importlib.abc.Loader):
    """Loads ttnn as its own loader does, then watches it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._loader.exec_module(module)
        start(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for the program to import ttnn."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "ttnn":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def start(ttnn: Any) -> Any:
    """Begins the session that the environment describes; returns it."""
    from .session import Options, Session, watch

    session = Session(ttnn, Options.from_environment(os.environ[SESSION_VARIABLE]))
    watch(ttnn, session)
    return session


def wait_for_ttnn() -> None:
    """Profiles ttnn from when the program imports it, if `kprof record` has started the program."""
    if SESSION_VARIABLE in os.environ and "ttnn" not in sys.modules:
        sys.meta_path.insert(0, _Finder())
