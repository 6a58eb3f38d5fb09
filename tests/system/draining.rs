//! Tests of the rate at which the host and relays can drain rings, and of the slowdown of kernels
//! by these drains.
//!
//! `KPROF_RELAY_ZONES` and `KPROF_HOST_ZONES` set the number of zones on each of 320 lanes;
//! `.ci/full` uses a million. `KPROF_JITTER_COUNT` sets the number of random runs in which
//! durations are compared.

use crate::streamed::Streamed;
use host_reader::{
    ProfilerOptions, ReadOptions, init_device_profiler,
    lane::LaneId,
    ledger::LossCause,
    mesh::{CoreSelection as ReadCores, Noc0Coord},
    read::Reader,
    stream::Batch,
};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    host::HostTiming,
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
    random::Stream,
};
use std::{collections::BTreeMap, sync::Arc};
use tests::sizes::is_full;
use wire::{Risc, RunHostId, stream::Policy};

/// Number of lanes of 64 cores.
const LANES: usize = 320;

/// Size of the ring of each of the four gatherers, in bytes.
const RING_BYTES: u32 = 1 << 22;

/// Number of reads of L1 in a zone. With this number, a zone starts at most 120 cycles after the
/// start of the zone before it, on average over the RISCs of a core: see [`Period`].
const ZONE_READS: u32 = 1;

/// Cycles from the start of a zone to the start of the next one with [`ZONE_READS`].
struct Period;

impl Period {
    const MEAN_MAX: u64 = 120;

    /// The instruction cache of T1 is a quarter as large as those of other RISCs, and keeps less of the
    /// code that ends a chunk of eight zones.
    fn bounds(risc: Risc) -> std::ops::RangeInclusive<u64> {
        match risc {
            Risc::Trisc1 => 120..=140,
            _ => 95..=110,
        }
    }
}

/// A host that reads 200 GB/s, because this test measures the relays. The relays write 24 GB/s. A
/// host on PCIe would read only 1.6 GB/s, and the other records would wait in DRAM.
const FAST_HOST: HostTiming = HostTiming {
    read_latency_ps: 100_000,
    write_latency_ps: 50_000,
    word_ps: 20,
    jitter_ps: 10_000,
    ..HostTiming::PCIE
};

/// Returns an initialised mesh with streaming, relays and the truth of cells.
fn zones_mesh(relays: u32, host: HostTiming, stream_policy: Policy) -> SimulatedMesh {
    // A chip with only 64 cores has no spare core for a relay.
    let config = MeshConfig::new(9)
        .with_chip(ChipConfig::new(Arch::WormholeB0).with_worker_core_count(72))
        .with_streaming()
        .with_relays(relays)
        .with_relay_ring_bytes(RING_BYTES)
        .with_cycle_limit(u64::MAX / 2)
        .with_host(host)
        .with_cell_truth();
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    let options = ProfilerOptions { stream_policy, ..ProfilerOptions::default() };
    init_device_profiler(&mut mesh, &options).unwrap();
    mesh
}

/// Returns a launch of zones on all RISCs of the first cores. Each zone contains `zone_reads` reads
/// of L1.
fn zones_launch(mesh: &SimulatedMesh, cores: usize, (zones, zone_reads): (u32, u32)) -> Launch {
    let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("reads").unwrap());
    let program = Arc::new(Program::new("zones").with_kernel_on_all(&kernel));
    let workers = mesh.chip(0).unwrap().workers().map(|place| place.coord).take(cores);
    let chosen = CoreSelection::At(workers.collect());
    Launch::new(&program, 7).with_args(&[zones, zone_reads, 0]).on(chosen)
}

/// Returns the selection of the first cores for a reader.
fn read_cores(mesh: &SimulatedMesh, cores: usize) -> ReadCores {
    let workers = mesh.chip(0).unwrap().workers().map(|place| place.coord).take(cores);
    ReadCores::at(workers.map(|core| Noc0Coord { x: core.x, y: core.y }))
}

/// The kernel's zones that have been read in one lane. Starts are in cycles.
#[derive(Clone, Copy, Default)]
struct LaneZones {
    count: u64,
    first_start: u64,
    /// Start of the first zone of the second half.
    half_start: u64,
    last_start: u64,
}

/// Comparison of batches with the truth, record by record. Compared records are dropped.
#[derive(Default)]
struct Comparison {
    truth: Streamed,
    lanes: BTreeMap<LaneId, LaneZones>,
    /// Number of zones in the first half of a lane.
    half: u64,
    most_waiting: usize,
}

