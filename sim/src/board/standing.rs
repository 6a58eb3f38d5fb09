//! Where the RISCs stand in a launch that is open, on a worker core of a chip that a host drives.

use super::launches::{CoreLaunches, OpenLaunch, with_meaning};
use crate::{
    chip::facts::ChipFacts,
    machine::{HartState, Look, Riscs, polled_words, stored_addresses},
    riscv::INSTRUCTION_RAM_BASE,
    tile::Tile,
    tt_metal::{firmware::FirmwareSet, launch::LaunchedKernel},
    unfinished::{PolledWord, Standing, StandingCode, StandingRisc, UnfinishedLaunch},
};
use wire::{Risc, risc::RISCS_PER_CORE};

/// What the harts of a core have done since the look at them began.
pub(super) type Looks = [Look; RISCS_PER_CORE];

/// A core that was looked at.
pub(super) struct Looked<'a> {
    pub(super) chip: &'a ChipFacts,
    pub(super) tile: &'a Tile,
    pub(super) riscs: &'a Riscs,
    pub(super) looks: &'a Looks,
    /// Why harts have stopped.
    pub(super) failures: &'a [Option<String>; RISCS_PER_CORE],
}

impl Looked<'_> {
    /// Returns where the RISCs stand; `None` if no launch is open.
    pub(super) fn unfinished(&self, launches: &CoreLaunches) -> Option<UnfinishedLaunch> {
        let launch = launches.open()?;
        let kernels = launch.message.kernels.len();
        let riscs = (0..kernels).filter_map(|index| self.standing(&launches.set, launch, index));
        Some(UnfinishedLaunch {
            chip_id: self.chip.chip_id,
            core: self.tile.place.coord,
            launch_index: launch.index,
            program_id: launch.message.run_host_id,
            program: String::new(),
            riscs: riscs.collect(),
        })
    }

    fn standing(
        &self,
        set: &FirmwareSet,
        launch: &OpenLaunch,
        index: usize,
    ) -> Option<StandingRisc> {
        let risc = self.tile.place.kind.risc(index)?;
        let (hart, look) = (self.riscs.harts.get(index)?, self.looks.get(index)?);
        let failure = self.failures.get(index)?;
        let has_kernel = launch.message.kernels.get(index)?.is_some();
        if index > 0 && !has_kernel && failure.is_none() {
            return None;
        }
        let devices = &self.riscs.devices;
        let at = (index, hart.hart.cycle());
        let mut polls = with_meaning((set, self.tile, devices), |meaning| {
            polled_words((self.chip, self.tile, devices), meaning, at, look.polls())
        });
        let code = self.code(set, launch, (index, hart.hart.pc()));
        let state = match (failure, &hart.state) {
            (Some(reason), _) => Standing::Stopped(reason.clone()),
            (None, HartState::InReset) => return None,
            (None, _) => {
                let is_firmware = code.as_ref().is_some_and(StandingCode::is_firmware);
                self.state(set, index, is_firmware.then_some(&*polls))
            }
        };
        if matches!(state, Standing::Ended | Standing::WaitsFor(_)) {
            polls.clear();
        }
        let words = launch.message.kernels.get(index)?.map(|kernel| self.words(kernel));
        Some(StandingRisc {
            risc,
            chip_cycle: hart.hart.cycle(),
            pc: hart.hart.pc(),
            earlier_pc: look.first_pc(),
            state,
            code,
            executed: look.executed().clone(),
            polls,
            signals: words.map(|words| stored_addresses(0, words)).unwrap_or_default(),
        })
    }

    /// Returns what a RISC does that has not stopped; `in_firmware` are the words that it polls in its
    /// firmware.
    fn state(
        &self,
        set: &FirmwareSet,
        index: usize,
        in_firmware: Option<&[PolledWord]>,
    ) -> Standing {
        let unended = Standing::Unended { failure: None };
        let (Some(words), Some(signals)) = (in_firmware, set.subordinate_signals(self.tile)) else {
            return unended;
        };
        let of_risc = |index: usize| index.checked_sub(1).and_then(|at| signals.get(at));
        let has_ended = of_risc(index).is_some_and(|signal| signal.is_done);
        let polls = |address: u32| words.iter().any(|word| word.address & !3 == address & !3);
        let first_unended = signals.iter().position(|signal| !signal.is_done);
        let other = first_unended.and_then(|at| self.tile.place.kind.risc(at + 1));
        match other {
            _ if has_ended => Standing::Ended,
            Some(other) if index == 0 && signals.iter().any(|signal| polls(signal.address)) => {
                Standing::WaitsFor(other)
            }
            _ if of_risc(index).is_some_and(|signal| polls(signal.address)) => {
                Standing::WaitsFor(Risc::Brisc)
            }
            _ => unended,
        }
    }

    /// Returns the code at an address of a RISC; `None` if it is neither its kernel nor firmware.
    fn code(
        &self,
        set: &FirmwareSet,
        launch: &OpenLaunch,
        (index, pc): (usize, u32),
    ) -> Option<StandingCode> {
        let kernel = launch.message.kernels.get(index).copied().flatten();
        // The kernel is behind the firmware, or in instruction RAM.
        let first =
            |place: u32| if pc >= INSTRUCTION_RAM_BASE { INSTRUCTION_RAM_BASE } else { place };
        let Some(kernel) = kernel.filter(|kernel| pc >= first(kernel.place)) else {
            return set.processors().get(index).map(|_| StandingCode::Firmware);
        };
        let (number, first) = (kernel.id, first(kernel.place));
        Some(StandingCode::Kernel { number, first, words: self.words(kernel) })
    }

    /// Returns the first instructions of a kernel in L1.
    fn words(&self, kernel: LaunchedKernel) -> Vec<u32> {
        let size_bytes = kernel.size_bytes.unwrap_or(KERNEL_BYTES).min(KERNEL_BYTES);
        let words = (0..size_bytes / 4).map(|word| kernel.place.wrapping_add(4 * word));
        let words = words.filter(|&at| u64::from(at) < self.tile.l1.size_bytes());
        words.map(|at| self.tile.load(at.into())).collect()
    }
}

/// Number of a kernel's first bytes by which its file is found, and in which its stores are.
const KERNEL_BYTES: u32 = 8192;
