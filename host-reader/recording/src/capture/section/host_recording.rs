//! Events of the host's threads. Ops are stored in a separate kind of section.
//!
//! Kind 12, version 1.0:
//!
//! ```text
//!  0  u32  source count             16  u64  events of threads that were ending
//!  4  u32  thread count             24  u32  number of the process
//!  8  u64  ops dropped             28  u32  0
//! ```
//!
//! The sources follow, and then the threads. Layout of a source (left) and of a thread (right):
//!
//! ```text
//!  0  u32  line, 0 if unknown        0  u64  number
//!  4  u32  bytes of the name         8  u32  bytes of the name
//!  8  u32  bytes of the function    12  u32  event count
//! 12  u32  bytes of the file        16  u64  zones that had not ended
//! 16  ...  texts, then padding      24  u64  zones dropped
//!                                   32  u64  other events dropped
//!                                   40  u64  texts dropped
//!                                   48  ...  name, padding, events
//! ```
//!
//! Layout of an event:
//!
//! ```text
//!  0  u8   what: 0 = zone, 1 = message, 2 = signpost, 3 = frame mark, 4 = plot
//!  1  u8   whether it has a text     16  u64  zone: end, ns; plot: bits of an f64; else 0
//!  2  u16  zone: zones around it     24  u32  bytes of the text
//!  4  u32  number of its source      28  u32  colour: 0 none, else 0x01RRGGBB
//!  8  u64  time or start, ns         32  ...  text, then padding
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, pad, put, raw_records},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use host_events::{
    HostColor, HostDrops, HostEvent, HostEventKind, HostRecording, HostSource, HostThread,
};
use zerocopy::little_endian::{U16, U32, U64};

const ZONE: u8 = 0;
const MESSAGE: u8 = 1;
const SIGNPOST: u8 = 2;
const FRAME_MARK: u8 = 3;
const PLOT: u8 = 4;

/// Bit that marks a colour as present, because black would otherwise look like no colour. The bit
/// is always 0 in captures before version 1.2.
const IS_COLOR: u32 = 1 << 24;

impl<'file> Payload<'file> for HostRecording {
    const KIND: SectionKind = SectionKind::HOST_RECORDING;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put(
            buffer,
            &RawHead {
                source_count: U32::new(field_count(self.sources.len())?),
                thread_count: U32::new(field_count(self.threads.len())?),
                dropped_op_count: U64::new(self.dropped_op_count),
                late_event_count: U64::new(self.late_event_count),
                process_id: U32::new(self.process_id),
                reserved: U32::ZERO,
            },
        );
        self.sources.iter().try_for_each(|source| encode_source(source, buffer))?;
        self.threads.iter().try_for_each(|thread| encode_thread(thread, buffer))
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawHead = fields.record("head")?;
        let source_count = head.source_count.get();
        let sources =
            (0..source_count).map(|_| decode_source(&mut fields)).collect::<Result<_, _>>()?;
        let threads =
            (0..head.thread_count.get()).map(|_| decode_thread(&mut fields, source_count));
        Ok(Self {
            process_id: head.process_id.get(),
            sources,
            threads: threads.collect::<Result<_, _>>()?,
            ops: Vec::new(),
            dropped_op_count: head.dropped_op_count.get(),
            late_event_count: head.late_event_count.get(),
        })
    }
}

fn encode_source(source: &HostSource, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
    let texts = [&source.name, &source.function, &source.file];
    let raw = RawSource {
        line: U32::new(source.line),
        name_bytes: U32::new(field_count(source.name.len())?),
        function_bytes: U32::new(field_count(source.function.len())?),
        file_bytes: U32::new(field_count(source.file.len())?),
    };
    put(buffer, &raw);
    texts.into_iter().for_each(|text| buffer.extend_from_slice(text.as_bytes()));
    pad(buffer);
    Ok(())
}

fn decode_source(fields: &mut Fields<'_>) -> Result<HostSource, MalformedPayload> {
    let raw: &RawSource = fields.record("source")?;
    let source = HostSource {
        name: fields.text("name", raw.name_bytes.get())?.to_owned().into(),
        function: fields.text("function", raw.function_bytes.get())?.to_owned().into(),
        file: fields.text("file", raw.file_bytes.get())?.to_owned().into(),
        line: raw.line.get(),
    };
    fields.align();
    Ok(source)
}

