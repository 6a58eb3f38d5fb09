//! A host that samples a tile by the registers of its debug daisychain.
//!
//! The order of the writes, and what they mean, is in the documentation of the daisychain: see
//! [`super::daisychain`].

use super::{devices::Devices, riscs::Riscs};
use crate::{
    chip::facts::ChipFacts,
    random::Stream,
    samples::{SAMPLE_BYTES, Sample, SamplingCounts, SamplingPlan, shortest_interval_cycles},
    tile::Tile,
};

/// Samples one tile.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    plan: SamplingPlan,
    /// Number of the core.
    core: usize,
    /// Times and intervals of series.
    random: Stream,
    /// Index of the RISC that is sampled.
    sampled: Option<usize>,
    pub(crate) counts: SamplingCounts,
}

impl Sampler {
    /// Creates the sampler of a core, by its number on the chip.
    pub(crate) fn new(plan: SamplingPlan, core: usize) -> Self {
        let random = Stream::new(0, &[core as u64]);
        Self { plan, core, random, sampled: None, counts: SamplingCounts::default() }
    }

    /// Begins series number `number` of the program's launch number `launch` on this core, with one of
    /// the RISCs with these indices.
    ///
    /// The series with the same number take turns: of as many launches, or cores, as there are RISCs,
    /// each RISC has one. So each part of the launches is sampled for each RISC as often.
    ///
    /// # Errors
    /// If the tile refuses a write.
    pub(crate) fn begin(
        &mut self,
        indices: &[usize],
        (launch, number): (u64, usize),
        (chip, tile, riscs): (&ChipFacts, &mut Tile, &mut Riscs),
        cycle: u64,
    ) -> Result<(), String> {
        self.sampled = None;
        // Below the number of RISCs.
        let Some(launch) = launch.checked_rem(indices.len() as u64) else { return Ok(()) };
        let turn = self.core + number + usize::try_from(launch).unwrap_or(0);
        let Some(&risc) = indices.get(turn % indices.len()) else { return Ok(()) };
        let control = riscs.devices.remote_load(chip, CONTROL, cycle);
        if control >> ENABLED_SHIFT & 1 != 0 {
            self.counts.busy_launches += 1;
            return Ok(());
        }
        // A hart that polls may be ahead: what it does until then is not known any more.
        let cycle = riscs.harts.get(risc).map_or(cycle, |risc| cycle.max(risc.hart.cycle()));
        for word in 0..self.plan.count * (SAMPLE_BYTES / 4) {
            tile.store(u64::from(self.plan.first + 4 * word), EMPTY, cycle);
        }
        let first = self.plan.first / SAMPLE_BYTES;
        // A loop whose period divides an interval would show the same instruction in each sample of
        // the series, so intervals differ. Launches are alike, so times of series differ, too.
        let longest = self.plan.interval_cycles;
        let shortest = shortest_interval_cycles(longest);
        let interval = self.random.between(shortest.into(), longest.into());
        let delay_cycles = MINIMUM_DELAY_CYCLES + self.random.below(interval);
        let mode = SERIES | (u32::try_from(interval).unwrap_or(longest) - 1) << 4;
        let writes = [
            (CONTROL, 1 << ENABLED_SHIFT | RISC_CHAIN << 16 | SIGNALS[risc]),
            (MODE, PREPARE),
            (FIRST, first),
            (END, first + self.plan.count),
            (MODE, mode),
        ];
        for ((address, value), cycle) in writes.into_iter().zip(cycle..) {
            write(&mut riscs.devices, chip, (address, value), cycle)?;
        }
        write(&mut riscs.devices, chip, (MODE, mode | TRIGGER), cycle + delay_cycles)?;
        riscs.follow_daisychain(tile, cycle);
        self.counts.series += 1;
        self.sampled = Some(risc);
        Ok(())
    }

    /// Returns true if a series has taken all of its samples.
    pub(crate) fn is_over(&self, tile: &Tile) -> bool {
        let last = self.plan.first + SAMPLE_BYTES * (self.plan.count - 1);
        self.sampled.is_some() && words(tile, last) != [EMPTY; 4]
    }

    /// Ends a series; returns the index of the RISC and the samples that were taken.
    ///
    /// # Errors
    /// If the tile refuses a write.
    pub(crate) fn end(
        &mut self,
        (chip, tile, riscs): (&ChipFacts, &mut Tile, &mut Riscs),
        cycle: u64,
    ) -> Result<Option<(usize, Vec<Sample>)>, String> {
        let Some(risc) = self.sampled.take() else { return Ok(None) };
        riscs.follow_daisychain(tile, cycle);
        for (address, value) in [(MODE, PREPARE), (CONTROL, 0)] {
            write(&mut riscs.devices, chip, (address, value), cycle)?;
        }
        riscs.follow_daisychain(tile, cycle);
        let mut samples = Vec::new();
        let mut is_complete = true;
        for number in 0..self.plan.count {
            let found = words(tile, self.plan.first + SAMPLE_BYTES * number);
            if found == [EMPTY; 4] {
                is_complete = false;
                break;
            }
            match Sample::from_group_b(found) {
                Some(sample) => samples.push(sample),
                None => self.counts.damaged_samples += 1,
            }
        }
        self.counts.unfinished_series += u64::from(!is_complete);
        Ok(Some((risc, samples)))
    }
}

fn write(
    devices: &mut Devices,
    chip: &ChipFacts,
    (address, value): (u32, u32),
    cycle: u64,
) -> Result<(), String> {
    devices.remote_store(chip, address, value, cycle);
    devices.remote_refusal.take().map_or(Ok(()), Err)
}

fn words(tile: &Tile, address: u32) -> [u32; 4] {
    [0, 4, 8, 12].map(|offset| tile.load(u64::from(address + offset)))
}

const FIRST: u32 = 0xFFB1_2048;
const END: u32 = 0xFFB1_204C;
const MODE: u32 = 0xFFB1_2050;
const CONTROL: u32 = 0xFFB1_2054;
const ENABLED_SHIFT: u32 = 29;
const RISC_CHAIN: u32 = 7;
/// Group B of BRISC, NCRISC and the TRISCs, which is known on both architectures.
const SIGNALS: [u32; 5] = [11, 25, 13, 15, 17];
const PREPARE: u32 = 15;
const SERIES: u32 = 4;
const TRIGGER: u32 = 1 << 12;
/// Cycles from the choice of signals to the first one in which they are shown.
const MINIMUM_DELAY_CYCLES: u64 = 5;
/// Content of memory for a sample that was not taken: in group B, reserved bits are 0.
const EMPTY: u32 = u32::MAX;
