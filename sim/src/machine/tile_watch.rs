//! Waits of kernels for circular buffers, semaphores and NoC barriers, as observed on the bus.
//!
//! A RISC that repeatedly loads the same counter of a buffer waits for that buffer. Only the last
//! of these loads finds the awaited value. The latest store before that load has ended the wait. A
//! semaphore is a word in L1, which other tiles can also store to. At a NoC barrier, a RISC loads
//! the NoC's counter of answers. No store changes this counter, so the time of the last load is
//! taken as the end of the wait. This module does not depend on the kernels' records, with one
//! exception: the clock readings that a kernel takes decide whether a record is in a time window
//! for which waits are recorded.

use crate::{
    arch::{Arch, floorplan::CorePlace},
    chip::facts::ChipFacts,
    clock::WallClock,
    kernel::tile_words::{FIRST_SILENT_BUFFER, SEMAPHORES_END, WRITTEN_SEMAPHORE},
    program::KernelContext,
    truth::{ReleaseTruth, WaitTruth},
};
use kernel_profiler::port::WaitRecords;
use std::collections::{BTreeMap, BTreeSet};
use wire::{
    Cycles,
    risc::RISCS_PER_CORE,
    wait::{SyncWindows, WaitKind},
};

/// Records the accesses of a tile's RISCs to the words that kernels wait for.
#[derive(Clone, Debug)]
pub(crate) struct TileWatch {
    arch: Arch,
    place: CorePlace,
    records: WaitRecords,
    windows: Option<SyncWindows>,
    /// The latest store to each register and semaphore.
    stores: BTreeMap<u32, Stored>,
    riscs: [RiscWatch; RISCS_PER_CORE],
}

/// A store that may end a wait.
#[derive(Clone, Copy, Debug, Default)]
struct Stored {
    cycle: u64,
    by: Option<ReleaseTruth>,
}

/// Observed accesses of one RISC.
#[derive(Clone, Debug, Default)]
struct RiscWatch {
    poll: Option<Poll>,
    waits: Vec<Wait>,
    signal_count: u64,
    /// Number of waits and signals that are at least partly in a time window for which waits are
    /// recorded.
    windowed_count: u64,
    /// True if the next clock reading belongs to the record of a signal.
    has_signalled: bool,
}

/// Consecutive loads of one word.
#[derive(Clone, Copy, Debug)]
struct Poll {
    address: u32,
    first: u64,
    is_repeated: bool,
    /// The last store to the word that preceded the RISC's latest load of the word.
    stored: Stored,
    /// Clock value that the kernel records as the start of its wait.
    began: u32,
    /// The first three clock values that the RISC has read after its latest load of the polled
    /// word.
    readings: [u32; 3],
    reading_count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    kind: WaitKind,
    key: u32,
    begin: u64,
    cycles: u64,
    released_by: Option<ReleaseTruth>,
}

/// A RISC's waits in a launch, and the number of records that the RISC writes for waits and
/// signals.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchedRisc {
    pub(crate) waits: Vec<WaitTruth>,
    pub(crate) record_count: u64,
}

impl TileWatch {
    /// Creates the recorder for a core; `None` if the core's kernels do not record waits.
    pub(crate) fn new(chip: &ChipFacts, place: CorePlace) -> Option<Self> {
        let records = chip.modes.wait_records;
        (records != WaitRecords::Off).then(|| Self {
            arch: chip.arch,
            place,
            records,
            windows: chip.modes.has_sync_windows.then_some(SyncWindows::DEFAULT),
            stores: BTreeMap::new(),
            riscs: Default::default(),
        })
    }

    /// Returns true if an L1 address is that of a semaphore.
    #[inline]
    pub(crate) const fn is_semaphore(address: u32) -> bool {
        address >= WRITTEN_SEMAPHORE && address < SEMAPHORES_END
    }

    /// Records a RISC's load from a stream register or a semaphore.
    pub(crate) fn note_load(&mut self, risc_index: usize, address: u32, cycle: u64) {
        let stored = self.stores.get(&address).copied().unwrap_or_default();
        self.note_poll(risc_index, address, cycle, stored);
    }

    /// Records a RISC's load from a NoC counter.
    pub(crate) fn note_counter_load(&mut self, risc_index: usize, address: u32, cycle: u64) {
        if barrier(address).is_some() {
            self.note_poll(risc_index, address, cycle, Stored { cycle, by: None });
        }
    }

    /// Records a RISC's load from a word for which the RISC may be waiting.
    fn note_poll(&mut self, risc_index: usize, address: u32, cycle: u64, stored: Stored) {
        match &mut self.riscs[risc_index].poll {
            Some(poll) if poll.address == address => {
                if !poll.is_repeated {
                    let last = poll.reading_count.checked_sub(1);
                    poll.began =
                        last.and_then(|last| poll.readings.get(last)).copied().unwrap_or(0);
                }
                (poll.is_repeated, poll.stored, poll.reading_count) = (true, stored, 0);
            }
            _ => {
                self.end_poll(risc_index);
                let poll = Poll {
                    address,
                    first: cycle,
                    is_repeated: false,
                    stored,
                    began: 0,
                    readings: [0; 3],
                    reading_count: 0,
                };
                self.riscs[risc_index].poll = Some(poll);
            }
        }
    }

    /// Records a RISC's store to a stream register.
    pub(crate) fn note_store(&mut self, risc_index: usize, address: u32, cycle: u64) {
        self.end_poll(risc_index);
        self.stores.insert(address, Stored { cycle, by: None });
        if Self::object(self.arch, address).is_some() {
            self.note_signal(risc_index);
        }
    }

