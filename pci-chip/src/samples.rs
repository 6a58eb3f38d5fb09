//! Sampled lines of the chips, without what only the host knows: names of ops, and the files of
//! kernels. `kprof record` adds these.

use lines::{SampleSums, SampledChips, SampledProgram, SampledState, charged_address};
use sim::{
    arch::Arch,
    board::{Board, UNFINISHED, pci::PciChip},
    lines::LoadedCode,
    samples::{RiscSamples, Sample, SampleState, SamplingCounts, shortest_interval_cycles},
    tt_metal::firmware::FirmwareSet,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
    sync::Arc,
};

/// Where the samples are written, and how they are taken.
pub(crate) struct SamplesRequest {
    path: PathBuf,
    firmware: Arc<FirmwareSet>,
    every_cycles: u32,
}

/// Chip, program, RISC, and true for launches that had not ended.
type Key = (u32, u32, &'static str, bool);

/// Samples of one RISC in all launches of a program.
#[derive(Default)]
struct Found {
    sums: SampleSums,
    cores: BTreeSet<(u32, u32)>,
    /// Numbers of the launches.
    launches: BTreeSet<u64>,
    kernel_words: BTreeSet<(String, u32, u32)>,
}

impl SamplesRequest {
    /// Returns the request in the environment; `None` if there is none.
    pub(crate) fn from_environment(arch: Arch) -> Result<Option<Self>, String> {
        let Some((path, firmware)) = super::firmware::requested("KPROF_CHIP_SAMPLES", arch)? else {
            return Ok(None);
        };
        let every = std::env::var("KPROF_CHIP_SAMPLE_EVERY").unwrap_or_default();
        let every_cycles = every.parse().map_err(|_| {
            format!("expected a number of cycles in KPROF_CHIP_SAMPLE_EVERY, found `{every}`")
        })?;
        Ok(Some(Self { path, firmware, every_cycles }))
    }

    /// Makes a chip sample.
    pub(crate) fn begin_on(&self, board: &mut Board) -> Result<(), String> {
        board.sample(&self.firmware, self.every_cycles)
    }

    /// Writes the samples of the chips.
    pub(crate) fn write(&self, chips: &mut [PciChip]) -> io::Result<()> {
        let mut programs: BTreeMap<Key, Found> = BTreeMap::new();
        let (mut counts, mut refusal) = (SamplingCounts::default(), None);
        for (chip_id, chip) in (0..).zip(chips) {
            let (samples, of_chip, why) = chip.board_mut().take_samples();
            counts.add(&of_chip);
            refusal = refusal.or(why);
            for risc in samples {
                let is_unfinished = risc.program == UNFINISHED;
                let key = (chip_id, risc.program_id, risc.risc.label(), is_unfinished);
                programs.entry(key).or_default().add(&risc, self.every_cycles);
            }
        }
        let programs =
            programs.into_iter().map(|((chip_id, run_host_id, risc, is_open), found)| {
                SampledProgram {
                    chip_id,
                    run_host_id,
                    op: is_open.then(|| UNFINISHED.to_owned()),
                    risc: risc.to_owned(),
                    cores: found.cores,
                    kernel_words: found.kernel_words,
                    launches: found.launches.len() as u64,
                    ..found.sums.finish()
                }
            });
        let document = SampledChips {
            every_cycles: (shortest_interval_cycles(self.every_cycles), self.every_cycles),
            programs: programs.collect(),
            series: counts.series,
            unfinished_series: counts.unfinished_series,
            busy_launches: counts.busy_launches,
            damaged_samples: counts.damaged_samples,
            refusal,
        };
        let mut out = BufWriter::new(File::create(&self.path)?);
        serde_json::to_writer(&mut out, &document)?;
        out.flush()
    }
}

impl Found {
    fn add(&mut self, risc: &RiscSamples, every_cycles: u32) {
        self.cores.insert((risc.core.x.into(), risc.core.y.into()));
        self.launches.extend(&risc.launches);
        for code in &risc.code {
            let Some(id) = code.foreign_kernel() else { continue };
            let words = risc.words.iter().filter(|(address, _)| code.loaded.contains(address));
            self.kernel_words.extend(words.map(|(&address, &word)| {
                let offset = code.linked.wrapping_sub(code.loaded.start);
                (id.to_string(), address.wrapping_add(offset), word)
            }));
        }
        let word = |address: u32| risc.words.get(&address).copied();
        for series in &risc.series {
            let named: Vec<_> = (0..series.len())
                .map(|index| {
                    let Sample { address, state } = series[index];
                    let state = match state {
                        SampleState::Enters => SampledState::Enters,
                        SampleState::Waits => SampledState::Waits,
                        SampleState::Empty => SampledState::Empty,
                    };
                    let owner = owner_of(risc, address);
                    // Code before the first instruction of a kernel is not the kernel's.
                    let first = owner.map_or(0, |code| code.loaded.start);
                    let in_code = |at: u32| word(at).filter(|_| at >= first);
                    let next = next_address(&series[index..], every_cycles);
                    let address = charged_address(in_code, (address, state), next);
                    let owner = owner_of(risc, address);
                    let kernel = owner.and_then(LoadedCode::foreign_kernel);
                    let code = match (owner, kernel) {
                        (Some(_), Some(_)) => "kernel",
                        (Some(_), None) => "firmware",
                        (None, _) => "unknown",
                    };
                    let offset =
                        owner.map_or(0, |code| code.linked.wrapping_sub(code.loaded.start));
                    let kernel = kernel.map(|id| id.to_string());
                    let instruction = word(address).unwrap_or_default();
                    (code, kernel, address.wrapping_add(offset), instruction, state)
                })
                .collect();
            self.sums.add(named.iter().map(|(code, kernel, address, instruction, state)| {
                (*code, kernel.as_deref(), *address, *instruction, *state)
            }));
        }
    }
}

/// Returns the code that contains an address.
fn owner_of(risc: &RiscSamples, address: u32) -> Option<&LoadedCode> {
    risc.code.iter().find(|code| code.loaded.contains(&address))
}

/// Returns the address of the first sample that is not like the first one of these, if it was taken so
/// soon that the RISC has executed little in between.
fn next_address(series: &[Sample], every_cycles: u32) -> Option<u32> {
    let (first, later) = series.split_first()?;
    let soon = SOON_CYCLES.checked_div(every_cycles)? as usize;
    later.iter().take(soon).find(|sample| *sample != first).map(|sample| sample.address)
}

/// Cycles within which instructions are fetched and a few executed.
const SOON_CYCLES: u32 = 24;
