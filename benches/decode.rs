//! Wall-clock time of the decoder, compared with two references in the same run.
//!
//! The input is one chip's DRAM with sixteen million markers (64 cores of 5 RISCs with full lanes,
//! 143 MB). The benches are
//!
//! - `copy_and_drop`, `decode_and_drop`: copy the lanes, or decode them with [`LaneDecoder`], on
//!   one thread, one lane at a time, reusing the same memory;
//! - `copy_and_keep_again`, `decode_and_keep_again`: keep all results, in the memory of the
//!   previous pass;
//! - `copy_and_keep`, `decode_and_keep`: keep all results, in fresh memory; the time includes the
//!   operating system's work on new pages;
//! - `fill_and_keep`: writes fresh memory of the size of the decoded columns. Its time is the lower
//!   limit for any decoder that keeps 12 bytes per record;
//! - `decode_pair_statistics`: decodes, pairs and sums up by zone, in fresh memory, with the
//!   engine of `kprof report`; on all processors, and on one for comparison;
//! - `set_of_records`: decodes one marker at a time into ordered sets of large records, in fresh
//!   memory, as TT-Metal's host reader stores them, for every sixteenth lane. For each marker, the
//!   bench copies name and source location from the table of sources, inserts the record into its
//!   set, looks up the core, and keeps the smallest time. This bench neither pairs starts with ends
//!   nor adds up durations.
//!
//! Each bench also asserts its result. Compare the bytes per second of benches that use memory in
//! the same way. `decode_pair_statistics` and `set_of_records` both allocate all of their memory.
//! If the operating system gives large pages on request, `GLIBC_TUNABLES=glibc.malloc.hugetlb=1`
//! shows the cost of small pages.

use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};
use host_reader::{
    analysis::paired_zone_statistics,
    decode::{CaptureMode, DecodedLane, HostIdForm, LaneContext, LaneDecoder, LaneState},
    lane::{Lane as Columns, LaneId},
    mesh::Noc0Coord,
    readout::{ChipSummary, DeviceReadout, Readout},
};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::{
    collections::{BTreeSet, HashMap},
    hint::black_box,
    time::Duration,
};
use wire::{CoreKind, Cycles, Header, PacketKind, RunHeader, ZoneId, generation, run::IdPacking};

const CORE_COUNT: u16 = 64;
const LANE_WORDS: usize = 112_000;
/// Step between the lanes that the bench of ordered sets decodes (every 16th lane). Ordered sets
/// take a lot of time and memory.
const NAIVE_SHARE: usize = 16;

/// Words of a lane, the number of records in the words, and the number of data records.
struct Lane {
    context: LaneContext,
    words: Vec<u32>,
    record_count: usize,
    data_count: usize,
}

/// Percentage of records that are data; the others are zones.
#[derive(Clone, Copy)]
struct Mix {
    name: &'static str,
    data_percent: u64,
}

const MIXES: [Mix; 2] =
    [Mix { name: "zones", data_percent: 0 }, Mix { name: "mixed", data_percent: 6 }];

fn image(mix: Mix) -> Vec<Lane> {
    let mut dice = 0x9E37_79B9_7F4A_7C15;
    let mut lanes = Vec::new();
    for core in 0..CORE_COUNT {
        for risc_index in 0..5 {
            let Some(risc) = CoreKind::Tensix.risc(risc_index) else { continue };
            let noc0 = Noc0Coord { x: 1 + core % 8, y: 1 + core / 8 };
            let context = LaneContext {
                lane: LaneId { chip_id: 0, core: noc0, risc },
                risc_index: u32::try_from(risc_index).unwrap_or(0),
                flat_id: core.into(),
                generation: generation::CURRENT,
                lane_generation: Some(0),
                mode: CaptureMode::Workers,
                host_ids: HostIdForm::Base,
                read_at: None,
            };
            lanes.push(filled_lane(context, mix, &mut dice));
        }
    }
    lanes
}

