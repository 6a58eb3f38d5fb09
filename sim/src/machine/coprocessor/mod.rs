//! The Tensix coprocessor as visible to RISCs, and its times: it accepts, expands and counts
//! instructions, stores registers and configuration, and lets RISCs and threads wait as long as its
//! units work.
//!
//! It computes no results. Each thread has a [frontend](frontend) and a gate, at which instructions
//! wait for semaphores, units, and banks of the sources. A unit is a server: an instruction occupies
//! it, and its effect comes after the instruction's latency. What an instruction does depends on data
//! only where it moves them: sizes follow from the configuration.
//!
//! # Time
//! Instructions are executed up to the latest cycle at which a RISC has accessed the tile. RISCs run
//! one after another for a number of cycles, so threads are not executed in the order of time of all
//! threads: whatever one thread waits for keeps the cycle at which another thread caused it.
//!
//! # Compatibility
//! tt-isa-documentation, `TensixTile/TensixCoprocessor`: `README.md`, `SyncUnit.md`, `SETDMAREG.md`,
//! `STOREREG.md`, `STALLWAIT.md`, `SEMWAIT.md`, `UNPACR_Regular.md`, `SETDVALID.md`,
//! `CLEARDVALID.md`; bits of `UNPACR_NOP` as in ttsim 1.10.0.

mod config;
mod frontend;
mod instruction;
mod movement;
mod semaphores;
mod slots;
mod source;
#[cfg(test)]
mod tests;
mod thread;

use crate::{arch::Arch, riscv::Refusal, truth::IssuedInstructions};
use config::Configuration;
use instruction::{Instruction, SOURCE_A, SOURCE_B, Unit, condition, conditions, op};
use movement::{ADDRESS_CYCLES, AddressCounters, PACKERS, Unpackers, packing_cycles};
use semaphores::{Mutexes, SEMAPHORE_COUNT, Semaphore, SemaphoreWait};
use slots::Slots;
use source::Source;
use thread::{Due, Thread, Wait, WaitFor};

/// Number of threads: one per TRISC.
pub(crate) const THREAD_COUNT: usize = 3;
/// Number of general-purpose registers of each thread.
pub(crate) const GPR_COUNT: usize = 64;

/// State of a tile's coprocessor.
#[derive(Clone, Debug)]
pub(crate) struct Coprocessor {
    arch: Arch,
    /// True if instructions take no time.
    is_free: bool,
    issued: IssuedInstructions,
    has_computed: bool,
    gprs: [[u32; GPR_COUNT]; THREAD_COUNT],
    threads: [Thread; THREAD_COUNT],
    semaphores: [Semaphore; SEMAPHORE_COUNT],
    mutexes: Mutexes,
    /// SrcA and SrcB.
    sources: [Source; 2],
    config: Configuration,
    counters: AddressCounters,
    unpackers: Unpackers,
    /// First cycle at which the packers can begin an instruction.
    packers_free_at: u64,
    matrix: MatrixUnit,
    vector: VectorUnit,
    scalar: Slots,
    config_unit: Slots,
    /// Latest cycle up to which instructions are executed.
    horizon: u64,
    stores: Vec<Store>,
    /// True if a value that RISCs may poll has changed.
    has_changed: bool,
}

/// State of the matrix unit.
#[derive(Clone, Copy, Debug, Default)]
struct MatrixUnit {
    slots: Slots,
    /// Cycle from which instructions that read `Dst` can begin.
    reads_from: u64,
    /// Cycle from which instructions other than `MOVD2B` can begin.
    others_from: u64,
}

/// State of the vector unit.
#[derive(Clone, Copy, Debug, Default)]
struct VectorUnit {
    slots: Slots,
    /// Cycle from which instructions other than `SFPNOP` can begin.
    others_from: u64,
    /// Register that the last instruction writes late, and the cycle from which it can be read.
    late: Option<(u32, u64)>,
}

/// A write to a register of the tile by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    /// The thread of the instruction.
    pub(crate) thread: usize,
    pub(crate) address: u32,
    pub(crate) value: u32,
}

