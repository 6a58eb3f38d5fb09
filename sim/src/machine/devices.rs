//! The registers and devices that the RISCs of a tile share, and the effects of accesses to the
//! registers. L1 is not part of this module.

use super::{
    coprocessor::{Coprocessor, GPR_COUNT, Store, THREAD_COUNT, stored_address},
    daisychain::Daisychain,
    mailbox,
    niu::NocInterfaces,
    performance::{Interval, PerformanceCounters, Reading},
    queues::{Queues, member},
    registers::{Effect, Found, Registers, TileKind},
    request::Request,
    tile_watch::TileWatch,
};
use crate::{
    arch::{Arch, WALL_CLOCK_LOW, floorplan::CorePlace},
    chip::facts::ChipFacts,
    limits::Limit,
    riscv::{NocRead, Refusal},
};
use std::{collections::BTreeMap, ops::Range};
use wire::risc::RISCS_PER_CORE;

/// State of a tile's registers and devices.
#[derive(Clone, Debug)]
pub(crate) struct Devices {
    registers: &'static Registers,
    /// True for each RISC that reads the low word of the wall clock at [`WALL_CLOCK_LOW`].
    reads_clock: [bool; RISCS_PER_CORE],
    pub(crate) noc: NocInterfaces,
    /// Reset bits of the RISCs in the register's format; a RISC whose bit is set is held in reset.
    pub(crate) soft_reset: u32,
    reset_addresses: [u32; RISCS_PER_CORE],
    trisc_reset_override: u32,
    ncrisc_reset_override: u32,
    pub(crate) coprocessor: Coprocessor,
    /// For each TRISC, a cycle before which the coprocessor does not end what the TRISC waits for.
    busy_until: [u64; THREAD_COUNT],
    /// Reason why the tile has refused a store of the coprocessor.
    refused_store: Option<String>,
    queues: Queues,
    /// For each counter of a stream and each semaphore, a bit for each RISC that has stored to it in
    /// this launch; the keys are addresses.
    writers: BTreeMap<u32, u32>,
    /// Values of the registers that only store the written value; the keys are addresses.
    stored: BTreeMap<u32, u32>,
    /// Free space in each stream's buffer; the keys are the numbers of the streams.
    stream_space: BTreeMap<u32, u32>,
    performance: PerformanceCounters,
    pub(super) daisychain: Daisychain,
    /// Records the RISCs' accesses to the words that kernels wait for; `None` if the object code
    /// records no waits.
    pub(crate) tile_watch: Option<TileWatch>,
    mover_parameters: [u32; 4],
    /// Contents of NCRISC's instruction RAM; empty on a chip without this RAM.
    pub(crate) instruction_ram: Vec<u8>,
    /// For each RISC, values of the control and status registers that only store the written value;
    /// the keys are the registers' numbers.
    control_status: [BTreeMap<u32, u32>; RISCS_PER_CORE],
    /// Address range of code, which harts must not overwrite.
    pub(crate) code: Range<u32>,
    pub(crate) mailbox: MailboxPlace,
    pub(crate) signals: Signals,
    /// Reason for the most recent refusal of an access.
    pub(crate) refusal: Option<String>,
    /// Reason for the most recent refusal of an access by another tile or by the host.
    pub(crate) remote_refusal: Option<String>,
    /// Address ranges of L1 that were written by another writer than this tile's RISCs, and that
    /// the model of the L1 ports has not processed yet.
    pub(crate) overwritten: Vec<Range<u32>>,
    /// Bits of the RISCs whose instruction caches are to be emptied, as in the register
    /// `RISCV_IC_INVALIDATE`.
    pub(crate) emptied_caches: u32,
    /// Other tiles' reads of this L1 that the model of the L1 ports has not processed yet.
    pub(crate) noc_reads: Vec<NocRead>,
    arch: Arch,
    kind: TileKind,
}

/// Location of the firmware's mailbox and of the signal bytes in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MailboxPlace {
    pub(crate) address: u32,
    pub(crate) size_bytes: u32,
    /// Address of the byte to which the firmware writes `done_value` when a launch is over.
    pub(crate) done_address: u32,
    pub(crate) done_value: u8,
    /// Address of the bytes, one per RISC, in which the firmware records the progress of the RISC's
    /// kernel; `None` if the firmware has no such bytes.
    pub(crate) stages: Option<u32>,
}

