"""Logs of tt-metal's Inspector while a program runs: launches, and the kernels of programs."""

from __future__ import annotations

import json
import os
import re
import struct
from typing import Any

from .. import _native

FIDELITIES = {0: "LoFi", 2: "HiFi2", 3: "HiFi3", 4: "HiFi4"}
"""`ckernel::MathFidelity` of tt-llk."""
PROCESSORS = {
    "brisc": "TENSIX_DM_0",
    "ncrisc": "TENSIX_DM_1",
    "trisc0": "TENSIX_COMPUTE_0",
    "trisc1": "TENSIX_COMPUTE_1",
    "trisc2": "TENSIX_COMPUTE_2",
}
"""Folders of a kernel's ELF files, and the names of the processors in ops reports."""
UNPROFILED_FILE = "kprof-unprofiled"
"""File that `kprof record --keep-going` leaves beside an object compiled without kprof's header."""
LONGEST_PROBLEM = 1000
_FIELD = re.compile(r"^ {4}(\w+): (.*)$")
_FIDELITY = re.compile(r"MathFidelity>\((\d+)\)")


class GrowingFile:
    """A file that another part of the process appends to."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._offset = 0

    def restart(self) -> None:
        """Reads from the beginning again, after another file has replaced this one."""
        self._offset = 0

    def read(self) -> str:
        """Returns the text that was appended since the last call."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return ""
        self._offset += len(data)
        return data.decode(errors="replace")


class Launch:
    """A launch of a program, as the Inspector logs it."""

    __slots__ = (
        "inputs", "is_cache_hit", "kernels", "name", "programs", "runtime_id", "time_ns", "trace_id", "workload",
    )

    def __init__(self, entry: Any) -> None:
        self.runtime_id, self.workload, self.name, self.inputs, self.trace_id, self.time_ns = entry
        self.kernels: str | None = None
        self.is_cache_hit: bool | None = None
        self.programs: list[Program] = []
        """Programs that were made for this launch, one for each chip that runs another one."""


class Program:
    """A program that was compiled, and its kernels."""

    __slots__ = ("compile_begin_ns", "compile_ns", "created_ns", "kernels")

    def __init__(self, created_ns: int) -> None:
        self.created_ns = created_ns
        self.compile_begin_ns: int | None = None
        self.compile_ns: int | None = None
        self.kernels: list[dict[str, str]] = []


