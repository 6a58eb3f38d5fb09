//! The conversation with a device whose memory is scripted.

use super::*;
use crate::ledger::ProgramSpan;
use crate::{
    decode::CaptureMode,
    ledger::{LossCause, LossTotals, LossWindow},
    mesh::{
        AccessError, CoreDescription, CoreSelection, Device, DeviceDescription, DeviceImage,
        DramDescription, LogicalCoord, Noc0Coord,
    },
};
use std::collections::BTreeSet;
use wire::{CoreKind, Risc, RunHostId, control::ext};

const CONTROL: u64 = 0x1000;
const VECTOR: u64 = 0x1100;
const REGION: u64 = 0x40;
const LANE_BYTES: u64 = 48_000;
const HOST_END: usize = 0;
const DEVICE_END: usize = 24;
const RUN_COUNTER: usize = 51;
const DROPPED: usize = 56;
const DONE: usize = 57;

/// One access by the host.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Access {
    ReadL1 { core: Noc0Coord, address: u64, words: usize },
    WriteL1 { core: Noc0Coord, address: u64, words: Vec<u32> },
    ReadDram { bank: u32, address: u64, words: usize },
    Clock,
}

type Script = Box<dyn FnMut(&mut DeviceImage, &Access)>;

/// A chip on which something happens before an access.
struct Scripted {
    image: DeviceImage,
    accesses: Vec<Access>,
    script: Script,
    broken: BTreeSet<Noc0Coord>,
}

impl Scripted {
    fn before(&mut self, access: Access) {
        (self.script)(&mut self.image, &access);
        self.accesses.push(access);
    }

    fn check(&self, core: Noc0Coord) -> Result<(), AccessError> {
        let chip_id = self.image.description().chip_id;
        if self.broken.contains(&core) {
            return Err(AccessError::Unreachable { chip_id, reason: "asleep".into() });
        }
        Ok(())
    }
}

impl Device for Scripted {
    fn description(&self) -> &DeviceDescription {
        self.image.description()
    }

    fn read_l1(
        &mut self,
        core: Noc0Coord,
        address: u64,
        words: &mut [u32],
    ) -> Result<(), AccessError> {
        self.check(core)?;
        self.before(Access::ReadL1 { core, address, words: words.len() });
        self.image.read_l1(core, address, words)
    }

    fn write_l1(
        &mut self,
        core: Noc0Coord,
        address: u64,
        words: &[u32],
    ) -> Result<(), AccessError> {
        self.check(core)?;
        self.before(Access::WriteL1 { core, address, words: words.to_vec() });
        self.image.write_l1(core, address, words)
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> Result<(), AccessError> {
        self.before(Access::ReadDram { bank, address, words: words.len() });
        self.image.read_dram(bank, address, words)
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.before(Access::Clock);
        self.image.read_wall_clock(core)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.image.host_time_ns()
    }
}

/// One chip with four Tensix cores over two banks.
struct Bench(Scripted);

impl Mesh for Bench {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        (index == 0).then_some(&mut self.0)
    }
}

fn core(flat_id: u32) -> Noc0Coord {
    Noc0Coord { x: 1, y: 1 + u16::try_from(flat_id).unwrap() }
}

fn set(image: &mut DeviceImage, flat_id: u32, index: usize, words: &[u32]) {
    image.write_l1(core(flat_id), CONTROL + index as u64 * 4, words).unwrap();
}

fn lane_address(flat_id: u32, risc: usize) -> u64 {
    REGION + (u64::from(flat_id % 2) * 5 + risc as u64) * LANE_BYTES
}

/// Writes words into a lane at index `at` and sets the lane's end behind them.
fn push(image: &mut DeviceImage, (flat_id, risc): (u32, usize), at: u32, words: &[u32]) {
    let address = lane_address(flat_id, risc) + u64::from(at) * 4;
    image.write_dram(flat_id / 2, address, words).unwrap();
    set(image, flat_id, HOST_END + risc, &[at + u32::try_from(words.len()).unwrap()]);
}

impl Bench {
    fn new() -> Self {
        let describe = |flat_id| CoreDescription {
            noc0: core(flat_id),
            logical: LogicalCoord { x: 0, y: 0 },
            kind: CoreKind::Tensix,
            flat_id,
            control_address: CONTROL,
            vector_address: VECTOR,
        };
        let image = DeviceImage::new(DeviceDescription {
            chip_id: 3,
            arch: "wormhole_b0".into(),
            aiclk_mhz: 1000,
            max_compute_cores: 4,
            cores: (0..4).map(describe).collect(),
            dram: DramDescription { bank_count: 2, region_address: REGION, region_bytes: 480_000 },
        });
        let script: Script = Box::new(|_, _| ());
        let accesses = Vec::new();
        let mut bench = Self(Scripted { image, accesses, script, broken: BTreeSet::new() });
        crate::init_device_profiler(&mut bench, &crate::ProfilerOptions::default()).unwrap();
        bench.0.image.set_wall_clock(1 << 40);
        bench.0.accesses.clear();
        bench
    }

