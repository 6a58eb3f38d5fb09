"""Work of the profiler itself, of which the program must not notice anything."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

_COUNTERS = ("device_operation_id", "python_operation_id", "tensor_id")
_CACHED_PROGRAMS: dict[int, int] = {}
"""Programs of the profiler in the program cache of each mesh, by the mesh's id."""


def undecorated(operation: Any) -> Any:
    """Returns the function of an operation, which calls no hooks of the program."""
    return getattr(operation, "function", operation)


@contextlib.contextmanager
def counters_kept(ttnn: Any) -> Iterator[None]:
    """Context in which operations and tensors of the profiler do not count as the program's."""
    core = ttnn._ttnn
    before = [getattr(core, f"get_{counter}")() for counter in _COUNTERS]
    try:
        yield
    finally:
        for counter, value in zip(_COUNTERS, before):
            getattr(core, f"set_{counter}")(value)


@contextlib.contextmanager
def cached_programs_hidden(ttnn: Any, device: Any) -> Iterator[None]:
    """Context for launches of the profiler on a mesh: their programs do not count as cached."""
    counted = ttnn.MeshDevice.num_program_cache_entries
    count = getattr(counted, "__wrapped__", counted)
    before = count(device)
    try:
        yield
    finally:
        added = count(device) - before
        _CACHED_PROGRAMS[device.id()] = _CACHED_PROGRAMS.get(device.id(), 0) + added


def hide_cached_programs(ttnn: Any) -> None:
    """Makes ttnn's count of cached programs leave out the programs of the profiler."""
    kind = ttnn.MeshDevice
    original = kind.num_program_cache_entries

    @functools.wraps(original)
    def entries(device: Any) -> int:
        return original(device) - _CACHED_PROGRAMS.get(device.id(), 0)

    kind.num_program_cache_entries = entries
    for name in ("clear_program_cache", "disable_and_clear_program_cache"):
        _forget_at(kind, name)


def _forget_at(kind: Any, name: str) -> None:
    original = getattr(kind, name)

    @functools.wraps(original)
    def cleared(device: Any) -> None:
        forget_cached_programs(device)
        original(device)

    setattr(kind, name, cleared)


def forget_cached_programs(device: Any) -> None:
    """Forgets the cached programs of a mesh whose cache is cleared, or which closes."""
    _CACHED_PROGRAMS.pop(device.id(), None)
