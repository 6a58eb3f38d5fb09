"""Session of a program with a stock ttnn: intercepts ttnn's calls and reads the chips."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import dataclasses
import functools
import json
import multiprocessing.util
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.util import Finalize
from typing import Any

from .. import _native, tracing
from .buffers import BufferEvents
from .calls import Calls
from .inspector import Inspector, Launch
from .opened import OpenDevice
from .realtime import SUFFIX, RealtimeRecords
from .unnoticed import counters_kept, hide_cached_programs

CAPTURE_SUFFIX = ".kprof"
OUT_OF_MEMORY = "Out of Memory"
"""Text in the error of ttnn's allocator when a buffer does not fit."""
LONGEST_VALUE = 2000
"""Number of characters of an argument that are kept. Program configurations have up to 1000."""
LAUNCHES_BETWEEN_LOOKS = 4
CALL_TIMEOUT_SECONDS = 1.0
SECONDS_BETWEEN_NAMES = 1.0
SECONDS_TO_ANSWER = 5.0
"""Time in which Python must handle a signal that ends the process: else a call never returns."""
SECONDS_TO_END = 60.0
"""Time for the last read after a signal."""


@dataclasses.dataclass
class Options:
    """Options for profiling a program; `kprof record` sets them."""

    capture: str | None = None
    """File of the capture; without a file, the recording is kept in memory."""
    logs: str = ""
    """Folder in which tt-metal keeps the logs of this process, `TT_METAL_LOGS_PATH`."""
    program_support_count: int = 1000
    sums: bool = False
    dispatch_cores: bool = False
    """Also profiles dispatch kernels."""
    calls: bool = True
    """Keeps the frames of the program that call operations."""
    buffers: bool = False
    """Keeps the buffers of ttnn's allocators: what each operation allocates, uses and frees."""
    stream_policy: int | None = None
    """Policy of full rings, as a control word, if kernels and firmware stream."""
    read_every_ns: int = 1_000_000
    """Time between two reads of the rings."""
    recorded: dict[str, str] = dataclasses.field(default_factory=dict)
    """Options of the profiler that the capture keeps, as `kprof info` names them."""
    tracy: dict[str, Any] | None = None
    """Options of :meth:`TtnnSession.serve_tracy`, if Tracy viewers are served while rings are read."""

    @classmethod
    def from_environment(cls, text: str) -> Options:
        """Returns the options in `KPROF_TTNN_SESSION` (JSON); unknown options are ignored."""
        given = json.loads(text)
        known = {field.name for field in dataclasses.fields(cls)}
        options = cls(**{key: value for key, value in given.items() if key in known})
        options.logs = os.environ["TT_METAL_LOGS_PATH"]
        if options.capture is not None:
            options.capture = options.capture.replace("{pid}", str(os.getpid()))
        return options


@dataclasses.dataclass
class Call:
    """A call of a ttnn operation that launched programs."""

    name: str
    first_id: int
    end_id: int
    start_ns: int
    duration_ns: int
    attributes: str
    outputs: str
    chips: list[int] | None
    """Chips of the mesh that the operation ran on; None if its arguments name no mesh."""
    frames: tuple[str, str | None] | None
    """Name of the call's frames, and the frames themselves if they are new; None if unknown."""
    buffers: dict[int, str]
    """Events of buffers before each launch as JSON, by the launch's id."""
    is_cache_cleared: bool
    """True if the program has cleared the cache of programs since the mesh's call before."""