    fn ours() -> Self {
        let mut bench = Self::new();
        for flat_id in 0..4 {
            set(&mut bench.0.image, flat_id, ext::SIGNATURE, &[ext::SIGNATURE_VALUE]);
        }
        bench
    }

    fn control(&mut self, flat_id: u32) -> [u32; 64] {
        let mut words = [0; 64];
        self.0.image.read_l1(core(flat_id), CONTROL, &mut words).unwrap();
        words
    }

    fn dram_reads(&self) -> Vec<(u32, u64, usize)> {
        let reads = self.0.accesses.iter().filter_map(|access| match *access {
            Access::ReadDram { bank, address, words } => Some((bank, address, words)),
            _ => None,
        });
        reads.collect()
    }

    fn on_access(&mut self, script: impl FnMut(&mut DeviceImage, &Access) + 'static) {
        self.0.script = Box::new(script);
    }
}

fn run(flat_id: u32, risc: u32, program: u32, start: u32) -> Vec<u32> {
    let mut words = vec![0, 0, flat_id << 5 | risc, program];
    let slots = [(0x8FC0_D001, 0), (0x9FC0_D001, 900), (0x8E42_7001, 10), (0x9E42_7001, 890)];
    words.extend(slots.iter().flat_map(|&(header, offset)| [header, start + offset]));
    words
}

fn programs(readout: &Readout) -> Vec<(u16, Risc, u32)> {
    let of_lane = |lane: &crate::lane::Lane| {
        let id = lane.id;
        lane.runs
            .iter()
            .map(move |run| (id.core.y, id.risc, run.program.base()))
            .collect::<Vec<_>>()
    };
    readout.lanes().flat_map(of_lane).collect()
}

fn losses(readout: &Readout) -> Vec<(LossCause, Option<u32>, LossTotals)> {
    let entry = |(key, totals): (&crate::ledger::LossKey, &LossTotals)| {
        (key.cause, key.program.map(RunHostId::base), *totals)
    };
    readout.losses.entries().map(entry).collect()
}

fn zones(zones: u64) -> LossTotals {
    LossTotals { zones, ..LossTotals::default() }
}

#[test]
fn only_what_was_pushed_is_read() {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (1, 0), 0, &run(1, 0, 7, 100));
    push(&mut bench.0.image, (2, 4), 0, &run(2, 4, 7, 100));
    [0, 1, 1, 0]
        .into_iter()
        .zip(0..)
        .for_each(|(runs, core)| finish(&mut bench.0.image, core, runs));
    let readout = read_device_profiler(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(2, Risc::Brisc, 7), (3, Risc::Trisc2, 7)]);
    let reads = [(0, lane_address(1, 0), 12), (1, lane_address(2, 4), 12)];
    assert_eq!(bench.dram_reads(), reads);
    // Four control vectors, two of them twice, and two runs.
    assert_eq!(readout.words_read, 6 * 64 + 2 * 12);
    assert!(readout.losses.is_empty());
    assert_eq!(readout.anomalies.counts().count(), 0);
}

#[test]
fn lanes_that_nearly_touch_are_read_in_one_piece() {
    let mut bench = Bench::ours();
    let full: Vec<u32> = (0..999).flat_map(|i| run(0, 0, i + 1, 1000 * i)).collect();
    push(&mut bench.0.image, (0, 0), 0, &full);
    push(&mut bench.0.image, (0, 1), 0, &run(0, 1, 7, 100));
    let readout = read_device_profiler(&mut bench).unwrap();
    assert_eq!(bench.dram_reads(), [(0, REGION, 12_012)]);
    assert_eq!(programs(&readout).len(), 1000);
}

/// Ends a launch as the device does once all is pushed.
fn finish(image: &mut DeviceImage, flat_id: u32, run_counter: u32) {
    set(image, flat_id, RUN_COUNTER, &[run_counter]);
    set(image, flat_id, DONE, &[1]);
}

/// Hands a core's lanes back as the device does when it begins a launch and all was read.
fn hand_back(image: &mut DeviceImage, flat_id: u32, generation: u32) {
    set(image, flat_id, HOST_END, &[0; 5]);
    set(image, flat_id, ext::GENERATION, &[generation]);
    set(image, flat_id, ext::FIRST_REFUSED_PROGRAM, &[0; 2]);
}

/// The same run in another generation of its lane.
fn of_generation(generation: u32, mut run: Vec<u32>) -> Vec<u32> {
    run[2] |= generation << 29;
    run
}

