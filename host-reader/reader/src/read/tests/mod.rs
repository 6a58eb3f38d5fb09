//! Tests of reading, with a device whose memory changes according to a script.

mod failures;
mod formats;
mod lanes;
mod losses;
mod pending;
mod periodic;
mod rings;
mod turns;
mod two_buffers;

use super::*;
use crate::ledger::ProgramSpan;
use crate::{
    decode::CaptureMode,
    ledger::{LossCause, LossTotals, LossWindow},
    mesh::{
        AccessError, AccessResult, CoreDescription, CoreSelection, Device, DeviceDescription,
        DeviceImage, DramDescription, LogicalCoord, Noc0Coord,
    },
};
use std::collections::BTreeSet;
use wire::{CoreKind, Risc, RunHostId, control::ext};

const CONTROL: u64 = 0x1000;
const VECTOR: u64 = 0x1100;
const REGION: u64 = 0x40;
const LANE_BYTES: u64 = 48_000;
const HOST_END: usize = 0;
const DEVICE_END: usize = 24;
const RUN_COUNTER: usize = 51;
const DROPPED: usize = 56;
const DONE: usize = 57;

/// One access of the host to the chip.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Access {
    ReadL1 { core: Noc0Coord, address: u64, words: usize },
    WriteL1 { core: Noc0Coord, address: u64, words: Vec<u32> },
    ReadDram { bank: u32, address: u64, words: usize },
    Clock,
}

type Script = Box<dyn FnMut(&mut DeviceImage, &Access)>;

/// Function that returns an error if an access must fail.
type Refusal = Box<dyn FnMut(&Access) -> Option<AccessError>>;

/// A chip that runs a script before each access. The script may change the chip's memory.
struct Scripted {
    image: DeviceImage,
    accesses: Vec<Access>,
    script: Script,
    broken: BTreeSet<Noc0Coord>,
    refusal: Refusal,
}

impl Scripted {
    fn before(&mut self, access: Access) -> AccessResult {
        (self.script)(&mut self.image, &access);
        let refusal = (self.refusal)(&access);
        self.accesses.push(access);
        refusal.map_or(Ok(()), Err)
    }

    fn check(&self, core: Noc0Coord) -> AccessResult {
        let chip_id = self.image.description().chip_id;
        if self.broken.contains(&core) {
            return Err(AccessError::Unreachable { chip_id, reason: "asleep".into() });
        }
        Ok(())
    }
}

impl Device for Scripted {
    fn description(&self) -> &DeviceDescription {
        self.image.description()
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        self.check(core)?;
        self.before(Access::ReadL1 { core, address, words: words.len() })?;
        self.image.read_l1(core, address, words)
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        self.check(core)?;
        self.before(Access::WriteL1 { core, address, words: words.to_vec() })?;
        self.image.write_l1(core, address, words)
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        self.before(Access::ReadDram { bank, address, words: words.len() })?;
        self.image.read_dram(bank, address, words)
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.before(Access::Clock)?;
        self.image.read_wall_clock(core)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.image.host_time_ns()
    }
}

/// One chip with four Tensix cores on two banks.
struct Bench(Scripted);

impl Mesh for Bench {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        (index == 0).then_some(&mut self.0)
    }
}

fn core(flat_id: u32) -> Noc0Coord {
    Noc0Coord { x: 1, y: 1 + u16::try_from(flat_id).unwrap() }
}

fn set(image: &mut DeviceImage, flat_id: u32, index: usize, words: &[u32]) {
    image.write_l1(core(flat_id), CONTROL + index as u64 * 4, words).unwrap();
}

fn lane_address(flat_id: u32, risc: usize) -> u64 {
    REGION + (u64::from(flat_id % 2) * 5 + risc as u64) * LANE_BYTES
}

/// Writes words into a lane at index `at` and sets the lane's end after them.
fn push(image: &mut DeviceImage, (flat_id, risc): (u32, usize), at: u32, words: &[u32]) {
    let address = lane_address(flat_id, risc) + u64::from(at) * 4;
    image.write_dram(flat_id / 2, address, words).unwrap();
    set(image, flat_id, HOST_END + risc, &[at + u32::try_from(words.len()).unwrap()]);
}

