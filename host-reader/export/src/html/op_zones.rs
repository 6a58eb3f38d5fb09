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
///
/// # Cost
/// The lanes are distributed over threads, and each thread sums the zones of its lanes in place. No
/// zone is copied.
pub(super) fn zones_of_ops(device: &TraceDevice<'_>) -> Vec<OpZones> {
    let no_zones = || vec![OpZones::new(); device.ops.len()];
    let lanes = device.lanes.par_iter().enumerate();
    let sums = lanes.fold(no_zones, |mut ops, (index, lane)| {
        add_lane(&mut ops, index, lane);
        ops
    });
    sums.reduce(no_zones, |mut ops, others| {
        for (op, other) in ops.iter_mut().zip(others) {
            other.into_iter().for_each(|(key, sum)| op.entry(key).or_default().add(sum));
        }
        ops
    })
}

fn add_lane(ops: &mut [OpZones], lane_index: usize, lane: &TraceLane<'_>) {
    let risc = lane.id.risc as usize;
    for (index, (zone, own)) in lane.zones.iter().zip(lane.zones.self_cycles()).enumerate() {
        let op = lane.op(zone.run).and_then(|op| ops.get_mut(op as usize));
        let Some(zones) = op else { continue };
        zones.entry((risc, zone.name.index())).or_default().add(ZoneSum {
            count: 1,
            total_cycles: zone.duration_cycles,
            self_cycles: own,
            longest_cycles: zone.duration_cycles,
            longest_place: (lane_index, index),
        });
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