class Session:
    """The profile of this process."""

    def __init__(self, ttnn: Any, options: Options) -> None:
        self.ttnn = ttnn
        self.options = options
        self.native = _native.TtnnSession(
            os.path.basename(sys.argv[0]) or "python",
            options.capture,
            options.program_support_count,
            options.sums,
        )
        if options.recorded:
            self.native.add_options(list(options.recorded.items()))
        self.inspector = Inspector(os.path.join(options.logs, "generated", "inspector"))
        self.devices: dict[int, OpenDevice] = {}
        self.host = tracing.HOST
        self._frames = Calls(ttnn) if options.calls else None
        self._buffers = BufferEvents(ttnn) if options.buffers else None
        self._other_frames: dict[str, str] = {}
        """Frames of calls whose buffers were followed, by the calls' names, until an op is described: a
        call may allocate and launch nothing."""
        self._calls: list[Call] = []
        self._cleared: set[int] = set()
        """Ids of the meshes whose cache of programs was cleared since their last call."""
        self._depth = threading.local()
        self._lock = threading.RLock()
        self._zones_size = 0
        self._trace_sizes: dict[int, int] = {}
        self._trace_begin = 0
        self._is_capturing = False
        self.chip_count = 0
        self._counted_id = ttnn._ttnn.get_device_operation_id()
        self.recording: Any = None
        self.is_finished = False
        self._named_at = time.monotonic()
        self.problems: list[str] = []
        capture = (options.capture or "").removesuffix(CAPTURE_SUFFIX)
        self._realtime = RealtimeRecords(ttnn, f"{capture}{SUFFIX}" if capture else None)

    @property
    def streams(self) -> bool:
        """True if kernels and firmware stream their records."""
        return self.options.stream_policy is not None

    def aiclk_mhz(self, arch: str) -> int:
        """Returns the nominal frequency of an architecture; ttnn has no call for it."""
        return {"wormhole_b0": 1000, "blackhole": 1350}.get(arch, 1000)

    # Devices.

    def open(self, device: Any) -> None:
        """Prepares a device that was opened."""
        with self._own_work():
            if self.is_finished or self._opened_with(device) is not None:
                return
            try:
                opened = OpenDevice(self, device)
                self.devices[device.id()] = opened
                self.chip_count += len(opened.chips)
                self._after_own_work([device])
            except Exception as error:
                self.complain(f"the device is not profiled: {error}")
            self._realtime.begin()

    def close(self, device: Any) -> None:
        """Reads a device or a submesh for the last time, before it is closed."""
        with self._own_work():
            opened = self._opened_with(device)
            if opened is None or self.is_finished:
                return
            if self._buffers is not None:
                self._buffers.closes(device.id())
            try:
                if device.id() == opened.id:
                    self._close(opened)
                else:
                    if opened.has_unread:
                        self.read_all()
                    opened.remove_submesh(device.id())
            except Exception as error:
                self.complain(f"a device was not read to its end: {error}")

    def _close(self, opened: OpenDevice) -> None:
        self._end_dispatch([opened])
        self.read_all()
        self.devices.pop(opened.id)
        self._end_streams()
        if not self.devices:
            self._realtime.end()
        opened.release()

    def create_submeshes(self, parent: Any, create: Any) -> Any:
        """Creates submeshes of a mesh by calling `create`; their chips stay profiled."""
        opened = self._opened_with(parent)
        if opened is None or self.is_finished:
            return create()
        with self._own_work():
            try:
                opened.prepare_submeshes(parent)
            except Exception as error:
                self.complain(f"a mesh was not read before it was divided: {error}")
        created = create()
        with self._own_work():
            try:
                for submesh in created if isinstance(created, list) else [created]:
                    opened.add_submesh(parent, submesh)
                    self._after_own_work([submesh])
            except Exception as error:
                self._end_recording(opened, f"a submesh is not profiled: {error}")
        return created

    def before_quiesce(self, mesh: Any) -> None:
        """Reads the chips of a mesh before the program gives up its command queues."""
        opened = self._opened_with(mesh)
        if opened is None or self.is_finished or self._is_capturing:
            return
        with self._own_work():
            opened.before_quiesce()

    def _end_recording(self, opened: OpenDevice, reason: str) -> None:
        """Ends the recording of an open device, whose memory the program needs."""
        self.complain(f"{reason}; the recording of chips {sorted(opened.chips)} ends here")
        try:
            opened.end()
        except Exception as error:
            self.complain(f"the lanes were not taken from the cores: {error}")

    def _opened_with(self, device: Any) -> OpenDevice | None:
        """Returns the open device to which a mesh belongs."""
        mesh_id = device.id()
        return next((opened for opened in self.devices.values() if mesh_id in opened.meshes), None)

    @contextlib.contextmanager
    def _own_work(self) -> Iterator[None]:
        """Context for work of the profiler, which the program does not notice."""
        with self._lock, tracing.paused(), counters_kept(self.ttnn):
            yield

    def _end_dispatch(self, devices: list[OpenDevice]) -> None:
        if self._is_capturing:
            return
        try:
            for device in devices:
                device.return_chips()
                device.end_dispatch()
        except Exception as error:
            self.complain(f"kernels that dispatch were not read to their end: {error}")

    def read_all(self) -> bool:
        """Reads all devices, unless a trace is being captured: the reads would be captured too.

        Returns false if a read failed.
        """
        with self._own_work():
            if self._is_capturing or self.is_finished or self._captures_a_graph():
                return True
            try:
                self._read_all()
            except Exception as error:
                self.complain(f"a read failed: {error}")
                return False
            return True

    def _read_from_outside(self) -> None:
        """Reads simulated chips without launches, after a launch of the program has not ended."""
        try:
            self._name()
            if missing := self.native.read_from_outside():
                self.complain(f"records since the last read are missing of chips {missing}")
        except Exception as error:
            self.complain(f"the last read failed: {error}")

    def _captures_a_graph(self) -> bool:
        """True while ttnn records calls as a graph: those of the profiler would be in it."""
        is_active = getattr(self.ttnn.graph, "is_graph_capture_active", None)
        return is_active is not None and bool(is_active())

    def _read_all(self) -> None:
        opened = list(self.devices.values())
        if not opened:
            return
        meshes = [mesh for device in opened for mesh in device.meshes.values()]
        self._before_own_work(meshes)
        try:
            self._read_opened(opened)
        finally:
            self._after_own_work(meshes)

    def _read_opened(self, opened: list[OpenDevice]) -> None:
        for device in opened:
            device.synchronize()
        self._name()
        if self.streams:
            self.native.read_at_rest()
            self.native.add_host(self.host)
            return
        loaded = [(device, device.load()) for device in opened]
        self.native.read()
        for device, readers in loaded:
            device.acknowledge(readers)
        self.native.add_host(self.host)

    def _end_streams(self) -> None:
        """Reads rings for the last time, if kernels stream."""
        try:
            if self.streams:
                self.native.end_streams()
        except Exception as error:
            self.complain(f"the last read failed: {error}")

    def complain(self, problem: str) -> None:
        problem = " ".join(str(problem).split())
        if problem not in self.problems:
            self.problems.append(problem)
            print(f"kprof: {problem[:400]}", file=sys.stderr)

    # Names.

    def _name(self) -> None:
        """Names ops and zones that are new since the last call."""
        self._named_at = time.monotonic()
        self._name_ops([chip for device in self.devices.values() for chip in device.chips])
        self._name_zones()

    def _name_zones(self) -> None:
        """Adds the zone names of compilations since the last read."""
        path = os.environ.get("KPROF_TTNN_ZONES", "")
        try:
            size = os.path.getsize(path)
            if size != self._zones_size:
                self._zones_size = size
                self.native.add_zone_names(path)
                self.native.use_zone_names()
        except (OSError, ValueError) as error:
            self.complain(f"zones have no names: {error}")

    def _name_ops(self, all_chips: list[int]) -> None:
        launches = [launch for launch in self.inspector.new_launches() if launch.runtime_id]
        unprofiled = self.inspector.take_unprofiled()
        if unprofiled:
            self.native.add_options([("unprofiled", problem) for problem in unprofiled])
        calls, self._calls = self._calls, []
        by_id = {op: call for call in calls for op in range(call.first_id, call.end_id)}
        named = {launch.runtime_id for launch in launches}
        ops = [
            (launch.runtime_id, by_id.get(launch.runtime_id), launch)
            for launch in launches
        ]
        # The Inspector's times are of another clock than those of calls.
        since_ns = time.time_ns() - time.monotonic_ns()
        # If the Inspector's log has no entry of a launch, only the call is known.
        ops += [(op, call, None) for op, call in by_id.items() if op not in named]
        described = []
        for op, call, launch in ops:
            for chip in all_chips if call is None or call.chips is None else call.chips:
                described.append((chip, op, _fields(launch, call, since_ns)))
                if call is not None and call.frames is not None:
                    # Frames are described once.
                    call.frames = call.frames[0], None
        if described and self._other_frames:
            others, self._other_frames = self._other_frames, {}
            texts = (f"{json.dumps(name)}:{frames}" for name, frames in others.items())
            described[0][2].append(("other_calls", "{" + ",".join(texts) + "}"))
        self.native.add_ops(described)

    # Calls.

    def operation(self, original: Any, op: Any, args: tuple, kwargs: dict) -> Any:
        """Calls an operation, and records its launches."""
        if getattr(self._depth, "value", 0) or self.is_finished:
            return original(op, *args, **kwargs)
        self._depth.value = 1
        # Ids count the launches of all threads, so calls run one at a time. The time-out is for
        # calls that wait for each other.
        is_locked = self._lock.acquire(timeout=CALL_TIMEOUT_SECONDS)
        try:
            mesh = self._mesh_of(args, kwargs)
            self._prepare_launches(mesh)
            first = self.ttnn._ttnn.get_device_operation_id()
            # The caller of this function is the wrapper of the operation.
            caller = sys._getframe(2)
            try:
                with _Following(self, op, mesh, caller) as followed:
                    start = time.monotonic_ns()
                    result = original(op, *args, **kwargs)
                    duration = time.monotonic_ns() - start
            except RuntimeError as error:
                if not self._makes_memory(mesh, error, first):
                    raise
                with _Following(self, op, mesh, caller) as followed:
                    start = time.monotonic_ns()
                    result = original(op, *args, **kwargs)
                    duration = time.monotonic_ns() - start
            end = self.ttnn._ttnn.get_device_operation_id()
            if end > first:
                with tracing.paused():
                    mesh = mesh or self._mesh_of((result,), {})
                    chips = None if mesh is None else list(mesh.get_device_ids())
                    name = getattr(op, "python_fully_qualified_name", "")
                    described = _attributes(name, args, kwargs), _tensors(result)
                    frames = followed.frames or self._frames_of(caller)
                    is_cleared = self._takes_cleared(mesh)
                    buffers = followed.told
                    call = Call(name, first, end, start, duration, *described, chips, frames, buffers, is_cleared)
                    self._calls.append(call)
                    self._count_launches(mesh)
        finally:
            if is_locked:
                self._lock.release()
            self._depth.value = 0
        return result

    def cache_cleared(self, mesh: Any) -> None:
        """Records that the program clears the cache of programs of a mesh."""
        with self._lock, tracing.paused():
            self._cleared.add(mesh.id())

    def _takes_cleared(self, mesh: Any | None) -> bool:
        """Returns true once after the cache of a mesh was cleared."""
        if mesh is None or mesh.id() not in self._cleared:
            return False
        self._cleared.discard(mesh.id())
        return True

    # Buffers.

    def _follow(self, mesh: Any | None) -> bool:
        """Begins to follow the buffers of a call; returns true if it has begun."""
        if self._buffers is None or not self.devices:
            return False
        try:
            with tracing.paused():
                return self._buffers.begin(mesh)
        except Exception as error:
            self._end_buffers(error)
            return False

    def _followed(self, op: Any, call: str | None) -> dict[int, str]:
        """Ends following a call; returns what happened to buffers before each of its launches.

        ``call`` is the name of the program's frames, if they are known.
        """
        if self._buffers is None:
            return {}
        try:
            name = str(getattr(op, "python_fully_qualified_name", "")) or "an operation"
            with tracing.paused():
                return self._buffers.end(name, call)
        except Exception as error:
            self._end_buffers(error)
            return {}

    def _before_own_work(self, meshes: list[Any]) -> None:
        """Finds the program's buffers before the profiler makes buffers of its own."""
        if self._buffers is None:
            return
        try:
            for mesh in meshes:
                self._buffers.before_own_work(mesh)
        except Exception as error:
            self._end_buffers(error)

    def _after_own_work(self, meshes: list[Any]) -> None:
        """Tells new buffers of the profiler from those of the program."""
        if self._buffers is None:
            return
        try:
            for mesh in meshes:
                self._buffers.after_own_work(mesh)
        except Exception as error:
            self._end_buffers(error)

    def _end_buffers(self, error: Exception) -> None:
        self.complain(f"buffers are not kept any more: {error!r}")
        self._buffers = None

    def _name_of(self, frame: Any) -> str | None:
        """Returns the name of the program's frames; new frames are described with the next op."""
        name, frames = self._frames_of(frame) or (None, None)
        if name is not None and frames is not None:
            self._other_frames[name] = frames
        return name

    def _frames_of(self, frame: Any) -> tuple[str, str | None] | None:
        """Returns the program's frames that call an operation, unless they are not kept."""
        if self._frames is None:
            return None
        try:
            # Usually the call is known, and costs no step of Python in addition.
            return self._frames.find(frame) or self._frames.of(frame)
        except Exception as error:
            self.complain(f"calls of operations are not kept: {error}")
            self._frames = None
            return None

    def _mesh_of(self, args: tuple, kwargs: dict) -> Any | None:
        """Returns the mesh on which a call with these arguments runs, if they name an open one."""
        for value in (*args, *kwargs.values()):
            items = value if isinstance(value, (list, tuple)) else (value,)
            for item in items:
                mesh = item
                if isinstance(item, self.ttnn.Tensor):
                    mesh = item.device() if self.ttnn.is_tensor_storage_on_device(item) else None
                if isinstance(mesh, self.ttnn.MeshDevice) and self._opened_with(mesh) is not None:
                    return mesh
        return None

    def _prepare_launches(self, mesh: Any | None) -> None:
        """Reads the chips of a mesh before its first launch after launches on other meshes."""
        opened = None if mesh is None else self._opened_with(mesh)
        if opened is None or len(opened.meshes) == 1 or self._is_capturing:
            return
        with self._own_work():
            try:
                opened.before_launches(mesh)
            except Exception as error:
                self.complain(f"chips were not read before another mesh used them: {error}")

    def _makes_memory(self, mesh: Any | None, error: RuntimeError, first_id: int) -> bool:
        """Gives the profiler's memory to the program after an operation did not get its memory.

        Returns true if the operation can be called again: it has launched nothing so far.
        """
        opened = None if mesh is None else self._opened_with(mesh)
        if OUT_OF_MEMORY not in str(error) or opened is None or opened.is_ended:
            return False
        with self._own_work():
            reserved = opened.profiler.reserved_bytes
            self.read_all()
            self._end_recording(
                opened, f"the program needs the {reserved} bytes of each DRAM bank that kprof has reserved"
            )
        return bool(self.ttnn._ttnn.get_device_operation_id() == first_id)

    def _count_launches(self, mesh: Any | None) -> None:
        """Counts the launches since the last call; reads if lanes could fill."""
        with self._lock:
            end = self.ttnn._ttnn.get_device_operation_id()
            count, self._counted_id = end - self._counted_id, end
            if self._is_capturing or self.is_finished:
                return
            if self.streams and time.monotonic() - self._named_at >= SECONDS_BETWEEN_NAMES:
                # Name ops and zones now, so that records have names even if the program is killed.
                self._name()
            self._add_launches(mesh, max(count, 0))
            self._make_room(1)

    def _add_launches(self, mesh: Any | None, count: int) -> None:
        """Adds launches to the estimates of a mesh, or of all devices if the mesh is unknown."""
        opened = None if mesh is None else self._opened_with(mesh)
        for device in self.devices.values() if opened is None else [opened]:
            device.add_launches(mesh if opened is not None else None, count)

    def _make_room(self, launch_count: int) -> None:
        """Reads unless the lanes are sure to hold this number of further launches."""
        full = [opened for opened in self.devices.values() if not opened.has_room(launch_count)]
        if not full or self._captures_a_graph():
            return
        with self._own_work():
            try:
                for opened in full:
                    opened.look()
                more = max(launch_count, LAUNCHES_BETWEEN_LOOKS)
                if any(not opened.has_room(more) for opened in full):
                    self.read_all()
            except Exception as error:
                self.complain(f"a read failed: {error}")

    # Traces.

    def trace_begins(self, mesh: Any | None) -> None:
        """Records that the capture of a trace begins; the following launches do not run yet."""
        self._prepare_launches(mesh)
        self.read_all()
        with self._lock:
            self._is_capturing = True
            self._trace_begin = self.ttnn._ttnn.get_device_operation_id()

    def trace_ends(self, mesh: Any | None, trace: Any) -> None:
        """Records the number of launches in a captured trace."""
        with self._lock, tracing.paused():
            self._is_capturing = False
            self._counted_id = end = self.ttnn._ttnn.get_device_operation_id()
            self._trace_sizes[int(trace)] = end - self._trace_begin
            for base_id in range(self._trace_begin, end):
                self._trace_message(mesh, f"ENQUEUE_PROGRAM: {{chip}}, {int(trace)}, {base_id}")
            self._trace_message(mesh, f"END: {{chip}}, {int(trace)}")

    def trace_replays(self, mesh: Any | None, trace: Any) -> None:
        """Records a replay before it is enqueued; reads first if the lanes could become full."""
        self._prepare_launches(mesh)
        with self._lock, tracing.paused():
            count = self._trace_sizes.get(int(trace), 0)
            self._make_room(count)
            self._add_launches(mesh, count)
            self._trace_message(mesh, f"REPLAY: {{chip}}, {int(trace)}")

    def _trace_message(self, mesh: Any | None, text: str) -> None:
        opened = None if mesh is None else self._opened_with(mesh)
        if opened is None:
            chips = [chip for device in self.devices.values() for chip in device.chips]
        else:
            chips = list(mesh.get_device_ids())
        for chip in chips:
            self.host.message(f"`TT_METAL_TRACE_{text.format(chip=chip)}`", __file__, 1)

    # The end.

    def signpost(self, header: str, message: str | None) -> None:
        """Reads the chips, then records a signpost."""
        self.read_all()
        self.host.signpost(header, message)

    def finish(self) -> Any:
        """Reads for the last time and ends the capture; returns the recording."""
        with self._own_work():
            if self.is_finished:
                return self.recording
            # If an error has ended the capture of a trace, the trace is ignored.
            self._is_capturing = False
            self._end_dispatch(list(self.devices.values()))
            if not self.read_all():
                self._read_from_outside()
            self._end_streams()
            if not self.chip_count and not self.problems and not self._has_siblings():
                self.complain("the program has opened no device, so that nothing was profiled")
            if malformed := self.inspector.malformed_count:
                self.complain(f"{malformed} launches in tt-metal's log are malformed")
            self.is_finished = True
            self._end_realtime()
            self.native.add_host(self.host)
            self.recording = self.native.finish()
            return self.recording

    def _end_realtime(self) -> None:
        """Takes no more records of ttnn's real-time profiler, and says how many were kept."""
        self._realtime.end()
        if self._realtime.problem is not None:
            self.complain(f"records of ttnn's real-time profiler are missing: {self._realtime.problem}")
        if (summary := self._realtime.summary()) is not None:
            print(f"kprof: {summary}", file=sys.stderr)

    def _has_siblings(self) -> bool:
        """True if other processes of the program are recorded, too."""
        folder = os.path.dirname(self.options.capture or "")
        if not folder:
            return False
        captures = [name for name in os.listdir(folder) if name.endswith(CAPTURE_SUFFIX)]
        return len(captures) > 1


