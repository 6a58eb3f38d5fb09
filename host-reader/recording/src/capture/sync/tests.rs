use super::*;
use reader::{
    clock::{EthernetPing, PingBurst, Tile, TwoWayPing},
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    mesh::{
        AccessError, ChipLink, CoreDescription, Device, DeviceDescription, DeviceImage,
        DramDescription, LogicalCoord, Mesh, Noc0Coord,
    },
};
use wire::{CoreKind, PacketKind, Risc};

/// A chip with tiles that tick at 1 GHz of simulated host time, each from its own epoch.
struct TickingChip {
    image: DeviceImage,
    /// Simulated host time in nanoseconds since the start. Every access advances it.
    now_ns: u64,
    /// Cores that do not answer.
    silent: Vec<Noc0Coord>,
    /// Host times at which a reading is 2^32 cycles too high.
    torn_at: Vec<u64>,
}

const HOST_START_NS: u64 = 1 << 45;

fn core(x: u16) -> CoreDescription {
    CoreDescription {
        noc0: Noc0Coord { x, y: 1 },
        logical: LogicalCoord { x: 0, y: 0 },
        kind: CoreKind::Tensix,
        flat_id: 0,
        control_address: 0x100,
        vector_address: 0x200,
    }
}

/// Returns the counter of a tile at host time 0.
fn epoch(chip_id: u32, x: u16) -> u64 {
    (u64::from(chip_id) << 40) + (u64::from(x) << 44) + 1_000_000
}

impl TickingChip {
    fn new(chip_id: u32, columns: &[u16]) -> Self {
        let description = DeviceDescription {
            chip_id,
            arch: "wormhole_b0".into(),
            aiclk_mhz: 1000,
            max_compute_cores: 4,
            cores: columns.iter().map(|&x| core(x)).collect(),
            dram: DramDescription { bank_count: 1, region_address: 64, region_bytes: 1 << 16 },
        };
        let image = DeviceImage::new(description);
        Self { image, now_ns: 0, silent: Vec::new(), torn_at: Vec::new() }
    }
}

impl Device for TickingChip {
    fn description(&self) -> &DeviceDescription {
        self.image.description()
    }

    fn read_l1(&mut self, at: Noc0Coord, address: u64, out: &mut [u32]) -> Result<(), AccessError> {
        self.image.read_l1(at, address, out)
    }

    fn write_l1(&mut self, at: Noc0Coord, address: u64, words: &[u32]) -> Result<(), AccessError> {
        self.now_ns += 200;
        self.image.write_l1(at, address, words)
    }

    fn read_dram(&mut self, bank: u32, address: u64, out: &mut [u32]) -> Result<(), AccessError> {
        self.image.read_dram(bank, address, out)
    }

    fn read_wall_clock(&mut self, at: Noc0Coord) -> Result<u64, AccessError> {
        let chip_id = self.description().chip_id;
        if self.silent.contains(&at) {
            return Err(AccessError::NoSuchCore { chip_id, core: at });
        }
        let start = self.now_ns;
        self.now_ns += 800;
        let cycles = epoch(chip_id, at.x) + start + 300 + start % 100;
        let is_torn = self.torn_at.iter().any(|torn| (start..self.now_ns).contains(torn));
        Ok(cycles + if is_torn { 1 << 32 } else { 0 })
    }

    fn host_time_ns(&mut self) -> u64 {
        self.now_ns += 7;
        HOST_START_NS + self.now_ns
    }

    fn wait_ns(&mut self, duration_ns: u64) {
        self.now_ns += duration_ns;
    }
}

/// Chips with a common host time.
struct TickingMesh {
    chips: Vec<TickingChip>,
    links: Vec<ChipLink>,
}

impl TickingMesh {
    fn new(chips: Vec<TickingChip>) -> Self {
        Self { chips, links: Vec::new() }
    }

    fn now_ns(&self) -> u64 {
        self.chips.iter().map(|chip| chip.now_ns).max().unwrap_or(0)
    }
}