impl Coprocessor {
    /// Creates a coprocessor in reset; if `is_free`, its instructions take no time.
    pub(crate) fn new(arch: Arch, is_free: bool) -> Self {
        Self {
            arch,
            is_free,
            issued: IssuedInstructions::default(),
            has_computed: false,
            gprs: [[0; GPR_COUNT]; THREAD_COUNT],
            threads: std::array::from_fn(|_| Thread::new(is_free)),
            semaphores: [Semaphore::default(); SEMAPHORE_COUNT],
            mutexes: Mutexes::default(),
            sources: [Source::default(); 2],
            config: Configuration::new(arch),
            counters: AddressCounters::default(),
            unpackers: Unpackers::default(),
            packers_free_at: 0,
            matrix: MatrixUnit::default(),
            vector: VectorUnit::default(),
            scalar: Slots::default(),
            config_unit: Slots::default(),
            horizon: 0,
            stores: Vec::new(),
            has_changed: false,
        }
    }

    /// Returns the numbers of instructions accepted so far, and of those that units have begun.
    pub(crate) const fn issued(&self) -> IssuedInstructions {
        self.issued
    }

    /// Returns true if a thread has issued a macro or a pack instruction, as compute kernels do.
    pub(crate) const fn has_computed(&self) -> bool {
        self.has_computed
    }

    /// Accepts an instruction from a thread; the error is `Busy` if the FIFOs before its gate are
    /// full.
    pub(crate) fn push(
        &mut self,
        thread: usize,
        instruction: u32,
        cycle: u64,
    ) -> Result<(), Refusal> {
        let instruction = Instruction(instruction);
        if !self.threads[thread].frontend.push(thread, instruction, cycle) {
            return Err(Refusal::Busy);
        }
        self.has_computed |= instruction.opcode() == op::MOP;
        self.issued.by_thread[thread] += 1;
        self.threads[thread].is_starved = false;
        self.advance(cycle);
        Ok(())
    }

    /// Writes a word that configures a thread's macros.
    pub(crate) fn set_macro_config(&mut self, thread: usize, word: usize, value: u32) {
        if let Some(place) = self.threads[thread].frontend.macro_config.get_mut(word) {
            *place = value;
        }
    }

    /// Returns true if all instructions of a thread are over at a cycle.
    pub(crate) fn is_drained(&self, thread: usize, cycle: u64) -> bool {
        let thread = &self.threads[thread];
        thread.head.is_none() && thread.frontend.is_empty() && thread.done_at() <= cycle
    }

    /// Returns true if no macro of a thread waits or is being expanded.
    pub(crate) fn has_expanded(&self, thread: usize) -> bool {
        self.threads[thread].frontend.has_expanded()
    }

    /// Returns a cycle before which a thread takes no instruction if its FIFOs are full, and has not
    /// executed all that it has taken.
    pub(crate) fn busy_until(&self, thread: usize) -> u64 {
        let thread = &self.threads[thread];
        match (thread.head, thread.due) {
            (Some(_), Due::At(cycle)) => {
                cycle + if self.is_free { 0 } else { thread.frontend.expanding_count() }
            }
            (None, _) if thread.frontend.is_empty() => thread.done_at(),
            _ => 0,
        }
    }

    /// Returns true if instructions wait or units work.
    pub(crate) fn is_active(&self) -> bool {
        self.threads.iter().any(|thread| !thread.is_starved)
    }

    /// Returns the cycle at which the next instruction passes its gate, if that is known.
    pub(crate) fn next_event(&self) -> Option<u64> {
        let due = self.threads.iter().filter_map(|thread| match (thread.head, thread.due) {
            (Some(_), Due::At(cycle)) => Some(cycle),
            _ => None,
        });
        due.min()
    }

    /// Executes all instructions that pass their gates up to a cycle.
    pub(crate) fn advance(&mut self, cycle: u64) {
        self.horizon = self.horizon.max(cycle);
        for index in 0..THREAD_COUNT {
            self.fetch(index);
        }
        while let Some(index) = self.next_thread() {
            self.issue(index);
        }
    }

    /// Removes and returns the writes to registers of the tile since the last call.
    pub(crate) fn take_stores(&mut self) -> Vec<Store> {
        std::mem::take(&mut self.stores)
    }

    /// Returns true once if a value that RISCs may poll has changed.
    pub(crate) const fn take_change(&mut self) -> bool {
        std::mem::replace(&mut self.has_changed, false)
    }

