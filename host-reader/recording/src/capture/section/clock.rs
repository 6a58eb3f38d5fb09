//! Clock samples: the raw measurements to which the relation of two clocks is fitted.
//!
//! Kind 7, version 1.0:
//!
//! ```text
//!  0  u32  kind: 0 = pings of a tile,    24  u64  one-way: host clock at the start, ticks
//!          1 = pings over Ethernet,      32  u32  one-way: high word of the wall clock
//!          2 = a one-way session         36  u32  one-way: low word of the wall clock
//!  4  u32  chip id                       40  u32  bytes of one sample
//!  8  u16  NoC-0 x                       44  u32  0
//! 10  u16  NoC-0 y                       48  ...  samples
//! 12  u32  sample count
//! 16  u32  Ethernet: receiver's chip id
//! 20  u16  Ethernet: receiver's x
//! 22  u16  Ethernet: receiver's y
//! ```
//!
//! Layout of a sample: of pings from the host to a tile (left), of pings between tiles over
//! Ethernet (middle), and of one-way messages from the host to a tile (right):
//!
//! ```text
//!  0  i64  host, sent, ns        0  u64  sender, sent, cycles     0  u32  device low, cycles
//!  8  u64  device, cycles        8  u64  receiver, got, cycles    4  u32  host low, ticks
//! 16  i64  host, got, ns        16  u64  receiver, sent, cycles   8  u32  write time, ticks
//!                               24  u64  sender, got, cycles     12  u32  0
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, Record, field_count, put_u16s, put_u32s, put_u64s},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload, sync::LinkBurst};
use reader::clock::{EthernetPing, OneWaySession, OneWayStamp, PingBurst, Tile, TwoWayPing};
use zerocopy::little_endian::U16;

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

impl<'file> Payload<'file> for ClockSamples {
    const KIND: SectionKind = SectionKind::CLOCK;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        match self {
            Self::TwoWay(burst) => {
                put_tiles(buffer, TWO_WAY, [burst.tile, NO_TILE], burst.pings.len())?;
                put_u64s(buffer, [0, 0]);
                put_u32s(buffer, [TWO_WAY_BYTES, 0]);
                for ping in &burst.pings {
                    let [sent, received] =
                        [ping.host_send_ns, ping.host_receive_ns].map(i64::cast_unsigned);
                    put_u64s(buffer, [sent, ping.device_cycles, received]);
                }
            }
            Self::Ethernet(burst) => {
                put_tiles(buffer, ETHERNET, [burst.sender, burst.receiver], burst.pings.len())?;
                put_u64s(buffer, [0, 0]);
                put_u32s(buffer, [ETHERNET_BYTES, 0]);
                for ping in &burst.pings {
                    let [start, end] = [ping.sender_start_cycles, ping.sender_end_cycles];
                    let received = [ping.receiver_start_cycles, ping.receiver_end_cycles];
                    put_u64s(buffer, [start, received[0], received[1], end]);
                }
            }
            Self::OneWay(session) => {
                put_tiles(buffer, ONE_WAY, [session.tile, NO_TILE], session.stamps.len())?;
                put_u64s(buffer, [session.host_start_ticks]);
                put_u32s(buffer, [session.device_high, session.device_low_cycles]);
                put_u32s(buffer, [ONE_WAY_BYTES, 0]);
                for stamp in &session.stamps {
                    let write_ticks = stamp.write_duration_ticks;
                    put_u32s(buffer, [stamp.device_low_cycles, stamp.host_ticks, write_ticks, 0]);
                }
            }
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let mut head = fields.record("head", 48)?;
        let [what] = head.u32s();
        let sender = RawTile::take(&mut head);
        let [count] = head.u32s();
        let peer = RawTile::take(&mut head);
        let [host_start_ticks] = head.u64s();
        let [device_high, device_low_cycles, stride] = head.u32s();
        let tile = sender.tile(&fields)?;
        match what {
            TWO_WAY => {
                let samples = fields.records("pings", TWO_WAY_BYTES, [count, stride])?;
                let pings = samples.map(|mut sample| {
                    let [sent, device_cycles, received] = sample.u64s();
                    let [host_send_ns, host_receive_ns] = [sent, received].map(u64::cast_signed);
                    TwoWayPing { host_send_ns, device_cycles, host_receive_ns }
                });
                Ok(Self::TwoWay(PingBurst { tile, pings: pings.collect() }))
            }
            ETHERNET => {
                let samples = fields.records("pings", ETHERNET_BYTES, [count, stride])?;
                let pings = samples.map(|mut sample| {
                    let [sender_start_cycles, receiver_start_cycles] = sample.u64s();
                    let [receiver_end_cycles, sender_end_cycles] = sample.u64s();
                    EthernetPing {
                        sender_start_cycles,
                        receiver_start_cycles,
                        receiver_end_cycles,
                        sender_end_cycles,
                    }
                });
                let (receiver, pings) = (peer.tile(&fields)?, pings.collect());
                Ok(Self::Ethernet(LinkBurst { sender: tile, receiver, pings }))
            }
            ONE_WAY => {
                let samples = fields.records("stamps", ONE_WAY_BYTES, [count, stride])?;
                let stamps = samples.map(|mut sample| {
                    let [device_low_cycles, host_ticks, write_duration_ticks] = sample.u32s();
                    OneWayStamp { device_low_cycles, host_ticks, write_duration_ticks }
                });
                let stamps = stamps.collect();
                let session = OneWaySession {
                    tile,
                    host_start_ticks,
                    device_high,
                    device_low_cycles,
                    stamps,
                };
                Ok(Self::OneWay(session))
            }
            other => Err(fields.fault("kind of samples", "0 to 2", &other)),
        }
    }
}

const TWO_WAY: u32 = 0;
const ETHERNET: u32 = 1;
const ONE_WAY: u32 = 2;

const TWO_WAY_BYTES: u32 = 24;
const ETHERNET_BYTES: u32 = 32;
const ONE_WAY_BYTES: u32 = 16;

/// Receiver field of samples that have no receiver.
const NO_TILE: Tile = Tile::new(0, 0, 0);

/// Appends the fields with which the payload begins for every kind of sample, up to the two tiles.
fn put_tiles(
    buffer: &mut Vec<u8>,
    what: u32,
    [tile, receiver]: [Tile; 2],
    sample_count: usize,
) -> Result<(), CaptureError> {
    put_u32s(buffer, [what, tile.chip]);
    put_u16s(buffer, [tile.x.into(), tile.y.into()]);
    put_u32s(buffer, [field_count(sample_count)?, receiver.chip]);
    put_u16s(buffer, [receiver.x.into(), receiver.y.into()]);
    Ok(())
}

/// A tile with coordinates that were not checked yet.
struct RawTile {
    chip_id: u32,
    place: [u16; 2],
}

impl RawTile {
    fn take(record: &mut Record<'_>) -> Self {
        let [chip_id] = record.u32s();
        Self { chip_id, place: record.u16s() }
    }

    fn tile(&self, fields: &Fields<'_>) -> Result<Tile, MalformedPayload> {
        match self.place.map(u8::try_from) {
            [Ok(x), Ok(y)] => Ok(Tile::new(self.chip_id, x, y)),
            _ => {
                let found = format!("{:?}", self.place.map(U16::new));
                Err(fields.fault("tile", "coordinates below 256", &found))
            }
        }
    }
}
