//! Zones of each op by name and RISC, summed over all cores, for the page about an op.

use crate::{TraceDevice, TraceLane};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Zones of an op, by RISC number and name number.
pub(super) type OpZones = BTreeMap<(usize, usize), ZoneSum>;

/// Sum of the zones with one name on one RISC, over all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ZoneSum {
    pub(super) count: u64,
    pub(super) total_cycles: u64,
    /// Cycles not covered by inner zones.
    pub(super) self_cycles: u64,
    pub(super) longest_cycles: u64,
    /// Position of the longest zone: index of its lane, and index of the zone in that lane.
    pub(super) longest_place: (usize, usize),
}

/// Sums the zones of each op of a chip.
pub(super) fn zones_of_ops(device: &TraceDevice<'_>) -> Vec<OpZones> {
    let lanes = device.lanes.par_iter().enumerate();
    let lane_sums: Vec<_> = lanes.map(|(index, lane)| sums_of_lane(index, lane)).collect();
    let mut ops = vec![OpZones::new(); device.ops.len()];
    for (lane, sums) in device.lanes.iter().zip(lane_sums) {
        let risc = lane.id.risc as usize;
        for (op, name, sum) in sums {
            if let Some(zones) = ops.get_mut(op) {
                zones.entry((risc, name)).or_default().add(sum);
            }
        }
    }
    ops
}

/// Returns the sums of a lane, run by run: op, name number, and sum.
fn sums_of_lane(lane_index: usize, lane: &TraceLane<'_>) -> Vec<(usize, usize, ZoneSum)> {
    let mut sums = Vec::new();
    let mut current = (None, BTreeMap::new());
    for (index, (zone, own)) in lane.zones.iter().zip(lane.zones.self_cycles()).enumerate() {
        let op = zone.run.and_then(|run| lane.run_ops.get(run as usize).copied().flatten());
        if op != current.0 {
            flush(&mut sums, std::mem::replace(&mut current, (op, BTreeMap::new())));
        }
        let sum = ZoneSum {
            count: 1,
            total_cycles: zone.duration_cycles,
            self_cycles: own,
            longest_cycles: zone.duration_cycles,
            longest_place: (lane_index, index),
        };
        current.1.entry(zone.name.index()).or_insert_with(ZoneSum::default).add(sum);
    }
    flush(&mut sums, current);
    sums
}

fn flush(
    sums: &mut Vec<(usize, usize, ZoneSum)>,
    (op, names): (Option<u32>, BTreeMap<usize, ZoneSum>),
) {
    if let Some(op) = op {
        sums.extend(names.into_iter().map(|(name, sum)| (op as usize, name, sum)));
    }
}

impl ZoneSum {
    fn add(&mut self, other: Self) {
        if self.count == 0 || other.longest_cycles > self.longest_cycles {
            self.longest_cycles = other.longest_cycles;
            self.longest_place = other.longest_place;
        }
        self.count = self.count.saturating_add(other.count);
        self.total_cycles = self.total_cycles.saturating_add(other.total_cycles);
        self.self_cycles = self.self_cycles.saturating_add(other.self_cycles);
    }
}