    /// Returns the value of a general-purpose register of a thread.
    pub(crate) const fn gpr(&self, thread: usize, index: usize) -> u32 {
        self.gprs[thread][index]
    }

    pub(crate) const fn set_gpr(&mut self, thread: usize, index: usize, value: u32) {
        self.gprs[thread][index] = value;
    }

    pub(crate) const fn semaphore(&self, index: usize) -> u32 {
        self.semaphores[index].value()
    }

    /// Handles a RISC's write to a semaphore: writing an even value increments the semaphore,
    /// writing an odd value decrements it.
    pub(crate) fn write_semaphore(&mut self, index: usize, value: u32, cycle: u64) {
        let semaphore = &mut self.semaphores[index];
        if value & 1 == 0 {
            semaphore.post(cycle)
        } else {
            semaphore.get(cycle)
        }
        self.has_changed = true;
        self.wake_threads();
        self.advance(cycle);
    }

    /// Returns a word of the configuration, as a RISC reads it.
    pub(crate) fn config(&self, word: usize) -> u32 {
        self.config.word(word)
    }

    /// Returns true if a write to a word of the configuration empties instruction caches.
    pub(crate) const fn is_cache_control(&self, word: usize) -> bool {
        self.config.is_cache_control(word)
    }

    /// Writes a word of the configuration.
    pub(crate) fn set_config(&mut self, word: usize, value: u32) {
        self.config.set(word, value);
    }

    /// Returns the thread whose next instruction may pass its gate first, if that is within the
    /// horizon; of several threads, the one that has waited longest.
    fn next_thread(&self) -> Option<usize> {
        let mut first = None;
        for (index, thread) in self.threads.iter().enumerate() {
            if let (Some((_, ready_at)), Due::At(cycle)) = (thread.head, thread.due)
                && cycle <= self.horizon
                && first.is_none_or(|(_, earliest)| (cycle, ready_at) < earliest)
            {
                first = Some((index, (cycle, ready_at)));
            }
        }
        first.map(|(index, _)| index)
    }

    /// Returns true if another thread may pass its gate before a cycle.
    fn others_come_before(&self, index: usize, cycle: u64) -> bool {
        self.threads.iter().enumerate().any(|(other, thread)| {
            let is_before = matches!(thread.due, Due::At(due) if due < cycle);
            other != index && thread.head.is_some() && is_before
        })
    }

    /// Brings a thread's next instruction to its gate.
    fn fetch(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        if thread.head.is_some() || thread.is_starved {
            return;
        }
        match thread.frontend.next() {
            Some((instruction, ready_at)) => {
                let ready_at = ready_at.max(thread.next_at);
                thread.head = Some((instruction, ready_at));
                thread.due = Due::At(ready_at);
            }
            None => thread.is_starved = true,
        }
    }

    /// Lets threads that wait for others look again.
    fn wake_threads(&mut self) {
        for index in 0..THREAD_COUNT {
            self.note_end(index);
            let thread = &mut self.threads[index];
            if let (Due::Unknown, Some((_, ready_at))) = (thread.due, thread.head) {
                thread.due = Due::At(ready_at);
            }
        }
    }

    /// Notes that the condition of a thread's wait is met: the wait ends then, even if the condition
    /// is not met any more when an instruction comes that it would have blocked.
    fn note_end(&mut self, index: usize) {
        if let Some(wait) = self.threads[index].wait
            && wait.awaits.is_shared()
            && let Some(end) = self.ends_at(index, wait)
        {
            self.threads[index].wait = Some(wait.met(end));
        }
    }

    /// Executes a thread's next instruction, or finds out when it can be executed.
    fn issue(&mut self, index: usize) {
        let Some((instruction, ready_at)) = self.threads[index].head else { return };
        let Some(meets_at) = self.meets_conditions_at(index, instruction, ready_at) else {
            self.threads[index].due = Due::Unknown;
            return;
        };
        // What other threads do before may delay the condition.
        if self.others_come_before(index, meets_at) {
            self.threads[index].due = Due::At(meets_at);
            return;
        }
        match if self.is_free { meets_at } else { self.unit_free_at(instruction, meets_at) } {
            cycle if cycle > self.horizon => self.threads[index].due = Due::At(cycle),
            cycle => {
                let thread = &mut self.threads[index];
                thread.pass(instruction);
                thread.next_at = if self.is_free { cycle } else { cycle + 1 };
                self.execute(index, instruction, cycle);
                self.fetch(index);
            }
        }
    }

