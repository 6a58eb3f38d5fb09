//! Rows of a RISC. A row is a lane of the viewer. The zones of a lane must be sent in time order.
//!
//! A zone is sent after it has ended. If a nested zone ended before a read of the chip's records
//! and its enclosing zone ended after this read, the enclosing zone is therefore sent later than
//! the nested zone. In a lane, a viewer accepts no zone that begins before the end of an earlier
//! zone. Such a zone is therefore sent in another row of the same RISC.

use crate::TraceZones;

/// Maximum number of rows of a RISC. Zones that do not fit into the last row are shortened.
const MOST_ROWS: usize = 32;

/// Position of a zone in the rows of its RISC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowZone {
    /// Number of the row, from 0.
    pub(super) row: usize,
    /// Number of zones in the same part and row that enclose the zone.
    pub(super) depth: u16,
    /// The earliest time at which the zone may begin, in nanoseconds.
    pub(super) earliest_ns: u64,
    /// True if the zone began before `earliest_ns` and must therefore be shortened.
    pub(super) is_cut: bool,
}

/// End of the latest zone in each row of a RISC.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    ends: Vec<RowEnd>,
}

/// End of the latest zone in a row.
#[derive(Clone, Copy, Debug, Default)]
struct RowEnd {
    /// End on the chip's clock. Times in nanoseconds do not show reliably whether a zone follows
    /// another zone, because the conversion from cycles becomes more exact while the program runs.
    cycle: u64,
    ns: u64,
}

impl Rows {
    /// Assigns the zones of one read to rows. `shifted_ns` converts times of the trace to times of
    /// the feed, both in nanoseconds.
    pub(super) fn assign(
        &mut self,
        zones: &TraceZones,
        shifted_ns: impl Fn(u64) -> u64,
    ) -> Vec<RowZone> {
        let before = self.ends.clone();
        let mut around: Vec<usize> = Vec::new();
        let mut placed = Vec::with_capacity(zones.len());
        for zone in zones.iter() {
            around.truncate(zone.depth.into());
            let row = before.iter().position(|end| end.cycle <= zone.start_cycle);
            let row = row.unwrap_or(before.len()).min(MOST_ROWS.saturating_sub(1));
            let end = before.get(row).copied().unwrap_or_default();
            let depth = around.iter().filter(|&&other| other == row).count();
            placed.push(RowZone {
                row,
                depth: u16::try_from(depth).unwrap_or(u16::MAX),
                earliest_ns: end.ns,
                is_cut: end.cycle > zone.start_cycle,
            });
            around.push(row);
            self.extend(row, RowEnd { cycle: zone.end_cycle, ns: shifted_ns(zone.end_ns) });
        }
        placed
    }

    fn extend(&mut self, row: usize, end: RowEnd) {
        if row >= self.ends.len() {
            self.ends.resize(row.saturating_add(1), RowEnd::default());
        }
        if let Some(known) = self.ends.get_mut(row) {
            let (cycle, ns) = (known.cycle.max(end.cycle), known.ns.max(end.ns));
            *known = RowEnd { cycle, ns };
        }
    }
}
