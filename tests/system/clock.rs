//! Clock synchronisation against the simulator's truth: epochs, drift and frequency steps that the
//! reader does not know.

#![allow(clippy::unwrap_used, reason = "a panic is how a test reports")]

use host_reader::{
    ProfilerOptions,
    clock::{EthernetPing, PingBurst, Tile},
    init_device_profiler,
    mesh::{AccessError, ChipLink, CoreDescription, Device, Mesh, Noc0Coord},
    read_device_profiler,
    sync::{MeshClock, MeshSamples, ping},
};
use sim::{
    arch::{Arch, TileCoord},
    chip::Chip,
    clock::FrequencyStep,
    config::{ChipConfig, MeshConfig},
    host::HostTiming,
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{Kernel, Launch, Program},
    random::Stream,
};
use std::sync::Arc;

const PS_PER_MS: u64 = 1_000_000_000;

fn wormholes(seed: u64, chips: &[ChipConfig]) -> MeshConfig {
    chips.iter().fold(MeshConfig::new(seed), |mesh, chip| mesh.with_chip(chip.clone()))
}

/// Returns a chip with clocks that have counted beyond a marker's 44 bits.
fn old_chip() -> ChipConfig {
    ChipConfig::new(Arch::WormholeB0).with_epoch_max_cycles(1 << 47)
}

/// Returns the time of the host's clock at the simulation's time 0.
fn host_origin_ns(mesh: &mut SimulatedMesh) -> f64 {
    let now_ps = mesh.now_ps();
    let shown = mesh.device(0).unwrap().host_time_ns();
    (shown - now_ps / 1000) as f64
}

/// Returns the full counter of a tile at a cycle of its chip.
fn counter(chip: &Chip, tile: Tile, chip_cycle: u64) -> u64 {
    let coord = TileCoord { x: u16::from(tile.x), y: u16::from(tile.y) };
    chip.tile(coord).unwrap().clock.value(chip_cycle).0
}

/// Returns the error of a tile's converted reading at a true time, and the bound of this error.
fn error_at(clock: &MeshClock, chip: &Chip, tile: Tile, ps: u64, origin_ns: f64) -> (f64, f64) {
    let chip_cycle = chip.clock().cycles_at(ps);
    let true_ns = origin_ns + chip.clock().ps_at(chip_cycle) as f64 / 1000.0;
    let core = Noc0Coord { x: tile.x.into(), y: tile.y.into() };
    let aligned = counter(chip, tile, chip_cycle)
        .wrapping_sub(clock.offset(tile.chip, core).unwrap().cycles.cast_unsigned());
    host_error(clock, (tile.chip, core), aligned, true_ns)
}

/// Returns the error of a core's aligned time after conversion to host time, and the bound of this
/// error.
///
/// The bound is the larger bound of the chip's clock at the earliest and the latest time that the
/// core's offset allows.
#[expect(clippy::cast_possible_truncation, reason = "an offset of some hundred cycles")]
fn host_error(
    clock: &MeshClock,
    (chip_id, core): (u32, Noc0Coord),
    aligned: u64,
    true_ns: f64,
) -> (f64, f64) {
    let to_host = |cycles: u64| clock.reference_clock(chip_id).unwrap().to_host_ns(cycles);
    let margin = clock.offset(chip_id, core).unwrap().bound_cycles.ceil() as u64;
    let [early, time, late] =
        [aligned.wrapping_sub(margin), aligned, aligned.wrapping_add(margin)].map(to_host);
    let before = (time.ns - early.ns) as f64 + early.bound_ns;
    let after = (late.ns - time.ns) as f64 + late.bound_ns;
    (time.ns as f64 - true_ns + time.fraction_ns, before.max(after) + 1.0)
}

fn tiles(mesh: &mut SimulatedMesh, index: usize) -> Vec<Tile> {
    let description = mesh.device(index).unwrap().description();
    let tile = |core: &CoreDescription| {
        let place = |at| u8::try_from(at).unwrap();
        Tile::new(description.chip_id, place(core.noc0.x), place(core.noc0.y))
    };
    description.cores.iter().map(tile).collect()
}