    /// Returns the cycle at which nothing but its unit holds an instruction of a thread back; `None`
    /// if that is not known yet. The result is exact up to the horizon.
    fn meets_conditions_at(
        &self,
        index: usize,
        instruction: Instruction,
        ready_at: u64,
    ) -> Option<u64> {
        let properties = instruction.properties();
        let thread = &self.threads[index];
        let mut cycle = ready_at;
        if let Some(wait) = thread.wait
            && wait.blocks(instruction)
        {
            let end = self.ends_at(index, wait)?;
            // The block mask goes one cycle after the condition is met.
            cycle = cycle.max(end + u64::from(!self.is_free));
        }
        for (bit, source) in [SOURCE_A, SOURCE_B].into_iter().zip(&self.sources) {
            if properties.sources & bit != 0 {
                cycle = cycle.max(source.valid_at()?);
            }
        }
        if instruction.opcode() == op::ATGETM {
            cycle = cycle.max(self.mutexes.free_at(instruction.field(0, 3), index)?);
        }
        if properties.unit == Unit::Unpackers {
            cycle = cycle.max(self.source_cleared_at(instruction)?);
        }
        Some(cycle)
    }

    /// Returns the cycle from which the source of an unpacker's instruction lets it begin.
    fn source_cleared_at(&self, instruction: Instruction) -> Option<u64> {
        let source = &self.sources[instruction.field(23, 1) as usize];
        if instruction.opcode() == op::UNPACR {
            return source.cleared_at();
        }
        let no_op = UnpackNop::of(self.arch, instruction);
        match (no_op.clears, no_op.waits_like_unpacr) {
            (false, _) => Some(0),
            (true, true) => source.cleared_at(),
            (true, false) => source.consumed_at(),
        }
    }

    /// Returns the first cycle, at or after `cycle`, at which an instruction's unit accepts it.
    fn unit_free_at(&self, instruction: Instruction, cycle: u64) -> u64 {
        let length = instruction.occupancy();
        match instruction.properties().unit {
            Unit::Matrix => {
                let opcode = instruction.opcode();
                let mut from = cycle;
                if opcode != op::MOVD2B {
                    from = from.max(self.matrix.others_from);
                }
                if reads_dst(opcode) {
                    from = from.max(self.matrix.reads_from);
                }
                self.matrix.slots.find(from, length)
            }
            Unit::Vector => {
                let mut from = cycle;
                if instruction.opcode() != op::SFPNOP {
                    from = from.max(self.vector.others_from);
                }
                if let Some((register, ready_at)) = self.vector.late
                    && instruction.reads_vector_register(register)
                {
                    from = from.max(ready_at);
                }
                self.vector.slots.find(from, length)
            }
            Unit::Scalar => self.scalar.find(cycle, length),
            Unit::Configuration if instruction.opcode() != op::SETC16 => {
                self.config_unit.find(cycle, length)
            }
            Unit::Unpackers => cycle.max(self.unpackers.free_at(instruction.field(23, 1) as usize)),
            Unit::Packers => cycle.max(self.packers_free_at),
            _ => cycle,
        }
    }

    /// Returns the cycle at which the condition of a thread's wait is met; `None` if that is not
    /// known yet.
    fn ends_at(&self, index: usize, wait: Wait) -> Option<u64> {
        if let Some(end) = wait.met_at {
            return Some(end);
        }
        let mask = match wait.awaits {
            WaitFor::Semaphores(semaphores) => return semaphores.ends_at(&self.semaphores),
            WaitFor::Units(mask) => mask,
        };
        let thread = &self.threads[index];
        let mut end = 0;
        for (bit, unit) in CONDITIONS_OF_UNITS {
            if mask & bit != 0 {
                end = end.max(thread.idle_from[unit]);
            }
        }
        let [a, b] = &self.sources;
        for (bit, source) in [(condition::A_CLEARED, a), (condition::B_CLEARED, b)] {
            if mask & bit != 0 {
                end = end.max(source.cleared_at()?);
            }
        }
        for (bit, source) in [(condition::A_VALID, a), (condition::B_VALID, b)] {
            if mask & bit != 0 {
                end = end.max(source.valid_at()?);
            }
        }
        Some(end)
    }
}