impl Mesh for TickingMesh {
    fn device_count(&self) -> usize {
        self.chips.len()
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        let now_ns = self.now_ns();
        let chip = self.chips.get_mut(index)?;
        chip.now_ns = now_ns;
        Some(chip)
    }

    fn links(&self) -> Vec<ChipLink> {
        self.links.clone()
    }

    fn exchange(&mut self, link: &ChipLink) -> Result<EthernetPing, AccessError> {
        let start = self.now_ns();
        self.chips[0].now_ns = start + 400;
        let at = |index: usize, core: Noc0Coord, ns: u64| {
            epoch(self.chips[index].description().chip_id, core.x) + ns
        };
        Ok(EthernetPing {
            sender_start_cycles: at(link.sender, link.sender_core, start),
            receiver_start_cycles: at(link.receiver, link.receiver_core, start + 150),
            receiver_end_cycles: at(link.receiver, link.receiver_core, start + 180),
            sender_end_cycles: at(link.sender, link.sender_core, start + 330),
        })
    }
}

/// Samples the clocks of a mesh: bursts, and then 100 pings of each reference, one per millisecond.
fn sample(mesh: &mut TickingMesh) -> MeshSamples {
    let mut samples = MeshSamples::default();
    samples.open(mesh);
    for _ in 0..100 {
        for index in 0..mesh.device_count() {
            let chip = mesh.device(index).unwrap();
            let Some(tile) = samples.reference(chip.description().chip_id) else {
                continue;
            };
            let ping = super::ping(chip, ping::core_of(tile)).unwrap();
            samples.add_burst(PingBurst { tile, pings: vec![ping] });
        }
        mesh.device(0).unwrap().wait_ns(1_000_000);
    }
    samples
}

fn synchronise(mut mesh: TickingMesh) -> MeshClock {
    let mut samples = sample(&mut mesh);
    samples.close(&mut mesh);
    samples.fit()
}

/// A lane with one marker at the given simulated host time.
fn lane_at(chip_id: u32, x: u16, ns: u64, bits: u32) -> Lane {
    let id = LaneId { chip_id, core: Noc0Coord { x, y: 1 }, risc: Risc::Ncrisc };
    let mut lane = Lane::new(id);
    let time = (epoch(chip_id, x) + ns) & ((1 << bits) - 1);
    lane.push(RecordHead::new(PacketKind::ZoneStart, ZoneIndex(7)), time, &[]);
    lane
}

/// Returns the error of the host time of a marker at a true time, and the bound of this error. The
/// chips tick at 1 GHz.
fn error_ns(clock: &MeshClock, (chip_id, x): (u32, u16), ns: u64) -> (f64, f64) {
    let readout = readout_of(chip_id, vec![lane_at(chip_id, x, ns, 44)]);
    let origins = clock.tile_origins(&readout);
    let lane = readout.lanes().next().unwrap();
    let aligned = origins.aligned(chip_id, lane.id.core, lane.times[0]);
    let time = clock.reference_clock(chip_id).expect("the chip has a clock").to_host_ns(aligned);
    let offset = clock.offset(chip_id, lane.id.core).expect("the tile has an offset");
    let truth = i64::try_from(HOST_START_NS + ns).unwrap();
    let error = (time.ns - truth) as f64 + time.fraction_ns;
    (error, time.bound_ns + offset.bound_cycles * 1.001)
}

fn readout_of(chip_id: u32, lanes: Vec<Lane>) -> reader::readout::Readout {
    let chip = reader::readout::ChipSummary {
        chip_id,
        arch: "wormhole_b0".into(),
        aiclk_mhz: 1000,
        max_compute_cores: None,
        known_lines: [].into(),
    };
    let device =
        reader::readout::DeviceReadout { chip, lanes, pending_runs: 0, discarded_launches: 0 };
    reader::readout::Readout { devices: vec![device], ..Default::default() }
}