/// Signals that the firmware has written to the mailbox in the current launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    /// Cycle of the last write to a word for which a hart can be waiting; `None` once the waiting
    /// harts have been woken.
    pub(crate) written_at: Option<u64>,
    pub(crate) done_cycle: Option<u64>,
    pub(crate) kernel_start: [Option<u64>; RISCS_PER_CORE],
    pub(crate) kernel_end: [Option<u64>; RISCS_PER_CORE],
}

/// Reason why a register access failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The device is not ready yet; the access is repeated.
    Busy,
    /// The access is refused permanently; the string is the reason.
    Refused(String),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Busy => Self::Busy,
            _ => Self::Refused("the queue does not take this".to_owned()),
        }
    }
}

/// Action that remains for the caller after a store to a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Consequence {
    Nothing,
    /// Some RISCs may have entered or left reset.
    Resets,
    /// Instruction caches are to be emptied: see [`Devices::emptied_caches`].
    EmptiedCaches,
    Request(Request),
    /// The mover must copy or clear memory.
    Move,
    /// The debug daisychain may show another RISC, or begin a series of samples.
    Daisychain,
}

impl Devices {
    pub(crate) fn new(chip: &ChipFacts, place: CorePlace) -> Self {
        let kind = TileKind::from(place.kind);
        let has_instruction_ram = chip.arch == Arch::WormholeB0 && kind == TileKind::Tensix;
        let registers = Registers::for_tile(chip.arch, kind);
        let clock = registers.find(WALL_CLOCK_LOW);
        let clock = clock.filter(|found| found.register.effect == Effect::WallClockLow);
        Self {
            registers,
            reads_clock: std::array::from_fn(|risc| {
                clock.is_some_and(|found| found.block.reach.has_risc(risc))
            }),
            noc: NocInterfaces::new(chip, place),
            soft_reset: ALL_RESET_BITS,
            reset_addresses: [0; RISCS_PER_CORE],
            trisc_reset_override: 0,
            ncrisc_reset_override: 0,
            coprocessor: Coprocessor::new(chip.arch, chip.modes.lifted.has(Limit::Compute)),
            busy_until: [0; THREAD_COUNT],
            refused_store: None,
            queues: Queues::default(),
            writers: BTreeMap::new(),
            stored: BTreeMap::new(),
            stream_space: BTreeMap::new(),
            performance: PerformanceCounters::default(),
            daisychain: Daisychain::default(),
            tile_watch: TileWatch::new(chip, place),
            mover_parameters: [0; 4],
            instruction_ram: vec![0; if has_instruction_ram { INSTRUCTION_RAM_BYTES } else { 0 }],
            control_status: Default::default(),
            code: 0..0,
            mailbox: MailboxPlace::default(),
            signals: Signals::default(),
            refusal: None,
            remote_refusal: None,
            overwritten: Vec::new(),
            emptied_caches: 0,
            noc_reads: Vec::new(),
            arch: chip.arch,
            kind,
        }
    }

    /// Returns true if the RISC is held in reset.
    pub(crate) fn is_in_reset(&self, risc_index: usize) -> bool {
        let bit = match self.kind {
            TileKind::Tensix => RESET_BITS[risc_index],
            TileKind::Ethernet => RESET_BITS[0] << risc_index,
        };
        self.soft_reset & bit != 0
    }

    /// Returns the address at which a RISC starts when its reset ends.
    ///
    /// Returns `None` for a RISC of a Blackhole's Ethernet tile if the host has not set an entry
    /// point: on a real chip, such a RISC runs the base firmware, which is not modelled.
    pub(crate) fn entry(&self, risc_index: usize) -> Option<u32> {
        let set = self.reset_addresses[risc_index];
        let is_overridden = match (self.kind, risc_index) {
            (TileKind::Ethernet, _) => {
                return (self.arch == Arch::WormholeB0 || set != 0).then_some(set);
            }
            (TileKind::Tensix, 0) => false,
            (TileKind::Tensix, 1) => self.ncrisc_reset_override & 1 != 0,
            (TileKind::Tensix, _) => self.trisc_reset_override >> (risc_index - 2) & 1 != 0,
        };
        Some(if is_overridden { set } else { DEFAULT_RESET_PC[risc_index] })
    }

