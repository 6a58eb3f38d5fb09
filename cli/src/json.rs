//! The JSON object printed by `--json`.

use crate::{
    buffers::{self, BufferDocument},
    clocks::{ChipClock, chip_clocks},
    counter_tables::OpCounters,
    numbers::{counted, grouped},
    output::Findings,
    watermark::fullest_lane,
};
use host_reader::{
    analysis::{
        DataStatistics, EventStatistics, FullBuffer, KeptCounts, KindCount, SubtractedProbeCost,
        Unfinished, nameless_line,
    },
    export::HiddenLaunches,
    host::HostRecording,
    ledger::{LossCause, LossLedger, UncountedSource},
    read::LaneWatermark,
    recording::Recording,
    tables::{
        LossRow, Losses, Object, OpObjects, Rows, Standing, SumStatisticsTable,
        WaitStatisticsTable, ZoneStatisticsTable,
    },
};
use serde::Serialize;
use std::io::Write;

/// JSON output of a report.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    #[serde(flatten)]
    source: &'a Source<'a>,
    /// Numbers of records that were read. A zone counts as one record, even if its end was not
    /// recorded.
    kept: Object<KeptCounts>,
    lost: Lost,
    anomalies: u64,
    repairs: u64,
    anomaly_kinds: &'a [KindCount],
    repair_kinds: &'a [KindCount],
    pending_runs: u64,
    /// Launches that had not ended when they were read, if there are any.
    #[serde(skip_serializing_if = "Unfinished::is_empty")]
    unfinished: Unfinished,
    /// Sentence about zones without a name, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    nameless_zones: Option<String>,
    discarded_launches: u64,
    words_read: u64,
    fullest_lane: Option<Object<LaneWatermark>>,
    ops: OpObjects<'a>,
    zones: Rows<'a, ZoneStatisticsTable>,
    sums: Rows<'a, SumStatisticsTable>,
    waits: Rows<'a, WaitStatisticsTable>,
    data: &'a [DataStatistics],
    events: &'a [EventStatistics],
    /// Hardware counters and their metrics, by launch.
    hardware_counters: &'a [OpCounters],
    /// Probe costs subtracted from `zones`, if any.
    probe_cost: Option<&'a SubtractedProbeCost>,
    losses: Rows<'a, Losses>,
    /// Peak buffer use, if the host reported its buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    buffers: Option<BufferDocument<'a>>,
    /// Counts of the data that `--filter` removed, if the option is given.
    filtered_out: Option<&'a FilteredOut>,
    /// Limits of a chip that simulated times leave out; `None` if it is unknown whether the times
    /// are simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    unmodelled_limits: Option<&'a [String]>,
    /// Limits of the model that the run lifted.
    #[serde(skip_serializing_if = "Option::is_none")]
    lifted_limits: Option<&'a [String]>,
}

/// Counts of the data that a filter removed.
#[derive(Serialize)]
pub(crate) struct FilteredOut {
    #[serde(flatten)]
    pub(crate) launches: HiddenLaunches,
    /// Number of rows of zones, sums and waits that the filter removes because of their zone names.
    pub(crate) row_count: u64,
}

impl FilteredOut {
    /// Writes the counts as one line of text.
    pub(crate) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let HiddenLaunches { launch_count, lane_count, record_count, lost_record_count, .. } =
            self.launches;
        writeln!(
            out,
            "Filtered out: {}, {}, {}, {}, {}",
            counted(launch_count, "launch", "launches"),
            counted(lane_count, "lane", "lanes"),
            counted(record_count, "record", "records"),
            counted(lost_record_count, "lost record", "lost records"),
            counted(
                self.row_count,
                "row of zones, sums and waits",
                "rows of zones, sums and waits"
            ),
        )
    }
}

/// Numbers of missing records, by cause, summed over all kinds of records.
#[derive(Serialize)]
pub(crate) struct Lost {
    /// Number of lost records: all causes except omissions on purpose; `None` if nothing is known.
    records: Option<u64>,
    /// Number of records that were omitted on purpose.
    omitted_records: u64,
    l1_full: u64,
    dram_full: u64,
    validate_off: u64,
    other: u64,
    is_lower_bound: bool,
    /// Reasons why more records may be lost: sources of records that do not count their losses.
    uncounted: Vec<&'static str>,
    /// RISCs with runs whose zones fill a buffer, of a log that does not count its losses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    full_buffers: Vec<FullBuffer>,
}

/// Counts of the events that the host's threads recorded.
#[derive(Default, Serialize)]
pub(crate) struct HostCounts {
    host_events: u64,
    host_events_dropped: u64,
    /// Relations of the chips' clocks to the host's clock, if clocks were sampled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clocks: Vec<ChipClock>,
}

impl HostCounts {
    pub(crate) fn new(run: &Recording) -> Self {
        Self {
            host_events: run.host.iter().map(HostRecording::event_count).sum(),
            host_events_dropped: run.host.iter().map(HostRecording::dropped_count).sum(),
            clocks: chip_clocks(run),
        }
    }

