//! NoC events that were pushed, against the requests that the NoC got.
//!
//! # Compatibility
//! `event_metadata.hpp` of tt-metal 0.81; read here byte by byte, once more.

use super::PushedRecord;
use crate::truth::{NocOperation, NocRequest};

/// Returns what is wrong with the first NoC event that no request explains.
///
/// Each event must be followed by a request of the same operation, coordinates, bytes, network,
/// virtual channel and acknowledgement, before the next event; a transfer that is longer than a
/// packet is several requests. Requests without an event are fine where `may_lack_events`, since
/// events can be lost. Events of kinds that are no transfers are left out.
///
/// ```
/// use sim::pushed::{PushedRecord, unexplained_noc_event};
/// let record = PushedRecord { kind: 3, id: 12345, cycle: 7, values: vec![0x0008_1100_000b_000b] };
/// let error = unexplained_noc_event([&record], &[], false).unwrap();
/// assert!(error.contains("no request"), "{error}");
/// ```
#[must_use]
pub fn unexplained_noc_event<'a>(
    records: impl IntoIterator<Item = &'a PushedRecord>,
    requests: &[NocRequest],
    may_lack_events: bool,
) -> Option<String> {
    let events = records.into_iter().filter_map(Event::of);
    let mut rest = requests.iter();
    for event in events {
        let mut left = event.unit_count;
        loop {
            let Some(request) = rest.next() else {
                return Some(format!("no request for {event:?}, {left} units of it are left"));
            };
            let is_its = event.is_of(request) && request.sent.0 >= event.cycle;
            let units = request.byte_count.div_ceil(UNIT_BYTES);
            if is_its && units <= left {
                left -= units;
                if left == 0 {
                    break;
                }
            } else if !may_lack_events || left != event.unit_count {
                return Some(format!("{event:?}, but the NoC got {request:?}"));
            }
        }
    }
    match rest.next() {
        Some(request) if !may_lack_events => Some(format!("no event of {request:?}")),
        _ => None,
    }
}

/// A transfer as an event tells it.
#[derive(Debug)]
struct Event {
    cycle: u64,
    operation: NocOperation,
    coordinates: (u16, u16),
    first_corner: Option<(u16, u16)>,
    unit_count: u32,
    noc: u8,
    virtual_channel: Option<u8>,
    is_posted: bool,
}

const NOC_TRACING: u16 = 12345;
const UNIT_BYTES: u32 = 32;
const READ: u8 = 1;
const WRITE: u8 = 11;
const WRITE_MULTICAST: u8 = 15;
const SEMAPHORE_SET_REMOTE: u8 = 30;
const SEMAPHORE_SET_MULTICAST: u8 = 31;

impl Event {
    fn of(record: &PushedRecord) -> Option<Self> {
        let (NOC_TRACING, 3, &[bits]) = (record.id, record.kind, record.values.as_slice()) else {
            return None;
        };
        let [kind, x, y, end_x, end_y, carrier, size, flags] = bits.to_le_bytes();
        let operation = match kind {
            READ => NocOperation::Read,
            WRITE | SEMAPHORE_SET_REMOTE => NocOperation::Write,
            WRITE_MULTICAST | SEMAPHORE_SET_MULTICAST => NocOperation::Multicast,
            _ => return None,
        };
        let (near, far) = ((u16::from(x), u16::from(y)), (u16::from(end_x), u16::from(end_y)));
        let is_multicast = operation == NocOperation::Multicast;
        Some(Self {
            cycle: record.cycle,
            operation,
            coordinates: if is_multicast { far } else { near },
            first_corner: is_multicast.then_some(near),
            unit_count: u32::from(size) | u32::from(flags & 0xF) << 8,
            noc: (carrier & 0xF).wrapping_sub(1),
            virtual_channel: Some(carrier >> 4).filter(|channel| *channel != 0xF),
            is_posted: flags & 0x10 != 0,
        })
    }

    /// Returns true if a request does what the event says. An event without a channel leaves it
    /// open.
    fn is_of(&self, request: &NocRequest) -> bool {
        let has_channel =
            self.virtual_channel.is_none() || self.virtual_channel == request.virtual_channel;
        has_channel
            && self.operation == request.operation
            && self.coordinates == request.coordinates
            && self.first_corner == request.first_corner
            && self.noc == request.noc
            && self.is_posted == request.is_posted
    }
}
