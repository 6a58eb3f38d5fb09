//! Relays: worker cores that gather streamed records instead of running kernels. Each relay has two
//! gatherers, BRISC on NoC 0 and NCRISC on NoC 1. The producers' cores are divided evenly among all
//! gatherers.
//!
//! Relays begin with the first launch and run until the host stops them. Their setup words are the
//! same as a program on a real chip would write: see [`wire::relay`].

use super::{
    Chip,
    core::{self, Core, Job},
    facts::{ChipFacts, host_tile, host_window},
};
use crate::{
    arch::{Arch, TileCoord},
    clock::PS_PER_NS,
    config::{ConfigError, RelaySink},
    fault::FaultEffect,
    host_memory::HOST_MEMORY_BYTES,
    machine::coordinates::{bank_coordinates, bank_offset, own_coordinates},
    program::{CoreSelection, CoreUse, Emission, Kernel, KernelContext, Launch, Program},
};
use std::{borrow::Cow, sync::Arc};
use wire::{
    CoreKind, Risc,
    frame::ALIGN_BYTES,
    relay::{BUFFERS_BYTES, GATHERERS_MAX, RING_BYTES_MIN, setup, words::HOST_MEMORY},
};

/// L1 address of the buffers of a relay's first gatherer, after the code of all RISCs and after the
/// setup words. The second gatherer's buffers follow.
const BUFFERS: u32 = 0x4_0000;

/// The gatherers of a relay, each at the index of the NoC that it uses.
const GATHERERS: [Risc; GATHERERS_MAX] = [Risc::Brisc, Risc::Ncrisc];

/// Cycles that relays take to get ready, mainly to fill their checksum table.
const START_CYCLES: u64 = 100_000;

/// The relays of a chip that begin at the same time.
#[derive(Clone, Debug)]
pub(super) struct Relays {
    launch: Arc<Launch>,
    /// Launch index: `u64::MAX` for the first term, counting down. Launches of programs count up
    /// from 0.
    launch_index: u64,
    cores: Vec<TileCoord>,
    begun_at: Option<u64>,
}

impl Relays {
    fn new(
        chip: &ChipFacts,
        (term, cores): (u32, Vec<TileCoord>),
        sink: (RelaySink, u32),
        workers: &[TileCoord],
    ) -> Result<Self, ConfigError> {
        let gatherers = cores.iter().flat_map(|relay| GATHERERS.map(|risc| (*relay, risc)));
        let gatherers: Vec<_> = gatherers.take(workers.len()).collect();
        let setups: Result<_, _> = (0..)
            .zip(&gatherers)
            .map(|(index, gatherer)| {
                let dealt = workers.iter().skip(index as usize).step_by(gatherers.len());
                let producers: Vec<TileCoord> = dealt.copied().collect();
                let ring = term * low(gatherers.len() as u64) + index;
                let words = setup_words(chip, (term, ring), *gatherer, sink, &producers)?;
                Ok((*gatherer, words))
            })
            .collect();
        let kernel: Arc<dyn Kernel> = Arc::new(RelayKernel { setups: setups? });
        let program = GATHERERS.into_iter().fold(Program::new("relay"), |program, risc| {
            program.with_kernel(risc, Arc::clone(&kernel))
        });
        let launch = Launch::new(&Arc::new(program), 0)
            .on(CoreSelection::At(cores.clone()))
            .for_use(CoreUse::Relay);
        Ok(Self {
            launch: Arc::new(launch),
            launch_index: u64::MAX - u64::from(term),
            cores,
            begun_at: None,
        })
    }

    /// Returns the first cycle at which a program can be launched, because programs wait for
    /// relays.
    pub(super) fn ready_at(&self) -> u64 {
        self.begun_at.map_or(0, |begun_at| begun_at + START_CYCLES)
    }
}

/// A gatherer, represented as the kernel of its RISC.
#[derive(Clone, Debug)]
struct RelayKernel {
    /// Setup words of each gatherer, by core and RISC.
    setups: Vec<((TileCoord, Risc), Vec<u32>)>,
}

impl Kernel for RelayKernel {
    fn emission(&self, _: &KernelContext) -> Emission {
        Emission::NONE
    }

    fn object_name(&self) -> Option<&str> {
        Some("relay")
    }

    fn object_data(&self, context: &KernelContext) -> Cow<'_, [u32]> {
        let own = (context.place.coord, context.risc);
        let setup = self.setups.iter().find(|(gatherer, _)| *gatherer == own);
        setup.map_or(Cow::Borrowed(&[]), |(_, words)| Cow::Borrowed(words))
    }
}

impl Chip {
    /// Returns the launch of the chip's relays; `None` without relays.
    ///
    /// A host that drives another simulator passes this launch to the cores that the launch names,
    /// and to no other core.
    #[must_use]
    pub fn relay_launch(&self) -> Option<&Launch> {
        self.relays.first().map(|relays| &*relays.launch)
    }

