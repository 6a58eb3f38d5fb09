"""Lanes, control vectors and clocks of the chips of a stock ttnn, through its own API."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as _np
import ttnn as _ttnn

from . import kernels, memory
from .memory import ALIGNMENT
from .unnoticed import cached_programs_hidden, undecorated

CONTROL_WORDS = 64
RUN_BYTES = {False: 48, True: 64}
"""Bytes of a lane per program without optional markers; the key is true if sums are recorded."""
VECTOR_BYTES = 2048
TURNING_LANE_WORDS = 130_047
"""Words of the longest lane that can continue at its beginning when full (``wire::LaneEnd``)."""
LANES_PER_CORE = 5
RINGS_WORDS = CONTROL_WORDS + LANES_PER_CORE * VECTOR_BYTES // 4
"""Words of a core's control vector and of the rings that follow it."""
LONGEST_ROW = 32
"""Upper bound of Tensix cores in a row or a column of a chip."""
WINDOWS_PER_LANE = 4
"""A window is copied separately if it is at most a fourth of each lane."""
SIGNATURE = 0x4B504000
"""Value that the runtime writes to word 5 of a control vector: `KP`, version 4."""
STREAM_SIGNATURE = 0x4B531000
"""Value of the same word if the firmware streams: `KS`, version 1."""
CONTROL_ANSWER = 3
"""Index of the control vector's address in an answer of the set-up kernel."""
SIGNATURE_ANSWER = 4
"""Index of word 5 of the control vector in an answer of the set-up kernel."""


@dataclasses.dataclass
class Core:
    """A Tensix core: a worker, or one outside of the grid of workers."""

    logical: tuple[int, int]
    virtual: tuple[int, int]
    noc0: tuple[int, int]


def lane_bytes(program_support_count: int, sums: bool) -> int:
    """Returns the bytes of a RISC's lane.
    A lane holds more than one full vector, and is short enough to be filled repeatedly.
    """
    per_program = RUN_BYTES[sums]
    least = VECTOR_BYTES // per_program + 1
    most = 4 * TURNING_LANE_WORDS // per_program
    return min(max(program_support_count, least), most) * per_program


class LanesDoNotFit(RuntimeError):
    """The chip's DRAM has no room for the lanes."""


class LanesHaveMoved(RuntimeError):
    """A submesh has no free memory at the addresses of the lanes."""


class NotCompiledForProfiling(RuntimeError):
    """The firmware does not record, since it was compiled without kprof's header."""