impl Comparison {
    /// Reads once, and compares the batches of this read.
    fn read(&mut self, reader: &mut Reader, mesh: &mut SimulatedMesh, zone: u16) {
        let read = reader.read_live(mesh).unwrap();
        let full = read.readout.losses.by_cause(LossCause::RingFull);
        assert!(read.readout.losses.is_empty(), "{full:?}");
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
            if lane.count == self.half {
                lane.half_start = start;
            }
            (lane.count, lane.last_start) = (lane.count + 1, start);
        }
    }
}

/// Returns the id of the zones of the kernel `reads`: the documented hash of their text.
fn zone_id(mesh: &SimulatedMesh) -> u16 {
    let texts = mesh.zone_texts();
    let text = texts.iter().find(|text| text.starts_with("READS,")).unwrap();
    wire::ZoneId::from_text(text).0
}

#[test]
fn two_relays_keep_up_with_a_zone_every_120_cycles_on_320_lanes() {
    let zones = std::env::var("KPROF_RELAY_ZONES").map_or(1_500, |count| count.parse().unwrap());
    let mut mesh = zones_mesh(2, FAST_HOST, Policy::DropNewest);
    let launch = zones_launch(&mesh, 64, (zones, ZONE_READS));
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
    let Comparison { truth, lanes, most_waiting, .. } = comparison;
    assert_eq!(truth.len(), 0, "records that were not read");
    assert_eq!(lanes.len(), LANES);
    let mut sum = 0;
    for (lane, read) in &lanes {
        assert_eq!(read.count, u64::from(zones), "{lane}");
        let period = (read.last_start - read.first_start) / (read.count - 1);
        assert!(
            Period::bounds(lane.risc).contains(&period),
            "{lane}: a zone every {period} cycles"
        );
        sum += period;
    }
    let mean = sum.div_ceil(LANES as u64);
    assert!(mean <= Period::MEAN_MAX, "a zone every {mean} cycles");
    // Unread records are in the rings in DRAM and in L1, and in frames in flight.
    let most = 4 * RING_BYTES as usize / 8 + LANES * 2 * 256;
    assert!(most_waiting < most, "{most_waiting} of {most} records");
    let zones = u64::from(zones) * LANES as u64;
    eprintln!(
        "{zones} zones, one every {mean} cycles on average, at most {most_waiting} records at once"
    );
}

/// Number of reads of L1 in a zone. With this number, a zone starts at most 800 cycles after the
/// start of the zone before it.
const SLOW_ZONE_READS: u32 = 50;

/// Number of zones of each lane in a first launch, which is not measured. They fit into a ring.
const FIRST_ZONES: u32 = 100;

/// Policy that makes a RISC wait until the host has read the RISC's ring.
///
/// In the model, the host is sometimes interrupted for up to 20 us. If several interruptions follow
/// each other, a ring has too little room.
const WAIT: Policy = Policy::Block { cycles_log2: 20 };

#[test]
fn a_host_without_relays_keeps_up_with_a_zone_every_800_cycles_on_320_lanes() {
    let zones = std::env::var("KPROF_HOST_ZONES").map_or(900, |count| count.parse().unwrap());
    let mut mesh = zones_mesh(0, HostTiming::PCIE_DMA, WAIT);
    let launch = zones_launch(&mesh, 64, (zones, SLOW_ZONE_READS));
    let zone = zone_id(&mesh);
    let options = ReadOptions { cores: read_cores(&mesh, 64), ..ReadOptions::default() };
    let mut reader = Reader::new(options);
    let half = u64::from(FIRST_ZONES + zones / 2);
    let mut comparison = Comparison { half, ..Comparison::default() };
    // Cores stream from their first launch on. After this launch, the reader has to read each clock
    // once.
    mesh.enqueue_everywhere(&zones_launch(&mesh, 64, (FIRST_ZONES, SLOW_ZONE_READS)));
    mesh.run_to_completion();
    for _ in 0..2 {
        comparison.read(&mut reader, &mut mesh, zone);
    }
    mesh.enqueue_everywhere(&launch);
    let (begin_ps, mut reads) = (mesh.now_ps(), 0);
    while mesh.has_launches_to_run() {
        comparison.read(&mut reader, &mut mesh, zone);
        reads += 1;
    }
    let read_us = (mesh.now_ps() - begin_ps) / 1_000_000 / reads;
    mesh.run_to_completion();
    reader.options_mut().last_read = true;
    comparison.read(&mut reader, &mut mesh, zone);
    assert_eq!(mesh.execution_failures().count(), 0);
    let Comparison { truth, lanes, most_waiting, .. } = comparison;
    assert_eq!(truth.len(), 0, "records that were not read");
    assert_eq!(lanes.len(), LANES);
    let mut longest = 0;
    for (lane, read) in &lanes {
        assert_eq!(read.count, u64::from(FIRST_ZONES + zones), "{lane}");
        // When the launch begins, a RISC may wait, because the read in progress finds no cells.
        let period = (read.last_start - read.half_start) / (read.count - half - 1);
        assert!((700..=800).contains(&period), "{lane}: a zone every {period} cycles");
        longest = longest.max(period);
    }
    let zones = u64::from(zones) * LANES as u64;
    eprintln!(
        "{zones} zones, one every {longest} cycles at most, {reads} reads of {read_us} us, at most \
         {most_waiting} records at once"
    );
}