/// Fills a lane with runs of 8 to 60 zones.
fn filled_lane(context: LaneContext, mix: Mix, dice: &mut u64) -> Lane {
    let words = Vec::with_capacity(LANE_WORDS);
    let mut lane = Lane { context, words, record_count: 0, data_count: 0 };
    let mut clock = 1_u64 << 36;
    for program_id in 1.. {
        let (zone_count, before) = (8 + roll(dice) % 52, lane.words.len());
        let start = lane.words.len();
        let header = RunHeader {
            risc_index: context.risc_index,
            flat_id: context.flat_id,
            trace_counter: 0,
            program_id,
            generation: 0,
        };
        lane.words.extend(header.to_words(IdPacking::RISC5));
        lane.words.extend([0; 8]);
        slot(&mut lane, start + 4, PacketKind::ZoneStart, &mut clock);
        slot(&mut lane, start + 8, PacketKind::ZoneStart, &mut clock);
        let (records_before, data_before) = (lane.record_count, lane.data_count);
        for _ in 0..zone_count {
            zone(&mut lane, mix, dice, &mut clock);
        }
        if !lane.words.len().is_multiple_of(4) {
            lane.words.extend([wire::marker::EMPTY_HEADER, 0]);
        }
        slot(&mut lane, start + 10, PacketKind::ZoneEnd, &mut clock);
        slot(&mut lane, start + 6, PacketKind::ZoneEnd, &mut clock);
        if lane.words.len() > LANE_WORDS {
            lane.words.truncate(before);
            (lane.record_count, lane.data_count) = (records_before - 2, data_before);
            break;
        }
    }
    lane
}

fn slot(lane: &mut Lane, at: usize, kind: PacketKind, clock: &mut u64) {
    *clock += 30;
    let time = Cycles(*clock);
    lane.words[at] = Header::new(kind, ZoneId(0xFC0D), time).0;
    lane.words[at + 1] = time.low_word();
    lane.record_count += 1;
}

fn zone(lane: &mut Lane, mix: Mix, dice: &mut u64, clock: &mut u64) {
    let id = ZoneId(u16::try_from(1 + roll(dice) % 200).unwrap_or(1));
    let has_data = roll(dice) % 100 < mix.data_percent * 2;
    let data = has_data.then_some(PacketKind::TimestampedData);
    for kind in [PacketKind::ZoneStart].into_iter().chain(data).chain([PacketKind::ZoneEnd]) {
        *clock += 20 + roll(dice) % 200;
        let time = Cycles(*clock);
        lane.words.extend([Header::new(kind, id, time).0, time.low_word()]);
        lane.words.extend([0xDEAD_BEEF, 0x0BAD_CAFE].into_iter().take(kind.payload_words()));
        lane.record_count += 1;
    }
    lane.data_count += usize::from(has_data);
}

fn roll(dice: &mut u64) -> u64 {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    *dice >> 16
}

fn decode(lane: &Lane) -> DecodedLane {
    decode_into(lane, Columns::new(lane.context.lane))
}

fn decode_into(lane: &Lane, memory: Columns) -> DecodedLane {
    let mut decoder = LaneDecoder::with_memory(&lane.context, LaneState::default(), memory);
    decoder.feed(&lane.words, 0);
    decoder.finish().0
}

/// Returns the number of zones in a report's statistics, and the readout that the report keeps.
fn zones_in_statistics(lanes: &[Lane]) -> (u64, Readout) {
    let chip = ChipSummary {
        chip_id: 0,
        arch: "wormhole_b0".to_owned(),
        aiclk_mhz: 1000,
        max_compute_cores: Some(CORE_COUNT.into()),
        known_lines: [].into(),
    };
    let lanes = lanes.par_iter().map(|lane| {
        let decoded = decode(lane);
        assert!(decoded.anomalies.is_empty() && decoded.losses.is_empty());
        decoded.lane
    });
    let device =
        DeviceReadout { chip, lanes: lanes.collect(), pending_runs: 0, discarded_launches: 0 };
    let readout = Readout { devices: vec![device], ..Readout::default() };
    let (statistics, anomalies) = paired_zone_statistics(&readout);
    assert!(anomalies.is_empty());
    (statistics.iter().map(|zone| zone.cycles.count).sum(), readout)
}

/// A record with all fields that TT-Metal's reader stores for each marker.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FatRecord {
    timestamp: u64,
    chip: u32,
    core: (u16, u16),
    risc: u8,
    id: u16,
    kind: u8,
    program: u32,
    data: u64,
    op_name: String,
    name: String,
    file: String,
    line: u64,
    keywords: [bool; 17],
}

/// Source of a marker's id: name, file, line, and the keywords in the name.
#[derive(Clone, Default)]
struct Source {
    name: String,
    file: String,
    line: u64,
    keywords: [bool; 17],
}