/// Places of units in [`Thread::idle_from`], by the condition of a wait for them.
const CONDITIONS_OF_UNITS: [(u32, usize); 7] = [
    (condition::SCALAR, SCALAR),
    (condition::UNPACKER_0, UNPACKER_0),
    (condition::UNPACKER_1, UNPACKER_0 + 1),
    (condition::PACKERS, PACKERS_IDLE),
    (condition::MATRIX, MATRIX),
    (condition::VECTOR, VECTOR),
    (condition::CONFIGURATION, CONFIGURATION),
];
const SCALAR: usize = 0;
const UNPACKER_0: usize = 1;
const PACKERS_IDLE: usize = 3;
const MATRIX: usize = 4;
const VECTOR: usize = 5;
const CONFIGURATION: usize = 6;

/// Lowest address that `STOREREG` can write.
const REGISTERS_BASE: u32 = 0xFFB0_0000;
/// Cycles after which an instruction that reads `Dst` can follow one that moves a source to it.
const MOVE_TO_DST_CYCLES: u64 = 4;

/// Returns the address of the register that an instruction writes, if it is a `STOREREG`.
pub(crate) fn stored_address(instruction: u32) -> Option<u32> {
    let instruction = Instruction(instruction);
    let is_store = instruction.opcode() == op::STOREREG;
    is_store.then(|| REGISTERS_BASE + (instruction.field(0, 18) << 2))
}

/// Returns true if the matrix unit does not begin the instruction while rows move to `Dst`.
///
/// # Compatibility
/// tt-isa-documentation, `MOVA2D.md`.
const fn reads_dst(opcode: u8) -> bool {
    matches!(
        opcode,
        op::MOVD2A
            | op::MOVD2B
            | op::MVMUL
            | op::ELWMUL
            | op::DOTPV
            | op::GMPOOL
            | op::GAPOOL
            | 0x22..=0x25 | 0x31 | 0x32 | 0x3A
    )
}

/// What an `UNPACR_NOP` does.
#[derive(Clone, Copy, Debug)]
struct UnpackNop {
    /// Fills the bank with zeros or another value.
    clears: bool,
    /// Waits for the unpacker's bank, as `UNPACR` does, and not for that of the matrix unit.
    waits_like_unpacr: bool,
    gives_bank: bool,
}

impl UnpackNop {
    const fn of(arch: Arch, instruction: Instruction) -> Self {
        match arch {
            Arch::WormholeB0 => {
                let mode = instruction.field(0, 3);
                let clears = mode & 3 == 1;
                Self {
                    clears,
                    waits_like_unpacr: instruction.bit(4),
                    gives_bank: mode == 7 || clears && instruction.bit(6),
                }
            }
            Arch::Blackhole => Self {
                clears: instruction.field(0, 2) == 1,
                waits_like_unpacr: instruction.bit(5),
                gives_bank: instruction.bit(8),
            },
        }
    }
}

impl Coprocessor {
    /// Executes an instruction that has passed the gate at a cycle.
    fn execute(&mut self, index: usize, instruction: Instruction, cycle: u64) {
        let properties = instruction.properties();
        let latency = if self.is_free { 0 } else { u64::from(properties.latency) };
        let occupancy = if self.is_free { 0 } else { instruction.occupancy() };
        let end = cycle + latency.max(occupancy);
        match properties.unit {
            Unit::Matrix => self.execute_matrix(index, instruction, (cycle, end)),
            Unit::Vector => self.execute_vector(index, instruction, (cycle, end)),
            Unit::Unpackers => self.execute_unpackers(index, instruction, cycle),
            Unit::Packers => self.execute_packers(index, instruction, cycle),
            Unit::Scalar => {
                self.scalar.occupy(cycle, occupancy);
                self.threads[index].occupy(SCALAR, end);
                self.execute_scalar(index, instruction, end);
            }
            Unit::Configuration => {
                if instruction.opcode() != op::SETC16 {
                    self.config_unit.occupy(cycle, occupancy);
                }
                self.threads[index].occupy(CONFIGURATION, end);
                self.config.execute(index, instruction, &self.gprs[index]);
            }
            Unit::Miscellaneous => self.execute_miscellaneous(index, instruction, end),
            Unit::Sync => self.execute_sync(index, instruction, end),
            Unit::Mover | Unit::Frontend => {}
        }
    }

