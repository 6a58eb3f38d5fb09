//! NoC events for the page: activity by core, bytes by sender and receiver, and bytes by link.

use crate::Trace;
use analysis::noc_events::{Activity, LinkLoad, Noc, OutsideBytes, Pair, Traffic};
use reader::mesh::Noc0Coord;
use serde::Serialize;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};
use tables::Objects;

/// Traffic of all chips.
#[derive(Default, Serialize)]
pub(super) struct NocFacts {
    activities: Objects<(u64, Activity)>,
    cores: Vec<CoreRow>,
    pairs: Objects<Pair>,
    links: Objects<LinkLoad>,
    /// Bytes in no pair of tiles.
    outside: Objects<OutsideBytes>,
    /// For each chip: its id, and the numbers of columns and rows of its grid.
    grids: Vec<(u32, u16, u16)>,
    unplaced_count: u64,
    open_wait_count: u64,
    notes: Vec<String>,
}

/// Traffic that one RISC of a core requested over one NoC, summed over all programs.
#[derive(Default, Serialize)]
struct CoreRow {
    chip_id: u32,
    core: (u16, u16),
    risc: String,
    noc: &'static str,
    /// Number of events that move bytes.
    transfers: u64,
    read_bytes: u64,
    written_bytes: u64,
    is_lower_bound: bool,
    /// Total cycles of waits; `None` if the RISC recorded no wait.
    wait_cycles: Option<u64>,
}

const fn place(tile: Noc0Coord) -> (u16, u16) {
    (tile.x, tile.y)
}

impl NocFacts {
    pub(super) fn new(trace: &Trace<'_>) -> Self {
        if trace.noc.is_empty() {
            return Self::default();
        }
        let traffic = trace.noc.traffic();
        let chips = trace.devices.iter().map(|device| device.chip.chip_id);
        Self {
            activities: activities(&traffic),
            cores: cores(&traffic.activities),
            pairs: pairs(traffic.pairs),
            links: links(traffic.links),
            outside: outside(traffic.outside),
            grids: chips
                .filter_map(|chip_id| trace.noc.grid(chip_id).map(|(x, y)| (chip_id, x, y)))
                .collect(),
            unplaced_count: traffic.unplaced_count,
            open_wait_count: traffic.open_wait_count,
            notes: trace.noc.notes.clone(),
        }
    }
}

/// Returns the events of each kind, summed over all cores, in the order of the kinds' names.
fn activities(traffic: &Traffic) -> Objects<(u64, Activity)> {
    let mut sums = traffic.sums_over_cores();
    // The sums are already sorted, but by the number of the kind and not by the kind's name.
    sums.sort_by_cached_key(|(_, sum)| {
        let Activity { chip_id, program, ref op_name, ref risc, noc, kind, .. } = *sum;
        (chip_id, program, Arc::clone(op_name), Arc::clone(risc), noc, kind.label())
    });
    Objects::new(
        sums,
        [
            ("chip_id", |(_, sum)| sum.chip_id.into()),
            ("program", |(_, sum)| sum.program.base().into()),
            ("op_name", |(_, sum)| (*sum.op_name).into()),
            ("risc", |(_, sum)| (*sum.risc).into()),
            ("noc", |(_, sum)| sum.noc.label().into()),
            ("kind", |(_, sum)| sum.kind.label().into()),
            ("cores", |(core_count, _)| (*core_count).into()),
            ("events", |(_, sum)| sum.event_count.into()),
            ("bytes", |(_, sum)| sum.byte_count.into()),
            ("is_lower_bound", |(_, sum)| sum.is_lower_bound().into()),
            // Null if the event is not a wait.
            ("wait_cycles", |(_, sum)| sum.kind.end_of_wait().map(|_| sum.wait_cycles).into()),
        ],
    )
}

fn outside(rows: Vec<OutsideBytes>) -> Objects<OutsideBytes> {
    Objects::new(
        rows,
        [
            ("chip_id", |one| one.chip_id.into()),
            ("noc", |one| one.noc.label().into()),
            ("kind", |one| one.kind.label().into()),
            ("reason", |one| one.reason.label().into()),
            ("events", |one| one.event_count.into()),
            ("bytes", |one| one.byte_count.into()),
        ],
    )
}

/// Sums up the events of each core, RISC and NoC.
fn cores(activities: &[Activity]) -> Vec<CoreRow> {
    let mut rows: BTreeMap<(u32, Noc0Coord, &str, Noc), CoreRow> = BTreeMap::new();
    for one in activities {
        let key = (one.chip_id, one.core, &*one.risc, one.noc);
        let row = rows.entry(key).or_insert_with(|| CoreRow {
            chip_id: one.chip_id,
            core: place(one.core),
            risc: one.risc.as_ref().to_owned(),
            noc: one.noc.label(),
            ..CoreRow::default()
        });
        let bytes = if one.kind.is_read() { &mut row.read_bytes } else { &mut row.written_bytes };
        *bytes = bytes.saturating_add(one.byte_count);
        row.transfers =
            row.transfers.saturating_add(if one.byte_count > 0 { one.event_count } else { 0 });
        row.is_lower_bound |= one.is_lower_bound();
        if one.kind.end_of_wait().is_some() {
            let waited = row.wait_cycles.unwrap_or(0);
            row.wait_cycles = Some(waited.saturating_add(one.wait_cycles));
        }
    }
    rows.into_values().collect()
}

/// Returns the traffic of each pair of sender and receiver.
fn pairs(pairs: Vec<Pair>) -> Objects<Pair> {
    Objects::new(
        pairs,
        [
            ("chip_id", |pair| pair.chip_id.into()),
            ("noc", |pair| pair.noc.label().into()),
            ("from", |pair| json!(place(pair.from))),
            ("to", |pair| json!(place(pair.to))),
            ("transfers", |pair| pair.transfer_count.into()),
            ("bytes", |pair| pair.byte_count.into()),
        ],
    )
}

/// Returns the traffic over each link.
fn links(loads: Vec<LinkLoad>) -> Objects<LinkLoad> {
    Objects::new(
        loads,
        [
            ("chip_id", |load| load.link.chip_id.into()),
            ("noc", |load| load.link.noc.label().into()),
            ("tile", |load| json!(place(load.link.tile))),
            ("direction", |load| load.link.direction.label().into()),
            ("bytes", |load| load.byte_count.into()),
        ],
    )
}