fn worker(mesh: &mut SimulatedMesh, index: usize, nth: usize) -> CoreDescription {
    let cores = &mesh.device(index).unwrap().description().cores;
    let mut workers = cores.iter().filter(|core| core.kind == wire::CoreKind::Tensix);
    workers.nth(nth).unwrap().clone()
}

/// Number of pings of each reference tile in one second, and their distance in ns. TT-Metal makes
/// the same number of pings.
const PINGS_OF_A_SECOND: (u32, u64) = (249, 4_000_000);

/// Relates the clocks of a mesh to the host's clock in one session: bursts at both ends, and pings
/// of each reference tile in between. The arguments are the number of pings and their distance in
/// ns.
fn synchronise(mesh: &mut impl Mesh, (ping_count, spacing_ns): (u32, u64)) -> MeshClock {
    let mut samples = MeshSamples::default();
    samples.open(mesh);
    for _ in 0..ping_count {
        for index in 0..mesh.device_count() {
            let chip = mesh.device(index).unwrap();
            let tile = samples.reference(chip.description().chip_id).unwrap();
            let ping = ping(chip, Noc0Coord { x: tile.x.into(), y: tile.y.into() }).unwrap();
            samples.add_burst(PingBurst { tile, pings: vec![ping] });
        }
        mesh.device(0).unwrap().wait_ns(spacing_ns);
    }
    samples.close(mesh);
    samples.fit()
}

#[test]
fn every_marker_of_eight_chips_has_its_host_time_within_the_bound() {
    let mut mesh = SimulatedMesh::new(&wormholes(11, &vec![old_chip(); 8])).unwrap();
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("work").unwrap());
    let program = Arc::new(Program::new("spin").with_kernel_on_all(&kernel));
    for at_ms in [20, 300, 700] {
        let launch = Launch::new(&program, 1).with_args(&[5_000]);
        let launch = launch.not_before_ns(at_ms * 1_000_000);
        mesh.enqueue_everywhere(&launch);
    }
    let clock = synchronise(&mut mesh, PINGS_OF_A_SECOND);
    assert_eq!(clock.problems(), []);
    mesh.run_to_completion();
    let readout = read_device_profiler(&mut mesh).unwrap();
    let origin_ns = host_origin_ns(&mut mesh);
    let origins = clock.tile_origins(&readout);
    let mut marker_count = 0;
    for lane in readout.lanes() {
        let chip = mesh.chip(lane.id.chip_id).unwrap();
        let coord = TileCoord { x: lane.id.core.x, y: lane.id.core.y };
        let epoch = chip.tile(coord).unwrap().clock.epoch();
        for stamp in &lane.times {
            let chip_cycle = stamp.wrapping_sub(epoch) & ((1 << 44) - 1);
            let true_ns = origin_ns + chip.clock().ps_at(chip_cycle) as f64 / 1000.0;
            let aligned = origins.aligned(lane.id.chip_id, lane.id.core, *stamp);
            let place = (lane.id.chip_id, lane.id.core);
            let (error, bound) = host_error(&clock, place, aligned, true_ns);
            assert!(error.abs() <= bound && bound < 2_000.0, "{}: {error} {bound}", lane.id);
            marker_count += 1;
        }
    }
    // Each launch has a firmware zone, a kernel zone and one more zone, each with two markers.
    assert_eq!(marker_count, 8 * 64 * 5 * 3 * 6);
}

