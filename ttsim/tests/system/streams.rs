//! Tests of streaming: under every policy, both simulators have the same cells in their rings, the
//! same control words and the same losses.
//!
//! Both simulators have the same records if a host drains the rings while kernels run.
//!
//! Times are instruction counts on ttsim, so times and cycles are not compared. In the tests of
//! rings, the zones of scripts are shorter than 2^16 cycles on both simulators, except zones of
//! [`LONG_CYCLES`], because a longer zone takes another cell.

use crate::{
    accounting::{WAIT_FOR_HOST_ZONE, assert_honest},
    cells::{Numbered, RING, Record, assert_same_cells, decode},
    support::{assert_same, assert_same_beside, child, config, initialise, libraries, start},
};
use host_reader::{
    ProfilerOptions, ReadOptions, init_device_profiler,
    ledger::LossCause,
    mesh::{Mesh, Noc0Coord},
    names::ZoneTable,
    read::Reader,
    readout::Readout,
    timeline::Timeline,
};
use sim::{
    arch::{Arch, TileCoord},
    config::MeshConfig,
    kernel::{
        ObjectKernel,
        script::{Script, ScriptShape, Step},
    },
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
    random::Stream,
};
use std::{path::Path, sync::Arc};
use ttsim::TtsimMesh;
use wire::{CoreKind, Risc, risc::RISCS_PER_CORE, stream::Policy};

/// Cycles of a zone that takes two cells on every simulator.
const LONG_CYCLES: u32 = 70_000;

fn cores() -> Vec<TileCoord> {
    [(1, 2), (4, 5)].map(|(x, y)| TileCoord { x, y }).to_vec()
}

fn riscs() -> impl Iterator<Item = Risc> {
    (0..RISCS_PER_CORE).filter_map(|index| CoreKind::Tensix.risc(index))
}

fn noc0(core: TileCoord) -> Noc0Coord {
    Noc0Coord { x: core.x, y: core.y }
}

/// Returns the configuration of a chip that streams.
pub(crate) fn streaming(arch: Arch, seed: u64) -> MeshConfig {
    config(arch, seed).with_streaming()
}

/// Prepares the profiler of a mesh for a policy.
pub(crate) fn prepare(mesh: &mut dyn Mesh, policy: Policy) {
    let options = ProfilerOptions { stream_policy: policy, ..ProfilerOptions::default() };
    init_device_profiler(mesh, &options).unwrap();
}

pub(crate) fn start_ttsim(config: &MeshConfig, library: &Path, policy: Policy) -> TtsimMesh {
    let mut mesh = TtsimMesh::start(config, child(), library).unwrap();
    prepare(&mut mesh, policy);
    mesh
}

pub(crate) fn start_ours(config: &MeshConfig, policy: Policy) -> SimulatedMesh {
    let mut mesh = SimulatedMesh::new(config).unwrap();
    prepare(&mut mesh, policy);
    mesh
}

/// Returns launches with a random script on each RISC of the cores. Every fifth launch runs no
/// kernel, and every third launch begins a replay of a trace.
pub(crate) fn launches(seed: u64, count: u32, shape: &ScriptShape) -> Vec<Launch> {
    let mut random = Stream::new(seed, &[count.into()]);
    let launch = |id: u32| {
        let program = riscs().fold(Program::new("scripts"), |program, risc| {
            program.with_kernel(risc, Arc::new(Script::random(&mut random, shape)))
        });
        let program = if id.is_multiple_of(5) { Program::new("none") } else { program };
        let launch = Launch::new(&Arc::new(program), id).on(CoreSelection::At(cores()));
        if id.is_multiple_of(3) { launch.beginning_trace_replay() } else { launch }
    };
    (1..=count).map(launch).collect()
}

