//! NoC events: what a kernel does to the networks, as records.
//!
//! The macros `record_noc_event*` and `record_fabric_*` stand where a kernel calls the NoC. They
//! record under the feature `noc-events`, on the RISCs that move data (BRISC, NCRISC, Ethernet
//! RISCs) and nowhere else; waits and operations on single words under `noc-events-all` only. A
//! record that finds no room is pushed for first, so that a reader of NoC traces misses none as
//! long as DRAM takes them.
//!
//! # Compatibility
//! `noc_event_profiler.hpp`, `fabric_event_profiler.hpp`.

use crate::{
    port::Port,
    state::{State, word_count},
};
use wire::{PacketKind, ZoneId};

impl State {
    /// Records the 64 bits of a NoC event; pushes first if there is no room.
    #[inline(always)]
    pub fn record_noc_event<P: Port + ?Sized>(&mut self, port: &mut P, event: u64) {
        const WORDS: u32 = word_count(PacketKind::TimestampedData.record_words());
        if port.can_quick_push() {
            self.flush_to_dram_if_full(port, WORDS);
            self.record_data(port, ZoneId::NOC_TRACING, event);
        }
    }
}
