//! A host that samples a tile by the registers of its debug daisychain.
//!
//! The order of the writes, and what they mean, is in the documentation of the daisychain: see
//! [`super::daisychain`].

use super::{devices::Devices, riscs::Riscs};
use crate::{
    chip::facts::ChipFacts,
    samples::{SAMPLE_BYTES, Sample, SamplingCounts, SamplingPlan},
    tile::Tile,
};

/// Samples one tile.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    plan: SamplingPlan,
    /// Number of series so far; another RISC is sampled in each.
    turn: usize,
    /// Index of the RISC that is sampled.
    sampled: Option<usize>,
    pub(crate) counts: SamplingCounts,
}

impl Sampler {
    /// Begins with another RISC on each tile: `turn` is the tile's number.
    pub(crate) fn new(plan: SamplingPlan, turn: usize) -> Self {
        Self { plan, turn, sampled: None, counts: SamplingCounts::default() }
    }

    /// Begins a series with the next of these RISCs.
    ///
    /// # Errors
    /// If the tile refuses a write.
    pub(crate) fn begin(
        &mut self,
        indices: &[usize],
        (chip, tile, riscs): (&ChipFacts, &mut Tile, &mut Riscs),
        cycle: u64,
    ) -> Result<(), String> {
        self.sampled = None;
        let Some(&risc) = indices.get(self.turn % indices.len().max(1)) else { return Ok(()) };
        let control = riscs.devices.remote_load(chip, CONTROL, cycle);
        if control >> ENABLED_SHIFT & 1 != 0 {
            self.counts.busy_launches += 1;
            return Ok(());
        }
        self.turn += 1;
        // A hart that polls may be ahead: what it does until then is not known any more.
        let cycle = riscs.harts.get(risc).map_or(cycle, |risc| cycle.max(risc.hart.cycle()));
        for word in 0..self.plan.count * (SAMPLE_BYTES / 4) {
            tile.store(u64::from(self.plan.first + 4 * word), EMPTY, cycle);
        }
        let first = self.plan.first / SAMPLE_BYTES;
        let mode = SERIES | (self.plan.interval_cycles - 1) << 4;
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
        // At least five cycles after the signals were selected. Launches are alike, so that samples
        // at the same times of each one would show the same instructions.
        let interval = u64::from(self.plan.interval_cycles);
        let delay_cycles = 5 + (self.turn as u64).wrapping_mul(GOLDEN) % interval;
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
/// Multiples of this number, modulo an interval, are spread evenly: 2^32 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9;
/// Content of memory for a sample that was not taken: in group B, reserved bits are 0.
const EMPTY: u32 = u32::MAX;
