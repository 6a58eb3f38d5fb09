//! Rows of each table of a chip, from the chip's lanes, ops and losses.

use crate::{
    NameId, Trace, TraceDevice, TraceLane, TraceOp, TracePoint, TraceZone,
    hardware_counters::counter_names,
};
use analysis::{
    ZoneTime,
    counters::{CounterGroup, Sample},
    noc_events::{ProgramTrace, TraceObject},
};
use reader::lane::LaneId;
use tables::{
    CounterRow, Counters, LanePlace, LossRow, Losses, MarkerRow, Markers, NocEventRow, NocEvents,
    OpPlace, OpRow, Ops, RecordingKey, Table, ZoneRow, Zones,
};

/// Table with rows for each chip.
pub trait DeviceTable: Table {
    /// Calls `visit` with each row of a chip.
    ///
    /// # Errors
    /// Returns the first error of `visit`. After an error, no further rows are visited.
    fn for_each_row<E>(
        rows: DeviceRows<'_, '_>,
        visit: impl FnMut(&Self::Row<'_>) -> Result<(), E>,
    ) -> Result<(), E>;
}

/// Chip of a trace, with the name of the trace's recording.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRows<'t, 'a> {
    /// Trace.
    pub trace: &'t Trace<'a>,
    /// Chip.
    pub device: &'t TraceDevice<'a>,
    /// Index of the first element of `device.ops` among all ops of the chip; 0 unless the ops are
    /// added in parts.
    pub first_op: u32,
    /// Names of the recording and the host.
    pub recording: RecordingKey<'t>,
}

impl DeviceTable for Zones {
    fn for_each_row<E>(
        rows: DeviceRows<'_, '_>,
        mut visit: impl FnMut(&ZoneRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for lane in &rows.device.lanes {
            lane.zones.iter().try_for_each(|zone| visit(&rows.zone(lane, zone)))?;
        }
        Ok(())
    }
}

impl DeviceTable for Markers {
    fn for_each_row<E>(
        rows: DeviceRows<'_, '_>,
        mut visit: impl FnMut(&MarkerRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for lane in &rows.device.lanes {
            lane.points.iter().try_for_each(|point| visit(&rows.marker(lane, point)))?;
        }
        Ok(())
    }
}

impl DeviceTable for Counters {
    fn for_each_row<E>(
        rows: DeviceRows<'_, '_>,
        mut visit: impl FnMut(&CounterRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_counter = counter_names(&rows.trace.names);
        if !is_counter.contains(&true) {
            return Ok(());
        }
        for lane in &rows.device.lanes {
            for point in &lane.points {
                if is_counter.get(point.name.index()) == Some(&true) {
                    rows.counter(lane, point, &mut visit)?;
                }
            }
        }
        Ok(())
    }
}

impl DeviceTable for NocEvents {
    fn for_each_row<E>(
        rows: DeviceRows<'_, '_>,
        mut visit: impl FnMut(&NocEventRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (program, object) in rows.trace.noc.events(rows.device.chip.chip_id) {
            visit(&rows.noc_event(program, object))?;
        }
        Ok(())
    }
}

impl DeviceTable for Ops {
    fn for_each_row<E>(
        rows: DeviceRows<'_, '_>,
        mut visit: impl FnMut(&OpRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut ops = (rows.first_op..).zip(&rows.device.ops);
        ops.try_for_each(|(number, op)| visit(&rows.op(number, op)))
    }
}

impl DeviceTable for Losses {
    fn for_each_row<E>(
        rows: DeviceRows<'_, '_>,
        mut visit: impl FnMut(&LossRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for lane in &rows.device.lanes {
            for loss in &lane.losses {
                visit(&LossRow { recording: rows.recording, ..loss.row(lane.id) })?;
            }
        }
        Ok(())
    }
}

impl<'t> DeviceRows<'t, '_> {
    fn zone<'r>(self, lane: &'r TraceLane<'_>, zone: &TraceZone) -> ZoneRow<'r>
    where
        't: 'r,
    {
        let (file, line) = self.source(zone.name);
        let (op, run_host_id) = run_of(lane, zone.run);
        let (duration_cycles, self_cycles) = match zone.time() {
            ZoneTime::Whole { duration_cycles, self_cycles } => {
                (Some(duration_cycles), Some(self_cycles))
            }
            ZoneTime::Open { .. } => (None, None),
        };
        let duration_ns = signed(zone.end_ns.saturating_sub(zone.start_ns));
        ZoneRow {
            place: self.place(lane.id),
            name: self.name(zone.name).into(),
            file: file.map(Into::into),
            line,
            op,
            run_host_id,
            depth: zone.depth.into(),
            start_cycle: zone.start_cycle,
            duration_cycles,
            self_cycles,
            start_ns: signed(zone.start_ns),
            duration_ns: duration_cycles.map(|_| duration_ns),
            start_host_ns: self.host_ns(zone.start_ns),
            has_synthetic_end: zone.has_synthetic_end,
            is_clipped: zone.is_clipped,
            meta_data: lane.zone_texts.start(zone).map(Into::into),
            end_meta_data: lane.zone_texts.end(zone).map(Into::into),
        }
    }

