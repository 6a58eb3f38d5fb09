//! Writes of a tile to the host's memory over PCIe, and the time that they take.
//!
//! # Compatibility
//! tt-isa-documentation, `WormholeB0/PCIExpressTile/README.md`: a tile writes 26.4 GB/s. The PCIe
//! controller sends the acknowledgement before the data is in the host's memory. A round trip from
//! a tile to the controller takes 260 to 370 ns, including 150 ns between the NoC and the
//! controller. A round trip from the controller to the memory takes 430 ns.

use super::stage::Stage;
use crate::{
    chip::facts::host_window,
    dram::Landing,
    host_memory::{HOST_MEMORY_BYTES, PostedWrite},
    noc,
};
use wire::relay::words::HOST_MEMORY;

/// Time from the NoC to the PCIe controller; it is the same in the other direction.
const CONTROLLER_NS: u64 = 75;
/// Time from the controller to the host's memory.
const MEMORY_NS: u64 = 215;
/// Upper limit of the random time that a write takes in addition to [`MEMORY_NS`].
///
/// This random time lets a write overtake an earlier one, as on a real chip. The value is a guess,
/// because no source states it.
const OVERTAKING_NS: u64 = 200;
/// Picoseconds that the PCIe link takes for 1000 bytes.
const KILOBYTE_PS: u64 = 37_879;

impl Stage {
    /// Issues a write to the host's memory over a NoC at a cycle; returns the cycle at which this
    /// write and all earlier writes of the RISC are acknowledged.
    pub(crate) fn push_to_host(
        &mut self,
        (risc_index, issued_at): (usize, u64),
        noc: usize,
        words: Vec<u32>,
        address: u64,
    ) -> u64 {
        let byte_count = 4 * words.len() as u64;
        let offset = address.wrapping_sub(host_window(self.chip.arch));
        let mut landing =
            Landing { chip_cycle: issued_at, bank: HOST_MEMORY, address: offset, words };
        let is_inside = offset.saturating_add(byte_count) <= HOST_MEMORY_BYTES;
        if let (true, Some(tile)) = (is_inside, self.chip.host_tile) {
            let facts = self.chip.arch.facts();
            let cycles = |time_ps: u64| time_ps * u64::from(facts.aiclk_mhz) / 1_000_000;
            let (fate, rule) = self.fate(risc_index, &landing);
            let way = (self.context().place.coord, tile);
            let latency =
                noc::write_latency(facts, noc, way, byte_count, &mut self.tile.noc_random);
            let arrival = issued_at
                + latency.landing_cycles
                + fate.delay_cycles()
                + cycles(1000 * CONTROLLER_NS);
            let share_ps =
                byte_count * KILOBYTE_PS * u64::from(self.chip.host_writers.max(1)) / 1000;
            let received_cycle = arrival.max(self.link_free_at) + cycles(share_ps);
            self.link_free_at = received_cycle;
            let back = cycles(1000 * CONTROLLER_NS) + latency.acknowledgement_cycles;
            let overtaken = self.tile.noc_random.below(cycles(1000 * OVERTAKING_NS));
            let landed_cycle = received_cycle + cycles(1000 * MEMORY_NS) + overtaken;
            let pushes = &mut self.pushes[risc_index];
            pushes.acknowledged_at = pushes.acknowledged_at.max(received_cycle + back);
            landing.chip_cycle = landed_cycle;
            self.apply(&fate, &rule, risc_index, &mut landing);
            if !fate.is_lost() {
                let Landing { address, words, .. } = landing;
                self.host_writes.push(PostedWrite { received_cycle, landed_cycle, address, words });
            }
        } else {
            self.misdirect(risc_index, &landing);
        }
        let pushes = &mut self.pushes[risc_index];
        pushes.count = pushes.count.wrapping_add(1);
        pushes.acknowledged_at
    }
}
