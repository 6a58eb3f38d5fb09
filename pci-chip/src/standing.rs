//! Where the RISCs stand in launches that have not ended, without what only the host knows: names of
//! ops, and the files of kernels. `kprof record` and `kprof attach` add these.

use sim::{
    arch::Arch,
    board::{Board, pci::PciChip},
    tt_metal::firmware::FirmwareSet,
    unfinished::{UnfinishedLaunch, to_json},
};
use std::{io, path::PathBuf, sync::Arc};

/// Variable with the path of the JSON.
pub(crate) const STANDING_VARIABLE: &str = "KPROF_CHIP_STANDING";

/// Where the JSON is written, and the layout of launch messages.
pub(crate) struct StandingRequest {
    /// `None` if only other processes ask.
    path: Option<PathBuf>,
    firmware: Arc<FirmwareSet>,
}

impl StandingRequest {
    /// Returns the request in the environment.
    ///
    /// # Errors
    /// If there is no firmware that tells the layout of launch messages.
    pub(crate) fn from_environment(arch: Arch) -> Result<Self, String> {
        let firmware = super::firmware::of_program(STANDING_VARIABLE, arch)?;
        let path =
            std::env::var_os(STANDING_VARIABLE).map(|path| super::firmware::of_process(&path));
        Ok(Self { path, firmware })
    }

    /// Makes a chip follow its launches.
    pub(crate) fn follow_on(&self, board: &mut Board) {
        board.follow_launches(&self.firmware);
    }

    /// Writes where the RISCs stand when the host has gone, if a launch has not ended.
    pub(crate) fn write(&self, chips: &mut [PciChip]) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        chips.iter_mut().for_each(|chip| chip.board_mut().leave_host());
        let launches = unfinished(chips);
        if launches.is_empty() { Ok(()) } else { std::fs::write(path, to_json(&launches)) }
    }
}

/// Returns where the RISCs stand on all chips. Dispatch kernels and the profiler's own belong to no
/// program, and are left out.
pub(crate) fn unfinished(chips: &mut [PciChip]) -> Vec<UnfinishedLaunch> {
    let launches = (0..).zip(chips).flat_map(|(chip_id, chip)| {
        let board = chip.board_mut();
        let is_open = board.open_programs().any(|program| program != NO_PROGRAM);
        // No cycle passes without need.
        let launches = if is_open { board.unfinished() } else { Vec::new() };
        launches.into_iter().map(move |launch| UnfinishedLaunch { chip_id, ..launch })
    });
    launches.filter(|launch| launch.program_id != NO_PROGRAM).collect()
}

/// The host's id of what is no op.
const NO_PROGRAM: u32 = 0;
