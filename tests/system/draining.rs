//! What drains keep up with, and what they cost the kernels whose cores they read.
//!
//! `KPROF_RELAY_ZONES` sets the zones of each of 320 lanes; `.ci/full` streams a million.

use crate::{streamed::Streamed, support::has_object_code};
use host_reader::{
    ProfilerOptions, ReadOptions, init_device_profiler, lane::LaneId, read::Reader, stream::Batch,
};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    host::HostTiming,
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
};
use std::{collections::BTreeMap, sync::Arc};
use wire::RunHostId;

/// Lanes of 64 cores.
const LANES: usize = 320;

/// Bytes of the ring of each of four gatherers.
const RING_BYTES: u32 = 1 << 22;

/// Reads of L1 in a zone, so that the next zone begins 110 cycles later at most.
const ZONE_READS: u32 = 2;

/// A host that reads 200 GB/s, since this test is about the relays: they write 24 GB/s, of which a host
/// on PCIe reads 1.6 GB/s while the rest waits in DRAM.
const FAST_HOST: HostTiming = HostTiming {
    read_latency_ps: 100_000,
    write_latency_ps: 50_000,
    word_ps: 20,
    jitter_ps: 10_000,
    ..HostTiming::PCIE
};

/// Returns a mesh on which the cores record zones one after the other, and the launch.
fn zones_mesh(relays: u32, host: HostTiming) -> SimulatedMesh {
    // A chip with 64 cores has no spare one.
    let config = MeshConfig::new(9)
        .with_chip(ChipConfig::new(Arch::WormholeB0).with_worker_core_count(72))
        .with_streaming()
        .with_relays(relays)
        .with_relay_ring_bytes(RING_BYTES)
        .with_cycle_budget(u64::MAX / 2)
        .with_host(host)
        .with_cell_truth();
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    mesh
}

/// Returns a launch of zones on all RISCs of the first cores.
fn zones_launch(mesh: &SimulatedMesh, cores: usize, zones: u32) -> Launch {
    let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("reads").unwrap());
    let program = Arc::new(Program::new("zones").with_kernel_on_all(&kernel));
    let workers = mesh.chip(0).unwrap().workers().map(|place| place.coord).take(cores);
    let chosen = CoreSelection::At(workers.collect());
    Launch::new(&program, 7).with_args(&[zones, ZONE_READS, 0]).on(chosen)
}

/// The zones of the kernel in one lane, of those that have been read.
#[derive(Clone, Copy, Default)]
struct LaneZones {
    count: u64,
    first_start: u64,
    last_start: u64,
}

/// A comparison of batches with the truth, record by record. Both are dropped when they were compared.
#[derive(Default)]
struct Comparison {
    truth: Streamed,
    lanes: BTreeMap<LaneId, LaneZones>,
    most_waiting: usize,
}

impl Comparison {
    /// Reads once, and compares what was read.
    fn read(&mut self, reader: &mut Reader, mesh: &mut SimulatedMesh, zone: u16) {
        let read = reader.read_live(mesh).unwrap();
        assert!(read.readout.losses.is_empty(), "{:?}", read.readout.losses);
        let anomalies = &read.readout.anomalies;
        assert_eq!(anomalies.anomaly_count(), 0, "{:?}", anomalies.kept());
        self.truth.add(mesh.take_cells());
        self.most_waiting = self.most_waiting.max(self.truth.len());
        read.batches.iter().for_each(|batch| self.compare(batch, zone));
    }

    fn compare(&mut self, batch: &Batch, zone: u16) {
        assert_eq!(batch.program, Some(RunHostId::encode(7, 0)));
        if let Err(other) = self.truth.lane(batch.lane).take(batch) {
            panic!("{}: {other}", batch.lane);
        }
        let lane = self.lanes.entry(batch.lane).or_default();
        let zones = batch.zones.ids.iter().zip(&batch.zones.starts);
        for (_, &start) in zones.filter(|(id, _)| id.0 == zone) {
            if lane.count == 0 {
                lane.first_start = start;
            }
            (lane.count, lane.last_start) = (lane.count + 1, start);
        }
    }
}

/// Returns the id of the zones of the kernel `reads`, by the documented hash of the text.
fn zone_id(mesh: &SimulatedMesh) -> u16 {
    let texts = mesh.zone_texts();
    let text = texts.iter().find(|text| text.starts_with("READS,")).unwrap();
    wire::ZoneId::from_text(text).0
}

#[test]
fn two_relays_keep_up_with_a_zone_every_110_cycles_on_320_lanes() {
    if !has_object_code() {
        return;
    }
    let zones = std::env::var("KPROF_RELAY_ZONES").map_or(1_500, |count| count.parse().unwrap());
    let mut mesh = zones_mesh(2, FAST_HOST);
    let launch = zones_launch(&mesh, 64, zones);
    let zone = zone_id(&mesh);
    mesh.enqueue_everywhere(&launch);
    let (mut reader, mut comparison) = (Reader::new(ReadOptions::default()), Comparison::default());
    while mesh.has_launches_to_run() {
        mesh.wait_ns(50_000);
        comparison.read(&mut reader, &mut mesh, zone);
    }
    mesh.run_to_completion();
    reader.options_mut().last_read = true;
    comparison.read(&mut reader, &mut mesh, zone);
    assert_eq!(mesh.execution_failures().count(), 0);
    let Comparison { truth, lanes, most_waiting } = comparison;
    assert_eq!(truth.len(), 0, "records that were not read");
    assert_eq!(lanes.len(), LANES);
    for (lane, read) in &lanes {
        assert_eq!(read.count, u64::from(zones), "{lane}");
        let period = (read.last_start - read.first_start) / (read.count - 1);
        assert!((90..=110).contains(&period), "{lane}: a zone every {period} cycles");
    }
    // What waits at a read is in the rings of DRAM and of L1, and in frames on their way.
    let most = 4 * RING_BYTES as usize / 8 + LANES * 2 * 256;
    assert!(most_waiting < most, "{most_waiting} of {most} records");
    let zones = u64::from(zones) * LANES as u64;
    eprintln!("{zones} zones, at most {most_waiting} records at once");
}
