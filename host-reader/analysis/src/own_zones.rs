//! Zones that the profiler records about itself: waits for the host, and pushes of records.

use super::ZoneStatistics;

/// Kind of the profiler's own zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnZone {
    /// Wait of a RISC until the host has read the RISC's records, in debug-dump mode.
    Stall,
    /// Push of the records of several launches to DRAM at once, in accumulate mode.
    SharedPush,
}

impl OwnZone {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Stall, Self::SharedPush];

    /// Returns the name of the zone.
    ///
    /// # Compatibility
    /// TT-Metal's `kernel_profiler.hpp` also uses the name `PROFILER-DRAM-PUSH`.
    #[must_use]
    pub const fn zone_name(self) -> &'static str {
        match self {
            Self::Stall => "PROFILER-DRAM-STALL",
            Self::SharedPush => "PROFILER-DRAM-PUSH",
        }
    }

    /// Returns a short, readable name.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Stall => "wait for the host",
            Self::SharedPush => "push of several launches",
        }
    }
}

/// Time that RISCs spent in zones of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTime {
    /// Number of zones with a recorded start and end.
    pub count: u64,
    /// Cycles of the zones, summed over all RISCs.
    pub cycles: u64,
    /// Cycles of the longest zone.
    pub longest_cycles: u64,
}

impl OwnTime {
    /// Returns the time of zones with the given lengths in cycles; `None` if there are none.
    ///
    /// ```
    /// use analysis::OwnTime;
    /// let time = OwnTime { count: 2, cycles: 65, longest_cycles: 60 };
    /// assert_eq!(OwnTime::from_zones([5, 60].into_iter()), Some(time));
    /// ```
    pub fn from_zones(lengths: impl Iterator<Item = u64>) -> Option<Self> {
        let mut time = Self::default();
        lengths.for_each(|cycles| time.add(Self::from_zone(cycles)));
        (time.count > 0).then_some(time)
    }

    /// Returns the time of a single zone.
    pub(super) const fn from_zone(cycles: u64) -> Self {
        Self { count: 1, cycles, longest_cycles: cycles }
    }

    /// Adds the time of `other`.
    pub(super) fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.cycles = self.cycles.saturating_add(other.cycles);
        self.longest_cycles = self.longest_cycles.max(other.longest_cycles);
    }
}

/// Returns the total time of the profiler's own zones of one kind; `None` if there are no such
/// zones.
///
/// ```
/// use analysis::{OwnTime, OwnZone, own_time, paired_zone_statistics};
/// use recording::device_log::read_device_log;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,PROFILER-DRAM-STALL,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,PROFILER-DRAM-STALL,ZONE_END
/// 0,1,2,NCRISC,7,120,0,1024,PROFILER-DRAM-STALL,ZONE_START
/// 0,1,2,NCRISC,7,125,0,1024,PROFILER-DRAM-STALL,ZONE_END
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let (zones, _) = paired_zone_statistics(&readout);
/// let stalls = OwnTime { count: 2, cycles: 65, longest_cycles: 60 };
/// assert_eq!(own_time(&zones, OwnZone::Stall), Some(stalls));
/// assert_eq!(own_time(&zones, OwnZone::SharedPush), None);
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[must_use]
pub fn own_time(zones: &[ZoneStatistics], kind: OwnZone) -> Option<OwnTime> {
    let mut time = OwnTime::default();
    for zone in zones.iter().filter(|zone| zone.name == kind.zone_name()) {
        let cycles = &zone.cycles;
        time.add(OwnTime {
            count: cycles.count,
            cycles: cycles.total_cycles,
            longest_cycles: cycles.max_cycles,
        });
    }
    (time.count > 0).then_some(time)
}
