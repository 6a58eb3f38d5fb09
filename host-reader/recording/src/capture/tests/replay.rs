//! Tests that a replayed capture yields the same readout as the chips.

use super::*;
use crate::capture::{
    frame::{FRAME_HEADER_BYTES, FrameHead, begin_frame, finish_frame},
    sync::{LinkBurst, MeshSamples},
};
use proptest::{collection::vec, prelude::*};
use reader::{
    ProfilerOptions, ReadOptions,
    anomaly::AnomalyKind,
    clock::{EthernetPing, PingBurst, Tile, TwoWayPing},
    init_device_profiler,
    mesh::{
        AccessError, CoreDescription, Device, DeviceDescription, DeviceImage, DramDescription,
        LogicalCoord, Mesh, MeshImage,
    },
    names::{ZoneSource, ZoneTable},
    read::Reader,
    readout::Readout,
};
use std::{fs, path::Path};
use wire::{CoreKind, control::ext};

const CONTROL: u64 = 0x100;
const VECTOR: u64 = 0x200;
const REGION: u64 = 0x40;
const CORES_PER_CHIP: u32 = 3;
const LANE_BYTES: u64 = 43 * 48;

fn core_place(flat_id: u32) -> Noc0Coord {
    Noc0Coord { x: 1 + u16::try_from(flat_id).unwrap(), y: 2 }
}

/// Two chips prepared for profiling, with lanes of the minimum size.
fn mesh() -> MeshImage {
    let core = |flat_id: u32| CoreDescription {
        noc0: core_place(flat_id),
        logical: LogicalCoord { x: 0, y: 0 },
        kind: CoreKind::Tensix,
        flat_id,
        control_address: CONTROL,
        vector_address: VECTOR,
    };
    let chip = |chip_id| DeviceDescription {
        chip_id,
        arch: "wormhole_b0".into(),
        aiclk_mhz: 1000,
        max_compute_cores: CORES_PER_CHIP,
        cores: (0..CORES_PER_CHIP).map(core).collect(),
        dram: DramDescription { bank_count: 2, region_address: REGION, region_bytes: 1 << 16 },
    };
    let mut mesh = MeshImage { devices: [7, 4].map(|id| DeviceImage::new(chip(id))).into() };
    init_device_profiler(
        &mut mesh,
        &ProfilerOptions { program_support_count: 43, ..ProfilerOptions::default() },
    )
    .unwrap();
    for device in &mut mesh.devices {
        device.set_wall_clock(1 << 40);
    }
    mesh
}

/// Simulates a push of words by a RISC with this project's runtime, or with TT-Metal's.
fn push(device: &mut DeviceImage, place: (u32, u64), begin: u64, words: &[u32], is_ours: bool) {
    let (flat_id, risc) = place;
    let lane = (u64::from(flat_id % 2) * 5 + risc) * LANE_BYTES;
    device.write_dram(flat_id / 2, REGION + lane + begin * 4, words).unwrap();
    let core = core_place(flat_id);
    let end = u32::try_from(begin + words.len() as u64).unwrap();
    device.write_l1(core, CONTROL + risc * 4, &[end]).unwrap();
    let signature = if is_ours { ext::SIGNATURE_VALUE } else { 0 };
    device.write_l1(core, CONTROL + ext::SIGNATURE as u64 * 4, &[signature]).unwrap();
}

/// A run with one zone.
fn run(flat_id: u32, risc: u32, program: u32, start: u32) -> Vec<u32> {
    vec![
        0,
        0,
        risc | flat_id << 5,
        program,
        0x8FC0_D001,
        start,
        0x9FC0_D001,
        start + 900,
        0x8E42_7001,
        start + 10,
        0x9E42_7001,
        start + 890,
        0x8000_1001,
        start + 20,
        0x9000_1001,
        start + 30,
    ]
}

/// Simulates the work of the chips before read `number`: three cores push, some with our runtime
/// and some with TT-Metal's.
fn work(mesh: &mut MeshImage, number: u32) {
    let start = 0x1000 + number * 0x1_0000;
    for (flat_id, risc) in [(0, 0), (0, 1), (1, 4), (2, 3)] {
        let is_ours = flat_id != 1;
        // Each read resets the lanes of TT-Metal's runtime; lanes of our runtime continue.
        let begin = if is_ours { u64::from(number) * 16 } else { 0 };
        let words = run(flat_id, risc, number + 1, start);
        push(&mut mesh.devices[0], (flat_id, risc.into()), begin, &words, is_ours);
    }
    push(&mut mesh.devices[1], (2, 0), 0, &run(2, 0, number + 9, start), false);
}

