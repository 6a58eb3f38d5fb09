//! One hardware thread (hart): its registers, pc, decoded code and clock.

use super::bus::Bus;
use super::code::CodeCache;
use super::decode::SLOT_COUNT;
use super::execute::{Core, run};
use super::front::{L1Front, L1Port};
use super::tally::{Counts, Nothing, Tally};
use super::timing::pipeline::Pipeline;
use super::timing::rules::{Blackhole, InstructionCache, Wormhole};
use super::timing::stages::{Shown, Stages, Step};
use super::trap::{Pause, Trap};
use crate::arch::Arch;

/// A baby RISC: the state of RV32IM, and the timing of its pipeline.
///
/// A hart owns neither memory nor devices; each run borrows a [`Bus`] and the tile's [`L1Front`].
/// The harts of a tile take turns: run the hart with the smallest [`cycle`](Self::cycle) for a few
/// cycles, then compare again. Shorter turns make accesses to shared memory and to the L1 ports
/// more accurate. Harts that do not share data can take long turns.
///
/// # Examples
///
/// ```
/// # use sim::riscv::{Bus, Flow, Refusal, Region, Width};
/// # struct Tile { l1: Vec<u8> }
/// # impl Bus for Tile {
/// #     fn l1(&self) -> &[u8] { &self.l1 }
/// #     fn l1_mut(&mut self) -> &mut [u8] { &mut self.l1 }
/// #     fn local_ram(&self) -> &[u8] { &[] }
/// #     fn local_ram_mut(&mut self) -> &mut [u8] { &mut [] }
/// #     fn region(&self, _: u32) -> Option<Region> { None }
/// #     fn mmio_load(&mut self, _: u32, _: Width, _: u64) -> Result<u32, Refusal> { Err(Refusal::Unmapped) }
/// #     fn mmio_store(&mut self, _: u32, _: Width, _: u32, _: u64) -> Result<Flow, Refusal> { Err(Refusal::Unmapped) }
/// # }
/// use sim::{arch::Arch, riscv::{Hart, L1Front, L1Port, Pause}};
///
/// // mul a0, a0, a0; addi a0, a0, 1; ebreak
/// let words = [0x02A5_0533_u32, 0x0015_0513, 0x0010_0073];
/// let mut tile = Tile { l1: words.iter().flat_map(|word| word.to_le_bytes()).collect() };
/// let mut front = L1Front::new();
/// let mut hart = Hart::new(Arch::WormholeB0, L1Port::Port2);
/// hart.set_register(10, 6);
///
/// assert_eq!(hart.run_until(&mut tile, &mut front, 1000), Ok(Pause::Breakpoint));
/// assert_eq!(hart.register(10), 37);
/// // The three instructions, after 9 cycles in which they were fetched from L1.
/// assert_eq!(hart.cycle(), 12);
/// # Ok::<(), sim::riscv::Trap>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hart {
    core: Core,
    pipeline: Pipeline,
    cache: InstructionCache,
    arch: Arch,
    /// Counts of each instruction; `None` if they are not wanted.
    tally: Option<Box<Tally>>,
    /// The pipeline's stages; `None` unless the debug daisychain shows this hart.
    stages: Option<Box<Stages>>,
}

/// Counters of a hart since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Number of executed instructions, not counting those that trap or that end a run.
    pub instruction_count: u64,
    /// Number of cycles for which the hart has run, without time skipped by [`Hart::advance_to`].
    pub cycle_count: u64,
    /// Number of branches and register jumps that were mispredicted.
    pub mispredict_count: u64,
    /// Number of loads from mapped registers.
    pub mmio_load_count: u64,
    /// Number of stores to mapped registers.
    pub mmio_store_count: u64,
}

impl Hart {
    /// Creates a hart in reset state, at cycle 0 and pc 0, whose L1 accesses use `port`.
    pub fn new(arch: Arch, port: L1Port) -> Self {
        let core = Core {
            registers: [0; SLOT_COUNT],
            pc: 0,
            port,
            code: CodeCache::default(),
            counters: Counters::default(),
        };
        let cache = InstructionCache::usual(arch);
        Self { core, pipeline: Pipeline::new(cache), cache, arch, tally: None, stages: None }
    }

    /// Gives the hart, which is in reset state, an instruction cache of 512 bytes, as NCRISC and T1
    /// of a Wormhole have. The caches of other RISCs are larger.
    #[must_use]
    pub fn with_small_instruction_cache(mut self) -> Self {
        self.cache = InstructionCache::new(self.arch, 512);
        self.pipeline = Pipeline::new(self.cache);
        self
    }

