//! Model shared by all exporters: devices, cores, lanes, zones, points, ops and losses.

mod build;
mod comparison;
pub(super) mod first_kernels;
mod host;
mod identity;
mod items;
mod lane;
mod lane_parts;
mod loss;
mod names;
mod nesting;
mod noc;
mod op;
mod op_memory;
mod ops_by_start;
mod packed;
pub(super) mod place;
mod points;
mod source;
#[cfg(test)]
mod tests;
mod texts;
mod zones;

pub use comparison::TraceComparison;
pub use host::{TraceHost, TraceHostMark, TraceHostPlot, TraceHostThread, TracePlotPoint};
pub use items::TraceItems;
pub use lane::TraceLane;
pub use loss::TraceLoss;
pub use names::{NameId, TraceName, TraceNames};
pub use noc::TraceNoc;
pub(super) use noc::kind_of;
#[cfg(feature = "parquet")]
pub(super) use op::FreeRows;
pub use op::{TraceOp, op_label};
pub use op_memory::TraceMemory;
pub use packed::{LanePart, PackedCounts, PackedTrace};
pub use points::{PointCategory, TracePoint};
pub use source::{ProgramSource, SourceLine};
pub use texts::ZoneTexts;
pub(super) use zones::edges_of_depths;
pub use zones::{TraceZone, TraceZones, ZoneEdge};

use analysis::{FullBuffers, Unfinished};
use reader::{
    anomaly::AnomalyLog,
    lane::Lane,
    ledger::{LossCause, LossKey, LossLedger, LossTotals, UncountedSource},
    readout::ChipSummary,
};
use recording::{DeviceClock, OpCalls, capture::sync::MeshClock};
use reports::report::BufferPeaks;
use wire::Risc;

/// Model of a recording: everything that exporters show, in display order.
///
/// Times are nanoseconds since the trace's origin, so they are never negative. Cycles are those of
/// each chip's reference clock.
///
/// ```
/// use recording::device_log::read_device_log;
/// use export::*;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
/// 0,1,2,BRISC,8,110,0,1024,LOAD,ZONE_START
/// 0,1,2,BRISC,8,150,0,1024,LOAD,ZONE_END
/// 0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let recording = Recording::from_readout(readout);
/// let trace = Trace::new(&recording, &TraceFilter::default());
/// let device = &trace.devices[0];
/// let load = device.lanes[0].zones.get(1).unwrap();
/// assert_eq!(trace.names.label(load.name), "LOAD");
/// assert_eq!((load.start_ns, load.end_ns, load.duration_cycles, load.depth), (20, 100, 40, 1));
/// assert_eq!(device.ops[0].label(), "program 1");
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    /// Title of the trace: the name of a file or workload. The title is empty unless the caller
    /// sets it.
    pub title: String,
    /// The host's clock, with the samples that relate it to the chips' clocks; `None` if no chip
    /// was synchronised with the host.
    pub mesh_clock: Option<&'a MeshClock>,
    /// Chips, in the order of the readout. A chip is listed even if a filter hides all its lanes.
    pub devices: Vec<TraceDevice<'a>>,
    /// Names of zones, events, values and sums.
    pub names: TraceNames<'a>,
    /// Calls of ops in the user's program.
    pub calls: &'a OpCalls,
    /// True if a module of a model is known to have called an op.
    pub has_modules: bool,
    /// NoC events, as in TT-Metal's traces.
    pub noc: TraceNoc,
    /// Zones, messages, signposts, frame marks and plots of the host.
    pub host: TraceHost<'a>,
    /// Peak memory use on the chips, by memory and op; empty if the host reported no buffers.
    pub buffers: BufferPeaks,
    /// Trace's origin on the host's clock, in nanoseconds; `None` unless the times of all chips
    /// with records can be converted to the host's clock.
    pub origin_host_ns: Option<i64>,
    /// Anomalies and repairs found while reading and pairing, including those in hidden records.
    pub anomalies: AnomalyLog,
    /// Numbers of lanes, zones and other items that the filter hides.
    pub hidden: HiddenCounts,
    /// Losses of chips that are not in the readout.
    pub unplaced_losses: Vec<(LossKey, LossTotals)>,
    /// Causes of slowness, shown by HTML pages and Perfetto; `None` unless the caller sets them.
    pub explanation: Option<causes::Explanation>,
    /// Changes against another recording, shown by HTML pages; `None` unless the caller sets them.
    pub comparison: Option<TraceComparison>,
    /// Cycles of source lines, by program, shown by HTML pages; empty unless the caller sets them.
    pub source: Vec<ProgramSource>,
    /// What L1 and DRAM held during ops, shown by HTML pages; `None` unless the caller sets it.
    pub memory: Option<TraceMemory>,
    /// Sources of records that do not report how many records they lost.
    pub uncounted: Vec<UncountedSource>,
    /// Launches that had not ended when they were read, including hidden ones.
    pub unfinished: Unfinished,
    /// Runs whose zones fill a buffer, so that zones may be missing if the log does not count its losses.
    pub full_buffers: FullBuffers,
}

/// One chip of a trace.
#[derive(Clone, Debug)]
pub struct TraceDevice<'a> {
    /// Chip.
    pub chip: &'a ChipSummary,
    /// Conversion from cycles to the trace's time.
    pub clock: DeviceClock<'a>,
    /// Lanes, sorted by core x, core y and RISC. Lanes that lost all their records are included.
    pub lanes: Vec<TraceLane<'a>>,
    /// Launches, sorted by start.
    pub ops: Vec<TraceOp<'a>>,
    /// Number of runs that cores have finished without pushing their records to DRAM yet.
    pub pending_run_count: u64,
    /// Number of launches without a kernel, which the firmware discarded.
    pub discarded_launch_count: u64,
}

