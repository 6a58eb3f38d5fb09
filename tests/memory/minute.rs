//! One launch of a kernel that still runs after a minute, read every 10 ms: every zone is compared
//! with the simulator's truth, and the memory in use does not grow.
//!
//! The minute is simulated time. `KPROF_LIVE_SECONDS` sets another number of seconds; `.ci/full`
//! simulates the minute. In a minute, the low word of a clock wraps 13 times at 1 GHz. In addition,
//! the clocks of three cores are placed so that their low 44, 47 and 48 bits wrap: a marker without
//! streaming has 44 bits of time, the control word of a launch has 47, and a launch cell has 48.

use super::{
    ONE_AT_A_TIME, live_bytes,
    streamed::{LaneRecords, Streamed},
};
use host_reader::{
    ProfilerOptions, ReadOptions,
    capture::{Capture, CaptureWriter, LivePart, MeshRecorder},
    init_device_profiler,
    lane::LaneId,
    mesh::{AccessError, AccessResult, CoreSelection, Device, DeviceDescription, Mesh, Noc0Coord},
    read::Reader,
    readout::Readout,
    stream::LiveReader,
    timeline::Timeline,
};
use sim::{
    arch::TileCoord,
    config::MeshConfig,
    fault::{
        ClockPlacement,
        rules::{Selection, WrapClock},
    },
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{self, Kernel, Launch, Program},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use wire::Risc;

/// Average cycles of a zone. A zone takes half to one and a half times its average, so one zone in
/// eight takes two cells. `PAUSE_CYCLES` are the cycles between two zones.
const ZONE_CYCLES: u32 = 50_000;
const PAUSE_CYCLES: u32 = 50_000;
/// Wormhole: cycles in a microsecond.
const CYCLES_PER_US: u64 = 1_000;
/// Number of zones of the kernel in each lane. They take two minutes, so the kernel does not end
/// during the test.
const ZONES: u32 = 1_200_000;
/// Simulated time between two reads. The rings have room for the records of twice this time.
const PAUSE_NS: u64 = 10_000_000;
/// Clocks that wrap: the number of low bits that wrap, and the numerator and denominator of the
/// fraction of the run after which they wrap. Each entry is applied to one core.
const WRAPS: [(u32, u64, u64); 3] = [(44, 1, 3), (47, 1, 2), (48, 2, 3)];
/// Maximum growth of the memory in use after the first tenth of the run. At times, the batches of
/// two reads wait for the consumer.
const FLAT_BYTES: i64 = 256 << 10;

fn seconds() -> u64 {
    std::env::var("KPROF_LIVE_SECONDS").map_or(6, |text| text.parse().unwrap())
}

/// Returns a mesh on which the kernel is about to begin, and the cores on which it runs.
fn mesh(core_count: usize) -> (SimulatedMesh, Vec<TileCoord>) {
    let config =
        MeshConfig::wormhole(27).with_streaming().with_cell_truth().with_cycle_limit(u64::MAX / 2);
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    let workers = mesh.chip(0).unwrap().workers().map(|place| place.coord);
    let cores: Vec<TileCoord> = workers.take(core_count).collect();
    for (&core, (bits, part, of)) in cores.iter().zip(WRAPS) {
        let at_ns = seconds() * 1_000_000_000 * part / of;
        let placement = ClockPlacement { bits, at_ns };
        mesh.add_rule(WrapClock { selection: Selection::everywhere().core(core), placement });
    }
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("paced").unwrap());
    let program = Arc::new(Program::new("paced").with_kernel_on_all(&kernel));
    let launch = Launch::new(&program, 7).with_args(&[ZONES, ZONE_CYCLES, PAUSE_CYCLES]);
    let chosen = program::CoreSelection::At(cores.clone());
    mesh.enqueue_everywhere(&launch.on(chosen));
    (mesh, cores)
}

/// Returns the lanes of all RISCs of these cores.
fn lanes(cores: &[TileCoord]) -> impl Iterator<Item = LaneId> {
    let riscs = [Risc::Brisc, Risc::Ncrisc, Risc::Trisc0, Risc::Trisc1, Risc::Trisc2];
    let lane = |core: &TileCoord, risc| {
        let core = Noc0Coord { x: core.x, y: core.y };
        LaneId { chip_id: 0, core, risc }
    };
    cores.iter().flat_map(move |core| riscs.map(|risc| lane(core, risc)))
}

