//! Launches that had not ended when they were read: how many, and which zones were open.

use crate::{
    numbers::{counted, grouped},
    terminal::{LONGEST_NAME, Style, printable, styled},
};
use host_reader::{
    anomaly::AnomalyLog,
    lane::{Lane, LaneId},
    readout::Readout,
    timeline::pair_lane,
};
use serde::Serialize;
use std::{collections::BTreeMap, io::Write};

/// The innermost zone that was open on a RISC when its launch was read for the last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenZone {
    pub(crate) name: String,
    /// Start of the zone, in cycles of the recording's clock.
    pub(crate) start_cycle: u64,
}

/// Returns the innermost open zone of a RISC whose last launch had not ended.
pub(crate) fn open_zone(readout: &Readout, id: LaneId) -> Option<OpenZone> {
    let lane = readout.lanes().find(|lane| lane.id == id)?;
    is_unfinished(lane).then(|| innermost(readout, lane)).flatten()
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
    let name = printable(readout.zones.name(zone.zone), LONGEST_NAME);
    Some(OpenZone { name, start_cycle: zone.start_cycle })
}

/// Counts of launches that had not ended when they were read.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Unfinished {
    /// Number of runs: a launch counts once for each RISC.
    run_count: u64,
    /// The innermost open zones of these runs.
    open_zones: Vec<OpenZones>,
}

/// Open zones with the same name.
#[derive(Debug, Serialize)]
struct OpenZones {
    name: String,
    /// Number of RISCs on which it is the innermost open zone.
    risc_count: u64,
    /// Earliest start, in cycles of the recording's clock.
    first_start_cycle: u64,
}

impl Unfinished {
    /// Counts the unfinished launches of a readout.
    pub(crate) fn from_readout(readout: &Readout) -> Self {
        let runs = readout.lanes().flat_map(|lane| &lane.runs);
        let run_count = runs.filter(|run| run.is_unfinished).count() as u64;
        let mut zones = BTreeMap::<String, (u64, u64)>::new();
        for lane in readout.lanes().filter(|lane| is_unfinished(lane)) {
            if let Some(OpenZone { name, start_cycle }) = innermost(readout, lane) {
                let (count, first) = zones.entry(name).or_insert((0, start_cycle));
                *count += 1;
                *first = start_cycle.min(*first);
            }
        }
        let open_zones = zones.into_iter().map(|(name, (risc_count, first_start_cycle))| {
            OpenZones { name, risc_count, first_start_cycle }
        });
        let mut open_zones: Vec<_> = open_zones.collect();
        open_zones.sort_by_key(|zones| std::cmp::Reverse(zones.risc_count));
        Self { run_count, open_zones }
    }

    /// Returns true if every launch had ended.
    pub(crate) const fn is_empty(&self) -> bool {
        self.run_count == 0
    }

    /// Writes the counts as lines of text, at most `rows` zones.
    pub(crate) fn write(&self, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let runs = counted(self.run_count, "run", "runs");
        let line = format!("Unfinished: {runs} had not ended; kept is what they had recorded");
        writeln!(out, "{}", styled(&line, Style::Doubtful))?;
        for OpenZones { name, risc_count, first_start_cycle } in self.open_zones.iter().take(rows) {
            let riscs = counted(*risc_count, "RISC", "RISCs");
            let since = grouped(*first_start_cycle);
            writeln!(out, "  in zone {name}: {riscs}, the first since cycle {since}")?;
        }
        if let hidden @ 1.. = self.open_zones.len().saturating_sub(rows) {
            let zones = counted(hidden as u64, "more zone", "more zones");
            writeln!(out, "  {zones}; --rows 0 shows all")?;
        }
        Ok(())
    }
}