#[test]
fn what_was_read_is_acknowledged_and_not_read_again() {
    let mut bench = Bench::ours();
    let mut reader = Reader::new(ReadOptions::default());
    push(&mut bench.0.image, (1, 2), 0, &run(1, 2, 7, 100));
    set(&mut bench.0.image, 1, ext::IDLE_LAUNCHES, &[5]);
    finish(&mut bench.0.image, 1, 1);
    let first = reader.read(&mut bench).unwrap();
    assert_eq!(first.devices[0].discarded_launches, 5);
    let entries: Vec<_> = first.losses.entries().collect();
    let [(key, left_out)] = entries[..] else { panic!("one entry: {entries:?}") };
    assert_eq!((key.lane.core, key.lane.risc), (core(1), Risc::Brisc));
    assert_eq!((key.cause, key.program, left_out.zones), (LossCause::ValidateOff, None, 5));
    assert!(!first.losses.has_failures());
    let control = bench.control(1);
    assert_eq!((control[HOST_END + 2], control[ext::SEEN_RUNS]), (12, 1));
    assert_eq!(control[ext::REFUSED_RUNS..24], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0]);
    // A launch that had begun before: the lanes were not handed back.
    push(&mut bench.0.image, (1, 2), 12, &run(1, 2, 8, 5000));
    finish(&mut bench.0.image, 1, 2);
    bench.0.accesses.clear();
    let second = reader.read(&mut bench).unwrap();
    assert_eq!(programs(&second), [(2, Risc::Trisc0, 8)]);
    assert_eq!(second.devices[0].lanes[0].runs[0].origin, 12);
    assert_eq!(second.devices[0].discarded_launches, 0);
    assert_eq!(bench.dram_reads(), [(0, lane_address(1, 2) + 48, 12)]);
    assert_eq!(bench.control(1)[ext::SEEN_RUNS], 2);
    bench.0.accesses.clear();
    let third = reader.read(&mut bench).unwrap();
    assert_eq!((third.record_count(), bench.dram_reads().len()), (0, 0));
    assert_eq!(third.words_read, 4 * 64 + 3 * 64, "a core at rest is looked at once");
    let stranger = read_device_profiler(&mut bench).unwrap();
    assert_eq!((stranger.record_count(), bench.dram_reads().len()), (0, 0));
}

#[test]
fn a_lane_that_was_handed_back_is_read_from_its_beginning() {
    let mut bench = Bench::ours();
    let mut reader = Reader::new(ReadOptions::default());
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    push(&mut bench.0.image, (0, 1), 0, &run(0, 1, 7, 100));
    finish(&mut bench.0.image, 0, 1);
    reader.read(&mut bench).unwrap();
    hand_back(&mut bench.0.image, 0, 1);
    push(&mut bench.0.image, (0, 0), 0, &of_generation(1, run(0, 0, 8, 5000)));
    // The write of the other RISC is lost, so that its old run is still there.
    set(&mut bench.0.image, 0, HOST_END + 1, &[12]);
    finish(&mut bench.0.image, 0, 2);
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 8)]);
    assert_eq!(readout.anomalies.count(AnomalyKind::StaleRun), 1);
    let lost = LossTotals::at_least_markers(1);
    assert_eq!(losses(&readout), [(LossCause::NeverArrived, None, lost)]);
}

#[test]
fn a_push_that_races_the_read_is_read_the_next_time() {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    finish(&mut bench.0.image, 0, 1);
    bench.on_access(|image, access| {
        if matches!(access, Access::ReadDram { .. }) {
            push(image, (0, 0), 12, &run(0, 0, 8, 5000));
            finish(image, 0, 2);
        }
    });
    let mut reader = Reader::new(ReadOptions::default());
    let first = reader.read(&mut bench).unwrap();
    assert_eq!(bench.control(0)[ext::SEEN_RUNS], 1);
    bench.on_access(|_, _| ());
    let second = reader.read(&mut bench).unwrap();
    assert_eq!(programs(&first), [(1, Risc::Brisc, 7)]);
    assert_eq!(programs(&second), [(1, Risc::Brisc, 8)]);
}

#[test]
fn lanes_that_are_handed_back_between_two_words_are_not_read_twice() {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    finish(&mut bench.0.image, 0, 1);
    let mut reader = Reader::new(ReadOptions::default());
    reader.read(&mut bench).unwrap();
    // A launch has begun; its words arrive between two readings of the control vector.
    set(&mut bench.0.image, 0, DONE, &[0]);
    set(&mut bench.0.image, 0, RUN_COUNTER, &[2]);
    let mut reads = 0;
    bench.on_access(move |image, access| {
        if matches!(access, Access::ReadL1 { core: place, .. } if *place == core(0)) {
            reads += 1;
            if reads == 2 {
                hand_back(image, 0, 1);
                push(image, (0, 0), 0, &of_generation(1, run(0, 0, 9, 5000)));
                finish(image, 0, 2);
            }
        }
    });
    bench.0.accesses.clear();
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 9)]);
    assert_eq!(bench.dram_reads(), [(0, REGION, 12)]);
}

