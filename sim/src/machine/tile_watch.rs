//! Waits of object code for circular buffers and at barriers of NoCs, as the bus sees them.
//!
//! A RISC that loads the same counter of a buffer again and again waits for it. It did not find
//! what it waited for at first if there is more than one load, and found it with the last one; the
//! latest store before that made it so. At a barrier it loads a NoC's counter of answers, which
//! nobody stores: it goes on with the last load. Nothing here knows what kernels record.

use crate::{
    arch::Arch, clock::WallClock, kernel::tile_words::FIRST_SILENT_BUFFER, program::KernelContext,
    truth::WaitTruth,
};
use std::collections::BTreeMap;
use wire::{risc::RISCS_PER_CORE, wait::WaitKind};

/// Accesses of a tile's RISCs to the counters of circular buffers.
#[derive(Clone, Debug)]
pub(crate) struct TileWatch {
    arch: Arch,
    polls: [Option<Poll>; RISCS_PER_CORE],
    /// Cycle of the latest store to each register.
    stored_at: BTreeMap<u32, u64>,
    waits: [Vec<Wait>; RISCS_PER_CORE],
    store_counts: [u64; RISCS_PER_CORE],
}

/// Loads of one register, one after the other.
#[derive(Clone, Copy, Debug)]
struct Poll {
    address: u32,
    first: u64,
    is_repeated: bool,
    /// Cycle of the store that the latest load has seen.
    stored_at: u64,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    kind: WaitKind,
    key: u32,
    begin: u64,
    cycles: u64,
}

impl TileWatch {
    pub(crate) fn new(arch: Arch) -> Self {
        Self {
            arch,
            polls: [None; RISCS_PER_CORE],
            stored_at: BTreeMap::new(),
            waits: Default::default(),
            store_counts: [0; RISCS_PER_CORE],
        }
    }

    /// Notes that a RISC loads a register of a stream.
    pub(crate) fn note_load(&mut self, risc_index: usize, address: u32, cycle: u64) {
        let stored_at = self.stored_at.get(&address).copied().unwrap_or(0);
        self.note_poll(risc_index, (address, cycle), stored_at);
    }

    /// Notes that a RISC loads a counter of a NoC.
    pub(crate) fn note_counter_load(&mut self, risc_index: usize, address: u32, cycle: u64) {
        if barrier(address).is_some() {
            self.note_poll(risc_index, (address, cycle), cycle);
        }
    }

    /// Notes a load of what a RISC may wait for, which is as it is since `stored_at`.
    fn note_poll(&mut self, risc_index: usize, (address, cycle): (u32, u64), stored_at: u64) {
        match &mut self.polls[risc_index] {
            Some(poll) if poll.address == address => {
                (poll.is_repeated, poll.stored_at) = (true, stored_at);
            }
            _ => {
                self.end_poll(risc_index);
                let poll = Poll { address, first: cycle, is_repeated: false, stored_at };
                self.polls[risc_index] = Some(poll);
            }
        }
    }

    /// Notes that a RISC stores to a register of a stream.
    pub(crate) fn note_store(&mut self, risc_index: usize, address: u32, cycle: u64) {
        self.end_poll(risc_index);
        self.stored_at.insert(address, cycle);
        let is_recorded = self.object(address).is_some();
        self.store_counts[risc_index] += u64::from(is_recorded);
    }

    /// Ends what a RISC was waiting for, if it was.
    fn end_poll(&mut self, risc_index: usize) {
        let poll = self.polls[risc_index].take().filter(|poll| poll.is_repeated);
        if let Some(Poll { address, first, stored_at, .. }) = poll
            && let Some((kind, key)) = barrier(address).or_else(|| self.object(address))
        {
            let cycles = stored_at.saturating_sub(first);
            self.waits[risc_index].push(Wait { kind, key, begin: first, cycles });
        }
    }

    /// Object that a RISC waits for by polling a register; `None` if kernels do not record that.
    ///
    /// # Compatibility
    /// `stream_io_map.h`: tiles that were received and acknowledged.
    fn object(&self, address: u32) -> Option<(WaitKind, u32)> {
        let (received, acknowledged) = match self.arch {
            Arch::WormholeB0 => (0x10, 0x0C),
            Arch::Blackhole => (0x28, 0x20),
        };
        let buffer = (address - STREAMS) / STREAM_BYTES;
        let kind = match address % STREAM_BYTES {
            offset if offset == received => WaitKind::CB_WAIT,
            offset if offset == acknowledged => WaitKind::CB_RESERVE,
            _ => return None,
        };
        (buffer < FIRST_SILENT_BUFFER).then_some((kind, buffer))
    }

    /// Takes the waits of a launch and the number of its signals, by RISC.
    pub(crate) fn take(
        &mut self,
        context: &KernelContext,
        clock: &WallClock,
    ) -> ([Vec<WaitTruth>; RISCS_PER_CORE], [u64; RISCS_PER_CORE]) {
        (0..RISCS_PER_CORE).for_each(|risc_index| self.end_poll(risc_index));
        let &KernelContext { launch_index, program_id, .. } = context;
        let truth = |wait: Wait| WaitTruth {
            launch_index,
            program_id,
            kind: wait.kind,
            key: wait.key,
            begin: clock.value(wait.begin),
            cycles: wait.cycles,
            released_by: None,
        };
        let waits = std::mem::take(&mut self.waits);
        let waits = waits.map(|waits| waits.into_iter().map(truth).collect());
        (waits, std::mem::take(&mut self.store_counts))
    }
}

/// Barrier that a RISC waits at by polling a counter of a NoC, and which NoC.
///
/// # Compatibility
/// `noc_parameters.h`: `NIU_MST_RD_RESP_RECEIVED` and `NIU_MST_WR_ACK_RECEIVED`.
const fn barrier(address: u32) -> Option<(WaitKind, u32)> {
    let Some(offset) = address.checked_sub(NOCS) else { return None };
    let kind = match offset % NOC_BYTES {
        0x208 => WaitKind::NOC_READ_BARRIER,
        0x204 => WaitKind::NOC_WRITE_BARRIER,
        _ => return None,
    };
    let noc = offset / NOC_BYTES;
    if noc < 2 { Some((kind, noc)) } else { None }
}

const NOCS: u32 = 0xFFB2_0000;
const NOC_BYTES: u32 = 0x1_0000;
const STREAMS: u32 = 0xFFB4_0000;
const STREAM_BYTES: u32 = 0x1000;