/// Kernels of launches. All records of a launch fit into the rings, so none is lost without a
/// drain.
const KERNELS: [&str; 3] = ["reads", "steps", "numbers"];

/// RISCs of a Tensix core.
const RISCS: [Risc; 5] = [Risc::Brisc, Risc::Ncrisc, Risc::Trisc0, Risc::Trisc1, Risc::Trisc2];

/// Readers of the rings while kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Drains {
    relays: u32,
    /// Simulated time between two reads of the host; `None` if the host does not read while kernels
    /// run.
    host_pause_ns: Option<u64>,
    /// Simulated time before the first launch.
    delay_ns: u64,
}

/// Launches that are run with each kind of drain.
#[derive(Clone, Copy, Debug)]
struct Jitter {
    arch: Arch,
    seed: u64,
    cores: usize,
}

impl Jitter {
    fn random(seed: u64) -> Self {
        let mut random = Stream::new(seed, &[0x4A_0001]);
        let mut pick = |count: u64| usize::try_from(random.below(count)).unwrap();
        Self { arch: Arch::ALL[pick(2)], seed, cores: [2, 4, 16][pick(3)] }
    }

    fn launches(self, mesh: &SimulatedMesh) -> Vec<Launch> {
        let mut random = Stream::new(self.seed, &[0x4A_0002]);
        let workers = mesh.chip(0).unwrap().workers().map(|place| place.coord).take(self.cores);
        let chosen = CoreSelection::At(workers.collect());
        let launch = |id| {
            let mut program = Program::new("jitter");
            for risc in RISCS {
                let name = KERNELS[usize::try_from(random.below(3)).unwrap()];
                program = program.with_kernel(risc, Arc::new(ObjectKernel::named(name).unwrap()));
            }
            let reads = [2, 10, 100, 1000][usize::try_from(random.below(4)).unwrap()];
            let launch = Launch::new(&Arc::new(program), id);
            launch.with_args(&[60, reads, 0]).on(chosen.clone())
        };
        (1..=4).map(launch).collect()
    }

    /// Runs the launches one after the other; returns the durations of zones and of whole kernels.
    fn run(self, drains: Drains) -> (Vec<(LaneId, u16, u64)>, Vec<u64>) {
        let chip = ChipConfig::new(self.arch);
        let config = MeshConfig::new(self.seed)
            .with_chip(chip)
            .with_streaming()
            .with_relays(drains.relays)
            .with_cell_truth()
            .with_exact_turns();
        let mut mesh = SimulatedMesh::new(&config).unwrap();
        init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
        let mut reader = Reader::new(ReadOptions::default());
        let mut streamed = Streamed::default();
        mesh.wait_ns(drains.delay_ns);
        for launch in self.launches(&mesh) {
            mesh.enqueue_everywhere(&launch);
            while let Some(pause_ns) = drains.host_pause_ns.filter(|_| mesh.has_launches_to_run()) {
                mesh.wait_ns(pause_ns);
                reader.read_live(&mut mesh).unwrap();
            }
            mesh.run_to_completion();
            // After this wait, the rings are empty when the next launch begins.
            mesh.wait_ns(50_000);
            let read = reader.read_live(&mut mesh).unwrap();
            assert!(read.readout.losses.is_empty(), "{self:?}, {drains:?}");
            streamed.add(mesh.take_cells());
        }
        assert_eq!(mesh.execution_failures().count(), 0, "{self:?}");
        let zones = streamed.into_records().into_iter().flat_map(|(lane, records)| {
            records.durations().map(|(id, cycles)| (lane, id, cycles)).collect::<Vec<_>>()
        });
        let launches = mesh.truth().launches.into_values().flatten();
        let kernels = launches.filter_map(|launch| launch.kernel);
        (zones.collect(), kernels.map(|times| times.end.0 - times.start.0).collect())
    }
}