#[test]
fn upstreams_runtime_is_reset_after_its_last_push_was_read() {
    let mut bench = Bench::new();
    push(&mut bench.0.image, (0, 1), 0, &run(0, 1, 7, 100));
    set(&mut bench.0.image, 0, DEVICE_END, &[12, 12, 12, 12, 12]);
    let mut has_raced = false;
    bench.on_access(move |image, access| {
        if matches!(access, Access::ReadDram { .. }) && !has_raced {
            has_raced = true;
            push(image, (0, 1), 12, &run(0, 1, 8, 5000));
        }
    });
    let readout = read_device_profiler(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Ncrisc, 7), (1, Risc::Ncrisc, 8)]);
    let mut expected = [0; 64];
    (expected[50], expected[54], expected[55]) = (0x40, 0, 2);
    assert_eq!(bench.control(0), expected);
    assert!(readout.losses.is_empty());
    let untouched = |access: &Access| matches!(access, Access::WriteL1 { core: place, .. } if *place != core(0));
    assert!(!bench.0.accesses.iter().any(untouched), "idle cores are left alone");
}

#[test]
fn what_is_pushed_faster_than_it_is_read_is_a_loss_of_the_host() {
    let mut bench = Bench::new();
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    let mut end = 12;
    bench.on_access(move |image, access| {
        if matches!(access, Access::ReadL1 { core: place, .. } if *place == core(0)) {
            push(image, (0, 0), end, &run(0, 0, 8 + end, 1000 * end));
            end += 12;
        }
    });
    let readout = read_device_profiler(&mut bench).unwrap();
    let lost = readout.losses.by_cause(LossCause::HostOverwritten);
    let pushed: usize = bench.dram_reads().iter().map(|read| read.2).sum();
    assert_eq!(lost.unknown_markers, 6, "the push before the reset");
    assert_eq!(programs(&readout).len() * 12, pushed);
}

#[test]
fn impossible_control_words_are_brought_back_into_memory() {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    set(&mut bench.0.image, 0, HOST_END, &[u32::MAX]);
    set(&mut bench.0.image, 1, 54, &[200, 9]);
    set(&mut bench.0.image, 2, ext::DRAM_LANE_WORDS, &[u32::MAX]);
    let readout = read_device_profiler(&mut bench).unwrap();
    assert_eq!(bench.dram_reads(), [(0, REGION, 12_000)]);
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 7)]);
    assert_eq!(readout.anomalies.count(AnomalyKind::ImplausibleControlWord), 4);
    let lost = readout.losses.by_cause(LossCause::NeverArrived);
    assert_eq!(lost, LossTotals::at_least_markers(999));
}

#[test]
fn a_core_that_does_not_answer_stops_no_other() {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (3, 0), 0, &run(3, 0, 7, 100));
    bench.0.broken.insert(core(0));
    let readout = read_device_profiler(&mut bench).unwrap();
    assert_eq!(programs(&readout).len(), 1);
    assert_eq!(readout.anomalies.count(AnomalyKind::UnreadableCore), 1);
    let unknown = (LossCause::Unread, None, LossTotals::at_least_markers(0));
    assert_eq!(losses(&readout), [unknown; 5], "of each of its RISCs");
    assert!(readout.losses.has_failures());
    bench.0.broken.extend((1..4).map(core));
    let error = read_device_profiler(&mut bench).unwrap_err();
    assert!(matches!(error, ReadError::NoCoreReadable { .. }), "{error}");
}

#[test]
fn options_that_admit_no_core_are_refused() {
    let cores = CoreSelection::at([Noc0Coord { x: 9, y: 9 }]);
    let options = ReadOptions { cores, ..ReadOptions::default() };
    let error = read_device_profiler_with(&mut Bench::ours(), &options).unwrap_err();
    assert_eq!(error, ReadError::NothingToRead);
    let layout = wire::marker::HeaderLayout { time_high_bits: 32 };
    let options = ReadOptions { header_layout: Some(layout), ..ReadOptions::default() };
    let error = read_device_profiler_with(&mut Bench::ours(), &options).unwrap_err();
    assert_eq!(error, ReadError::HeaderLayout { time_high_bits: 32 });
}

#[test]
fn the_older_control_vector_is_recognised() {
    let mut bench = Bench::new();
    for flat_id in 0..4 {
        let mut words = [0; 64];
        (words[12], words[16], words[17]) = (0x40, flat_id, 2);
        set(&mut bench.0.image, flat_id, 0, &words);
    }
    let mut older = run(2, 1, 7, 100);
    older[2] = 2 << 3 | 1;
    push(&mut bench.0.image, (2, 1), 0, &older);
    let readout = read_device_profiler(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(3, Risc::Ncrisc, 7)]);
    assert_eq!(readout.anomalies.counts().count(), 0);
    assert_eq!(
        bench.control(2)[..20],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 2, 2, 0, 0]
    );
}