    /// Returns true if the debug daisychain shows a RISC.
    pub(crate) const fn daisychain_is_on(&self) -> bool {
        self.daisychain.shown_risc().is_some()
    }

    /// Returns true if a load from an address by a RISC reads the low word of the wall clock.
    ///
    /// Most register reads are reads of this word, so this check avoids most searches for a
    /// register.
    #[inline]
    pub(crate) const fn is_clock_low(&self, risc_index: usize, address: u32) -> bool {
        address == WALL_CLOCK_LOW && self.reads_clock[risc_index]
    }

    /// Returns the register at an address, or the reason why this RISC may not load from it or
    /// store to it.
    pub(crate) fn find(
        &self,
        risc_index: usize,
        address: u32,
        is_store: bool,
    ) -> Result<Found, String> {
        let found = self.find_modelled(address, is_store)?;
        if found.block.reach.has_risc(risc_index) {
            return Ok(found);
        }
        Err(format!("{} is not in this RISC's address space", found.named(address)))
    }

    /// Returns the name of the register at an address.
    pub(crate) fn register_name(&self, address: u32) -> &'static str {
        self.registers.find(address).map_or("unknown", |found| found.register.name)
    }

    /// Returns a word of the instruction RAM; 0 outside of it.
    pub(crate) fn instruction_word(&self, offset: u32) -> u32 {
        let word = self.instruction_ram.get(offset as usize..).and_then(<[u8]>::first_chunk);
        word.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Returns the register at an address, or the reason why hosts and other tiles may not access
    /// it.
    pub(crate) fn find_from_outside(&self, address: u32, is_store: bool) -> Result<Found, String> {
        let found = self.find_modelled(address, is_store)?;
        if found.block.reach.has_noc() {
            return Ok(found);
        }
        Err(format!("{} cannot be reached from outside of its tile", found.named(address)))
    }

    /// Returns the register at an address, or the reason why a load (or, if `is_store`, a store) is
    /// not allowed there.
    fn find_modelled(&self, address: u32, is_store: bool) -> Result<Found, String> {
        let arch = self.arch;
        let verb = if is_store { "written" } else { "read" };
        let found = self.registers.find(address).ok_or_else(|| {
            format!("{arch} has no register at {address:#010x}, which was to be {verb}")
        })?;
        let register = found.register;
        if register.effect == Effect::NotModelled {
            let name = found.named(address);
            return Err(format!("{name} exists, but this simulator does not model it"));
        }
        let access = register.access;
        if if is_store { access.can_write() } else { access.can_read() } {
            return Ok(found);
        }
        Err(format!("{} cannot be {verb}", found.named(address)))
    }

    /// Reads a register; the device that it belongs to provides the value.
    pub(crate) fn load(
        &mut self,
        chip: &ChipFacts,
        found: Found,
        (address, risc_index): (u32, usize),
        cycle: u64,
    ) -> Result<u32, Fault> {
        // What the daisychain shows, and when, is not for the coprocessor to know.
        if let Effect::Daisychain(register) = found.register.effect {
            return Ok(self.daisychain.load(register, cycle)?);
        }
        let word = found.word as usize;
        self.follow_coprocessor(cycle)?;
        if let Some(watch) = &mut self.tile_watch {
            match found.register.effect {
                effect if effect.is_stream() => watch.note_load(risc_index, address, cycle),
                Effect::Counter => watch.note_counter_load(risc_index, address, cycle),
                _ => {}
            }
        }
        Ok(match found.register.effect {
            Effect::SoftReset => self.soft_reset,
            Effect::ResetAddress(of) => self.reset_addresses[of],
            Effect::TriscResetOverride => self.trisc_reset_override,
            Effect::NcriscResetOverride => self.ncrisc_reset_override,
            Effect::StreamSpace => self.stream_space.get(&found.instance).copied().unwrap_or(0),
            Effect::Gpr => {
                let (thread, index) = gpr_place(risc_index, word)?;
                self.coprocessor.gpr(thread, index)
            }
            Effect::Config => self.coprocessor.config(config_word(address)),
            Effect::MoverStatus => MOVER_IDLE,
            Effect::Performance(bank, register) => {
                self.performance.load(bank, register, self.reading(cycle))
            }
            Effect::MoverParameter | Effect::MoverCommand => 0,
            Effect::PcBuffer | Effect::CoprocessorDone | Effect::Semaphore if risc_index == 0 => {
                self.queues.drained_pc(pc_buffer(address))?
            }
            Effect::PcBuffer => self.queues.pop_pc(risc_index - 2)?,
            Effect::CoprocessorDone => {
                let thread = risc_index - 2;
                let is_done = match word {
                    0 => self.coprocessor.is_drained(thread, cycle),
                    _ => self.coprocessor.has_expanded(thread),
                };
                if !is_done {
                    return Err(self.busy_with(thread));
                }
                0
            }
            Effect::Semaphore => self.coprocessor.semaphore(word),
            Effect::Mailbox => self.read_mailbox(found, risc_index)?,
            Effect::Stored | Effect::StreamStored | Effect::StreamSize
                if !NocInterfaces::covers(address) =>
            {
                self.stored.get(&address).copied().unwrap_or(0)
            }
            Effect::Accepted => 0,
            _ => self.noc.load(chip, found, address, cycle)?,
        })
    }

    /// Returns what a RISC that polls a register reads there; `None` if a read may have an effect, or
    /// if the value changes with time alone. Counters of the NoC must be up to date: see
    /// [`NocInterfaces::settle`].
    pub(crate) fn polled(&self, risc_index: usize, address: u32) -> Option<u32> {
        let found = self.registers.find(address)?;
        match found.register.effect {
            Effect::StreamSpace => self.stream_space.get(&found.instance).copied().or(Some(0)),
            Effect::Stored | Effect::StreamStored | Effect::StreamSize
                if !NocInterfaces::covers(address) =>
            {
                self.stored.get(&address).copied().or(Some(0))
            }
            Effect::Semaphore if risc_index >= 2 => {
                Some(self.coprocessor.semaphore(found.word as usize))
            }
            Effect::Counter => self.noc.settled_counter(found, address),
            _ => None,
        }
    }

    /// Returns the effect of an access to the register at an address; `None` if there is no register.
    pub(crate) fn effect_at(&self, address: u32) -> Option<Effect> {
        self.registers.find(address).map(|found| found.register.effect)
    }

    /// Writes a register; returns the action that remains for the caller.
    pub(crate) fn store(
        &mut self,
        chip: &ChipFacts,
        found: Found,
        (address, risc_index): (u32, usize),
        (value, cycle): (u32, u64),
    ) -> Result<Consequence, Fault> {
        if let Effect::Daisychain(register) = found.register.effect {
            self.daisychain.store(self.arch, register, (value, cycle))?;
            return Ok(Consequence::Daisychain);
        }
        let word = found.word as usize;
        self.follow_coprocessor(cycle)?;
        // A store of 0 sets a counter back, which is no signal.
        if found.register.effect.is_stream() && value != 0 {
            self.note_writer(risc_index, address);
        }
        if let (Some(watch), true) = (&mut self.tile_watch, found.register.effect.is_stream()) {
            watch.note_store(risc_index, address, cycle);
        }
        match found.register.effect {
            Effect::SoftReset => {
                self.soft_reset = value;
                return Ok(Consequence::Resets);
            }
            Effect::ResetAddress(of) => self.reset_addresses[of] = value,
            Effect::TriscResetOverride => self.trisc_reset_override = value,
            Effect::NcriscResetOverride => self.ncrisc_reset_override = value,
            Effect::StreamStored | Effect::StreamSize | Effect::StreamSpaceUpdate => {
                self.store_to_stream(found, address, value);
            }
            Effect::Gpr => {
                let (thread, index) = gpr_place(risc_index, word)?;
                self.coprocessor.set_gpr(thread, index, value);
            }
            Effect::Config => {
                let place = config_word(address);
                self.coprocessor.set_config(place, value);
                if self.coprocessor.is_cache_control(place) {
                    self.emptied_caches |= value;
                    return Ok(Consequence::EmptiedCaches);
                }
            }
            Effect::MoverParameter => self.mover_parameters[word] = value,
            Effect::Performance(bank, register) => {
                let now = self.reading(cycle);
                self.performance.store(bank, register, value, now)?;
            }
            Effect::MoverCommand => return self.command_mover(value),
            Effect::PushInstruction => {
                let place = (address, risc_index);
                self.push_instruction(found, place, (value, cycle))?;
            }
            Effect::PcBuffer | Effect::CoprocessorDone | Effect::Semaphore if risc_index == 0 => {
                self.queues.push_pc(pc_buffer(address), value)?;
            }
            Effect::Semaphore => {
                self.coprocessor.write_semaphore(word, value, cycle);
                self.carry_out();
            }
            Effect::Mailbox => {
                self.queues.send(member(risc_index), found.instance as usize, value)?;
            }
            Effect::MopConfig => {
                let thread = risc_index.saturating_sub(2);
                self.coprocessor.set_macro_config(thread, word, value);
            }
            Effect::PcBuffer | Effect::CoprocessorDone | Effect::MoverStatus | Effect::Accepted => {
            }
            Effect::Stored if !NocInterfaces::covers(address) => {
                self.stored.insert(address, value);
            }
            _ => {
                let request = self.noc.store(chip, found, address, value, cycle)?;
                return Ok(request.map_or(Consequence::Nothing, Consequence::Request));
            }
        }
        Ok(Consequence::Nothing)
    }

    /// Returns the current cycle and the counts of issued instructions; the performance counters
    /// are computed from these values.
    const fn reading(&self, cycle: u64) -> Reading {
        Reading { cycle, issued: self.coprocessor.issued() }
    }

    /// Removes and returns the completed intervals in which counter banks counted.
    pub(crate) fn take_counter_intervals(&mut self) -> Vec<Interval> {
        self.performance.take_intervals()
    }

    /// Notes that a RISC has stored to a counter of a stream or to a semaphore.
    pub(super) fn note_writer(&mut self, risc_index: usize, address: u32) {
        *self.writers.entry(address).or_default() |= 1 << risc_index;
    }

    /// Forgets the stores of the previous launch.
    pub(crate) fn forget_writers(&mut self) {
        self.writers.clear();
    }

    /// Returns the RISCs that have stored to a word in this launch, other than to set it back; `None`
    /// if stores to this word are not noted. Only code of this project has its semaphores in one place.
    pub(super) fn writers_of(&self, address: u32, has_own_layout: bool) -> Option<Vec<usize>> {
        let is_noted = has_own_layout && TileWatch::is_semaphore(address)
            || self.registers.find(address).is_some_and(|found| found.register.effect.is_stream());
        let bits = self.writers.get(&address).copied().unwrap_or(0);
        is_noted.then(|| (0..RISCS_PER_CORE).filter(|risc| bits >> risc & 1 != 0).collect())
    }

    fn store_to_stream(&mut self, found: Found, address: u32, value: u32) {
        let space = self.stream_space.entry(found.instance).or_insert(0);
        match found.register.effect {
            Effect::StreamSpaceUpdate => {
                *space = space.wrapping_add(value >> 6) & STREAM_MASK;
                return;
            }
            Effect::StreamSize => *space = value & STREAM_MASK,
            _ => {}
        }
        self.stored.insert(address, value & STREAM_MASK);
    }

    fn read_mailbox(&mut self, found: Found, risc_index: usize) -> Result<u32, Fault> {
        let (from, to) = (found.instance as usize, member(risc_index));
        if found.word == 1 {
            return Ok(u32::from(self.queues.has_mail(from, to)));
        }
        Ok(self.queues.receive(from, to)?)
    }

    fn push_instruction(
        &mut self,
        found: Found,
        (address, risc_index): (u32, usize),
        (instruction, cycle): (u32, u64),
    ) -> Result<(), Fault> {
        let thread = match risc_index {
            0 if address < SECOND_INSTRUCTION_BUFFER => 0,
            0 => found.instance as usize + 1,
            _ => risc_index - 2,
        };
        if let Some(address) = stored_address(instruction) {
            self.find_stored(address)?;
        }
        if self.coprocessor.push(thread, instruction, cycle).is_err() {
            return Err(self.busy_with(thread));
        }
        self.carry_out();
        Ok(())
    }

    /// Notes how long a TRISC waits for the coprocessor at least.
    fn busy_with(&mut self, thread: usize) -> Fault {
        self.busy_until[thread] = self.coprocessor.busy_until(thread);
        Fault::Busy
    }

    /// Removes and returns a cycle before which the coprocessor does not end what a RISC waits for.
    pub(super) fn take_busy_until(&mut self, risc_index: usize) -> u64 {
        let thread = risc_index.checked_sub(2).and_then(|thread| self.busy_until.get_mut(thread));
        thread.map_or(0, std::mem::take)
    }

    /// Lets the coprocessor work up to a cycle. An instruction that the tile refuses is reported to
    /// the RISC that accesses the tile next.
    fn follow_coprocessor(&mut self, cycle: u64) -> Result<(), Fault> {
        if self.coprocessor.is_active() {
            self.coprocessor.advance(cycle);
            self.carry_out();
        }
        self.refused_store.take().map_or(Ok(()), |reason| Err(Fault::Refused(reason)))
    }

    /// Lets the coprocessor work up to a cycle; returns true if it changed what RISCs may poll. It
    /// is called while no RISC accesses the tile.
    pub(crate) fn advance_coprocessor(&mut self, cycle: u64) -> bool {
        if self.coprocessor.is_active() {
            self.coprocessor.advance(cycle);
            self.carry_out();
        }
        self.coprocessor.take_change()
    }

    /// Carries out the effects of coprocessor instructions on the tile.
    fn carry_out(&mut self) {
        for Store { thread, address, value } in self.coprocessor.take_stores() {
            match self.find_stored(address) {
                Ok(found) => {
                    self.note_writer(thread + 2, address);
                    self.store_to_stream(found, address, value);
                }
                Err(reason) => self.refused_store = Some(reason),
            }
        }
    }

    /// Returns the register that `STOREREG` writes at an address.
    fn find_stored(&self, address: u32) -> Result<Found, String> {
        let found = self.find(0, address, true)?;
        match found.register.effect {
            Effect::StreamStored | Effect::StreamSize | Effect::StreamSpaceUpdate => Ok(found),
            _ => {
                let name = found.register.name;
                Err(format!("STOREREG to {name} at {address:#010x} is not modelled"))
            }
        }
    }

    fn command_mover(&self, command: u32) -> Result<Consequence, Fault> {
        match command {
            MOVER_COMMAND => Ok(Consequence::Move),
            MOVER_WAIT | MOVER_NOP => Ok(Consequence::Nothing),
            _ => Err(Fault::Refused(format!("command {command:#x} of TDMA-RISC is not modelled"))),
        }
    }

    /// Returns the parameters of a command of the mover: destination, source, bytes, and mode.
    pub(crate) const fn mover_parameters(&self) -> [u32; 4] {
        let [source, destination, size, mode] = self.mover_parameters;
        [destination << 4, source << 4, (size & 0xFFFF) << 4, mode & 3]
    }

    /// Reads a register for another tile; returns 0 if it cannot be read.
    pub(crate) fn remote_load(&mut self, chip: &ChipFacts, address: u32, cycle: u64) -> u32 {
        let Some(found) = self.registers.find(address) else { return 0 };
        match self.load(chip, found, (address, 0), cycle) {
            Ok(value) => value,
            Err(fault) => {
                self.note_remote_fault(found, address, fault);
                0
            }
        }
    }

    /// Writes a register for another tile.
    pub(crate) fn remote_store(&mut self, chip: &ChipFacts, address: u32, value: u32, cycle: u64) {
        if let Some(found) = self.registers.find(address) {
            // Writes of registers that cannot be written are refused when the request is sent.
            if let Err(fault) = self.store(chip, found, (address, 0), (value, cycle)) {
                self.note_remote_fault(found, address, fault);
            }
        }
    }

    /// Keeps the reason why the daisychain has refused an access from outside.
    fn note_remote_fault(&mut self, found: Found, address: u32, fault: Fault) {
        if let (Effect::Daisychain(_), Fault::Refused(reason)) = (found.register.effect, fault) {
            self.remote_refusal = Some(format!("{}: {reason}", found.named(address)));
        }
    }

    /// Reads a control and status register of a RISC, and sets the register to the value that
    /// `change` returns; `None` leaves the register unchanged.
    ///
    /// # Compatibility
    /// tt-isa-documentation, `BlackholeA0/TensixTile/BabyRISCV/CSRs.md`; a Wormhole has no such
    /// registers.
    pub(crate) fn control_status(
        &mut self,
        risc_index: usize,
        number: u32,
        change: impl FnOnce(u32) -> Option<u32>,
        cycle: u64,
    ) -> Result<u32, String> {
        if self.arch == Arch::WormholeB0 {
            return Err("wormhole_b0 has no control and status registers".to_owned());
        }
        let value = match number {
            0x7C0 => *self.control_status[risc_index].get(&number).unwrap_or(&CFG0_AT_RESET),
            0x7C1..=0x7C6 => *self.control_status[risc_index].get(&number).unwrap_or(&0),
            0xB00 | 0xC00 => (cycle & 0xFFFF_FFFF) as u32,
            0xB80 | 0xC80 => (cycle >> 32) as u32,
            0x300 => 0x8000_6600,
            0x301 => 0x4020_1123,
            0xF14 => 0,
            _ => return Err(format!("control and status register {number:#x} is not modelled")),
        };
        if let Some(changed) = change(value) {
            if !(0x7C0..=0x7C6).contains(&number) {
                return Err(format!(
                    "writes to control and status register {number:#x} are not modelled"
                ));
            }
            self.control_status[risc_index].insert(number, changed);
        }
        Ok(value)
    }

    /// Records a store to the mailbox that may be a signal.
    pub(crate) fn note(&mut self, address: u32, value: u32, cycle: u64) {
        self.signals.written_at = Some(cycle);
        let value = value & 0xFF;
        if address == self.mailbox.done_address && value == u32::from(self.mailbox.done_value) {
            self.signals.done_cycle = Some(cycle);
        }
        let Some(stages) = self.mailbox.stages else { return };
        let risc = address.wrapping_sub(stages) as usize;
        if let Some(start) = self.signals.kernel_start.get_mut(risc) {
            match value {
                BEGINS => *start = Some(cycle),
                ENDED => self.signals.kernel_end[risc] = Some(cycle),
                _ => {}
            }
        }
    }
}

