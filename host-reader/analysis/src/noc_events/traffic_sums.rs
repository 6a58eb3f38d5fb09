//! Sums of NoC events over several programs.

#![expect(clippy::arithmetic_side_effects, reason = "counts are of records that are in memory")]

use crate::noc_events::{
    object::TraceObject,
    payload::{Noc, RawCoord},
    route::route,
    size_field::SizeField,
    trace::ProgramTrace,
    traffic::{Activity, Link, LinkLoad, OutsideBytes, OutsideReason, Pair, Traffic, UnplacedPair},
    transfer::{Target, TrafficEvent, TransferState},
};
use reader::mesh::Noc0Coord;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    hash::Hash,
    sync::Arc,
};
use wire::{RunHostId, noc_event::NocEventKind};

type ActivityKey = (u32, RunHostId, Arc<str>, Noc0Coord, Arc<str>, Noc, NocEventKind);

/// Sums of the events of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct EventCounts {
    events: u64,
    bytes: u64,
    /// For each size in [`SATURATED_BYTES`], the number of events with exactly this size.
    saturated: [u64; 2],
    wait_cycles: u64,
}

impl EventCounts {
    /// Adds an event.
    fn add(&mut self, bytes: u64) {
        let saturated = SATURATED_BYTES.map(|most| u64::from(bytes == most));
        self.merge(&Self { events: 1, bytes, saturated, wait_cycles: 0 });
    }

    fn merge(&mut self, other: &Self) {
        self.events += other.events;
        self.bytes = self.bytes.saturating_add(other.bytes);
        for (count, more) in self.saturated.iter_mut().zip(other.saturated) {
            *count += more;
        }
        self.wait_cycles = self.wait_cycles.saturating_add(other.wait_cycles);
    }
}

/// Chip, network, source tile, destination tile.
type PairKey = (u32, Noc, Noc0Coord, Noc0Coord);
/// Chip, network, core, target in the kernel's coordinates, and true for reads.
type UnplacedKey = (u32, Noc, Noc0Coord, RawCoord, bool);
/// Chip, network, kind, and reason to be in no pair.
type OutsideKey = (u32, Noc, NocEventKind, OutsideReason);

/// Transfers, and their bytes.
#[derive(Default)]
struct Moved {
    count: u64,
    bytes: u64,
    /// For each size in [`SATURATED_BYTES`], the number of transfers with exactly this size.
    saturated: [u64; 2],
}

impl Moved {
    /// Returns true if more bytes may have been moved.
    const fn is_lower_bound(&self, has_wide_sizes: bool) -> bool {
        let [narrow, wide] = self.saturated;
        if has_wide_sizes { wide > 0 } else { narrow > 0 }
    }
}

/// Sums over programs.
#[derive(Default)]
pub(super) struct Sums {
    activities: Vec<(ActivityKey, EventCounts)>,
    pairs: HashMap<PairKey, Moved>,
    unplaced: HashMap<UnplacedKey, Moved>,
    outside: HashMap<OutsideKey, Moved>,
    traffic: Traffic,
    /// True if any event is larger than the narrow size field can hold.
    has_wide_sizes: bool,
    /// Names of ops and RISCs in `activities`.
    texts: HashSet<Arc<str>>,
}

/// Largest payloads in bytes that the narrow and the wide size field can hold.
const SATURATED_BYTES: [u64; 2] = [SizeField::Bits8.most_bytes(), SizeField::Bits12.most_bytes()];

/// Returns the maximum size in bytes that an event of these traces can record.
pub(super) fn saturated_bytes(traces: &[ProgramTrace]) -> u64 {
    let [narrow, wide] = SATURATED_BYTES;
    if has_wide_sizes(traces) { wide } else { narrow }
}

/// Returns true if any event is larger than the narrow size field can hold, so all events have the
/// wide field.
fn has_wide_sizes(traces: &[ProgramTrace]) -> bool {
    let [narrow, _] = SATURATED_BYTES;
    let objects = traces.iter().flat_map(|trace| &trace.objects);
    objects.filter_map(|object| object.num_bytes).any(|bytes| bytes > narrow)
}

