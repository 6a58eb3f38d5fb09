//! Bytes that events moved, with their targets.

use crate::noc_events::{
    kind::EventKind,
    object::TraceObject,
    payload::{Noc, RawCoord},
    route::Rectangle,
};
use reader::mesh::Noc0Coord;
use std::collections::BTreeMap;

/// Target of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A tile.
    Tile(Noc0Coord),
    /// All worker tiles of a rectangle.
    Rectangle(Rectangle),
    /// An unknown tile, in the kernel's coordinates.
    Unplaced(RawCoord),
    /// Not said by the event or the ones before it.
    Unknown,
}

impl Target {
    fn of_object(object: &TraceObject) -> Self {
        if let Some(tile) = tile_at(object.dx, object.dy) {
            return Self::Tile(tile);
        }
        object.unplaced_target.map_or(Self::Unknown, Self::Unplaced)
    }

    fn of_multicast(object: &TraceObject) -> Self {
        let first = tile_at(object.mcast_start_x, object.mcast_start_y);
        let last = tile_at(object.mcast_end_x, object.mcast_end_y);
        let tiles = first.zip(last).map(|(first, last)| Rectangle { first, last });
        tiles.map_or(Self::Unknown, Self::Rectangle)
    }
}

/// The tile of two coordinates; older files have -1 where there is none.
fn tile_at(x: Option<i32>, y: Option<i32>) -> Option<Noc0Coord> {
    let coord = |at: Option<i32>| u16::try_from(at?).ok();
    coord(x).zip(coord(y)).map(|(x, y)| Noc0Coord { x, y })
}

/// Bytes that one event moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    /// Kind of the event.
    pub(super) kind: EventKind,
    /// The network.
    pub(super) noc: Noc,
    /// The core that recorded the event.
    pub(super) core: Noc0Coord,
    /// Where the bytes come from if it is a read, else where they go to.
    pub(super) target: Target,
    /// Size; 0 if neither the event nor its state says it.
    pub(super) byte_count: u64,
    /// When the event was recorded.
    pub(super) time: u64,
}

impl Transfer {
    /// Returns true if an earlier event may say where the bytes go and how many they are.
    pub(super) const fn takes_state(&self) -> bool {
        takes_state(self.kind)
    }
}

/// Where events without a target of their own go to, and how much they move.
#[derive(Clone, Copy)]
struct SetState {
    target: Target,
    byte_count: u64,
}

/// What a RISC's events leave to its later ones on one NoC: state of its reads and its writes.
#[derive(Default)]
pub(super) struct TransferState {
    of_reads: BTreeMap<bool, SetState>,
}

impl TransferState {
    /// Takes an event, and returns the bytes that it moved, if it moved any.
    pub(super) fn take(&mut self, kind: EventKind, object: &TraceObject) -> Option<Transfer> {
        let named = Target::of_object(object);
        let own_bytes = object.num_bytes.unwrap_or(0);
        if let Some(is_read) = sets_state(kind) {
            self.of_reads.insert(is_read, SetState { target: named, byte_count: own_bytes });
        }
        if !kind.is_read() && !kind.is_write() {
            return None;
        }
        let state = self.of_reads.get(&kind.is_read()).filter(|_| takes_state(kind));
        let target = match (named, state) {
            _ if kind.is_multicast() => Target::of_multicast(object),
            (Target::Unknown, Some(state)) => state.target,
            _ => named,
        };
        // One packet's size is part of the state; else each event has its own.
        let byte_count = state.map_or(0, |state| state.byte_count);
        Some(Transfer {
            kind,
            noc: object.noc.as_deref().and_then(Noc::from_name).unwrap_or(Noc::Undefined),
            core: Noc0Coord { x: object.sx, y: object.sy },
            target,
            byte_count: if byte_count > 0 { byte_count } else { own_bytes },
            time: object.timestamp,
        })
    }
}

/// Returns true for reads and false for writes whose target the event sets for later ones.
const fn sets_state(kind: EventKind) -> Option<bool> {
    match kind {
        EventKind::ReadSetState | EventKind::ReadDramShardedSetState => Some(true),
        EventKind::WriteSetState | EventKind::WriteWithTridSetState => Some(false),
        _ => None,
    }
}

/// Returns true if the event goes to a target that an earlier one has set.
const fn takes_state(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::ReadWithState
            | EventKind::ReadWithStateAndTrid
            | EventKind::ReadDramShardedWithState
            | EventKind::WriteWithState
            | EventKind::WriteWithTridWithState
    )
}
