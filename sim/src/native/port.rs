//! Port of the profiler's runtime in the simulator.

use super::stage::{self, cost};
use crate::arch::Arch;
use kernel_profiler::{
    port::{Clock, ClockWords, Memory, Noc, NocCoordinates, Port, Pushes, SavedRegisters, word_at},
    wait::WaitRecords,
};
use wire::{CoreKind, control::ControlLayout, noc_event::NocCounter, wait::SyncWindows};

/// One RISC of whatever tile is on the stage of its thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RiscPort {
    risc_index: usize,
    kind: CoreKind,
}

impl RiscPort {
    /// The RISC with this index on a core of a kind.
    pub(crate) const fn new(kind: CoreKind, risc_index: usize) -> Self {
        Self { risc_index, kind }
    }
}

/// Word of the status that all RISCs of a core write in trace-only mode.
const STATUS: Option<usize> = ControlLayout::WORDS64.trace_replay_status;

impl Clock for RiscPort {
    fn now(&mut self) -> ClockWords {
        let (high, low) = stage::with(|stage| stage.read_clock(self.risc_index));
        ClockWords { high, low }
    }
}

impl Memory for RiscPort {
    /// Subordinates run before BRISC does, so that it sees what they publish early; it then waits
    /// until they would have.
    fn control(&mut self, index: usize) -> u32 {
        stage::with(|stage| {
            let address = stage.tile.control_word_address(index);
            let word = stage.load(self.risc_index, address);
            if stage.chip.modes.is_trace_only && Some(index) == STATUS {
                let cycle = stage.cycle_of(self.risc_index);
                return stage.envelope.status_at(cycle).unwrap_or(word);
            }
            let publisher = index.wrapping_sub(ControlLayout::WORDS64.device_end);
            if word != 0 && self.risc_index == 0 && (1..self.kind.risc_count()).contains(&publisher)
            {
                stage.wait_until(0, stage.cycle_of(publisher));
            }
            word
        })
    }

    fn set_control(&mut self, index: usize, value: u32) {
        stage::with(|stage| {
            let address = stage.tile.control_word_address(index);
            let mut word = value;
            if stage.chip.modes.is_trace_only && Some(index) == STATUS {
                let before = stage.tile.load(address);
                let cycle = stage.cycle_of(self.risc_index);
                word = stage.envelope.set_status(cycle, before, value);
            }
            stage.store(self.risc_index, address, word);
        });
    }

    fn vector(&mut self, risc_index: usize, index: usize) -> u32 {
        stage::with(|stage| {
            let address = stage.tile.vector_word_address(risc_index, index);
            stage.load(self.risc_index, address)
        })
    }

    fn set_vector(&mut self, risc_index: usize, index: usize, value: u32) {
        stage::with(|stage| {
            let address = stage.tile.vector_word_address(risc_index, index);
            let cycle = stage.cycle_of(self.risc_index);
            if stage.chip.modes.is_trace_only
                && risc_index == 0
                && !stage.envelope.takes(index, cycle)
            {
                return stage.advance(self.risc_index, cost::L1_STORE);
            }
            stage.store(self.risc_index, address, value);
        });
    }
}

impl Noc for RiscPort {
    fn is_linked(&mut self) -> bool {
        stage::with(|stage| stage.advance(self.risc_index, cost::STATUS_READ));
        false
    }

    fn begin_pushes(&mut self, bank: u32) -> Pushes {
        stage::with(|stage| stage.advance(self.risc_index, cost::BEGIN_PUSHES));
        Pushes(bank)
    }

    fn push(&mut self, pushes: Pushes, place: u32, word_count: u32, address: u32) -> bool {
        let Pushes(bank) = pushes;
        stage::with(|stage| {
            let source = match word_at(place) {
                (Some(risc_index), index) => stage.tile.vector_word_address(risc_index, index),
                (None, index) => stage.tile.control_word_address(index),
            };
            stage.push(self.risc_index, source, word_count, bank, u64::from(address));
        });
        true
    }

    fn noc_counter(&mut self, counter: NocCounter) -> u32 {
        stage::with(|stage| {
            stage.advance(self.risc_index, cost::STATUS_READ);
            let noc = stage.context().noc().unwrap_or(0);
            stage.tile.noc_counters[usize::from(noc)].get(&counter).copied().unwrap_or(0)
        })
    }

    fn wait_for_pushes(&mut self, _: Pushes) -> bool {
        stage::with(|stage| stage.wait_for_pushes(self.risc_index))
    }

    fn save_command_buffer(&mut self, _: &mut SavedRegisters) {
        stage::with(|stage| stage.advance(self.risc_index, cost::COPY_COMMAND_BUFFER));
    }

    fn restore_command_buffer(&mut self, _: &SavedRegisters) {
        stage::with(|stage| stage.advance(self.risc_index, cost::COPY_COMMAND_BUFFER));
    }
}

impl Port for RiscPort {
    fn risc_index(&self) -> usize {
        self.risc_index
    }

    fn risc_count(&self) -> usize {
        self.kind.risc_count()
    }

    fn sums_enabled(&self) -> bool {
        stage::with(|stage| stage.chip.modes.sums_enabled)
    }

    fn is_dispatch(&self) -> bool {
        stage::with(|stage| stage.is_dispatch)
    }

    fn is_trace_only(&self) -> bool {
        stage::with(|stage| stage.chip.modes.is_trace_only)
    }

    fn is_accumulating(&self) -> bool {
        stage::with(|stage| stage.chip.modes.is_accumulating)
    }

    fn wait_records(&self) -> WaitRecords {
        stage::with(|stage| stage.chip.modes.wait_records)
    }

    fn sync_windows(&self) -> Option<SyncWindows> {
        stage::with(|stage| stage.chip.modes.sync_windows)
    }

    fn empties_both_words(&self) -> bool {
        stage::with(|stage| stage.chip.arch == Arch::Blackhole)
    }

    fn bank_count(&self) -> u32 {
        stage::with(|stage| stage.chip.arch.facts().bank_count)
    }

    fn noc_coordinates(&self) -> Option<NocCoordinates> {
        let coord = stage::with(|stage| stage.context().place.coord);
        Some(NocCoordinates { x: u32::from(coord.x), y: u32::from(coord.y) })
    }
}