#[test]
fn control_vectors_of_no_known_format_are_refused_with_what_was_found() {
    let mut bench = Bench::new();
    for flat_id in 0..4 {
        set(&mut bench.0.image, flat_id, 0, &[77; 64]);
    }
    let text = read_device_profiler(&mut bench).unwrap_err().to_string();
    assert!(text.contains("chip 3") && text.contains("[0x0,0x2,0x40,]"), "{text}");
    assert!(text.contains("found [0x4d,0x4d,0x4d,]"), "{text}");
    let writes = bench.0.accesses.iter().filter(|a| matches!(a, Access::WriteL1 { .. })).count();
    assert_eq!(writes, 0);
}

/// Counters of one RISC: zones, data and events that L1 did not take, runs and markers that DRAM
/// did not take.
fn count(image: &mut DeviceImage, risc: usize, l1: [u32; 3], dram: [u32; 2]) {
    for (first, word) in [29, 34, 39, 9, 14].into_iter().zip(l1.into_iter().chain(dram)) {
        set(image, 0, first + risc, &[word]);
    }
}

fn span(first: u32, last: u32) -> Option<ProgramSpan> {
    let [first, last] = [first, last].map(|id| RunHostId::encode(id, 3));
    Some(ProgramSpan { first, last })
}

#[test]
fn counters_are_entered_once_and_by_what_they_grew() {
    let mut bench = Bench::ours();
    let mut reader = Reader::new(ReadOptions::default());
    push(&mut bench.0.image, (0, 1), 0, &run(0, 1, 7, 100));
    count(&mut bench.0.image, 1, [4, 2, 1], [0, 0]);
    finish(&mut bench.0.image, 0, 1);
    let one = LossTotals { zones: 4, data: 2, events: 1, ..LossTotals::default() };
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(losses(&readout), [(LossCause::L1Full, Some(7), one)]);
    assert!(losses(&reader.read(&mut bench).unwrap()).is_empty());

    // Five runs, of which DRAM takes the first; a counter passes its end.
    push(&mut bench.0.image, (0, 1), 12, &run(0, 1, 8, 5000));
    count(&mut bench.0.image, 1, [3, 2, 1], [4, 100]);
    set(&mut bench.0.image, 0, ext::FIRST_REFUSED_PROGRAM, &[9, 12]);
    set(&mut bench.0.image, 0, DROPPED, &[0b10]);
    finish(&mut bench.0.image, 0, 6);
    let readout = reader.read(&mut bench).unwrap();
    let programs = span(8, 12);
    let in_l1 = LossTotals { zones: u64::from(u32::MAX), programs, ..LossTotals::default() };
    let programs = span(9, 12);
    let in_dram = LossTotals { unknown_markers: 100, runs: 4, programs, ..LossTotals::default() };
    let expected = [(LossCause::L1Full, None, in_l1), (LossCause::DramFull, None, in_dram)];
    assert_eq!(losses(&readout), expected);
    assert_eq!(bench.control(0)[ext::SEEN_RUNS], 6);
}

#[test]
fn a_refused_run_says_why_and_of_which_program() {
    let lost_with = |words: &[(usize, u32)]| {
        let mut bench = Bench::ours();
        count(&mut bench.0.image, 2, [0; 3], [1, 8]);
        set(&mut bench.0.image, 0, ext::FIRST_REFUSED_PROGRAM, &[5, 5]);
        finish(&mut bench.0.image, 0, 1);
        words.iter().for_each(|&(index, word)| set(&mut bench.0.image, 0, index, &[word]));
        losses(&read_device_profiler(&mut bench).unwrap())
    };
    let lost = LossTotals { unknown_markers: 8, runs: 1, ..LossTotals::default() };
    assert_eq!(lost_with(&[(DROPPED, 0b100)]), [(LossCause::DramFull, Some(5), lost)]);
    let timed_out = lost_with(&[(ext::TIMED_OUT_PUSHES, 1)]);
    assert_eq!(timed_out, [(LossCause::PushTimedOut, Some(5), lost)]);
    assert_eq!(lost_with(&[(50, 0)]), [(LossCause::NeverArrived, Some(5), lost)]);
}

#[test]
fn a_run_that_was_not_published_in_time_is_a_loss_of_its_risc() {
    let mut bench = Bench::ours();
    set(&mut bench.0.image, 0, ext::LATE_RUNS, &[0, 3]);
    finish(&mut bench.0.image, 0, 3);
    let readout = read_device_profiler(&mut bench).unwrap();
    let lost = LossTotals { runs: 3, ..LossTotals::at_least_markers(3) };
    assert_eq!(losses(&readout), [(LossCause::NotPublished, None, lost)]);
    assert_eq!(readout.losses.entries().next().unwrap().0.lane.risc, Risc::Trisc0);
}