    /// Writes one line for each clock. If there are host events, also writes one line with their
    /// counts.
    pub(crate) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        for clock in &self.clocks {
            writeln!(out, "{}", clock.line())?;
        }
        let Self { host_events, host_events_dropped, .. } = *self;
        if (host_events, host_events_dropped) == (0, 0) {
            return Ok(());
        }
        let events = counted(host_events, "event", "events");
        writeln!(out, "Host: {events}, {} dropped", grouped(host_events_dropped))
    }
}

/// Information about the run that is not part of the report.
#[derive(Serialize)]
pub(crate) struct Source<'a> {
    pub(crate) arch: &'a str,
    pub(crate) devices: usize,
    pub(crate) worker_cores: Option<u32>,
    pub(crate) launches: u64,
    /// One sentence for each failure of a kernel.
    pub(crate) execution_failures: &'a [String],
    /// Where the RISCs stand in launches that did not end, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) standing: Option<Rows<'static, Standing>>,
    /// Number of reads while launches ran, and the simulated time before each of these reads;
    /// `None` if chips were read only between launches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reads: Option<ReadCounts>,
    /// Counts of the host's events.
    #[serde(flatten)]
    pub(crate) host: HostCounts,
}

impl<'a> Source<'a> {
    /// Returns information about a recording whose chips were not simulated by this process.
    pub(crate) fn new(findings: &'a Findings, host: HostCounts) -> Self {
        let Findings { readout, report, .. } = findings;
        let chip = readout.devices.first().map(|device| &device.chip);
        Self {
            arch: chip.map_or("", |chip| &chip.arch),
            devices: readout.devices.len(),
            worker_cores: chip.and_then(|chip| chip.max_compute_cores),
            launches: report.ops.len() as u64,
            execution_failures: &[],
            standing: None,
            reads: None,
            host,
        }
    }
}

/// Number of reads while launches ran, and the requested simulated time before each read.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct ReadCounts {
    pub(crate) count: u64,
    pub(crate) pause_ns: u64,
}

impl ReadCounts {
    /// Writes the number of reads and the pause as one line of text.
    pub(crate) fn write(self, out: &mut impl Write) -> std::io::Result<()> {
        let Self { count, pause_ns } = self;
        let reads = counted(count, "time", "times");
        writeln!(out, "Read {reads}, {} ns of simulated time before each read", grouped(pause_ns))
    }
}

impl<'a> Document<'a> {
    pub(crate) fn new(source: &'a Source<'a>, findings: &'a Findings) -> Self {
        let Findings { readout, report, counters, names, buffers, filtered } = findings;
        let summary = &report.summary;
        Self {
            source,
            kept: Object::new(
                summary.kept,
                [
                    ("zones", |kept| (kept.zones + kept.open_zones).into()),
                    ("data", |kept| kept.data.into()),
                    ("events", |kept| kept.events.into()),
                    ("sums", |kept| kept.sums.into()),
                    ("open_zones", |kept| kept.open_zones.into()),
                    ("orphan_ends", |kept| kept.orphan_ends.into()),
                ],
            ),
            lost: Lost::new(&readout.losses, &summary.full_buffers),
            anomalies: summary.anomaly_count,
            repairs: summary.repair_count,
            anomaly_kinds: &summary.anomalies,
            repair_kinds: &summary.repairs,
            pending_runs: summary.pending_run_count,
            unfinished: Unfinished::from_readout(readout),
            nameless_zones: nameless_line(&report.zones),
            discarded_launches: summary.discarded_launch_count,
            words_read: summary.words_read,
            fullest_lane: fullest_lane(&readout.watermarks),
            ops: OpObjects::new(&report.ops, |op| names.op_texts(op)),
            zones: Rows(report.zones.iter().collect()),
            sums: Rows(report.sums.iter().collect()),
            waits: Rows(report.waits.iter().collect()),
            data: &report.data,
            events: &report.events,
            hardware_counters: counters.document(),
            probe_cost: report.probe_cost.as_ref(),
            losses: Rows(LossRow::from_ledger(&readout.losses)),
            buffers: buffers::document(buffers),
            filtered_out: filtered.as_ref(),
            unmodelled_limits: readout.simulated.as_ref().map(|of| of.unmodelled.as_slice()),
            lifted_limits: readout
                .simulated
                .as_ref()
                .map(|of| of.lifted.as_slice())
                .filter(|lifted| !lifted.is_empty()),
        }
    }
}

impl Lost {
    /// Sums up the losses in a ledger by cause. `full` are RISCs whose runs fill buffers.
    pub(crate) fn new(losses: &LossLedger, full: &[FullBuffer]) -> Self {
        let total = losses.total();
        let [l1_full, dram_full, validate_off] =
            [LossCause::L1Full, LossCause::DramFull, LossCause::ValidateOff]
                .map(|cause| losses.by_cause(cause).record_count());
        let named = l1_full.saturating_add(dram_full).saturating_add(validate_off);
        let other = total.record_count().saturating_sub(named);
        let uncounted = losses.uncounted().map(UncountedSource::label).collect();
        let (records, is_lower_bound) = losses.known_losses();
        let omitted_records = losses.intended_total().record_count();
        Self {
            records,
            omitted_records,
            l1_full,
            dram_full,
            validate_off,
            other,
            is_lower_bound,
            uncounted,
            full_buffers: full.to_vec(),
        }
    }
}
