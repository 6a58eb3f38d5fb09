"""Profiles Tenstorrent kernels: recordings as tables, zones and signposts, reports.

Every table has ``__arrow_c_stream__``: ``pandas.DataFrame.from_arrow``, ``polars.DataFrame`` and
``pyarrow.table`` accept such a table. None of these packages has to be installed.
"""

from __future__ import annotations

import csv as _csv
import html as _html
import io as _io
import json as _json
import operator as _operator
import os as _os
from typing import Any

from . import _native
from ._native import SimulatedMesh, workloads
from .tracing import (
    Profiler,
    message,
    save_host_events,
    signpost,
    start_tracy_zone,
    stop_tracy_zone,
    tracy_message,
    zone,
)

_Path = str | bytes | _os.PathLike[str] | _os.PathLike[bytes]
"""Type of a file's path."""

__all__ = [
    "MeshReader",
    "OpsTable",
    "PeriodicReader",
    "Profiler",
    "Recording",
    "SimulatedMesh",
    "diff",
    "message",
    "open",
    "open_all",
    "open_ops_csv",
    "read_device_profiler",
    "save_host_events",
    "signpost",
    "start_tracy_zone",
    "stop_tracy_zone",
    "tracy_message",
    "workloads",
    "zone",
]


def _decoded(path: _Path | None) -> str | None:
    return None if path is None else _os.fsdecode(path)


class Recording:
    """All recorded data of one run of a program."""

    def __init__(self, native: _native.Recording) -> None:
        self._native = native

    @property
    def title(self) -> str:
        """Name of the file or workload."""
        return self._native.title

    @property
    def record_count(self) -> int:
        """Number of records of every kind."""
        return self._native.record_count

    @property
    def has_losses(self) -> bool:
        """True if records were lost unintentionally."""
        return self._native.has_losses

    @property
    def uncounted(self) -> list[str]:
        """Messages about record sources that do not count their losses; empty if all sources do."""
        return self._native.uncounted

    @property
    def signposts(self) -> list[str]:
        """Names of the signposts that the host set."""
        return self._native.signposts

    @property
    def records(self) -> Any:
        """Every record, lane by lane."""
        return self._native.records()

    @property
    def zones(self) -> Any:
        """Zones with start, end, depth and program."""
        return self._native.zones()

    @property
    def ops(self) -> Any:
        """Launches of programs with their durations; unknown cells are empty, with a reason."""
        return self._native.ops()

    def op_durations(self) -> list[tuple[str | None, int, int | None]]:
        """Name, program and kernel nanoseconds of each launch, ``None`` where unknown."""
        return self._native.op_durations()

    @property
    def zone_statistics(self) -> Any:
        """Statistics of zones, by chip, RISC and name."""
        return self._native.zone_statistics()

    @property
    def lines(self) -> Any:
        """Instructions of kernels with their source lines and cycles, of all runs of the file.

        ``None`` if the recording was not made on the simulator with ``--lines``.
        """
        found = self._native.lines()
        if found is None:
            return None
        table, unreadable_count = found
        if unreadable_count:
            import warnings

            skipped = "1 row of the lines is" if unreadable_count == 1 else f"{unreadable_count} rows of the lines are"
            warnings.warn(f"{skipped} skipped, the rest is used", stacklevel=2)
        return table

    @property
    def losses(self) -> Any:
        """Lost records, by lane, cause and program."""
        return self._native.losses()

    @property
    def host_zones(self) -> Any:
        """Zones of the host's threads: source location, start, duration, text and colour.

        This table and the tables below have the columns of the Parquet dataset
        (``docs/parquet.md``).
        """
        return self._native.host_zones()

    @property
    def host_events(self) -> Any:
        """The host's messages, signposts, frame ends and plot points."""
        return self._native.host_events()

    @property
    def buffers(self) -> Any:
        """Allocations and frees of the chips' buffers, by kind of memory; addresses if known."""
        return self._native.buffers()

    @property
    def op_buffers(self) -> Any:
        """Peak bytes in buffers while the host worked on each op, by kind of memory."""
        return self._native.op_buffers()

    @property
    def waits(self) -> Any:
        """Individually recorded waits for circular buffers, semaphores and NoCs."""
        return self._native.waits()

    @property
    def wait_sums(self) -> Any:
        """Sums of waits, by launch, RISC and object."""
        return self._native.wait_sums()

    @property
    def profiler_time(self) -> Any:
        """Time in the profiler's own zones: waits for the host, pushes of several launches."""
        return self._native.profiler_time()

    def report(self) -> dict[str, Any]:
        """All figures: summary, ops, zones, sums and data."""
        return _json.loads(self._native.report_json())

    def explain(self) -> dict[str, Any]:
        """Returns the causes of slowness, as printed by ``kprof explain --json``.

        ``findings`` are at most ten sentences, ordered by the largest possible gain, each with its
        ``figure``, ``place``, ``gain_at_most_percent`` and ``advice``. ``untold`` are questions
        that this recording cannot answer. ``devices``, ``phases`` and ``ops`` hold times by class.
        """
        return _json.loads(self._native.explain_json())

    def export(
        self, path: _Path, output: str | None = None, filter: str | None = None
    ) -> None:
        """Writes a file, or a folder for ``noc-traces`` and ``parquet``.

        ``output`` is one of :meth:`outputs`. Default: inferred from the ending of the path.
        ``filter`` takes the terms of ``kprof export --filter``.
        """
        self._native.write(output, _os.fsdecode(path), filter)

    @staticmethod
    def outputs() -> list[str]:
        """Names of all outputs of :meth:`export`."""
        return _native.Recording.outputs()

    def diff(self, after: "Recording | list[Recording]", confidence: float = 0.95) -> dict[str, Any]:
        """Compares this recording with a later one; see :func:`diff`."""
        return diff(self, after, confidence)

    def html(self) -> str:
        """The report as one HTML page that needs no network."""
        return self._native.html()

    def _repr_html_(self) -> str:
        page = _html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="800" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return repr(self._native)