#[test]
fn who_has_not_seen_the_counters_before_cannot_tell_what_is_new() {
    let mut bench = Bench::ours();
    count(&mut bench.0.image, 1, [4, 0, 0], [0, 0]);
    finish(&mut bench.0.image, 0, 1);
    assert_eq!(read_device_profiler(&mut bench).unwrap().losses.total().zones, 4);
    let unknown = LossTotals::at_least_markers(0);
    let stranger = read_device_profiler(&mut bench).unwrap();
    assert_eq!(losses(&stranger), [(LossCause::L1Full, None, unknown)]);
}

#[test]
fn a_core_that_is_set_up_anew_is_read_from_its_beginning() {
    let mut bench = Bench::ours();
    let mut reader = Reader::new(ReadOptions::default());
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    count(&mut bench.0.image, 0, [4, 0, 0], [0, 0]);
    finish(&mut bench.0.image, 0, 1);
    reader.read(&mut bench).unwrap();
    crate::init_device_profiler(&mut bench, &crate::ProfilerOptions::default()).unwrap();
    assert_eq!(bench.control(0)[ext::GENERATION], 1);
    set(&mut bench.0.image, 0, ext::SIGNATURE, &[ext::SIGNATURE_VALUE]);
    hand_back(&mut bench.0.image, 0, 2);
    push(&mut bench.0.image, (0, 0), 0, &of_generation(2, run(0, 0, 8, 5000)));
    count(&mut bench.0.image, 0, [1, 0, 0], [0, 0]);
    finish(&mut bench.0.image, 0, 1);
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 8)]);
    assert_eq!(losses(&readout), [(LossCause::L1Full, Some(8), zones(1))]);
}

#[test]
fn the_dropped_bit_of_upstream_is_a_loss_of_unknown_size() {
    let mut bench = Bench::new();
    push(&mut bench.0.image, (0, 1), 0, &run(0, 1, 7, 100));
    set(&mut bench.0.image, 0, DROPPED, &[0b10]);
    let readout = read_device_profiler(&mut bench).unwrap();
    let entries = losses(&readout);
    assert_eq!(entries.len(), 1);
    assert!(entries[0].0 == LossCause::DramFull && entries[0].2.is_lower_bound);
}

#[test]
fn upstreams_count_of_launches_says_how_many_runs_a_full_lane_lost() {
    let mut bench = Bench::new();
    push(&mut bench.0.image, (0, 0), 0, &[run(0, 0, 7, 100), run(0, 0, 8, 5000)].concat());
    set(&mut bench.0.image, 0, DROPPED, &[0b11]);
    finish(&mut bench.0.image, 0, 9);
    let readout = read_device_profiler(&mut bench).unwrap();
    let brisc = LossTotals { runs: 7, ..LossTotals::at_least_markers(7) };
    let totals: Vec<_> = readout.losses.entries().map(|(_, totals)| *totals).collect();
    assert_eq!(totals, [brisc, LossTotals::at_least_markers(1)]);
}

#[test]
fn version_2_of_our_runtime_is_read_as_one_that_does_not_count() {
    let mut bench = Bench::new();
    let words = [run(0, 0, 7, 100), run(0, 0, 8, 5000)].concat();
    push(&mut bench.0.image, (0, 0), 0, &words);
    set(&mut bench.0.image, 0, ext::SIGNATURE, &[0x4B50_2000]);
    // Where version 2 marks how many words the host has read, and counts lost launches.
    set(&mut bench.0.image, 0, 8, &[12]);
    set(&mut bench.0.image, 0, 29, &[3]);
    let readout = read_device_profiler(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 8)]);
    assert!(readout.losses.is_empty());
}

fn wait_in_l1(image: &mut DeviceImage, risc: usize, words: &[u32]) {
    image.write_l1(core(0), VECTOR + risc as u64 * 2048, words).unwrap();
    set(image, 0, DEVICE_END + risc, &[u32::try_from(words.len()).unwrap()]);
}

#[test]
fn runs_that_wait_in_l1_are_counted_and_at_the_end_taken() {
    let mut bench = Bench::new();
    push(&mut bench.0.image, (0, 2), 0, &run(0, 2, 7, 100));
    wait_in_l1(&mut bench.0.image, 2, &run(0, 2, 8, 5000));
    let last = ReadOptions { last_read: true, ..ReadOptions::default() };
    let readout = read_device_profiler_with(&mut bench, &last).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Trisc0, 7), (1, Risc::Trisc0, 8)]);
    assert_eq!(readout.devices[0].lanes[0].runs[1].origin, 12);
    assert_eq!((readout.devices[0].pending_runs, bench.control(0)[DEVICE_END + 2]), (0, 0));
}

#[test]
fn a_run_of_ours_that_waits_is_left_to_its_launch() {
    let mut bench = Bench::ours();
    wait_in_l1(&mut bench.0.image, 2, &run(0, 2, 8, 5000));
    let last = ReadOptions { last_read: true, ..ReadOptions::default() };
    let readout = read_device_profiler_with(&mut bench, &last).unwrap();
    assert_eq!((readout.devices[0].pending_runs, readout.record_count()), (1, 0));
    assert_eq!(bench.control(0)[DEVICE_END + 2], 12, "the device alone writes it");
}