type Sources = HashMap<u16, Source>;

fn sources() -> Sources {
    let file = "/proj/tt_metal/kernels/dataflow/reader_unary_interleaved.cpp";
    let source = |id| {
        let name = format!("ZONE-NUMBER-{id}-OF-THE-KERNEL");
        let keywords = [name.contains("-FW"); 17];
        (id, Source { name, file: file.to_owned(), line: 10, keywords })
    };
    (0..=u16::MAX).filter(|id| *id < 300 || *id == 0xFC0D).map(source).collect()
}

/// Reader that stores a large record for each marker in ordered sets, as TT-Metal's host reader
/// does.
#[derive(Default)]
struct NaiveReader {
    sets: Vec<BTreeSet<FatRecord>>,
    contexts: BTreeSet<(u32, (u16, u16))>,
    smallest_timestamp: Option<u64>,
}

impl NaiveReader {
    /// Iterates over the markers of a lane and inserts a record for each.
    fn read(&mut self, lane: &Lane, sources: &Sources) {
        self.sets.push(BTreeSet::new());
        let mut program = 0;
        let mut at = 0;
        while at + 1 < lane.words.len() {
            let (header, low) = (Header(lane.words[at]), lane.words[at + 1]);
            if !header.is_marker() {
                program = lane.words[at + 3];
                at += 4;
                continue;
            }
            let Some(kind) = header.kind() else { break };
            if !header.is_empty() {
                let data = lane.words.get(at + 2..at + 2 + kind.payload_words()).unwrap_or(&[]);
                self.insert(fat_record(lane, (header, low), program, data, sources));
            }
            at += kind.record_words();
        }
    }

    /// Copies the record into its set and updates the data of its core.
    fn insert(&mut self, record: FatRecord) {
        if let Some(set) = self.sets.last_mut() {
            set.insert(black_box(&record).clone());
        }
        self.contexts.insert((record.chip, record.core));
        let smallest = self.smallest_timestamp.unwrap_or(record.timestamp);
        self.smallest_timestamp = Some(smallest.min(record.timestamp));
    }
}

fn fat_record(
    lane: &Lane,
    (header, low): (Header, u32),
    program: u32,
    data: &[u32],
    sources: &Sources,
) -> FatRecord {
    let source = sources.get(&header.id().0).cloned().unwrap_or_default();
    let Source { name, file, line, keywords } = source;
    let LaneId { chip_id, core, .. } = lane.context.lane;
    FatRecord {
        timestamp: header.time(low).0,
        chip: chip_id,
        core: (core.x, core.y),
        risc: u8::try_from(lane.context.risc_index).unwrap_or(0),
        id: header.id().0,
        kind: header.packet_type().0,
        program,
        data: data.iter().fold(0, |value, &word| value << 32 | u64::from(word)),
        op_name: String::new(),
        keywords,
        name,
        file,
        line,
    }
}

type Group<'a> = BenchmarkGroup<'a, WallTime>;

fn bench_mix(criterion: &mut Criterion, mix: Mix) {
    let lanes = image(mix);
    let word_count: usize = lanes.iter().map(|lane| lane.words.len()).sum();
    assert!(record_count(&lanes) > 16_000_000, "{}", record_count(&lanes));
    let mut group = criterion.benchmark_group(format!("decode/{}", mix.name));
    group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(4));
    group.sample_size(10).throughput(Throughput::Bytes(word_count as u64 * 4));
    bench_dropping(&mut group, &lanes);
    bench_keeping_again(&mut group, &lanes);
    bench_keeping(&mut group, &lanes);
    bench_statistics(&mut group, &lanes);
    bench_set(&mut group, &lanes.iter().step_by(NAIVE_SHARE).collect::<Vec<_>>());
    group.finish();
}

fn record_count(lanes: &[Lane]) -> usize {
    lanes.iter().map(|lane| lane.record_count).sum()
}

/// Asserts that everything was decoded.
fn check(decoded: &[DecodedLane], lanes: &[Lane]) {
    let records: usize = decoded.iter().map(|decoded| decoded.lane.record_count()).sum();
    let data: usize = decoded.iter().map(|decoded| decoded.lane.data.len()).sum();
    let data_count = lanes.iter().map(|lane| lane.data_count).sum();
    assert_eq!((records, data), (record_count(lanes), data_count));
}