/// Returns a launch with a long zone on each RISC of the cores, between short zones.
fn long_launch(id: u32) -> Launch {
    let steps = vec![
        Step::Open(0),
        Step::Open(1),
        Step::Close,
        Step::Spin(LONG_CYCLES),
        Step::Close,
        Step::Data(0, id.into()),
    ];
    let kernel: Arc<dyn Kernel> = Arc::new(Script::new(steps).unwrap());
    let program = Program::new("long").with_kernel_on_all(&kernel);
    Launch::new(&Arc::new(program), id).on(CoreSelection::At(cores()))
}

fn run_on_ours(mesh: &mut SimulatedMesh, launches: &[Launch]) {
    launches.iter().for_each(|launch| mesh.enqueue_everywhere(launch));
    mesh.run_to_completion();
    assert_eq!(mesh.execution_failures().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
}

/// The control vector and the rings of a core.
struct Core {
    words: Vec<u32>,
    rings: Vec<Vec<[u32; 2]>>,
}

impl Core {
    fn read(mesh: &mut dyn Mesh, core: TileCoord) -> Self {
        let device = mesh.device(0).unwrap();
        let cores = &device.description().cores;
        let described = cores.iter().find(|other| other.noc0 == noc0(core)).unwrap();
        let (control, vector) = (described.control_address, described.vector_address);
        let mut words = vec![0; 64];
        device.read_l1(noc0(core), control, &mut words).unwrap();
        let mut ring = |risc: u64| {
            let mut ring = vec![0; 512];
            device.read_l1(noc0(core), vector + 2048 * risc, &mut ring).unwrap();
            ring.as_chunks().0.to_vec()
        };
        Self { words, rings: (0..5).map(&mut ring).collect() }
    }

    /// Returns the control words without the high bits of times.
    fn untimed_words(&self) -> Vec<u32> {
        let without_time = |(index, word): (usize, &u32)| match index {
            14..=18 => word & 0xFFFF_8000,
            _ => *word,
        };
        self.words.iter().enumerate().map(without_time).collect()
    }

    fn written(&self, risc: usize) -> u32 {
        self.words[24 + risc]
    }

    /// Returns the published cells of a RISC that the RISC's ring still holds.
    fn cells(&self, risc: usize) -> Vec<Numbered> {
        let written = self.written(risc);
        // A RISC may already have overwritten the chunk that will hold its next cell.
        let first = if written <= RING { 0 } else { written.next_multiple_of(8) - RING };
        let slots = (first..written).map(|number| self.rings[risc][(number % RING) as usize]);
        decode(first, &slots.collect::<Vec<_>>())
    }
}

/// Asserts that both simulators have the same control words and cells on a core; returns the cores
/// of our simulator.
#[track_caller]
fn assert_same_core(what: &str, (ttsim, ours): (&mut TtsimMesh, &mut SimulatedMesh)) -> Vec<Core> {
    let read = |core| {
        let (found, expected) = (Core::read(ttsim, core), Core::read(ours, core));
        for risc in 0..RISCS_PER_CORE {
            let what = format!("{what}, core {core}, RISC {risc}");
            assert_same_cells(&what, &found.cells(risc), &expected.cells(risc));
        }
        assert_eq!(found.untimed_words(), expected.untimed_words(), "{what}, core {core}");
        assert_eq!(expected.words[..6], [0, 0, 0, 0, 0, 0x4B53_1000], "{what}, core {core}");
        expected
    };
    cores().into_iter().map(read).collect()
}

const SHORT: ScriptShape = ScriptShape { step_max: 120, depth_max: 8, has_pushes: false };

/// Tests rings that no host drains, so that the policy determines their cells.
#[test]
fn a_ring_that_nobody_drains_has_the_same_cells_under_every_policy() {
    let fresh = tests::seed::fresh();
    eprintln!("seeds 1 and {fresh}");
    let policies = [
        Policy::DropNewest,
        Policy::OverwriteOldest,
        Policy::Block { cycles_log2: 11 },
        Policy::KeepOneOf { chunks_log2: 0 },
        Policy::KeepOneOf { chunks_log2: 1 },
        Policy::KeepOneOf { chunks_log2: 3 },
    ];
    for (arch, library) in libraries() {
        for (seed, policy) in
            [1, fresh].into_iter().flat_map(|seed| policies.map(|one| (seed, one)))
        {
            let what = format!("{arch}, seed {seed}, {policy:?}");
            let config = streaming(arch, seed);
            let (mut ttsim, mut ours) =
                (start_ttsim(&config, &library, policy), start_ours(&config, policy));
            let shape = ScriptShape { has_pushes: seed == fresh, ..SHORT };
            let launches = launches(seed, 20, &shape);
            // The rings are partly full first, then full.
            for part in [&launches[..4], &launches[4..]] {
                part.iter().for_each(|launch| ttsim.run(launch).unwrap());
                run_on_ours(&mut ours, part);
                assert_same_core(&what, (&mut ttsim, &mut ours));
            }
            let found = assert_same_core(&what, (&mut ttsim, &mut ours));
            assert_has_lost(&what, policy, &found);
            assert_same_readouts(&what, policy, (&mut ttsim, &mut ours));
        }
    }
}

/// Asserts that the rings were full, and that the losses are those of the policy.
#[track_caller]
fn assert_has_lost(what: &str, policy: Policy, cores: &[Core]) {
    let sum = |first: usize, count: usize| -> u64 {
        let words = cores.iter().flat_map(|core| &core.words[first..first + count]);
        words.map(|&word| u64::from(word)).sum()
    };
    let (lost, beside_zones) = (sum(29, 15), sum(19, 5));
    let most_written = cores.iter().flat_map(|core| core.words[24..29].to_vec()).max().unwrap();
    match policy {
        Policy::OverwriteOldest => assert!(lost == 0 && most_written > 2 * RING, "{what}"),
        // These ten words are the number of cells read plus one, and the host has read no cell.
        Policy::Block { .. } => assert!(lost > 100 && beside_zones == 10, "{what}"),
        Policy::KeepOneOf { chunks_log2: 1.. } => assert!(beside_zones > 100, "{what}"),
        Policy::DropNewest | Policy::KeepOneOf { .. } => {
            assert!(lost > 100 && beside_zones == 0, "{what}");
        }
    }
    assert_eq!(sum(8, 1), 4 * cores.len() as u64, "{what}: launches without a kernel");
    assert_eq!(sum(51, 1), 16 * cores.len() as u64, "{what}: launches");
}

/// Reads both meshes for the last time, and asserts that records, losses and anomalies are the same.
#[track_caller]
fn assert_same_readouts(
    what: &str,
    policy: Policy,
    (ttsim, ours): (&mut TtsimMesh, &mut SimulatedMesh),
) {
    let options = || ReadOptions { last_read: true, ..ReadOptions::default() };
    let mut found = Reader::new(options()).read(ttsim).unwrap();
    let expected = Reader::new(options()).read(ours).unwrap();
    assert_same(&found, &expected);
    assert!(!found.losses.is_empty(), "{what}");
    if matches!(policy, Policy::DropNewest | Policy::Block { .. }) {
        found.zones = ZoneTable::from_texts(ttsim::runner::zone_texts()).unwrap();
        assert_honest(&found, &Timeline::from_readout(&found), ttsim.truth());
    }
}

#[test]
fn a_long_zone_takes_two_cells_on_both() {
    for (arch, library) in libraries() {
        let (config, policy) = (streaming(arch, 1), Policy::DropNewest);
        let (mut ttsim, mut ours) =
            (start_ttsim(&config, &library, policy), start_ours(&config, policy));
        let launches: Vec<Launch> = (1..=6).map(long_launch).collect();
        launches.iter().for_each(|launch| ttsim.run(launch).unwrap());
        run_on_ours(&mut ours, &launches);
        for core in assert_same_core(arch.facts().name, (&mut ttsim, &mut ours)) {
            for risc in 0..RISCS_PER_CORE {
                let long = core.cells(risc).into_iter();
                let long = long.filter(|(_, record)| matches!(record, Record::LongZone { .. }));
                // The script's zone, the kernel's and the firmware's.
                assert_eq!(long.count(), 6 * 3, "{arch}, RISC {risc}");
            }
        }
    }
}

/// Pause of the host between two reads: some thousand instructions, so that rings do not fill up.
const PAUSE_NS: u64 = 4_000;

/// Runs launches on ttsim with a read after each pause; returns the records and the number of reads.
pub(crate) fn drain_ttsim(
    mesh: &mut TtsimMesh,
    launches: &[Launch],
    pause_ns: u64,
) -> (Readout, u32) {
    drain_ttsim_with(mesh, launches, pause_ns, |_, _| {})
}

/// Acts like [`drain_ttsim`], and calls a function with the number of reads before each read.
pub(crate) fn drain_ttsim_with(
    mesh: &mut TtsimMesh,
    launches: &[Launch],
    pause_ns: u64,
    mut before_read: impl FnMut(&mut TtsimMesh, u32),
) -> (Readout, u32) {
    mesh.set_access_clocks(10);
    launches.iter().for_each(|launch| mesh.enqueue(launch.clone()));
    let mut reader = Reader::new(ReadOptions::default());
    let (mut readout, mut read_count) = (Readout::default(), 0);
    loop {
        let is_running = mesh.run_for(pause_ns).unwrap();
        before_read(mesh, read_count);
        reader.options_mut().last_read = !is_running;
        readout.append(reader.read(mesh).unwrap());
        read_count += 1;
        if !is_running {
            readout.zones = ZoneTable::from_texts(ttsim::runner::zone_texts()).unwrap();
            return (readout, read_count);
        }
    }
}

/// Runs launches on our simulator with a read after each pause; returns the records.
pub(crate) fn drain_ours(mesh: &mut SimulatedMesh, launches: &[Launch], pause_ns: u64) -> Readout {
    launches.iter().for_each(|launch| mesh.enqueue_everywhere(launch));
    let mut reader = Reader::new(ReadOptions::default());
    let mut readout = Readout::default();
    while mesh.has_launches_to_run() {
        mesh.wait_ns(pause_ns);
        readout.append(reader.read(mesh).unwrap());
    }
    mesh.run_to_completion();
    assert_eq!(mesh.execution_failures().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    reader.options_mut().last_read = true;
    readout.append(reader.read(mesh).unwrap());
    readout
}

/// Names of the runtime's own zones, whose number depends on times.
pub(crate) const RUNTIMES_OWN_ZONES: [&str; 1] = [WAIT_FOR_HOST_ZONE];

/// Tests the debug dump with DRAM buffers for 43 programs: kernels wait for the host to read DRAM.
#[test]
fn a_host_that_reads_the_debug_dump_reads_the_same_records() {
    for (arch, library) in libraries() {
        let config = config(arch, 7).with_debug_dump().with_program_support_count(43);
        let launches = launches(7, 150, &ScriptShape { step_max: 60, ..SHORT });
        let mut ttsim = start(&config, &library);
        let (found, read_count) = drain_ttsim(&mut ttsim, &launches, PAUSE_NS);
        let mut ours = SimulatedMesh::new(&config).unwrap();
        initialise(&config, &mut ours);
        let expected = drain_ours(&mut ours, &launches, PAUSE_NS);
        assert_eq!(assert_same_beside(&RUNTIMES_OWN_ZONES, &found, &expected), 10, "{arch}");
        assert_honest(&found, &Timeline::from_readout(&found), ttsim.truth());
        let lost = found.losses.by_cause(LossCause::DramFull);
        assert_eq!((lost.record_count(), lost.unknown_markers), (0, 0), "{arch}");
        eprintln!("{arch}: {} records in {read_count} reads", found.record_count());
    }
}

/// Tests kernels that wait for the host: each record arrives once, on both simulators.
#[test]
fn a_host_that_drains_rings_while_kernels_run_reads_the_same_records() {
    let fresh = tests::seed::fresh();
    eprintln!("seeds 1 and {fresh}");
    let shape = ScriptShape { step_max: 2000, ..SHORT };
    for (arch, library) in libraries() {
        for seed in [1, fresh] {
            let (config, policy) = (streaming(arch, seed), Policy::Block { cycles_log2: 24 });
            let launches = launches(seed, 12, &shape);
            let mut ttsim = start_ttsim(&config, &library, policy);
            let (found, read_count) = drain_ttsim(&mut ttsim, &launches, PAUSE_NS);
            let mut ours = start_ours(&config, policy);
            let expected = drain_ours(&mut ours, &launches, PAUSE_NS);
            for readout in [&found, &expected] {
                let lost = readout.losses.entries();
                let lost = lost.filter(|(key, _)| key.cause != LossCause::ValidateOff);
                assert_eq!(lost.count(), 0, "{arch}, seed {seed}: {:?}", readout.losses);
                assert_eq!(readout.anomalies.anomaly_count(), 0, "{arch}, seed {seed}");
            }
            assert_eq!(assert_same_beside(&RUNTIMES_OWN_ZONES, &found, &expected), 10);
            assert_honest(&found, &Timeline::from_readout(&found), ttsim.truth());
            let records = found.record_count();
            eprintln!("{arch}, seed {seed}: {records} records in {read_count} reads of ttsim");
            assert!(records > 10 * 256 && read_count > 20, "{records} in {read_count} reads");
        }
    }
}

/// Tests a host that reads too seldom. The lost records depend on times, but ttsim's runtime counts
/// all of them, too.
#[test]
fn what_a_late_host_loses_on_ttsim_is_counted() {
    let shape = ScriptShape { step_max: 4000, ..SHORT };
    for (arch, library) in libraries() {
        for (seed, policy) in
            (1..).zip([Policy::DropNewest, Policy::Block { cycles_log2: 9 }, Policy::DropNewest])
        {
            let config = streaming(arch, seed);
            let mut ttsim = start_ttsim(&config, &library, policy);
            let (found, _) = drain_ttsim(&mut ttsim, &launches(seed, 9, &shape), 200_000);
            assert_honest(&found, &Timeline::from_readout(&found), ttsim.truth());
            let lost = found.losses.by_cause(LossCause::RingFull);
            eprintln!("{arch}, {policy:?}: {} records kept, {lost:?}", found.record_count());
            assert!(lost.record_count() > 100 && found.record_count() > 2560, "{arch}, {policy:?}");
            assert_eq!(found.anomalies.anomaly_count(), 0, "{arch}, {policy:?}");
        }
    }
}

/// Tests every kernel that has code for streaming, on all five RISCs of two cores.
#[test]
fn every_kernel_streams_what_it_streams_on_ours() {
    for (arch, library) in libraries() {
        let (config, policy) = (streaming(arch, 5), Policy::OverwriteOldest);
        let (mut ttsim, mut ours) =
            (start_ttsim(&config, &library, policy), start_ours(&config, policy));
        for (kernel, id) in ObjectKernel::all().iter().zip(1..) {
            let shared: Arc<dyn Kernel> = Arc::new(kernel.clone());
            let mut program = Program::new("every").with_kernel_on_all(&shared);
            if kernel.name() == "instructions" {
                // Data movement RISCs do not run this kernel, which issues instructions to the
                // coprocessor.
                let idle: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("empty").unwrap());
                program = program.with_kernel(Risc::Brisc, Arc::clone(&idle));
                program = program.with_kernel(Risc::Ncrisc, idle);
            }
            let launch = Launch::new(&Arc::new(program), id);
            let launch = launch.on(CoreSelection::At(cores())).with_args(&[6, 4, 4]);
            ttsim.run(&launch).unwrap();
            run_on_ours(&mut ours, &[launch]);
            let what = format!("{arch}, kernel {}", kernel.name());
            assert_same_core(&what, (&mut ttsim, &mut ours));
        }
    }
}
