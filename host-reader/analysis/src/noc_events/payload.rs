//! Decoder of the 64 bits of a NoC event.

use crate::noc_events::{size_field::SizeField, version::PayloadVersion};
use wire::noc_event::{FabricRoute, NocEventKind, NocTrailer};

reader::labelled! {
    /// One of the two networks of a chip. The label of a network is the name that TT-Metal uses.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Noc {
        /// The event has no network.
        Undefined = "UNDEF",
        /// NoC 0.
        Noc0 = "NOC_0",
        /// NoC 1.
        Noc1 = "NOC_1",
    }
}

impl Noc {
    /// Returns the network that TT-Metal calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|noc| noc.label() == name)
    }
}

/// Coordinates that a kernel passed to a NoC: translated, or raw coordinates of that NoC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawCoord {
    /// Column; -1 if the event has no target.
    pub x: i8,
    /// Row; -1 if the event has no target.
    pub y: i8,
}

/// Event on the chip's own NoC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalEvent {
    /// Kind of the event.
    pub kind: NocEventKind,
    /// Target tile; for a multicast, the corner at which the rectangle starts.
    pub target: RawCoord,
    /// Corner at which the rectangle of a multicast ends.
    pub multicast_end: RawCoord,
    /// Network of the event.
    pub noc: Noc,
    /// Virtual channel, as a signed 4-bit number; -1 if the event has no virtual channel.
    pub virtual_channel: i8,
    /// Payload in bytes. Versions that record units of 32 bytes round it up.
    pub byte_count: u32,
    /// True if the payload may be larger, because the size has the maximum value of its field.
    pub is_saturated: bool,
    /// True if the writer does not wait for an acknowledgement.
    pub is_posted: bool,
}

impl LocalEvent {
    /// Bytes of one unit of the payload.
    pub(super) const CHUNK_BYTES: u32 = 32;

    /// Returns the target; `None` if the event has no target or uses the target of an earlier
    /// event.
    #[must_use]
    pub const fn own_target(&self) -> Option<RawCoord> {
        let RawCoord { x, y } = self.target;
        let is_set_elsewhere =
            matches!(self.kind, NocEventKind::ReadWithState | NocEventKind::WriteWithState);
        if x == -1 || y == -1 || is_set_elsewhere { None } else { Some(self.target) }
    }
}

impl LocalEvent {
    /// Decodes an event of [`PayloadVersion::Byte2`], which records no last corner of a rectangle.
    fn of_byte_2(kind: NocEventKind, bits: u64) -> Result<Self, PayloadError> {
        let [x, y, _, network, channel, sizes @ ..] = bits.to_le_bytes();
        let [low, middle, high] = sizes;
        let byte_count = u32::from_le_bytes([low, middle, high, 0]);
        Ok(Self {
            kind,
            target: raw_coord(x, y),
            multicast_end: RawCoord { x: -1, y: -1 },
            noc: noc_numbered(network)?,
            virtual_channel: channel.cast_signed(),
            byte_count,
            is_saturated: false,
            is_posted: false,
        })
    }

    /// Decodes an event of [`PayloadVersion::Byte4`] or [`PayloadVersion::Byte4FullBarrier`].
    fn of_byte_4(kind: NocEventKind, bits: u64) -> Result<Self, PayloadError> {
        let [x, y, end_x, end_y, _, carrier, low, high] = bits.to_le_bytes();
        let byte_count = u16::from_le_bytes([low, high]);
        Ok(Self {
            kind,
            target: raw_coord(x, y),
            multicast_end: raw_coord(end_x, end_y),
            noc: noc_of(carrier)?,
            virtual_channel: channel_of(carrier),
            byte_count: byte_count.into(),
            is_saturated: byte_count == u16::MAX,
            is_posted: false,
        })
    }

    /// Decodes an event of [`PayloadVersion::Byte6`].
    fn of_byte_6(kind: NocEventKind, bits: u64) -> Result<Self, PayloadError> {
        let [x, y, end_x, end_y, carrier, chunk_count, ..] = bits.to_le_bytes();
        Ok(Self {
            kind,
            target: raw_coord(x, y),
            multicast_end: raw_coord(end_x, end_y),
            noc: noc_of(carrier)?,
            virtual_channel: channel_of(carrier),
            byte_count: u32::from(chunk_count).saturating_mul(Self::CHUNK_BYTES),
            is_saturated: chunk_count == u8::MAX,
            is_posted: false,
        })
    }
}