/// Returns options for reads of these cores.
fn options(cores: &[TileCoord]) -> ReadOptions {
    let cores = cores.iter().map(|core| Noc0Coord { x: core.x, y: core.y });
    ReadOptions { cores: CoreSelection::at(cores), ..ReadOptions::default() }
}

/// Maximum memory in use during the first tenth of a run and during the whole run, in bytes.
#[derive(Debug, Default)]
struct Peaks {
    first_tenth: i64,
    all: i64,
}

impl Peaks {
    fn note(&mut self, now_ps: u64) {
        let bytes = live_bytes();
        self.all = self.all.max(bytes);
        if now_ps < seconds() * 100_000_000_000 {
            self.first_tenth = self.first_tenth.max(bytes);
        }
    }
}

/// A mesh in which time passes between reads, and the cells that its RISCs have streamed.
struct PacedMesh {
    simulated: SimulatedMesh,
    description: DeviceDescription,
    truth: Arc<Mutex<Followed>>,
    was_read: bool,
}

/// State of the mesh, shared with the thread that consumes the reads.
#[derive(Default)]
struct Followed {
    records: Streamed,
    now_ps: u64,
    failure_count: usize,
}

impl PacedMesh {
    fn new(mut simulated: SimulatedMesh, truth: &Arc<Mutex<Followed>>) -> Self {
        let description = simulated.device(0).unwrap().description().clone();
        Self { simulated, description, truth: Arc::clone(truth), was_read: false }
    }

    /// Accesses the chip. Afterwards, adds all cells that the access may have read to the truth.
    fn access<T>(&mut self, access: impl FnOnce(&mut dyn Device) -> T) -> T {
        let result = access(self.simulated.device(0).unwrap());
        let mut truth = lock(&self.truth);
        truth.records.add(self.simulated.take_cells());
        truth.now_ps = self.simulated.now_ps();
        truth.failure_count = self.simulated.execution_failures().count();
        result
    }
}

fn lock(truth: &Mutex<Followed>) -> MutexGuard<'_, Followed> {
    truth.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mesh for PacedMesh {
    fn device_count(&self) -> usize {
        1
    }

    /// A read calls this function before its accesses, so time passes here between two reads.
    fn device(&mut self, _: usize) -> Option<&mut dyn Device> {
        if std::mem::take(&mut self.was_read) {
            self.simulated.wait_ns(PAUSE_NS);
        }
        Some(self)
    }
}

impl Device for PacedMesh {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        self.was_read = true;
        self.access(|device| device.read_l1(core, address, words))
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        self.access(|device| device.write_l1(core, address, words))
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        self.access(|device| device.read_dram(bank, address, words))
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.access(|device| device.read_wall_clock(core))
    }

    fn host_time_ns(&mut self) -> u64 {
        self.access(|device| device.host_time_ns())
    }
}

/// Returns the minimum number of zones of a lane at the end of the run.
fn zones_at_least() -> u64 {
    let period_us = u64::from(ZONE_CYCLES + PAUSE_CYCLES) / CYCLES_PER_US;
    seconds() * 1_000_000 / period_us * 99 / 100
}

#[test]
fn a_minute_of_one_launch_is_read_live_in_flat_memory() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (simulated, cores) = mesh(WRAPS.len());
    let truth = Arc::new(Mutex::new(Followed::default()));
    let mesh = PacedMesh::new(simulated, &truth);
    let reader = Reader::new(options(&cores));
    let mut live = LiveReader::start(mesh, reader, Duration::ZERO, 2 * 5 * cores.len()).unwrap();
    let mut taken = BTreeMap::new();
    let (mut peaks, mut is_stopped) = (Peaks::default(), false);
    while let Some(read) = live.next() {
        let read = read.unwrap();
        assert!(read.readout.losses.is_empty(), "{:?}", read.readout.losses);
        assert_eq!(read.readout.anomalies.anomaly_count(), 0, "{:?}", read.readout.anomalies);
        let mut truth = lock(&truth);
        for batch in &read.batches {
            assert_eq!(batch.program.map(|program| program.base()), Some(7));
            let expected: &mut LaneRecords = truth.records.lane(batch.lane);
            expected.take(batch).unwrap_or_else(|error| panic!("{}: {error}", batch.lane));
            *taken.entry(batch.lane).or_insert(0) += batch.zones.len() as u64;
        }
        let now_ps = truth.now_ps;
        drop((truth, read));
        peaks.note(now_ps);
        if now_ps > seconds() * 1_000_000_000_000 && !std::mem::replace(&mut is_stopped, true) {
            assert!(live.stop().is_some_and(|mesh| mesh.simulated.has_launches_to_run()));
        }
    }
    let truth = lock(&truth);
    assert_eq!((truth.failure_count, taken.len()), (0, 5 * cores.len()));
    assert!(taken.values().all(|count| *count >= zones_at_least()), "{taken:?}");
    // Cells that were published during the last read are still unread.
    assert!(truth.records.len() < 5 * cores.len() * 8, "{}", truth.records.len());
    let zones: u64 = taken.values().sum();
    println!("{} s, {zones} zones, {peaks:?}", seconds());
    assert!(peaks.all - peaks.first_tenth < FLAT_BYTES, "{peaks:?}");
}

