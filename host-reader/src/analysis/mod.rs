//! What the recorded cycles say: durations per op, statistics per zone, and a summary.
//!
//! | question | open |
//! |---|---|
//! | how long did each launch of each program take? | [`ops_of`] |
//! | which runs of which lanes make up a launch? | [`launches_of`] |
//! | where did the cycles go? | [`zone_statistics`], [`paired_zone_statistics`], [`sum_statistics`] |
//! | the same, where no records are kept | [`ZoneGathering`] |
//! | what was kept, lost, odd and repaired? | [`Summary`] |
//! | all of it at once | [`Report`] |
//!
//! All figures are plain structs with their units in the names of their fields. Times of
//! one core are compared as they are; times of different cores only after
//! [`TileOrigins`]. Printing is not done here.

#[cfg(test)]
mod cases;
mod distribution;
mod durations;
mod figures;
mod gathering;
#[cfg(test)]
mod gathering_properties;
mod join;
mod keywords;
mod latency;
mod op;
mod origins;
mod ranks;
mod span;
mod summary;
mod sums;
mod tally;
mod zones;

pub use distribution::CycleStatistics;
pub use gathering::{GatheredLanes, ZoneGathering};
pub(crate) use keywords::Keywords;
pub use op::{IMPLAUSIBLE_SKEW_CYCLES, Launch, LaunchRun, Op, RiscKernels, launches_of, ops_of};
pub use origins::TileOrigins;
pub use span::{Span, cycles_to_ns};
pub use summary::{KeptCounts, KindCount, LossRow, Summary};
pub use sums::{SumStatistics, sum_statistics};
pub use zones::{ZoneGrouping, ZoneStatistics, paired_zone_statistics, zone_statistics};

use crate::{
    probe_cost::{ProbeCostRow, ProbeCosts},
    readout::Readout,
    timeline::Timeline,
};

/// Every figure of a readout.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Report {
    /// What was kept, lost, odd and repaired.
    pub summary: Summary,
    /// Launches, by chip and time.
    pub ops: Vec<Op>,
    /// Zones, by chip and RISC, those with the most cycles first.
    pub zones: Vec<ZoneStatistics>,
    /// Sum zones, ordered in the same way.
    pub sums: Vec<SumStatistics>,
    /// What was subtracted from the zones, if anything was; ops and sums are as recorded.
    pub probe_cost: Option<SubtractedProbeCost>,
}

/// What was subtracted from zones, see [`ProbeCosts::subtract`].
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SubtractedProbeCost {
    /// The figures, by chip and RISC.
    pub costs: Vec<ProbeCostRow>,
    /// Zones that were shorter than the cost of their probes, and are now 0 cycles long.
    pub shorter_than_cost_count: u64,
    /// Zones of RISCs without figures, which are as they were.
    pub uncalibrated_zone_count: u64,
}

impl Report {
    /// Computes every figure.
    ///
    /// ```
    /// use host_reader::{analysis::{Report, TileOrigins}, log::read_device_log, timeline::Timeline};
    /// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
    /// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
    /// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
    /// 0,1,2,BRISC,8,110,0,1024,BRISC-KERNEL,ZONE_START
    /// 0,1,2,BRISC,8,150,0,1024,BRISC-KERNEL,ZONE_END
    /// 0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END
    /// ";
    /// let readout = read_device_log(log.as_bytes(), "my log")?;
    /// let timeline = Timeline::of_readout(&readout);
    /// let report = Report::new(&readout, &timeline, &TileOrigins::default());
    /// assert_eq!(report.ops[0].kernel.unwrap().duration_cycles, 40);
    /// assert_eq!(report.zones[0].cycles.max_ns, Some(60));
    /// assert_eq!(report.summary.kept.zones, 2);
    /// # Ok::<(), host_reader::log::LogError>(())
    /// ```
    #[must_use]
    pub fn new(readout: &Readout, timeline: &Timeline, origins: &TileOrigins) -> Self {
        Self {
            summary: Summary::new(readout, timeline),
            ops: ops_of(readout, origins),
            zones: zone_statistics(readout, timeline, ZoneGrouping::ByRisc),
            sums: sum_statistics(readout),
            probe_cost: None,
        }
    }

    /// Computes every figure, of zones without what their probes cost.
    #[must_use]
    pub fn without_probe_cost(
        readout: &Readout,
        timeline: &Timeline,
        origins: &TileOrigins,
        costs: &ProbeCosts,
    ) -> Self {
        let shortened = costs.subtract(readout, timeline);
        let report = Self::new(readout, timeline, origins);
        Self {
            zones: zone_statistics(readout, &shortened.timeline, ZoneGrouping::ByRisc),
            probe_cost: Some(SubtractedProbeCost {
                costs: shortened.costs,
                shorter_than_cost_count: shortened.shorter_than_cost_count,
                uncalibrated_zone_count: shortened.uncalibrated_zone_count,
            }),
            ..report
        }
    }
}

/// The RISC's label, for serialization: `wire` knows no serde.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(crate) fn risc_label<S: serde::Serializer>(
    risc: &wire::Risc,
    out: S,
) -> Result<S::Ok, S::Error> {
    out.serialize_str(risc.label())
}

/// As [`risc_label`], for figures over several RISCs.
#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn optional_risc_label<S: serde::Serializer>(
    risc: &Option<wire::Risc>,
    out: S,
) -> Result<S::Ok, S::Error> {
    match risc {
        Some(risc) => risc_label(risc, out),
        None => out.serialize_none(),
    }
}
