//! The rows of each table, from the lanes, ops and losses of one device.

use super::{
    rows::{Row, RowSink, TableWriter},
    words::Words,
};
use crate::{
    NameId, Trace, TraceDevice, TraceLane, TraceLoss, TraceOp, TracePoint, TraceZone,
    hardware_counters::counter_names,
};
use analysis::{
    Doubt,
    counters::{CounterGroup, Sample},
    noc_events::{ProgramTrace, TraceObject},
};
use parquet::{data_type::ByteArray, errors::ParquetError};
use reader::{lane::LaneId, ledger::LossTotals};
use std::io::Write;
use wire::RunHostId;

/// A device and what its rows have in common.
#[derive(Clone, Copy)]
pub(super) struct DeviceRows<'t, 'a> {
    pub(super) trace: &'t Trace<'a>,
    pub(super) device: &'t TraceDevice<'a>,
    pub(super) words: &'t Words,
}

type Written = Result<(), ParquetError>;

impl<'a> DeviceRows<'_, 'a> {
    /// Every zone, lane by lane.
    pub(super) fn write_zones(self, out: &mut TableWriter<impl Write + Send>) -> Written {
        for lane in &self.device.lanes {
            let own = lane.zones.self_cycles();
            for (zone, self_cycles) in lane.zones.iter().zip(own) {
                out.row(|row| self.fill_zone(row, lane, &zone, self_cycles))?;
            }
        }
        Ok(())
    }

    /// Every event, data marker and sum, lane by lane.
    pub(super) fn write_markers(self, out: &mut TableWriter<impl Write + Send>) -> Written {
        for lane in &self.device.lanes {
            for point in lane.points.iter() {
                out.row(|row| self.fill_marker(row, lane, &point))?;
            }
        }
        Ok(())
    }

    /// Every reading of a hardware counter, lane by lane.
    pub(super) fn write_counters(self, out: &mut TableWriter<impl Write + Send>) -> Written {
        let is_counter = counter_names(&self.trace.names);
        if !is_counter.contains(&true) {
            return Ok(());
        }
        for lane in &self.device.lanes {
            for point in lane.points.iter() {
                if is_counter.get(point.name.index()) == Some(&true) {
                    out.row(|row| self.fill_counter(row, lane, &point))?;
                }
            }
        }
        Ok(())
    }

    /// Every event of the NoCs, program by program.
    pub(super) fn write_noc_events(self, out: &mut TableWriter<impl Write + Send>) -> Written {
        for (program, object) in self.trace.noc.events(self.device.chip.chip_id) {
            out.row(|row| self.fill_noc_event(row, program, object))?;
        }
        Ok(())
    }

    /// Every op.
    pub(super) fn write_ops(self, out: &mut TableWriter<impl Write + Send>) -> Written {
        for (number, op) in (0..).zip(&self.device.ops) {
            out.row(|row| self.fill_op(row, number, op))?;
        }
        Ok(())
    }

    /// Every loss.
    pub(super) fn write_losses(self, out: &mut TableWriter<impl Write + Send>) -> Written {
        for lane in &self.device.lanes {
            for TraceLoss { program, cause, totals, time_ns, .. } in &lane.losses {
                let loss = LossRow { lane: lane.id, cause: cause.label(), program: *program };
                out.row(|row| loss.fill(row, self.words, totals, Some(*time_ns)))?;
            }
        }
        Ok(())
    }

    fn fill_zone(self, row: &mut Row<'_>, lane: &TraceLane<'a>, zone: &TraceZone, own: u64) {
        self.fill_lane(row, lane.id);
        row.text(self.words.name(zone.name));
        self.fill_source(row, zone.name);
        self.fill_run(row, lane, zone.run);
        row.narrow(zone.depth.into())
            .number(zone.start_cycle)
            .number(zone.duration_cycles)
            .number(own)
            .nanoseconds(zone.start_ns)
            .nanoseconds(zone.end_ns.saturating_sub(zone.start_ns))
            .maybe_signed(self.host_ns(zone.start_ns))
            .flag(zone.has_synthetic_end)
            .flag(zone.is_clipped);
    }

    fn fill_marker(self, row: &mut Row<'_>, lane: &TraceLane<'a>, point: &TracePoint<'_>) {
        self.fill_lane(row, lane.id);
        row.text(self.words.category(point.category()));
        row.text(self.words.name(point.name));
        self.fill_source(row, point.name);
        self.fill_run(row, lane, point.run);
        row.number(point.cycle)
            .nanoseconds(point.time_ns)
            .maybe_signed(self.host_ns(point.time_ns))
            .maybe_number(point.values.first().copied())
            .maybe_number(point.values.get(1).copied())
            .maybe_text(point.text.map(ByteArray::from).as_ref());
    }

    fn fill_counter(self, row: &mut Row<'_>, lane: &TraceLane<'a>, point: &TracePoint<'_>) {
        let reading = Sample::decode(point.values, point.text);
        let sample = reading.as_ref().ok();
        let group = sample.and_then(|sample| CounterGroup::of_counter(&sample.name));
        let text = |text: Option<&str>| text.map(ByteArray::from);
        self.fill_lane(row, lane.id);
        row.narrow(sample.and_then(|sample| sample.neo).map_or(0, u32::from));
        self.fill_run(row, lane, point.run);
        row.number(point.cycle)
            .nanoseconds(point.time_ns)
            .maybe_text(text(sample.map(|sample| &*sample.name)).as_ref())
            .maybe_text(text(group.map(CounterGroup::label)).as_ref())
            .maybe_number(sample.filter(|sample| sample.is_observable()).map(|one| one.count))
            .maybe_number(sample.and_then(|sample| sample.cycles))
            .maybe_text(
                reading.err().map(|problem| problem.to_string().into_bytes().into()).as_ref(),
            );
    }

    fn fill_noc_event(self, row: &mut Row<'_>, program: &ProgramTrace, object: &TraceObject) {
        let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(ByteArray::from);
        row.text(&self.words.recording)
            .narrow(object.sx.into())
            .narrow(object.sy.into())
            .text(&ByteArray::from(object.proc.as_str()))
            .narrow(program.program.0)
            .maybe_text(text(Some(&program.op_name)).as_ref())
            .number(object.timestamp)
            .nanoseconds(self.device.clock.time_ns(object.timestamp))
            .maybe_text(text(object.event_type.as_deref()).as_ref())
            .maybe_text(text(object.noc.as_deref()).as_ref())
            .maybe_signed(object.dx.map(i64::from))
            .maybe_signed(object.dy.map(i64::from))
            .maybe_number(object.num_bytes)
            .maybe_signed(object.vc.map(i64::from))
            .maybe_narrow(object.src_addr)
            .maybe_narrow(object.dst_addr)
            .maybe_narrow(object.noc_status_counter.map(u32::from));
    }

    fn fill_op(self, row: &mut Row<'_>, number: u32, op: &TraceOp<'_>) {
        let figures = &op.figures;
        row.text(&self.words.recording)
            .narrow(number)
            .maybe_text(op.name().map(ByteArray::from).as_ref())
            .narrow(op.base_id())
            .narrow(figures.run_host_id)
            .number(figures.launch)
            .maybe_number(figures.trace_id)
            .maybe_number(figures.trace_replay)
            .maybe_narrow(figures.sub_device_id.map(u32::from))
            .number(figures.core_count)
            .number(op.start_cycle)
            .maybe_number(op.duration_cycles())
            .maybe_number(figures.kernel.map(|kernel| kernel.duration_cycles))
            .maybe_number(figures.op_to_op_latency_cycles)
            .nanoseconds(op.start_ns)
            .maybe_signed(op.duration_ns().map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)))
            .maybe_signed(self.host_ns(op.start_ns))
            .flag(figures.is_spread_implausible)
            .maybe_text(figures.duration_doubt.map(doubt_text).as_ref())
            .maybe_text(figures.latency_doubt.map(doubt_text).as_ref())
            .maybe_text(metadata_json(op).as_ref())
            .maybe_number(figures.stall.map(|stall| stall.cycles));
    }

    pub(super) fn fill_lane(self, row: &mut Row<'_>, lane: LaneId) {
        fill_lane(row, self.words, lane);
    }

    fn fill_source(self, row: &mut Row<'_>, name: NameId) {
        let line = self.trace.names.get(name).map(|name| name.line).filter(|&line| line > 0);
        row.maybe_text(self.words.file(name)).maybe_narrow(line);
    }

    /// Op and program of a run of a lane.
    pub(super) fn fill_run(self, row: &mut Row<'_>, lane: &TraceLane<'a>, run: Option<u32>) {
        let run = run.map(|run| run as usize);
        let op = run.and_then(|run| lane.run_ops.get(run).copied().flatten());
        let program = run.and_then(|run| lane.runs.get(run)).map(|run| run.program.0);
        row.maybe_narrow(op).maybe_narrow(program);
    }

    pub(super) fn host_ns(self, since_origin_ns: u64) -> Option<i64> {
        let origin_ns = self.trace.origin_host_ns?;
        Some(origin_ns.saturating_add_unsigned(since_origin_ns))
    }
}

