//! Sequence of packets that are encoded into a buffer one after the other.

use super::message::{
    COUNTER, DebugAnnotation, SEQUENCE_CLEARED, SEQUENCE_NEEDED, SLICE_END, TRACE_PACKET_TAG,
    TracePacket, TrackEvent, ZoneEvent, ZonePacket,
};
use prost::encoding;
use std::io::{self, Write};
use tables::Value;

/// Minimum number of buffered bytes that [`Sequence::write_many`] writes.
const MANY_BYTES: usize = 1 << 20;

/// Encoded packets of one sequence.
pub(super) struct Sequence {
    id: u32,
    bytes: Vec<u8>,
    /// Reused packet for events.
    packet: TracePacket,
    /// Reused packet for zones.
    zone: ZonePacket,
}

impl Sequence {
    /// Starts the sequence `id` with the packet `first`, which contains interned data and defaults
    /// for all events of the sequence.
    ///
    /// The id must be unique in the file, unless the flag `first_packet_on_sequence` of `first` is
    /// false. If the flag is false, the packets continue an earlier sequence with new interned
    /// data.
    pub(super) fn begin(id: u32, first: TracePacket, capacity_bytes: usize) -> Self {
        let bytes = Vec::with_capacity(capacity_bytes);
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(id),
            sequence_flags: Some(SEQUENCE_NEEDED),
            track_event: Some(TrackEvent::default()),
            ..TracePacket::default()
        };
        let zone = ZonePacket {
            trusted_packet_sequence_id: Some(id),
            sequence_flags: Some(SEQUENCE_NEEDED),
            ..ZonePacket::default()
        };
        let mut sequence = Self { id, bytes, packet, zone };
        sequence.add(TracePacket {
            sequence_flags: Some(SEQUENCE_CLEARED),
            first_packet_on_sequence: first.first_packet_on_sequence.or(Some(true)),
            ..first
        });
        sequence
    }

    /// Appends a packet that is not an event.
    pub(super) fn add(&mut self, mut packet: TracePacket) {
        packet.trusted_packet_sequence_id = Some(self.id);
        append(&packet, &mut self.bytes);
    }

    /// Appends an event. `fill` receives an empty event and sets its fields.
    pub(super) fn event(&mut self, time_ns: u64, kind: i32, fill: impl FnOnce(&mut TrackEvent)) {
        self.packet.timestamp = Some(time_ns);
        let event = self.packet.track_event.get_or_insert_default();
        clear(event);
        event.kind = Some(kind);
        fill(event);
        append(&self.packet, &mut self.bytes);
    }

    /// Appends the end of a slice.
    pub(super) fn end(&mut self, time_ns: u64, track: u64) {
        self.event(time_ns, SLICE_END, |event| event.track_uuid = Some(track));
    }

    /// Appends a value of a counter.
    pub(super) fn count(&mut self, time_ns: u64, track: u64, value: f64) {
        self.event(time_ns, COUNTER, |event| {
            event.track_uuid = Some(track);
            event.double_counter_value = Some(value);
        });
    }

    /// Appends the start or end of a zone. `fill` receives an empty event and sets its fields.
    pub(super) fn zone(&mut self, time_ns: u64, kind: i32, fill: impl FnOnce(&mut ZoneEvent)) {
        self.zone.timestamp = Some(time_ns);
        let event = self.zone.track_event.get_or_insert_default();
        let mut debug_annotations = std::mem::take(&mut event.debug_annotations);
        debug_annotations.clear();
        *event = ZoneEvent { kind: Some(kind), debug_annotations, ..ZoneEvent::default() };
        fill(event);
        encoding::message::encode(TRACE_PACKET_TAG, &self.zone, &mut self.bytes);
    }

    /// Writes the buffered bytes if there are many, in order to free their memory.
    pub(super) fn write_many(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.bytes.len() < MANY_BYTES {
            return Ok(());
        }
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl TrackEvent {
    /// Sets the track, the name and a category of an event. Returns the list of the event's
    /// arguments.
    pub(super) fn begin(
        &mut self,
        track: u64,
        name: String,
        category: &str,
    ) -> &mut Vec<DebugAnnotation> {
        self.track_uuid = Some(track);
        self.name = Some(name);
        self.categories.push(category.to_owned());
        &mut self.debug_annotations
    }
}

/// Clears an event but keeps the memory allocated for its lists.
fn clear(event: &mut TrackEvent) {
    let mut emptied = TrackEvent::default();
    std::mem::swap(&mut emptied.category_iids, &mut event.category_iids);
    std::mem::swap(&mut emptied.debug_annotations, &mut event.debug_annotations);
    emptied.category_iids.clear();
    emptied.debug_annotations.clear();
    *event = emptied;
}

fn append(packet: &TracePacket, bytes: &mut Vec<u8>) {
    encoding::message::encode(TRACE_PACKET_TAG, packet, bytes);
}

/// Returns a numeric argument with an interned name.
pub(super) fn number(name_iid: u64, value: u64) -> DebugAnnotation {
    DebugAnnotation { name_iid: Some(name_iid), uint_value: Some(value), ..Default::default() }
}

/// Returns a flag argument whose name is not interned.
pub(super) fn flag_of(name: &str) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.to_owned()), bool_value: Some(true), ..Default::default() }
}

/// Returns a numeric argument whose name is not interned.
pub(super) fn named_number(name: &str, value: u64) -> DebugAnnotation {
    let name = Some(name.to_owned());
    DebugAnnotation { name, uint_value: Some(value), ..Default::default() }
}

/// Returns an argument that contains a value of a table. The argument's name is not interned.
pub(super) fn named(name: &str, value: &Value<'_>) -> DebugAnnotation {
    match value {
        Value::Text(text) => named_text(name, text),
        Value::Real(number) => {
            let (name, double_value) = (Some(name.to_owned()), Some(*number));
            DebugAnnotation { name, double_value, ..Default::default() }
        }
        value => named_number(name, value.number().unwrap_or_default()),
    }
}

/// Returns a text argument whose name is not interned.
pub(super) fn named_text(name: &str, value: &str) -> DebugAnnotation {
    let (name, string_value) = (Some(name.to_owned()), Some(value.to_owned()));
    DebugAnnotation { name, string_value, ..Default::default() }
}
