//! Statistics of waits by object: circular buffers, semaphores and NoCs.

use super::{
    distribution::CycleStatistics,
    span::cycles_to_ns,
    sync::{RunSync, SyncCounts, SyncNames},
};
use reader::{lane::Lane, mesh::Noc0Coord, readout::Readout};
use std::collections::{BTreeMap, BTreeSet};
use wire::{
    Risc,
    wait::{WaitKind, WaitObject},
};

/// Waits of one RISC for one object, over all cores and launches of a chip.
///
/// ```
/// use analysis::Report;
/// use recording::device_log::read_device_log;
/// // TT-Metal's zones of waits for buffer 7.
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,SYNC-CB-WAIT,ZONE_START
/// 0,1,2,BRISC,8,110,7,1024,SYNC-CB-WAIT-KEY,TS_DATA
/// 0,1,2,BRISC,7,400,0,1024,SYNC-CB-WAIT,ZONE_END
/// ";
/// let waits = Report::new(&read_device_log(log.as_bytes(), "my log")?).waits;
/// assert_eq!((waits[0].key, waits[0].count, waits[0].max_cycles), (7, 1, Some(300)));
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitStatistics {
    /// Number of the chip.
    pub chip_id: u32,
    /// RISC that waited.
    pub risc: Risc,
    /// Kind of wait.
    pub kind: WaitKind,
    /// Number of the circular buffer or NoC, or L1 address of the semaphore.
    pub key: u32,
    /// Number of waits. For TT-Metal's zones, this includes waits that did not block.
    pub count: u64,
    /// Number of cores that waited.
    pub core_count: u64,
    /// Total cycles of the waits.
    pub total_cycles: u64,
    /// Median in cycles; `None` if some waits are only known as part of sums.
    pub median_cycles: Option<u64>,
    /// Maximum in cycles; `None` if some waits are only known as part of sums.
    pub max_cycles: Option<u64>,
    /// Total in nanoseconds.
    pub total_ns: Option<u64>,
    /// Median in nanoseconds.
    pub median_ns: Option<u64>,
    /// Maximum in nanoseconds.
    pub max_ns: Option<u64>,
    /// True if the real figures may be larger, because records were lost or a figure did not fit
    /// into its record.
    pub is_lower_bound: bool,
}

impl WaitStatistics {
    /// Returns a readable name of the object.
    ///
    /// ```
    /// use analysis::WaitStatistics;
    /// use wire::wait::WaitKind;
    /// assert_eq!(WaitStatistics::object_label(WaitKind::CB_WAIT, 16), "buffer 16");
    /// assert_eq!(WaitStatistics::object_label(WaitKind::SEM_WAIT, 0x9_0000), "semaphore 0x90000");
    /// ```
    #[must_use]
    pub fn object_label(kind: WaitKind, key: u32) -> String {
        match kind.object() {
            Some(WaitObject::CircularBuffer) => format!("buffer {key}"),
            Some(WaitObject::Semaphore) => format!("semaphore {key:#x}"),
            Some(WaitObject::Noc) => format!("NoC {key}"),
            None => format!("object {key}"),
        }
    }
}

/// RISC that waited, kind of wait, and key of the object.
type Key = (Risc, WaitKind, u32);

/// Waits by chip, RISC and object, collected lane by lane.
#[derive(Debug, Default)]
pub(super) struct WaitTotals(BTreeMap<u32, BTreeMap<Key, WaitGroup>>);

#[derive(Debug, Default)]
struct WaitGroup {
    cores: BTreeSet<Noc0Coord>,
    count: u64,
    cycles: u64,
    /// Cycles of each wait that has its own record.
    singles: Vec<u64>,
    is_lower_bound: bool,
}

