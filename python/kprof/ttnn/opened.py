"""An opened device and its submeshes: which mesh reads which chip, and how full the lanes are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as _np

from . import rings
from .device import CONTROL_WORDS, DeviceProfiler
from .unnoticed import forget_cached_programs

if TYPE_CHECKING:
    from .session import Session

USES_COMMAND_QUEUES = "TT_METAL_SLOW_DISPATCH_MODE" not in os.environ
"""False if the host itself launches programs, which leaves nothing to quiesce."""
VECTOR_WORDS = 512
"""Maximum number of words that a launch writes to a lane."""
RUN_WORDS = 12
"""Minimum number of words that a launch writes to a lane."""
SOCKET_VARIABLE = "KPROF_CHIP_SOCKET"
"""Variable with the path of the socket at which this process serves its simulated chip."""
RISCS = 5
END_MASK = 0x1FFFF
"""Bits of words 0 to 4 of a control vector that hold the end of a lane."""
ADDRESS_WORD = 50
"""Index of the control word with the address of the lanes."""
READ_WORDS = 59
"""Index of the first control word with the read position of a lane."""


class Chip:
    """A chip of an opened device, with an estimate of how full its lanes are."""

    def __init__(self, number: int, cores: list[Any], user: int) -> None:
        self.number = number
        """Number of the chip in the native session."""
        self.cores = cores
        self.user = user
        """Id of the mesh that launched programs on the chip last; the chip is read through it.
        Meshes that share a chip must not use its command queue at the same time."""
        self.pending_words = 0
        """Estimate of unread words in the fullest lane."""
        self.pending_launches = 0
        self.is_loaded = False


class OpenDevice:
    """An opened device: a mesh, and the submeshes that the program makes of it."""

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
        self.id = device.id()
        self.meshes: dict[int, Any] = {self.id: device}
        """The device and its open submeshes, by id."""
        self.profilers: dict[int, DeviceProfiler] = {self.id: self.profiler}
        """Profilers of meshes; without submeshes if rings are read in place of lanes."""
        self._was_divided = False
        self.is_ended = False
        """True after the lanes were taken from the cores: nothing is recorded any more."""
        self._has_launched: set[int] = {self.id}
        """Meshes through which the profiler has launched kernels since they were last quiesced."""
        self.lane_words = self.profiler.lane_bytes // 4
        # Reserve room for a launch that leaves a full vector, if the lanes are long enough.
        self.reserved_words = min(VECTOR_WORDS, self.lane_words // 4)
        self.run_words = VECTOR_WORDS
        """Estimate of the words that a launch writes to a lane."""
        self.chips: dict[int, Chip] = {}
        """Chips by their id."""
        self.is_last_read = False
        """True after the lanes were taken from the dispatch kernels."""
        self._join()

    def _join(self) -> None:
        profiler, native = self.profiler, self.session.native
        arch = str(profiler.device.arch()).rpartition(".")[2].lower()
        all_cores, all_others = profiler.find_cores(), profiler.find_others()
        of_chips = zip(profiler.chip_ids, all_cores, all_others)
        for position, (chip_id, cores, others) in enumerate(of_chips):
            places = [(*core.noc0, *core.logical) for core in cores]
            number, flat_ids = native.add_chip(
                chip_id,
                arch,
                self.session.aiclk_mhz(arch),
                places,
                profiler.bank_count,
                profiler.lanes.buffer_address(),
                profiler.bank_words * 4,
                [(*core.noc0, *core.logical) for core in others],
            )
            self.chips[chip_id] = Chip(number, cores, self.id)
            native.add_clocks(number, profiler.clocks(position))
            if not profiler.leaves_nothing:
                native.add_ops([(chip_id, 0, [("name", "kprof"), ("kprof_launches", "1")])])
        self._reach()
        if self.session.streams:
            self._stream()
            return
        profiler.give_lanes(flat_ids)
        # The rest of that launch is not counted: the next launch starts the lanes of every core.
        profiler.find_cores()
        if profiler.others:
            profiler.give_lanes_to_others()

    def _reach(self) -> None:
        """Lets the session read simulated chips without a launch, once a launch never ends."""
        socket = os.environ.get(SOCKET_VARIABLE, "").replace("{pid}", str(os.getpid()))
        if os.path.exists(socket):
            for chip in self.chips.values():
                self.session.native.reach_chip(chip.number, socket, self.profiler.control_address)

    def _stream(self) -> None:
        """Begins to read the rings of all cores in a thread."""
        options, socket = self.session.options, os.environ.get(SOCKET_VARIABLE)
        if socket is None or options.stream_policy is None:
            raise RuntimeError(f"expected the socket of the chip in {SOCKET_VARIABLE}, found none")
        self.session.ttnn.synchronize_device(self.profiler.device)
        path = socket.replace("{pid}", str(os.getpid()))
        for chip in self.chips.values():
            self.session.native.stream_chip(
                chip.number, path, self.profiler.control_address, options.stream_policy, options.read_every_ns
            )
        if options.tracy is not None:
            try:
                self.session.native.serve_tracy(**options.tracy)
            except ValueError as error:
                self.session.complain(f"no Tracy viewers are served: {error}")
        # Records leave through the rings.
        self.profiler.free()

    # Submeshes.

    def prepare_submeshes(self, parent: Any) -> None:
        """Reads all chips and gives up the command queues before a mesh is divided.

        The profiler's launches have used the command queue of the mesh. If it stayed in use, ttnn
        could not close the submeshes, and fast dispatch would count launches wrongly.
        """
        if self.has_unread or not all(chip.is_loaded for chip in self.chips.values()):
            self.session.read_all()
        for mesh_id in [self.id, parent.id()]:
            self._quiesce(mesh_id)

    def add_submesh(self, parent: Any, submesh: Any) -> None:
        """Reserves the memory of the lanes in the allocator of a new submesh.

        Raises:
            RuntimeError: If the memory at these addresses is in use.
        """
        if not self.session.streams and not self.is_ended:
            of_parent = self.profilers[parent.id()]
            self.profilers[submesh.id()] = of_parent.submesh(submesh)
        self._was_divided = True
        self.meshes[submesh.id()] = submesh

    def end(self) -> None:
        """Takes the lanes from all cores, and frees their memory: nothing is recorded any more."""
        self.return_chips()
        self.is_ended = True
        self._has_launched.add(self.id)
        try:
            self.profiler.take_lanes()
        finally:
            for profiler in self.profilers.values():
                profiler.free()
            self._quiesce(self.id)

    def remove_submesh(self, mesh_id: int) -> None:
        """Forgets a submesh that closes. Its chips have been read."""
        users = {chip.user for chip in self.chips.values()}
        if mesh_id in users:
            self._has_launched.add(mesh_id)
            self._quiesce(mesh_id)
        self._forget(mesh_id)

    def _forget(self, mesh_id: int) -> None:
        submesh = self.meshes.pop(mesh_id)
        profiler = self.profilers.pop(mesh_id, None)
        if profiler is not None and not self.is_ended:
            profiler.free()
        forget_cached_programs(submesh)
        for chip in self.chips.values():
            if chip.user == mesh_id:
                chip.user = self.id

    def return_chips(self) -> None:
        """Makes the device itself the user of all its chips, after its submeshes were used."""
        if any(chip.user != self.id for chip in self.chips.values()):
            if self.has_unread:
                self.session.read_all()
            # This also quiesces the submeshes.
            self._has_launched.add(self.id)
            self._quiesce(self.id)
            for chip in self.chips.values():
                chip.user = self.id

    def _quiesce(self, mesh_id: int) -> None:
        if mesh_id in self._has_launched:
            self._has_launched.discard(mesh_id)
            if USES_COMMAND_QUEUES:
                # The original: a call of the program would read the chips first.
                quiesce = type(self.meshes[mesh_id]).quiesce_devices
                getattr(quiesce, "__wrapped__", quiesce)(self.meshes[mesh_id])

    def before_launches(self, mesh: Any) -> None:
        """Reads the chips of a mesh through the meshes that used them before.

        Called before programs are launched on `mesh`.
        """
        used = {self.chips[chip].user for chip in mesh.get_device_ids() if chip in self.chips}
        if not used or used == {mesh.id()}:
            return
        if self.has_unread:
            self.session.read_all()
            for mesh_id in used - {mesh.id()}:
                self._quiesce(mesh_id)

    # Estimates.

    @property
    def has_unread(self) -> bool:
        """True if programs were launched since the last read."""
        return any(chip.pending_launches for chip in self.chips.values())

    def has_room(self, launch_count: int) -> bool:
        """Returns true if the lanes are sure to hold this number of further launches."""
        if self.session.streams or self.is_ended:
            return True
        more = launch_count * self.run_words + self.reserved_words
        fullest = max(chip.pending_words for chip in self.chips.values())
        return fullest + more <= self.lane_words

    def add_launches(self, mesh: Any | None, launch_count: int) -> None:
        """Adds enqueued launches to the estimate; without a mesh, to that of all chips in use."""
        if mesh is None:
            of_submeshes = [chip for chip in self.chips.values() if chip.user != self.id]
            chips = of_submeshes or list(self.chips.values())
        else:
            chips = [self.chips[chip_id] for chip_id in mesh.get_device_ids()]
            for chip in chips:
                chip.user = mesh.id()
        for chip in chips:
            chip.pending_launches += launch_count
            chip.pending_words += launch_count * self.run_words

    def look(self) -> None:
        """Measures how full the lanes are, which costs far less than reading them."""
        for mesh_id in self._readers():
            profiler = self.profilers[mesh_id]
            self._has_launched.add(mesh_id)
            self._learn(dict(zip(profiler.chip_ids, profiler.gather()[0])))

    # Reads.

    def _readers(self) -> list[int]:
        """Returns the meshes through which all chips with unread data are read.

        After the device was divided, only chips with launches since the last read are read: a
        mesh that reads other chips might include some that a submesh uses.
        """
        if not self._was_divided:
            return [self.id]
        unread = (c for c in self.chips.values() if c.pending_launches or not c.is_loaded)
        return list(dict.fromkeys(chip.user for chip in unread))

    def synchronize(self) -> None:
        """Waits until all launches on the meshes that will be read have ended.

        To wait for another mesh would put it into use, beside the mesh that the program uses.
        """
        for mesh_id in self._readers():
            self.session.ttnn.synchronize_device(self.meshes[mesh_id])

    def before_quiesce(self) -> None:
        """Reads the chips before the program gives up the command queues of a divided device.

        Afterwards it may use another mesh without launching anything, which the session does not see.
        """
        if self._was_divided and self.has_unread:
            self.session.read_all()

    def load(self) -> list[int]:
        """Copies the chips' profiler data for the next read; returns the meshes that did."""
        if self.is_ended:
            return []
        readers = self._readers()
        for mesh_id in readers:
            self._load(mesh_id)
        return readers

    def _load(self, mesh_id: int) -> None:
        profiler, native = self.profilers[mesh_id], self.session.native
        self._has_launched.add(mesh_id)
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
        for chip_id, words, lane, clock in zip(profiler.chip_ids, controls, lanes, clocks):
            chip = self.chips[chip_id]
            if chip.user != mesh_id:
                continue
            native.load(chip.number, words.astype("<u4").tobytes(), lane.astype("<u4").tobytes())
            before, cycles, after = clock
            native.add_clocks(chip.number, [(*chip.cores[profiler.reader].noc0, before, cycles, after)])
            chip.is_loaded = True
        self._learn(dict(zip(profiler.chip_ids, controls)))

    def end_dispatch(self) -> None:
        """Prepares the last read: dispatch kernels continue to run, and data that they have not
        pushed is then read from their rings."""
        if self.profiler.others and not self.is_last_read and not self.is_ended:
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

    def acknowledge(self, readers: list[int]) -> None:
        """Writes the new read positions to the chips, through the meshes that read them."""
        for mesh_id in readers:
            profiler = self.profilers[mesh_id]
            answers = []
            for chip_id in profiler.chip_ids:
                chip = self.chips[chip_id]
                words = self.session.native.acknowledgement(chip.number)
                answers.append(_np.frombuffer(words, "<u4").reshape(-1, CONTROL_WORDS))
                # The profiler's own launches during a read leave runs on the core that executes them.
                chip.pending_words = 4 * RUN_WORDS
                chip.pending_launches = 0
            profiler.acknowledge(answers)

    def _learn(self, controls: dict[int, Any]) -> None:
        """Updates the estimates of unread words and of words per launch from control vectors."""
        for chip_id, words in controls.items():
            chip = self.chips[chip_id]
            ends, read = _ends_and_read(words)
            # After a wraparound, the new words go to the lane's end, and continue at its start.
            turned = _np.where(ends < read, self.lane_words, 0)
            chip.pending_words = int((ends - read + turned).max())
        launched = [c for c in map(self.chips.__getitem__, controls) if c.pending_launches]
        if launched:
            mean = max(-(-chip.pending_words // chip.pending_launches) for chip in launched)
            # Add a margin: launches differ, and the sum includes launches of the profiler itself.
            self.run_words = min(VECTOR_WORDS, max(RUN_WORDS, mean + mean // 4))

    def release(self) -> None:
        """Takes the lanes from all cores and frees the memory, before the device closes."""
        for mesh_id in [mesh_id for mesh_id in self.meshes if mesh_id != self.id]:
            self._forget(mesh_id)
        if not self.is_ended:
            self.profiler.take_lanes()
            self.profiler.free()
        forget_cached_programs(self.profiler.device)


def _ends_and_read(words: Any) -> tuple[Any, Any]:
    """Returns the ends and the read positions of each core's lanes, from its control words."""
    ends = words[:, :RISCS].astype(_np.int64) & END_MASK
    return ends, words[:, READ_WORDS : READ_WORDS + RISCS].astype(_np.int64)
