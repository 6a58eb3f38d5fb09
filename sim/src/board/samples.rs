//! Samples of the launches on the worker cores of a chip that a host drives.

use super::{
    launches::OpenLaunch,
    lines::{UNFINISHED, kernel_code, offset_in_kernel},
};
use crate::{
    chip::facts::ChipFacts,
    lines::firmware_code,
    machine::{Riscs, Sampler},
    riscv::INSTRUCTION_RAM_BASE,
    samples::{RiscSamples, Sample, SamplingCounts, SamplingPlan},
    tile::Tile,
    tt_metal::firmware::FirmwareSet,
};
use std::{collections::BTreeMap, mem::take, sync::Arc};

/// Samples of one core.
#[derive(Debug)]
pub(super) struct CoreSamples {
    set: Arc<FirmwareSet>,
    sampler: Sampler,
    /// Series of the open launch, by the index of the RISC.
    series: Vec<(usize, Vec<Sample>)>,
    found: Vec<RiscSamples>,
    /// Why a tile has refused to be sampled.
    refusal: Option<String>,
}

/// A core's parts that a host reaches.
type Parts<'a> = (&'a ChipFacts, &'a mut Tile, &'a mut Riscs);

impl CoreSamples {
    pub(super) fn new(set: Arc<FirmwareSet>, plan: SamplingPlan, turn: usize) -> Self {
        let sampler = Sampler::new(plan, turn);
        Self { set, sampler, series: Vec::new(), found: Vec::new(), refusal: None }
    }

    /// Begins to sample a launch.
    pub(super) fn begin(&mut self, launch: &OpenLaunch, parts: Parts<'_>, cycle: u64) {
        self.series.clear();
        let started = self.sampler.begin(&sampled_riscs(launch), parts, cycle);
        self.note(started);
    }

    /// Continues with another RISC if a series is over.
    pub(super) fn follow(&mut self, launch: &OpenLaunch, parts: Parts<'_>, cycle: u64) {
        if self.sampler.is_over(parts.1) {
            let (chip, tile, riscs) = parts;
            self.end_series((chip, tile, riscs), cycle);
            let started = self.sampler.begin(&sampled_riscs(launch), (chip, tile, riscs), cycle);
            self.note(started);
        }
    }

    fn end_series(&mut self, parts: Parts<'_>, cycle: u64) {
        match self.sampler.end(parts, cycle) {
            Ok(series) => self.series.extend(series),
            Err(reason) => self.note(Err(reason)),
        }
    }

    fn note(&mut self, result: Result<(), String>) {
        if let Err(reason) = result {
            self.refusal.get_or_insert(reason);
        }
    }

    /// Ends the samples of a launch; `is_done` is false if BRISC has not ended it.
    pub(super) fn end(
        &mut self,
        launch: &OpenLaunch,
        is_done: bool,
        (chip, tile, riscs): Parts<'_>,
        cycle: u64,
    ) {
        self.end_series((chip, tile, riscs), cycle);
        for (index, series) in take(&mut self.series) {
            let Some(risc) = tile.place.kind.risc(index) else { continue };
            if series.is_empty() {
                continue;
            }
            let devices = &riscs.devices;
            let word = |pc: u32| match pc.checked_sub(INSTRUCTION_RAM_BASE) {
                Some(offset) => devices.instruction_word(offset),
                None => tile.load(u64::from(pc)),
            };
            let kernel = launch.message.kernels.get(index).copied().flatten();
            let place = |pc: u32| kernel.map_or(pc, |kernel| offset_in_kernel(pc, kernel));
            let mut words = BTreeMap::new();
            for sample in &series {
                let at = sample.address & !3;
                for address in (at.saturating_sub(4 * WORDS_BEFORE)..=at + 4).step_by(4) {
                    words.entry(place(address)).or_insert_with(|| word(address));
                }
            }
            let series = series
                .into_iter()
                .map(|sample| Sample { address: place(sample.address), ..sample })
                .collect();
            let kernel = kernel.map(kernel_code);
            let firmware = firmware_code(&self.set, index).map(super::lines::firmware_below);
            self.found.push(RiscSamples {
                chip_id: 0,
                core: tile.place.coord,
                risc,
                program_id: launch.message.run_host_id,
                program: if is_done { String::new() } else { UNFINISHED.to_owned() },
                launches: vec![launch.index],
                code: kernel.into_iter().chain(firmware).collect(),
                series: vec![series],
                words,
            });
        }
    }

    /// Removes and returns the samples, their counts, and why a tile has refused to be sampled.
    pub(super) fn take(&mut self) -> (Vec<RiscSamples>, SamplingCounts, Option<String>) {
        (take(&mut self.found), take(&mut self.sampler.counts), self.refusal.take())
    }
}

/// Returns the indices of the RISCs with a kernel; none for a dispatch kernel, which runs until the
/// device is closed.
fn sampled_riscs(launch: &OpenLaunch) -> Vec<usize> {
    if launch.message.run_host_id == NO_PROGRAM {
        return Vec::new();
    }
    let kernels = launch.message.kernels.iter().enumerate();
    kernels.filter(|(_, kernel)| kernel.is_some()).map(|(index, _)| index).collect()
}

/// The host's id of what is no op.
const NO_PROGRAM: u32 = 0;
/// Number of instructions before a sampled one that may tell what it waits for.
const WORDS_BEFORE: u32 = 8;