class OpsTable:
    """The rows of an ``ops_perf_results.csv``."""

    def __init__(self, table: Any, path: str, content: bytes) -> None:
        self.table = table
        self.path = path
        self._content = content

    def explain(self, window: str = "steady") -> dict[str, Any]:
        """Returns the causes of slowness, as ``kprof explain --json`` prints them for the file.

        ``window`` is ``steady`` (the last iteration, if ops repeat and iterations have most of the
        kernels' time), ``last`` (the last iteration, whatever its part of the time) or ``all``. The keys
        are those of :meth:`Recording.explain`, plus ``groups``: groups of ops by op code, with their
        limits.
        """
        if window not in ("steady", "last", "all"):
            raise ValueError(f"expected steady, last or all as the window, found {window}")
        explained = _native.explain_ops_csv_json(self._content, self.path, window)
        return _json.loads(explained)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def _existing(path: _Path) -> str:
    """Returns the path as text; raises an ``OSError`` such as ``FileNotFoundError`` if missing."""
    path = _os.fsdecode(path)
    _os.stat(path)
    return path


def open_all(path: _Path) -> list[Recording]:
    """Opens all runs of a capture, or the only run of a device log or a folder of logs."""
    path = _existing(path)
    recordings, problem_count = _native.open_recordings(path)
    if problem_count:
        import warnings

        warnings.warn(
            f"{path}: {problem_count} problems, the rest is used; "
            "`kprof check` lists them",
            stacklevel=3,
        )
    return [Recording(found) for found in recordings]


def open(path: _Path, run: int | None = None) -> Recording:
    """Opens a capture, a device log, or a folder of logs; the content determines the format.

    ``run`` chooses one of several runs of a capture, from 1. :func:`open_ops_csv` opens an ops CSV.
    """
    path = _existing(path)
    number = 1 if run is None else _operator.index(run)
    if _is_ops_csv(path):
        raise ValueError(f"{path}: expected a recording, found an ops CSV; use kprof.open_ops_csv")
    runs = open_all(path)
    if run is None and len(runs) > 1:
        raise ValueError(f"{path} holds {len(runs)} runs; choose one by run=1 and so on")
    if not 1 <= number <= len(runs):
        held = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
        raise ValueError(f"{path} holds {held}, found run={number}")
    return runs[number - 1]


def _is_ops_csv(path: str) -> bool:
    if not _os.path.isfile(path):
        return False
    with _builtin_open(path, "rb") as file:
        line = file.read(4096).removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    titles = {title.strip().strip(b'"') for title in line.split(b",")}
    # A report without host data has no op codes.
    return not titles.isdisjoint({b"OP CODE", b"GLOBAL CALL COUNT"})