    fn execute_matrix(&mut self, index: usize, instruction: Instruction, (cycle, end): (u64, u64)) {
        let opcode = instruction.opcode();
        if !self.is_free {
            self.matrix.slots.occupy(cycle, instruction.occupancy());
        }
        self.threads[index].occupy(MATRIX, end);
        let next = if self.is_free { cycle } else { cycle + 1 };
        match opcode {
            op::MVMUL..=op::DOTPV | op::ELWSUB | op::GMPOOL | op::GAPOOL => self.issued.fpu += 1,
            op::MOVA2D | op::MOVB2D => self.matrix.reads_from = cycle + MOVE_TO_DST_CYCLES,
            op::MOVD2B => self.matrix.others_from = cycle + MOVE_TO_DST_CYCLES,
            _ => {}
        }
        let cleared = match opcode {
            op::MVMUL..=op::DOTPV
            | op::ELWSUB
            | op::GMPOOL
            | op::GAPOOL
            | op::SETRWC
            | op::CLEARDVALID => instruction.cleared_sources(),
            _ => 0,
        };
        if opcode == op::CLEARDVALID && instruction.bit(0) {
            self.sources.iter_mut().for_each(|source| source.reset(next));
            return self.wake_threads();
        }
        if cleared == 0 {
            return;
        }
        let is_clear = opcode == op::CLEARDVALID;
        let kept = if is_clear { 0 } else { self.config.kept_sources(index) };
        for (bit, source) in [SOURCE_A, SOURCE_B].into_iter().zip(&mut self.sources) {
            if cleared & bit == 0 {
                continue;
            }
            if is_clear && instruction.bit(1) {
                source.give_to_unpackers(next);
            } else {
                source.flip(kept & bit == 0, next);
            }
        }
        self.wake_threads();
    }

    fn execute_vector(&mut self, index: usize, instruction: Instruction, (cycle, end): (u64, u64)) {
        self.issued.sfpu += 1;
        self.threads[index].occupy(VECTOR, end);
        if self.is_free {
            return;
        }
        self.vector.slots.occupy(cycle, instruction.occupancy());
        if instruction.takes_two_vector_cycles() {
            self.vector.others_from = cycle + 2;
        }
        // On a Wormhole, software leaves the cycle between the instructions.
        if self.arch == Arch::Blackhole {
            self.vector.late =
                instruction.late_vector_register().map(|register| (register, cycle + 2));
        }
    }

    fn execute_unpackers(&mut self, index: usize, instruction: Instruction, cycle: u64) {
        let unpacker = instruction.field(23, 1) as usize;
        if instruction.opcode() == op::UNPACR_NOP {
            let next = if self.is_free { cycle } else { cycle + 1 };
            self.threads[index].occupy(UNPACKER_0 + unpacker, next);
            if UnpackNop::of(self.arch, instruction).gives_bank {
                self.sources[unpacker].give_to_matrix_unit(next);
                self.wake_threads();
            }
            return;
        }
        let (context, counters) = match instruction.bit(7) {
            true => (Some(instruction.field(10, 3)), instruction.field(8, 2) as usize),
            false => (None, index),
        };
        let mut end = cycle;
        if !self.is_free {
            // Without data from L1, the unpacker is not slower than with them.
            let count = self.counters.count(counters, unpacker);
            let (bits, rate) = self.config.unpacked(index, unpacker, context);
            let bytes = (count * bits).div_ceil(8);
            let (done_at, delay) = self.unpackers.read(unpacker, cycle, (bytes, rate));
            if let Some((other, bank, later)) = delay {
                self.sources[other].delay(bank, later);
            }
            end = done_at;
            self.threads[index].next_at = cycle + ADDRESS_CYCLES;
        }
        self.threads[index].occupy(UNPACKER_0 + unpacker, end);
        if instruction.bit(6) {
            let bank = self.sources[unpacker].give_to_matrix_unit(end);
            self.unpackers.note_bank(unpacker, bank);
            self.wake_threads();
        }
    }