/// Fabric packet. A packet to several addresses is recorded as several events, one for each
/// address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FabricEvent {
    /// Kind of the event.
    pub kind: NocEventKind,
    /// Target on the receiving chip.
    pub target: RawCoord,
    /// Network of the receiving chip.
    pub noc: Noc,
    /// Encoding of the packet's route. The next event contains the route itself.
    pub packet: FabricRoute,
    /// Size and number of the parts, if the packet writes to several addresses.
    pub part: Option<FabricPart>,
}

/// Part of a fabric packet for one address, if the packet writes to several addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FabricPart {
    /// Number of bytes for this address; 0 for the last address, which receives the remaining
    /// bytes.
    pub chunk_bytes: i16,
    /// Number of parts of the packet.
    pub chunk_count: i8,
}

/// Route of a fabric packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// Route along a line of chips.
    Line {
        /// Route word of the packet.
        value: u32,
    },
    /// Route on a mesh of chips.
    Mesh {
        /// Hops north or south.
        north_south_hops: u8,
        /// Hops east.
        east_hops: u8,
        /// Hops west.
        west_hops: u8,
        /// True if all chips on the route receive the packet.
        is_multicast: bool,
    },
    /// Unknown route on a mesh. Since TT-Metal 0.81.1, devices do not record routes on a mesh.
    Unrecorded,
}

/// Decoded 64 bits of a NoC event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Event on the chip's own NoC.
    Local(LocalEvent),
    /// Fabric packet, or part of one.
    Fabric(FabricEvent),
    /// Route of the previous packet.
    Routing(Routing),
}

/// Error for a word that is not a NoC event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// The number of the kind is unknown.
    #[error("unknown kind of NoC event: {number}")]
    UnknownKind {
        /// Number of the kind.
        number: u8,
    },
    /// The number of the network is not 0, 1 or 2.
    #[error("unknown NoC: {number}")]
    UnknownNoc {
        /// Number of the network.
        number: u8,
    },
    /// The event is a fabric packet or a route of [`PayloadVersion::Byte6`], which does not record
    /// the network of the receiving chip.
    #[error("fabric packet of a version that does not record its network: kind {number}")]
    FabricWithoutNetwork {
        /// Number of the kind.
        number: u8,
    },
    /// The number of the route's encoding is unknown.
    #[error("unknown form of fabric packet: {number}")]
    UnknownPacket {
        /// Number of the encoding.
        number: u8,
    },
}

impl Payload {
    /// Decodes the 64 bits of a NoC event.
    ///
    /// # Errors
    /// Returns an error if a field contains an unknown number.
    ///
    /// ```
    /// use analysis::noc_events::{NocEventKind, Noc, Payload, PayloadVersion, SizeField};
    /// // A line of a log of a Wormhole: 256 bytes to the tile (0,11) over NoC 0.
    /// let version = PayloadVersion::Byte0Remote;
    /// let Payload::Local(write) = Payload::decode(0x0008_1100_000b_000b, version, SizeField::Bits8)?
    /// else {
    ///     panic!("a write is no packet of the fabric");
    /// };
    /// assert_eq!((write.kind, write.noc), (NocEventKind::Write, Noc::Noc0));
    /// assert_eq!((write.target.x, write.target.y, write.byte_count), (0, 11, 256));
    /// # Ok::<(), analysis::noc_events::PayloadError>(())
    /// ```
    pub fn decode(
        bits: u64,
        version: PayloadVersion,
        size_field: SizeField,
    ) -> Result<Self, PayloadError> {
        let kind = version.kind_of(bits)?;
        match version {
            PayloadVersion::Byte0 | PayloadVersion::Byte0Remote => {
                Self::with_leading_kind(kind, bits, size_field)
            }
            PayloadVersion::Byte2 => Ok(Self::Local(LocalEvent::of_byte_2(kind, bits)?)),
            PayloadVersion::Byte4 | PayloadVersion::Byte4FullBarrier => {
                Ok(Self::Local(LocalEvent::of_byte_4(kind, bits)?))
            }
            PayloadVersion::Byte6 => Ok(Self::Local(LocalEvent::of_byte_6(kind, bits)?)),
        }
    }

