//! Events of the host's threads. Ops are stored in a separate kind of section.
//!
//! Kind 12, version 1.0:
//!
//! ```text
//!  0  u32  source count             16  u64  events dropped as their threads ended
//!  4  u32  thread count             24  u32  number of the process
//!  8  u64  ops dropped              28  u32  0
//! ```
//!
//! After these fields come the source locations, and then the threads. Layout of a source location
//! (left) and of a thread (right):
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
//!  0  u8   kind: 0 = zone, 1 = message, 2 = signpost, 3 = frame mark, 4 = plot
//!  1  u8   1 if there is a text      16  u64  zone: end, ns; plot: bits of an f64; else 0
//!  2  u16  zone: enclosing zones     24  u32  bytes of the text
//!  4  u32  index of the source       28  u32  colour: 0 none, else 0x01RRGGBB
//!  8  u64  time or start, ns         32  ...  text, then padding
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, put_padded_texts, put_u16s, put_u32s, put_u64s},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use host_events::{
    HostColor, HostDrops, HostEvent, HostEventKind, HostRecording, HostSource, HostThread,
};

const ZONE: u8 = 0;
const MESSAGE: u8 = 1;
const SIGNPOST: u8 = 2;
const FRAME_MARK: u8 = 3;
const PLOT: u8 = 4;

/// Bit that is set if the field contains a colour. Without the bit, black would be the same value
/// (0) as no colour.
///
/// The bit is always 0 in captures before version 1.2.
const IS_COLOR: u32 = 1 << 24;

impl<'file> Payload<'file> for HostRecording {
    const KIND: SectionKind = SectionKind::HOST_RECORDING;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put_u32s(buffer, [field_count(self.sources.len())?, field_count(self.threads.len())?]);
        put_u64s(buffer, [self.dropped_op_count, self.late_event_count]);
        put_u32s(buffer, [self.process_id, 0]);
        self.sources.iter().try_for_each(|source| encode_source(source, buffer))?;
        self.threads.iter().try_for_each(|thread| encode_thread(thread, buffer))
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let mut head = fields.record("head", 32)?;
        let [source_count, thread_count] = head.u32s();
        let [dropped_op_count, late_event_count] = head.u64s();
        let [process_id] = head.u32s();
        let sources =
            (0..source_count).map(|_| decode_source(&mut fields)).collect::<Result<_, _>>()?;
        let threads = (0..thread_count).map(|_| decode_thread(&mut fields, source_count));
        Ok(Self {
            process_id,
            sources,
            threads: threads.collect::<Result<_, _>>()?,
            ops: Vec::new(),
            dropped_op_count,
            late_event_count,
        })
    }
}

fn encode_source(source: &HostSource, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
    let HostSource { name, function, file, line } = source;
    let [name_bytes, function_bytes] = [field_count(name.len())?, field_count(function.len())?];
    put_u32s(buffer, [*line, name_bytes, function_bytes, field_count(file.len())?]);
    put_padded_texts(buffer, &[name, function, file]);
    Ok(())
}

fn decode_source(fields: &mut Fields<'_>) -> Result<HostSource, MalformedPayload> {
    let [line, name, function, file] = fields.record("source", 16)?.u32s();
    let texts = [("name", name), ("function", function), ("file", file)];
    let [name, function, file] = fields.padded_texts(texts)?.map(Into::into);
    Ok(HostSource { name, function, file, line })
}

fn encode_thread(thread: &HostThread, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
    put_u64s(buffer, [thread.number]);
    put_u32s(buffer, [field_count(thread.name.len())?, field_count(thread.events.len())?]);
    let HostDrops { zones, others, texts } = thread.dropped;
    put_u64s(buffer, [thread.open_zone_count, zones, others, texts]);
    put_padded_texts(buffer, &[&thread.name]);
    thread.events.iter().try_for_each(|event| encode_event(event, buffer))
}

fn decode_thread(
    fields: &mut Fields<'_>,
    source_count: u32,
) -> Result<HostThread, MalformedPayload> {
    let mut thread = fields.record("thread", 48)?;
    let [number] = thread.u64s();
    let [name_bytes, event_count] = thread.u32s();
    let [open_zone_count, zones, others, texts] = thread.u64s();
    let [name] = fields.padded_texts([("name of a thread", name_bytes)])?;
    let events = (0..event_count).map(|_| decode_event(fields, source_count));
    let events = events.collect::<Result<_, _>>()?;
    let dropped = HostDrops { zones, others, texts };
    Ok(HostThread { number, name, events, open_zone_count, dropped })
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
    buffer.extend([what, text.is_some().into()]);
    put_u16s(buffer, [depth]);
    put_u32s(buffer, [event.source]);
    put_u64s(buffer, [event.time_ns, value]);
    let color = event.color.map_or(0, |color| IS_COLOR | color.rgb());
    let text = text.unwrap_or("");
    put_u32s(buffer, [field_count(text.len())?, color]);
    put_padded_texts(buffer, &[text]);
    Ok(())
}

fn decode_event(fields: &mut Fields<'_>, source_count: u32) -> Result<HostEvent, MalformedPayload> {
    let mut event = fields.record("event", 32)?;
    let [what, has_text] = event.u8s();
    let [depth] = event.u16s();
    let [source] = event.u32s();
    let [time_ns, value] = event.u64s();
    let [text_bytes, color] = event.u32s();
    if source >= source_count {
        let expected = format!("the number of one of {source_count} sources");
        return Err(fields.fault("source of an event", &expected, &source));
    }
    let kind = match what {
        ZONE => HostEventKind::Zone { end_ns: value, depth },
        MESSAGE => HostEventKind::Message,
        SIGNPOST => HostEventKind::Signpost,
        FRAME_MARK => HostEventKind::FrameMark,
        PLOT => HostEventKind::Plot { value: f64::from_bits(value) },
        other => return Err(fields.fault("event", "a kind from 0 to 4", &other)),
    };
    let [text] = fields.padded_texts([("text of an event", text_bytes)])?;
    let text = (has_text != 0).then(|| text.into());
    // Values other than 0 and 0x01RRGGBB only have a meaning in later versions.
    let color = HostColor::from_rgb(color ^ IS_COLOR);
    Ok(HostEvent { source, time_ns, kind, text, color })
}
