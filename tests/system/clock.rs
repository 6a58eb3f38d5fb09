//! Clock synchronisation against the simulator's truth: epochs, drift and frequency steps that the
//! reader does not know.

#![allow(clippy::unwrap_used, reason = "a panic is how a test reports")]

use host_reader::{
    ProfilerOptions,
    clock::{EthernetPing, Tile},
    init_device_profiler,
    mesh::{AccessError, ChipLink, CoreDescription, Device, DeviceDescription, Mesh, Noc0Coord},
    read_device_profiler,
    sync::{
        ClockSampler, MeshClock, OneWayOptions, SyncOptions, SyncRecord, one_way_session,
        synchronise,
    },
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

/// Returns a chip whose tiles have counted beyond a marker's 44 bits.
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
    let time = clock.map().to_host_ns(tile, counter(chip, tile, chip_cycle)).unwrap();
    let true_ns = origin_ns + chip.clock().ps_at(chip_cycle) as f64 / 1000.0;
    (time.ns as f64 - true_ns + time.fraction_ns, time.bound_ns)
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
    let clock = synchronise(&mut mesh, &SyncOptions::default());
    assert_eq!(clock.problems(), []);
    mesh.run_to_completion();
    let readout = read_device_profiler(&mut mesh).unwrap();
    let origin_ns = host_origin_ns(&mut mesh);
    let mut marker_count = 0;
    for lane in readout.lanes() {
        let times = clock.lane_times(lane).unwrap();
        assert!(times.bound_ns < 1_000.0, "{}: {}", lane.id, times.bound_ns);
        let chip = mesh.chip(lane.id.chip_id).unwrap();
        let coord = TileCoord { x: lane.id.core.x, y: lane.id.core.y };
        let epoch = chip.tile(coord).unwrap().clock.epoch();
        for (stamp, host_ns) in lane.times.iter().zip(&times.host_ns) {
            let chip_cycle = stamp.wrapping_sub(epoch) & ((1 << 44) - 1);
            let true_ns = origin_ns + chip.clock().ps_at(chip_cycle) as f64 / 1000.0;
            let error = *host_ns as f64 - true_ns;
            assert!(error.abs() <= times.bound_ns, "{}: {error} {}", lane.id, times.bound_ns);
            marker_count += 1;
        }
    }
    // Each launch has a firmware zone, a kernel zone and one more zone, each with two markers.
    assert_eq!(marker_count, 8 * 64 * 5 * 3 * 6);
}

#[test]
fn aligned_times_of_all_cores_of_a_chip_agree_within_their_offsets_bounds() {
    let mut mesh = SimulatedMesh::new(&wormholes(12, &[old_chip()])).unwrap();
    let clock = synchronise(&mut mesh, &SyncOptions::default());
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
        let options =
            SyncOptions { spread_pings: 60, spacing_ns: 2_000_000, ..SyncOptions::default() };
        let clock = synchronise(&mut mesh, &options);
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
        let clock = synchronise(&mut mesh, &SyncOptions::default());
        assert_eq!(clock.problems(), [], "{step:?}");
        let found: Vec<_> = clock.chips().map(|(_, chip)| chip.fit.steps().to_vec()).collect();
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
    let mut sampler = ClockSampler::new(SyncOptions::default());
    sampler.open(&mut mesh);
    for _ in 0..50 {
        mesh.wait_ns(100_000_000);
        sampler.refresh(&mut mesh);
    }
    sampler.close(&mut mesh);
    let clock = sampler.clock();
    assert_eq!(clock.problems(), []);
    let (end_ps, origin_ns) = (mesh.now_ps(), host_origin_ns(&mut mesh));
    let mut random = Stream::new(21, &[2]);
    for index in [0_u32, 1] {
        for tile in tiles(&mut mesh, index as usize) {
            let chip = mesh.chip(index).unwrap();
            let (error, bound) = error_at(&clock, chip, tile, random.below(end_ps), origin_ns);
            assert!(error.abs() <= bound && bound < 600.0, "{tile:?}: {error} {bound}");
        }
    }
}