    /// Makes the hart, which is in reset state, run as if it had executed all code before: the code is
    /// in the instruction cache, and its branches and jumps are known.
    #[must_use]
    pub fn with_warm_code(mut self) -> Self {
        self.cache = self.cache.without_misses();
        self.pipeline = Pipeline::new(self.cache);
        self
    }

    /// Makes the hart, which is in reset state, execute code from an address on as if it were in an
    /// instruction RAM: without the cache and its misses. Code in NCRISC's instruction RAM is always
    /// executed so.
    #[must_use]
    pub fn with_uncached_code_from(mut self, address: u32) -> Self {
        self.cache = self.cache.only_below(address);
        self.pipeline = Pipeline::new(self.cache);
        self
    }

    /// Empties the instruction cache.
    pub fn invalidate_instructions(&mut self) {
        self.pipeline.invalidate_instructions();
    }

    /// Runs until the next instruction would start at or after `cycle`.
    ///
    /// The last instruction may end after `cycle`; the method [`cycle`](Self::cycle) then returns
    /// the cycle that was reached.
    ///
    /// # Errors
    /// A [`Trap`] if the hart reaches an instruction that a correct program does not execute. The
    /// pc stays at that instruction.
    pub fn run_until<B: Bus>(
        &mut self,
        bus: &mut B,
        front: &mut L1Front,
        cycle: u64,
    ) -> Result<Pause, Trap> {
        let since = self.counted_since();
        if self.cycle() < since {
            let result = self.execute(bus, front, cycle.min(since));
            self.begin_counts(since);
            if result != Ok(Pause::Cycle) || cycle <= since {
                return result;
            }
        }
        self.execute(bus, front, cycle)
    }

    fn execute<B: Bus>(
        &mut self,
        bus: &mut B,
        front: &mut L1Front,
        cycle: u64,
    ) -> Result<Pause, Trap> {
        let Self { core, pipeline, arch, tally, stages, .. } = self;
        let (from, mispredicts) = (pipeline.now(), pipeline.mispredict_count());
        let outside = (bus, front);
        let result = match (arch, tally, stages) {
            (Arch::WormholeB0, None, None) => {
                run::<B, Wormhole>(core, pipeline, outside, cycle, Nothing)
            }
            (Arch::Blackhole, None, None) => {
                run::<B, Blackhole>(core, pipeline, outside, cycle, Nothing)
            }
            (Arch::WormholeB0, Some(tally), None) => {
                run::<B, Wormhole>(core, pipeline, outside, cycle, &mut **tally)
            }
            (Arch::Blackhole, Some(tally), None) => {
                run::<B, Blackhole>(core, pipeline, outside, cycle, &mut **tally)
            }
            (Arch::WormholeB0, tally, Some(stages)) => {
                let shown = Shown::new(tally.as_deref_mut(), stages);
                run::<B, Wormhole>(core, pipeline, outside, cycle, shown)
            }
            (Arch::Blackhole, tally, Some(stages)) => {
                let shown = Shown::new(tally.as_deref_mut(), stages);
                run::<B, Blackhole>(core, pipeline, outside, cycle, shown)
            }
        };
        core.counters.cycle_count += pipeline.now() - from;
        core.counters.mispredict_count += pipeline.mispredict_count() - mispredicts;
        result
    }

    /// Returns the earliest cycle in which the next instruction can start.
    #[inline]
    pub fn cycle(&self) -> u64 {
        self.pipeline.now()
    }

    /// Advances the hart's clock without executing instructions, for example because the hart is in
    /// reset or blocked.
    ///
    /// Does nothing if the hart is already at or after `cycle`.
    pub fn advance_to(&mut self, cycle: u64) {
        self.wait_until(cycle, None);
    }

    /// Does the same as [`Hart::advance_to`]; `word` is the address that the hart waits for, if
    /// known.
    pub(crate) fn wait_until(&mut self, cycle: u64, word: Option<u32>) {
        if let Some(tally) = &mut self.tally {
            tally.stop(self.core.pc, (self.pipeline.now(), cycle), word);
        }
        self.pipeline.advance_to(cycle);
    }

    /// Does the same as [`Hart::advance_to`], but counts the cycles as those of a polling loop, which
    /// consists of the last `instructions` instructions.
    pub(crate) fn poll_until(&mut self, cycle: u64, instructions: usize) {
        if let Some(tally) = &mut self.tally {
            let round = (self.pipeline.beat.count, instructions);
            tally.repeat_until(round, self.core.pc, (self.pipeline.now(), cycle));
        }
        self.pipeline.advance_to(cycle);
    }

