"""Zones, messages and signposts of a Python program, and tracing of its functions and lines.

Names and signatures are those of TT-Metal's ``tracy`` and ``ttnn``, so that a program runs after
one changed import. Events are recorded in memory on the host's monotonic clock, to which the clocks
of chips are also related. :func:`save_host_events` writes the events to a capture.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from . import _native

HOST = _native.Host()
"""Recorder of this process."""

_LOG = logging.getLogger("kprof")

LINES = False
"""Default of a :class:`Profiler` for tracing lines; ``python -m kprof -p -l`` sets it."""


signpost_hooks: list[Callable[[], None]] = []
"""Functions called before each signpost, so that chips are read up to the signpost."""


def signpost(header: str, message: str | None = None, color: int | None = None) -> None:
    """Records a signpost: a row of the ops report, and a message of the trace.

    ``color`` is 0xRRGGBB, here and in the functions below.
    """
    for hook in signpost_hooks:
        hook()
    HOST.signpost(header, message, color)
    _LOG.info("%s", header if message is None else f"{header}: {message}")


def _qualified_name(code: CodeType) -> str:
    # Python 3.10 has only a function's unqualified name.
    return getattr(code, "co_qualname", code.co_name)


def message(text: str, color: int | None = None) -> None:
    """Records a message."""
    frame = sys._getframe(1)
    HOST.message(text, frame.f_code.co_filename, frame.f_lineno, color)


def tracy_message(text: str, color: int = 0xF0F8FF) -> None:
    """Records a message; same name as in ``ttnn``."""
    frame = sys._getframe(1)
    HOST.message(text, frame.f_code.co_filename, frame.f_lineno, color)


def start_tracy_zone(source: str, functName: str, lineNum: int = 0, line_number: int = 0) -> None:
    """Begins a zone of this thread, with the name of a function and a source location."""
    HOST.begin_zone(functName, functName, source, line_number or lineNum)


def stop_tracy_zone(name: str = "", color: int = 0) -> bool:
    """Ends the innermost zone of this thread, with a text; returns false if no zone is open.

    A colour of 0 means no colour.
    """
    return HOST.end_zone(name or None, color or None)


@contextlib.contextmanager
def zone(name: str) -> Iterator[None]:
    """Records the block of ``with`` as a zone."""
    # Frame 1 is the context manager's.
    frame = sys._getframe(2)
    code = frame.f_code
    HOST.begin_zone(name, _qualified_name(code), code.co_filename, frame.f_lineno)
    try:
        yield
    finally:
        HOST.end_zone(None)


def save_host_events(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> int:
    """Writes everything recorded so far into a new capture; returns the number of events."""
    return HOST.save(os.fsdecode(path))


_PAUSED = threading.local()


class paused:
    """Excludes the block of ``with``, which is kprof's own work, from the traces of this thread.

    This is a class because functions of contextlib would be traced.
    """

    def __enter__(self) -> None:
        self._before = getattr(_PAUSED, "is_paused", False)
        _PAUSED.is_paused = True

    def __exit__(self, *_: object) -> None:
        _PAUSED.is_paused = self._before


def _is_own(frame: FrameType) -> bool:
    """Returns true for functions of kprof, and for their callees while tracing is paused."""
    name = str(frame.f_globals.get("__name__", ""))
    return getattr(_PAUSED, "is_paused", False) or name.partition(".")[0] == __package__


class Profiler:
    """Traces the functions that are called between :meth:`enable` and :meth:`disable`.

    ``lines`` traces every line as well. Only functions called while the profiler is enabled are
    recorded; threads that start meanwhile are traced too. If another tracer is active, nothing
    is traced and :meth:`enable` returns false.
    """

    def __init__(self, lines: bool | None = None) -> None:
        self._has_lines = LINES if lines is None else lines
        self._is_enabled = False
        self._local = threading.local()

    def enable(self) -> bool:
        """Starts tracing; returns false if another tracer is active."""
        active = sys.gettrace() if self._has_lines else sys.getprofile()
        if self._is_enabled or active is not None:
            return self._is_enabled
        self._is_enabled = True
        if self._has_lines:
            threading.settrace(self._trace)
            sys.settrace(self._trace)
        else:
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)
        return True

    def disable(self) -> None:
        """Ends tracing, and ends all zones of this thread that tracing has begun."""
        if not self._is_enabled:
            return
        self._is_enabled = False
        if self._has_lines:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
        else:
            sys.setprofile(None)
            threading.setprofile(None)
        while self._frames():
            self._end(self._frames()[-1][0])

    def __enter__(self) -> "Profiler":
        self.enable()
        return self

    def __exit__(self, *_: object) -> None:
        self.disable()

    def _frames(self) -> list[list[Any]]:
        """Frames of this thread with open zones, each with a flag for an open zone of a line."""
        frames = getattr(self._local, "frames", None)
        if frames is None:
            frames = self._local.frames = []
        return frames

    def _begin(self, frame: FrameType) -> None:
        code = frame.f_code
        HOST.begin_zone(
            f"PY_FUNC_{code.co_name}", _qualified_name(code), code.co_filename, code.co_firstlineno
        )
        self._frames().append([frame, False])

    def _end(self, frame: FrameType) -> None:
        frames = self._frames()
        # A function that was called before tracing began has no zone.
        if not frames or frames[-1][0] is not frame:
            return
        if frames.pop()[1]:
            HOST.end_zone(None)
        HOST.end_zone(None)

    def _profile(self, frame: FrameType, event: str, _arg: object) -> None:
        if event == "call":
            if not _is_own(frame):
                self._begin(frame)
        elif event == "return":
            self._end(frame)

    def _trace(self, frame: FrameType, event: str, _arg: object) -> Any:
        if event == "call":
            if _is_own(frame):
                return None
            self._begin(frame)
        elif event == "line":
            self._line(frame)
        elif event == "return":
            self._end(frame)
        return self._trace

    def _line(self, frame: FrameType) -> None:
        frames = self._frames()
        if not frames or frames[-1][0] is not frame:
            return
        if frames[-1][1]:
            HOST.end_zone(None)
        code = frame.f_code
        HOST.begin_zone(
            f"PY_LINE_{code.co_name}", _qualified_name(code), code.co_filename, frame.f_lineno
        )
        frames[-1][1] = True
