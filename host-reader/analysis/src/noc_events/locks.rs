//! Locks that kernels hold on memory.

use crate::noc_events::trace::TraceNotes;
use reader::{
    lane::{Annotated, Lane, LaneId, Record},
    names::ZoneTable,
};
use wire::{
    PacketKind, RunHostId, ZoneId,
    scoped_lock::{FIELD_MAX, LockEvent, LockEventKind},
};

/// Lock of a RISC on a range of memory. The lock ends with its unlock event, or with the RISC's
/// kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLock {
    /// Lane of the RISC.
    pub lane: LaneId,
    /// Program.
    pub program: RunHostId,
    /// Event that began the lock: a lock event, or the start of a region.
    pub kind: LockEventKind,
    /// First address in L1.
    pub address: u32,
    /// Number of bytes.
    pub byte_count: u32,
    /// Cycle at which the lock began.
    pub begin: u64,
    /// Cycle at which the lock ended; `None` if it was not recorded.
    pub end: Option<u64>,
}

impl MemoryLock {
    /// Returns true if the real address or size may be larger than recorded.
    #[must_use]
    pub const fn is_saturated(&self) -> bool {
        self.address == FIELD_MAX || self.byte_count == FIELD_MAX
    }

    /// Returns the cycles for which the memory was locked, if known.
    #[must_use]
    pub fn cycles(&self) -> Option<u64> {
        Some(self.end?.saturating_sub(self.begin))
    }

    /// Returns true if an event of the same RISC ends the lock: for a lock event, an unlock of the same
    /// bytes; for a region, any clear event.
    fn ends_with(&self, event: LockEvent) -> bool {
        match self.kind {
            LockEventKind::DfbRegionStart => event.kind == LockEventKind::DfbRegionClear,
            kind => {
                kind.unlock() == Some(event.kind)
                    && (self.address, self.byte_count) == (event.address, event.byte_count)
            }
        }
    }
}

/// Locks of a recording.
///
/// # Compatibility
/// Events with the id 23456 as tt-metal 0.81 records them. Earlier versions packed addresses
/// differently, which cannot be detected from the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Locks {
    /// Locks, sorted by RISC and start.
    pub all: Vec<MemoryLock>,
    /// Notes about events of unknown kind, and about ends without a matching beginning.
    pub notes: TraceNotes,
}

impl Locks {
    /// Collects the locks of a lane.
    ///
    /// An unlock ends the latest matching lock of its RISC in the same run of a program; a clear
    /// event ends all of the RISC's regions.
    pub(super) fn from_lane(lane: &Lane, zones: &ZoneTable) -> Self {
        let mut locks = Self::default();
        // Locks from this index on belong to the current program.
        let (mut program, mut first_lock) = (RunHostId(0), 0);
        for Annotated { record, run, .. } in lane.annotated_records() {
            // A push during a launch begins a new run of the same program.
            let run = run.and_then(|run| lane.runs.get(run)).map_or(program, |run| run.program);
            if run != program {
                (program, first_lock) = (run, locks.all.len());
            }
            if is_lock(&record, zones) {
                locks.add(lane.id, program, first_lock, &record);
            }
        }
        locks
    }

    fn add(&mut self, lane: LaneId, program: RunHostId, first_lock: usize, record: &Record<'_>) {
        let bits = record.data.first().copied().unwrap_or(u64::MAX);
        let Some(event) = LockEvent::unpack(bits) else {
            let what = format!("unknown kind of lock: {}", bits & 0xFF);
            return self.notes.add(what, lane, record.time);
        };
        let LockEvent { kind, address, byte_count } = event;
        if kind.unlock().is_some() || kind == LockEventKind::DfbRegionStart {
            let (begin, end) = (record.time, None);
            let lock = MemoryLock { lane, program, kind, address, byte_count, begin, end };
            return self.all.push(lock);
        }
        let open = self.all.iter_mut().skip(first_lock).rev();
        let mut ended = open.filter(|lock| lock.end.is_none() && lock.ends_with(event)).peekable();
        // A kernel may clear regions that it has not begun.
        if ended.peek().is_none() && kind != LockEventKind::DfbRegionClear {
            let what = format!("{} without its lock", kind.label());
            return self.notes.add(what, lane, record.time);
        }
        let most = if kind == LockEventKind::DfbRegionClear { usize::MAX } else { 1 };
        ended.take(most).for_each(|lock| lock.end = Some(record.time));
    }
}