/// One run of one lane of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceRun {
    /// Index in [`TraceDevice::lanes`].
    pub lane: usize,
    /// Index in [`TraceLane::runs`].
    pub run: usize,
}

/// Numbers of items that a filter hides. If a number is not 0, the output is not complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct HiddenCounts {
    /// Number of lanes of which the output shows nothing.
    pub lanes: u64,
    /// Number of hidden zones, including those of hidden lanes.
    pub zones: u64,
    /// Number of hidden events, values and sums, including those of hidden lanes.
    pub points: u64,
    /// Number of hidden ops.
    pub ops: u64,
    /// Number of lost records in the hidden losses.
    pub lost_records: u64,
}

impl HiddenCounts {
    /// Returns true if nothing is hidden.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    const fn add(&mut self, other: Self) {
        self.lanes += other.lanes;
        self.zones += other.zones;
        self.points += other.points;
        self.ops += other.ops;
        self.lost_records += other.lost_records;
    }
}

impl Trace<'_> {
    /// Returns the lanes of all chips.
    pub fn lanes(&self) -> impl Iterator<Item = &TraceLane<'_>> {
        self.devices.iter().flat_map(|device| &device.lanes)
    }

    /// Returns the kinds of RISCs, sorted by RISC number.
    ///
    /// The RISCs of a Quasar come last. RISCs of a Quasar are included only if a lane belongs to a
    /// Quasar.
    pub(crate) fn risc_kinds(&self) -> impl Iterator<Item = Risc> + use<> {
        let has_quasar = self.lanes().any(|lane| lane.id.risc.is_quasar());
        Risc::ALL.into_iter().filter(move |risc| has_quasar || !risc.is_quasar())
    }

    /// Returns the number of lanes.
    #[must_use]
    pub fn lane_count(&self) -> usize {
        self.devices.iter().map(|device| device.lanes.len()).sum()
    }

    /// Returns the number of zones.
    #[must_use]
    pub fn zone_count(&self) -> usize {
        self.lanes().map(|lane| lane.zones.len()).sum()
    }

    /// Returns the number of events, values and sums.
    #[must_use]
    pub fn point_count(&self) -> usize {
        self.lanes().map(|lane| lane.points.len()).sum()
    }

    /// Returns the number of zones that are drawn shorter than recorded, because otherwise they
    /// would not nest.
    ///
    /// Zones of packed lanes are not counted. The records of a packed lane are sorted by time, so
    /// its runs do not overlap and all of its zones nest.
    #[must_use]
    pub fn clipped_zone_count(&self) -> usize {
        self.lanes().map(|lane| lane.zones.clipped_count()).sum()
    }

    /// Returns the numbers of lost records, except losses that the filter hides. Records that
    /// kernels left out on purpose do not count.
    #[must_use]
    pub fn lost(&self) -> LossTotals {
        self.missing(|cause| !cause.is_intended())
    }

    /// Returns the losses that the filter does not hide, and the sources that count none.
    pub(crate) fn loss_ledger(&self) -> LossLedger {
        let mut ledger = LossLedger::default();
        for lane in self.lanes() {
            for &TraceLoss { cause, program, totals, .. } in &lane.losses {
                ledger.add_in_windows(LossKey { lane: lane.id, cause, program }, totals);
            }
        }
        self.unplaced_losses.iter().for_each(|&(key, totals)| ledger.add_in_windows(key, totals));
        self.uncounted.iter().for_each(|&source| ledger.note_uncounted(source));
        ledger
    }

    /// Returns the numbers of records that kernels left out on purpose, because they were
    /// configured to do so.
    #[must_use]
    pub fn left_out(&self) -> LossTotals {
        self.missing(LossCause::is_intended)
    }

    fn missing(&self, is_wanted: impl Fn(LossCause) -> bool) -> LossTotals {
        let placed = self.lanes().flat_map(|lane| &lane.losses);
        let placed = placed.map(|loss| (loss.cause, loss.totals));
        let unplaced = self.unplaced_losses.iter().map(|&(key, totals)| (key.cause, totals));
        let mut missing = LossTotals::default();
        let wanted = placed.chain(unplaced).filter(|&(cause, _)| is_wanted(cause));
        wanted.for_each(|(_, totals)| missing.add(totals));
        missing
    }

    /// Returns the time at which the last item ends, in nanoseconds since the origin.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.devices
            .iter()
            .map(|device| device.clock.time_ns(device.clock.last_cycle()))
            .chain(self.host.end_ns())
            .max()
            .unwrap_or(0)
    }
}

impl<'a> TraceDevice<'a> {
    /// Returns the lanes grouped by core.
    pub fn cores(&self) -> impl Iterator<Item = &[TraceLane<'a>]> {
        self.lanes.chunk_by(|one, other| one.id.core == other.id.core)
    }

    /// Returns the index in [`TraceDevice::cores`] of each lane's core.
    #[must_use]
    pub fn core_of_lane(&self) -> Vec<usize> {
        self.cores().enumerate().flat_map(|(core, lanes)| lanes.iter().map(move |_| core)).collect()
    }
}

/// Returns the latest time of a run's records on the chip's reference clock.
fn run_end_cycle(lane: &Lane, run: usize) -> Option<u64> {
    let times = lane.times.get(lane.run_records(run))?;
    times.iter().copied().max()
}