class _Following:
    """Context of a call whose buffers are followed.

    A function of ``contextlib`` in its place would be recorded as one of the program's.
    """

    def __init__(self, session: Session, op: Any, mesh: Any | None, caller: Any) -> None:
        self._session, self._op, self._caller = session, op, caller
        self.told: dict[int, str] = {}
        """What happened to buffers before each launch, when the call has ended."""
        self.frames: tuple[str, None] | None = None
        """Name of the call's frames; None if buffers are not followed, or if the frames are not kept."""
        self._is_followed = session._follow(mesh)

    def __enter__(self) -> _Following:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._is_followed:
            call = self._session._name_of(self._caller)
            self.frames = None if call is None else (call, None)
            self.told.update(self._session._followed(self._op, call))


def _shape(tensor: Any) -> dict[str, str]:
    logical, padded = list(tensor.shape), list(tensor.padded_shape)
    logical = [1] * (4 - len(logical)) + logical
    padded = [1] * (4 - len(padded)) + padded
    return {key: f"{padded[-n]}[{logical[-n]}]" for key, n in zip("WZYX", (4, 3, 2, 1))}


def _last(value: Any) -> str:
    return str(value).rpartition(".")[2]


def _tensor(tensor: Any) -> dict[str, Any]:
    described: dict[str, Any] = {
        "shape": _shape(tensor),
        "layout": _last(tensor.layout),
        "dtype": _last(tensor.dtype),
    }
    memory = tensor.memory_config()
    if memory is not None:
        described["storage_type"] = f"DEV_0_{_last(memory.buffer_type)}_{_last(memory.memory_layout)}"
    return described