#[test]
fn markers_of_every_tile_get_host_times_within_their_bound() {
    let chips = vec![TickingChip::new(0, &[1, 2, 3]), TickingChip::new(5, &[1, 9])];
    let clock = synchronise(TickingMesh::new(chips));
    assert_eq!(clock.problems(), []);
    for (chip_id, x) in [(0, 1), (0, 2), (0, 3), (5, 1), (5, 9)] {
        for ns in [0, 1_000_000, 50_000_000, 100_000_000] {
            let (error, bound) = error_ns(&clock, (chip_id, x), ns);
            assert!(error.abs() <= bound && bound < 1_500.0, "({chip_id},{x}): {error} {bound}");
        }
    }
}

#[test]
fn offsets_are_measured_against_the_first_core() {
    let clock = synchronise(TickingMesh::new(vec![TickingChip::new(0, &[3, 4])]));
    let offset = clock.offset(0, Noc0Coord { x: 4, y: 1 }).unwrap();
    assert!((offset.cycles - (1 << 44)).abs() as f64 <= offset.bound_cycles);
    assert!(offset.bound_cycles < 1_000.0);
    assert_eq!(clock.offset(0, Noc0Coord { x: 3, y: 1 }).unwrap().cycles, 0);
    assert_eq!(clock.offset(0, Noc0Coord { x: 5, y: 1 }), None);
}

#[test]
fn origins_align_the_truncated_times_of_a_readout() {
    let clock = synchronise(TickingMesh::new(vec![TickingChip::new(0, &[3, 4])]));
    let readout = readout_of(0, vec![lane_at(0, 3, 70_000, 44), lane_at(0, 4, 70_000, 44)]);
    let origins = clock.tile_origins(&readout);
    let aligned: Vec<u64> = readout
        .lanes()
        .map(|lane| origins.aligned(lane.id.chip_id, lane.id.core, lane.times[0]))
        .collect();
    let bound = clock.offset(0, Noc0Coord { x: 4, y: 1 }).unwrap().bound_cycles;
    assert_eq!(aligned[0], epoch(0, 3) + 70_000);
    assert!(aligned[1].abs_diff(aligned[0]) as f64 <= bound, "{aligned:?}");
}

#[test]
fn a_silent_core_has_no_clock_and_the_others_keep_theirs() {
    let mut chip = TickingChip::new(0, &[1, 2, 3]);
    chip.silent.push(Noc0Coord { x: 2, y: 1 });
    let clock = synchronise(TickingMesh::new(vec![chip]));
    assert_eq!(clock.problems(), []);
    let offset_of = |x| clock.offset(0, Noc0Coord { x, y: 1 });
    assert_eq!([1, 2, 3].map(|x| offset_of(x).is_some()), [true, false, true]);
}

#[test]
fn a_chip_without_cores_or_answers_has_no_clock() {
    let mut deaf = TickingChip::new(1, &[1]);
    deaf.silent.push(Noc0Coord { x: 1, y: 1 });
    let mesh = vec![TickingChip::new(0, &[]), deaf, TickingChip::new(2, &[300])];
    let clock = synchronise(TickingMesh::new(mesh));
    assert_eq!(clock.chips().count(), 0);
}

#[test]
fn torn_readings_are_left_out_and_counted() {
    let mut chip = TickingChip::new(0, &[1, 2]);
    // The first entry is a reading of the reference, the second a reading of the other tile.
    chip.torn_at.extend([50_000_400, 32 * 814 + 3 * 814 + 400]);
    let clock = synchronise(TickingMesh::new(vec![chip]));
    assert!(
        clock.problems().iter().any(|problem| matches!(problem, SyncProblem::Rejected { .. })),
        "{:?}",
        clock.problems()
    );
    for x in [1, 2] {
        let (error, bound) = error_ns(&clock, (0, x), 50_000);
        assert!(error.abs() <= bound && bound < 1_500.0, "{x}: {error} {bound}");
    }
}

