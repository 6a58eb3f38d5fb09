//! Samples of the launches on the worker cores of a chip that a host drives.

use super::{
    launches::OpenLaunch,
    lines::{UNFINISHED, kernel_code, offset_in_kernel},
};
use crate::{
    chip::facts::ChipFacts,
    lines::firmware_code,
    machine::{Riscs, Sampler},
    riscv::{Code, INSTRUCTION_RAM_BASE, decode, is_code},
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
    /// Number of series of the open launch.
    begun: usize,
    /// Series of the open launch, by the index of the RISC.
    series: Vec<(usize, Vec<Sample>)>,
    found: Vec<RiscSamples>,
    /// Why a tile has refused to be sampled.
    refusal: Option<String>,
}

/// A core's parts that a host reaches.
type Parts<'a> = (&'a ChipFacts, &'a mut Tile, &'a mut Riscs);

impl CoreSamples {
    pub(super) fn new(set: Arc<FirmwareSet>, plan: SamplingPlan, core: usize) -> Self {
        let sampler = Sampler::new(plan, core);
        Self { set, sampler, begun: 0, series: Vec::new(), found: Vec::new(), refusal: None }
    }

    /// Begins to sample a launch.
    pub(super) fn begin(&mut self, launch: &OpenLaunch, parts: Parts<'_>, cycle: u64) {
        self.series.clear();
        self.begun = 0;
        self.begin_series(launch, parts, cycle);
    }

    fn begin_series(&mut self, launch: &OpenLaunch, parts: Parts<'_>, cycle: u64) {
        let number = (launch.index, self.begun);
        let started = self.sampler.begin(&sampled_riscs(launch), number, parts, cycle);
        self.begun += 1;
        self.note(started);
    }

    /// Continues with another RISC if a series is over.
    pub(super) fn follow(&mut self, launch: &OpenLaunch, parts: Parts<'_>, cycle: u64) {
        if self.sampler.is_over(parts.1) {
            let (chip, tile, riscs) = parts;
            self.end_series((chip, tile, riscs), cycle);
            self.begin_series(launch, (chip, tile, riscs), cycle);
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
                for address in words_near(sample.address, word) {
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

/// Returns the addresses of the instructions that tell what a sampled one does.
fn words_near(sampled: u32, word: impl Fn(u32) -> u32) -> impl Iterator<Item = u32> {
    let near = (sampled.saturating_sub(4 * WORDS_BEFORE)..=sampled.saturating_add(4)).step_by(4);
    near.chain(jump_target(word(sampled), sampled)).filter(|address| is_code(*address))
}

/// Returns the address to which a branch or a jump leads, if the instruction is one and says it.
fn jump_target(word: u32, pc: u32) -> Option<u32> {
    let op = decode(word, pc);
    let is_jump = matches!(
        op.code,
        Code::Jump
            | Code::BranchEqual
            | Code::BranchNotEqual
            | Code::BranchLess
            | Code::BranchNotLess
            | Code::BranchLessUnsigned
            | Code::BranchNotLessUnsigned
    );
    is_jump.then_some(op.immediate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        riscv::asm::{NOP, jal},
        tt_metal::launch::LaunchedKernel,
    };

    /// Around the first and the last instruction of a memory, there is none of another memory.
    #[test]
    fn words_near_a_sample_are_code_and_have_a_place() {
        let l1 = |first: u32| (first..0x2010).step_by(4).collect::<Vec<_>>();
        let found = |sampled: u32, instruction: u32| {
            words_near(sampled, |_| instruction).collect::<Vec<_>>()
        };
        assert_eq!(found(0x200C, NOP), [&l1(0x1FEC)[..], &[0x2010]].concat());
        assert_eq!(found(0, NOP), [0, 4]);
        assert_eq!(found(INSTRUCTION_RAM_BASE, NOP), [0, 4].map(|at| INSTRUCTION_RAM_BASE + at));
        assert_eq!(found(8, jal(0, 0x1000)).last(), Some(&0x1008));
        // A jump back from the first instruction leads to no memory.
        assert_eq!(found(0, jal(0, -0x1000)), [0, 4]);
        let kernel = LaunchedKernel { id: Some(1), place: 0x2000, size_bytes: None };
        let places = [0x1FFC, 0x2000, 0x20_0000, 0x8000_2000, 0xFFBF_FFFC, INSTRUCTION_RAM_BASE]
            .map(|address| offset_in_kernel(address, kernel));
        assert_eq!(places, [0x1FFC, 0x8000_0000, 0x20_0000, 0x8000_2000, 0xFFBF_FFFC, 0x8000_0000]);
    }
}