/// Simulated chips whose workers can send messages to each other.
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
    let clock = synchronise(&mut mesh, &SyncOptions::default());
    assert_eq!(clock.problems(), []);
    let tree = clock.tree().unwrap();
    assert_eq!(tree.closures().len(), 4);
    assert!(tree.closures().iter().all(|closure| closure.holds()));
    let middle_ps = mesh.mesh.now_ps() / 2;
    let reading = |chip_id: u32| {
        let chip = mesh.mesh.chip(chip_id).unwrap();
        let tile = clock.chips().find(|(id, _)| *id == chip_id).unwrap().1.reference;
        counter(chip, tile, chip.clock().cycles_at(middle_ps))
    };
    for (chip_id, line) in tree.chips() {
        let cycles = reading(chip_id);
        let error = line.line().nearest(cycles) - reading(tree.root()).cast_signed();
        let bound = line.bound_at(cycles);
        // Both counters are read in whole cycles.
        assert!(error.abs() as f64 <= bound + 2.0 && bound < 320.0, "{chip_id}: {error} {bound}");
    }
}

/// A chip that runs `SYNC-MAIN` on one core.
///
/// Whenever the host writes its time to the control vector, the kernel stores the low word of its
/// clock and that time. The first of these pairs follows a reading of the whole clock.
///
/// # Compatibility
/// `sync_kernel.cpp`: 250 pairs from the first optional word of BRISC's vector.
struct AnsweringChip {
    mesh: SimulatedMesh,
    description: DeviceDescription,
    core: CoreDescription,
    stamp_count: usize,
}

impl AnsweringChip {
    fn device(&mut self) -> &mut dyn Device {
        self.mesh.device(0).unwrap()
    }

    fn answer(&mut self, host_value: u32) {
        let chip = self.mesh.chip(0).unwrap();
        let coord = TileCoord { x: self.core.noc0.x, y: self.core.noc0.y };
        let now = chip.clock().cycles_at(self.mesh.now_ps());
        let clock = chip.tile(coord).unwrap().clock.value(now).0;
        let [high, low] = [(clock >> 32) as u32, (clock & 0xFFFF_FFFF) as u32];
        let first = self.core.vector_address + 4 * 12;
        let (core, number) = (self.core.noc0, self.stamp_count as u64);
        if self.stamp_count == 0 {
            self.device().write_l1(core, first, &[high, low]).unwrap();
        }
        self.device().write_l1(core, first + 8 * (number + 1), &[low, host_value]).unwrap();
        self.stamp_count += 1;
    }
}

impl Device for AnsweringChip {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(
        &mut self,
        core: Noc0Coord,
        address: u64,
        words: &mut [u32],
    ) -> Result<(), AccessError> {
        self.device().read_l1(core, address, words)
    }

    fn write_l1(
        &mut self,
        core: Noc0Coord,
        address: u64,
        words: &[u32],
    ) -> Result<(), AccessError> {
        self.device().write_l1(core, address, words)?;
        let mailbox = self.core.control_address + 4 * 49;
        match *words {
            [value] if (core, address) == (self.core.noc0, mailbox) && value != 0 => {
                self.answer(value);
            }
            _ => {}
        }
        Ok(())
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> Result<(), AccessError> {
        self.device().read_dram(bank, address, words)
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.device().read_wall_clock(core)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.device().host_time_ns()
    }

    fn wait_ns(&mut self, duration_ns: u64) {
        self.device().wait_ns(duration_ns);
    }
}

#[test]
fn upstreams_procedure_finds_the_frequency_and_leaves_its_file() {
    let mut mesh = SimulatedMesh::new(&wormholes(41, &[old_chip()])).unwrap();
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    let core = worker(&mut mesh, 0, 0);
    let description = mesh.device(0).unwrap().description().clone();
    let mut chip = AnsweringChip { mesh, description, core: core.clone(), stamp_count: 0 };
    let mut record = SyncRecord::new(1.0, 0);
    for _ in 0..2 {
        chip.stamp_count = 0;
        let result = one_way_session(&mut chip, &core, &OneWayOptions::default()).unwrap();
        assert_eq!((result.session.stamps.len(), result.missed_count), (249, 0));
        let fit = record.add_session(result.session).unwrap();
        let true_ghz = chip.mesh.chip(0).unwrap().clock().frequency_hz_at(0) as f64 / 1e9;
        let error_ppm = (fit.frequency_ghz() / true_ghz - 1.0) * 1e6;
        assert!(error_ppm.abs() < 0.5, "{error_ppm}");
    }
    let folder = std::env::temp_dir().join(format!("sync-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("sync_device_info.csv");
    record.write_file(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(text.lines().count(), 1 + 2 * 249);
    assert!(text.starts_with("device id,core_x, core_y,device,host_tracy,"));
}
