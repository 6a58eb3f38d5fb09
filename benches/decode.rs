//! Wall-clock cost of the decoder, beside two yardsticks in the same run.
//!
//! One chip's DRAM with about two million markers (64 cores of 5 RISCs with full lanes) is
//!
//! - `copy`: copied into memory that is in use already;
//! - `decode_and_drop`: decoded by [`LaneDecoder`] on one thread, lane by lane, so that memory
//!   is used again;
//! - `copy_and_keep`, `decode_and_keep`: the same into fresh memory, where the operating system's
//!   work on new pages is part of the time;
//! - `set_of_records`: decoded one marker at a time into ordered sets of fat records, the way
//!   upstream's host reader keeps them, over every eighth lane.
//!
//! Each also asserts what it found. The figures to compare are bytes per second.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use host_reader::{
    decode::{CaptureMode, DecodedLane, HostIdForm, LaneContext, LaneDecoder, LaneState},
    lane::LaneId,
    mesh::Noc0Coord,
};
use std::{
    collections::{BTreeSet, HashMap},
    hint::black_box,
    time::Duration,
};
use wire::{CoreKind, Cycles, Header, PacketKind, RunHeader, ZoneId, generation, run::IdPacking};

const CORE_COUNT: u16 = 64;
const LANE_WORDS: usize = 12_000;
/// The sets take so long and so much memory that they see this part of the lanes.
const NAIVE_SHARE: usize = 8;

/// A lane's words and what they hold.
struct Lane {
    context: LaneContext,
    words: Vec<u32>,
    record_count: usize,
    data_count: usize,
}

/// How many of a hundred records are data; the others are zones.
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
                has_trailers: true,
                mode: CaptureMode::Workers,
                host_ids: HostIdForm::Base,
                read_at: None,
            };
            lanes.push(filled_lane(context, mix, &mut dice));
        }
    }
    lanes
}

/// Runs of 8 to 60 zones until the lane is full.
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
    let mut decoder = LaneDecoder::new(&lane.context, LaneState::default());
    decoder.feed(&lane.words, 0);
    decoder.finish().0
}

/// A record with everything in it, as upstream's reader keeps for each marker.
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

type Sources = HashMap<u16, (String, String, u64)>;

fn sources() -> Sources {
    let file = "/proj/tt_metal/kernels/dataflow/reader_unary_interleaved.cpp";
    let source = |id| (id, (format!("ZONE-NUMBER-{id}-OF-THE-KERNEL"), file.to_owned(), 10));
    (0..=u16::MAX).filter(|id| *id < 300 || *id == 0xFC0D).map(source).collect()
}

/// Walks a lane pair by pair, looks names up and inserts copies into an ordered set.
fn set_of_records(lane: &Lane, sources: &Sources) -> BTreeSet<FatRecord> {
    let mut records = BTreeSet::new();
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
            records.insert(fat_record(lane, (header, low), program, data, sources));
        }
        at += kind.record_words();
    }
    records
}

fn fat_record(
    lane: &Lane,
    (header, low): (Header, u32),
    program: u32,
    data: &[u32],
    sources: &Sources,
) -> FatRecord {
    let (name, file, line) = sources.get(&header.id().0).cloned().unwrap_or_default();
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
        keywords: [name.contains("-FW"); 17],
        name,
        file,
        line,
    }
}

fn bench_mix(criterion: &mut Criterion, mix: Mix) {
    let lanes = image(mix);
    let record_count: usize = lanes.iter().map(|lane| lane.record_count).sum();
    let data_count: usize = lanes.iter().map(|lane| lane.data_count).sum();
    let word_count: usize = lanes.iter().map(|lane| lane.words.len()).sum();
    assert!(record_count > 1_700_000, "{record_count}");
    let mut group = criterion.benchmark_group(format!("decode/{}", mix.name));
    group.measurement_time(Duration::from_secs(6)).sample_size(30);
    group.throughput(Throughput::Bytes(word_count as u64 * 4));

    let mut copy = vec![0; word_count];
    group.bench_function("copy", |bench| {
        bench.iter(|| {
            let mut rest = copy.as_mut_slice();
            for lane in &lanes {
                let (target, after) = std::mem::take(&mut rest).split_at_mut(lane.words.len());
                target.copy_from_slice(black_box(&lane.words));
                rest = after;
            }
            black_box(&copy)[word_count - 1]
        });
    });
    group.bench_function("copy_and_keep", |bench| {
        bench.iter_batched(
            || (),
            |()| lanes.iter().map(|lane| lane.words.clone()).collect::<Vec<_>>(),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("decode_and_keep", |bench| {
        bench.iter_batched(
            || (),
            |()| {
                let decoded: Vec<DecodedLane> = lanes.iter().map(decode).collect();
                let records: usize = decoded.iter().map(|d| d.lane.record_count()).sum();
                let data: usize = decoded.iter().map(|d| d.lane.data.len()).sum();
                assert_eq!((records, data), (record_count, data_count));
                decoded
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("decode_and_drop", |bench| {
        bench.iter(|| {
            let records: usize = lanes.iter().map(|lane| decode(lane).lane.record_count()).sum();
            assert_eq!(records, record_count);
        });
    });

    let sources = sources();
    let some: Vec<&Lane> = lanes.iter().step_by(NAIVE_SHARE).collect();
    let some_words: usize = some.iter().map(|lane| lane.words.len()).sum();
    let some_records: usize = some.iter().map(|lane| lane.record_count).sum();
    group.throughput(Throughput::Bytes(some_words as u64 * 4)).sample_size(10);
    group.bench_function("set_of_records", |bench| {
        bench.iter_batched(
            || (),
            |()| {
                let sets: Vec<_> = some.iter().map(|lane| set_of_records(lane, &sources)).collect();
                assert_eq!(sets.iter().map(BTreeSet::len).sum::<usize>(), some_records);
                sets
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn decoder(criterion: &mut Criterion) {
    for mix in MIXES {
        bench_mix(criterion, mix);
    }
}

criterion_group!(benches, decoder);
criterion_main!(benches);
