//! Rows of the tables about the host.

use super::device_rows::signed;
use crate::{
    TraceHost, TraceHostMark, TraceHostThread, TracePlotPoint, TraceZone, words::kind_label,
};
use host_events::{BufferPool, HostEvent, HostSource, buffer_address, buffer_bytes};
use reports::report::BufferPeaks;
use std::borrow::Cow;
use tables::{
    BufferRow, Buffers, HostEventRow, HostEvents, HostZoneRow, HostZones, OpBufferRow, OpBuffers,
    RecordingKey, Table,
};

/// Table with rows about the host.
pub trait HostTable: Table {
    /// Calls `visit` with each row.
    ///
    /// # Errors
    /// Returns the first error of `visit`. After an error, no further rows are visited.
    fn for_each_row<E>(
        rows: HostRows<'_, '_>,
        visit: impl FnMut(&Self::Row<'_>) -> Result<(), E>,
    ) -> Result<(), E>;
}

/// Host of a recording, with its buffers and the recording's name.
#[derive(Clone, Copy, Debug)]
pub struct HostRows<'t, 'a> {
    /// Threads and plots.
    pub host: &'t TraceHost<'a>,
    /// Peaks of buffers by op.
    pub peaks: &'t BufferPeaks,
    /// Names of the recording and the host.
    pub recording: RecordingKey<'t>,
}

impl HostTable for HostZones {
    fn for_each_row<E>(
        rows: HostRows<'_, '_>,
        mut visit: impl FnMut(&HostZoneRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for thread in &rows.host.threads {
            thread.zones.iter().try_for_each(|zone| visit(&rows.zone(thread, zone)))?;
        }
        Ok(())
    }
}

impl HostTable for HostEvents {
    /// Visits messages, signposts and frames, thread by thread, then the plots.
    fn for_each_row<E>(
        rows: HostRows<'_, '_>,
        mut visit: impl FnMut(&HostEventRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for thread in &rows.host.threads {
            thread.marks.iter().try_for_each(|mark| visit(&rows.mark(thread, mark)))?;
        }
        for plot in &rows.host.plots {
            for point in &plot.points {
                visit(&rows.point(plot.name, point))?;
            }
        }
        Ok(())
    }
}

impl HostTable for Buffers {
    fn for_each_row<E>(
        rows: HostRows<'_, '_>,
        mut visit: impl FnMut(&BufferRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for plot in &rows.host.plots {
            let Some(pool) = BufferPool::parse(plot.name) else { continue };
            let mut held = 0;
            for &TracePlotPoint { time_ns, value, text } in &plot.points {
                let before = std::mem::replace(&mut held, buffer_bytes(value));
                let change = i128::from(held) - i128::from(before);
                visit(&BufferRow {
                    recording: rows.recording,
                    chip_id: u32::try_from(pool.device_id).ok(),
                    memory: pool.kind.into(),
                    time_ns: signed(time_ns),
                    host_ns: rows.host_ns(time_ns),
                    change_bytes: i64::try_from(change).unwrap_or(i64::MAX),
                    held_bytes: held,
                    address: text.and_then(buffer_address),
                })?;
            }
        }
        Ok(())
    }
}

impl HostTable for OpBuffers {
    fn for_each_row<E>(
        rows: HostRows<'_, '_>,
        mut visit: impl FnMut(&OpBufferRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for op in &rows.peaks.ops {
            for (pool, bytes) in &op.peaks {
                visit(&OpBufferRow {
                    recording: rows.recording,
                    chip_id: u32::try_from(op.device_id).ok(),
                    run_host_id: u32::try_from(op.run_host_id).ok(),
                    name: op.name.as_deref().and_then(known),
                    memory: pool.kind.into(),
                    peak_bytes: *bytes,
                })?;
            }
        }
        Ok(())
    }
}

impl<'t> HostRows<'t, '_> {
    fn zone(self, thread: &'t TraceHostThread<'_>, zone: &TraceZone) -> HostZoneRow<'t> {
        let event = thread.zone_event(zone);
        let source = event.map(|(_, source)| source);
        let (function, file, line) = place_of(source);
        HostZoneRow {
            recording: self.recording,
            process_id: thread.process_id,
            thread: thread.number,
            thread_name: known(thread.name),
            name: source.map_or("", |source| &*source.name).into(),
            function,
            file,
            line,
            depth: zone.depth.into(),
            // On the host, cycles are nanoseconds of the host's clock.
            start_ns: signed(zone.start_ns),
            duration_ns: signed(zone.duration_cycles),
            self_ns: signed(zone.own_cycles),
            start_host_ns: signed(zone.start_cycle),
            text: event.and_then(|(event, _)| known(event.text.as_deref()?)),
            is_clipped: zone.is_clipped,
            color: event.and_then(|(event, _)| color(event)),
        }
    }

    fn mark<'r>(
        self,
        thread: &'r TraceHostThread<'_>,
        mark: &'r TraceHostMark<'_>,
    ) -> HostEventRow<'r>
    where
        't: 'r,
    {
        let (function, file, line) = place_of(Some(mark.source));
        HostEventRow {
            recording: self.recording,
            process_id: Some(thread.process_id),
            thread: Some(thread.number),
            thread_name: known(thread.name),
            kind: kind_label(mark.event.kind).into(),
            name: known(&mark.source.name),
            function,
            file,
            line,
            time_ns: signed(mark.time_ns),
            host_ns: signed(mark.event.time_ns),
            value: None,
            text: mark.event.text.as_deref().and_then(known),
            color: color(mark.event),
        }
    }

    fn point(self, name: &'t str, point: &TracePlotPoint<'_>) -> HostEventRow<'t> {
        HostEventRow {
            recording: self.recording,
            process_id: None,
            thread: None,
            thread_name: None,
            kind: "plot".into(),
            name: Some(name.into()),
            function: None,
            file: None,
            line: None,
            time_ns: signed(point.time_ns),
            host_ns: self.host_ns(point.time_ns),
            value: Some(point.value),
            text: None,
            color: None,
        }
    }

    fn host_ns(self, since_origin_ns: u64) -> i64 {
        signed(self.host.origin_ns.saturating_add(since_origin_ns))
    }
}

/// Returns the function, file and line of a source; `None` for each unknown part.
fn place_of(
    source: Option<&HostSource>,
) -> (Option<Cow<'_, str>>, Option<Cow<'_, str>>, Option<u32>) {
    let line = source.map(|source| source.line).filter(|&line| line > 0);
    let function = source.and_then(|source| known(&source.function));
    (function, source.and_then(|source| known(&source.file)), line)
}

fn known(text: &str) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(Cow::Borrowed(text))
}

fn color(event: &HostEvent) -> Option<Cow<'static, str>> {
    Some(event.color?.to_string().into())
}
