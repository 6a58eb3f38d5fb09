//! Zones of each op by name and RISC, summed over all cores, for the page about an op.

use super::named_zones::NamedZones;
use crate::{TraceDevice, TraceLane};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Position of a zone: index of its lane, and index of the zone in that lane.
pub(super) type ZonePlace = (usize, usize);

/// Zones of an op, by RISC number and name number.
pub(super) type OpZones = BTreeMap<(usize, usize), NamedZones<ZonePlace>>;

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
            other.into_iter().for_each(|(key, sum)| op.entry(key).or_default().merge(sum));
        }
        ops
    })
}

fn add_lane(ops: &mut [OpZones], lane_index: usize, lane: &TraceLane<'_>) {
    let risc = lane.id.risc as usize;
    for (index, zone) in lane.zones.iter().enumerate() {
        let op = lane.op(zone.run).and_then(|op| ops.get_mut(op as usize));
        let Some(zones) = op else { continue };
        let named = zones.entry((risc, zone.name.index())).or_default();
        named.add(zone, (lane_index, index));
    }
}