#[test]
fn upstreams_last_run_is_not_taken_twice() {
    let mut bench = Bench::new();
    let last = run(0, 0, 7, 100);
    push(&mut bench.0.image, (0, 0), 0, &last);
    wait_in_l1(&mut bench.0.image, 0, &last);
    let options = ReadOptions { last_read: true, ..ReadOptions::default() };
    let readout = read_device_profiler_with(&mut bench, &options).unwrap();
    assert_eq!((programs(&readout).len(), readout.record_count()), (1, 4));
    assert_eq!(readout.anomalies.counts().count(), 0);
}

#[test]
fn trace_only_lanes_belong_to_all_riscs_of_a_core() {
    let mut bench = Bench::new();
    wait_in_l1(&mut bench.0.image, 0, &run(0, 0, 2, 100));
    wait_in_l1(&mut bench.0.image, 1, &run(0, 0, 2, 100));
    let options =
        ReadOptions { last_read: true, mode: CaptureMode::TraceOnly, ..ReadOptions::default() };
    let readout = read_device_profiler_with(&mut bench, &options).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::TensixAggregate, 2)]);
}

#[test]
fn ends_without_a_place_to_push_to_are_a_loss() {
    let mut bench = Bench::new();
    set(&mut bench.0.image, 0, 50, &[0]);
    set(&mut bench.0.image, 0, HOST_END, &[24]);
    let readout = read_device_profiler(&mut bench).unwrap();
    assert!(bench.dram_reads().is_empty());
    assert_eq!(readout.losses.by_cause(LossCause::NeverArrived).unknown_markers, 12);
}

#[test]
fn a_reader_goes_on_across_a_wrap_and_starts_again_after_a_reset() {
    let mut bench = Bench::ours();
    let mut late = run(0, 0, 7, 0xF000_0000);
    for slot in [4, 6, 8, 10] {
        late[slot] |= 0xFFF;
    }
    push(&mut bench.0.image, (0, 0), 0, &late);
    bench.0.image.set_wall_clock((1 << 44) + 10);
    let mut reader = Reader::new(ReadOptions::default());
    reader.read(&mut bench).unwrap();
    push(&mut bench.0.image, (0, 0), 12, &run(0, 0, 8, 100));
    bench.0.image.set_wall_clock((1 << 44) + (1 << 33));
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(readout.devices[0].lanes[0].times[0], (1 << 44) + (1 << 32) + 100);
    assert_eq!(readout.anomalies.count(AnomalyKind::TimestampWrap), 1);
    assert!(readout.losses.is_empty());

    push(&mut bench.0.image, (0, 0), 24, &run(0, 0, 9, 50));
    bench.0.image.set_wall_clock(1 << 33);
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(readout.devices[0].lanes[0].times[0], (1 << 32) + 50);
    assert_eq!(readout.anomalies.counts().count(), 0);
}

#[test]
fn a_lane_that_begins_after_a_wrap_has_the_times_of_the_others() {
    let mut bench = Bench::ours();
    let mut early = run(0, 0, 1, 0xF000_0000);
    (4..12).step_by(2).for_each(|slot| early[slot] |= 0xFFF);
    push(&mut bench.0.image, (0, 0), 0, &early);
    finish(&mut bench.0.image, 0, 1);
    bench.0.image.set_wall_clock((1 << 44) - 50_000);
    let mut reader = Reader::new(ReadOptions::default());
    let mut readout = reader.read(&mut bench).unwrap();
    push(&mut bench.0.image, (0, 0), 12, &run(0, 0, 2, 5_000));
    push(&mut bench.0.image, (0, 1), 0, &run(0, 1, 2, 5_000));
    finish(&mut bench.0.image, 0, 2);
    bench.0.image.set_wall_clock((1 << 44) + (1 << 33));
    readout.append(reader.read(&mut bench).unwrap());
    let firsts: Vec<_> = readout.lanes().map(|lane| lane.times[lane.times.len() - 4]).collect();
    assert_eq!(firsts, [(1 << 44) + (1 << 32) + 5_000; 2]);
    assert_eq!(readout.anomalies.anomaly_count(), 0);
}

#[test]
fn a_lane_that_cannot_be_read_is_tried_again() {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    finish(&mut bench.0.image, 0, 1);
    // A bank that is smaller than the description says.
    let mut mesh = Broken { bench, is_gone: false };
    let readout = read_device_profiler(&mut mesh).unwrap();
    assert_eq!(readout.anomalies.count(AnomalyKind::UnreadableCore), 1);
    assert_eq!(mesh.bench.control(0)[ext::SEEN_RUNS], 0);
    let lost = (LossCause::Unread, None, LossTotals::at_least_markers(1));
    assert_eq!(losses(&readout), [lost]);
    let last = ReadOptions { last_read: true, ..ReadOptions::default() };
    let mut reader = Reader::new(last);
    let mut readout = reader.read(&mut mesh).unwrap();
    readout.append(reader.read(&mut mesh).unwrap());
    assert_eq!(losses(&readout), [lost], "it is the same run");
    readout.append(reader.read(&mut mesh.bench).unwrap());
    assert_eq!((losses(&readout), programs(&readout).len()), (vec![], 1));
}

