//! The RISCs of a tile: their state, their turns, and the effects of accesses from outside.
//!
//! Two drivers decide when each hart takes its turn: [`super::run`] for whole launches, and
//! [`crate::board`] for a host that advances a chip by cycles.

use super::{
    FailureReason,
    arrival::write_bytes,
    bus::{ClockReads, Station, TileBus},
    devices::Devices,
    polling::Watched,
    registers::{Effect, TileKind},
};
use crate::{
    arch::{Arch, floorplan::CorePlace},
    chip::facts::ChipFacts,
    limits::Limit,
    riscv::{Hart, INSTRUCTION_RAM_BASE, L1Front, L1Port, Pause, Step, Trap},
    tile::Tile,
};
use std::ops::Range;
use wire::{Risc, risc::RISCS_PER_CORE};

/// The RISCs of a tile, and everything that they share except L1 and the clock.
pub(crate) struct Riscs {
    pub(crate) harts: Vec<TileHart>,
    pub(crate) devices: Devices,
    clock_reads: ClockReads,
    front: L1Front,
    /// The RISC that the debug daisychain shows.
    shown: Option<usize>,
    /// True if it is kept what the pipelines of harts do in a round of a polling loop, so that the
    /// daisychain can show a hart that polls already. Without it, such a hart executes its loop again.
    pub(super) keeps_rounds: bool,
}

/// A hart with its private memory.
pub(crate) struct TileHart {
    pub(crate) hart: Hart,
    pub(crate) state: HartState,
    pub(super) local_ram: Vec<u8>,
    /// Number of consecutive windows in which the hart has stored neither to L1 nor to a register.
    /// Counted only by [`crate::board`].
    pub(crate) quiet_windows: u32,
}

/// State of a hart between turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HartState {
    InReset,
    Running,
    /// Waits until a byte of L1 has a certain value.
    Waiting {
        address: u32,
        value: u8,
    },
    /// Waits until one of the words that it polls changes.
    Polling(Watched),
    Failed,
}

/// Result of a hart's turn.
#[derive(Default)]
pub(crate) struct Turn {
    /// True if the hart stored to L1 or to a register in this turn.
    pub(crate) has_effect: bool,
    /// True if the turn ended for another reason than its cycle limit.
    pub(crate) is_interrupted: bool,
    /// Reason why the hart has stopped; `None` if it has not.
    pub(crate) failure: Option<FailureReason>,
}

impl Riscs {
    /// Creates RISCs in reset.
    pub(crate) fn new(chip: &ChipFacts, place: CorePlace, count: usize) -> Self {
        let harts = (0..count).map(|index| TileHart {
            hart: hart(chip, place.kind.into(), index),
            state: HartState::InReset,
            local_ram: vec![0; local_ram_bytes(chip.arch, index)],
            quiet_windows: 0,
        });
        Self {
            harts: harts.collect(),
            devices: Devices::new(chip, place),
            clock_reads: ClockReads::default(),
            front: L1Front::new(),
            shown: None,
            keeps_rounds: false,
        }
    }

    /// Makes NCRISC, which is in reset, execute code from an address on as from its instruction RAM.
    pub(super) fn run_ncrisc_uncached_from(&mut self, address: u32) {
        if let Some(risc) = self.harts.get_mut(Risc::Ncrisc.index()) {
            risc.hart = risc.hart.clone().with_uncached_code_from(address);
        }
    }

    /// Keeps what the pipelines of harts do in a round of a polling loop, from now on.
    pub(crate) const fn keep_rounds(&mut self) {
        self.keeps_rounds = true;
    }

    /// Puts all harts into reset, whatever the reset register says.
    pub(super) fn stop(&mut self) {
        self.harts.iter_mut().for_each(|hart| hart.state = HartState::InReset);
    }

    /// Runs a hart up to a cycle, and handles the reason why the run ended.
    pub(crate) fn take_turn<S: Station>(
        &mut self,
        index: usize,
        station: &mut S,
        until: u64,
    ) -> Turn {
        let stores = self.harts[index].hart.counters().mmio_store_count;
        let (result, has_stored) = self.execute(index, station, until);
        let hart = &mut self.harts[index].hart;
        let has_effect = has_stored || hart.counters().mmio_store_count != stores;
        let is_interrupted = !matches!(result, Ok(Pause::Cycle));
        let failure = match result {
            Ok(Pause::Cycle) => None,
            Ok(Pause::Blocked { address }) => {
                // The access is repeated in the next cycle; or after the delay if a fault delays a
                // clock read, or when the coprocessor may have made room.
                let held_until = self.clock_reads.held_until(index).unwrap_or(0);
                let held_until = held_until.max(self.devices.take_busy_until(index));
                hart.wait_until(held_until.max(hart.cycle() + 1), Some(address));
                None
            }
            Ok(Pause::Yielded) => {
                let cycle = hart.cycle();
                self.follow_resets(cycle);
                None
            }
            Ok(Pause::Breakpoint | Pause::EnvironmentCall) => Some(FailureReason::Stopped),
            Err(trap) => Some(match self.devices.refusal.take() {
                Some(reason) => FailureReason::Refused { reason, trap },
                None => FailureReason::Trap(trap),
            }),
        };
        if failure.is_some() {
            self.harts[index].state = HartState::Failed;
        }
        if self.devices.daisychain.shown_risc().is_some() || self.shown.is_some() {
            let now = self.harts[index].hart.cycle();
            self.follow_daisychain(station.tile_mut(), now);
        }
        self.follow_writes();
        Turn { has_effect, is_interrupted, failure }
    }

