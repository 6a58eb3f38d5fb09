//! Relays on ttsim: they begin before the first launch, and run until the host ends them.

use crate::{
    runner::{POLL_CLOCKS, TtsimMesh},
    simulator::TtsimError,
};
use wire::{control::ext, relay::words};

impl TtsimMesh {
    /// Begins the relays, unless they have begun, and waits until they gather.
    pub(crate) fn begin_relays(&mut self) -> Result<(), TtsimError> {
        let Some(launch) = self.relay_launch.take() else { return Ok(()) };
        let relays = self.give(&launch, u64::MAX)?;
        let begun_at = self.device.simulator.clock();
        for index in relays {
            let core = &self.cores[index];
            let address = core.control_address + 4 * ext::SIGNATURE as u64;
            loop {
                let mut signature = [0];
                self.device.simulator.read_words(core.tile, address, &mut signature)?;
                if signature == [words::SIGNATURE_VALUE] {
                    break;
                }
                let clocks = self.device.simulator.clock() - begun_at;
                if clocks > START_CLOCKS_MAX {
                    return Err(core.stuck("has not begun to gather", clocks));
                }
                self.device.simulator.advance(POLL_CLOCKS)?;
            }
        }
        Ok(())
    }
}

/// Maximum clocks until a relay gathers; it fills the table of its checksum before.
const START_CLOCKS_MAX: u64 = 1_000_000;