impl WaitTotals {
    /// Adds the waits of a lane.
    pub(super) fn add_lane(&mut self, lane: &Lane, names: &SyncNames) {
        // Each wait has data that identifies its object.
        if names.is_empty() || lane.data.is_empty() {
            return;
        }
        let groups = self.0.entry(lane.id.chip_id).or_default();
        for run in names.runs_of(lane, &mut SyncCounts::default()).into_iter().flatten() {
            add_run(groups, lane, &run);
        }
    }

    /// Adds the waits of other lanes.
    pub(super) fn merge(&mut self, other: Self) {
        for (chip_id, others) in other.0 {
            let groups = self.0.entry(chip_id).or_default();
            for (key, others) in others {
                let group = groups.entry(key).or_default();
                group.cores.extend(others.cores);
                group.count = group.count.saturating_add(others.count);
                group.cycles = group.cycles.saturating_add(others.cycles);
                group.singles.extend(others.singles);
                group.is_lower_bound |= others.is_lower_bound;
            }
        }
    }

    /// Computes the statistics of all waits, grouped by chip and RISC, sorted by descending cycles.
    /// Clock frequencies and losses are read from `readout`.
    pub(super) fn statistics(mut self, readout: &Readout) -> Vec<WaitStatistics> {
        let losing = losing_riscs(readout);
        let mut statistics = Vec::new();
        for chip in readout.devices.iter().map(|device| &device.chip) {
            let groups = self.0.remove(&chip.chip_id).unwrap_or_default().into_iter();
            let mut rows: Vec<_> = groups
                .filter_map(|(key, group)| {
                    key.1.name()?;
                    let has_lost = losing.contains(&(chip.chip_id, key.0));
                    Some(statistics_of((chip.chip_id, chip.aiclk_mhz), key, &group, has_lost))
                })
                .collect();
            rows.sort_by_key(|row| (row.risc, std::cmp::Reverse(row.total_cycles)));
            statistics.append(&mut rows);
        }
        statistics
    }
}

fn add_run(groups: &mut BTreeMap<Key, WaitGroup>, lane: &Lane, run: &RunSync) {
    for ((kind, key), blocked) in run.sums() {
        let group = groups.entry((lane.id.risc, kind, key)).or_default();
        group.cores.insert(lane.id.core);
        group.count = group.count.saturating_add(blocked.waits);
        group.cycles = group.cycles.saturating_add(blocked.cycles);
        group.is_lower_bound |= blocked.is_lower_bound;
    }
    for wait in &run.waits {
        let group = groups.entry((lane.id.risc, wait.kind, wait.key)).or_default();
        group.singles.push(wait.end.saturating_sub(wait.start));
    }
}

/// Returns the chips and RISCs that lost records. The lost records may have been waits.
fn losing_riscs(readout: &Readout) -> BTreeSet<(u32, Risc)> {
    let losses = readout.losses.entries().filter(|(_, totals)| {
        totals.data > 0 || totals.unknown_markers > 0 || totals.is_lower_bound
    });
    losses.map(|(key, _)| (key.lane.chip_id, key.lane.risc)).collect()
}

fn statistics_of(
    (chip_id, aiclk_mhz): (u32, u32),
    (risc, kind, key): Key,
    group: &WaitGroup,
    has_lost: bool,
) -> WaitStatistics {
    let is_known = group.singles.len() as u64 == group.count;
    let single = is_known.then(|| CycleStatistics::from_durations(&group.singles, aiclk_mhz));
    WaitStatistics {
        chip_id,
        risc,
        kind,
        key,
        count: group.count,
        core_count: group.cores.len() as u64,
        total_cycles: group.cycles,
        median_cycles: single.map(|cycles| cycles.median_cycles),
        max_cycles: single.map(|cycles| cycles.max_cycles),
        total_ns: cycles_to_ns(group.cycles, aiclk_mhz),
        median_ns: single.and_then(|cycles| cycles.median_ns),
        max_ns: single.and_then(|cycles| cycles.max_ns),
        is_lower_bound: group.is_lower_bound || has_lost,
    }
}