fn options() -> ReadOptions {
    let mut zones = ZoneTable::new();
    let source = ZoneSource { name: "A".into(), file: "/k/k.cpp".into(), line: 10 };
    zones.add(source.id(), source);
    ReadOptions { program_support_count: 43, zones, ..ReadOptions::default() }
}

fn capture_path(folder: &tempfile::TempDir) -> std::path::PathBuf {
    folder.path().join("a.kprof")
}

fn capturing(path: &Path) -> CapturingReader {
    let writer = CaptureWriter::create(path).unwrap().with_sync(SyncPolicy::Never);
    CapturingReader::new(options(), writer)
}

/// Returns the readouts of a capture's runs, joined in order.
fn readout_of(capture: &Capture) -> Result<Readout, ReadError> {
    let readouts = capture.runs()?.into_iter().map(|run| run.readout);
    let whole = readouts.reduce(|mut whole, readout| {
        whole.append(readout);
        whole
    });
    Ok(whole.unwrap_or_default())
}

/// Returns the result of each read of a capture.
fn replayed(capture: &Capture) -> Vec<Result<Readout, ReadError>> {
    let mut readouts = Vec::new();
    capture.replay(&ZoneTable::new(), |read| readouts.push(read.readout));
    readouts
}

fn whole(path: &Path) -> Readout {
    readout_of(&Capture::open(path).unwrap()).unwrap()
}

#[test]
fn reads_are_replayed_as_they_were_and_joined_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = capture_path(&folder);
    let (mut mesh, mut direct_mesh) = (mesh(), mesh());
    let mut captured = capturing(&path);
    let mut direct = Reader::new(options());
    let mut readouts = Vec::new();
    for number in 0..4 {
        work(&mut mesh, number);
        work(&mut direct_mesh, number);
        let read = captured.read(&mut mesh);
        read.capture.unwrap();
        let expected = direct.read(&mut direct_mesh).unwrap();
        assert_eq!(expected.record_count(), 5 * 6);
        assert_eq!(read.readout.unwrap(), expected, "capturing changes nothing");
        readouts.push(expected);
    }
    captured.capture.finish().unwrap();
    let capture = Capture::open(&path).unwrap();
    assert!(capture.check().is_clean());
    let replayed: Vec<_> = replayed(&capture).into_iter().map(Result::unwrap).collect();
    assert_eq!(replayed, readouts);
    let mut joined = readouts.remove(0);
    readouts.into_iter().for_each(|readout| joined.append(readout));
    assert_eq!(whole(&path), joined);
    let info = capture.info();
    assert_eq!((info.reads.len(), info.core_count(), info.lane_words.len()), (4, 6, 5));
    assert_eq!(info.lane_words.values().sum::<u64>(), 4 * 5 * 16);
    assert_eq!(info.zone_count, 1);
}

#[test]
fn what_was_measured_comes_back_for_another_fit() {
    let ping = TwoWayPing { host_send_ns: -1, device_cycles: 7, host_receive_ns: 800 };
    let message = EthernetPing {
        sender_start_cycles: 1,
        receiver_start_cycles: 2,
        receiver_end_cycles: 3,
        sender_end_cycles: 4,
    };
    let [sender, receiver] = [0, 1].map(|chip| Tile::new(chip, 1, 2));
    let mut samples = MeshSamples::default();
    samples.add_burst(PingBurst { tile: sender, pings: vec![ping; 3] });
    samples.add_burst(PingBurst { tile: receiver, pings: vec![ping] });
    samples.add_link_burst(LinkBurst { sender, receiver, pings: vec![message; 2] });

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.kprof");
    let mut recording = RunCapture::new(CaptureWriter::create(&path).unwrap());
    recording.append_new_samples(&samples).unwrap();
    let runs = Capture::open(&path).unwrap().runs().unwrap();
    assert_eq!(runs[0].samples, samples);
}