    /// Records a RISC's store to a semaphore in its own tile.
    pub(crate) fn note_increment(&mut self, risc_index: usize, address: u32, now: (u64, Cycles)) {
        self.end_poll(risc_index);
        let (cycle, sent) = now;
        let risc = self.place.kind.risc(risc_index);
        let by = risc.map(|risc| ReleaseTruth { core: self.place.coord, risc, sent });
        self.stores.insert(address, Stored { cycle, by });
        self.note_signal(risc_index);
    }

    /// Records that a request from another tile has changed a semaphore.
    pub(crate) fn note_arrival(&mut self, address: u32, cycle: u64, by: Option<ReleaseTruth>) {
        self.stores.insert(address, Stored { cycle, by });
    }

    /// Records that a RISC changes a buffer's counter or a semaphore, which is a signal to another
    /// RISC.
    pub(crate) fn note_signal(&mut self, risc_index: usize) {
        self.riscs[risc_index].signal_count += 1;
        self.riscs[risc_index].has_signalled = true;
    }

    /// Records a RISC's read of the low word of the clock.
    pub(crate) fn note_clock(&mut self, risc_index: usize, low: u32) {
        let Some(windows) = self.windows else { return };
        let risc = &mut self.riscs[risc_index];
        if std::mem::take(&mut risc.has_signalled) {
            risc.windowed_count += u64::from(windows.is_open(low));
        }
        if let Some(poll) = &mut risc.poll
            && let Some(reading) = poll.readings.get_mut(poll.reading_count)
        {
            *reading = low;
            poll.reading_count += 1;
        }
    }

    /// Ends the current wait of a RISC, if any.
    fn end_poll(&mut self, risc_index: usize) {
        let poll = self.riscs[risc_index].poll.take().filter(|poll| poll.is_repeated);
        let Some(poll) = poll else { return };
        let Poll { address, first, stored, .. } = poll;
        let Some((kind, key)) = Self::awaited(self.arch, address) else { return };
        let cycles = stored.cycle.saturating_sub(first);
        let released_by = stored.by.filter(|_| kind == WaitKind::SEM_WAIT);
        let risc = &mut self.riscs[risc_index];
        risc.waits.push(Wait { kind, key, begin: first, cycles, released_by });
        if let Some(windows) = self.windows {
            // At a barrier, each poll also reads the clock. So three readings follow the last load:
            // the poll's, the one for the end of the wait, and the one for the wait's record.
            let [_, ended, recorded] = match barrier(address) {
                None => [0, poll.readings[0], poll.readings[1]],
                Some(_) => poll.readings,
            };
            let waited = ended.wrapping_sub(poll.began);
            let is_told = windows.has_wait(recorded.wrapping_sub(waited), recorded);
            risc.windowed_count += u64::from(is_told);
        }
    }

    /// Returns the buffer, semaphore or NoC barrier that a RISC waits for if it polls the word at
    /// `address`: the kind of wait, and the number or address of the object.
    pub(crate) fn awaited(arch: Arch, address: u32) -> Option<(WaitKind, u32)> {
        barrier(address).or_else(|| Self::object(arch, address))
    }

    /// Returns what a RISC that polls the word at `address` waits for: the kind of wait, and the
    /// number of the circular buffer or the address of the semaphore.
    ///
    /// Returns `None` if kernels record no waits for this word.
    ///
    /// # Compatibility
    /// `stream_io_map.h`: the registers that count received and acknowledged tiles.
    fn object(arch: Arch, address: u32) -> Option<(WaitKind, u32)> {
        if Self::is_semaphore(address) {
            return Some((WaitKind::SEM_WAIT, address));
        }
        let (received, acknowledged) = match arch {
            Arch::WormholeB0 => (0x10, 0x0C),
            Arch::Blackhole => (0x28, 0x20),
        };
        let buffer = address.checked_sub(STREAMS)? / STREAM_BYTES;
        let kind = match address % STREAM_BYTES {
            offset if offset == received => WaitKind::CB_WAIT,
            offset if offset == acknowledged => WaitKind::CB_RESERVE,
            _ => return None,
        };
        (buffer < FIRST_SILENT_BUFFER).then_some((kind, buffer))
    }

    /// Removes and returns each RISC's waits in a launch, with the number of records that the RISC
    /// has written for waits and signals.
    pub(crate) fn take(
        &mut self,
        context: &KernelContext,
        clock: &WallClock,
    ) -> [WatchedRisc; RISCS_PER_CORE] {
        (0..RISCS_PER_CORE).for_each(|risc_index| self.end_poll(risc_index));
        let &KernelContext { launch_index, program_id, .. } = context;
        let truth = |wait: &Wait| WaitTruth {
            launch_index,
            program_id,
            kind: wait.kind,
            key: wait.key,
            begin: clock.value(wait.begin),
            cycles: wait.cycles,
            released_by: wait.released_by,
        };
        let (records, windows) = (self.records, self.windows);
        std::mem::take(&mut self.riscs).map(|risc| WatchedRisc {
            waits: risc.waits.iter().map(truth).collect(),
            record_count: risc.record_count(records, windows),
        })
    }
}

impl RiscWatch {
    /// Returns the number of records that the RISC makes of waits and signals.
    fn record_count(&self, records: WaitRecords, windows: Option<SyncWindows>) -> u64 {
        let objects: BTreeSet<_> = self.waits.iter().map(|wait| (wait.kind, wait.key)).collect();
        let totals = objects.len() as u64;
        match records {
            WaitRecords::Off => 0,
            WaitRecords::Totals => totals,
            WaitRecords::Events if windows.is_some() => totals + self.windowed_count,
            WaitRecords::Events => totals + self.waits.len() as u64 + self.signal_count,
        }
    }
}

/// Returns the barrier that a RISC waits at if it polls a NoC counter, and the number of the NoC.
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