def _tensors(result: Any) -> str:
    """Returns the tensors of an operation's result in the form of ops reports."""
    items = result if isinstance(result, (list, tuple)) else [result]
    try:
        found = [_tensor(item) for item in items if hasattr(item, "padded_shape")]
    except Exception:
        return ""
    return json.dumps(found) if found else ""


def _attributes(name: str, args: tuple, kwargs: dict) -> str:
    """Returns the arguments of a call that are not tensors."""
    plain = {f"arg{n}": value for n, value in enumerate(args)} | kwargs
    shown = {
        key: _shown(value)
        for key, value in plain.items()
        if not hasattr(value, "padded_shape") and not _holds_tensors(value) and key != "device"
    }
    return json.dumps({"operation": name, **shown})


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _holds_tensors(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(hasattr(item, "padded_shape") for item in value)


def _fields(launch: Launch | None, call: Call | None, since_ns: int) -> list[tuple[str, str]]:
    """Returns the metadata of an op for a launch. `since_ns` is the time at which the clock of calls
    began, on the clock of launches."""
    if launch is None:
        return [] if call is None else _fields_of_call(call)
    fields = [("name", launch.name), ("input_tensors", launch.inputs)]
    if launch.kernels:
        fields.append(("kernel_info", launch.kernels))
    if launch.is_cache_hit is not None:
        fields.append(("program_cache_hit", "true" if launch.is_cache_hit else "false"))
    fields += [(name, str(ns)) for name, ns in _host_parts(launch, call, since_ns).items() if ns >= 0]
    if call is not None:
        fields += [field for field in _fields_of_call(call) if field[0] != "name"]
        if launch.runtime_id in call.buffers:
            fields.append(("buffers", call.buffers[launch.runtime_id]))
        if call.outputs and launch.runtime_id == call.end_id - 1:
            fields.append(("output_tensors", call.outputs))
    return fields


def _host_parts(launch: Launch, call: Call | None, since_ns: int) -> dict[str, int]:
    """Returns the parts of the host's time in a call, in ns, as far as they are known."""
    parts: dict[str, int] = {}
    compiled_ns = [program.compile_ns for program in launch.programs if program.compile_ns is not None]
    if compiled_ns and len(compiled_ns) == len(launch.programs):
        parts["host_compile_ns"] = sum(compiled_ns)
    made_ns = launch.time_ns
    sent_ns = launch.time_ns
    for program in launch.programs:
        if program.compile_begin_ns is not None and program.compile_ns is not None:
            made_ns = min(made_ns, program.compile_begin_ns)
            sent_ns = max(sent_ns, program.compile_begin_ns + program.compile_ns)
    if launch.programs:
        parts["host_build_ns"] = made_ns - launch.programs[0].created_ns
    # The times of a call with several launches are not those of one.
    if call is not None and call.end_id - call.first_id == 1:
        parts["host_dispatch_ns"] = call.start_ns + call.duration_ns + since_ns - sent_ns
    return parts


def _fields_of_call(call: Call) -> list[tuple[str, str]]:
    fields = [("name", call.name), ("attributes", call.attributes)]
    if call.is_cache_cleared:
        fields.append(("program_cache_cleared", "true"))
    if call.frames is not None:
        name, frames = call.frames
        fields.append(("call", name))
        if frames is not None:
            fields.append(("call_frames", frames))
    if call.end_id - call.first_id == 1:
        fields.append(("host_start_ns", str(call.start_ns)))
        fields.append(("host_duration_ns", str(call.duration_ns)))
    return fields


ACTIVE: list[Session] = []
"""Running sessions; calls are reported to the last one."""


def begin(ttnn: Any, options: Options) -> Session:
    """Begins a session; from then on, calls of ttnn are intercepted."""
    session = Session(ttnn, options)
    if not _WATCHED:
        _WATCHED.append(ttnn)
        _watch(ttnn)
    ACTIVE.append(session)
    atexit.register(end, session)
    return session


def end(session: Session) -> Any:
    """Ends a session; returns its recording."""
    atexit.unregister(end)
    if session in ACTIVE:
        ACTIVE.remove(session)
    for other in ACTIVE:
        atexit.register(end, other)
    return session.finish()


def begin_again_after_fork(ttnn: Any) -> None:
    """Gives each process that the program forks a session of its own, with a capture and logs."""
    from . import SESSION_VARIABLE, use_own_logs

    def begin_in_child() -> None:
        # The capture of these sessions belongs to the parent process.
        while ACTIVE:
            atexit.unregister(end)
            FORKED.append(ACTIVE.pop())
        text = os.environ[SESSION_VARIABLE]
        use_own_logs(json.loads(text)["logs"])
        # Threads do not survive the fork, so nothing watches for signals any more.
        for number in (signal.SIGTERM, signal.SIGHUP):
            if getattr(signal.getsignal(number), "__module__", None) == __name__:
                signal.signal(number, signal.SIG_DFL)
        _finish_at_signals()
        begin(ttnn, Options.from_environment(text))

    os.register_at_fork(after_in_child=begin_in_child)
    # Processes of `multiprocessing` end without `atexit`.
    multiprocessing.util.register_after_fork(_end_all, lambda finish: Finalize(None, finish, exitpriority=0))


def _end_all() -> None:
    for session in list(ACTIVE):
        end(session)


FORKED: list[Session] = []
"""Sessions of the parent process, which must neither write nor end in this process."""
_WATCHED: list[Any] = []


def _watch(ttnn: Any) -> None:
    """Wraps the calls of ttnn that open, close and read devices, launch programs and replay traces."""
    for name in ("open_device", "open_mesh_device", "CreateDevice", "CreateDevices"):
        _wrap(ttnn, name, _opened)
    for name in ("close_device", "close_mesh_device", "CloseDevice", "CloseDevices"):
        _wrap(ttnn, name, _closing)
    _wrap(ttnn, "ReadDeviceProfiler", _read)
    _wrap(ttnn, "begin_trace_capture", _begin_trace)
    _wrap(ttnn, "end_trace_capture", _end_trace)
    _wrap(ttnn, "execute_trace", _replay)
    _wrap(ttnn, "tracy_message", _message)
    _wrap(ttnn, "start_tracy_zone", _start_zone)
    _wrap(ttnn, "stop_tracy_zone", _stop_zone)
    tracing.signpost_hooks.append(_signpost)
    for kind in (ttnn.decorators.FastOperation, ttnn.decorators.Operation):
        _wrap_operation(kind)
    for name in ("create_submesh", "create_submeshes"):
        _wrap_creation(ttnn.MeshDevice, name)
    _wrap_quiesce(ttnn.MeshDevice)
    for name in ("clear_program_cache", "disable_and_clear_program_cache"):
        _wrap_clearing(ttnn.MeshDevice, name)
    hide_cached_programs(ttnn)
    _finish_at_signals()


def _finish_at_signals() -> None:
    """Ends sessions before a signal ends the process, unless the program handles the signal."""
    if threading.current_thread() is not threading.main_thread():
        return
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]

    def ended(number: int, frame: Any) -> None:
        del frame
        _native.signal_answered()
        for session in list(ACTIVE):
            end(session)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for number in numbers:
        signal.signal(number, ended)
    try:
        _native.end_at_signals(numbers, SECONDS_TO_ANSWER, SECONDS_TO_END)
    except OSError as error:
        print(f"kprof: a program that hangs will not end at SIGTERM: {error}", file=sys.stderr)
    _end_at_interrupts()


