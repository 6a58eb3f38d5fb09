"""Buffers of ttnn's allocators: what each operation allocates, uses and frees, launch by launch."""

from __future__ import annotations

import json
from typing import Any

REGIONS = ("DRAM", "L1", "SYSTEM_MEMORY", "L1_SMALL", "TRACE")
"""Kinds of memory by their number, `BufferType` of tt-metal."""
HOST_REGION = "SYSTEM_MEMORY"
"""Kind of memory that no chip has."""


class BufferEvents:
    """The buffers of all meshes, as each operation changes them.

    ttnn's graph has what happens during a call, in order, with the launches. What happens between
    calls is found by comparing the allocator's list with what is known.
    """

    def __init__(self, ttnn: Any) -> None:
        self._graph = ttnn._ttnn.graph
        self._reports = ttnn._ttnn.reports
        self._ttnn = ttnn
        kinds = (getattr(ttnn.BufferType, name, None) for name in REGIONS)
        self._regions = {kind: name for kind, name in zip(kinds, REGIONS) if kind is not None}
        self._live: dict[int, dict[tuple[str, int], int]] = {}
        """Sizes of the buffers of each mesh, by region and address."""
        self._pending: dict[int, list[tuple[dict[str, Any], str | None]]] = {}
        """Events of each mesh since its last launch, each with the name of the call that allocates."""
        self._closed: list[int] = []
        """Meshes that were closed since the last launch."""

    def closes(self, mesh_id: int) -> None:
        """Forgets a mesh that closes."""
        if self._live.pop(mesh_id, None) is not None:
            self._pending.pop(mesh_id, None)
            self._closed.append(mesh_id)

    def before_own_work(self, mesh: Any) -> None:
        """Finds the program's buffers before the profiler works on a mesh."""
        self._compare(mesh)

    def after_own_work(self, mesh: Any) -> None:
        """Tells that the new buffers of a mesh are the profiler's own."""
        self._compare(mesh, is_own=True)

    def begin(self, mesh: Any | None) -> bool:
        """Begins to follow a call on a mesh; returns false if the program itself records a graph."""
        if self._graph.is_graph_capture_active():
            return False
        if mesh is not None:
            self._compare(mesh)
        self._graph.begin_graph_capture(self._graph.RunMode.NORMAL)
        return True

    def end(self, owner: str, call: str | None = None) -> dict[int, str]:
        """Ends following a call; returns JSON for each of its launches, by the launch's id.

        ``owner`` is the name of the operation, ``call`` that of the program's frames, if they are known.
        """
        nodes = self._graph.end_graph_capture()
        told: dict[int, str] = {}
        used: list[tuple[int, list[Any]]] = []
        results: list[tuple[int, list[Any]]] = []
        has_launched = False
        for node in nodes:
            kind, of = node["node_type"], node["params"]
            if kind == "buffer_allocate":
                self._allocated(of, owner, call)
            elif kind == "buffer_deallocate":
                self._freed(of)
            elif kind == "tensor" and "address" in of and "device_id" in of:
                region = REGIONS[int(of["buffer_type"])]
                # What follows a launch are its results, until another function begins.
                seen = results if has_launched else used
                seen.append((int(of["device_id"]), [region, int(of["address"]), _described(of)]))
            elif kind == "function_start":
                has_launched = False
            elif kind == "program_execution" and int(of["runtime_id"]) not in told:
                self._tell("u", used)
                told[int(of["runtime_id"])] = self._take(int(of["device_id"]))
                used, has_launched = [], True
        self._tell("t", [*results, *used])
        return told

    def _allocated(self, of: dict[str, Any], owner: str, call: str | None) -> None:
        mesh_id, region, address = int(of["device_id"]), of["type"], int(of["address"])
        size = int(of["max_size_per_bank"])
        if region != HOST_REGION:
            self._of(mesh_id)[region, address] = size
            self._add(mesh_id, {"a": [region, address, size, owner]}, call)

    def _freed(self, of: dict[str, Any]) -> None:
        mesh_id, key = int(of["device_id"]), (of["type"], int(of["address"]))
        if self._of(mesh_id).pop(key, None) is not None:
            self._add(mesh_id, {"f": list(key)})

    def _tell(self, event: str, tensors: list[tuple[int, list[Any]]]) -> None:
        """Tells which buffers are tensors, each once."""
        seen = set()
        for mesh_id, tensor in tensors:
            key = (mesh_id, tensor[0], tensor[1])
            if key not in seen and key[1:] in self._of(mesh_id):
                seen.add(key)
                self._add(mesh_id, {event: tensor})

    def _of(self, mesh_id: int) -> dict[tuple[str, int], int]:
        return self._live.setdefault(mesh_id, {})

    def _add(self, mesh_id: int, event: dict[str, Any], call: str | None = None) -> None:
        self._pending.setdefault(mesh_id, []).append((event, call))

    def _compare(self, mesh: Any, is_own: bool = False) -> None:
        """Finds what was allocated and freed outside of calls: by the profiler itself if `is_own`."""
        mesh_id = mesh.id()
        is_first = mesh_id not in self._live
        live = self._of(mesh_id)
        if is_first:
            self._add(mesh_id, {"layout": self._layout(mesh)})
        regions = self._regions
        found = {
            (regions[buffer.buffer_type], buffer.address): buffer.max_size_per_bank
            for buffer in self._reports.get_buffers(mesh)
        }
        if found == live:
            # As it is after most calls.
            return
        for key, size in [*live.items()]:
            if found.get(key) != size:
                del live[key]
                self._add(mesh_id, {"f": list(key)})
        for key, size in found.items():
            if key not in live:
                live[key] = size
                self._add(mesh_id, {"a": [*key, size, None]})
                if is_own:
                    self._add(mesh_id, {"o": list(key)})

    def _layout(self, mesh: Any) -> Any:
        """Returns the sizes of a chip's memories."""
        info = self._reports.get_device_info(mesh)
        view = self._ttnn.get_memory_view
        dram = getattr(view, "function", view)(mesh, self._ttnn.BufferType.DRAM)
        return {
            "l1_bytes": int(info.worker_l1_size),
            "l1_reserved_bytes": int(info.address_at_first_l1_cb_buffer),
            "l1_banks": int(info.l1_num_banks),
            "dram_bank_bytes": int(dram.total_bytes_per_bank),
            "dram_banks": int(dram.num_banks),
        }

    def _take(self, mesh_id: int) -> str:
        """Returns the JSON of a launch on a mesh."""
        pending, closed = self._pending.pop(mesh_id, []), self._closed
        self._closed = []
        layouts = [event["layout"] for event, _ in pending if "layout" in event]
        events = [event for event, _ in pending if "layout" not in event]
        told: dict[str, Any] = {"mesh": mesh_id, "events": events}
        calls = [call for event, call in pending if "a" in event]
        if any(calls):
            told["calls"] = calls
        if layouts:
            told["layout"] = layouts[-1]
        if closed:
            told["closed"] = closed
        return json.dumps(told, separators=(",", ":"))


def _described(of: dict[str, Any]) -> str:
    """Returns shape, data type and layout of a tensor, such as `[64, 64] BFLOAT16 TILE`."""
    shape = str(of["shape"]).removeprefix("Shape(").removesuffix(")")
    dtype, layout = (str(of[key]).rpartition("::")[2] for key in ("dtype", "layout"))
    return f"{shape} {dtype} {layout}"