#[test]
fn aligned_times_of_all_cores_of_a_chip_agree_within_their_offsets_bounds() {
    let mut mesh = SimulatedMesh::new(&wormholes(12, &[old_chip()])).unwrap();
    let clock = synchronise(&mut mesh, PINGS_OF_A_SECOND);
    let chip = mesh.chip(0).unwrap();
    let reference = clock.chips().next().unwrap().1.reference;
    let ahead = counter(chip, reference, 0);
    for (chip_id, core, offset) in clock.offsets() {
        let place = |at| u8::try_from(at).unwrap();
        let tile = Tile::new(chip_id, place(core.x), place(core.y));
        let truth = counter(chip, tile, 0).wrapping_sub(ahead).cast_signed();
        let error = (offset.cycles - truth).abs() as f64;
        assert!(error <= offset.bound_cycles, "{core}: {error} {}", offset.bound_cycles);
        assert!(offset.bound_cycles < 1_500.0);
    }
    assert_eq!(clock.offsets().count(), chip.plan().cores().len());
}

#[test]
fn the_bound_holds_in_every_trial_behind_quiet_and_busy_hosts() {
    let busy = HostTiming {
        jitter_ps: 500_000,
        interrupted_parts_per_million: 100_000,
        ..HostTiming::PCIE
    };
    for seed in 0..60 {
        let host = if seed % 2 == 0 { HostTiming::PCIE } else { busy };
        let config = wormholes(seed, &[old_chip()]).with_host(host);
        let mut mesh = SimulatedMesh::new(&config).unwrap();
        let clock = synchronise(&mut mesh, (60, 2_000_000));
        assert_eq!(clock.problems(), [], "seed {seed}");
        let (end_ps, origin_ns) = (mesh.now_ps(), host_origin_ns(&mut mesh));
        let mut random = Stream::new(seed, &[1]);
        for tile in tiles(&mut mesh, 0) {
            let chip = mesh.chip(0).unwrap();
            for _ in 0..10 {
                let ps = random.below(3 * end_ps);
                let (error, bound) = error_at(&clock, chip, tile, ps, origin_ns);
                assert!(error.abs() <= bound, "seed {seed}, {tile:?}: {error} {bound}");
            }
        }
    }
}

#[test]
fn frequency_steps_of_five_ppm_and_more_split_the_map_where_they_are() {
    for (seed, step_ppb, at_ms) in
        [(1, 5_000, 500), (2, -5_000, 480), (3, 20_000, 300), (4, -400_000_000, 700)]
    {
        let step = FrequencyStep { at_ns: at_ms * 1_000_000, drift_ppb: step_ppb };
        let stepped = old_chip().with_drift_ppb(0).with_frequency_steps(&[step]);
        let mut mesh = SimulatedMesh::new(&wormholes(seed, &[stepped, old_chip()])).unwrap();
        let clock = synchronise(&mut mesh, PINGS_OF_A_SECOND);
        assert_eq!(clock.problems(), [], "{step:?}");
        let found: Vec<_> = clock.chips().map(|(_, chip)| chip.fit.steps.to_vec()).collect();
        assert_eq!((found[0].len(), found[1].len()), (1, 0), "{step:?}");
        let (chip, reference) = (mesh.chip(0).unwrap(), clock.chips().next().unwrap().1.reference);
        let change = found[0][0].change_ppm - step_ppb as f64 / 1000.0;
        assert!(change.abs() < 1.0, "{step:?}: {change}");
        let truth = counter(chip, reference, chip.clock().cycles_at(at_ms * PS_PER_MS));
        let split = found[0][0].split;
        assert!((split.earliest_cycles..=split.latest_cycles).contains(&truth), "{step:?}");
        let origin_ns = host_origin_ns(&mut mesh);
        for tile in tiles(&mut mesh, 0) {
            for ms in (5..995).step_by(15) {
                let chip = mesh.chip(0).unwrap();
                let (error, bound) = error_at(&clock, chip, tile, ms * PS_PER_MS, origin_ns);
                assert!(error.abs() <= bound, "{step:?}, {tile:?} at {ms} ms: {error} {bound}");
            }
        }
    }
}

