//! Relays: worker cores that gather streamed records instead of running kernels. Each relay has two
//! gatherers, BRISC on NoC 0 and NCRISC on NoC 1. The remaining worker cores, the producers, are
//! divided evenly among all gatherers.
//!
//! Relays begin with the first launch and run until the host stops them. Their setup words are the
//! same as those that a program writes on a real chip: see [`wire::relay`].

use super::{
    Chip,
    facts::{ChipFacts, host_tile, host_window},
};
use crate::{
    arch::{Arch, TileCoord},
    clock::PS_PER_NS,
    config::{ConfigError, MeshConfig, RelaySink},
    fault::FaultEffect,
    host_memory::HOST_MEMORY_BYTES,
    machine::coordinates::{bank_coordinates, bank_offset, own_coordinates},
    program::{CoreSelection, CoreUse, Emission, Kernel, KernelContext, Launch, Program},
    riscv::narrow,
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

/// Number of cycles from a relay's launch until the relay is ready. The relay spends most of them
/// on filling its checksum table.
const START_CYCLES: u64 = 100_000;

/// The relays of a chip that begin at the same time.
#[derive(Clone, Debug)]
pub(super) struct Relays {
    launch: Arc<Launch>,
    /// Launch index. It counts down from `u64::MAX`, so that it differs from the indices of program
    /// launches, which count up from 0.
    launch_index: u64,
    cores: Vec<TileCoord>,
    begun_at: Option<u64>,
}

impl Relays {
    fn new(
        chip: &ChipFacts,
        (term, cores): (u32, Vec<TileCoord>),
        config: &MeshConfig,
        workers: &[TileCoord],
    ) -> Result<Self, ConfigError> {
        // A gatherer without a producer gets no setup words, and its RISC does nothing.
        let gatherers = cores.iter().flat_map(|relay| GATHERERS.map(|risc| (*relay, risc)));
        let gatherers: Vec<_> = gatherers.take(workers.len()).collect();
        let setups: Result<_, _> = (0..)
            .zip(&gatherers)
            .map(|(index, gatherer)| {
                let dealt = workers.iter().skip(index as usize).step_by(gatherers.len());
                let producers: Vec<TileCoord> = dealt.copied().collect();
                let ring = Ring::new(chip, config, term * narrow(gatherers.len() as u64) + index)?;
                let words = setup_words(chip, (term, ring), *gatherer, config, &producers);
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

    /// Returns the first cycle at which a program can be launched: programs wait until the relays
    /// are ready.
    pub(super) fn ready_at(&self) -> u64 {
        self.begun_at.map_or(0, |begun_at| begun_at + START_CYCLES)
    }
}

/// Kernel shared by all gatherers that begin at the same time.
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
    /// Returns the launch of the chip's relays; `None` if the chip has no relays.
    ///
    /// A host that runs the relays in another simulator must start this launch on exactly the cores
    /// that the launch names.
    #[must_use]
    pub fn relay_launch(&self) -> Option<&Launch> {
        self.relays.first().map(|relays| &*relays.launch)
    }

    /// Reserves the last worker cores for relays and, if the configuration asks for them, for the
    /// relays' successors.
    ///
    /// # Errors
    /// If no core is left for kernels, or if the memory to which relays write has no room for their
    /// rings.
    pub(crate) fn keep_relays(&mut self, config: &MeshConfig) -> Result<(), ConfigError> {
        let chip_id = self.facts.chip_id as usize;
        let mut workers: Vec<TileCoord> = self.workers().map(|place| place.coord).collect();
        let (count, terms) = (config.relays, if config.has_relay_successors { 2 } else { 1 });
        let all = count.saturating_mul(terms);
        let Some(first) = workers.len().checked_sub(all as usize).filter(|rest| *rest > 0) else {
            let worker_count = workers.len();
            return Err(ConfigError::NoRoomForRelays { chip_id, relay_count: all, worker_count });
        };
        let ring_bytes = config.relay_ring_bytes;
        if !ring_bytes.is_power_of_two() || ring_bytes < RING_BYTES_MIN {
            return Err(ConfigError::RelayRing { ring_bytes });
        }
        let relays = workers.split_off(first);
        for core in self.cores.iter_mut().filter(|core| relays.contains(&core.coord())) {
            core.keep_for(CoreUse::Relay);
        }
        if config.relay_sink == RelaySink::HostMemory {
            let facts = Arc::make_mut(&mut self.facts);
            (facts.host_tile, facts.host_writers) = (Some(host_tile(facts.arch)), count);
        }
        // Successors precede, in the order of cores, the relays that they replace.
        let terms = (0..terms).zip(relays.rchunks(count as usize));
        self.relays = terms
            .map(|(term, cores)| Relays::new(&self.facts, (term, cores.to_vec()), config, &workers))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Starts the initial relays if `term` is 0, or the relays' successors if `term` is 1. Does
    /// nothing if the chip has no such relays, or if they have already started.
    pub(crate) fn begin_relays(&mut self, term: usize, cycle: u64) {
        let relays = self.relays.get_mut(term).filter(|relays| relays.begun_at.is_none());
        let Some(relays) = relays else { return };
        relays.begun_at = Some(cycle);
        let Relays { launch, launch_index, cores, .. } = relays.clone();
        self.begin(&launch, launch_index, (cycle, 0));
        let first = u32::try_from(term * cores.len()).unwrap_or(u32::MAX);
        for (index, core) in (first..).zip(cores) {
            let Some((death, rule)) = self.rules.relay_death(self.facts.chip_id, index) else {
                continue;
            };
            let dies_at = self.clock.cycles_at(death.at_ns.saturating_mul(PS_PER_NS));
            let stage = self.core_index(core).and_then(|index| self.cores[index].stage_mut());
            let Some(stage) = stage else { continue };
            if death.is_before_telling {
                stage.dies_telling_at = Some(dies_at);
            } else {
                stage.dies_at = Some(dies_at);
            }
            self.log(&rule, Some(core), dies_at, FaultEffect::RelayDied);
        }
    }
}

/// Returns the setup words of a gatherer.
fn setup_words(
    chip: &ChipFacts,
    (term, ring): (u32, Ring),
    (relay, risc): (TileCoord, Risc),
    config: &MeshConfig,
    producers: &[TileCoord],
) -> Vec<u32> {
    let (control, _) = chip.profiler_addresses(CoreKind::Tensix);
    let gatherer = u32::from(risc != GATHERERS[0]);
    let (tile, noc_address) = ring.place_on(chip, gatherer);
    let tile_of = |tile: TileCoord| {
        let coordinates = own_coordinates(chip, gatherer as usize, tile);
        tile_word(chip.arch, coordinates & 0x3F, coordinates >> 8 & 0x3F)
    };
    let mut words = vec![0; setup::LIST];
    for (word, value) in [
        (setup::CONTROL, narrow(control)),
        (setup::PRODUCER_CONTROL, narrow(control)),
        (setup::BUFFERS, BUFFERS + gatherer * BUFFERS_STEP),
        (setup::SINK_TILE, tile),
        (setup::SINK_ADDRESS, narrow(noc_address & 0xFFFF_FFFF)),
        (setup::SINK_ADDRESS_HIGH, narrow(noc_address >> 32)),
        (setup::BANK, ring.bank),
        (setup::RING_ADDRESS, narrow(ring.address)),
        (setup::RING_BYTES, config.relay_ring_bytes),
        (setup::PRODUCERS, narrow(producers.len() as u64)),
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
    words
}

/// Location of a gatherer's ring: its memory (a DRAM bank or the host's memory), and the address at
/// which the host reads the ring in that memory.
#[derive(Clone, Copy)]
struct Ring {
    bank: u32,
    address: u64,
}

impl Ring {
    /// Computes the location of ring number `index`, which is in DRAM after the profiler's region,
    /// or in the host's memory.
    fn new(chip: &ChipFacts, config: &MeshConfig, index: u32) -> Result<Self, ConfigError> {
        let (facts, chip_id) = (chip.arch.facts(), chip.chip_id as usize);
        let ring_bytes = u64::from(config.relay_ring_bytes);
        match config.relay_sink {
            RelaySink::Dram => {
                let region_end = facts.dram_align_bytes + chip.region_bytes;
                let in_front = u64::from(index / facts.bank_count) * ring_bytes;
                let address = region_end.next_multiple_of(ALIGN_BYTES.into()) + in_front;
                let (needed_bytes, bank_bytes) = (address + ring_bytes, facts.bank_bytes);
                if needed_bytes > bank_bytes {
                    return Err(ConfigError::RelayRings { chip_id, needed_bytes, bank_bytes });
                }
                Ok(Self { bank: index % facts.bank_count, address })
            }
            RelaySink::HostMemory => {
                let address = u64::from(index) * ring_bytes;
                let (needed_bytes, host_bytes) = (address + ring_bytes, HOST_MEMORY_BYTES);
                if needed_bytes > host_bytes {
                    return Err(ConfigError::RelayRingsOfHost {
                        chip_id,
                        needed_bytes,
                        host_bytes,
                    });
                }
                Ok(Self { bank: HOST_MEMORY, address })
            }
        }
    }

    /// Returns the location of the ring for a gatherer on the NoC `noc`: the setup word of the tile
    /// through which the gatherer accesses the ring, and the ring's address in that tile.
    fn place_on(self, chip: &ChipFacts, noc: u32) -> (u32, u64) {
        let Self { bank, address } = self;
        if bank != HOST_MEMORY {
            let address = address + u64::from(bank_offset(chip.arch, bank));
            return (bank_coordinates(chip, noc, bank).into(), address);
        }
        let address = host_window(chip.arch) + address;
        let (x, y) = chip.translation.host(noc as usize, host_tile(chip.arch));
        let tile = tile_word(chip.arch, x.into(), y.into());
        match chip.arch {
            Arch::WormholeB0 => (tile | narrow(address >> 32), address),
            Arch::Blackhole => (tile, address),
        }
    }
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