    /// Decodes an event of a version whose first byte is the number of the kind.
    fn with_leading_kind(
        kind: NocEventKind,
        bits: u64,
        size_field: SizeField,
    ) -> Result<Self, PayloadError> {
        let [_, x, y, end_x, end_y, carrier, size, flags] = bits.to_le_bytes();
        let target = raw_coord(x, y);
        Ok(match kind {
            NocEventKind::FabricRoutingFields1d => {
                Self::Routing(Routing::Line { value: u32::from_le_bytes([x, y, end_x, end_y]) })
            }
            // A recorded route has at least one hop. So if all fields are 0, the route was not
            // recorded.
            NocEventKind::FabricRoutingFields2d if bits >> u8::BITS == 0 => {
                Self::Routing(Routing::Unrecorded)
            }
            NocEventKind::FabricRoutingFields2d => Self::Routing(Routing::Mesh {
                north_south_hops: x,
                east_hops: y,
                west_hops: end_x,
                is_multicast: end_y != 0,
            }),
            _ if kind.is_fabric() => {
                let is_part = kind == NocEventKind::FabricUnicastScatterWrite;
                let part = is_part.then(|| FabricPart {
                    chunk_bytes: i16::from_le_bytes([end_y, carrier]),
                    chunk_count: size.cast_signed(),
                });
                let (noc, packet) = fabric_carrier(if is_part { flags } else { carrier })?;
                Self::Fabric(FabricEvent { kind, target, noc, packet, part })
            }
            _ => {
                let (chunk_count, is_posted) = size_field.split(u16::from_le_bytes([size, flags]));
                Self::Local(LocalEvent {
                    kind,
                    target,
                    multicast_end: raw_coord(end_x, end_y),
                    noc: noc_of(carrier)?,
                    virtual_channel: channel_of(carrier),
                    byte_count: u32::from(chunk_count).saturating_mul(LocalEvent::CHUNK_BYTES),
                    is_saturated: chunk_count == size_field.most_chunks(),
                    is_posted,
                })
            }
        })
    }
}

const fn raw_coord(x: u8, y: u8) -> RawCoord {
    RawCoord { x: x.cast_signed(), y: y.cast_signed() }
}

/// Returns the virtual channel in the upper four bits, as a signed number.
const fn channel_of(carrier: u8) -> i8 {
    carrier.cast_signed() >> 4
}

fn noc_of(carrier: u8) -> Result<Noc, PayloadError> {
    noc_numbered(carrier & 0xF)
}

fn noc_numbered(number: u8) -> Result<Noc, PayloadError> {
    let noc = Noc::ALL.get(usize::from(number)).copied();
    noc.ok_or(PayloadError::UnknownNoc { number })
}

fn fabric_carrier(carrier: u8) -> Result<(Noc, FabricRoute), PayloadError> {
    let number = carrier >> 4;
    let packet = FabricRoute::from_number(number).ok_or(PayloadError::UnknownPacket { number })?;
    Ok((noc_of(carrier)?, packet))
}

/// Formats the addresses in the second word of an event, like the metadata in a device log.
///
/// # Compatibility
/// Metadata of `profile_log_device.csv`: keys sorted by name, `;` instead of commas.
pub(super) fn trailer_text(trailer: NocTrailer) -> String {
    let NocTrailer { local_address, remote_address, noc_counter } = trailer;
    format!(
        "{{\"dst_addr\":{remote_address};\"noc_status_counter\":{noc_counter};\
         \"src_addr\":{local_address}}}"
    )
}