#[test]
fn refreshes_while_kernels_run_keep_a_long_session_tied() {
    let mut mesh = SimulatedMesh::new(&wormholes(21, &[old_chip(), old_chip()])).unwrap();
    let mut samples = MeshSamples::default();
    samples.open(&mut mesh);
    for _ in 0..50 {
        mesh.wait_ns(100_000_000);
        samples.refresh(&mut mesh);
    }
    samples.close(&mut mesh);
    let clock = samples.fit();
    assert_eq!(clock.problems(), []);
    let (end_ps, origin_ns) = (mesh.now_ps(), host_origin_ns(&mut mesh));
    let mut random = Stream::new(21, &[2]);
    for index in [0_u32, 1] {
        for tile in tiles(&mut mesh, index as usize) {
            let chip = mesh.chip(index).unwrap();
            let (error, bound) = error_at(&clock, chip, tile, random.below(end_ps), origin_ns);
            assert!(error.abs() <= bound && bound < 2_000.0, "{tile:?}: {error} {bound}");
        }
    }
}

/// Simulated chips with workers that can send messages to each other.
struct LinkedMesh {
    mesh: SimulatedMesh,
    links: Vec<ChipLink>,
}

impl LinkedMesh {
    fn stamp(&self, index: usize, core: Noc0Coord, ps: u64) -> u64 {
        let chip = self.mesh.chip(u32::try_from(index).unwrap()).unwrap();
        let tile = chip.tile(TileCoord { x: core.x, y: core.y }).unwrap();
        tile.clock.value(chip.clock().cycles_at(ps)).0
    }
}

impl Mesh for LinkedMesh {
    fn device_count(&self) -> usize {
        self.mesh.device_count()
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        self.mesh.device(index)
    }

    fn links(&self) -> Vec<ChipLink> {
        self.links.clone()
    }

    fn exchange(&mut self, link: &ChipLink) -> Result<EthernetPing, AccessError> {
        self.mesh.wait_ns(3_000);
        let start = self.mesh.now_ps();
        let ChipLink { sender, sender_core, receiver, receiver_core } = *link;
        Ok(EthernetPing {
            sender_start_cycles: self.stamp(sender, sender_core, start),
            receiver_start_cycles: self.stamp(receiver, receiver_core, start + 120_000),
            receiver_end_cycles: self.stamp(receiver, receiver_core, start + 135_000),
            sender_end_cycles: self.stamp(sender, sender_core, start + 270_000),
        })
    }
}

#[test]
fn links_between_chips_are_used_and_every_loop_closes() {
    let mut mesh = SimulatedMesh::new(&wormholes(31, &vec![old_chip(); 3])).unwrap();
    let mut link = |sender, receiver, nth| ChipLink {
        sender,
        sender_core: worker(&mut mesh, sender, nth).noc0,
        receiver,
        receiver_core: worker(&mut mesh, receiver, nth).noc0,
    };
    let links = vec![link(0, 1, 0), link(1, 2, 0), link(2, 0, 0), link(0, 2, 9)];
    let mut mesh = LinkedMesh { mesh, links };
    let clock = synchronise(&mut mesh, PINGS_OF_A_SECOND);
    assert_eq!(clock.problems(), []);
    let tree = clock.tree().unwrap();
    assert_eq!(tree.closures.len(), 4);
    assert!(tree.closures.iter().all(|closure| closure.holds()));
    let middle_ps = mesh.mesh.now_ps() / 2;
    let reading = |chip_id: u32| {
        let chip = mesh.mesh.chip(chip_id).unwrap();
        let tile = clock.chips().find(|(id, _)| *id == chip_id).unwrap().1.reference;
        counter(chip, tile, chip.clock().cycles_at(middle_ps))
    };
    for (&chip_id, line) in &tree.to_root {
        let cycles = reading(chip_id);
        let error = line.line().nearest(cycles) - reading(tree.root).cast_signed();
        let bound = line.bound_at(cycles);
        // Both counters are read in whole cycles.
        assert!(error.abs() as f64 <= bound + 2.0 && bound < 320.0, "{chip_id}: {error} {bound}");
    }
}
