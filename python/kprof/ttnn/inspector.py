"""What the Inspector of tt-metal logs while a program runs: launches, and the kernels of programs."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from .. import _native

FIDELITIES = {0: "LoFi", 2: "HiFi2", 3: "HiFi3", 4: "HiFi4"}
"""`ckernel::MathFidelity` of tt-llk."""
_FIELD = re.compile(r"^ {4}(\w+): (.*)$")
_FIDELITY = re.compile(r"MathFidelity>\((\d+)\)")


class GrowingFile:
    """A file that another part of the process appends to."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._offset = 0

    def read(self) -> str:
        """Text that was appended since the last call."""
        try:
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size < self._offset:
                    self._offset = 0
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return ""
        self._offset += len(data)
        return data.decode(errors="replace")


class Launch:
    """A launch of a program, as the Inspector logs it."""

    __slots__ = ("inputs", "is_cache_hit", "kernels", "name", "runtime_id", "trace_id")

    def __init__(self, entry: Any) -> None:
        self.runtime_id, _, self.name, self.inputs, self.trace_id = entry
        self.kernels: str | None = None
        self.is_cache_hit: bool | None = None


class Inspector:
    """Reader of the Inspector's logs in a folder."""

    def __init__(self, folder: str) -> None:
        self._launches = GrowingFile(os.path.join(folder, "mesh_workloads_log.yaml"))
        self._programs = GrowingFile(os.path.join(folder, "programs_log.yaml"))
        self._log = _native.TtnnLaunchLog()
        self._rest = ""
        self._event: dict[str, str] = {}
        self._compiled: list[dict[str, str]] = []
        self._kernels: dict[int, str] = {}
        self.kernel_folders: list[str] = []
        """Folders of kernels in the cache, the new ones last."""

    @property
    def malformed_count(self) -> int:
        """Launches that could not be read."""
        return self._log.malformed_count

    def new_launches(self) -> list[Launch]:
        """Launches since the last call."""
        launches = []
        for entry in self._log.add(self._launches.read()):
            launch = Launch(entry)
            workload = entry[1]
            if workload is not None:
                launch.is_cache_hit = workload in self._kernels
                launch.kernels = self._kernels.get(workload)
            launches.append((workload, launch))
        fresh = [workload for workload, launch in launches if launch.is_cache_hit is False]
        if fresh:
            self._name_kernels(list(dict.fromkeys(fresh)))
        for workload, launch in launches:
            if launch.kernels is None and workload is not None:
                launch.kernels = self._kernels.get(workload) or None
        return [launch for _, launch in launches]

    def _name_kernels(self, workloads: list[int]) -> None:
        """Gives new workloads the programs that were compiled since the last ones, if that is clear."""
        self._read_programs()
        programs: dict[str, list[dict[str, str]]] = {}
        for kernel in self._compiled:
            programs.setdefault(kernel.get("id", ""), []).append(kernel)
        self._compiled = []
        infos = [_kernel_info(kernels) for _, kernels in sorted(programs.items(), key=_number)]
        if len(infos) != len(workloads):
            # Programs of other threads or of other kinds: no kernel is better than a wrong one.
            infos = [""] * len(workloads)
        self._kernels.update(zip(workloads, infos))

    def _read_programs(self) -> None:
        lines = (self._rest + self._programs.read()).split("\n")
        self._rest = lines.pop()
        for line in lines:
            if line.startswith("- "):
                self._close()
                self._event = {"event": line[2:].rstrip(":")}
            elif (field := _FIELD.match(line)) is not None:
                self._event.setdefault(field[1], field[2])
        self._close()

    def _close(self) -> None:
        """Keeps the open event if it is a kernel's; the log ends with whole events."""
        event, self._event = self._event, {}
        if event.get("event") == "program_kernel_compile_finished" and "path" in event:
            self._compiled.append(event)
            self.kernel_folders.append(event["path"])


def _number(item: tuple[str, Any]) -> int:
    return int(item[0]) if item[0].isdigit() else 0


def _kernel_info(kernels: list[dict[str, str]]) -> str:
    """Kernels of a program, as ops reports describe them."""
    compute, data_movement = [], []
    for kernel in kernels:
        folder = kernel["path"].rstrip("/")
        hashed = os.path.basename(folder)
        info = {"source": kernel.get("source", ""), "name": f"{kernel.get('name', '')}/{hashed}/"}
        if os.path.isdir(os.path.join(folder, "trisc0")):
            compute.append({"math_fidelity": _fidelity(folder), **info})
        else:
            data_movement.append(info)
    return json.dumps({"compute_kernels": compute, "datamovement_kernels": data_movement})


def _fidelity(folder: str) -> str:
    try:
        with open(os.path.join(folder, "chlkc_descriptors.h"), encoding="utf-8") as file:
            found = _FIDELITY.search(file.read())
    except OSError:
        return ""
    return FIDELITIES.get(int(found[1]), "") if found else ""
