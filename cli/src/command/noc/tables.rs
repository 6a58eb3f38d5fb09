//! Tables of the traffic of the NoCs.

use super::document::direction;
use crate::{
    layout::write_columns,
    numbers::{bounded, counted, grouped},
    tables::program_label,
    terminal::printable,
};
use host_reader::noc_events::{LockEventKind, MemoryLock, Pair, Traffic, UnplacedPair};
use std::{cmp::Reverse, collections::BTreeMap, io::Write};

/// Maximum number of characters printed of an unknown event's description.
const LONGEST_UNKNOWN: usize = 120;

/// Writes all tables of the traffic.
pub(super) fn write_tables(
    traffic: &Traffic,
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    write_activities(traffic, rows, out)?;
    write_pairs(traffic, rows, out)?;
    write_links(traffic, rows, out)?;
    write_unplaced(traffic, rows, out)?;
    write_outside(traffic, rows, out)?;
    if traffic.open_wait_count > 0 {
        let waits = counted(traffic.open_wait_count, "wait has no end", "waits have no end");
        writeln!(out, "\n{waits}")?;
    }
    if let Some(first) = &traffic.first_unknown {
        let count = traffic.unknown_count;
        let objects = counted(count, "object of an unknown kind", "objects of unknown kinds");
        writeln!(out, "\n{objects}; first: {}", printable(first, LONGEST_UNKNOWN))?;
    }
    Ok(())
}

/// Writes one row for each program, RISC and kind of event, summed over all cores.
fn write_activities(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    let sums = traffic.sums_over_cores();
    writeln!(out, "NoC events; bytes are rounded up to 32 for each transfer\n")?;
    write_columns!(&sums, rows, out, |(cores, sum)| {
        let waited = sum.kind.end_of_wait().map(|_| grouped(sum.wait_cycles));
        "chip" => sum.chip_id,
        "program" => program_label(sum.program.0, None),
        "op" => sum.op_name,
        "RISC" => sum.risc,
        "NoC" => sum.noc.label(),
        "kind" => sum.kind.label(),
        "cores" => grouped(*cores),
        "events" => grouped(sum.event_count),
        "bytes" => bounded(sum.byte_count, sum.is_lower_bound()),
        "wait cycles" => waited.unwrap_or_default(),
    })
}

/// Writes the traffic between pairs of tiles, with the busiest pair first.
fn write_pairs(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if traffic.pairs.is_empty() {
        return Ok(());
    }
    let mut pairs: Vec<&Pair> = traffic.pairs.iter().collect();
    pairs.sort_by_key(|pair| Reverse(pair.byte_count));
    writeln!(out, "\nBytes moved between tiles, in NoC-0 coordinates\n")?;
    write_columns!(&pairs, rows, out, |pair| {
        "chip" => pair.chip_id,
        "NoC" => pair.noc.label(),
        "from" => pair.from,
        "to" => pair.to,
        "transfers" => grouped(pair.transfer_count),
        "bytes" => bounded(pair.byte_count, pair.is_lower_bound),
    })
}

/// Writes the bytes that are in no pair of tiles and on no link.
fn write_outside(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if traffic.outside.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nBytes in no pair of tiles and on no link\n")?;
    write_columns!(&traffic.outside, rows, out, |one| {
        "chip" => one.chip_id,
        "NoC" => one.noc.label(),
        "kind" => one.kind.label(),
        "events" => grouped(one.event_count),
        "bytes" => bounded(one.byte_count, one.is_lower_bound),
        "why" => one.reason.label(),
    })
}

/// Writes transfers whose tiles are unknown, with the busiest pair first.
fn write_unplaced(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if traffic.unplaced_pairs.is_empty() {
        return Ok(());
    }
    let mut pairs: Vec<&UnplacedPair> = traffic.unplaced_pairs.iter().collect();
    pairs.sort_by_key(|pair| Reverse(pair.byte_count));
    writeln!(
        out,
        "\nTransfers with an unknown tile, in no pair and on no link, in the kernels' coordinates: \
         the chip's harvested lines are unknown\n"
    )?;
    write_columns!(&pairs, rows, out, |pair| {
        "chip" => pair.chip_id,
        "NoC" => pair.noc.label(),
        "core" => pair.core,
        "moved" => direction(pair),
        "target" => format!("({},{})", pair.target.x, pair.target.y),
        "transfers" => grouped(pair.transfer_count),
        "bytes" => bounded(pair.byte_count, pair.is_lower_bound),
    })
}

/// Writes the traffic on links, with the busiest link first.
fn write_links(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if traffic.links.is_empty() {
        return match traffic.pairs.is_empty() {
            true => Ok(()),
            false => writeln!(
                out,
                "\nLinks: unknown, because the chip's architecture is unknown; of noc_trace files, name it with \
                 --arch"
            ),
        };
    }
    writeln!(out, "\nLinks between neighbouring tiles\n")?;
    write_columns!(&traffic.links, rows, out, |load| {
        "chip" => load.link.chip_id,
        "NoC" => load.link.noc.label(),
        "from" => load.link.tile,
        "direction" => load.link.direction.label(),
        "bytes" => bounded(load.byte_count, load.is_lower_bound),
    })
}

/// Writes the locks of memory, summed over all cores, by program, RISC and kind.
pub(super) fn write_locks(
    locks: &[MemoryLock],
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let mut sums: BTreeMap<(u32, u32, &str, LockEventKind), LockSum> = BTreeMap::new();
    for one in locks {
        let MemoryLock { lane, program, kind, .. } = *one;
        let key = (lane.chip_id, program.0, lane.risc.label(), kind);
        sums.entry(key).or_default().add(one);
    }
    if sums.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nMemory that kernels locked\n")?;
    write_columns!(&sums, rows, out, |((chip_id, program, risc, kind), sum)| {
        "chip" => chip_id,
        "program" => program_label(*program, None),
        "RISC" => risc,
        "kind" => kind.label(),
        "times" => grouped(sum.count),
        "cycles" => sum.cycles.map(grouped).unwrap_or_default(),
        "longest" => sum.longest.map(grouped).unwrap_or_default(),
        "without end" => grouped(sum.open_count),
    })
}

/// Sum over the locks of one kind. The cycles include only locks with a known end.
#[derive(Default)]
struct LockSum {
    count: u64,
    open_count: u64,
    cycles: Option<u64>,
    longest: Option<u64>,
}

impl LockSum {
    fn add(&mut self, lock: &MemoryLock) {
        self.count += 1;
        match lock.cycles() {
            Some(cycles) => {
                self.cycles = Some(self.cycles.unwrap_or(0).saturating_add(cycles));
                self.longest = self.longest.max(Some(cycles));
            }
            None => self.open_count += 1,
        }
    }
}