    /// Runs a hart up to a cycle; returns why the run ended, and whether the hart stored to L1.
    pub(super) fn execute<S: Station>(
        &mut self,
        index: usize,
        station: &mut S,
        until: u64,
    ) -> (Result<Pause, Trap>, bool) {
        let Self { harts, devices, clock_reads, front, .. } = self;
        let TileHart { hart, local_ram, .. } = &mut harts[index];
        let has_stored = false;
        let mut bus =
            TileBus { station, devices, clock_reads, local_ram, risc_index: index, has_stored };
        let result = hart.run_until(&mut bus, front, until);
        (result, bus.has_stored)
    }

    /// Tells the debug daisychain what the RISC that it shows has done before the cycle `now`, and
    /// writes the samples that are due.
    pub(crate) fn follow_daisychain(&mut self, tile: &mut Tile, now: u64) {
        let shown = self.devices.daisychain.shown_risc().filter(|&risc| risc < self.harts.len());
        let mut steps = Vec::new();
        if shown != self.shown {
            self.shown = shown;
            steps = self.show(now);
        }
        let Some(risc) = shown.and_then(|risc| self.harts.get_mut(risc)) else { return };
        let (pc, decode_from) = risc.hart.take_steps(&mut steps);
        // A hart that polls repeats what it did in its last round.
        let round_cycles = match &risc.state {
            HartState::Polling(watched) => Some(watched.round_cycles()),
            _ => None,
        };
        let executes = !matches!(risc.state, HartState::InReset | HartState::Failed);
        let known = match risc.state {
            HartState::Running => risc.hart.cycle(),
            _ => now,
        };
        let latest = (pc, executes.then_some(decode_from));
        let Self { devices, front, .. } = self;
        let instruction_ram = &devices.instruction_ram;
        let word = |pc: u32| match pc.checked_sub(INSTRUCTION_RAM_BASE) {
            Some(offset) => {
                let word = instruction_ram.get(offset as usize..).and_then(<[u8]>::first_chunk);
                word.map_or(0, |bytes| u32::from_le_bytes(*bytes))
            }
            None => tile.load(u64::from(pc)),
        };
        let steps = steps.into_iter().map(|step| (step, word(step.pc)));
        devices.daisychain.follow(steps, latest, round_cycles);
        while let Some((cycle, address, sample)) =
            devices.daisychain.next_sample(known, |address, cycle| front.is_read(address, cycle))
        {
            write_bytes((&mut *tile, &mut *devices), address.into(), &sample.to_le_bytes(), cycle);
        }
        devices.daisychain.forget(known);
    }

    /// Makes the hart that the debug daisychain shows keep its stages from now on, and no other one;
    /// returns its last round if it polls.
    fn show(&mut self, now: u64) -> Vec<Step> {
        let mut steps = Vec::new();
        for (index, risc) in self.harts.iter_mut().enumerate() {
            risc.hart.show_stages(self.shown == Some(index));
            if self.shown != Some(index) {
                continue;
            }
            if let HartState::Polling(watched) = &risc.state {
                match watched.stages() {
                    Some(round) => {
                        risc.hart.decode_from(round.decode_from);
                        steps.clone_from(&round.steps);
                    }
                    None => risc.resume(watched.round_at(risc.hart.cycle(), now)),
                }
            }
        }
        steps
    }

    /// Returns true if the debug daisychain shows a RISC, whose loops must not be skipped.
    pub(crate) fn is_shown(&self, risc_index: usize) -> bool {
        self.shown == Some(risc_index)
    }

    /// Puts harts into the reset state if they are now held in reset, and starts those released
    /// from it.
    pub(crate) fn follow_resets(&mut self, cycle: u64) {
        for (index, hart) in self.harts.iter_mut().enumerate() {
            if self.devices.is_in_reset(index) {
                hart.state = HartState::InReset;
            } else if hart.state == HartState::InReset
                && let Some(entry) = self.devices.entry(index)
            {
                hart.start(entry, cycle);
            }
        }
    }

