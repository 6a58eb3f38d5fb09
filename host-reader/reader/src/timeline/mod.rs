//! Timeline: zones with a start and an end, paired from the records of each lane.
//!
//! Each start becomes exactly one zone. If the end is missing, the zone is closed at the end of its
//! parent or of its run, and flagged as open. An end without a start does not become a zone, but is
//! counted. Other modules compute statistics over zones.

mod lengths;
mod order;
mod pair;
mod stack;

pub use lengths::{LaneLengths, RunLengths, WholeZone};
pub use pair::pair_lane;

use crate::{
    anomaly::AnomalyLog,
    lane::{LaneId, ZoneIndex},
    readout::Readout,
};
use rayon::prelude::*;

/// Flags of a zone, such as a missing end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneFlags(u8);

impl ZoneFlags {
    /// The end is not recorded; it was set to the end of the parent or the run.
    pub const OPEN: Self = Self(1);

    /// Returns true if the end is not recorded.
    #[must_use]
    #[inline]
    pub const fn is_open(self) -> bool {
        self.0 & Self::OPEN.0 != 0
    }
}

/// Run index of zones that are before the first run of their lane.
pub const NO_RUN: u32 = u32::MAX;

/// The zones of one lane in columns, ordered by start. A parent comes before its children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zones {
    /// Starts, as cycles of the tile's own clock.
    pub starts: Vec<u64>,
    /// Ends, as cycles of the tile's own clock; never before the start.
    pub ends: Vec<u64>,
    /// Zone ids.
    pub zones: Vec<ZoneIndex>,
    /// Number of enclosing zones in the same run; 0 for an outermost zone.
    pub depths: Vec<u16>,
    /// Index of the zone's run in the lane, or [`NO_RUN`].
    pub runs: Vec<u32>,
    /// Flags, such as a missing end.
    pub flags: Vec<ZoneFlags>,
}

/// One zone, assembled from the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Zone {
    /// Start, as a cycle of the tile's own clock.
    pub start_cycle: u64,
    /// End, as a cycle of the tile's own clock.
    pub end_cycle: u64,
    /// Zone id.
    pub zone: ZoneIndex,
    /// Number of enclosing zones in the same run.
    pub depth: u16,
    /// Index of the zone's run in the lane, or [`NO_RUN`].
    pub run: u32,
    /// Flags, such as a missing end.
    pub flags: ZoneFlags,
}

impl Zone {
    /// Returns the duration: the cycles from start to end.
    #[must_use]
    pub const fn duration_cycles(&self) -> u64 {
        self.end_cycle.saturating_sub(self.start_cycle)
    }
}

impl Zones {
    /// Returns the number of zones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns true if there are no zones.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the zone with this index.
    #[must_use]
    pub fn zone(&self, index: usize) -> Option<Zone> {
        Some(Zone {
            start_cycle: *self.starts.get(index)?,
            end_cycle: *self.ends.get(index)?,
            zone: *self.zones.get(index)?,
            depth: *self.depths.get(index)?,
            run: *self.runs.get(index)?,
            flags: *self.flags.get(index)?,
        })
    }

    /// Iterates over all zones in order.
    pub fn iter(&self) -> impl Iterator<Item = Zone> + '_ {
        (0..self.len()).filter_map(|index| self.zone(index))
    }

    fn clear(&mut self) {
        let Self { starts, ends, zones, depths, runs, flags } = self;
        starts.clear();
        ends.clear();
        zones.clear();
        depths.clear();
        runs.clear();
        flags.clear();
    }

    fn reserve(&mut self, count: usize) {
        self.starts.reserve(count);
        self.ends.reserve(count);
        self.zones.reserve(count);
        self.depths.reserve(count);
        self.runs.reserve(count);
        self.flags.reserve(count);
    }
}

/// One lane's zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneTimeline {
    /// The lane.
    pub id: LaneId,
    /// The zones.
    pub zones: Zones,
    /// Number of zones without a recorded end.
    pub open_zone_count: u64,
    /// Number of zone ends without a start.
    pub orphan_end_count: u64,
}

impl LaneTimeline {
    /// Returns the number of zones with a recorded start and end.
    #[must_use]
    pub fn whole_zone_count(&self) -> u64 {
        (self.zones.len() as u64).saturating_sub(self.open_zone_count)
    }
}

/// The zones of one chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceTimeline {
    /// Number of the chip.
    pub chip_id: u32,
    /// One timeline for each lane in the chip's readout, in the same order.
    pub lanes: Vec<LaneTimeline>,
}

/// The zones of a whole readout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// One timeline for each chip in the readout, in the same order.
    pub devices: Vec<DeviceTimeline>,
    /// Open zones and orphan ends. Anomalies found when the data was read are in the readout
    /// instead.
    pub anomalies: AnomalyLog,
}

impl Timeline {
    /// Pairs the starts and ends in all lanes of a readout, several lanes in parallel.
    ///
    /// ```
    /// use recording::device_log::read_device_log;
    /// use reader::timeline::Timeline;
    /// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
    /// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
    /// 0,1,2,BRISC,7,100,0,1024,OUTER,ZONE_START
    /// 0,1,2,BRISC,8,110,0,1024,INNER,ZONE_START
    /// 0,1,2,BRISC,8,150,0,1024,INNER,ZONE_END
    /// 0,1,2,BRISC,7,160,0,1024,OUTER,ZONE_END
    /// ";
    /// let readout = read_device_log(log.as_bytes(), "my log")?;
    /// let timeline = Timeline::from_readout(&readout);
    /// let zones = &timeline.devices[0].lanes[0].zones;
    /// let durations: Vec<_> = zones.iter().map(|zone| zone.duration_cycles()).collect();
    /// assert_eq!(durations, [60, 40]);
    /// assert_eq!(zones.depths, [0, 1]);
    /// # Ok::<(), recording::device_log::LogError>(())
    /// ```
    #[must_use]
    pub fn from_readout(readout: &Readout) -> Self {
        let mut timeline = Self::default();
        for device in &readout.devices {
            let paired: Vec<_> = device
                .lanes
                .par_iter()
                .map(|lane| {
                    let mut anomalies = AnomalyLog::default();
                    let lane = pair_lane(lane, &readout.zones, &mut anomalies);
                    (lane, anomalies)
                })
                .collect();
            let mut lanes = Vec::with_capacity(paired.len());
            for (lane, anomalies) in paired {
                lanes.push(lane);
                timeline.anomalies.merge(anomalies);
            }
            timeline.devices.push(DeviceTimeline { chip_id: device.chip.chip_id, lanes });
        }
        timeline
    }

    /// Iterates over all lanes of all chips.
    pub fn lanes(&self) -> impl Iterator<Item = &LaneTimeline> {
        self.devices.iter().flat_map(|device| &device.lanes)
    }
}