/// Number of zones of a lane, and a hash of their ids, starts and ends. The zones are in the order
/// of their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LaneSum {
    zones: usize,
    hash: u64,
}

impl LaneSum {
    fn add(&mut self, zone: (u16, u64, u64)) {
        let (id, start, end) = zone;
        self.zones += 1;
        for word in [u64::from(id), start, end] {
            // A prime of FNV; a change of any word or of the order changes the hash.
            self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01B3).rotate_left(29);
        }
    }
}

#[test]
fn a_minute_of_one_launch_is_captured_in_flat_memory() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut mesh, cores) = mesh(1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("minute.kprof");
    let writer = CaptureWriter::create(&path).unwrap();
    let mut recorder = MeshRecorder::new(options(&cores), Some(writer)).leaving_streamed_records();
    recorder.open_clocks(&mut mesh);
    let (mut truth, mut peaks) = (Streamed::default(), Peaks::default());
    let mut sums: BTreeMap<LaneId, LaneSum> =
        lanes(&cores).map(|lane| (lane, LaneSum::default())).collect();
    let mut visited = 0;
    loop {
        mesh.wait_ns(PAUSE_NS);
        let is_last = mesh.now_ps() > seconds() * 1_000_000_000_000;
        for (lane, sum) in &mut sums {
            std::mem::take(truth.lane(*lane)).zones().for_each(|zone| sum.add(zone));
        }
        recorder.options_mut().last_read = is_last;
        let visit = |part: LivePart| visited += part.run.readout.record_count();
        recorder.read_live(&mut mesh, visit).unwrap();
        truth.add(mesh.take_cells());
        peaks.note(mesh.now_ps());
        if is_last {
            break;
        }
    }
    assert!(mesh.has_launches_to_run());
    recorder.close_clocks(&mut mesh).unwrap();
    let kept = recorder.finish().unwrap().readout;
    assert_eq!((kept.record_count(), kept.anomalies.anomaly_count()), (0, 0));
    assert!(kept.losses.is_empty(), "{:?}", kept.losses);
    let file_bytes = path.metadata().unwrap().len();
    println!("{} s, {visited} records, {file_bytes} bytes of capture, {peaks:?}", seconds());
    assert!(peaks.all - peaks.first_tenth < FLAT_BYTES, "{peaks:?}");

    let read = Capture::open(&path).unwrap().runs().unwrap().remove(0).readout;
    assert!(read.losses.is_empty() && read.anomalies.anomaly_count() == 0);
    assert_eq!(read.record_count(), visited);
    assert_captured(&read, &sums, truth);
}

/// Compares the zones of a capture with the truth. Zones before the last two reads are compared by
/// their hash, and later zones one by one. The last zones may not have been published at the last
/// read.
fn assert_captured(read: &Readout, sums: &BTreeMap<LaneId, LaneSum>, mut since: Streamed) {
    let timeline = Timeline::from_readout(read);
    assert_eq!(timeline.lanes().count(), sums.len());
    for lane in timeline.lanes() {
        let id = |zone| u16::try_from(read.zones.id(zone)).unwrap();
        let mut zones =
            lane.zones.iter().map(|zone| (id(zone.zone), zone.start_cycle, zone.end_cycle));
        let (mut sum, expected) = (LaneSum::default(), sums[&lane.id]);
        zones.by_ref().take(expected.zones).for_each(|zone| sum.add(zone));
        assert_eq!(sum, expected, "{}", lane.id);
        assert!(sum.zones as u64 >= zones_at_least(), "{}", lane.id);
        let (last, since): (Vec<_>, Vec<_>) =
            (zones.collect(), since.lane(lane.id).zones().collect());
        assert!(since.starts_with(&last) && since.len() < last.len() + 8, "{}", lane.id);
    }
}