fn bench_dropping(group: &mut Group<'_>, lanes: &[Lane]) {
    group.bench_function("copy_and_drop", |bench| {
        let mut copy = vec![0; LANE_WORDS];
        bench.iter(|| {
            for lane in lanes {
                copy[..lane.words.len()].copy_from_slice(black_box(&lane.words));
                black_box(&copy);
            }
        });
    });
    group.bench_function("decode_and_drop", |bench| {
        let mut memory = None;
        bench.iter(|| {
            let mut records = 0;
            for lane in lanes {
                let decoded = decode_into(
                    lane,
                    memory.take().unwrap_or_else(|| Columns::new(lane.context.lane)),
                );
                records += decoded.lane.record_count();
                memory = Some(decoded.lane);
            }
            assert_eq!(records, record_count(lanes));
        });
    });
}

fn bench_keeping_again(group: &mut Group<'_>, lanes: &[Lane]) {
    group.bench_function("copy_and_keep_again", |bench| {
        let mut copies: Vec<Vec<u32>> = lanes.iter().map(|lane| lane.words.clone()).collect();
        bench.iter(|| {
            for (copy, lane) in copies.iter_mut().zip(lanes) {
                copy.copy_from_slice(black_box(&lane.words));
            }
            black_box(&copies);
        });
    });
    group.bench_function("decode_and_keep_again", |bench| {
        let mut kept: Vec<DecodedLane> = lanes.iter().map(decode).collect();
        bench.iter(|| {
            for (decoded, lane) in kept.iter_mut().zip(lanes) {
                let id = decoded.lane.id;
                let memory = std::mem::replace(&mut decoded.lane, Columns::new(id));
                *decoded = decode_into(black_box(lane), memory);
            }
            check(&kept, lanes);
        });
    });
}

fn bench_keeping(group: &mut Group<'_>, lanes: &[Lane]) {
    group.bench_function("copy_and_keep", |bench| {
        bench.iter_batched(
            || (),
            |()| lanes.iter().map(|lane| lane.words.clone()).collect::<Vec<_>>(),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("fill_and_keep", |bench| {
        bench.iter_batched(
            || (),
            |()| lanes.iter().map(|lane| vec![1_u32; lane.words.len() / 2 * 3]).collect::<Vec<_>>(),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("decode_and_keep", |bench| {
        bench.iter_batched(
            || (),
            |()| {
                let decoded: Vec<DecodedLane> = lanes.iter().map(decode).collect();
                check(&decoded, lanes);
                decoded
            },
            BatchSize::PerIteration,
        );
    });
}

fn bench_statistics(group: &mut Group<'_>, lanes: &[Lane]) {
    let data = lanes.iter().map(|lane| lane.data_count).sum::<usize>();
    let zones = (record_count(lanes) - data) / 2;
    let run = || {
        let (count, readout) = zones_in_statistics(lanes);
        assert_eq!(count, zones as u64);
        readout
    };
    for (name, threads) in [("one_thread", threads(1)), ("all_threads", threads(0))] {
        group.bench_function(format!("decode_pair_statistics/{name}"), |bench| {
            bench.iter_batched(|| (), |()| threads.install(run), BatchSize::PerIteration);
        });
    }
}

/// Makes a pool of `count` threads; 0 means one per processor.
fn threads(count: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(count).build().expect("threads")
}

fn bench_set(group: &mut Group<'_>, some: &[&Lane]) {
    let sources = sources();
    let some_words: usize = some.iter().map(|lane| lane.words.len()).sum();
    let some_records: usize = some.iter().map(|lane| lane.record_count).sum();
    group.throughput(Throughput::Bytes(some_words as u64 * 4));
    group.bench_function("set_of_records", |bench| {
        bench.iter_batched(
            || (),
            |()| {
                let mut reader = NaiveReader::default();
                some.iter().for_each(|lane| reader.read(lane, &sources));
                let count: usize = reader.sets.iter().map(BTreeSet::len).sum();
                assert_eq!(count, some_records);
                reader
            },
            BatchSize::PerIteration,
        );
    });
}

fn decoder(criterion: &mut Criterion) {
    for mix in MIXES {
        bench_mix(criterion, mix);
    }
}

criterion_group!(benches, decoder);
criterion_main!(benches);