def open_ops_csv(path: _Path) -> OpsTable:
    """Opens an ``ops_perf_results.csv``."""
    path = _existing(path)
    if not _is_ops_csv(path):
        raise ValueError(f"{path}: expected an ops CSV, with a column OP CODE or GLOBAL CALL COUNT")
    with _builtin_open(path, "rb") as file:
        content = file.read()
    try:
        rows = list(_csv.reader(_io.StringIO(content.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, _csv.Error) as error:
        raise ValueError(f"{path}: expected an ops CSV in UTF-8, {error}") from None
    header, rows = rows[0], [row for row in rows[1:] if row]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise ValueError(
                f"{path}: expected {len(header)} cells in row {number}, found {len(row)}"
            )
    columns = [list(column) for column in zip(*rows)] if rows else [[] for _ in header]
    return OpsTable(_native.table_of_texts(header, columns), path, content)


def read_device_profiler(
    mesh: SimulatedMesh,
    capture: _Path | None = None,
    with_host_events: bool = False,
) -> Recording:
    """Runs the workload of a simulated mesh and reads all records.

    With ``capture``, the data is also written to a new capture. ``with_host_events`` includes the
    events that :func:`signpost`, :class:`Profiler` and similar functions have recorded.
    """
    from .tracing import HOST

    host = HOST if with_host_events else None
    return Recording(_native.read_device_profiler(mesh, _decoded(capture), host))


class MeshReader:
    """Reads a mesh on request, and returns figures of the programs in each read.

    ::

        reader = kprof.MeshReader(mesh)
        while reader.read():
            print(reader.latest_programs_perf_data())
        recording = reader.finish()

    With ``capture``, all data is also written to a new capture.
    """

    def __init__(self, mesh: SimulatedMesh, capture: _Path | None = None) -> None:
        self._mesh = mesh
        self._native = _native.MeshReader(mesh, _decoded(capture))

    def read(self) -> bool:
        """Runs the next part of the workload and reads; returns false after the last part."""
        return self._native.read(self._mesh)

    def latest_programs_perf_data(self) -> dict[int, list[dict[str, Any]]]:
        """Returns the programs of the latest read, by chip number.

        Each program has ``runtime_id``, ``trace_id``, ``trace_id_counter``, ``core_count``,
        ``available_core_count`` and ``results``. For each title of an analysis, ``results`` holds
        ``start_cycle``, ``end_cycle`` and ``duration_ns``. Unknown values are ``None``.
        """
        return self._programs(False)

    def all_programs_perf_data(self) -> dict[int, list[dict[str, Any]]]:
        """Returns the programs of all reads, as :meth:`latest_programs_perf_data` does."""
        return self._programs(True)

    def _programs(self, is_of_all: bool) -> dict[int, list[dict[str, Any]]]:
        programs = _json.loads(self._native.programs_json(is_of_all))
        return {int(chip): found for chip, found in programs.items()}

    def finish(self) -> Recording:
        """Ends reading, and returns all data that was read."""
        return Recording(self._native.finish())


class PeriodicReader:
    """Reads a mesh every ``period`` seconds from a thread, while programs run on it.

    ::

        with kprof.PeriodicReader(mesh, period=0.001) as reader:
            mesh.run()
        print(reader.recording.has_losses)

    Nothing is lost, however long the run is, if the lanes have room for all records of one period
    and one read. The other arguments are those of :func:`read_device_profiler`. The last read is
    made at the end of the block of ``with``; nothing may be launched afterwards.
    """

    def __init__(
        self,
        mesh: SimulatedMesh,
        period: float = 0.01,
        capture: _Path | None = None,
        with_host_events: bool = False,
    ) -> None:
        from .tracing import HOST

        host = HOST if with_host_events else None
        self._native = _native.PeriodicReader(mesh, period, _decoded(capture), host)
        self._recording: Recording | None = None

    @property
    def read_count(self) -> int:
        """Number of reads until now, including failed reads."""
        return self._native.read_count

    @property
    def failed_read_count(self) -> int:
        """Number of failed reads; the next read tries again."""
        return self._native.failed_read_count

    @property
    def recording(self) -> Recording:
        """All data that was read; available once the reader is stopped."""
        if self._recording is None:
            raise ValueError("expected a stopped reader, found a running one")
        return self._recording

    def stop(self) -> Recording:
        """Stops after a last read, and returns all data that was read."""
        if self._recording is None:
            self._recording = Recording(self._native.stop())
        return self._recording

    def __enter__(self) -> "PeriodicReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def diff(
    before: "Recording | list[Recording]",
    after: "Recording | list[Recording]",
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Finds the ops and zones that became slower or faster.

    The sequences of ops are aligned for each device, so other names, memory or shapes leave ops
    comparable. The result is the JSON of `kprof diff`: ``changes`` with what else ``differences``
    are, ``groups`` by kind and shapes, and for each side, ``a`` and ``b``, its ``total_ns``, the
    ``compared_ns`` of it and what is ``only_here``.

    If each build has several recordings, every recording is one repetition, and the intervals
    include the variation between recordings.
    """
    sides = [_recordings(before), _recordings(after)]
    return _json.loads(_native.diff(sides[0], sides[1], confidence))


def _recordings(side: object) -> list[_native.Recording]:
    given = list(side) if isinstance(side, (list, tuple)) else [side]
    for one in given:
        if not isinstance(one, Recording):
            raise TypeError(
                f"expected a Recording, or a list of them, found {type(one).__name__}"
            )
    if not given:
        raise ValueError("expected at least one Recording on each side, found none")
    return [one._native for one in given]


# In this module, `open` above hides Python's own `open`.
from builtins import open as _builtin_open  # noqa: E402