#[test]
fn a_capture_that_lost_sections_gives_what_is_left_and_says_what_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = capture_path(&folder);
    let mut mesh = mesh();
    work(&mut mesh, 0);
    let readout = capturing(&path).read(&mut mesh).readout.unwrap();
    let whole = fs::read(&path).unwrap();
    let capture = Capture::open(&path).unwrap();
    for section in capture.sections() {
        let mut bytes = whole.clone();
        let payload = usize::try_from(section.offset).unwrap() + 32;
        bytes[payload] ^= 1;
        let damaged = Capture::from_bytes(bytes).unwrap();
        assert_eq!(damaged.problems().len(), 1);
        let Ok(left) = readout_of(&damaged) else {
            // Only a missing chip description makes decoding impossible.
            assert_eq!(section.kind, SectionKind::DEVICE);
            continue;
        };
        let Ok(Content::Memory(MemoryWords { content: WordsContent::Lane, .. })) =
            section.content()
        else {
            continue;
        };
        assert_eq!(left.record_count() + 6, readout.record_count(), "{section:?}");
        assert!(left.anomalies.count(AnomalyKind::UnreadableCore) > 0);
    }
}

#[test]
fn a_read_that_was_cut_off_anywhere_counts_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = capture_path(&folder);
    let mut before = mesh();
    work(&mut before, 0);
    let mut acknowledged = before.clone();
    let readout = capturing(&path).read(&mut acknowledged).readout.unwrap();
    let whole_file = fs::read(&path).unwrap();
    let ends: Vec<_> = Capture::open(&path).unwrap().sections().map(|s| s.offset).collect();
    for cut in ends {
        let cut = usize::try_from(cut).unwrap();
        // The read was not acknowledged to the chips, so the data is read again.
        fs::write(&path, &whole_file[..cut + 20]).unwrap();
        let writer = CaptureWriter::append_to(&path).unwrap().with_sync(SyncPolicy::Never);
        let mut again = CapturingReader::new(options(), writer);
        again.read(&mut before.clone()).capture.unwrap();
        assert_eq!(lanes(&whole(&path)), lanes(&readout), "cut at {cut}");
    }
}

#[test]
fn the_cut_off_read_is_used_for_a_core_that_was_told_before_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = capture_path(&folder);
    let mut before = mesh();
    work(&mut before, 0);
    let mut told = before.clone();
    let readout = capturing(&path).read(&mut told).readout.unwrap();
    let whole_file = fs::read(&path).unwrap();
    let end = Capture::open(&path).unwrap().sections().next_back().unwrap().offset;
    fs::write(&path, &whole_file[..usize::try_from(end).unwrap()]).unwrap();
    // The read was acknowledged to the first chip, but not to the second chip.
    told.devices[1] = before.devices[1].clone();
    let writer = CaptureWriter::append_to(&path).unwrap().with_sync(SyncPolicy::Never);
    CapturingReader::new(options(), writer).read(&mut told).capture.unwrap();
    assert_eq!(lanes(&whole(&path)), lanes(&readout));
}

#[test]
fn runs_that_are_alike_to_the_cycle_lose_nothing_in_one_capture() {
    let folder = tempfile::tempdir().unwrap();
    let path = capture_path(&folder);
    capturing(&path);
    for _ in 0..3 {
        let writer = CaptureWriter::append_to(&path).unwrap().with_sync(SyncPolicy::Never);
        let mut reader = CapturingReader::new(options(), writer);
        let mut mesh = mesh();
        for number in 0..2 {
            work(&mut mesh, number);
            reader.read(&mut mesh).capture.unwrap();
        }
    }
    let capture = Capture::open(&path).unwrap();
    let runs = capture.runs().unwrap();
    assert_eq!(runs.iter().map(|run| run.readout.record_count()).collect::<Vec<_>>(), [60; 3]);
    assert_eq!(runs[1].reads, [2, 3].into());
    assert!(runs.iter().all(|run| lanes(&run.readout) == lanes(&runs[0].readout)));
    let together = whole(&path);
    assert_eq!(together.record_count(), 180);
    let run_counts = together.lanes().map(|lane| lane.runs.len());
    assert!(run_counts.eq([6; 5]));
}

fn lanes(readout: &Readout) -> Vec<&reader::lane::Lane> {
    let mut lanes: Vec<_> = readout.lanes().collect();
    lanes.sort_by_key(|lane| lane.id);
    lanes
}

/// A mesh with some failing accesses.
struct Refusing {
    mesh: MeshImage,
    chip: RefusingChip,
}

struct RefusingChip {
    device: DeviceImage,
    refused: [bool; 4],
}