    /// Adds the cycles of `rounds` rounds to the times of the pipeline, as if the hart had executed
    /// the loop of the last `instructions` instructions again, which reads the clock.
    pub(crate) fn move_on(&mut self, cycles: u64, (rounds, instructions): (u64, usize)) {
        if let Some(tally) = &mut self.tally {
            tally.repeat((self.pipeline.beat.count, instructions), rounds);
        }
        self.pipeline.move_on(cycles);
    }

    /// Counts instructions and cycles by address from a cycle on, and forgets earlier counts. An
    /// instruction that begins before the cycle is not counted.
    pub(crate) fn begin_counts(&mut self, cycle: u64) {
        let since = cycle.max(self.cycle());
        let next = self.pipeline.beat.count;
        self.tally.get_or_insert_default().begin(since, next);
    }

    /// Returns the first cycle that is counted; 0 if none are. While the hart executes an instruction
    /// that began before it, this becomes the cycle in which the next one can start.
    pub(crate) fn counted_since(&self) -> u64 {
        self.tally.as_ref().map_or(0, |tally| tally.since())
    }

    /// Removes and returns the counts since [`Hart::begin_counts`]; empty if it was not called.
    pub(crate) fn take_counts(&mut self) -> Counts {
        let next = self.pipeline.beat.count;
        self.tally.as_mut().map(|tally| tally.take(next)).unwrap_or_default()
    }

    /// Keeps the stages of the pipeline from now on, or no longer.
    pub(crate) fn show_stages(&mut self, is_shown: bool) {
        self.stages = is_shown.then(|| Box::new(Stages::new(&self.pipeline)));
    }

    /// Says from which cycle on the next instruction can be decoded, if the stages are kept only since
    /// then.
    pub(crate) fn decode_from(&mut self, cycle: u64) {
        if let Some(stages) = &mut self.stages {
            stages.decode_from(cycle);
        }
    }

    /// Returns true if the stages of the pipeline are kept.
    pub(crate) const fn shows_stages(&self) -> bool {
        self.stages.is_some()
    }

    /// Moves the instructions since the last call behind others; returns the instruction that is
    /// decoded next, and the first cycle in which it can be.
    pub(crate) fn take_steps(&mut self, steps: &mut Vec<Step>) -> (u32, u64) {
        let Some(stages) = &mut self.stages else { return (self.core.pc, self.cycle()) };
        stages.drain_to(steps);
        stages.next_decoded(&self.pipeline, self.core.pc)
    }

    /// Returns the address of the next instruction.
    #[inline]
    pub fn pc(&self) -> u32 {
        self.core.pc
    }

    /// Sets the pc; an address that is not a multiple of four is rounded down.
    pub fn set_pc(&mut self, pc: u32) {
        self.core.pc = pc & !3;
        if let Some(tally) = &mut self.tally {
            tally.leave_unfinished();
        }
    }

    /// Returns the value of register `x0` to `x31`, by index; 0 for a larger index.
    #[inline]
    pub fn register(&self, index: usize) -> u32 {
        self.registers().get(index).copied().unwrap_or(0)
    }

    /// Returns the values of all registers.
    #[inline]
    pub fn registers(&self) -> &[u32; 32] {
        self.core.registers.first_chunk().unwrap_or(&[0; 32])
    }

    /// Writes register `x1` to `x31`, by index; ignores other indices.
    pub fn set_register(&mut self, index: usize, value: u32) {
        if (1..32).contains(&index) {
            self.core.registers[index] = value;
        }
    }

    /// Resets the hart: all registers become 0, the pipeline is idle and has no predictions, the
    /// instruction cache is empty, and the pc is set. The hart's clock and counters continue.
    pub fn reset(&mut self, pc: u32) {
        let mut fresh = Self::new(self.arch, self.core.port);
        (fresh.cache, fresh.pipeline) = (self.cache, Pipeline::new(self.cache));
        fresh.core.counters = self.core.counters;
        fresh.set_pc(pc);
        fresh.advance_to(self.cycle());
        fresh.show_stages(self.shows_stages());
        fresh.tally = self.tally.take();
        if let Some(tally) = &mut fresh.tally {
            tally.restart(self.pipeline.beat.count);
        }
        *self = fresh;
    }

    /// Returns the hart's counters.
    pub fn counters(&self) -> Counters {
        self.core.counters
    }
}