#[test]
fn words_that_cannot_be_read_are_of_launches_after_the_last_one_that_was() {
    let now = (1 << 32) + 20_000;
    for is_gone in [false, true] {
        let mut bench = Bench::ours();
        bench.0.image.set_wall_clock(now);
        push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
        finish(&mut bench.0.image, 0, 1);
        let mut reader = Reader::new(ReadOptions::default());
        let mut readout = reader.read(&mut bench).unwrap();
        let after = readout.lanes().flat_map(|lane| &lane.times).max().copied();
        push(&mut bench.0.image, (0, 0), 12, &run(0, 0, 8, 5000));
        finish(&mut bench.0.image, 0, 2);
        let mut mesh = Broken { bench, is_gone };
        let windows = |readout: &Readout| -> Vec<_> {
            readout.losses.windows().map(|(_, window)| *window).collect()
        };
        readout.append(reader.read(&mut mesh).unwrap());
        let before = is_gone.then_some(now);
        let window = LossWindow { after, before, may_cut_launches: false };
        assert_eq!(windows(&readout), [window]);
        readout.append(reader.read(&mut mesh.bench).unwrap());
        let expected = if is_gone { vec![window] } else { vec![] };
        assert_eq!(windows(&readout), expected, "a later read may get it");
    }
}

#[test]
fn words_that_no_later_read_can_find_are_lost_for_good() {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    push(&mut bench.0.image, (0, 1), 0, &run(0, 1, 7, 100));
    finish(&mut bench.0.image, 0, 1);
    let mut reader = Reader::new(ReadOptions::default());
    let mut mesh = Broken { bench, is_gone: true };
    let mut readout = reader.read(&mut mesh).unwrap();
    push(&mut mesh.bench.0.image, (0, 0), 12, &run(0, 0, 8, 5000));
    finish(&mut mesh.bench.0.image, 0, 2);
    readout.append(reader.read(&mut mesh.bench).unwrap());
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 8)]);
    let lost = (LossCause::Unreadable, None, LossTotals::at_least_markers(1));
    assert_eq!(losses(&readout), [lost; 2]);
}

/// A chip whose DRAM does not answer.
struct Broken {
    bench: Bench,
    is_gone: bool,
}

impl Mesh for Broken {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, _: usize) -> Option<&mut dyn Device> {
        Some(self)
    }
}

impl Device for Broken {
    fn description(&self) -> &DeviceDescription {
        self.bench.0.description()
    }

    fn read_l1(&mut self, core: Noc0Coord, at: u64, words: &mut [u32]) -> Result<(), AccessError> {
        self.bench.0.read_l1(core, at, words)
    }

    fn write_l1(&mut self, core: Noc0Coord, at: u64, words: &[u32]) -> Result<(), AccessError> {
        self.bench.0.write_l1(core, at, words)
    }

    fn read_dram(&mut self, _: u32, _: u64, _: &mut [u32]) -> Result<(), AccessError> {
        let (chip_id, reason) = (3, "asleep".into());
        Err(match self.is_gone {
            true => AccessError::Gone { chip_id, reason },
            false => AccessError::Unreachable { chip_id, reason },
        })
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.bench.0.read_wall_clock(core)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.bench.0.host_time_ns()
    }
}

proptest::proptest! {
    #[test]
    fn any_control_words_leave_the_reader_standing(
        ours in proptest::collection::vec(proptest::prelude::any::<bool>(), 4),
        words in proptest::collection::vec((0_usize..64, proptest::prelude::any::<u32>()), 0..24),
        small in proptest::collection::vec((0_usize..64, 0_u32..13_000), 0..24),
        last_read: bool,
    ) {
        let mut bench = Bench::new();
        for (flat_id, is_ours) in (0..4).zip(ours) {
            push(&mut bench.0.image, (flat_id, 0), 0, &run(flat_id, 0, 7, 100));
            let signature = if is_ours { ext::SIGNATURE_VALUE } else { 0 };
            set(&mut bench.0.image, flat_id, ext::SIGNATURE, &[signature]);
        }
        for (place, (index, word)) in words.into_iter().chain(small).enumerate() {
            set(&mut bench.0.image, u32::try_from(place % 4).unwrap(), index, &[word]);
        }
        let options = ReadOptions { last_read, ..ReadOptions::default() };
        if let Ok(readout) = read_device_profiler_with(&mut bench, &options) {
            // No more than the region, its gaps, and what the cores keep in L1.
            proptest::prop_assert!(readout.words_read < 2 * 2 * 120_000 + 4 * 5 * 4096);
        }
    }
}