fn encode_thread(thread: &HostThread, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
    put(
        buffer,
        &RawThread {
            number: U64::new(thread.number),
            name_bytes: U32::new(field_count(thread.name.len())?),
            event_count: U32::new(field_count(thread.events.len())?),
            open_zone_count: U64::new(thread.open_zone_count),
            dropped_zones: U64::new(thread.dropped.zones),
            dropped_others: U64::new(thread.dropped.others),
            dropped_texts: U64::new(thread.dropped.texts),
        },
    );
    buffer.extend_from_slice(thread.name.as_bytes());
    pad(buffer);
    thread.events.iter().try_for_each(|event| encode_event(event, buffer))
}

fn decode_thread(
    fields: &mut Fields<'_>,
    source_count: u32,
) -> Result<HostThread, MalformedPayload> {
    let raw: &RawThread = fields.record("thread")?;
    let name = fields.text("name of a thread", raw.name_bytes.get())?.to_owned();
    fields.align();
    let events = (0..raw.event_count.get()).map(|_| decode_event(fields, source_count));
    Ok(HostThread {
        number: raw.number.get(),
        name,
        events: events.collect::<Result<_, _>>()?,
        open_zone_count: raw.open_zone_count.get(),
        dropped: HostDrops {
            zones: raw.dropped_zones.get(),
            others: raw.dropped_others.get(),
            texts: raw.dropped_texts.get(),
        },
    })
}

fn encode_event(event: &HostEvent, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
    let (what, depth, value) = match event.kind {
        HostEventKind::Zone { end_ns, depth } => (ZONE, depth, end_ns),
        HostEventKind::Message => (MESSAGE, 0, 0),
        HostEventKind::Signpost => (SIGNPOST, 0, 0),
        HostEventKind::FrameMark => (FRAME_MARK, 0, 0),
        HostEventKind::Plot { value } => (PLOT, 0, value.to_bits()),
    };
    let text = event.text.as_deref();
    put(
        buffer,
        &RawEvent {
            what,
            has_text: text.is_some().into(),
            depth: U16::new(depth),
            source: U32::new(event.source),
            time_ns: U64::new(event.time_ns),
            value: U64::new(value),
            text_bytes: U32::new(field_count(text.map_or(0, str::len))?),
            color: U32::new(event.color.map_or(0, |color| IS_COLOR | color.rgb())),
        },
    );
    buffer.extend_from_slice(text.unwrap_or("").as_bytes());
    pad(buffer);
    Ok(())
}

fn decode_event(fields: &mut Fields<'_>, source_count: u32) -> Result<HostEvent, MalformedPayload> {
    let raw: &RawEvent = fields.record("event")?;
    let source = raw.source.get();
    if source >= source_count {
        let expected = format!("the number of one of {source_count} sources");
        return Err(fields.fault("source of an event", &expected, &source));
    }
    let value = raw.value.get();
    let kind = match raw.what {
        ZONE => HostEventKind::Zone { end_ns: value, depth: raw.depth.get() },
        MESSAGE => HostEventKind::Message,
        SIGNPOST => HostEventKind::Signpost,
        FRAME_MARK => HostEventKind::FrameMark,
        PLOT => HostEventKind::Plot { value: f64::from_bits(value) },
        other => return Err(fields.fault("event", "a kind from 0 to 4", &other)),
    };
    let text = fields.text("text of an event", raw.text_bytes.get())?;
    let text = (raw.has_text != 0).then(|| text.into());
    fields.align();
    // Other values only have a meaning in later versions.
    let color = HostColor::from_rgb(raw.color.get() ^ IS_COLOR);
    Ok(HostEvent { source, time_ns: raw.time_ns.get(), kind, text, color })
}

raw_records! {
    RawHead: 32 => {
        source_count: U32,
        thread_count: U32,
        dropped_op_count: U64,
        late_event_count: U64,
        process_id: U32,
        reserved: U32,
    }
    RawSource: 16 => {
        line: U32,
        name_bytes: U32,
        function_bytes: U32,
        file_bytes: U32,
    }
    RawThread: 48 => {
        number: U64,
        name_bytes: U32,
        event_count: U32,
        open_zone_count: U64,
        dropped_zones: U64,
        dropped_others: U64,
        dropped_texts: U64,
    }
    RawEvent: 32 => {
        what: u8,
        has_text: u8,
        depth: U16,
        source: U32,
        time_ns: U64,
        value: U64,
        text_bytes: U32,
        color: U32,
    }
}
