//! Wall-clock time of a capture: writing it during reads of a mesh, opening it, decoding it.
//!
//! The chip has 64 cores with 5 RISCs each. Each launch records a firmware zone, a kernel zone and
//! 125 user zones. 23 launches are 1.87 million markers (15 MB), 200 launches are 16.3 million (131
//! MB).

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use host_reader::{
    ProfilerOptions, ReadOptions,
    capture::{Capture, CaptureWriter, MeshRecorder, SyncPolicy},
    init_device_profiler,
    mesh::{Device, DeviceDescription, DeviceImage, DramDescription, MeshImage, Noc0Coord},
    read::Reader,
};
use std::{hint::black_box, path::Path, time::Duration};
use tests::launch::{self, CONTROL_ADDRESS};
use wire::control::ext;

const CORES: u32 = 64;
const BANKS: u32 = 8;
const RISCS: u32 = 5;
const ZONES: u32 = 125;
const RUN_WORDS: u32 = 12 + ZONES * 4;
const REGION: u64 = 0x1000;

/// Returns a program support count (the number that determines the size of a lane) for which a lane
/// holds `launches` launches.
const fn support_count(launches: u32) -> u32 {
    (launches * RUN_WORDS).div_ceil(12) + 1
}

fn place(flat_id: u32) -> Noc0Coord {
    let [x, y] = [flat_id / 8, flat_id % 8].map(|index| u16::try_from(index).unwrap_or(0));
    Noc0Coord { x: x + 1, y: y + 1 }
}

/// Makes a chip on which every RISC has pushed the given number of launches.
fn mesh(launches: u32) -> MeshImage {
    let core = |flat_id| launch::tensix(flat_id, place(flat_id));
    let mut chip = DeviceDescription {
        chip_id: 0,
        arch: "wormhole_b0".into(),
        aiclk_mhz: 1000,
        max_compute_cores: CORES,
        cores: (0..CORES).map(core).collect(),
        dram: DramDescription { bank_count: BANKS, region_address: REGION, region_bytes: 0 },
    };
    let program_support_count = support_count(launches);
    let geometry = chip.geometry(program_support_count, false).expect("a layout that exists");
    chip.dram.region_bytes = geometry.bank_bytes().into();
    let mut mesh = MeshImage { devices: vec![DeviceImage::new(chip)] };
    let options = ProfilerOptions { program_support_count, ..ProfilerOptions::default() };
    init_device_profiler(&mut mesh, &options).expect("a mesh that can be prepared");
    let device = &mut mesh.devices[0];
    let mut words = Vec::new();
    for (flat_id, risc) in (0..CORES).flat_map(|core| (0..RISCS).map(move |risc| (core, risc))) {
        words.clear();
        for number in 0..launches {
            launch::push_launch(&mut words, ZONES, [flat_id, risc], number);
        }
        let lane = geometry.lane(flat_id, risc);
        let address = REGION + u64::from(lane.offset_bytes);
        device.write_dram(lane.bank, address, &words).expect("words that fit their lane");
        let control = [
            (u64::from(risc), launches * RUN_WORDS),
            (ext::SIGNATURE as u64, ext::SIGNATURE_VALUE),
        ];
        for (index, word) in control {
            let written = device.write_l1(place(flat_id), CONTROL_ADDRESS + index * 4, &[word]);
            written.expect("a core that exists");
        }
    }
    device.set_wall_clock(1 << 33);
    mesh
}

fn options(launches: u32) -> ReadOptions {
    ReadOptions { program_support_count: support_count(launches), ..ReadOptions::default() }
}

/// Reads a mesh into a capture and returns the number of records.
fn capture(mut mesh: MeshImage, launches: u32, path: &Path) -> usize {
    let writer = CaptureWriter::create(path).expect("a path that is free");
    let writer = writer.with_sync(SyncPolicy::Never);
    let mut recorder = MeshRecorder::new(options(launches), Some(writer));
    recorder.read(&mut mesh).expect("a mesh that can be read and a disk with room");
    recorder.readout().record_count()
}

fn captures(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a place for temporary files");
    let mut group = criterion.benchmark_group("capture");
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    for launches in [23, 200] {
        let path = folder.path().join(format!("{launches}.kprof"));
        let prepared = mesh(launches);
        let markers = u64::from(CORES * RISCS * launches * (ZONES * 2 + 4));
        assert_eq!(capture(prepared.clone(), launches, &path) as u64, markers);
        group.throughput(Throughput::Elements(markers));
        group.bench_function(BenchmarkId::new("open", launches), |bencher| {
            bencher.iter(|| black_box(Capture::open(&path).expect("a capture")));
        });
        group.bench_function(BenchmarkId::new("open and decode", launches), |bencher| {
            bencher.iter(|| {
                let capture = Capture::open(&path).expect("a capture");
                let runs = capture.runs().expect("a read");
                black_box(runs)
            });
        });
        group.bench_function(BenchmarkId::new("read a mesh", launches), |bencher| {
            bencher.iter_with_large_drop(|| {
                let mut mesh = prepared.clone();
                Reader::new(options(launches)).read(&mut mesh).expect("a mesh")
            });
        });
        let copy = folder.path().join("copy.kprof");
        group.bench_function(BenchmarkId::new("read a mesh and capture", launches), |bencher| {
            bencher.iter_with_large_drop(|| {
                let count = capture(prepared.clone(), launches, &copy);
                std::fs::remove_file(&copy).expect("the copy");
                count
            });
        });
    }
    group.finish();
}

criterion_group!(benches, captures);
criterion_main!(benches);
