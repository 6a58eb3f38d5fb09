//! The rows of what the host did.

use super::rows::{Row, RowSink, TableRows};
use super::schema::{BUFFERS, HOST_EVENTS, HOST_ZONES, OP_BUFFERS};
use crate::{TraceHost, TraceHostMark, TraceHostThread, TraceZone};
use host_events::{BufferPool, HostEvent, HostEventKind, HostSource, buffer_address, buffer_bytes};
use parquet::data_type::ByteArray;
use reports::report::BufferPeaks;
use std::collections::HashMap;

/// The host, and the texts that its rows have in common.
pub(super) struct HostRows<'t, 'a> {
    host: &'t TraceHost<'a>,
    recording: &'t ByteArray,
    sources: HashMap<&'a HostSource, SourceTexts>,
}

/// Texts of a place in the program, encoded.
struct SourceTexts {
    name: Option<ByteArray>,
    function: Option<ByteArray>,
    file: Option<ByteArray>,
}

impl TableRows {
    /// Collects every zone of the host, as `host_zones` of a dataset has them.
    #[must_use]
    pub fn host_zones(host: &TraceHost<'_>, recording: &str) -> Self {
        let mut rows = Self::new(&HOST_ZONES);
        let Ok(()) = HostRows::new(host, &ByteArray::from(recording)).write_zones(&mut rows);
        rows
    }

    /// Collects every message, signpost, frame and plot of the host, as `host_events` has them.
    #[must_use]
    pub fn host_events(host: &TraceHost<'_>, recording: &str) -> Self {
        let mut rows = Self::new(&HOST_EVENTS);
        let Ok(()) = HostRows::new(host, &ByteArray::from(recording)).write_events(&mut rows);
        rows
    }

    /// Collects every change of what buffers hold, as `buffers` of a dataset has them.
    #[must_use]
    pub fn buffers(host: &TraceHost<'_>, recording: &str) -> Self {
        let mut rows = Self::new(&BUFFERS);
        let Ok(()) = HostRows::new(host, &ByteArray::from(recording)).write_buffers(&mut rows);
        rows
    }

    /// Collects the peaks of buffers by op and memory, as `op_buffers` of a dataset has them.
    #[must_use]
    pub fn op_buffers(peaks: &BufferPeaks, recording: &str) -> Self {
        let mut rows = Self::new(&OP_BUFFERS);
        let Ok(()) = write_op_buffers(peaks, &ByteArray::from(recording), &mut rows);
        rows
    }
}

/// Every memory of every op, op by op.
pub(super) fn write_op_buffers<S: RowSink>(
    peaks: &BufferPeaks,
    recording: &ByteArray,
    out: &mut S,
) -> Result<(), S::Error> {
    for op in &peaks.ops {
        let name = op.name.as_deref().and_then(maybe);
        for (pool, bytes) in &op.peaks {
            out.row(|row| {
                row.text(recording)
                    .number(op.device_id)
                    .maybe_narrow(u32::try_from(op.run_host_id).ok())
                    .maybe_text(name.as_ref())
                    .text(&ByteArray::from(pool.kind))
                    .number(*bytes);
            })?;
        }
    }
    Ok(())
}

impl<'t, 'a> HostRows<'t, 'a> {
    pub(super) fn new(host: &'t TraceHost<'a>, recording: &'t ByteArray) -> Self {
        Self { host, recording, sources: HashMap::new() }
    }

    /// Every zone, thread by thread.
    pub(super) fn write_zones<S: RowSink>(mut self, out: &mut S) -> Result<(), S::Error> {
        for thread in &self.host.threads {
            let name = maybe(thread.name);
            let own = thread.zones.self_cycles();
            for ((index, zone), self_ns) in thread.zones.iter().enumerate().zip(own) {
                out.row(|row| {
                    self.fill_thread(row, Some(thread), name.as_ref());
                    self.fill_zone(row, thread, index, &zone, self_ns);
                })?;
            }
        }
        Ok(())
    }

    /// Every message, signpost and frame, thread by thread, then every plot.
    pub(super) fn write_events<S: RowSink>(mut self, out: &mut S) -> Result<(), S::Error> {
        for thread in &self.host.threads {
            let name = maybe(thread.name);
            for mark in &thread.marks {
                out.row(|row| {
                    self.fill_thread(row, Some(thread), name.as_ref());
                    self.fill_mark(row, mark);
                })?;
            }
        }
        let kind = ByteArray::from("plot");
        for plot in &self.host.plots {
            let name = ByteArray::from(plot.name);
            for &(time_ns, value) in &plot.points {
                out.row(|row| {
                    self.fill_thread(row, None, None);
                    row.text(&kind).text(&name).maybe_text(None).maybe_text(None);
                    row.maybe_narrow(None).nanoseconds(time_ns);
                    row.nanoseconds(self.host.origin_ns.saturating_add(time_ns));
                    row.maybe_real(Some(value)).maybe_text(None).maybe_text(None);
                })?;
            }
        }
        Ok(())
    }