/// Parses the text of [`trailer_text`]; `None` for other texts.
pub(super) fn trailer_from_text(text: &str) -> Option<NocTrailer> {
    /// Fields of the text.
    #[derive(serde::Deserialize)]
    struct Described {
        dst_addr: u32,
        src_addr: u32,
        noc_status_counter: u16,
    }
    if !text.contains("dst_addr") {
        return None;
    }
    let described = serde_json::from_str(&text.replace(';', ",")).ok()?;
    let Described { dst_addr, src_addr, noc_status_counter } = described;
    Some(NocTrailer {
        remote_address: dst_addr,
        local_address: src_addr,
        noc_counter: noc_status_counter.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn local(bits: u64) -> LocalEvent {
        match Payload::decode(bits, PayloadVersion::Byte0Remote, SizeField::Bits8) {
            Ok(Payload::Local(event)) => event,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_log_of_a_blackhole_holds_what_upstream_found_in_it() {
        // Data of the first two rows of blackhole-noc-256, and TT-Metal's JSON for them.
        let wait = local(264_982_319_071_004);
        assert_eq!((wait.kind.label(), wait.noc.label()), ("SEMAPHORE_WAIT", "NOC_0"));
        assert_eq!((wait.virtual_channel, wait.byte_count, wait.own_target()), (-1, 0, None));
        let write = local(2_270_491_512_279_307);
        assert_eq!((write.kind.label(), write.virtual_channel), ("WRITE_", 1));
        assert_eq!((write.byte_count, write.own_target()), (256, Some(RawCoord { x: 17, y: 14 })));
    }

    #[test]
    fn a_payload_of_255_chunks_may_be_larger() {
        let event = local(0x00FF_1100_0000_0001);
        assert_eq!((event.byte_count, event.is_saturated), (8_160, true));
        assert!(!local(0x00FE_1100_0000_0001).is_saturated);
    }

    #[test]
    fn a_scatter_has_its_size_at_an_even_byte_and_its_network_last() {
        let bits = u64::from_le_bytes([39, 1, 2, 0, 0x00, 0x04, 3, 0x12]);
        let scatter = FabricEvent {
            kind: NocEventKind::FabricUnicastScatterWrite,
            target: RawCoord { x: 1, y: 2 },
            noc: Noc::Noc1,
            packet: FabricRoute::LowLatency,
            part: Some(FabricPart { chunk_bytes: 1_024, chunk_count: 3 }),
        };
        let decoded = Payload::decode(bits, PayloadVersion::Byte0Remote, SizeField::default());
        assert_eq!(decoded, Ok(Payload::Fabric(scatter)));
    }

    #[test]
    fn newer_sizes_have_twelve_bits_and_the_posted_bit_behind_them() {
        // Packed by hand from the bit fields of `event_metadata.hpp` of 0.81.1.
        for (chunks, posted) in [(0, 0), (8, 1), (255, 0), (256, 0), (300, 1), (4095, 1)] {
            let bits = write_bits(chunks, posted);
            let decoded = Payload::decode(bits, PayloadVersion::Byte0Remote, SizeField::Bits12);
            let Ok(Payload::Local(event)) = decoded else { panic!("{decoded:?}") };
            assert_eq!(u64::from(event.byte_count), chunks * 32);
            assert_eq!((event.is_posted, event.is_saturated), (posted == 1, chunks == 4095));
        }
    }

    const fn write_bits(chunks: u64, posted: u64) -> u64 {
        (posted << 12 | chunks) << 48 | 0x11 << 40 | 11
    }

    #[test]
    fn a_route_of_nothing_was_not_recorded() {
        let decode =
            |bits| Payload::decode(bits, PayloadVersion::Byte0Remote, SizeField::default());
        assert_eq!(decode(41), Ok(Payload::Routing(Routing::Unrecorded)));
        assert!(matches!(decode(41 | 1 << 8), Ok(Payload::Routing(Routing::Mesh { .. }))));
    }

    #[test]
    fn numbers_without_a_meaning_are_named() {
        let decode = |bytes| {
            Payload::decode(
                u64::from_le_bytes(bytes),
                PayloadVersion::Byte0Remote,
                SizeField::default(),
            )
        };
        assert_eq!(decode([0; 8]), Err(PayloadError::UnknownKind { number: 0 }));
        let noc = decode([11, 0, 0, 0, 0, 0x13, 0, 0]);
        assert_eq!(noc, Err(PayloadError::UnknownNoc { number: 3 }));
        let packet = decode([33, 0, 0, 0, 0, 0x41, 0, 0]);
        assert_eq!(packet, Err(PayloadError::UnknownPacket { number: 4 }));
    }

    proptest! {
        #[test]
        fn any_bits_are_an_event_or_refused(bits: u64) {
            for version in [PayloadVersion::Byte0, PayloadVersion::Byte0Remote] {
                for (field, most_bytes) in [(SizeField::Bits8, 8_160), (SizeField::Bits12, 131_040)] {
                    let decoded = Payload::decode(bits, version, field);
                    if let Ok(Payload::Local(event)) = decoded {
                        prop_assert!((-8..8).contains(&event.virtual_channel));
                        prop_assert!(event.byte_count <= most_bytes);
                    }
                }
            }
            let trailer = NocTrailer::unpack(bits);
            prop_assert!(trailer.remote_address < 1 << 24 && trailer.noc_counter < 1 << 12);
        }

        #[test]
        fn addresses_come_back_from_their_text(local_address: u32, remote_address: u32) {
            let trailer = NocTrailer { local_address, remote_address, noc_counter: 5 };
            prop_assert_eq!(trailer_from_text(&trailer_text(trailer)), Some(trailer));
        }
    }

    #[test]
    fn addresses_are_described_in_the_order_of_their_keys() {
        let trailer = NocTrailer { local_address: 23, remote_address: 33, noc_counter: 5 };
        let text = r#"{"dst_addr":33;"noc_status_counter":5;"src_addr":23}"#;
        assert_eq!(trailer_text(trailer), text);
    }
}
