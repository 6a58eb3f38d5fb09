//! Analysis of recorded cycles: durations per op, statistics per zone, and a summary.
//!
//! | question | item |
//! |---|---|
//! | how long did each launch of each program take? | [`ops_of`] |
//! | which runs of which lanes make up a launch? | [`launches_of`] |
//! | where did the cycles go? | [`zone_statistics`], [`paired_zone_statistics`], [`Report::sums`] |
//! | what does a zone add to a sum of zones? | [`ZoneTime`], [`ZoneSum`] |
//! | how many records were kept, lost and repaired, and which anomalies were found? | [`Summary`] |
//! | which values were recorded, and how many? | [`Report::data`] |
//! | for what did RISCs wait, how often and how long? | [`Report::waits`] |
//! | which waits and signals does a run have? | [`SyncNames::runs_of`], [`RunSync`] |
//! | how many records are missing for each cause, and which options prevent such losses? | [`loss_groups`], [`loss_remedies`] |
//! | how much time did RISCs spend on the profiler? | [`own_time`] |
//! | which launches had not ended, and in which zones were they? | [`Unfinished`] |
//! | why is a figure of an op empty? | [`Doubt`] |
//! | what does a recording lack, in sentences? | [`lost_line`], [`Unfinished::lines`], [`nameless_line`], [`DoubtCounts`], [`kinds_line`] |
//! | how are all figures computed at once? | [`Report`] |
//! | how are figures computed lane by lane? | [`LaneFigures`], [`LaneRuns`], [`NumberedLaunches`] |
//! | how are the launches of a long log kept? | [`PackedLaunches`] |
//!
//! All figures are plain structs with their units in the names of their fields. Times of one core
//! are compared directly. Times of different cores are compared only after the readout has been
//! aligned by its [`TileOrigins`](reader::origins::TileOrigins). This crate prints nothing.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

mod codec;
pub mod counters;
mod data;
mod dispatch_names;
mod distribution;
mod doubt;
mod durations;
mod figures;
mod full_buffers;
mod join;
mod lanes;
mod latency;
mod loss_groups;
pub mod noc_events;
mod op;
mod own_zones;
mod packed_launches;
mod packed_runs;
mod peak;
pub mod probe_cost;
mod replays;
mod run_numbers;
mod shortfall;
mod span;
mod sub_device;
mod summary;
mod sums;
mod sync;
mod tally;
mod unfinished;
mod waits;
pub mod words;
mod zone_time;
mod zones;

pub use data::{DataKind, DataStatistics, EventStatistics};
pub use distribution::CycleStatistics;
pub use doubt::Doubt;
pub use full_buffers::{FullBuffer, FullBuffers};
pub use lanes::{LaneContext, LaneFigures, LaneRuns, launches_of, ops_of};
pub use loss_groups::{LossGroup, loss_groups, loss_remedies};
pub use op::{IMPLAUSIBLE_SKEW_CYCLES, Launch, LaunchRun, Op, RiscKernels};
pub use own_zones::{OwnTime, OwnZone, own_time};
pub use packed_launches::PackedLaunches;
pub use peak::MOST_PERCENT;
pub use probe_cost::SubtractedProbeCost;
pub use run_numbers::{NumberedLaunches, RunNumbers};
pub use shortfall::{DoubtCounts, LOST_OF_OPS_CSV, kinds_line, lost_line, nameless_line};
pub use span::{Span, cycles_to_ns};
pub use summary::{KeptCounts, KindCount, LossRow, Summary};
pub use sums::SumStatistics;
pub use sync::{
    Blocked, RunSync, SignalAt, SyncCounts, SyncDecoder, SyncName, SyncNames, Wait, WaitForm,
    WindowsAt,
};
pub use unfinished::{OpenZone, OpenZones, Unfinished};
pub use waits::WaitStatistics;
pub use zone_time::{
    PairedZone, ZoneDurations, ZoneSum, ZoneTime, ZoneWalk, paired_zones, zone_times,
};
pub use zones::{ZoneStatistics, paired_zone_statistics, zone_statistics};

use probe_cost::subtract_probe_costs;
use reader::{anomaly::AnomalyLog, probe_cost::ProbeCosts, readout::Readout, timeline::Timeline};

/// All figures of a readout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Counts of kept and lost records, anomalies and repairs.
    pub summary: Summary,
    /// Launches, sorted by chip and time.
    pub ops: PackedLaunches,
    /// Zones, sorted by chip, RISC and descending cycles.
    pub zones: Vec<ZoneStatistics>,
    /// Sum zones, sorted by chip, RISC and descending cycles.
    pub sums: Vec<SumStatistics>,
    /// Waits, sorted by chip, RISC and descending cycles.
    pub waits: Vec<WaitStatistics>,
    /// Data values, sorted by chip, RISC and id.
    pub data: Vec<DataStatistics>,
    /// Events, sorted by chip, RISC and id.
    pub events: Vec<EventStatistics>,
    /// Probe costs subtracted from the zones; `None` if zones stay as recorded. Ops and sums always
    /// stay as recorded.
    pub probe_cost: Option<SubtractedProbeCost>,
    /// Anomalies found while pairing: zones without an end, and ends without a start. Anomalies
    /// found while reading are in the readout.
    pub pairing: AnomalyLog,
}

impl Report {
    /// Computes all figures, with the cost of probes subtracted from the zones.
    #[must_use]
    pub fn without_probe_cost(readout: &Readout, costs: &ProbeCosts) -> Self {
        let timeline = Timeline::from_readout(readout);
        let (shortened, subtracted) = subtract_probe_costs(costs, readout, &timeline);
        Self {
            zones: zone_statistics(readout, &shortened),
            probe_cost: Some(subtracted),
            ..Self::new(readout)
        }
    }
}