/// State of a RISC on one network. The state is set by events and used by later events.
#[derive(Default)]
struct RiscState<'text> {
    /// Targets and sizes for the next reads and writes, as set by events.
    transfers: TransferState,
    /// Wait in progress: kind of the event that ends the wait, start time, op, and kind of the
    /// event that began the wait.
    wait: Option<(NocEventKind, u64, (&'text str, NocEventKind))>,
}

impl Sums {
    /// Adds the events that a RISC recorded in a program of a chip, each with its op. The events
    /// must be in the order in which the RISC recorded them.
    pub(super) fn add_risc<'text>(
        &mut self,
        (chip_id, program): (u32, RunHostId),
        (core, risc): (Noc0Coord, &str),
        events: impl Iterator<Item = (&'text str, TrafficEvent)>,
    ) {
        let mut sums: BTreeMap<(&str, Noc, NocEventKind), EventCounts> = BTreeMap::new();
        let mut states: [RiscState<'_>; 3] = Default::default();
        for (op, event) in events {
            let TrafficEvent { kind, noc, time, byte_count, .. } = event;
            sums.entry((op, noc, kind)).or_default().add(byte_count);
            self.has_wide_sizes |= byte_count > SATURATED_BYTES[0];
            let Some(state) = states.get_mut(noc as usize) else { continue };
            if let Some(end) = kind.end_of_wait() {
                let before = state.wait.replace((end, time, (op, kind)));
                self.traffic.open_wait_count += u64::from(before.is_some());
            } else if let Some((_, begin, (op, begun))) =
                state.wait.take_if(|(end, ..)| *end == kind)
            {
                let counts = sums.entry((op, noc, begun)).or_default();
                counts.wait_cycles = counts.wait_cycles.saturating_add(time.saturating_sub(begin));
            }
            match state.transfers.take(&event) {
                Some(transfer) => self.transfer(chip_id, &transfer),
                None => self.no_transfer(chip_id, &event),
            }
        }
        let open = states.iter().filter(|state| state.wait.is_some()).count();
        self.traffic.open_wait_count += open as u64;
        let risc = self.shared(risc);
        for ((op, noc, kind), counts) in sums {
            let key = (chip_id, program, self.shared(op), core, Arc::clone(&risc), noc, kind);
            self.activities.push((key, counts));
        }
    }

    /// Returns the shared copy of a text.
    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&new));
        new
    }

    /// Adds a program's trace.
    pub(super) fn add_trace(&mut self, trace: &ProgramTrace) {
        let mut events = Vec::new();
        for object in trace.objects.iter().filter(|object| object.zone.is_none()) {
            let kind = object.event_type.as_deref().and_then(NocEventKind::from_label);
            let Some(kind) = kind else {
                self.unknown(trace.chip_id, object);
                continue;
            };
            let op = object.op_name.as_deref().unwrap_or_default();
            events.push((&*object.proc, (op, TrafficEvent::from_object(kind, object))));
        }
        self.has_wide_sizes |= has_wide_sizes(std::slice::from_ref(trace));
        // The sort is stable, so the events of a RISC stay in order.
        events.sort_by_key(|&(risc, (_, event))| (event.core, risc));
        for risc_events in events.chunk_by(|(one_risc, (_, one)), (other_risc, (_, other))| {
            (one.core, one_risc) == (other.core, other_risc)
        }) {
            let Some((risc, (_, first))) = risc_events.first() else { continue };
            let place = (first.core, *risc);
            let events = risc_events.iter().map(|(_, event)| *event);
            self.add_risc((trace.chip_id, trace.program), place, events);
        }
    }

    fn unknown(&mut self, chip_id: u32, object: &TraceObject) {
        self.traffic.unknown_count += 1;
        self.traffic.first_unknown.get_or_insert_with(|| {
            let kind = object.event_type.as_deref().unwrap_or_default();
            let TraceObject { sx, sy, proc, timestamp, .. } = object;
            format!("`{kind}`, chip {chip_id} core ({sx},{sy}) {proc}, cycle {timestamp}")
        });
    }

    /// Adds the bytes of an event that moves none from tile to tile.
    fn no_transfer(&mut self, chip_id: u32, event: &TrafficEvent) {
        let &TrafficEvent { kind, noc, byte_count, .. } = event;
        if byte_count > 0 {
            let reason = match kind {
                _ if kind.is_fabric() => OutsideReason::OtherChip,
                _ if kind.is_multicast() => OutsideReason::Multicast,
                _ => OutsideReason::NoTransfer,
            };
            add_transfer(&mut self.outside, (chip_id, noc, kind, reason), byte_count);
        }
    }

    /// Adds the bytes of one transfer.
    fn transfer(&mut self, chip_id: u32, transfer: &TrafficEvent) {
        let &TrafficEvent { kind, noc, core, target, byte_count: bytes, .. } = transfer;
        let is_read = kind.is_read();
        let target = match target {
            _ if kind.is_multicast() => {
                self.traffic.multicast_count += 1;
                let key = (chip_id, noc, kind, OutsideReason::Multicast);
                add_transfer(&mut self.outside, key, bytes);
                return;
            }
            Target::Tile(tile) => tile,
            unknown => {
                self.traffic.unplaced_count += 1;
                if let Target::Unplaced(target) = unknown {
                    add_transfer(&mut self.unplaced, (chip_id, noc, core, target, is_read), bytes);
                } else {
                    let key = (chip_id, noc, kind, OutsideReason::NoTarget);
                    add_transfer(&mut self.outside, key, bytes);
                }
                return;
            }
        };
        let (from, to) = if is_read { (target, core) } else { (core, target) };
        add_transfer(&mut self.pairs, (chip_id, noc, from, to), bytes);
    }

    /// Returns the traffic of all programs. `grid` returns the columns and rows of a chip's tiles.
    pub(super) fn finish(self, grid: impl Fn(u32) -> Option<(u16, u16)>) -> Traffic {
        let is_wide = self.has_wide_sizes;
        let pairs: Vec<Pair> = in_order(self.pairs)
            .map(|((chip_id, noc, from, to), moved)| Pair {
                chip_id,
                noc,
                from,
                to,
                transfer_count: moved.count,
                byte_count: moved.bytes,
                is_lower_bound: moved.is_lower_bound(is_wide),
            })
            .collect();
        Traffic {
            activities: activities(self.activities, is_wide),
            links: links(&pairs, grid),
            pairs,
            unplaced_pairs: in_order(self.unplaced)
                .map(|((chip_id, noc, core, target, is_read), moved)| UnplacedPair {
                    chip_id,
                    noc,
                    core,
                    target,
                    is_read,
                    transfer_count: moved.count,
                    byte_count: moved.bytes,
                    is_lower_bound: moved.is_lower_bound(is_wide),
                })
                .collect(),
            outside: in_order(self.outside)
                .map(|((chip_id, noc, kind, reason), moved)| OutsideBytes {
                    chip_id,
                    noc,
                    kind,
                    reason,
                    event_count: moved.count,
                    byte_count: moved.bytes,
                    is_lower_bound: moved.is_lower_bound(is_wide),
                })
                .collect(),
            ..self.traffic
        }
    }
}

