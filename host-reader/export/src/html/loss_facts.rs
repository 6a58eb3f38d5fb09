//! Losses and anomalies for the page: every loss with its lane and time, and the counts of
//! anomalies.

use crate::Trace;
use analysis::{
    DoubtCounts, FullBuffer, KindCount, kinds_line, loss_groups, loss_remedies, lost_line,
};
use reader::{anomaly::Anomaly, lane::LaneId};
use serde::Serialize;
use serde_json::json;
use tables::{Arrays, Columns, LossGroups, LossRow, Losses, Objects, RecordingKey, Rows};
use wire::RunHostId;

/// Maximum number of anomalies that the page lists with lane and position.
const SHOWN_ANOMALIES: usize = 500;

/// What the recording lacks, in the sentences that the terminal shows, too.
#[derive(Serialize)]
pub(super) struct ShortfallFacts {
    /// Sentence about all losses.
    lost: String,
    /// True if a source of records does not count its losses, so that more may be missing.
    is_loss_uncounted: bool,
    /// Sentences about launches that had not ended.
    unfinished: Vec<String>,
    /// Sentences about zones that the log may lack, and about figures that ops lack.
    doubts: Vec<String>,
    /// Sentences about anomalies and about repairs; null if there are none.
    anomalies: Option<String>,
    repairs: Option<String>,
}

impl ShortfallFacts {
    pub(super) fn new(trace: &Trace<'_>) -> Self {
        let mut doubts = DoubtCounts::default();
        let ops = trace.devices.iter().flat_map(|device| &device.ops);
        ops.for_each(|op| doubts.add(&op.figures));
        let kinds = |title: &str, is_repair: bool| {
            let counts = trace.anomalies.counts();
            let counts = counts.filter(|(kind, _)| kind.is_repair() == is_repair);
            let counts = counts.map(|(kind, count)| KindCount { kind: kind.label(), count });
            kinds_line(title, &counts.collect::<Vec<_>>())
        };
        let losses = trace.loss_ledger();
        let full = trace.full_buffers.found(&losses);
        let full = full.iter().map(FullBuffer::sentence);
        Self {
            lost: lost_line(&losses),
            is_loss_uncounted: !trace.uncounted.is_empty(),
            unfinished: trace.unfinished.lines(str::to_owned),
            doubts: full.chain(doubts.lines()).collect(),
            anomalies: kinds("Anomalies", false),
            repairs: kinds("Repairs", true),
        }
    }
}

/// Losses, column by column.
#[derive(Serialize)]
pub(super) struct LossFacts {
    /// Losses, summed over cores and programs.
    groups: Rows<'static, LossGroups>,
    /// Causes that can be avoided, each with its remedy.
    remedies: Vec<(&'static str, &'static str)>,
    /// Columns of the table `losses`.
    #[serde(flatten)]
    columns: Columns<'static, Losses>,
    #[serde(flatten)]
    shown: Arrays<PlacedLoss>,
}

/// Loss with the indices of its chip and lane; `None` if the chip is not in the trace.
type PlacedLoss = (LossRow<'static>, Option<(usize, usize)>);

impl LossFacts {
    pub(super) fn new(trace: &Trace<'_>) -> Self {
        let mut placed: Vec<PlacedLoss> = Vec::new();
        for (device_index, device) in trace.devices.iter().enumerate() {
            for (lane_index, lane) in device.lanes.iter().enumerate() {
                let place = Some((device_index, lane_index));
                placed.extend(lane.losses.iter().map(|loss| (loss.row(lane.id), place)));
            }
        }
        for &(key, totals) in &trace.unplaced_losses {
            let row = LossRow { key, totals, recording: RecordingKey::default(), time_ns: None };
            placed.push((row, None));
        }
        let rows: Vec<_> = placed.iter().map(|&(row, _)| row).collect();
        let groups = loss_groups(rows.iter().map(|row| (row.key, row.totals)));
        let remedies = loss_remedies(&groups).into_iter();
        Self {
            remedies: remedies.map(|(cause, remedy)| (cause.label(), remedy)).collect(),
            groups: Rows(groups),
            columns: Columns { rows, is_wanted: |column| !column.schema.name.ends_with("host_id") },
            shown: shown_losses(placed),
        }
    }
}

/// Returns the programs, lanes and times of losses, column by column. The program numbers do not
/// contain the number of the chip.
fn shown_losses(losses: Vec<PlacedLoss>) -> Arrays<PlacedLoss> {
    Arrays::new(
        losses,
        [
            ("program", |(row, _)| row.key.program.map(RunHostId::base).into()),
            // Programs of the first and the last launch that may have lost the records.
            ("programs", |(row, _)| {
                json!(row.totals.programs.map(|span| (span.first.base(), span.last.base())))
            }),
            ("lane", |(_, lane)| json!(lane)),
            ("time_ns", |(row, _)| row.time_ns.into()),
        ],
    )
}

/// Anomalies and repairs: the counts of each kind, and the first anomalies with lane and position.
#[derive(Serialize)]
pub(super) struct AnomalyFacts<'a> {
    /// Kind, count, and a flag that is true if the records were repaired.
    kinds: Vec<(&'static str, u64, bool)>,
    kept: Objects<&'a Anomaly>,
    /// Number of stored anomalies that the page does not list.
    unnamed_count: usize,
}

impl<'a> AnomalyFacts<'a> {
    pub(super) fn new(trace: &'a Trace<'_>) -> Self {
        let counts = trace.anomalies.counts();
        let kept = trace.anomalies.kept();
        let named = kept.iter().take(SHOWN_ANOMALIES);
        Self {
            kinds: counts.map(|(kind, count)| (kind.label(), count, kind.is_repair())).collect(),
            unnamed_count: kept.len() - named.len(),
            kept: anomaly_objects(named),
        }
    }
}

fn anomaly_objects<'a>(kept: impl Iterator<Item = &'a Anomaly>) -> Objects<&'a Anomaly> {
    Objects::new(
        kept,
        [
            ("kind", |anomaly| anomaly.kind.label().into()),
            ("lane", |anomaly| {
                let lane = anomaly.lane.map(|LaneId { chip_id, core, risc }| {
                    format!("device {chip_id}, {}-{} {risc}", core.x, core.y)
                });
                lane.into()
            }),
            ("position", |anomaly| anomaly.position.into()),
            ("detail", |anomaly| anomaly.detail.as_str().into()),
        ],
    )
}