    /// Wakes the suspended harts whose awaited byte has the expected value, or whose polled words
    /// may have changed; the harts continue at `cycle`.
    pub(crate) fn wake(&mut self, tile: &Tile, cycle: u64) {
        let Self { harts, devices, .. } = self;
        for (index, hart) in harts.iter_mut().enumerate() {
            let is_over = match &hart.state {
                HartState::Waiting { address, value } => byte(tile, *address) == *value,
                HartState::Polling(watched) => watched.has_changed(tile, devices, index),
                HartState::InReset | HartState::Running | HartState::Failed => false,
            };
            if is_over {
                hart.resume(cycle);
            }
        }
    }

    /// Wakes the suspended harts that poll registers whose reads have this effect; they continue with
    /// the round of their loop that runs at `cycle`.
    pub(crate) fn wake_pollers(&mut self, effect: Effect, cycle: u64) {
        let Self { harts, devices, .. } = self;
        for hart in harts {
            if let HartState::Polling(watched) = &hart.state
                && watched.polls(effect, devices)
            {
                hart.resume(watched.round_at(hart.hart.cycle(), cycle));
            }
        }
    }

    /// Counts the whole rounds until a cycle of the harts that poll and are suspended.
    pub(crate) fn poll_until(&mut self, cycle: u64) {
        for risc in &mut self.harts {
            if let HartState::Polling(watched) = &risc.state {
                let end = watched.round_at(risc.hart.cycle(), cycle);
                risc.hart.poll_until(end, watched.round_instructions);
            }
        }
    }

    /// Wakes all suspended harts that poll; they continue at `cycle`.
    pub(crate) fn wake_all(&mut self, cycle: u64) {
        let polling = |hart: &&mut TileHart| matches!(hart.state, HartState::Polling(_));
        self.harts.iter_mut().filter(polling).for_each(|hart| hart.resume(cycle));
    }

    /// Empties instruction caches as the RISCs have demanded, and tells the model of the L1 ports about
    /// the writes and reads that other tiles and devices have made.
    pub(crate) fn follow_writes(&mut self) {
        let emptied = std::mem::take(&mut self.devices.emptied_caches);
        for (index, risc) in self.harts.iter_mut().enumerate() {
            if emptied & CACHE_BITS[index] != 0 {
                risc.hart.invalidate_instructions();
            }
        }
        for range in self.devices.overwritten.drain(..) {
            self.front.invalidate(range);
        }
        for read in self.devices.noc_reads.drain(..) {
            self.front.note_noc_read(read);
        }
    }

    /// Tells the model of the L1 ports that the host has written these addresses.
    pub(crate) fn invalidate(&mut self, written: Range<u32>) {
        self.front.invalidate(written);
    }
}

impl TileHart {
    /// Starts the hart at the address `pc`, no earlier than `cycle`.
    pub(super) fn start(&mut self, pc: u32, cycle: u64) {
        self.resume(cycle);
        self.hart.reset(pc);
    }

    fn resume(&mut self, cycle: u64) {
        match &self.state {
            HartState::Polling(watched) => self.hart.poll_until(cycle, watched.round_instructions),
            _ => self.hart.advance_to(cycle),
        }
        self.state = HartState::Running;
        self.quiet_windows = 0;
    }
}

/// Bits of the RISCs in the register `RISCV_IC_INVALIDATE`.
const CACHE_BITS: [u32; RISCS_PER_CORE] = [1, 1 << 4, 1 << 1, 1 << 2, 1 << 3];

/// Returns a byte from a tile's L1.
pub(super) fn byte(tile: &Tile, address: u32) -> u8 {
    (tile.load(u64::from(address & !3)) >> (8 * (address & 3)) & 0xFF) as u8
}

/// Returns a RISC's hart in reset, with its port and its instruction cache.
///
/// # Compatibility
/// tt-isa-documentation, `WormholeB0/TensixTile/BabyRISCV/InstructionCache.md` and
/// `WormholeB0/EthernetTile/BabyRISCV/InstructionCache.md`.
fn hart(chip: &ChipFacts, kind: TileKind, risc_index: usize) -> Hart {
    let hart = Hart::new(chip.arch, if risc_index < 3 { L1Port::Port2 } else { L1Port::Port3 });
    let hart = match (chip.arch, kind, risc_index) {
        (Arch::WormholeB0, TileKind::Tensix, 1 | 3) | (Arch::WormholeB0, TileKind::Ethernet, _) => {
            hart.with_small_instruction_cache()
        }
        _ => hart,
    };
    if chip.modes.lifted.has(Limit::Caches) { hart.with_warm_code() } else { hart }
}

/// Returns the size of a RISC's local RAM.
///
/// # Compatibility
/// tt-isa-documentation, `TensixTile/BabyRISCV/README.md`.
const fn local_ram_bytes(arch: Arch, risc_index: usize) -> usize {
    let kib = match (arch, risc_index) {
        (Arch::WormholeB0, 0 | 1) | (Arch::Blackhole, 2..) => 4,
        (Arch::WormholeB0, _) => 2,
        (Arch::Blackhole, _) => 8,
    };
    kib * 1024
}
