//! Tests of memory use over many reads, as counted by the allocator.
//!
//! They are a separate program, because the allocations of other tests would be counted too. For
//! the same reason, the tests in this program do not run at the same time.
//!
//! `KPROF_LIVE_ZONES` sets how many zones of never-ending launches are read live; `.ci/full` reads
//! a billion. `KPROF_LIVE_SECONDS` sets the simulated duration of one launch; `.ci/full` simulates
//! a minute.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod live;
mod minute;
#[path = "../system/streamed.rs"]
#[allow(dead_code, reason = "the system tests use all of it")]
mod streamed;

use host_reader::{
    ProfilerOptions, ReadOptions, init_device_profiler,
    mesh::{Device, DeviceDescription, DeviceImage, DramDescription, MeshImage, Noc0Coord},
    read::Reader,
    readout::Readout,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::{
    alloc::System,
    sync::{Mutex, PoisonError},
};
use tests::launch::{self, CONTROL_ADDRESS};
use wire::{control::ext, run::IdPacking};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Lock held by the test that is running.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const CORES: u32 = 4;
const REGION: u64 = 0x1000;
const ZONES: u32 = 125;
const RUNS: u32 = 2;
const READS: u32 = 1_000;
/// Number of reads before memory is measured. By then, all buffers have reached their final size.
const WARM_UP: u32 = 20;

fn place(flat_id: u32) -> Noc0Coord {
    Noc0Coord { x: 1, y: 1 + u16::try_from(flat_id).unwrap() }
}

fn mesh() -> MeshImage {
    let core = |flat_id| launch::tensix(flat_id, place(flat_id));
    let chip = DeviceDescription {
        chip_id: 0,
        arch: "wormhole_b0".into(),
        aiclk_mhz: 1000,
        max_compute_cores: CORES,
        cores: (0..CORES).map(core).collect(),
        dram: DramDescription { bank_count: 1, region_address: REGION, region_bytes: 1 << 22 },
    };
    let mut mesh = MeshImage { devices: vec![DeviceImage::new(chip)] };
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    mesh.devices[0].set_wall_clock(1 << 40);
    mesh
}

/// Builds the words that one launch leaves on one RISC. Every hundredth zone has data.
fn run(flat_id: u32, risc: u32, launch: u32) -> Vec<u32> {
    let mut words = Vec::new();
    launch::push_launch(&mut words, ZONES, [flat_id, risc], launch);
    words.extend([0xB000_9001, launch * 100_000 + 88_000, 1, launch]);
    words
}

/// Makes every RISC push some runs into its lane, from the start of the lane on.
fn push(mesh: &mut MeshImage, number: u32) {
    for lane in 0..CORES * 5 {
        let (flat_id, risc) = (lane / 5, lane % 5);
        let run_of_read = |index| {
            let mut words = run(flat_id, risc, number * RUNS + index);
            words[2] |= IdPacking::RISC5.generation_field(number);
            words
        };
        let words: Vec<u32> = (0..RUNS).flat_map(run_of_read).collect();
        let address = REGION + u64::from(lane) * 48_000;
        let device = &mut mesh.devices[0];
        device.write_dram(0, address, &words).unwrap();
        let mut control = |index: usize, word| {
            device.write_l1(place(flat_id), CONTROL_ADDRESS + index as u64 * 4, &[word]).unwrap();
        };
        control(ext::SIGNATURE, ext::SIGNATURE_VALUE);
        control(ext::GENERATION, number);
        control(ext::CONSUMED + risc as usize, 0);
        control(risc as usize, u32::try_from(words.len()).unwrap());
    }
}

/// Growth of the memory in use during a thousand reads.
#[derive(Debug)]
struct Growth {
    /// Bytes in use after the warm-up, and at the end.
    live_bytes: [i64; 2],
}

impl Growth {
    const fn grown_bytes(&self) -> i64 {
        self.live_bytes[1] - self.live_bytes[0]
    }
}

fn live_bytes() -> i64 {
    let stats = ALLOCATOR.stats();
    i64::try_from(stats.bytes_allocated).unwrap() - i64::try_from(stats.bytes_deallocated).unwrap()
}

/// Reads a mesh a thousand times. Each readout is passed to `keep`, which keeps or drops it.
fn read_a_thousand_times(mut keep: impl FnMut(Readout)) -> Growth {
    let mut mesh = mesh();
    let mut reader = Reader::new(ReadOptions::default());
    let mut growth = Growth { live_bytes: [0; 2] };
    for number in 0..READS {
        push(&mut mesh, number % 40_000);
        let read = reader.read(&mut mesh).unwrap();
        assert_eq!(read.record_count(), (CORES * 5 * RUNS * (ZONES * 2 + 5)) as usize);
        keep(read);
        if number + 1 == WARM_UP {
            growth.live_bytes[0] = live_bytes();
        }
    }
    growth.live_bytes[1] = live_bytes();
    growth
}

/// Maximum growth of memory over a thousand reads, in bytes.
const FLAT_BYTES: i64 = 16 << 10;

#[test]
fn memory_stays_flat_over_a_thousand_reads_and_the_check_sees_leaks() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let flat = read_a_thousand_times(drop);
    assert!(flat.grown_bytes() < FLAT_BYTES, "{flat:?}");

    // This consumer keeps one lane of each read: the smallest leak that the test must detect.
    let mut kept = Vec::new();
    let leaking = read_a_thousand_times(|mut read| kept.push(read.devices[0].lanes.pop()));
    assert!(leaking.grown_bytes() > 100 * FLAT_BYTES, "{leaking:?}");
    println!("dropped: {flat:?}\nkept: {leaking:?}");
}