#[test]
fn links_tie_chips_more_closely_and_close_every_loop() {
    let mut mesh = TickingMesh::new(vec![TickingChip::new(0, &[1]), TickingChip::new(1, &[1])]);
    let at = Noc0Coord { x: 1, y: 1 };
    mesh.links.push(ChipLink { sender: 0, sender_core: at, receiver: 1, receiver_core: at });
    let clock = synchronise(mesh);
    assert_eq!(clock.problems(), []);
    let tree = clock.tree().unwrap();
    assert_eq!(tree.to_root.len(), 2);
    let [closure] = &tree.closures[..] else { panic!("the host closes the loop") };
    assert!(closure.holds());
    let other = if tree.root == 0 { 1 } else { 0 };
    let cycles = epoch(other, 1) + 50_000_000;
    let line = &tree.to_root[&other];
    let truth = epoch(tree.root, 1) + 50_000_000;
    let error = line.line().nearest(cycles) - truth.cast_signed();
    assert!(line.bound_at(cycles) < 200.0, "{}", line.bound_at(cycles));
    assert!(error.abs() as f64 <= line.bound_at(cycles) + 0.5, "{error}");
}

#[test]
fn a_wrong_link_opens_its_loop() {
    let mut mesh = TickingMesh::new(vec![TickingChip::new(0, &[1]), TickingChip::new(1, &[1])]);
    let at = Noc0Coord { x: 1, y: 1 };
    let link = ChipLink { sender: 0, sender_core: at, receiver: 1, receiver_core: at };
    let mut samples = sample(&mut mesh);
    let pings = (0..20)
        .map(|_| {
            mesh.device(0).unwrap().wait_ns(1_000_000);
            let ping = mesh.exchange(&link).unwrap();
            EthernetPing {
                receiver_start_cycles: ping.receiver_start_cycles + 50_000,
                receiver_end_cycles: ping.receiver_end_cycles + 50_000,
                ..ping
            }
        })
        .collect();
    let (sender, receiver) = (Tile::new(0, 1, 1), Tile::new(1, 1, 1));
    samples.add_link_burst(LinkBurst { sender, receiver, pings });
    let clock = samples.fit();
    let [SyncProblem::OpenLoop { residual_cycles, .. }] = clock.problems() else {
        panic!("{:?}", clock.problems());
    };
    assert!((residual_cycles.abs() - 50_000.0).abs() < 2_000.0, "{residual_cycles}");
}

#[test]
fn samples_of_a_capture_give_the_same_clock() {
    let chips = vec![TickingChip::new(0, &[1, 2]), TickingChip::new(1, &[1])];
    let clock = synchronise(TickingMesh::new(chips));
    let mut samples = MeshSamples::default();
    clock.samples().bursts().for_each(|burst| samples.add_burst(burst));
    clock.samples().link_bursts().for_each(|burst| samples.add_link_burst(burst));
    assert_eq!(samples.fit(), clock);
}

#[test]
fn any_samples_give_a_clock_or_a_problem() {
    let odd = [
        vec![],
        vec![ping(0, 0, 0)],
        vec![ping(i64::MAX, u64::MAX, i64::MIN); 3],
        vec![ping(i64::MIN, 0, i64::MAX), ping(5, 1 << 63, 6), ping(7, 1, 8)],
    ];
    for pings in odd {
        let mut samples = MeshSamples::default();
        samples.add_burst(PingBurst { tile: Tile::new(0, 1, 1), pings: pings.clone() });
        samples.add_burst(PingBurst { tile: Tile::new(0, 2, 1), pings });
        let clock = samples.fit();
        let has_clock = clock.reference_clock(0).is_some();
        assert!(has_clock || !clock.problems().is_empty());
    }
}

const fn ping(host_send_ns: i64, device_cycles: u64, host_receive_ns: i64) -> TwoWayPing {
    TwoWayPing { host_send_ns, device_cycles, host_receive_ns }
}