class Inspector:
    """Reader of the Inspector's logs in a folder."""

    def __init__(self, folder: str) -> None:
        self._launches = GrowingFile(os.path.join(folder, "mesh_workloads_log.yaml"))
        self._programs = GrowingFile(os.path.join(folder, "programs_log.yaml"))
        self._startup = os.path.join(folder, "startup.yaml")
        self._started = b""
        self._log = _native.TtnnLaunchLog()
        self._rest = ""
        self._event: dict[str, str] = {}
        self._open: dict[str, Program] = {}
        """Programs without a launch so far, by their number."""
        self._kernels: dict[int, str] = {}
        """Kernels of already launched workloads, as JSON; empty if unknown."""
        self._last_ns = 0
        self._unprofiled: list[str] = []
        self._looked: set[str] = set()
        """Folders of kernels and firmware that were searched for marks."""

    def take_unprofiled(self) -> list[str]:
        """Returns the kernels that do not compile with kprof's header, since the last call: each with its
        source, its folder and the compiler's error."""
        taken, self._unprofiled = self._unprofiled, []
        return taken

    @property
    def malformed_count(self) -> int:
        """Number of launches that could not be read."""
        return self._log.malformed_count

    def new_launches(self) -> list[Launch]:
        """Returns the launches since the last call."""
        self._find_restart()
        launches = [Launch(entry) for entry in self._log.add(self._launches.read())]
        self._read_programs()
        for launch in launches:
            if launch.workload is None:
                continue
            launch.is_cache_hit = launch.workload in self._kernels
            if not launch.is_cache_hit:
                launch.programs = self._take_programs(launch.time_ns)
                # Each chip of a mesh may run its own program with the same kernels; the last is shown.
                of_last = launch.programs[-1].kernels if launch.programs else []
                self._kernels[launch.workload] = _kernel_info(of_last) if of_last else ""
            launch.kernels = self._kernels[launch.workload] or None
            self._last_ns = launch.time_ns
        return launches

    def _find_restart(self) -> None:
        """Detects that tt-metal has restarted its logs, as it does once all devices are closed."""
        try:
            with open(self._startup, "rb") as file:
                started = file.read()
        except FileNotFoundError:
            return
        if started != self._started:
            self._started = started
            self._launches.restart()
            self._programs.restart()
            self._open.clear()
            self._rest = ""

    def _take_programs(self, launch_ns: int) -> list[Program]:
        """Returns the programs with kernels that were created since the previous launch.

        The log does not name the programs of a workload. They are created right before its first
        launch, and may be compiled after this launch was logged.
        """
        taken = {
            number: program
            for number, program in self._open.items()
            if program.created_ns <= launch_ns
        }
        for number in taken:
            del self._open[number]
        return [p for p in taken.values() if p.created_ns > self._last_ns and p.kernels]

    def _read_programs(self) -> None:
        lines = (self._rest + self._programs.read()).split("\n")
        self._rest = lines.pop()
        for line in lines:
            if line.startswith("- "):
                self._close()
                self._event = {"": line[2:].rstrip(":")}
            elif (field := _FIELD.match(line)) is not None:
                self._event.setdefault(field[1], field[2])
        # The last event ends where the next one begins, which may be long after.
        if self._event.get("") == "program_compile_finished" and "duration_ns" in self._event:
            self._close()

    def _close(self) -> None:
        event, self._event = self._event, {}
        number, time_ns = event.get("id", ""), event.get("timestamp_ns", "")
        if event.get("") == "program_created" and time_ns.isdigit():
            self._open[number] = Program(int(time_ns))
        elif event.get("") == "program_compile_started" and number in self._open and time_ns.isdigit():
            self._open[number].compile_begin_ns = int(time_ns)
        elif event.get("") == "program_compile_finished" and number in self._open:
            duration_ns = event.get("duration_ns", "")
            self._open[number].compile_ns = int(duration_ns) if duration_ns.isdigit() else None
        elif event.get("") == "program_kernel_compile_finished" and "path" in event:
            self._look_for_marks(event["path"])
            if number in self._open:
                self._open[number].kernels.append(event)

    def _look_for_marks(self, kernel: str) -> None:
        """Finds what a kernel, and the firmware below it, were compiled from without kprof's header. The
        compiler leaves marks beside the objects, which tt-metal keeps between programs."""
        kernel = kernel.rstrip("/")
        firmware = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(kernel))), "firmware")
        for folder in (kernel, firmware):
            if folder in self._looked:
                continue
            self._looked.add(folder)
            for processor in PROCESSORS:
                try:
                    with open(os.path.join(folder, processor, UNPROFILED_FILE), encoding="utf-8", errors="replace") as file:
                        problem = " ".join(file.read(LONGEST_PROBLEM).split())
                except OSError:
                    continue
                self._unprofiled.append(problem or folder)


def _kernel_info(kernels: list[dict[str, str]]) -> str:
    """Returns the kernels of a program in the form of ops reports."""
    compute, data_movement = [], []
    for kernel in kernels:
        folder = kernel["path"].rstrip("/")
        hashed = os.path.basename(folder)
        info = {"source": kernel.get("source", ""), "name": f"{kernel.get('name', '')}/{hashed}/"}
        if os.path.isdir(os.path.join(folder, "trisc0")):
            compute.append({"math_fidelity": _fidelity(folder), **info})
        else:
            data_movement.append(info)
    sizes = _kernel_sizes([kernel["path"] for kernel in kernels])
    return json.dumps(
        {"compute_kernels": compute, "datamovement_kernels": data_movement, "kernel_sizes": sizes}
    )


def _kernel_sizes(folders: list[str]) -> dict[str, int]:
    """Returns the bytes of each processor's largest kernel; unreadable kernels have no entry."""
    sizes: dict[str, int] = {}
    for folder in folders:
        for processor, name in PROCESSORS.items():
            try:
                with open(os.path.join(folder, processor, f"{processor}.elf"), "rb") as file:
                    size = loaded_bytes(file.read())
            except (OSError, ValueError):
                continue
            key = f"{name}_max_kernel_size"
            sizes[key] = max(size, sizes.get(key, 0))
    return sizes


def loaded_bytes(elf: bytes) -> int:
    """Returns the loaded bytes of a 32-bit ELF file; raises ValueError for other files."""
    if elf[:5] != b"\x7fELF\x01":
        raise ValueError("expected an ELF of 32 bits")
    try:
        (first,) = struct.unpack_from("<I", elf, 28)
        size, count = struct.unpack_from("<HH", elf, 42)
        headers = [struct.unpack_from("<5I", elf, first + size * at) for at in range(count)]
    except struct.error as error:
        raise ValueError("expected program headers in the ELF") from error
    return sum(file_bytes for kind, _, _, _, file_bytes in headers if kind == 1)


def _fidelity(folder: str) -> str:
    try:
        with open(os.path.join(folder, "chlkc_descriptors.h"), encoding="utf-8") as file:
            found = _FIDELITY.search(file.read())
    except OSError:
        return ""
    return FIDELITIES.get(int(found[1]), "") if found else ""