impl Bench {
    fn new() -> Self {
        let describe = |flat_id| CoreDescription {
            noc0: core(flat_id),
            logical: LogicalCoord { x: 0, y: 0 },
            kind: CoreKind::Tensix,
            flat_id,
            control_address: CONTROL,
            vector_address: VECTOR,
        };
        let image = DeviceImage::new(DeviceDescription {
            chip_id: 3,
            arch: "wormhole_b0".into(),
            aiclk_mhz: 1000,
            max_compute_cores: 4,
            cores: (0..4).map(describe).collect(),
            dram: DramDescription { bank_count: 2, region_address: REGION, region_bytes: 480_000 },
        });
        let script: Script = Box::new(|_, _| ());
        let accesses = Vec::new();
        let (broken, refusal): (_, Refusal) = (BTreeSet::new(), Box::new(|_| None));
        let mut bench = Self(Scripted { image, accesses, script, broken, refusal });
        crate::init_device_profiler(&mut bench, &crate::ProfilerOptions::default()).unwrap();
        bench.0.image.set_wall_clock(1 << 40);
        bench.0.accesses.clear();
        bench
    }

    fn ours() -> Self {
        let mut bench = Self::new();
        for flat_id in 0..4 {
            set(&mut bench.0.image, flat_id, ext::SIGNATURE, &[ext::SIGNATURE_VALUE]);
        }
        bench
    }

    fn control(&mut self, flat_id: u32) -> [u32; 64] {
        let mut words = [0; 64];
        self.0.image.read_l1(core(flat_id), CONTROL, &mut words).unwrap();
        words
    }

    fn dram_reads(&self) -> Vec<(u32, u64, usize)> {
        let reads = self.0.accesses.iter().filter_map(|access| match *access {
            Access::ReadDram { bank, address, words } => Some((bank, address, words)),
            _ => None,
        });
        reads.collect()
    }

    fn on_access(&mut self, script: impl FnMut(&mut DeviceImage, &Access) + 'static) {
        self.0.script = Box::new(script);
    }
}

fn run(flat_id: u32, risc: u32, program: u32, start: u32) -> Vec<u32> {
    let mut words = vec![0, 0, flat_id << 5 | risc, program];
    let slots = [(0x8FC0_D001, 0), (0x9FC0_D001, 900), (0x8E42_7001, 10), (0x9E42_7001, 890)];
    words.extend(slots.iter().flat_map(|&(header, offset)| [header, start + offset]));
    words
}

fn programs(readout: &Readout) -> Vec<(u16, Risc, u32)> {
    let lane_programs = |lane: &crate::lane::Lane| {
        let id = lane.id;
        lane.runs
            .iter()
            .map(move |run| (id.core.y, id.risc, run.program.base()))
            .collect::<Vec<_>>()
    };
    readout.lanes().flat_map(lane_programs).collect()
}

fn losses(readout: &Readout) -> Vec<(LossCause, Option<u32>, LossTotals)> {
    let entry = |(key, totals): (&crate::ledger::LossKey, &LossTotals)| {
        (key.cause, key.program.map(RunHostId::base), *totals)
    };
    readout.losses.entries().map(entry).collect()
}

fn zones(zones: u64) -> LossTotals {
    LossTotals { zones, ..LossTotals::default() }
}

/// Ends a launch as the device does after the last push.
fn finish(image: &mut DeviceImage, flat_id: u32, run_counter: u32) {
    set(image, flat_id, RUN_COUNTER, &[run_counter]);
    set(image, flat_id, DONE, &[1]);
}

/// Releases a core's lanes as the device does at the next launch after a complete read.
fn hand_back(image: &mut DeviceImage, flat_id: u32, generation: u32) {
    set(image, flat_id, HOST_END, &[0; 5]);
    set(image, flat_id, ext::CONSUMED, &[0; 5]);
    set(image, flat_id, ext::GENERATION, &[generation]);
    set(image, flat_id, ext::FIRST_REFUSED_PROGRAM, &[0; 2]);
}

/// Returns a copy of the run with another lane generation.
fn with_generation(generation: u32, mut run: Vec<u32>) -> Vec<u32> {
    run[2] |= generation << 29;
    run
}

/// Sets the loss counters of one RISC: zones, data and events for which L1 had no room, then runs
/// and markers for which DRAM had no room.
fn count(image: &mut DeviceImage, risc: usize, l1: [u32; 3], dram: [u32; 2]) {
    for (first, word) in [29, 34, 39, 9, 14].into_iter().zip(l1.into_iter().chain(dram)) {
        set(image, 0, first + risc, &[word]);
    }
}

fn span(first: u32, last: u32) -> Option<ProgramSpan> {
    let [first, last] = [first, last].map(|id| RunHostId::encode(id, 3));
    Some(ProgramSpan { first, last })
}

fn wait_in_l1(image: &mut DeviceImage, risc: usize, words: &[u32]) {
    image.write_l1(core(0), VECTOR + risc as u64 * 2048, words).unwrap();
    set(image, 0, DEVICE_END + risc, &[u32::try_from(words.len()).unwrap()]);
}
