//! Figures of each op for the page, column by column.

use crate::{Trace, TraceDevice, TraceNames, TraceOp, op_causes::names_of_ops};
use analysis::Doubt;
use host_events::OpTexts;
use serde::Serialize;
use std::collections::BTreeMap;
use tables::{Arrays, Columns, OpRow, Ops};
use wire::Risc;

/// The ops of all chips, by chip and start.
#[derive(Serialize)]
pub(super) struct OpFacts<'a> {
    /// Columns of the table `ops`. The page calculates nanoseconds from cycles and the chip's
    /// clock.
    #[serde(flatten)]
    columns: Columns<'a, Ops>,
    #[serde(flatten)]
    drawn: Arrays<DrawnOp<'a>>,
    /// Kernel cycles of those Quasar processors that have no column of their own, by RISC number;
    /// empty for other chips.
    processor_kernel_cycles: Vec<Vec<Option<u64>>>,
    lost_records: Vec<u64>,
    /// Text in the column `latency_doubt` if launches before the op may be missing.
    lost_launches_doubt: &'static str,
}

/// Index of a chip, the chip, and an op of the chip.
type DrawnOp<'a> = (usize, &'a TraceDevice<'a>, &'a TraceOp<'a>);

/// Number of RISCs whose kernels have their own column.
const RISCS_WITH_COLUMN: usize = 6;

impl<'a> OpFacts<'a> {
    pub(super) fn new(trace: &'a Trace<'a>) -> Self {
        let devices = trace.devices.iter().enumerate();
        let ops: Vec<_> = devices
            .flat_map(|(index, device)| device.ops.iter().map(move |op| (index, device, op)))
            .collect();
        let mut names = trace.devices.iter().flat_map(|device| names_of_ops(trace, device));
        let rows = ops.iter().map(|(_, _, op)| {
            OpRow::new(&op.figures, OpTexts { name: names.next().flatten(), ..op.texts() })
        });
        Self {
            columns: Columns {
                rows: rows.collect(),
                is_wanted: |column| {
                    let schema = &column.schema;
                    schema.unit() != Some("ns") && !schema.name.ends_with("_start_cycle")
                },
            },
            drawn: drawn_ops(&ops),
            processor_kernel_cycles: ops
                .iter()
                .map(|(_, device, op)| processor_kernels(&trace.names, device, op))
                .collect(),
            lost_records: trace.devices.iter().flat_map(lost_by_op).collect(),
            lost_launches_doubt: Doubt::LostLaunches.label(),
        }
    }
}

/// Returns columns with the chip of each op, and the start and length of the bar that the page
/// draws for the op.
fn drawn_ops<'a>(ops: &[DrawnOp<'a>]) -> Arrays<DrawnOp<'a>> {
    Arrays::new(
        ops.iter().copied(),
        [
            // Index of the chip.
            ("device", |(index, ..)| (*index).into()),
            ("row", |(.., op)| op.row.into()),
            // Cycles since the chip's first cycle.
            ("start_cycles", |(_, device, op)| {
                op.start_cycle.saturating_sub(device.clock.first_cycle()).into()
            }),
            // Cycles from the op's start to its last record, even if the duration is in doubt.
            ("drawn_cycles", |(.., op)| op.end_cycle.saturating_sub(op.start_cycle).into()),
            ("start_ns", |(.., op)| op.start_ns.into()),
            ("end_ns", |(.., op)| op.end_ns.into()),
        ],
    )
}

fn processor_kernels(
    names: &TraceNames<'_>,
    device: &TraceDevice<'_>,
    op: &TraceOp<'_>,
) -> Vec<Option<u64>> {
    if !op.figures.risc_kernels.is_of_quasar() {
        return Vec::new();
    }
    let mut kernels = vec![None; Risc::ALL.len().saturating_sub(RISCS_WITH_COLUMN)];
    for (risc, (start, end)) in quasar_kernels(names, device, op) {
        let place = (risc as usize).checked_sub(RISCS_WITH_COLUMN);
        if let Some(cycles) = place.and_then(|place| kernels.get_mut(place)) {
            *cycles = end.checked_sub(start);
        }
    }
    kernels
}

/// Returns the first start and the last end of the kernels of each processor of a Quasar.
///
/// An op has one kernel duration for all data-movement processors, and one for all compute
/// processors. If the duration for data-movement processors is unknown, all data-movement
/// processors are left out of the result. The same applies to compute processors.
fn quasar_kernels(
    names: &TraceNames<'_>,
    device: &TraceDevice<'_>,
    op: &TraceOp<'_>,
) -> BTreeMap<Risc, (u64, u64)> {
    let figures = &op.figures.risc_kernels;
    let mut spans: BTreeMap<Risc, (u64, u64)> = BTreeMap::new();
    for run in &op.runs {
        let Some(lane) = device.lanes.get(run.lane).filter(|lane| lane.id.risc.is_quasar()) else {
            continue;
        };
        let together =
            if lane.id.risc.moves_data() { figures.quasar_dm } else { figures.quasar_trisc };
        let zone = lane.timed_kernel(run.run, names);
        if let (Some(zone), Some(_)) = (zone, together) {
            let span = spans.entry(lane.id.risc).or_insert((zone.start_cycle, zone.end_cycle));
            *span = (span.0.min(zone.start_cycle), span.1.max(zone.end_cycle));
        }
    }
    spans
}

/// Returns the number of lost records for each op of a chip. Records that were omitted on purpose
/// are not lost.
///
/// A loss belongs to a program, so it is counted for the last launch of that program.
fn lost_by_op(device: &TraceDevice<'_>) -> Vec<u64> {
    let mut lost = vec![0_u64; device.ops.len()];
    let programs = device.ops.iter().map(|op| op.figures.run_host_id);
    let last_launch: BTreeMap<u32, usize> = programs.zip(0..).collect();
    let losses = device.lanes.iter().flat_map(|lane| &lane.losses);
    for loss in losses.filter(|loss| !loss.cause.is_intended()) {
        let op = loss.program.and_then(|program| last_launch.get(&program.0));
        if let Some(&op) = op {
            lost[op] = lost[op].saturating_add(loss.totals.record_count());
        }
    }
    lost
}
