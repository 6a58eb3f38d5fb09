"""Session of a program with a stock ttnn: intercepts ttnn's calls and reads the chips."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import json
import os
import signal
import sys
import threading
import time
from typing import Any

import numpy as _np

from .. import _native, tracing
from . import rings
from .device import CONTROL_WORDS, DeviceProfiler
from .inspector import Inspector, Launch

VECTOR_WORDS = 512
"""Maximum number of words that a launch writes to a lane."""
RUN_WORDS = 12
"""Minimum number of words that a launch writes to a lane."""
LAUNCHES_BETWEEN_LOOKS = 4
CALL_TIMEOUT_SECONDS = 1.0
SECONDS_BETWEEN_NAMES = 1.0
SOCKET_VARIABLE = "KPROF_CHIP_SOCKET"
"""Variable with the path of the socket at which this process serves its simulated chip."""
RISCS = 5
END_MASK = 0x1FFFF
"""Bits of words 0 to 4 of a control vector that hold the end of a lane."""
ADDRESS_WORD = 50
"""Index of the control word with the address of the lanes."""
READ_WORDS = 59
"""Index of the first control word with the read position of a lane."""


@dataclasses.dataclass
class Options:
    """Options for profiling a program; `kprof record` sets them."""

    capture: str | None = None
    """File of the capture; without a file, the recording is kept in memory."""
    logs: str = ""
    """Folder in which tt-metal keeps its logs, `TT_METAL_LOGS_PATH`."""
    program_support_count: int = 1000
    sums: bool = False
    dispatch_cores: bool = False
    """Also profiles dispatch kernels."""
    stream_policy: int | None = None
    """Policy of full rings, as a control word, if kernels and firmware stream."""
    read_every_ns: int = 1_000_000
    """Time between two reads of the rings."""
    tracy: dict[str, Any] | None = None
    """Options of :meth:`TtnnSession.serve_tracy`, if Tracy viewers are served while rings are read."""

    @classmethod
    def from_environment(cls, text: str) -> Options:
        """Returns the options in `KPROF_TTNN_SESSION` (JSON); unknown options are ignored."""
        given = json.loads(text)
        known = {field.name for field in dataclasses.fields(cls)}
        options = cls(**{key: value for key, value in given.items() if key in known})
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


class OpenDevice:
    """An opened device, with an estimate of how full its lanes are."""

    def __init__(self, session: Session, device: Any) -> None:
        options = session.options
        self.session = session
        self.profiler = DeviceProfiler(
            device,
            options.program_support_count,
            options.sums,
            options.dispatch_cores,
            session.streams,
        )
        self.lane_words = self.profiler.lane_bytes // 4
        # Reserve room for a launch that leaves a full vector, if the lanes are long enough.
        self.reserved_words = min(VECTOR_WORDS, self.lane_words // 4)
        self.pending_words = 0
        """Estimate of unread words in the fullest lane."""
        self.pending_launches = 0
        self.run_words = VECTOR_WORDS
        """Estimate of the words that a launch writes to a lane."""
        self.chips: list[int] = []
        self.cores = self.profiler.find_cores()
        self.others = self.profiler.find_others()
        self.is_last_read = False
        """True after the lanes were taken from the dispatch kernels."""
        self._join()

    def _join(self) -> None:
        profiler, native = self.profiler, self.session.native
        arch = str(profiler.device.arch()).rpartition(".")[2].lower()
        of_chips = zip(profiler.chip_ids, self.cores, self.others)
        for number, (chip_id, cores, others) in enumerate(of_chips):
            places = [(*core.noc0, *core.logical) for core in cores]
            chip, flat_ids = native.add_chip(
                chip_id,
                arch,
                self.session.aiclk_mhz(arch),
                places,
                profiler.bank_count,
                profiler.lanes.buffer_address(),
                profiler.bank_words * 4,
                [(*core.noc0, *core.logical) for core in others],
            )
            self.chips.append(chip)
            native.add_clocks(chip, profiler.clocks(number))
            if not profiler.leaves_nothing:
                native.add_ops([(chip_id, 0, [("name", "kprof"), ("kprof_launches", "1")])])
        if self.session.streams:
            self._stream()
            return
        profiler.give_lanes(flat_ids)
        # The rest of that launch is not counted: the next launch starts the lanes of every core.
        profiler.find_cores()
        if profiler.others:
            profiler.give_lanes_to_others()

    def _stream(self) -> None:
        """Begins to read the rings of all cores in a thread."""
        options, socket = self.session.options, os.environ.get(SOCKET_VARIABLE)
        if socket is None or options.stream_policy is None:
            raise RuntimeError(f"expected the socket of the chip in {SOCKET_VARIABLE}, found none")
        self.session.ttnn.synchronize_device(self.profiler.device)
        path = socket.replace("{pid}", str(os.getpid()))
        for chip in self.chips:
            self.session.native.stream_chip(
                chip, path, self.profiler.control_address, options.stream_policy, options.read_every_ns
            )
        if options.tracy is not None:
            try:
                self.session.native.serve_tracy(**options.tracy)
            except ValueError as error:
                self.session._complain(f"no Tracy viewers are served: {error}")

    def has_room(self, launch_count: int) -> bool:
        """Returns true if the lanes are sure to hold this number of further launches."""
        if self.session.streams:
            return True
        more = launch_count * self.run_words + self.reserved_words
        return self.pending_words + more <= self.lane_words

    def add_launches(self, launch_count: int) -> None:
        """Adds enqueued launches to the estimate."""
        self.pending_launches += launch_count
        self.pending_words += launch_count * self.run_words

    def look(self) -> None:
        """Measures how full the lanes are, which costs far less than reading them."""
        self._learn(self.profiler.gather()[0])

    def load(self) -> None:
        """Copies the chips' profiler data for the next read."""
        profiler, native = self.profiler, self.session.native
        controls, clocks = profiler.gather()
        waiting = profiler.copy_rings() if self.is_last_read else []
        for words, (of_others, _) in zip(controls, waiting):
            # Use the control words read with the rings: they count the losses of the rings.
            words[-len(of_others) :] = of_others
            # Restore the address of the lanes, which was cleared after these pushes.
            words[-len(of_others) :, ADDRESS_WORD] = profiler.lanes.buffer_address()
        lanes = profiler.copy_lanes(*self._window(controls))
        if waiting:
            lanes = [lane.copy() for lane in lanes]
        for words, lane, (of_others, core_rings) in zip(controls, lanes, waiting):
            of_cores = core_rings.reshape(len(of_others), RISCS, -1)
            rings.push_waiting(words[-len(of_others) :], of_cores, lane, profiler.lane_of_other)
        for chip, words, lane in zip(self.chips, controls, lanes):
            native.load(chip, words.astype("<u4").tobytes(), lane.astype("<u4").tobytes())
        for chip, cores, (before, cycles, after) in zip(self.chips, self.cores, clocks):
            native.add_clocks(chip, [(*cores[profiler.reader].noc0, before, cycles, after)])
        self._learn(controls)

    def end_dispatch(self) -> None:
        """Prepares the last read: dispatch kernels continue to run, and data that they have not
        pushed is then read from their rings."""
        if self.profiler.others and not self.is_last_read:
            self.profiler.take_lanes_of_others()
            self.is_last_read = True

    def _window(self, controls: list[Any]) -> tuple[int, int]:
        """Returns the range of words that contains all unread data of all lanes."""
        first, end = self.lane_words, 0
        for ends, read in map(_ends_and_read, controls):
            if (ends < read).any():
                return 0, self.lane_words
            is_new = ends > read
            if is_new.any():
                first = min(first, int(read[is_new].min()))
                end = max(end, int(ends[is_new].max()))
        return (first, end) if first < end <= self.lane_words else (0, 0)

    def acknowledge(self) -> None:
        """Writes the new read positions to the chips."""
        native = self.session.native
        answers = [
            _np.frombuffer(native.acknowledgement(chip), "<u4").reshape(-1, CONTROL_WORDS)
            for chip in self.chips
        ]
        self.profiler.acknowledge(answers)
        # The profiler's own launches during a read leave runs on the core that executes them.
        self.pending_words = 4 * RUN_WORDS
        self.pending_launches = 0

    def _learn(self, controls: list[Any]) -> None:
        """Updates the estimates of unread words and of words per launch from control vectors."""
        unread = 0
        for ends, read in map(_ends_and_read, controls):
            # After a wraparound, the new words go to the lane's end, and continue at its start.
            turned = _np.where(ends < read, self.lane_words, 0)
            unread = max(unread, int((ends - read + turned).max()))
        if self.pending_launches:
            mean = -(-unread // self.pending_launches)
            # Add a margin: launches differ, and the sum includes launches of the profiler itself.
            self.run_words = min(VECTOR_WORDS, max(RUN_WORDS, mean + mean // 4))
        self.pending_words = unread


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
        self.inspector = Inspector(os.path.join(options.logs, "generated", "inspector"))
        self.devices: dict[int, OpenDevice] = {}
        self.host = tracing.HOST
        self._calls: list[Call] = []
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
        with self._lock, tracing.paused():
            if self.is_finished or device.id() in self.devices:
                return
            try:
                opened = OpenDevice(self, device)
                self.devices[device.id()] = opened
                self.chip_count += len(opened.chips)
            except Exception as error:
                self._complain(f"the device is not profiled: {error}")

    def close(self, device: Any) -> None:
        """Reads a device for the last time, before it is closed."""
        with self._lock, tracing.paused():
            if device.id() in self.devices and not self.is_finished:
                self._end_dispatch([self.devices[device.id()]])
                self.read_all()
                opened = self.devices.pop(device.id())
                self._end_streams()
                opened.profiler.release()

    def _end_dispatch(self, devices: list[OpenDevice]) -> None:
        if self._is_capturing:
            return
        try:
            for device in devices:
                device.end_dispatch()
        except Exception as error:
            self._complain(f"kernels that dispatch were not read to their end: {error}")

    def read_all(self) -> None:
        """Reads all devices, unless a trace is being captured: the reads would be captured too."""
        with self._lock, tracing.paused():
            if self._is_capturing or self.is_finished:
                return
            try:
                self._read_all()
            except Exception as error:
                self._complain(f"a read failed: {error}")

    def _read_all(self) -> None:
        opened = list(self.devices.values())
        if not opened:
            return
        for device in opened:
            self.ttnn.synchronize_device(device.profiler.device)
        self._name()
        if self.streams:
            self.native.read_at_rest()
            self.native.add_host(self.host)
            return
        for device in opened:
            device.load()
        self.native.read()
        for device in opened:
            device.acknowledge()
        self.native.add_host(self.host)

    def _end_streams(self) -> None:
        """Reads rings for the last time, if kernels stream."""
        try:
            if self.streams:
                self.native.end_streams()
        except Exception as error:
            self._complain(f"the last read failed: {error}")

    def _complain(self, problem: str) -> None:
        problem = " ".join(str(problem).split())
        if problem not in self.problems:
            self.problems.append(problem)
            print(f"kprof: {problem[:400]}", file=sys.stderr)

    # Names.

    def _name(self) -> None:
        """Names ops and zones that are new since the last call."""
        self._named_at = time.monotonic()
        self._name_ops([chip for device in self.devices.values() for chip in device.profiler.chip_ids])
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
            self._complain(f"zones have no names: {error}")

    def _name_ops(self, chip_ids: list[int]) -> None:
        launches = [launch for launch in self.inspector.new_launches() if launch.runtime_id]
        calls, self._calls = self._calls, []
        by_id = {op: call for call in calls for op in range(call.first_id, call.end_id)}
        named = {launch.runtime_id for launch in launches}
        ops = [
            (launch.runtime_id, _fields(launch, by_id.get(launch.runtime_id)))
            for launch in launches
        ]
        # If the Inspector's log has no entry of a launch, only the call is known.
        ops += [(op, _fields_of_call(call)) for op, call in by_id.items() if op not in named]
        self.native.add_ops([(chip, op, fields) for op, fields in ops for chip in chip_ids])

    # Calls.

    def operation(self, original: Any, op: Any, args: tuple, kwargs: dict) -> Any:
        """Calls an operation, and records its launches."""
        if getattr(self._depth, "value", 0) or self.is_finished:
            return original(op, *args, **kwargs)
        self._depth.value = 1
        # Ids count the launches of all threads, so calls run one at a time. The time-out is for
        # calls that wait for each other.
        is_locked = self._lock.acquire(timeout=CALL_TIMEOUT_SECONDS)
        first = self.ttnn._ttnn.get_device_operation_id()
        start = time.monotonic_ns()
        try:
            result = original(op, *args, **kwargs)
            duration = time.monotonic_ns() - start
            end = self.ttnn._ttnn.get_device_operation_id()
            if end > first:
                with tracing.paused():
                    name = getattr(op, "python_fully_qualified_name", "")
                    described = _attributes(name, args, kwargs), _tensors(result)
                    self._calls.append(Call(name, first, end, start, duration, *described))
                    self._count_launches()
        finally:
            if is_locked:
                self._lock.release()
            self._depth.value = 0
        return result

    def _count_launches(self) -> None:
        """Counts the launches since the last call; reads if lanes could fill."""
        with self._lock:
            end = self.ttnn._ttnn.get_device_operation_id()
            count, self._counted_id = end - self._counted_id, end
            if self._is_capturing or self.is_finished:
                return
            if self.streams and time.monotonic() - self._named_at >= SECONDS_BETWEEN_NAMES:
                # Name ops and zones now, so that records have names even if the program is killed.
                self._name()
            for opened in self.devices.values():
                opened.add_launches(max(count, 0))
            self._make_room(1)

    def _make_room(self, launch_count: int) -> None:
        """Reads unless the lanes are sure to hold this number of further launches."""
        try:
            full = [opened for opened in self.devices.values() if not opened.has_room(launch_count)]
            for opened in full:
                opened.look()
            more = max(launch_count, LAUNCHES_BETWEEN_LOOKS)
            if any(not opened.has_room(more) for opened in full):
                self.read_all()
        except Exception as error:
            self._complain(f"a read failed: {error}")

    # Traces.

    def trace_begins(self) -> None:
        """Records that the capture of a trace begins; the following launches do not run yet."""
        self.read_all()
        with self._lock:
            self._is_capturing = True
            self._trace_begin = self.ttnn._ttnn.get_device_operation_id()

    def trace_ends(self, trace: Any) -> None:
        """Records the number of launches in a captured trace."""
        with self._lock, tracing.paused():
            self._is_capturing = False
            self._counted_id = end = self.ttnn._ttnn.get_device_operation_id()
            self._trace_sizes[int(trace)] = end - self._trace_begin
            for base_id in range(self._trace_begin, end):
                self._trace_message(f"ENQUEUE_PROGRAM: {{chip}}, {int(trace)}, {base_id}")
            self._trace_message(f"END: {{chip}}, {int(trace)}")

    def trace_replays(self, trace: Any) -> None:
        """Records a replay before it is enqueued; reads first if the lanes could become full."""
        with self._lock, tracing.paused():
            count = self._trace_sizes.get(int(trace), 0)
            self._make_room(count)
            for opened in self.devices.values():
                opened.add_launches(count)
            self._trace_message(f"REPLAY: {{chip}}, {int(trace)}")

    def _trace_message(self, text: str) -> None:
        for opened in self.devices.values():
            for chip in opened.profiler.chip_ids:
                message = f"`TT_METAL_TRACE_{text.format(chip=chip)}`"
                self.host.message(message, __file__, 1)

    # The end.

    def signpost(self, header: str, message: str | None) -> None:
        """Reads the chips, then records a signpost."""
        self.read_all()
        self.host.signpost(header, message)

    def finish(self) -> Any:
        """Reads for the last time and ends the capture; returns the recording."""
        with self._lock, tracing.paused():
            if self.is_finished:
                return self.recording
            # If an error has ended the capture of a trace, the trace is ignored.
            self._is_capturing = False
            self._end_dispatch(list(self.devices.values()))
            self.read_all()
            self._end_streams()
            if not self.chip_count and not self.problems:
                self._complain("the program has opened no device, so that nothing was profiled")
            if malformed := self.inspector.malformed_count:
                self._complain(f"{malformed} launches in tt-metal's log are malformed")
            self.is_finished = True
            self.native.add_host(self.host)
            self.recording = self.native.finish()
            return self.recording


def _ends_and_read(words: Any) -> tuple[Any, Any]:
    """Returns the ends and the read positions of each core's lanes, from its control words."""
    ends = words[:, :RISCS].astype(_np.int64) & END_MASK
    return ends, words[:, READ_WORDS : READ_WORDS + RISCS].astype(_np.int64)


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
        key: str(value)[:200]
        for key, value in plain.items()
        if not hasattr(value, "padded_shape") and not _holds_tensors(value) and key != "device"
    }
    return json.dumps({"operation": name, **shown})


def _holds_tensors(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(hasattr(item, "padded_shape") for item in value)


def _fields(launch: Launch, call: Call | None) -> list[tuple[str, str]]:
    """Returns the metadata of an op for a launch."""
    fields = [("name", launch.name), ("input_tensors", launch.inputs)]
    if launch.kernels:
        fields.append(("kernel_info", launch.kernels))
    if launch.is_cache_hit is not None:
        fields.append(("program_cache_hit", "true" if launch.is_cache_hit else "false"))
    if call is not None:
        fields += [field for field in _fields_of_call(call) if field[0] != "name"]
        if call.outputs and launch.runtime_id == call.end_id - 1:
            fields.append(("output_tensors", call.outputs))
    return fields


def _fields_of_call(call: Call) -> list[tuple[str, str]]:
    fields = [("name", call.name), ("attributes", call.attributes)]
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
    for number in (signal.SIGTERM, signal.SIGHUP):
        _finish_at(number)


def _finish_at(number: int) -> None:
    """Ends sessions before a signal ends the process, unless the program handles the signal."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(number) is not signal.SIG_DFL:
        return

    def ended(number: int, frame: Any) -> None:
        del frame
        for session in list(ACTIVE):
            end(session)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(number, ended)


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


def _begin_trace(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    session.trace_begins()
    return original(*args, **kwargs)


def _end_trace(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    result = original(*args, **kwargs)
    session.trace_ends(args[1] if len(args) > 1 else kwargs.get("trace_id"))
    return result


def _replay(session: Session, original: Any, *args: Any, **kwargs: Any) -> Any:
    session.trace_replays(args[1] if len(args) > 1 else kwargs.get("trace_id"))
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
