//! Statistics of sum zones, which record only how many cycles they took in one launch.

use super::distribution::CycleStatistics;
use reader::probe_cost::risc_label;
use reader::{lane::ZoneIndex, readout::Readout};
use std::collections::BTreeMap;
use wire::{PacketKind, Risc};

/// The totals of one sum zone over all cores and launches of a chip.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SumStatistics {
    /// Number of the chip.
    pub chip_id: u32,
    /// The RISC.
    #[serde(serialize_with = "risc_label")]
    pub risc: Risc,
    /// The zone's marker id.
    pub marker_id: u32,
    /// Its name for people: the id if unknown, all names if ambiguous.
    pub name: String,
    /// Cycles per launch.
    #[serde(flatten)]
    pub cycles: CycleStatistics,
}

/// Statistics of all sum zones, by chip and RISC, those with the most cycles first.
#[must_use]
pub fn sum_statistics(readout: &Readout) -> Vec<SumStatistics> {
    let mut all = Vec::new();
    for device in &readout.devices {
        let mut totals: BTreeMap<(Risc, ZoneIndex), Vec<u64>> = BTreeMap::new();
        // Only lanes with values can hold sums.
        for lane in device.lanes.iter().filter(|lane| !lane.data.is_empty()) {
            let sums = lane.records().filter(|record| record.kind == PacketKind::ZoneTotal);
            for record in sums {
                totals.entry((lane.id.risc, record.zone)).or_default().extend(record.data);
            }
        }
        let first = all.len();
        all.extend(totals.into_iter().map(|((risc, zone), cycles)| SumStatistics {
            chip_id: device.chip.chip_id,
            risc,
            marker_id: readout.zones.id(zone),
            name: readout.zones.label(zone).into_owned(),
            cycles: CycleStatistics::of(&cycles, device.chip.aiclk_mhz),
        }));
        all[first..].sort_by_key(|sum| (sum.risc, std::cmp::Reverse(sum.cycles.total_cycles)));
    }
    all
}
