//! NoC events: what a kernel does to the networks, as records; and locks of memory.
//!
//! The macros `record_noc_event*` and `record_fabric_*` stand where a kernel calls the NoC. They
//! record under the feature `noc-events`, on the RISCs that move data (BRISC, NCRISC, Ethernet
//! RISCs) and nowhere else; waits and operations on single words under `noc-events-all` only. A
//! record that finds no room is pushed for first, so that a reader of NoC traces misses none as
//! long as DRAM takes them.
//!
//! # Compatibility
//! `noc_event_profiler.hpp`, `fabric_event_profiler.hpp`, `noc_debugging_profiler.hpp`.

use crate::{
    port::Port,
    state::{State, word_count},
};
use wire::{
    PacketKind, ZoneId,
    noc_event::{LocalNocEvent, NocTrailer},
    scoped_lock::LockEvent,
};

impl State {
    /// Records the 64 bits of a NoC event; pushes first if there is no room.
    #[inline(always)]
    pub fn record_noc_event<P: Port + ?Sized>(&mut self, port: &mut P, event: u64) {
        self.record_data_or_push(port, ZoneId::NOC_TRACING, event);
    }

    /// Records an event of the tile's own NoC with two addresses, in the tile itself and in the
    /// other, and the counter of its kind; pushes first if there is no room.
    #[inline(always)]
    pub fn record_noc_event_with_addresses<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        event: LocalNocEvent,
        [local_address, remote_address]: [u32; 2],
    ) {
        const WORDS: u32 = word_count(PacketKind::TimestampedData16B.record_words());
        if port.can_quick_push() {
            self.flush_to_dram_if_full(port, WORDS);
            // A push is a write, too.
            let counter = event.kind.counter(event.is_posted);
            let noc_counter = counter.map_or(0, |counter| port.noc_counter(counter));
            let trailer = NocTrailer { local_address, remote_address, noc_counter };
            self.record_data_16b(port, ZoneId::NOC_TRACING, [event.pack(), trailer.pack()]);
        }
    }

    /// Records an event of a lock; pushes first if there is no room.
    #[inline(always)]
    pub fn record_lock_event<P: Port + ?Sized>(&mut self, port: &mut P, event: LockEvent) {
        self.record_data_or_push(port, ZoneId::NOC_DEBUGGING, event.pack());
    }

    #[inline(always)]
    fn record_data_or_push<P: Port + ?Sized>(&mut self, port: &mut P, id: ZoneId, data: u64) {
        const WORDS: u32 = word_count(PacketKind::TimestampedData.record_words());
        if port.can_quick_push() {
            self.flush_to_dram_if_full(port, WORDS);
            self.record_data(port, id, data);
        }
    }
}
