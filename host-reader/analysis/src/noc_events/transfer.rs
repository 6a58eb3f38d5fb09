//! Transfers: bytes that events moved, with their targets.

use crate::noc_events::{
    object::TraceObject,
    payload::{Noc, RawCoord},
    route::Rectangle,
};
use reader::mesh::Noc0Coord;
use wire::noc_event::NocEventKind;

/// Target of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A tile.
    Tile(Noc0Coord),
    /// All worker tiles of a rectangle.
    Rectangle(Rectangle),
    /// Unknown tile, in the kernel's coordinates.
    Unplaced(RawCoord),
    /// No target in the event or in earlier events.
    Unknown,
}

impl Target {
    /// Returns the target of `object`, an event of the kind `kind` in a trace.
    fn from_object(kind: NocEventKind, object: &TraceObject) -> Self {
        if kind.is_multicast() {
            let first = tile_at(object.mcast_start_x, object.mcast_start_y);
            let last = tile_at(object.mcast_end_x, object.mcast_end_y);
            return Self::rectangle(first, last);
        }
        let unplaced = object.unplaced_target.map_or(Self::Unknown, Self::Unplaced);
        tile_at(object.dx, object.dy).map_or(unplaced, Self::Tile)
    }

    /// Returns the rectangle between two corners, or [`Self::Unknown`] if a corner is unknown.
    pub(super) fn rectangle(first: Option<Noc0Coord>, last: Option<Noc0Coord>) -> Self {
        let tiles = first.zip(last).map(|(first, last)| Rectangle { first, last });
        tiles.map_or(Self::Unknown, Self::Rectangle)
    }
}

/// Returns the tile at two coordinates. Returns `None` for coordinates of -1, which mean "no tile"
/// in early versions of the format.
fn tile_at(x: Option<i32>, y: Option<i32>) -> Option<Noc0Coord> {
    Some(Noc0Coord { x: u16::try_from(x?).ok()?, y: u16::try_from(y?).ok()? })
}

/// Event, with the fields that the traffic sums need.
///
/// A transfer is an event that moved bytes. It has the target and the size that were in effect, which
/// earlier events may have set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrafficEvent {
    pub(super) kind: NocEventKind,
    pub(super) noc: Noc,
    /// Core that recorded the event.
    pub(super) core: Noc0Coord,
    /// Source of a read, or destination of a write.
    pub(super) target: Target,
    /// Size in bytes; 0 if unknown.
    pub(super) byte_count: u64,
    /// Time of the event's record.
    pub(super) time: u64,
}

impl TrafficEvent {
    /// Converts an object of a trace to an event of kind `kind`.
    pub(super) fn from_object(kind: NocEventKind, object: &TraceObject) -> Self {
        Self {
            kind,
            noc: object.noc.as_deref().and_then(Noc::from_name).unwrap_or(Noc::Undefined),
            core: Noc0Coord { x: object.sx, y: object.sy },
            target: Target::from_object(kind, object),
            byte_count: object.num_bytes.unwrap_or(0),
            time: object.timestamp,
        }
    }

    /// Returns true if the event uses a target and a size that an earlier event has set.
    pub(super) const fn takes_state(&self) -> bool {
        matches!(
            self.kind,
            NocEventKind::ReadWithState
                | NocEventKind::ReadWithStateAndTrid
                | NocEventKind::ReadDramShardedWithState
                | NocEventKind::WriteWithState
                | NocEventKind::WriteWithTridWithState
        )
    }
}

/// Target and size that an event sets for later events.
type SetState = (Target, u64);

/// State of a RISC on one NoC. The state is set by events and used by later reads and writes.
#[derive(Default)]
pub(super) struct TransferState {
    reads: Option<SetState>,
    writes: Option<SetState>,
}

impl TransferState {
    /// Processes an event. Returns the transfer if the event moved bytes.
    pub(super) fn take(&mut self, event: &TrafficEvent) -> Option<TrafficEvent> {
        let mut transfer = *event;
        let kind = event.kind;
        if let Some(is_read) = sets_state(kind) {
            *self.direction_mut(is_read) = Some((event.target, event.byte_count));
        }
        if !kind.is_read() && !kind.is_write() {
            return None;
        }
        if let Some((target, byte_count)) =
            self.direction_mut(kind.is_read()).filter(|_| event.takes_state())
        {
            if event.target == Target::Unknown {
                transfer.target = target;
            }
            // If the state has a size, later events have this size. Otherwise, each event has its
            // own size.
            if byte_count > 0 {
                transfer.byte_count = byte_count;
            }
        }
        Some(transfer)
    }

    const fn direction_mut(&mut self, is_read: bool) -> &mut Option<SetState> {
        if is_read { &mut self.reads } else { &mut self.writes }
    }
}

/// Returns true if an event of this kind sets the target of later reads, false if it sets the
/// target of later writes, and `None` if it sets no target.
const fn sets_state(kind: NocEventKind) -> Option<bool> {
    match kind {
        NocEventKind::ReadSetState | NocEventKind::ReadDramShardedSetState => Some(true),
        NocEventKind::WriteSetState | NocEventKind::WriteWithTridSetState => Some(false),
        _ => None,
    }
}