/// Returns the general-purpose register of the coprocessor that a RISC accesses: its thread and its
/// number. `word` is the index of the register's word in the register space of that RISC.
fn gpr_place(risc_index: usize, word: usize) -> Result<(usize, usize), Fault> {
    match (risc_index, word / GPR_COUNT) {
        (0, thread @ 0..THREAD_COUNT) => Ok((thread, word % GPR_COUNT)),
        (2.., 0) => Ok((risc_index - 2, word)),
        _ => Err(Fault::Refused(format!("a TRISC sees {GPR_COUNT} registers, not number {word}"))),
    }
}

/// Returns the index of the PC buffer that BRISC accesses at an address.
const fn pc_buffer(address: u32) -> usize {
    (address >> 16 & 3) as usize
}

const fn config_word(address: u32) -> usize {
    ((address & 0xFFFF) / 4) as usize
}

const BEGINS: u32 = mailbox::stage::BEGINS as u32;
const ENDED: u32 = mailbox::stage::ENDED as u32;

/// Reset bits of the RISCs in the register `SOFT_RESET`.
const RESET_BITS: [u32; RISCS_PER_CORE] = [1 << 11, 1 << 18, 1 << 12, 1 << 13, 1 << 14];
const ALL_RESET_BITS: u32 = 0x4_7800;
/// Reset bits of all RISCs except BRISC.
pub(super) const SUBORDINATE_RESET_BITS: u32 = ALL_RESET_BITS & !RESET_BITS[0];
/// Default entry addresses of the RISCs.
const DEFAULT_RESET_PC: [u32; RISCS_PER_CORE] = [0, 0x12000, 0x6000, 0xA000, 0xE000];
const INSTRUCTION_RAM_BYTES: usize = 16 * 1024;
const SECOND_INSTRUCTION_BUFFER: u32 = 0xFFE5_0000;
/// Mask for the value of a stream's counter, which has 17 bits.
const STREAM_MASK: u32 = 0x1_FFFF;
/// Mover status: queues empty, space for four commands.
const MOVER_IDLE: u32 = 1 << 3 | 1 << 5 | 4 << 8;
const MOVER_COMMAND: u32 = 0x40;
const MOVER_WAIT: u32 = 0x46;
const MOVER_NOP: u32 = 0x89;
/// Reset value of `cfg0`: `StMergeTimer` is 16.
const CFG0_AT_RESET: u32 = 16 << 13;
