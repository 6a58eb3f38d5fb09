//! Bytes that events moved, with their targets.

use crate::noc_events::{
    kind::EventKind,
    object::TraceObject,
    payload::{Noc, RawCoord},
    route::Rectangle,
};
use reader::mesh::Noc0Coord;

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
    /// The target of an object of this kind.
    fn of_object(kind: EventKind, object: &TraceObject) -> Self {
        if kind.is_multicast() {
            let first = tile_at(object.mcast_start_x, object.mcast_start_y);
            let last = tile_at(object.mcast_end_x, object.mcast_end_y);
            return Self::rectangle(first, last);
        }
        let unplaced = object.unplaced_target.map_or(Self::Unknown, Self::Unplaced);
        tile_at(object.dx, object.dy).map_or(unplaced, Self::Tile)
    }

    /// The rectangle between two corners.
    pub(super) fn rectangle(first: Option<Noc0Coord>, last: Option<Noc0Coord>) -> Self {
        let tiles = first.zip(last).map(|(first, last)| Rectangle { first, last });
        tiles.map_or(Self::Unknown, Self::Rectangle)
    }
}

/// The tile of two coordinates; older files have -1 where there is none.
fn tile_at(x: Option<i32>, y: Option<i32>) -> Option<Noc0Coord> {
    let coord = |at: Option<i32>| u16::try_from(at?).ok();
    coord(x).zip(coord(y)).map(|(x, y)| Noc0Coord { x, y })
}

/// An event, as far as sums of traffic need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrafficEvent {
    pub(super) kind: EventKind,
    pub(super) noc: Noc,
    /// The core that recorded the event.
    pub(super) core: Noc0Coord,
    /// The target that the event itself names.
    pub(super) target: Target,
    /// Size; 0 if the event does not say it.
    pub(super) byte_count: u64,
    /// When the event was recorded.
    pub(super) time: u64,
}

impl TrafficEvent {
    /// The event of an object of this kind.
    pub(super) fn from_object(kind: EventKind, object: &TraceObject) -> Self {
        Self {
            kind,
            noc: object.noc.as_deref().and_then(Noc::from_name).unwrap_or(Noc::Undefined),
            core: Noc0Coord { x: object.sx, y: object.sy },
            target: Target::of_object(kind, object),
            byte_count: object.num_bytes.unwrap_or(0),
            time: object.timestamp,
        }
    }
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
    reads: Option<SetState>,
    writes: Option<SetState>,
}

impl TransferState {
    /// Takes an event, and returns the bytes that it moved, if it moved any.
    pub(super) fn take(&mut self, event: &TrafficEvent) -> Option<Transfer> {
        let TrafficEvent { kind, noc, core, target: named, byte_count: own_bytes, time } = *event;
        if let Some(is_read) = sets_state(kind) {
            *self.of(is_read) = Some(SetState { target: named, byte_count: own_bytes });
        }
        if !kind.is_read() && !kind.is_write() {
            return None;
        }
        let state = self.of(kind.is_read()).filter(|_| takes_state(kind));
        let target = match (named, state) {
            (Target::Unknown, Some(state)) => state.target,
            _ => named,
        };
        // One packet's size is part of the state; else each event has its own.
        let byte_count = state.map_or(0, |state| state.byte_count);
        let byte_count = if byte_count > 0 { byte_count } else { own_bytes };
        Some(Transfer { kind, noc, core, target, byte_count, time })
    }

    const fn of(&mut self, is_read: bool) -> &mut Option<SetState> {
        if is_read { &mut self.reads } else { &mut self.writes }
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
