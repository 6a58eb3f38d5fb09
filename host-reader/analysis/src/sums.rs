//! Statistics of sum zones, which record only their total cycles per launch.

use super::distribution::CycleStatistics;
use reader::{
    lane::{Lane, ZoneIndex},
    readout::Readout,
};
use std::collections::BTreeMap;
use wire::{PacketKind, Risc};

/// Totals of one sum zone over all cores and launches of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SumStatistics {
    /// Number of the chip.
    pub chip_id: u32,
    /// RISC.
    pub risc: Risc,
    /// Marker id of the zone.
    pub marker_id: u32,
    /// Readable name of the zone. If the name is unknown, this is the zone's id; if several names
    /// are possible, this is all of them.
    pub name: String,
    /// Statistics of the zone's total cycles per launch.
    pub cycles: CycleStatistics,
}

/// Totals of sum zones by chip, RISC and zone, collected lane by lane.
#[derive(Debug, Default)]
pub(super) struct SumTotals(BTreeMap<u32, ChipTotals>);

type ChipTotals = BTreeMap<(Risc, ZoneIndex), Vec<u64>>;

impl SumTotals {
    /// Adds the totals of a lane.
    pub(super) fn add_lane(&mut self, lane: &Lane) {
        // The words of all sums are in `lane.data`.
        if lane.data.is_empty() {
            return;
        }
        let totals = self.0.entry(lane.id.chip_id).or_default();
        for record in lane.records().filter(|record| record.kind == PacketKind::ZoneTotal) {
            totals.entry((lane.id.risc, record.zone)).or_default().extend(record.data);
        }
    }

    /// Adds the totals of other lanes.
    pub(super) fn merge(&mut self, other: Self) {
        for (chip_id, others) in other.0 {
            let totals = self.0.entry(chip_id).or_default();
            for (key, cycles) in others {
                totals.entry(key).or_default().extend(cycles);
            }
        }
    }

    /// Computes the statistics of all totals, grouped by chip and RISC, sorted by descending
    /// cycles. Clock frequencies and names of zones are read from `readout`.
    pub(super) fn statistics(mut self, readout: &Readout) -> Vec<SumStatistics> {
        let chips = readout.devices.iter().map(|device| &device.chip);
        let chip_totals = chips.filter_map(|chip| Some((chip, self.0.remove(&chip.chip_id)?)));
        chip_totals
            .flat_map(|(chip, totals)| {
                let sums = totals.into_iter().map(|((risc, zone), cycles)| SumStatistics {
                    chip_id: chip.chip_id,
                    risc,
                    marker_id: readout.zones.id(zone),
                    name: readout.zones.label(zone).into_owned(),
                    cycles: CycleStatistics::from_durations(&cycles, chip.aiclk_mhz),
                });
                let mut sums: Vec<_> = sums.collect();
                sums.sort_by_key(|sum| (sum.risc, std::cmp::Reverse(sum.cycles.total_cycles)));
                sums
            })
            .collect()
    }
}