    fn execute_packers(&mut self, index: usize, instruction: Instruction, cycle: u64) {
        let mut end = cycle;
        if instruction.opcode() == op::PACR {
            self.has_computed = true;
        }
        if !self.is_free {
            let is_flush = instruction.opcode() != op::PACR || instruction.bit(1);
            let count = if is_flush { 0 } else { self.counters.count(index, PACKERS) };
            end += packing_cycles(count, self.config.packed(index));
            self.packers_free_at = end;
        }
        self.threads[index].occupy(PACKERS_IDLE, end);
    }

    fn execute_scalar(&mut self, index: usize, instruction: Instruction, end: u64) {
        match instruction.opcode() {
            op::SETDMAREG => self.set_register_half(index, instruction),
            op::STOREREG => {
                let value = self.gprs[index][instruction.field(18, 6) as usize];
                if let Some(address) = stored_address(instruction.0) {
                    self.stores.push(Store { thread: index, address, value });
                }
                self.has_changed = true;
            }
            op::REG2FLOP => {
                self.config.execute(index, instruction, &self.gprs[index]);
                self.threads[index].next_at = end;
            }
            _ => {}
        }
    }

    fn execute_miscellaneous(&mut self, index: usize, instruction: Instruction, end: u64) {
        match instruction.opcode() {
            op::SETADCXX => self.counters.set_both(index, instruction),
            op::SETADC => self.counters.set_one(index, instruction),
            op::SETADCXY => self.counters.set_some(index, instruction),
            op::SETDVALID => {
                let given = (instruction.0 & 3) as u8;
                for (bit, source) in [SOURCE_A, SOURCE_B].into_iter().zip(&mut self.sources) {
                    if given & bit != 0 {
                        source.give_to_matrix_unit(end);
                    }
                }
                self.wake_threads();
            }
            _ => {}
        }
    }

    fn execute_sync(&mut self, index: usize, instruction: Instruction, end: u64) {
        let semaphores = instruction.field(2, 8);
        match instruction.opcode() {
            op::STALLWAIT => {
                let awaits = WaitFor::Units(conditions(self.arch, instruction));
                self.begin_wait(index, Wait::of(instruction, awaits));
            }
            op::SEMWAIT => {
                let awaits = WaitFor::Semaphores(SemaphoreWait {
                    semaphores,
                    while_empty: instruction.bit(0),
                    while_full: instruction.bit(1),
                });
                self.begin_wait(index, Wait::of(instruction, awaits));
            }
            op::SEMINIT => {
                let (value, max) = (instruction.field(16, 4), instruction.field(20, 4));
                self.for_selected(semaphores, |semaphore| semaphore.initialise(value, max, end));
            }
            op::SEMPOST => self.for_selected(semaphores, |semaphore| semaphore.post(end)),
            op::SEMGET => self.for_selected(semaphores, |semaphore| semaphore.get(end)),
            op::ATGETM => self.mutexes.take(instruction.field(0, 3), index),
            op::ATRELM => {
                self.mutexes.release(instruction.field(0, 3), index, end);
                self.wake_threads();
            }
            _ => {}
        }
    }

    fn begin_wait(&mut self, index: usize, wait: Wait) {
        self.threads[index].wait = Some(wait);
        self.note_end(index);
    }

    fn for_selected(&mut self, mask: u32, mut action: impl FnMut(&mut Semaphore)) {
        for (index, semaphore) in self.semaphores.iter_mut().enumerate() {
            if mask >> index & 1 != 0 {
                action(semaphore);
            }
        }
        self.has_changed = true;
        self.wake_threads();
    }

    /// Writes half of a register, if the instruction has an immediate value. The form without an
    /// immediate value is not modelled.
    fn set_register_half(&mut self, thread: usize, instruction: Instruction) {
        if instruction.bit(7) {
            return;
        }
        let half = instruction.field(0, 7);
        let payload = instruction.field(8, 16);
        let register = &mut self.gprs[thread][half as usize / 2];
        let shift = 16 * (half & 1);
        *register = *register & !(0xFFFF << shift) | payload << shift;
    }
}
