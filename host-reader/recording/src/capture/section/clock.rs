//! Clock samples: the raw measurements of a clock fit.
//!
//! Kind 7, version 1.0:
//!
//! ```text
//!  0  u32  what: 0 = pings of a tile,    24  u64  one-way: host clock at the start, ticks
//!          1 = pings over Ethernet,      32  u32  one-way: high word of the wall clock
//!          2 = a one-way session         36  u32  one-way: low word read with it
//!  4  u32  chip id                       40  u32  bytes of one sample
//!  8  u16  NoC-0 x                       44  u32  0
//! 10  u16  NoC-0 y                       48  ...  samples
//! 12  u32  sample count
//! 16  u32  Ethernet: receiver's chip id
//! 20  u16  Ethernet: receiver's x
//! 22  u16  Ethernet: receiver's y
//! ```
//!
//! Layout of the samples of a tile's pings (left), of pings over Ethernet (middle), and of a
//! one-way session (right):
//!
//! ```text
//!  0  i64  host, sent, ns        0  u64  sender, sent, cycles     0  u32  device low, cycles
//!  8  u64  device, cycles        8  u64  receiver, got, cycles    4  u32  host low, ticks
//! 16  i64  host, got, ns        16  u64  receiver, sent, cycles   8  u32  write took, ticks
//!                               24  u64  sender, got, cycles     12  u32  0
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, RawRecord, field_count, mirror_records, put, raw_records},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload, sync::LinkBurst};
use reader::clock::{EthernetPing, OneWaySession, OneWayStamp, PingBurst, Tile, TwoWayPing};
use zerocopy::{
    FromZeros,
    little_endian::{I64, U16, U32, U64},
};

/// Raw measurements for a clock fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockSamples {
    /// Pings from the host to one tile.
    TwoWay(PingBurst),
    /// Messages between two chips.
    Ethernet(LinkBurst),
    /// A run of TT-Metal's synchronisation kernel.
    OneWay(OneWaySession),
}

impl ClockSamples {
    fn head(&self) -> Result<RawHead, CaptureError> {
        Ok(match self {
            Self::TwoWay(burst) => RawHead {
                sample_count: U32::new(field_count(burst.pings.len())?),
                sample_bytes: U32::new(24),
                ..RawHead::from_tile(TWO_WAY, burst.tile)
            },
            Self::Ethernet(burst) => RawHead {
                sample_count: U32::new(field_count(burst.pings.len())?),
                sample_bytes: U32::new(32),
                peer: RawTile::from_tile(burst.receiver),
                ..RawHead::from_tile(ETHERNET, burst.sender)
            },
            Self::OneWay(session) => RawHead {
                sample_count: U32::new(field_count(session.stamps.len())?),
                sample_bytes: U32::new(16),
                host_start_ticks: U64::new(session.host_start_ticks),
                device_high: U32::new(session.device_high),
                device_low_cycles: U32::new(session.device_low_cycles),
                ..RawHead::from_tile(ONE_WAY, session.tile)
            },
        })
    }
}

impl<'file> Payload<'file> for ClockSamples {
    const KIND: SectionKind = SectionKind::CLOCK;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put(buffer, &self.head()?);
        match self {
            Self::TwoWay(burst) => put_all::<_, RawTwoWay>(buffer, &burst.pings),
            Self::Ethernet(burst) => put_all::<_, RawEthernet>(buffer, &burst.pings),
            Self::OneWay(session) => put_all::<_, RawOneWay>(buffer, &session.stamps),
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawHead = fields.record("head")?;
        let (count, stride) = (head.sample_count.get(), head.sample_bytes.get());
        let tile = head.tile.tile(&fields)?;
        match head.what.get() {
            TWO_WAY => {
                let samples = fields.records::<RawTwoWay>("pings", count, stride)?;
                let pings = samples.map(TwoWayPing::from).collect();
                Ok(Self::TwoWay(PingBurst { tile, pings }))
            }
            ETHERNET => {
                let samples = fields.records::<RawEthernet>("pings", count, stride)?;
                let pings = samples.map(EthernetPing::from).collect();
                let receiver = head.peer.tile(&fields)?;
                Ok(Self::Ethernet(LinkBurst { sender: tile, receiver, pings }))
            }
            ONE_WAY => {
                let samples = fields.records::<RawOneWay>("stamps", count, stride)?;
                Ok(Self::OneWay(OneWaySession {
                    tile,
                    host_start_ticks: head.host_start_ticks.get(),
                    device_high: head.device_high.get(),
                    device_low_cycles: head.device_low_cycles.get(),
                    stamps: samples.map(OneWayStamp::from).collect(),
                }))
            }
            other => Err(fields.fault("kind of samples", "0 to 2", &other)),
        }
    }
}

const TWO_WAY: u32 = 0;
const ETHERNET: u32 = 1;
const ONE_WAY: u32 = 2;

fn put_all<'samples, T, R: RawRecord + From<&'samples T>>(
    buffer: &mut Vec<u8>,
    samples: &'samples [T],
) {
    for sample in samples {
        put(buffer, &R::from(sample));
    }
}

raw_records! {
    RawTile: 8 => {
        chip_id: U32,
        x: U16,
        y: U16,
    }
    RawHead: 48 => {
        what: U32,
        tile: RawTile,
        sample_count: U32,
        peer: RawTile,
        host_start_ticks: U64,
        device_high: U32,
        device_low_cycles: U32,
        sample_bytes: U32,
        reserved: U32,
    }
}

impl RawTile {
    fn from_tile(tile: Tile) -> Self {
        Self {
            chip_id: U32::new(tile.chip),
            x: U16::new(u16::from(tile.x)),
            y: U16::new(u16::from(tile.y)),
        }
    }

    fn tile(&self, fields: &Fields<'_>) -> Result<Tile, MalformedPayload> {
        let place = [self.x, self.y];
        match place.map(|coordinate| u8::try_from(coordinate.get())) {
            [Ok(x), Ok(y)] => Ok(Tile::new(self.chip_id.get(), x, y)),
            _ => Err(fields.fault("tile", "coordinates below 256", &format!("{place:?}"))),
        }
    }
}

impl RawHead {
    fn from_tile(what: u32, tile: Tile) -> Self {
        Self { what: U32::new(what), tile: RawTile::from_tile(tile), ..Self::new_zeroed() }
    }
}

mirror_records! {
    RawTwoWay: 24, of TwoWayPing {
        host_send_ns: I64,
        device_cycles: U64,
        host_receive_ns: I64,
    }
    RawEthernet: 32, of EthernetPing {
        sender_start_cycles: U64,
        receiver_start_cycles: U64,
        receiver_end_cycles: U64,
        sender_end_cycles: U64,
    }
    RawOneWay: 16, of OneWayStamp {
        device_low_cycles: U32,
        host_ticks: U32,
        write_duration_ticks: U32,
        ; reserved: U32,
    }
}