impl RefusingChip {
    fn refuse(&self, what: usize) -> AccessResult {
        let reason = format!("refusal {what}");
        let is_refused = self.refused[what];
        if is_refused { Err(AccessError::Unreachable { chip_id: 7, reason }) } else { Ok(()) }
    }
}

impl Device for RefusingChip {
    fn description(&self) -> &DeviceDescription {
        self.device.description()
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        if core == core_place(1) {
            self.refuse(0)?;
        }
        self.device.read_l1(core, address, words)
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        self.refuse(1)?;
        self.device.write_l1(core, address, words)
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        if address == REGION + LANE_BYTES || words.len() > 400 {
            self.refuse(2)?;
        }
        self.device.read_dram(bank, address, words)
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.refuse(3)?;
        self.device.read_wall_clock(core)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.device.host_time_ns()
    }
}

impl Mesh for Refusing {
    fn device_count(&self) -> usize {
        2
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        if index == 0 { Some(&mut self.chip) } else { self.mesh.device(1) }
    }
}

/// Generates arbitrary contents of a chip's memory.
fn any_push() -> impl Strategy<Value = (usize, (u32, u64), bool, Vec<u32>)> {
    let words = prop_oneof![
        vec(any::<u32>(), 0..40),
        (0_u32..3, 0_u32..5, any::<u32>(), 0_u32..1 << 30)
            .prop_map(|(core, risc, program, start)| run(core, risc, program, start)),
    ];
    (0_usize..2, (0_u32..3, 0_u64..5), any::<bool>(), words)
}

/// Returns a capture's sections with modified payloads and valid checksums.
fn with_lies(
    capture: &Capture,
    lies: &[(prop::sample::Index, prop::sample::Index, u8)],
) -> Vec<u8> {
    let mut bytes = Draft::new().bytes;
    let count = capture.sections().count();
    for (index, section) in capture.sections().enumerate() {
        let mut frame = Vec::new();
        begin_frame(&mut frame);
        frame.extend_from_slice(section.payload);
        for (_, place, byte) in lies.iter().filter(|lie| lie.0.index(count) == index) {
            // Heads are short, so most modifications should be in a head.
            let length = section.payload.len().min(64);
            frame[FRAME_HEADER_BYTES + place.index(length)] = *byte;
        }
        let Section { version, flags, number, .. } = section;
        finish_frame(&mut frame, FrameHead { kind: section.kind, version, flags, number });
        bytes.extend_from_slice(&frame);
    }
    bytes
}

proptest! {
    #[test]
    fn lies_in_sound_sections_cost_no_more_than_what_they_are_about(
        lies in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = capture_path(&folder);
        let mut mesh = mesh();
        let mut reader = capturing(&path);
        for number in 0..2 {
            work(&mut mesh, number);
            reader.read(&mut mesh).capture.unwrap();
        }
        let capture = Capture::from_bytes(with_lies(&Capture::open(&path).unwrap(), &lies)).unwrap();
        prop_assert_eq!(capture.problems(), []);
        let _ = (capture.check(), capture.info(), capture.runs());
    }

    #[test]
    fn refusals_and_damaged_chips_are_replayed_as_well(
        rounds in vec((vec(any_push(), 0..8), any::<[bool; 4]>(), any::<bool>()), 1..4),
        l1_words in vec((0_u32..3, 0_u64..64, any::<u32>()), 0..6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = capture_path(&folder);
        let mesh = mesh();
        let chip = RefusingChip { device: mesh.devices[0].clone(), refused: [false; 4] };
        let mut mesh = Refusing { mesh, chip };
        let mut reader = capturing(&path);
        let mut readouts = Vec::new();
        for (pushes, refused, last_read) in rounds {
            for (chip, place, is_ours, words) in pushes {
                let device = if chip == 0 { &mut mesh.chip.device } else { &mut mesh.mesh.devices[1] };
                push(device, place, 0, &words, is_ours);
            }
            for &(core, index, word) in &l1_words {
                let address = CONTROL + index * 4;
                mesh.chip.device.write_l1(core_place(core), address, &[word]).unwrap();
            }
            mesh.chip.refused = refused;
            reader.reader.options_mut().last_read = last_read;
            let read = reader.read(&mut mesh);
            prop_assert!(read.capture.is_ok());
            readouts.push(read.readout);
        }
        reader.capture.finish().unwrap();
        let capture = Capture::open(&path).unwrap();
        prop_assert!(capture.check().is_clean());
        prop_assert_eq!(replayed(&capture), readouts);
    }
}
