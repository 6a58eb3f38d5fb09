//! NoC events, which record what a kernel does on the NoCs, and records of memory locks.
//!
//! The macros `record_noc_event*` and `record_fabric_*` are called next to a kernel's NoC calls.
//! The macros record only with the feature `noc-events`, and only on the RISCs that move data
//! (BRISC, NCRISC, Ethernet RISCs). Waits and operations on single words need `noc-events-all`. A
//! RISC pushes before a record that would not fit, so NoC traces are complete unless DRAM is full.
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

    /// Records a NoC event within the chip, together with the two addresses of the transfer and the
    /// NoC's counter of such transfers; pushes first if there is no room.
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
            // The counter is read after a possible push, because a push increments it, too.
            let counter = event.kind.counter(event.is_posted);
            let noc_counter = counter.map_or(0, |counter| port.noc_counter(counter));
            let trailer = NocTrailer { local_address, remote_address, noc_counter };
            self.record_data_16b(port, ZoneId::NOC_TRACING, [event.pack(), trailer.pack()]);
        }
    }

    /// Records a lock event; pushes first if there is no room.
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

#[cfg(test)]
mod tests {
    use crate::testing::Rig;
    use std::{boxed::Box, vec::Vec};
    use wire::{
        noc_event::{LocalNocEvent, NocEventKind, NocTarget},
        scoped_lock::{LockEvent, LockEventKind},
    };

    const WRITE: LocalNocEvent = LocalNocEvent {
        kind: NocEventKind::Write,
        target: NocTarget { first: [0, 11], last: [0, 0] },
        byte_count: 256,
        virtual_channel: 1,
        is_posted: false,
        noc: 0,
    };
    const LOCK: LockEvent =
        LockEvent { kind: LockEventKind::CbLock, address: 0x2_0000, byte_count: 64 };
    const EVENTS: u32 = 300;

    /// Returns the `count` words after each marker of one type and id in a lane. No other words of
    /// the lane may look like such a marker.
    fn values(lane: &[u32], prefix: u32, count: usize) -> Vec<&[u32]> {
        let starts = (0..lane.len()).filter(|&at| lane[at] & 0xFFFF_F000 == prefix);
        starts.map(|at| &lane[at + 2..at + 2 + count]).collect()
    }

    #[test]
    fn addresses_and_locks_of_a_risc_that_pushes_are_all_kept() {
        let mut rig = Rig::new(12_000);
        let body = |risc: &mut crate::testing::TestRisc| {
            for index in 0..EVENTS {
                let addresses = [index, 0x100_0000 + 4 * index];
                risc.state.record_noc_event_with_addresses(&mut risc.port, WRITE, addresses);
                risc.state.record_lock_event(&mut risc.port, LOCK);
            }
        };
        rig.launch(5, &mut [(0, Box::new(body)), (4, Box::new(body))]);
        let lane = rig.lane(0);
        let events = values(&lane, 0xD303_9000, 4);
        assert_eq!(events.len(), EVENTS as usize);
        let mut counters = Vec::new();
        for (index, event) in (0..EVENTS).zip(events) {
            // The format's 24 bits of each address, computed without `wire`: the lowest two bits
            // have their own field.
            let local = u64::from(index >> 2 | (index & 3) << 22);
            let trailer = u64::from(event[2]) << 32 | u64::from(event[3]);
            assert_eq!((event[0], event[1]), (0x0008_1100, 0x000B_000B));
            assert_eq!(trailer & ((1 << 52) - 1), local << 26 | u64::from(index), "{index}");
            counters.push(trailer >> 52);
        }
        // The counter is read after the push that an event may need, so the recorded values grow.
        assert!(counters.is_sorted() && counters.last() > Some(&4), "{counters:?}");
        let locks = values(&lane, 0xB5BA_0000, 2);
        assert_eq!(locks, [&[0x40, 0x0200_0000][..]].repeat(EVENTS as usize));
        // A RISC without its own NoC records no events and loses none.
        assert_eq!((rig.lane(4).len(), rig.lost(0), rig.lost(4)), (12, [0; 3], [0; 3]));
    }
}
