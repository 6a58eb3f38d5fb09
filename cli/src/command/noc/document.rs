//! The traffic of the NoCs as JSON.

use super::program_use::ProgramUse;
use host_reader::{
    noc_events::{Activity, LinkLoad, MemoryLock, OutsideBytes, Pair, Traffic, UnplacedPair},
    tables::Objects,
};
use serde::Serialize;

/// The JSON document that `--json` prints.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    events: Objects<&'a Activity>,
    pairs: Objects<&'a Pair>,
    links: Objects<&'a LinkLoad>,
    unplaced_pairs: Objects<&'a UnplacedPair>,
    outside: Objects<&'a OutsideBytes>,
    /// Utilization by program; present only with `--utilization`.
    #[serde(skip_serializing_if = "Option::is_none")]
    utilization: Option<&'a [ProgramUse]>,
    /// Memory ranges that kernels locked; `None` if the input does not record locks.
    held_memory: Option<Objects<&'a MemoryLock>>,
    multicast_count: u64,
    unplaced_count: u64,
    open_wait_count: u64,
    unknown_count: u64,
    /// Kind and source location of the first unknown event.
    first_unknown: Option<&'a str>,
    /// Sentence that names the file from which the events were read; `None` if the input has only
    /// one kind of file.
    source: Option<&'a str>,
    notes: &'a [String],
}

impl<'a> Document<'a> {
    pub(super) fn new(
        traffic: &'a Traffic,
        locks: Option<&'a [MemoryLock]>,
        utilization: Option<&'a [ProgramUse]>,
        (source, notes): (Option<&'a str>, &'a [String]),
    ) -> Self {
        Self {
            events: events(&traffic.activities),
            pairs: pairs(&traffic.pairs),
            links: links(&traffic.links),
            unplaced_pairs: unplaced_pairs(&traffic.unplaced_pairs),
            outside: outside(&traffic.outside),
            utilization,
            held_memory: locks.map(lock_objects),
            multicast_count: traffic.multicast_count,
            unplaced_count: traffic.unplaced_count,
            open_wait_count: traffic.open_wait_count,
            unknown_count: traffic.unknown_count,
            first_unknown: traffic.first_unknown.as_deref(),
            source,
            notes,
        }
    }
}

pub(in crate::command) fn events(activities: &[Activity]) -> Objects<&Activity> {
    Objects::new(
        activities,
        [
            ("chip", |one| one.chip_id.into()),
            ("run_host_id", |one| one.program.0.into()),
            ("op_name", |one| (*one.op_name).into()),
            ("core_x", |one| one.core.x.into()),
            ("core_y", |one| one.core.y.into()),
            ("risc", |one| (*one.risc).into()),
            ("noc", |one| one.noc.label().into()),
            ("kind", |one| one.kind.label().into()),
            ("events", |one| one.event_count.into()),
            ("bytes", |one| one.byte_count.into()),
            ("is_lower_bound", |one| one.is_lower_bound().into()),
            // The value is null for an event that is not a wait.
            ("wait_cycles", |one| one.kind.end_of_wait().map(|_| one.wait_cycles).into()),
        ],
    )
}

pub(in crate::command) fn pairs(pairs: &[Pair]) -> Objects<&Pair> {
    Objects::new(
        pairs,
        [
            ("chip", |pair| pair.chip_id.into()),
            ("noc", |pair| pair.noc.label().into()),
            ("from_x", |pair| pair.from.x.into()),
            ("from_y", |pair| pair.from.y.into()),
            ("to_x", |pair| pair.to.x.into()),
            ("to_y", |pair| pair.to.y.into()),
            ("transfers", |pair| pair.transfer_count.into()),
            ("bytes", |pair| pair.byte_count.into()),
            ("is_lower_bound", |pair| pair.is_lower_bound.into()),
        ],
    )
}

/// Returns the bytes that are in no pair of tiles.
pub(in crate::command) fn outside(rows: &[OutsideBytes]) -> Objects<&OutsideBytes> {
    Objects::new(
        rows,
        [
            ("chip", |one| one.chip_id.into()),
            ("noc", |one| one.noc.label().into()),
            ("kind", |one| one.kind.label().into()),
            ("reason", |one| one.reason.label().into()),
            ("events", |one| one.event_count.into()),
            ("bytes", |one| one.byte_count.into()),
            ("is_lower_bound", |one| one.is_lower_bound.into()),
        ],
    )
}

/// Returns the transfers whose tiles are unknown. The transfers' coordinates are those that the
/// kernels used.
fn unplaced_pairs(pairs: &[UnplacedPair]) -> Objects<&UnplacedPair> {
    Objects::new(
        pairs,
        [
            ("chip", |pair| pair.chip_id.into()),
            ("noc", |pair| pair.noc.label().into()),
            ("core_x", |pair| pair.core.x.into()),
            ("core_y", |pair| pair.core.y.into()),
            ("direction", |pair| direction(pair).into()),
            ("raw_x", |pair| pair.target.x.into()),
            ("raw_y", |pair| pair.target.y.into()),
            ("transfers", |pair| pair.transfer_count.into()),
            ("bytes", |pair| pair.byte_count.into()),
            ("is_lower_bound", |pair| pair.is_lower_bound.into()),
        ],
    )
}

pub(in crate::command) fn links(loads: &[LinkLoad]) -> Objects<&LinkLoad> {
    Objects::new(
        loads,
        [
            ("chip", |load| load.link.chip_id.into()),
            ("noc", |load| load.link.noc.label().into()),
            ("x", |load| load.link.tile.x.into()),
            ("y", |load| load.link.tile.y.into()),
            ("direction", |load| load.link.direction.label().into()),
            ("bytes", |load| load.byte_count.into()),
            ("is_lower_bound", |load| load.is_lower_bound.into()),
        ],
    )
}

/// Returns the memory ranges that kernels locked. An address or size of 16,777,215 is a lower
/// bound.
fn lock_objects(locks: &[MemoryLock]) -> Objects<&MemoryLock> {
    Objects::new(
        locks,
        [
            ("chip", |lock| lock.lane.chip_id.into()),
            ("run_host_id", |lock| lock.program.0.into()),
            ("core_x", |lock| lock.lane.core.x.into()),
            ("core_y", |lock| lock.lane.core.y.into()),
            ("risc", |lock| lock.lane.risc.label().into()),
            ("kind", |lock| lock.kind.label().into()),
            ("address", |lock| lock.address.into()),
            ("bytes", |lock| lock.byte_count.into()),
            ("begin", |lock| lock.begin.into()),
            ("end", |lock| lock.end.into()),
        ],
    )
}

/// Returns the direction of a transfer, seen from the core that recorded it.
pub(super) const fn direction(pair: &UnplacedPair) -> &'static str {
    if pair.is_read { "from" } else { "to" }
}