def _end_at_interrupts() -> None:
    """Ends sessions at a second Ctrl-C if Python has not answered the first one."""
    if signal.getsignal(signal.SIGINT) in (None, signal.SIG_DFL, signal.SIG_IGN):
        return

    def answer(_: Any) -> int:
        _native.interrupt_answered()
        return 0

    # The main thread makes such a call when it runs bytecode, whatever handler the program has for
    # the signal.
    call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(answer)
    try:
        _native.end_at_interrupts(lambda: ctypes.pythonapi.Py_AddPendingCall(call, None), SECONDS_TO_ANSWER)
    except OSError as error:
        print(f"kprof: a program that hangs will not end at Ctrl-C: {error}", file=sys.stderr)


def _wrap(ttnn: Any, name: str, wrapper: Any) -> None:
    """Replaces a function by a wrapper, in every module of ttnn that imports it."""
    original = getattr(ttnn, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not ACTIVE:
            return original(*args, **kwargs)
        return wrapper(ACTIVE[-1], original, *args, **kwargs)

    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").partition(".")[0] == "ttnn":
            if vars(module).get(name) is original:
                setattr(module, name, wrapped)


def _wrap_operation(kind: Any) -> None:
    original = kind.__call__

    @functools.wraps(original)
    def call(op: Any, *args: Any, **kwargs: Any) -> Any:
        if not ACTIVE:
            return original(op, *args, **kwargs)
        return ACTIVE[-1].operation(original, op, args, kwargs)

    kind.__call__ = call


def _wrap_creation(kind: Any, name: str) -> None:
    """Wraps a method of meshes that creates submeshes."""
    original = getattr(kind, name)

    @functools.wraps(original)
    def create(parent: Any, *args: Any, **kwargs: Any) -> Any:
        if not ACTIVE:
            return original(parent, *args, **kwargs)
        return ACTIVE[-1].create_submeshes(parent, lambda: original(parent, *args, **kwargs))

    setattr(kind, name, create)


def _wrap_quiesce(kind: Any) -> None:
    """Wraps the method with which the program gives up the command queues of a mesh."""
    original = getattr(kind, "quiesce_devices", None)
    if original is None:
        return

    @functools.wraps(original)
    def quiesce(mesh: Any) -> Any:
        if ACTIVE:
            ACTIVE[-1].before_quiesce(mesh)
        return original(mesh)

    kind.quiesce_devices = quiesce


def _wrap_clearing(kind: Any, name: str) -> None:
    """Wraps a method of meshes that clears the cache of programs."""
    original = getattr(kind, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def clear(mesh: Any) -> Any:
        if ACTIVE:
            ACTIVE[-1].cache_cleared(mesh)
        return original(mesh)

    setattr(kind, name, clear)


def _opened(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    result = original(*args, **kwargs)
    devices = result.values() if isinstance(result, dict) else [result]
    for device in devices:
        session.open(device)
    return result


def _closing(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    given = args[0] if args else next(iter(kwargs.values()), None)
    for device in given.values() if isinstance(given, dict) else [given]:
        if hasattr(device, "id"):
            session.close(device)
    return original(*args, **kwargs)


def _read(session: Session, original: Any, *args: Any, **kwargs: Any) -> None:
    # ttnn's own function does nothing in such a build.
    del original, args, kwargs
    session.read_all()


def _mesh_argument(args: tuple, kwargs: dict) -> Any:
    """Returns the mesh that a function takes as its first argument."""
    return args[0] if args else kwargs.get("mesh_device", kwargs.get("device"))


def _begin_trace(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    session.trace_begins(_mesh_argument(args, kwargs))
    return original(*args, **kwargs)


def _end_trace(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    result = original(*args, **kwargs)
    session.trace_ends(_mesh_argument(args, kwargs), args[1] if len(args) > 1 else kwargs.get("trace_id"))
    return result


def _replay(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    session.trace_replays(_mesh_argument(args, kwargs), args[1] if len(args) > 1 else kwargs.get("trace_id"))
    return original(*args, **kwargs)


def _message(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    text = str(args[0] if args else kwargs.get("source", ""))
    rest = text.strip("`")
    if rest.startswith(SIGNPOST):
        header, _, message = rest[len(SIGNPOST) :].partition("\n")
        session.signpost(header, message or None)
    else:
        session.host.message(text, "", 0)
    return original(*args, **kwargs)


# ttnn's own versions of these functions are empty in such a build.


def _start_zone(session: Session, original: Any, *args: Any, **kwargs: Any) -> None:
    del session, original
    tracing.start_tracy_zone(*args, **kwargs)


def _stop_zone(session: Session, original: Any, *args: Any, **kwargs: Any) -> bool:
    del session, original
    return tracing.stop_tracy_zone(*args, **kwargs)


def _signpost() -> None:
    for session in ACTIVE:
        session.read_all()


SIGNPOST = "TT_SIGNPOST: "
"""Prefix of signpost messages, as in `tracy.signpost`."""