    fn marker<'r>(self, lane: &TraceLane<'_>, point: &TracePoint<'r>) -> MarkerRow<'r>
    where
        't: 'r,
    {
        let (file, line) = self.source(point.name);
        let (op, run_host_id) = run_of(lane, point.run);
        MarkerRow {
            place: self.place(lane.id),
            kind: point.category().label().into(),
            name: self.name(point.name).into(),
            file: file.map(Into::into),
            line,
            op,
            run_host_id,
            cycle: point.cycle,
            time_ns: signed(point.time_ns),
            host_ns: self.host_ns(point.time_ns),
            value: point.values.first().copied(),
            second_value: point.values.get(1).copied(),
            text: point.text.map(Into::into),
        }
    }

    fn counter<E>(
        self,
        lane: &TraceLane<'_>,
        point: &TracePoint<'_>,
        visit: &mut impl FnMut(&CounterRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let reading = Sample::decode(point.values, point.text);
        let sample = reading.as_ref().ok();
        let group = sample.and_then(|sample| CounterGroup::from_counter(&sample.name));
        let (op, run_host_id) = run_of(lane, point.run);
        visit(&CounterRow {
            place: self.place(lane.id),
            neo: sample.and_then(|sample| sample.neo).map_or(0, u32::from),
            op,
            run_host_id,
            cycle: point.cycle,
            time_ns: signed(point.time_ns),
            counter: sample.map(|sample| (&*sample.name).into()),
            counter_group: group.map(|group| group.label().into()),
            value: sample.filter(|sample| sample.is_observable()).map(|sample| sample.count),
            cycles: sample.and_then(|sample| sample.cycles),
            problem: reading.as_ref().err().map(|problem| problem.to_string().into()),
        })
    }

    fn noc_event<'r>(self, program: &'r ProgramTrace, object: &'r TraceObject) -> NocEventRow<'r>
    where
        't: 'r,
    {
        let known = |text: Option<&'r str>| text.filter(|text| !text.is_empty()).map(Into::into);
        NocEventRow {
            recording: self.recording,
            chip_id: self.device.chip.chip_id,
            core_x: object.sx.into(),
            core_y: object.sy.into(),
            risc: object.proc.as_str().into(),
            run_host_id: Some(program.program.0),
            op_name: known(Some(&program.op_name)),
            cycle: object.timestamp,
            time_ns: signed(self.device.clock.time_ns(object.timestamp)),
            kind: known(object.event_type.as_deref()),
            noc: known(object.noc.as_deref()),
            to_x: object.dx.map(i64::from),
            to_y: object.dy.map(i64::from),
            bytes: object.num_bytes,
            vc: object.vc.map(i64::from),
            source_address: object.src_addr,
            target_address: object.dst_addr,
            noc_counter: object.noc_status_counter.map(u32::from),
        }
    }

    fn op<'r>(self, op: u32, found: &'r TraceOp<'_>) -> OpRow<'r>
    where
        't: 'r,
    {
        let place = OpPlace {
            recording: self.recording,
            op,
            start_cycle: found.start_cycle,
            duration_cycles: found.duration_cycles(),
            start_ns: signed(found.start_ns),
            duration_ns: found.duration_ns().map(signed),
            start_host_ns: self.host_ns(found.start_ns),
            metadata: found.metadata,
        };
        OpRow { figures: &found.figures, texts: found.texts(), place }
    }

    pub(super) const fn place(self, lane: LaneId) -> LanePlace<'t> {
        LanePlace { recording: self.recording, lane }
    }

    fn name(self, name: NameId) -> &'t str {
        self.trace.names.get(name).map_or("", |name| &*name.label)
    }

    /// Returns the source file and line of a name, if known.
    fn source(self, name: NameId) -> (Option<&'t str>, Option<u32>) {
        let name = self.trace.names.get(name);
        let file = name.map(|name| name.file).filter(|file| !file.is_empty());
        (file, name.map(|name| name.line).filter(|&line| line > 0))
    }

    pub(super) fn host_ns(self, since_origin_ns: u64) -> Option<i64> {
        let origin_ns = self.trace.origin_host_ns?;
        Some(origin_ns.saturating_add_unsigned(since_origin_ns))
    }
}

/// Returns the op and the program of a lane's run.
pub(super) fn run_of(lane: &TraceLane<'_>, run: Option<u32>) -> (Option<u32>, Option<u32>) {
    (lane.op(run), lane.program(run).map(|program| program.0))
}

/// Converts nanoseconds to the signed numbers of tables, saturating at the maximum.
pub(super) fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