class DeviceProfiler:
    """The profiler of one opened device, which may be a mesh of chips, or of a submesh.

    Each mesh has an allocator of its own. The profiler of a submesh reserves the memory that the
    profiler of its parent, ``parent``, has reserved on the same chips, and uses the same lanes.
    """

    def __init__(
        self,
        device: Any,
        program_support_count: int,
        sums: bool,
        dispatch_cores: bool = False,
        streams: bool = False,
        parent: DeviceProfiler | None = None,
    ) -> None:
        self.device = device
        self.sums = sums
        self.signature = STREAM_SIGNATURE if streams else SIGNATURE
        self.control_address = 0
        """Address of each core's control vector, once the cores are found."""
        self.program_support_count = program_support_count
        grid = device.compute_with_storage_grid_size()
        self.grid = (grid.x, grid.y)
        self.bank_count = device.dram_grid_size().x
        self.logical = [(x, y) for y in range(grid.y) for x in range(grid.x)]
        virtual = [device.worker_core_from_logical_core(_ttnn.CoreCoord(*c)) for c in self.logical]
        self.virtual = [(core.x, core.y) for core in virtual]
        self.reader = 0
        """Index, among the workers, of the core that accesses the other cores for the profiler."""
        self.leaves_nothing = dispatch_cores
        """True if launches of the profiler itself leave no runs."""
        self.others = self._cores_outside() if dispatch_cores else []
        """Logical and virtual coordinates of the cores on which only ttnn's own kernels run."""
        self.flat_ids: list[int] = []
        self._allocate()
        if parent is not None:
            self._share(parent)

    def submesh(self, device: Any) -> DeviceProfiler:
        """Returns the profiler of a submesh of this mesh."""
        is_streaming = self.signature == STREAM_SIGNATURE
        count, others = self.program_support_count, self.leaves_nothing
        return DeviceProfiler(device, count, self.sums, others, is_streaming, self)

    def _share(self, parent: DeviceProfiler) -> None:
        """Uses the lanes of another mesh with the same chips."""
        of_parent = [tensor.buffer_address() for tensor in parent.tensors]
        own = [tensor.buffer_address() for tensor in self.tensors]
        if own != of_parent:
            memory.free(self.tensors)
            raise LanesHaveMoved(
                f"expected free memory at {of_parent[0]:#x} of each DRAM bank, where the records of "
                f"the parent mesh are, found it at {own[0]:#x}"
            )
        self.flat_ids = parent.flat_ids
        self.reader = parent.reader
        self.control_address = parent.control_address

    @property
    def chip_ids(self) -> list[int]:
        """Ids of the chips, in the order in which the mesh has them now."""
        return list(self.device.get_device_ids())

    def _cores_outside(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Returns the Tensix cores outside of the worker grid: the last columns or rows."""
        columns = self._count_cores(lambda n: (n, 0))
        rows = self._count_cores(lambda n: (0, n))
        outside = [
            (x, y)
            for y in range(rows)
            for x in range(columns)
            if x >= self.grid[0] or y >= self.grid[1]
        ]
        return [(core, self._virtual(core)) for core in outside]

    def _virtual(self, logical: tuple[int, int]) -> tuple[int, int]:
        core = self.device.worker_core_from_logical_core(_ttnn.CoreCoord(*logical))
        return core.x, core.y

    def _count_cores(self, nth: Any) -> int:
        """Counts the cores of a row or a column: ttnn refuses coordinates after the last core."""
        for count in range(LONGEST_ROW):
            try:
                self._virtual(nth(count))
            except RuntimeError:
                return count
        return LONGEST_ROW

    @property
    def core_count(self) -> int:
        """Number of cores that have lanes."""
        return len(self.logical) + len(self.others)

    # Memory on the chip.

    def _allocate(self) -> None:
        count = self.core_count
        self.cores_per_bank = -(-count // self.bank_count)
        self.lane_bytes = lane_bytes(self.program_support_count, self.sums)
        self.bank_words = self.lane_bytes // 4 * LANES_PER_CORE * self.cores_per_bank
        rows = -(-(count + 1) // self.bank_count)
        longest = self.lane_bytes // WINDOWS_PER_LANE // ALIGNMENT * ALIGNMENT + 2 * ALIGNMENT
        self.window_bytes = longest
        self.copies_windows = True
        window_words = LANES_PER_CORE * self.cores_per_bank * longest // 4
        self.ring_rows = -(-len(self.others) // self.bank_count)
        sizes = [self.bank_words, window_words, rows * CONTROL_WORDS, rows * CONTROL_WORDS]
        sizes += [self.ring_rows * RINGS_WORDS] if self.others else []
        try:
            self.tensors = memory.reserve(_ttnn, self.device, sizes)
        except memory.DoesNotFit as error:
            raise LanesDoNotFit(self._advice(error.found)) from error
        self.lanes, self.windows, self.answers, self.words, *rings = self.tensors
        self.rings = rings[0] if rings else None

    def _advice(self, free: int) -> str:
        per_program = RUN_BYTES[self.sums] * LANES_PER_CORE * self.cores_per_bank
        return (
            f"expected {self.bank_words * 4} free bytes in each DRAM bank for lanes of "
            f"{self.program_support_count} programs, found {free}; "
            f"the largest count that fits is {free // per_program}: --op-support-count"
        )

    @property
    def reserved_bytes(self) -> int:
        """Bytes of each DRAM bank that the profiler has reserved."""
        return sum(int(tensor.buffer_aligned_page_size()) for tensor in self.tensors)

    def take_lanes(self) -> None:
        """Clears the lane addresses of all cores, so that no core writes to lanes."""
        if self.signature == SIGNATURE:
            self._launch_for(kernels.TAKE_LANES, self.answers, self._all_places, 64)
            undecorated(_ttnn.synchronize_device)(self.device)

    def free(self) -> None:
        """Frees the memory on the chips; nothing can be launched any more."""
        tensors, self.tensors = self.tensors, []
        memory.free(tensors)

    # Launches of the profiler itself.

    def _launch(self, source: str, cores: Any, arguments: dict, scratch_bytes: int, io: list) -> None:
        """Runs a kernel as program 0, "no program", so that the user's ops keep their ids."""
        if self.leaves_nothing:
            source = kernels.leaving_nothing(source)
        runtime_arguments = _ttnn.RuntimeArgs()
        for (x, y), words in arguments.items():
            runtime_arguments[x][y] = words
        kernel = _ttnn.KernelDescriptor(
            kernel_source=source,
            source_type=_ttnn.KernelDescriptor.SourceType.SOURCE_CODE,
            core_ranges=cores,
            compile_time_args=[],
            runtime_args=runtime_arguments,
            config=_ttnn.DataMovementConfigDescriptor(),
        )
        scratch = _ttnn.CBDescriptor(
            total_size=scratch_bytes,
            core_ranges=cores,
            format_descriptors=[
                _ttnn.CBFormatDescriptor(
                    buffer_index=0, data_format=_ttnn.uint32, page_size=scratch_bytes
                )
            ],
        )
        program = _ttnn.ProgramDescriptor(kernels=[kernel], semaphores=[], cbs=[scratch])
        # The id stays 0 until the caller restores the program's own ids.
        _ttnn._ttnn.set_device_operation_id(0)
        with cached_programs_hidden(_ttnn, self.device):
            _ttnn.generic_op.function([*io, io[-1]], program)

    def _all_cores(self) -> Any:
        last = _ttnn.CoreCoord(self.grid[0] - 1, self.grid[1] - 1)
        return _ttnn.CoreRangeSet([_ttnn.CoreRange(_ttnn.CoreCoord(0, 0), last)])

    def _launch_on_reader(self, source: str, words: list[int], scratch_bytes: int, tensor: Any) -> None:
        """Runs a kernel on one core, which accesses the other cores over the NoC.
        If cores are divided into sub-devices, a core outside of all sub-devices accepts no launch.
        Another core then becomes the reader.
        """
        centre = len(self.logical) // 2 + self.grid[0] // 2
        for core in dict.fromkeys((self.reader, centre, *range(len(self.logical)))):
            place = _ttnn.CoreCoord(*self.logical[core])
            cores = _ttnn.CoreRangeSet([_ttnn.CoreRange(place, place)])
            try:
                self._launch(source, cores, {self.logical[core]: words}, scratch_bytes, [tensor])
            except RuntimeError as error:
                if "sub device" not in str(error):
                    raise
                refused = error
                continue
            self.reader = core
            return
        raise refused

    def _set_up(self, flat_ids: list[int] | None) -> None:
        lanes = self.lanes.buffer_address() if flat_ids is not None else 0
        arguments = {
            core: [
                self.answers.buffer_address(),
                index,
                lanes,
                flat_ids[index] if flat_ids is not None else 0,
                self.cores_per_bank,
                self.lane_bytes // 4,
                self.bank_count,
            ]
            for index, core in enumerate(self.logical)
        }
        self._launch(kernels.SET_UP, self._all_cores(), arguments, 64, [self.answers])

    def _rows(self, tensor: Any, row_words: int) -> list[Any]:
        """Returns the rows of a tensor for each chip, in the order in which banks received them."""
        return [
            copy.reshape(self.bank_count, -1, row_words).transpose(1, 0, 2).reshape(-1, row_words)
            for copy in self._copies(tensor, row_words)
        ]

    def _copies(self, tensor: Any, row_words: int = 1) -> list[Any]:
        """Returns the words of a tensor on each chip, bank by bank."""
        shards = undecorated(_ttnn.get_device_tensors)(tensor.cpu()) if len(self.chip_ids) > 1 else [tensor.cpu()]
        return [shard.to_numpy().reshape(self.bank_count, -1)[:, :] for shard in shards]

    def find_cores(self) -> list[list[Core]]:
        """Reads the coordinates of every core of every chip from the core itself."""
        before = time.monotonic_ns()
        self._set_up(None)
        chips = []
        for copy in self._copies(self.answers):
            rows = -(-len(self.logical) // self.bank_count)
            answers = copy[:, : 16 * rows].reshape(self.bank_count, rows, 16)
            answers = answers.transpose(1, 0, 2).reshape(-1, 16)[: len(self.logical)]
            chips.append(answers.copy())
        self.first_answers = (before, chips, time.monotonic_ns())
        self.control_address = int(chips[0][0][CONTROL_ANSWER])
        found = int(chips[0][0][SIGNATURE_ANSWER])
        if found & 0xFFFFF000 != self.signature:
            raise NotCompiledForProfiling(
                f"expected firmware with kprof's header (signature {self.signature:#x}), found "
                f"{found:#x}; start the program with `kprof record`, or call kprof.ttnn.prepare() "
                "before `import ttnn`"
            )
        return [
            [
                Core(logical, virtual, (int(row[0]) & 0x3F, int(row[0]) >> 6 & 0x3F))
                for logical, virtual, row in zip(self.logical, self.virtual, answers)
            ]
            for answers in chips
        ]

    def clocks(self, chip: int) -> list[tuple[int, int, int, int, int]]:
        """Returns the readings of all cores' clocks made by `find_cores`."""
        before, chips, after = self.first_answers
        return [
            (int(row[0]) & 0x3F, int(row[0]) >> 6 & 0x3F, before, int(row[1]) | int(row[2]) << 32, after)
            for row in chips[chip]
        ]

    def find_others(self) -> list[list[Core]]:
        """Finds the coordinates of the cores outside of the worker grid, on each chip."""
        if not self.others:
            return [[] for _ in self.chip_ids]
        self._launch_for(kernels.FIND_CORES, self.answers, self._other_places, 64)
        return [
            [
                Core(logical, virtual, (int(row[0]) & 0x3F, int(row[0]) >> 6 & 0x3F))
                for (logical, virtual), row in zip(self.others, rows)
            ]
            for rows in self._rows(self.answers, CONTROL_WORDS)
        ]

    @property
    def _other_places(self) -> list[int]:
        return [x | y << 16 for _, (x, y) in self.others]

    def _launch_for(self, source: str, tensor: Any, places: list[int], row_bytes: int) -> None:
        """Runs a kernel on one core that processes other cores."""
        words = [tensor.buffer_address(), len(places), self.bank_count, *places]
        scratch_bytes = max(row_bytes * (len(places) + 1), VECTOR_BYTES)
        self._launch_on_reader(source, words, scratch_bytes, tensor)

    def give_lanes(self, flat_ids: list[int]) -> None:
        """Assigns lanes to every core; flat ids of the workers come first."""
        self.flat_ids = flat_ids
        self._set_up(flat_ids)

    def give_lanes_to_others(self) -> None:
        """Assigns lanes to the cores outside of the worker grid, where kernels already run."""
        of_others = self.flat_ids[len(self.logical) :]
        words = [
            self.lanes.buffer_address(),
            len(self.others),
            0,
            self.cores_per_bank,
            self.lane_bytes // 4,
        ]
        for place, flat_id in zip(self._other_places, of_others):
            words += [place, flat_id]
        self._launch_on_reader(kernels.SET_UP_OTHERS, words, 512, self.answers)

    def take_lanes_of_others(self) -> None:
        """Stops further pushes of the cores outside of the worker grid."""
        self._launch_for(kernels.TAKE_LANES, self.answers, self._other_places, 64)

    def lane_of_other(self, index: int, risc: int) -> tuple[int, int, int]:
        """Returns bank, first word in it and size of a lane outside of the worker grid."""
        flat_id = self.flat_ids[len(self.logical) + index]
        lane_words = self.lane_bytes // 4
        lane = flat_id % self.cores_per_bank * LANES_PER_CORE + risc
        return flat_id // self.cores_per_bank, lane * lane_words, lane_words

    def copy_rings(self) -> list[tuple[Any, Any]]:
        """Returns control vectors and rings of each chip's cores outside of the worker grid."""
        self._launch_for(kernels.GATHER_RINGS, self.rings, self._other_places, 0)
        copies = [rows[: len(self.others)] for rows in self._rows(self.rings, RINGS_WORDS)]
        return [(copy[:, :CONTROL_WORDS], copy[:, CONTROL_WORDS:]) for copy in copies]

    @property
    def _all_places(self) -> list[int]:
        return [x | y << 16 for x, y in self.virtual] + self._other_places

    def gather(self) -> tuple[list[Any], list[tuple[int, int, int]]]:
        """Returns the control vectors of each chip, and a reading of its reader core's clock."""
        before = time.monotonic_ns()
        self._launch_for(kernels.GATHER, self.answers, self._all_places, 4 * CONTROL_WORDS)
        rows = self._rows(self.answers, CONTROL_WORDS)
        after = time.monotonic_ns()
        count = self.core_count
        clocks = [(before, int(r[count][0]) | int(r[count][1]) << 32, after) for r in rows]
        return [r[:count] for r in rows], clocks

    def copy_lanes(self, first_word: int = 0, end_word: int | None = None) -> list[Any]:
        """Returns the lanes of each chip, bank by bank; words outside of a window may be zeros."""
        lane_words = self.lane_bytes // 4
        if end_word is None:
            end_word = lane_words
        word_count = end_word - first_word
        window_bytes = -(-4 * word_count // ALIGNMENT) * ALIGNMENT + ALIGNMENT
        if window_bytes > self.window_bytes or not self.copies_windows:
            return self._copies(self.lanes)
        lanes_address = self.lanes.buffer_address()
        window = 4 * first_word, window_bytes
        workers = len(self.logical)
        try:
            for first in range(0, len(self.flat_ids), workers):
                self._copy_windows(self.flat_ids[first : first + workers], window)
        except RuntimeError:
            # A launch cannot include cores of different sub-devices.
            self.copies_windows = False
            return self._copies(self.lanes)
        lane_count = LANES_PER_CORE * self.cores_per_bank
        chips = []
        for copy in self._copies(self.windows):
            lanes = _np.zeros((self.bank_count, lane_count, lane_words), _np.uint32)
            for lane in range(lane_count):
                begin = lanes_address + lane * self.lane_bytes + 4 * first_word
                at = (lane * window_bytes + begin % ALIGNMENT) // 4
                lanes[:, lane, first_word:end_word] = copy[:, at : at + word_count]
            chips.append(lanes.reshape(self.bank_count, -1))
        return chips

    def _copy_windows(self, flat_ids: list[int], window: tuple[int, int]) -> None:
        """Makes each worker copy a window of the lanes of one core, for all given cores."""
        first_byte, window_bytes = window
        arguments = {
            core: [
                self.lanes.buffer_address(),
                self.windows.buffer_address(),
                flat_id // self.cores_per_bank,
                flat_id % self.cores_per_bank * LANES_PER_CORE,
                self.lane_bytes,
                first_byte,
                # The window is empty if there is no core left for this worker.
                window_bytes if index < len(flat_ids) else 0,
            ]
            for index, (core, flat_id) in enumerate(
                zip(self.logical, flat_ids + [0] * (len(self.logical) - len(flat_ids)))
            )
        }
        scratch_bytes = 4096 + ALIGNMENT
        self._launch(kernels.COPY_LANES, self._all_cores(), arguments, scratch_bytes, [self.windows])

    def acknowledge(self, chips: list[Any]) -> None:
        """Writes control vectors back: for each chip, a complete vector for each core."""
        rows = -(-(self.core_count + 1) // self.bank_count)
        shards = []
        for vectors in chips:
            words = _np.zeros((rows * self.bank_count, CONTROL_WORDS), _np.uint32)
            words[: len(vectors)] = vectors
            words = words.reshape(rows, self.bank_count, CONTROL_WORDS).transpose(1, 0, 2)
            shards.append(
                _ttnn.Tensor(
                    words.reshape(-1).tolist(),
                    [self.bank_count, rows * CONTROL_WORDS],
                    _ttnn.uint32,
                    _ttnn.ROW_MAJOR_LAYOUT,
                )
            )
        host = (
            shards[0]
            if len(shards) == 1
            else undecorated(_ttnn.from_host_shards)(shards, self.device.shape)
        )
        undecorated(_ttnn.copy_host_to_device_tensor)(host, self.words)
        self._launch_for(kernels.ACKNOWLEDGE, self.words, self._all_places, 4 * CONTROL_WORDS)