/// Returns the relative differences of paired durations, in order of size.
fn differences(pairs: &Pairs) -> Vec<f64> {
    let share = |(alone, drained): &(u64, u64)| alone.abs_diff(*drained) as f64 / *alone as f64;
    let mut shares: Vec<f64> = pairs.iter().map(share).collect();
    shares.sort_by(f64::total_cmp);
    shares
}

/// No drain while kernels run.
const ALONE: Drains = Drains { relays: 0, host_pause_ns: None, delay_ns: 0 };

/// No drain, but a later start of the launches. Relays delay the start too, so this case shows the
/// effect of the delay alone.
const LATER: Drains = Drains { delay_ns: 100_037, ..ALONE };

/// The kinds of drain for which the cost is measured.
const DRAINS: [Drains; 4] = [
    Drains { relays: 1, ..ALONE },
    Drains { relays: 4, ..ALONE },
    Drains { host_pause_ns: Some(20_000), ..ALONE },
    Drains { relays: 2, host_pause_ns: Some(20_000), ..ALONE },
];

/// Maximum change of duration by a drain, in percent, for 95 of 100 zones and kernels.
///
/// A drain delays a load or store by a cycle if it reads the same bank of L1 in that cycle. Such a
/// delay also shifts the RISCs of the core against each other, so that they meet at other times at
/// their shared port. In a model without such delays, 95 % of the durations do not change at all,
/// with any drain. The bound therefore only has to cover these delays.
const JITTER_PERCENT: f64 = 0.21;

/// Durations in cycles: each without a drain, and the same duration with a drain.
type Pairs = Vec<(u64, u64)>;

/// Prints the figures of paired durations. Returns the relative difference in percent that 95 of
/// 100 pairs do not exceed.
fn p95_percent(drains: Drains, what: &str, pairs: &Pairs) -> f64 {
    let shares = differences(pairs);
    let at = |percent: usize| shares[(shares.len() - 1) * percent / 100];
    let sum = |side: fn(&(u64, u64)) -> u64| pairs.iter().map(side).sum::<u64>() as f64;
    let change = sum(|pair| pair.1) / sum(|pair| pair.0) - 1.0;
    let [median, p95, p99, most, change] =
        [at(50), at(95), at(99), at(100), change].map(|share| share * 100.0);
    eprintln!(
        "{drains:?}: {} {what}: median {median:.4} %, p95 {p95:.4} %, p99 {p99:.4} %, most {most:.4} %; \
         all together {change:+.5} %",
        pairs.len(),
    );
    p95
}

#[test]
fn draining_hardly_changes_how_long_zones_and_kernels_take() {
    let fresh = tests::seed::fresh();
    let count = std::env::var("KPROF_JITTER_COUNT").map_or(1, |count| count.parse().unwrap());
    eprintln!("{count} fresh seeds from {fresh} on");
    let mut found: [(Pairs, Pairs); DRAINS.len() + 1] = Default::default();
    // The figures of later launches are only printed, so a plain run leaves them out.
    let later = is_full().then_some(LATER);
    let all = || DRAINS.into_iter().chain(later);
    // Fixed seeds: as many as fresh seeds, but at most three.
    for seed in (0..count.min(3)).chain(fresh..fresh + count) {
        let case = Jitter::random(seed);
        let (zones_alone, kernels_alone) = case.run(ALONE);
        for (drains, (zones, kernels)) in all().zip(&mut found) {
            let (zones_drained, kernels_drained) = case.run(drains);
            assert_eq!(zones_alone.len(), zones_drained.len(), "{case:?}, {drains:?}");
            for (alone, drained) in zones_alone.iter().zip(&zones_drained) {
                assert_eq!((alone.0, alone.1), (drained.0, drained.1), "{case:?}, {drains:?}");
                zones.push((alone.2, drained.2));
            }
            assert_eq!(kernels_alone.len(), kernels_drained.len(), "{case:?}, {drains:?}");
            kernels.extend(kernels_alone.iter().copied().zip(kernels_drained));
        }
    }
    let figures = all().zip(&found).map(|(drains, (zones, kernels))| {
        (p95_percent(drains, "zones", zones), p95_percent(drains, "kernels", kernels))
    });
    let figures: Vec<_> = figures.collect();
    for (zones, kernels) in &figures[..DRAINS.len()] {
        assert!(*zones <= JITTER_PERCENT && *kernels <= JITTER_PERCENT, "{zones} %, {kernels} %");
    }
}
