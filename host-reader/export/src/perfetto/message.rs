//! Messages of a Perfetto trace that this crate writes, with their field numbers.
//!
//! # Compatibility
//! `protos/perfetto/trace/` of google/perfetto: `trace.proto`, `trace_packet.proto`,
//! `track_event/*.proto`, `interned_data/interned_data.proto`.

use prost::{
    DecodeError, Message,
    bytes::{Buf, BufMut},
    encoding::{self, DecodeContext, WireType},
};

/// Field number of a packet in the outermost message.
pub(super) const TRACE_PACKET_TAG: u32 = 1;

/// Flag at the start of a sequence. It discards previously interned data.
pub(super) const SEQUENCE_CLEARED: u32 = 1;
/// Flag of packets that use the interned data of their sequence.
pub(super) const SEQUENCE_NEEDED: u32 = 2;

/// Kinds of [`TrackEvent`].
pub(super) const SLICE_BEGIN: i32 = 1;
pub(super) const SLICE_END: i32 = 2;
pub(super) const INSTANT: i32 = 3;
pub(super) const COUNTER: i32 = 4;

/// Sort order of a track's children: explicit, by the rank of each child.
pub(super) const ORDER_EXPLICIT: i32 = 3;
/// Value that prevents merging of tracks with the same name.
pub(super) const MERGE_NONE: i32 = 2;
/// Unit of a counter: a plain number.
pub(super) const UNIT_COUNT: i32 = 2;
/// Unit of a counter: bytes.
pub(super) const UNIT_BYTES: i32 = 3;

/// Defines messages by the number, wire type, name and type of each field.
///
/// `prost` encodes the fields. The derive macro of `prost` is not used, because it would add six
/// seconds to the first build.
macro_rules! messages {
    ($($(#[$doc:meta])* $message:ident { $($tag:literal $wire:ident $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(super) struct $message {
            $(pub(super) $field: $type,)*
        }

        impl Message for $message {
            fn encode_raw(&self, buffer: &mut impl BufMut) {
                $(for value in self.$field.as_slice() {
                    encoding::$wire::encode($tag, value, buffer);
                })*
            }

            fn encoded_len(&self) -> usize {
                let mut length = 0;
                $(for value in self.$field.as_slice() {
                    length += encoding::$wire::encoded_len($tag, value);
                })*
                length
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire_type: WireType,
                buffer: &mut impl Buf,
                context: DecodeContext,
            ) -> Result<(), DecodeError> {
                match tag {
                    $($tag => {
                        let value = self.$field.next_value();
                        encoding::$wire::merge(wire_type, value, buffer, context)
                    })*
                    _ => encoding::skip_field(wire_type, tag, buffer, context),
                }
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        }
    )*};
}

/// Field of a message: optional or repeated.
trait Field {
    type Value;

    /// Returns a reference to the next value to be decoded.
    fn next_value(&mut self) -> &mut Self::Value;
}

impl<T: Default> Field for Option<T> {
    type Value = T;

    fn next_value(&mut self) -> &mut T {
        self.get_or_insert_default()
    }
}

impl<T: Default> Field for Vec<T> {
    type Value = T;

    fn next_value(&mut self) -> &mut T {
        self.push(T::default());
        let last = self.len() - 1;
        &mut self[last]
    }
}

messages! {
    TracePacket {
        8 uint64 timestamp: Option<u64>,
        10 uint32 trusted_packet_sequence_id: Option<u32>,
        11 message track_event: Option<TrackEvent>,
        12 message interned_data: Option<InternedData>,
        13 uint32 sequence_flags: Option<u32>,
        59 message trace_packet_defaults: Option<TracePacketDefaults>,
        60 message track_descriptor: Option<TrackDescriptor>,
        87 bool first_packet_on_sequence: Option<bool>,
    }

    /// A [`TracePacket`] that begins or ends a zone. This message has only the fields that zones
    /// use, because there are millions of zones.
    ZonePacket {
        8 uint64 timestamp: Option<u64>,
        10 uint32 trusted_packet_sequence_id: Option<u32>,
        11 message track_event: Option<ZoneEvent>,
        13 uint32 sequence_flags: Option<u32>,
    }

    /// A [`TrackEvent`] of a zone.
    ZoneEvent {
        3 uint64 category_iid: Option<u64>,
        4 message debug_annotations: Vec<ZoneAnnotation>,
        9 int32 kind: Option<i32>,
        10 uint64 name_iid: Option<u64>,
        34 uint64 source_location_iid: Option<u64>,
        48 fixed64 terminating_flow_id: Option<u64>,
    }

    /// A [`DebugAnnotation`] of a zone.
    ZoneAnnotation {
        1 uint64 name_iid: Option<u64>,
        2 bool bool_value: Option<bool>,
        3 uint64 uint_value: Option<u64>,
    }

    TracePacketDefaults {
        11 message track_event_defaults: Option<TrackEventDefaults>,
    }

    TrackEventDefaults {
        11 uint64 track_uuid: Option<u64>,
    }

    TrackDescriptor {
        1 uint64 uuid: Option<u64>,
        2 string name: Option<String>,
        3 message process: Option<ProcessDescriptor>,
        5 uint64 parent_uuid: Option<u64>,
        8 message counter: Option<CounterDescriptor>,
        11 int32 child_ordering: Option<i32>,
        12 int32 sibling_order_rank: Option<i32>,
        14 string description: Option<String>,
        15 int32 sibling_merge_behavior: Option<i32>,
    }

    ProcessDescriptor {
        1 int32 pid: Option<i32>,
        6 string process_name: Option<String>,
    }

    CounterDescriptor {
        3 int32 unit: Option<i32>,
    }

    TrackEvent {
        3 uint64 category_iids: Vec<u64>,
        4 message debug_annotations: Vec<DebugAnnotation>,
        9 int32 kind: Option<i32>,
        10 uint64 name_iid: Option<u64>,
        11 uint64 track_uuid: Option<u64>,
        22 string categories: Vec<String>,
        23 string name: Option<String>,
        30 int64 counter_value: Option<i64>,
        34 uint64 source_location_iid: Option<u64>,
        44 double double_counter_value: Option<f64>,
        47 fixed64 flow_ids: Vec<u64>,
        48 fixed64 terminating_flow_ids: Vec<u64>,
    }

    DebugAnnotation {
        1 uint64 name_iid: Option<u64>,
        2 bool bool_value: Option<bool>,
        3 uint64 uint_value: Option<u64>,
        4 int64 int_value: Option<i64>,
        5 double double_value: Option<f64>,
        6 string string_value: Option<String>,
        10 string name: Option<String>,
    }

    InternedData {
        1 message event_categories: Vec<InternedString>,
        2 message event_names: Vec<InternedString>,
        3 message debug_annotation_names: Vec<InternedString>,
        4 message source_locations: Vec<SourceLocation>,
    }

    InternedString {
        1 uint64 iid: Option<u64>,
        2 string name: Option<String>,
    }

    SourceLocation {
        1 uint64 iid: Option<u64>,
        2 string file_name: Option<String>,
        3 string function_name: Option<String>,
        4 uint32 line_number: Option<u32>,
    }
}

#[cfg(test)]
messages! {
    /// A whole trace.
    Packets {
        1 message packet: Vec<TracePacket>,
    }
}