    /// Reserves the last worker cores for relays and, if there are several terms, for the relays'
    /// successors.
    ///
    /// # Errors
    /// If no core is left for kernels, or if the sink has no room for the rings.
    pub(crate) fn keep_relays(
        &mut self,
        (count, terms): (u32, u32),
        (sink, ring_bytes): (RelaySink, u32),
    ) -> Result<(), ConfigError> {
        let chip_id = self.facts.chip_id as usize;
        let mut workers: Vec<TileCoord> = self.workers().map(|place| place.coord).collect();
        let all = count.saturating_mul(terms);
        let Some(first) = workers.len().checked_sub(all as usize).filter(|rest| *rest > 0) else {
            let worker_count = workers.len();
            return Err(ConfigError::NoRoomForRelays { chip_id, relay_count: all, worker_count });
        };
        if !ring_bytes.is_power_of_two() || ring_bytes < RING_BYTES_MIN {
            return Err(ConfigError::RelayRing { ring_bytes });
        }
        let relays = workers.split_off(first);
        for core in self.cores.iter_mut().filter(|core| relays.contains(&core.coord())) {
            core.keep_for(CoreUse::Relay);
        }
        if sink == RelaySink::HostMemory {
            let facts = Arc::make_mut(&mut self.facts);
            (facts.host_tile, facts.host_writers) = (Some(host_tile(facts.arch)), count);
        }
        // In the order of cores, successors come before the relays that they replace.
        let terms = (0..terms).zip(relays.rchunks(count as usize));
        self.relays = terms
            .map(|(term, cores)| {
                Relays::new(&self.facts, (term, cores.to_vec()), (sink, ring_bytes), &workers)
            })
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Begins the relays of a term, if there are any and they have not begun.
    pub(crate) fn begin_relays(&mut self, term: usize, cycle: u64) {
        let relays = self.relays.get_mut(term).filter(|relays| relays.begun_at.is_none());
        let Some(relays) = relays else { return };
        relays.begun_at = Some(cycle);
        let job = Job {
            launch: &relays.launch,
            launch_index: relays.launch_index,
            go_cycle: cycle,
            seen_until: 0,
            chip: &self.facts,
            rules: &self.rules,
        };
        core::begin(&mut self.cores, &job);
        let mut deaths = Vec::new();
        let first = u32::try_from(term * relays.cores.len()).unwrap_or(u32::MAX);
        for (index, core) in (first..).zip(relays.cores.clone()) {
            let Some((death, rule)) = self.rules.relay_death(self.facts.chip_id, index) else {
                continue;
            };
            let dies_at = self.clock.cycles_at(death.at_ns.saturating_mul(PS_PER_NS));
            let stage = self.core_index(core).and_then(|index| self.cores[index].stage_mut());
            if let Some(stage) = stage {
                let death = if death.is_before_telling {
                    &mut stage.dies_telling_at
                } else {
                    &mut stage.dies_at
                };
                *death = Some(dies_at);
                deaths.push((rule, core, dies_at));
            }
        }
        for (rule, core, dies_at) in deaths {
            self.log(&rule, Some(core), dies_at, FaultEffect::RelayDied);
        }
    }

    /// Collects the outcomes of relays that have ended.
    pub(super) fn end_relays(&mut self) {
        let mut ended = Vec::new();
        for relays in &self.relays {
            let mut running = self.cores.iter().filter(|core| core.runs(relays.launch_index));
            if running.all(Core::is_at_rest) {
                ended.push(core::end(&mut self.cores, relays.launch_index));
            }
        }
        for outcomes in ended {
            self.take(outcomes, 0);
        }
    }

    /// Tells the journals of the relays' tiles that the host will not access these tiles before a
    /// cycle.
    pub(super) fn see_relays_until(&mut self, cycle: u64) {
        for relays in &self.relays {
            let running = self.cores.iter_mut().filter(|core| core.runs(relays.launch_index));
            running.for_each(|core| core.tile_mut().journal.see_until(cycle));
        }
    }
}

/// Returns the setup words of a gatherer, whose ring has the number `index` on the chip.
fn setup_words(
    chip: &ChipFacts,
    (term, index): (u32, u32),
    (relay, risc): (TileCoord, Risc),
    (sink, ring_bytes): (RelaySink, u32),
    producers: &[TileCoord],
) -> Result<Vec<u32>, ConfigError> {
    let (control, _) = chip.profiler_addresses(CoreKind::Tensix);
    let gatherer = u32::from(risc != GATHERERS[0]);
    let Ring { bank, address, tile, noc_address } = match sink {
        RelaySink::Dram => ring_in_dram(chip, index, gatherer, ring_bytes)?,
        RelaySink::HostMemory => ring_of_host(chip, index, gatherer, ring_bytes)?,
    };
    let tile_of = |tile: TileCoord| {
        let coordinates = own_coordinates(chip, gatherer as usize, tile);
        tile_word(chip.arch, coordinates & 0x3F, coordinates >> 8 & 0x3F)
    };
    let mut words = vec![0; setup::LIST];
    for (word, value) in [
        (setup::CONTROL, low(control)),
        (setup::PRODUCER_CONTROL, low(control)),
        (setup::BUFFERS, BUFFERS + gatherer * BUFFERS_STEP),
        (setup::SINK_TILE, tile),
        (setup::SINK_ADDRESS, low(noc_address & 0xFFFF_FFFF)),
        (setup::SINK_ADDRESS_HIGH, low(noc_address >> 32)),
        (setup::BANK, bank),
        (setup::RING_ADDRESS, low(address)),
        (setup::RING_BYTES, ring_bytes),
        (setup::PRODUCERS, low(producers.len() as u64)),
        (setup::GATHERER, gatherer),
        (setup::OWN_TILE, tile_of(relay)),
        (setup::TERM, term),
    ] {
        words[word] = value;
    }
    for &producer in producers {
        let first = words.len();
        words.resize(first + setup::PRODUCER_WORDS, 0);
        words[first + setup::TILE] = tile_of(producer);
        words[first + setup::LABEL] = u32::from(producer.x) | u32::from(producer.y) << 16;
    }
    Ok(words)
}

fn low(address: u64) -> u32 {
    u32::try_from(address).unwrap_or(u32::MAX)
}

/// Location of a gatherer's ring.
struct Ring {
    /// Bank (or the host's memory) and address at which the host accesses the ring.
    bank: u32,
    address: u64,
    /// Word for the tile, and address in that tile, at which the gatherer accesses the ring.
    tile: u32,
    noc_address: u64,
}

/// Returns the location in DRAM of the ring with number `index`, after the profiler's region.
fn ring_in_dram(
    chip: &ChipFacts,
    index: u32,
    noc: u32,
    ring_bytes: u32,
) -> Result<Ring, ConfigError> {
    let facts = chip.arch.facts();
    let bank = index % facts.bank_count;
    let behind_region = facts.dram_align_bytes + chip.region_bytes;
    let in_front = u64::from(index / facts.bank_count) * u64::from(ring_bytes);
    let address = behind_region.next_multiple_of(ALIGN_BYTES.into()) + in_front;
    let end = address + u64::from(ring_bytes);
    if end > facts.bank_bytes {
        let (chip_id, bank_bytes) = (chip.chip_id as usize, facts.bank_bytes);
        return Err(ConfigError::RelayRings { chip_id, needed_bytes: end, bank_bytes });
    }
    let tile = bank_coordinates(chip, noc, bank).into();
    let noc_address = address + u64::from(bank_offset(chip.arch, bank));
    Ok(Ring { bank, address, tile, noc_address })
}

/// Returns the location in the host's memory of the ring with number `index`.
fn ring_of_host(
    chip: &ChipFacts,
    index: u32,
    noc: u32,
    ring_bytes: u32,
) -> Result<Ring, ConfigError> {
    let address = u64::from(index) * u64::from(ring_bytes);
    let needed_bytes = address + u64::from(ring_bytes);
    if needed_bytes > HOST_MEMORY_BYTES {
        let chip_id = chip.chip_id as usize;
        return Err(ConfigError::RelayRingsOfHost {
            chip_id,
            needed_bytes,
            host_bytes: HOST_MEMORY_BYTES,
        });
    }
    let noc_address = host_window(chip.arch) + address;
    let (x, y) = chip.translation.host(noc as usize, host_tile(chip.arch));
    let tile = tile_word(chip.arch, x.into(), y.into());
    let tile = match chip.arch {
        Arch::WormholeB0 => tile | low(noc_address >> 32),
        Arch::Blackhole => tile,
    };
    Ok(Ring { bank: HOST_MEMORY, address, tile, noc_address })
}

/// Returns the setup word for a tile's coordinates; see [`wire::relay::setup`].
const fn tile_word(arch: Arch, x: u32, y: u32) -> u32 {
    let coordinates = x | y << 6;
    match arch {
        Arch::WormholeB0 => coordinates << 4,
        Arch::Blackhole => coordinates,
    }
}

/// Distance in bytes between the buffers of consecutive gatherers.
const BUFFERS_STEP: u32 = BUFFERS_BYTES.next_multiple_of(16);

const _: () = assert!(BUFFERS.is_multiple_of(16) && BUFFERS + 2 * BUFFERS_STEP < 0x11_0000);
