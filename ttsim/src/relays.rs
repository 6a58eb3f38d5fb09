//! Relays (cores that gather other cores' records) on ttsim. They start before the first launch and
//! run until the host stops them.

use crate::{
    runner::{POLL_CLOCKS, RESET_ALL, TtsimMesh},
    simulator::TtsimError,
};
use sim::{arch::SOFT_RESET, program::CoreUse};
use wire::{control::ext, relay::words};

impl TtsimMesh {
    /// Starts the relays if they have not started, and waits until each relay has begun to read the
    /// streams of other cores.
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

    /// Holds a relay's RISCs in reset permanently, so that the relay stops in the middle of its
    /// work. Relays are numbered in the order of their coordinates.
    ///
    /// # Errors
    /// If there is no such relay, or if ttsim refuses an access to the relay.
    pub fn kill_relay(&mut self, relay: usize) -> Result<(), TtsimError> {
        let relays = self.cores.iter().filter(|core| core.core_use == CoreUse::Relay);
        let Some(tile) = relays.map(|core| core.tile).nth(relay) else {
            let reason = format!("there is no relay {relay}");
            return Err(TtsimError::Unsupported { reason });
        };
        self.device.simulator.write_words(tile, SOFT_RESET.into(), &[RESET_ALL])
    }
}

/// Maximum number of clocks from a relay's start until it reads the streams of other cores. The
/// relay first fills its checksum table.
const START_CLOCKS_MAX: u64 = 1_000_000;