/// Returns true if the record is an event of a lock.
pub(super) fn is_lock(record: &Record<'_>, zones: &ZoneTable) -> bool {
    record.kind == PacketKind::TimestampedData
        && zones.id(record.zone) == u32::from(ZoneId::NOC_DEBUGGING.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noc_events::NocLanes;
    use LockEventKind::{CbLock, CbUnlock, DfbRegionClear, DfbRegionStart, MemLock, MemUnlock};
    use recording::device_log::read_device_log;

    fn locks(events: &[(u32, u64, u64)]) -> Locks {
        let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,RISC \
                       processor type,timer_id,time[cycles since reset],data,run host ID,zone \
                       name,type\n"
            .to_owned();
        for (program, time, bits) in events {
            log += &format!("0,1,2,BRISC,23456,{time},{bits},{program},,TS_DATA\n");
        }
        NocLanes::from_readout(&read_device_log(log.as_bytes(), "locks").unwrap()).take_locks()
    }

    fn bits(kind: LockEventKind, address: u32, byte_count: u32) -> u64 {
        LockEvent { kind, address, byte_count }.pack()
    }

    fn shown(locks: &Locks) -> Vec<(LockEventKind, u32, u64, Option<u64>)> {
        locks.all.iter().map(|one| (one.kind, one.address, one.begin, one.end)).collect()
    }

    #[test]
    fn a_lock_ends_with_the_unlocking_of_the_same_bytes() {
        let found = locks(&[
            (1, 10, bits(CbLock, 64, 32)),
            (1, 20, bits(MemLock, 64, 32)),
            (1, 30, bits(CbLock, 64, 32)),
            (1, 40, bits(CbLock, 96, 32)),
            (1, 50, bits(CbUnlock, 64, 32)),
            (1, 60, bits(MemUnlock, 64, 16)),
            (1, 70, bits(CbUnlock, 64, 32)),
        ]);
        let expected = [
            (CbLock, 64, 10, Some(70)),
            (MemLock, 64, 20, None),
            (CbLock, 64, 30, Some(50)),
            (CbLock, 96, 40, None),
        ];
        assert_eq!(shown(&found), expected);
        assert_eq!(found.all[0].cycles(), Some(60));
        let notes: Vec<_> = found.notes.sentences().collect();
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("1 x MEM_UNLOCK without its lock"), "{notes:?}");
    }

    #[test]
    fn regions_end_together_and_nothing_outlives_its_program() {
        let found = locks(&[
            (1, 10, bits(DfbRegionStart, 0, 32)),
            (1, 20, bits(DfbRegionStart, 64, 32)),
            (1, 30, bits(DfbRegionClear, 0, 0)),
            (1, 40, bits(DfbRegionClear, 0, 0)),
            (1, 50, bits(MemLock, 0, 8)),
            (2, 60, bits(MemUnlock, 0, 8)),
        ]);
        let expected = [
            (DfbRegionStart, 0, 10, Some(30)),
            (DfbRegionStart, 64, 20, Some(30)),
            (MemLock, 0, 50, None),
        ];
        assert_eq!((shown(&found), found.notes.count()), (expected.to_vec(), 1));
    }

    #[test]
    fn a_number_without_a_meaning_is_named_and_the_rest_is_kept() {
        let found = locks(&[(1, 10, 0x0000_0020_0000_0008), (1, 20, bits(MemLock, 0, 1 << 30))]);
        assert!(found.all[0].is_saturated());
        assert_eq!(shown(&found), [(MemLock, 0, 20, None)]);
        let notes: Vec<_> = found.notes.sentences().collect();
        assert!(notes[0].starts_with("1 x unknown kind of lock: 8"), "{notes:?}");
    }
}
