//! Comparison of pushed NoC events with the requests that were sent to the NoC.
//!
//! # Compatibility
//! `event_metadata.hpp` of tt-metal 0.81; this module has its own decoder, byte by byte.

use super::PushedRecord;
use sim::truth::{NocOperation, NocRequest};

/// Returns the error of the first NoC event without a matching request.
///
/// Between an event and the next event, there must be a request with the event's operation,
/// coordinates, bytes, network, virtual channel and acknowledgement. A transfer longer than a
/// packet consists of several requests. If the event has addresses, they must equal the addresses
/// of the first request, and the counter must agree with the earlier requests. Since events can be
/// lost, requests without an event are accepted if `may_lack_events`. Events that are not transfers
/// are ignored.
///
/// ```
/// use tests::pushed::{PushedRecord, unexplained_noc_event};
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
    let events = records.into_iter().filter_map(Event::from_record);
    let mut rest = requests.iter();
    let mut counts = Counts::default();
    for event in events {
        let mut left = event.unit_count;
        loop {
            let Some(request) = rest.next() else {
                return Some(format!("no request for {event:?}, {left} units of it are left"));
            };
            let is_its = event.is_of(request) && request.sent.0 >= event.cycle;
            let units = request.byte_count.div_ceil(UNIT_BYTES);
            let is_first = is_its && left == event.unit_count;
            if let Some(trailer) = event.trailer.filter(|_| is_first)
                && let Some(error) = trailer.disagreement(request, &counts)
            {
                return Some(format!("{error}: {event:?}, {request:?}"));
            }
            counts.add(request);
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

/// A transfer as described by an event.
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
    trailer: Option<Trailer>,
}

/// Addresses and counter in an event.
#[derive(Clone, Copy, Debug)]
struct Trailer {
    there: u64,
    here: u64,
    counter: u64,
}

impl Trailer {
    /// Decodes the fields: two addresses, each as 22 bits in units of four followed by four low
    /// bits; then a counter of twelve bits.
    fn from_bits(bits: u64) -> Self {
        let field = |from: u32, width: u32| bits >> from & ((1 << width) - 1);
        Self {
            there: field(0, 22) * 4 + field(22, 4),
            here: field(26, 22) * 4 + field(48, 4),
            counter: field(52, 12),
        }
    }
}

/// Numbers of requests so far, as counted by the NoC's counters.
#[derive(Default)]
struct Counts {
    reads: u64,
    writes: u64,
    posted_writes: u64,
}

impl Counts {
    const fn add(&mut self, request: &NocRequest) {
        match (request.operation, request.is_posted) {
            (NocOperation::Read, _) => self.reads += 1,
            (NocOperation::Write | NocOperation::Multicast | NocOperation::InlineWrite, posted) => {
                if posted {
                    self.posted_writes += 1;
                } else {
                    self.writes += 1;
                }
            }
            (NocOperation::Increment, _) => {}
        }
    }
}

/// Number of distinct values of an event's counter.
const COUNTER_VALUES: u64 = 1 << 12;
/// Number of distinct addresses in an event.
const ADDRESSES: u64 = 1 << 24;

const NOC_TRACING: u16 = 12345;
const UNIT_BYTES: u32 = 32;
const READ: u8 = 1;
const WRITE: u8 = 11;
const WRITE_MULTICAST: u8 = 15;
const SEMAPHORE_SET_REMOTE: u8 = 30;
const SEMAPHORE_SET_MULTICAST: u8 = 31;

impl Event {
    fn from_record(record: &PushedRecord) -> Option<Self> {
        let (bits, trailer) = match (record.id, record.kind, record.values.as_slice()) {
            (NOC_TRACING, 3, &[bits]) => (bits, None),
            (NOC_TRACING, 5, &[bits, trailer]) => (bits, Some(Trailer::from_bits(trailer))),
            _ => return None,
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
            trailer,
        })
    }

    /// Returns true if a request matches the event. An event without a virtual channel matches any
    /// channel.
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

impl Trailer {
    /// Returns the first field that contradicts the request or the requests before it.
    ///
    /// The NoC's counters also count requests from before the kernel. Only kernels send posted
    /// writes; the profiler's pushes are acknowledged. Answers to reads arrive later than the
    /// requests.
    fn disagreement(self, request: &NocRequest, before: &Counts) -> Option<String> {
        let here = request.local_address.map_or(0, u64::from);
        if (self.there, self.here) != (request.address % ADDRESSES, here % ADDRESSES) {
            return Some("addresses of another transfer".to_owned());
        }
        let ahead = |later: u64, earlier: u64| (later + COUNTER_VALUES - earlier) % COUNTER_VALUES;
        let Self { counter, .. } = self;
        let is_possible = match (request.operation, request.is_posted) {
            (NocOperation::Read, _) => {
                ahead(before.reads % COUNTER_VALUES, counter) <= before.reads
            }
            (_, true) => counter == before.posted_writes % COUNTER_VALUES,
            (_, false) => ahead(counter, before.writes % COUNTER_VALUES) < COUNTER_VALUES / 2,
        };
        let Counts { reads, writes, posted_writes } = before;
        (!is_possible).then(|| {
            format!("counter {counter} after {reads} reads, {writes} and {posted_writes} writes")
        })
    }
}
