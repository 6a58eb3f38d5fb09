//! A device log with packed lanes, for outputs that process one lane at a time.

use crate::{
    Collected, DeviceClock, OpenedLog, Recording,
    clock::{lane_bounds, unrelated_clocks, wider},
    device_log::PackedLanes,
};
use analysis::{LaneContext, LaneRuns, NumberedLaunches};
use reader::{
    from_lanes::{FromLanes, LanesContext},
    lane::Lane,
    packed_bytes::PackedError,
};
use std::collections::{BTreeMap, BTreeSet};
use wire::ZoneId;

/// A device log with packed lanes, and the results that require all lanes.
///
/// ```
/// use recording::{PackedRecording, device_log::PackedLog};
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END
/// ";
/// let packed = PackedRecording::new(PackedLog::read(log.as_bytes(), "my log")?.into())?;
/// let op = packed.launches.launches.ops().next().unwrap();
/// assert_eq!(op.firmware.unwrap().duration_ns, Some(60));
/// let [id] = packed.lanes.ids().collect::<Vec<_>>()[..] else { panic!("one lane") };
/// assert_eq!(packed.lanes.lane(id)?.unwrap().record_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PackedRecording {
    /// The recording, without lanes.
    pub recording: Recording,
    /// The lanes.
    pub lanes: PackedLanes,
    /// Launches, numbered by chip and then by time. Also contains the number of each run's launch.
    pub launches: NumberedLaunches,
    /// Zone indices that occur in records.
    pub used_zones: BTreeSet<u32>,
    /// Earliest and latest cycle of each chip that has records.
    bounds: BTreeMap<u32, (u64, u64)>,
}

/// Results collected from several lanes.
#[derive(Default)]
struct Seen {
    runs: LaneRuns,
    used_zones: BTreeSet<u32>,
    bounds: BTreeMap<u32, (u64, u64)>,
}

impl FromLanes for Seen {
    type Context<'readout> = LaneContext<'readout>;

    fn add(&mut self, context: &LaneContext<'_>, lane: &Lane) {
        self.runs.add(context, lane);
        let mut last = None;
        for zone in lane.heads.iter().map(|head| head.zone().0) {
            if last.replace(zone) != Some(zone) {
                self.used_zones.insert(zone);
            }
        }
        if let Some(bounds) = lane_bounds(lane) {
            self.widen(lane.id.chip_id, bounds);
        }
    }
}

impl Seen {
    fn widen(&mut self, chip_id: u32, bounds: (u64, u64)) {
        let known = self.bounds.entry(chip_id).or_insert(bounds);
        *known = wider(*known, bounds);
    }

    fn from_parts(parts: Vec<Self>) -> Self {
        let mut all = Self::default();
        for Self { runs, used_zones, bounds } in parts {
            all.runs.merge(runs);
            all.used_zones.extend(used_zones);
            bounds.into_iter().for_each(|(chip_id, bounds)| all.widen(chip_id, bounds));
        }
        all
    }
}

impl PackedRecording {
    /// Returns a kind of data in the log that can only be processed if all lanes are unpacked at
    /// the same time; `None` if there is no such data.
    #[must_use]
    pub fn obstacle(log: &OpenedLog) -> Option<&'static str> {
        let lanes = &log.log.lanes;
        if lanes.has_marker(ZoneId::PERF_COUNTER) {
            return Some("hardware counters");
        }
        let has_noc_events = lanes.has_marker(ZoneId::NOC_TRACING) || !log.noc_traces.is_empty();
        has_noc_events.then_some("NoC events")
    }

    /// Creates the recording, reading each lane once. If the log has an [obstacle](Self::obstacle),
    /// that kind of data is omitted.
    ///
    /// # Errors
    /// If records cannot be written to the temporary file or read back from it.
    pub fn new(log: OpenedLog) -> Result<Self, PackedError> {
        let Collected { recording, lanes, parts } = log.collect_and_keep()?;
        let Seen { runs, used_zones, bounds } = Seen::from_parts(parts);
        let launches = runs.numbered_launches(&recording.readout, lanes.memory());
        lanes.memory().check()?;
        Ok(Self { recording, lanes, launches, used_zones, bounds })
    }

    /// Collects data from all lanes, in several parts. Each thread unpacks one lane at a time.
    ///
    /// # Errors
    /// If records cannot be read back from the temporary file.
    pub fn collect<F: FromLanes>(&self) -> Result<Vec<F>, PackedError> {
        let context = F::Context::new(&self.recording.readout, self.lanes.memory());
        // The anomalies of the lanes have been counted when the recording was created.
        let (parts, _) = self.lanes.visit(|part: &mut F, lane| part.add(&context, &lane))?;
        Ok(parts)
    }

    /// Returns the clock of each chip.
    #[must_use]
    pub fn clocks(&self) -> Vec<DeviceClock<'_>> {
        let devices = &self.recording.readout.devices;
        let bounds = devices.iter().map(|device| device.chip.chip_id);
        let bounds = bounds.map(|chip_id| self.bounds.get(&chip_id).copied().unwrap_or((0, 0)));
        unrelated_clocks(devices, bounds)
    }
}