    /// Every change of what a pool of buffers holds, pool by pool.
    pub(super) fn write_buffers<S: RowSink>(self, out: &mut S) -> Result<(), S::Error> {
        for plot in &self.host.plots {
            let Some(pool) = BufferPool::parse(plot.name) else { continue };
            let memory = ByteArray::from(pool.kind);
            let mut held = 0;
            for (&(time_ns, value), text) in plot.points.iter().zip(&plot.texts) {
                let before = std::mem::replace(&mut held, buffer_bytes(value));
                let change = i128::from(held) - i128::from(before);
                out.row(|row| {
                    row.text(self.recording).number(pool.device_id).text(&memory);
                    row.nanoseconds(time_ns);
                    row.nanoseconds(self.host.origin_ns.saturating_add(time_ns));
                    row.maybe_signed(Some(i64::try_from(change).unwrap_or(i64::MAX)));
                    row.number(held).maybe_number(text.and_then(buffer_address));
                })?;
            }
        }
        Ok(())
    }

    fn fill_thread(
        &self,
        row: &mut Row<'_>,
        thread: Option<&TraceHostThread<'_>>,
        name: Option<&ByteArray>,
    ) {
        row.text(self.recording)
            .maybe_narrow(thread.map(|thread| thread.process_id))
            .maybe_number(thread.map(|thread| thread.number))
            .maybe_text(name);
    }

    fn fill_zone(
        &mut self,
        row: &mut Row<'_>,
        thread: &TraceHostThread<'a>,
        index: usize,
        zone: &TraceZone,
        self_ns: u64,
    ) {
        let event = thread.zone_event(index);
        let texts = event.map(|(_, source)| self.texts(source));
        let name = texts.and_then(|texts| texts.name.clone());
        row.text(&name.unwrap_or_else(|| ByteArray::from("")));
        self.fill_source(row, event.map(|(_, source)| source));
        // The cycles of the host's zones are nanoseconds of its clock.
        row.narrow(zone.depth.into())
            .nanoseconds(zone.start_ns)
            .nanoseconds(zone.duration_cycles)
            .nanoseconds(self_ns)
            .nanoseconds(zone.start_cycle)
            .maybe_text(event.and_then(|(event, _)| maybe(event.text.as_deref()?)).as_ref())
            .flag(zone.is_clipped)
            .maybe_text(event.and_then(|(event, _)| color(event)).as_ref());
    }

    fn fill_mark(&mut self, row: &mut Row<'_>, mark: &TraceHostMark<'a>) {
        row.text(&ByteArray::from(kind_label(mark.event.kind)));
        let name = self.texts(mark.source).name.clone();
        row.maybe_text(name.as_ref());
        self.fill_source(row, Some(mark.source));
        row.nanoseconds(mark.time_ns)
            .nanoseconds(mark.event.time_ns)
            .maybe_real(None)
            .maybe_text(mark.event.text.as_deref().and_then(maybe).as_ref())
            .maybe_text(color(mark.event).as_ref());
    }

    fn fill_source(&mut self, row: &mut Row<'_>, source: Option<&'a HostSource>) {
        let line = source.map(|source| source.line).filter(|&line| line > 0);
        let texts = source.map(|source| self.texts(source));
        row.maybe_text(texts.and_then(|texts| texts.function.as_ref()))
            .maybe_text(texts.and_then(|texts| texts.file.as_ref()))
            .maybe_narrow(line);
    }

    fn texts(&mut self, source: &'a HostSource) -> &SourceTexts {
        self.sources.entry(source).or_insert_with(|| SourceTexts {
            name: maybe(&source.name),
            function: maybe(&source.function),
            file: maybe(&source.file),
        })
    }
}

fn maybe(text: &str) -> Option<ByteArray> {
    (!text.is_empty()).then(|| ByteArray::from(text))
}

fn color(event: &HostEvent) -> Option<ByteArray> {
    Some(event.color?.to_string().into_bytes().into())
}

const fn kind_label(kind: HostEventKind) -> &'static str {
    match kind {
        HostEventKind::Message => "message",
        HostEventKind::Signpost => "signpost",
        HostEventKind::FrameMark => "frame",
        HostEventKind::Zone { .. } => "zone",
        HostEventKind::Plot { .. } => "plot",
    }
}