fn fill_lane(row: &mut Row<'_>, words: &Words, lane: LaneId) {
    row.text(&words.recording)
        .narrow(lane.core.x.into())
        .narrow(lane.core.y.into())
        .text(words.risc(lane.risc));
}

/// A loss without its counts.
pub(super) struct LossRow {
    pub(super) lane: LaneId,
    pub(super) cause: &'static str,
    pub(super) program: Option<RunHostId>,
}

impl LossRow {
    pub(super) fn fill(
        &self,
        row: &mut Row<'_>,
        words: &Words,
        totals: &LossTotals,
        time_ns: Option<u64>,
    ) {
        fill_lane(row, words, self.lane);
        row.text(&ByteArray::from(self.cause))
            .maybe_narrow(self.program.map(|program| program.0))
            .number(totals.zones)
            .number(totals.data)
            .number(totals.events)
            .number(totals.sums)
            .number(totals.unknown_markers)
            .flag(totals.is_lower_bound)
            .number(totals.runs)
            .maybe_narrow(totals.programs.map(|span| span.first.0))
            .maybe_narrow(totals.programs.map(|span| span.last.0))
            .maybe_signed(time_ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)));
    }
}

/// Returns the host's metadata of an op as JSON; the first value of a repeated key is used.
fn metadata_json(op: &TraceOp<'_>) -> Option<ByteArray> {
    let fields = op.metadata?.fields.iter().rev();
    let object: serde_json::Map<_, _> =
        fields.map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    Some(serde_json::Value::Object(object).to_string().into_bytes().into())
}

fn doubt_text(doubt: Doubt) -> ByteArray {
    ByteArray::from(doubt.label())
}
