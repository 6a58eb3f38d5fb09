"""Records of ttnn's own real-time profiler: start and end of each program on a chip.

ttnn delivers them where its profiler is active, which it is on chips and not in simulators. They have no
RISCs and no zones, so that they are kept beside the recording, in a file of their own.
"""

from __future__ import annotations

import csv
import threading
import time
from typing import Any, TextIO

SUFFIX = ".realtime.csv"
"""End of the name of the file; before it is the name of the capture."""
COLUMNS = (
    "chip_id",
    "runtime_id",
    "start_ticks",
    "end_ticks",
    "ticks_per_ns",
    "duration_ns",
    "dropped_before",
    "kernel_sources",
)
"""Titles of the file: docs/ttnn.md has their meaning."""
SECONDS_AT_REST = 0.05
"""Time without a new record after which no more are awaited, when a device is closed."""
SECONDS_TO_WAIT = 1.0


class RealtimeRecords:
    """Keeps the records that ttnn delivers, row by row in a file.

    ttnn calls from threads of its own. Nothing here raises an error into the program.
    """

    def __init__(self, ttnn: Any, path: str | None) -> None:
        self._device = getattr(ttnn, "device", None)
        self._path = path
        self._lock = threading.Lock()
        self._file: TextIO | None = None
        self._handle: Any = None
        self._taken_at = 0.0
        self.count = 0
        self.dropped = 0
        """Records that ttnn could not deliver in time, as it counts them."""
        self.problem: str | None = None
        """Why records are missing; None if nothing went wrong."""

    def begin(self) -> None:
        """Asks ttnn for its records, if its real-time profiler is active."""
        register = getattr(self._device, "RegisterProgramRealtimeProfilerCallback", None)
        if register is None or self._path is None or self._handle is not None:
            return
        try:
            is_active = getattr(self._device, "IsProgramRealtimeProfilerActive", None)
            if is_active is None or is_active():
                self._handle = register(self._take)
        except Exception as error:
            self.problem = str(error)

    def end(self) -> None:
        """Waits for records under way, takes no more, and writes what was taken."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._wait()
            try:
                self._device.UnregisterProgramRealtimeProfilerCallback(handle)
            except Exception as error:
                self.problem = str(error)
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def summary(self) -> str | None:
        """Returns a sentence about what was kept; None if ttnn has delivered nothing."""
        if not self.count and not self.dropped:
            return None
        kept = f"{self.count:,} records of ttnn's real-time profiler are in {self._path}"
        return f"{kept}; ttnn dropped {self.dropped:,} more" if self.dropped else kept

    def _wait(self) -> None:
        end = time.monotonic() + SECONDS_TO_WAIT
        since = time.monotonic()
        while time.monotonic() < end:
            with self._lock:
                since = max(since, self._taken_at)
            if time.monotonic() - since >= SECONDS_AT_REST:
                return
            time.sleep(SECONDS_AT_REST / 5)

    def _take(self, batch: Any) -> None:
        """Keeps a batch of records; earlier versions of ttnn deliver single records."""
        try:
            records = getattr(batch, "records", None)
            rows = [_row(record) for record in ([batch] if records is None else records)]
            dropped = int(getattr(batch, "dropped", 0))
            with self._lock:
                self._write(rows, dropped)
        except Exception as error:
            self.problem = str(error)

    def _write(self, rows: list[list[Any]], dropped: int) -> None:
        self.dropped += dropped
        self._taken_at = time.monotonic()
        if self._file is None and self._path is not None:
            is_new = self.count == 0
            self._file = open(self._path, "w" if is_new else "a", newline="", encoding="utf-8")
            if is_new:
                csv.writer(self._file).writerow(COLUMNS)
        if self._file is None:
            return
        for row in rows:
            row[COLUMNS.index("dropped_before")], dropped = dropped, 0
        csv.writer(self._file).writerows(rows)
        self.count += len(rows)


def _row(record: Any) -> list[Any]:
    runtime_id = getattr(record, "runtime_id", None)
    if runtime_id is None:
        runtime_id = record.program_id
    start, end, rate = int(record.start_timestamp), int(record.end_timestamp), float(record.frequency)
    is_known = rate > 0 and end >= start
    duration = f"{(end - start) / rate:.3f}" if is_known else ""
    sources = ";".join(str(source) for source in record.kernel_sources)
    return [int(record.chip_id), int(runtime_id), start, end, rate if rate > 0 else "", duration, 0, sources]
