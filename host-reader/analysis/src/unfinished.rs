//! Launches that had not ended when they were read: how many, and which zones were open.

use reader::{
    anomaly::AnomalyLog,
    lane::{Lane, LaneId},
    readout::Readout,
    role::ZoneRole,
    timeline::pair_lane,
};
use std::collections::BTreeMap;

/// The innermost zone that was open on a RISC when its launch was read for the last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenZone {
    /// Name of the zone; empty if unknown.
    pub name: String,
    /// Start of the zone, in cycles of the recording's clock.
    pub start_cycle: u64,
}

impl OpenZone {
    /// Returns the innermost open zone of a RISC whose last launch had not ended.
    #[must_use]
    pub fn of_lane(readout: &Readout, id: LaneId) -> Option<Self> {
        let lane = readout.lanes().find(|lane| lane.id == id)?;
        is_unfinished(lane).then(|| innermost(readout, lane)).flatten()
    }
}

fn is_unfinished(lane: &Lane) -> bool {
    lane.runs.last().is_some_and(|run| run.is_unfinished)
}

/// Returns the innermost zone of a lane's last run that is open.
fn innermost(readout: &Readout, lane: &Lane) -> Option<OpenZone> {
    let last = u32::try_from(lane.runs.len()).ok()?.checked_sub(1)?;
    let paired = pair_lane(lane, &readout.zones, &mut AnomalyLog::default());
    let open = paired.zones.iter().filter(|zone| zone.run == last && zone.flags.is_open());
    let zone = open.max_by_key(|zone| (zone.depth, zone.start_cycle))?;
    let name = readout.zones.name(zone.zone).to_owned();
    Some(OpenZone { name, start_cycle: zone.start_cycle })
}

/// Returns the number of a lane's runs in unfinished launches whose firmware had ended.
fn ended_count(readout: &Readout, lane: &Lane) -> u64 {
    if !lane.runs.iter().any(|run| run.is_unfinished) {
        return 0;
    }
    let paired = pair_lane(lane, &readout.zones, &mut AnomalyLog::default());
    let is_end = |run: u32| {
        let mut zones = paired.zones.iter().filter(|zone| zone.run == run && zone.depth == 0);
        let is_firmware = |index| ZoneRole::from_name(readout.zones.name(index)).is_firmware();
        zones.any(|zone| !zone.flags.is_open() && is_firmware(zone.zone))
    };
    let runs = lane.runs.iter().zip(0_u32..).filter(|(run, _)| run.is_unfinished);
    runs.filter(|(_, run)| is_end(*run)).count() as u64
}

/// Counts of launches that had not ended when they were read, for example because a kernel hung.
///
/// ```
/// use analysis::Unfinished;
/// use reader::readout::Readout;
/// assert!(Unfinished::from_readout(&Readout::default()).is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Unfinished {
    /// Number of runs: a launch counts once for each RISC.
    pub run_count: u64,
    /// Number of these runs whose firmware had ended, while another RISC of the launch had not.
    pub ended_count: u64,
    /// Number of runs that had not ended and whose open zones are unknown, because the RISC streams: it
    /// records a zone when the zone ends.
    pub unknown_count: u64,
    /// The innermost open zones of these runs, those on most RISCs first.
    pub open_zones: Vec<OpenZones>,
}

/// Open zones with the same name.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct OpenZones {
    /// Name of the zones; empty if unknown.
    pub name: String,
    /// Number of RISCs on which it is the innermost open zone.
    pub risc_count: u64,
    /// Earliest start, in cycles of the recording's clock.
    pub first_start_cycle: u64,
}

impl Unfinished {
    /// Counts the unfinished launches of a readout.
    #[must_use]
    pub fn from_readout(readout: &Readout) -> Self {
        let runs = readout.lanes().flat_map(|lane| &lane.runs);
        let run_count = runs.filter(|run| run.is_unfinished).count() as u64;
        let ended = readout.lanes().map(|lane| ended_count(readout, lane)).sum();
        let mut unknown_count = 0_u64;
        let mut zones = BTreeMap::<String, (u64, u64)>::new();
        for lane in readout.lanes().filter(|lane| is_unfinished(lane)) {
            match innermost(readout, lane) {
                Some(OpenZone { name, start_cycle }) => {
                    let (count, first) = zones.entry(name).or_insert((0, start_cycle));
                    *count = count.saturating_add(1);
                    *first = start_cycle.min(*first);
                }
                // A RISC that does not stream has its firmware's zone open until it ends.
                None if ended_count(readout, lane) == 0 => {
                    unknown_count = unknown_count.saturating_add(1);
                }
                None => {}
            }
        }
        let open_zones = zones.into_iter().map(|(name, (risc_count, first_start_cycle))| {
            OpenZones { name, risc_count, first_start_cycle }
        });
        let mut open_zones: Vec<_> = open_zones.collect();
        open_zones.sort_by_key(|zones| std::cmp::Reverse(zones.risc_count));
        Self { run_count, ended_count: ended, unknown_count, open_zones }
    }

    /// Returns the number of runs that had not ended.
    #[must_use]
    pub const fn running_count(&self) -> u64 {
        self.run_count.saturating_sub(self.ended_count)
    }

    /// Returns true if every launch had ended.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.run_count == 0
    }
}