/// Merges sums with the same key, and returns them in the order of the keys.
fn activities(mut sums: Vec<(ActivityKey, EventCounts)>, has_wide_sizes: bool) -> Vec<Activity> {
    sums.sort_by(|(one, _), (other, _)| one.cmp(other));
    sums.dedup_by(|(key, counts), (kept, sum)| {
        let is_same = key == kept;
        if is_same {
            sum.merge(counts);
        }
        is_same
    });
    sums.into_iter().map(|(key, counts)| activity(key, &counts, has_wide_sizes)).collect()
}

fn activity(key: ActivityKey, counts: &EventCounts, has_wide_sizes: bool) -> Activity {
    let (chip_id, program, op_name, core, risc, noc, kind) = key;
    let [narrow, wide] = counts.saturated;
    Activity {
        chip_id,
        program,
        op_name,
        core,
        risc,
        noc,
        kind,
        event_count: counts.events,
        byte_count: counts.bytes,
        saturated_count: if has_wide_sizes { wide } else { narrow },
        wait_cycles: counts.wait_cycles,
    }
}

fn in_order<K: Ord>(sums: HashMap<K, Moved>) -> impl Iterator<Item = (K, Moved)> {
    sums.into_iter().collect::<BTreeMap<_, _>>().into_iter()
}

/// Returns the bytes over each link, derived from the routes between pairs of tiles, the busiest link first.
fn links(pairs: &[Pair], grid: impl Fn(u32) -> Option<(u16, u16)>) -> Vec<LinkLoad> {
    let mut links: BTreeMap<Link, (u64, bool)> = BTreeMap::new();
    for &Pair { chip_id, noc, from, to, byte_count, is_lower_bound, .. } in pairs {
        let grid = grid(chip_id).into_iter();
        for (tile, direction) in grid.flat_map(|grid| route(noc, from, to, grid)) {
            let (load, is_any_cut) =
                links.entry(Link { chip_id, noc, tile, direction }).or_default();
            *load = load.saturating_add(byte_count);
            *is_any_cut |= is_lower_bound;
        }
    }
    let links = links.into_iter();
    let links = links.map(|(link, (byte_count, is_lower_bound))| LinkLoad {
        link,
        byte_count,
        is_lower_bound,
    });
    let mut links: Vec<LinkLoad> = links.collect();
    links.sort_by_key(|load| Reverse(load.byte_count));
    links
}

fn add_transfer<K: Eq + Hash>(transfers: &mut HashMap<K, Moved>, key: K, bytes: u64) {
    let moved = transfers.entry(key).or_default();
    moved.count += 1;
    moved.bytes = moved.bytes.saturating_add(bytes);
    for (count, most) in moved.saturated.iter_mut().zip(SATURATED_BYTES) {
        *count += u64::from(bytes == most);
    }
}
