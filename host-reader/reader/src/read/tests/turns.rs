//! Tests of lanes that wrap: which words are read, and which are acknowledged.

use super::*;

/// Size of a lane in words, as [`Bench`] configures it.
const LANE_WORDS: u32 = 12_000;

/// Sets the position at which a lane wrapped, and the lane's end.
fn turn(image: &mut DeviceImage, (flat_id, risc): (u32, usize), turned_at: u32, end: u32) {
    // The word has 17 bits for the end. The other bits are the wrap position without its two lowest
    // bits, which are 0.
    set(image, flat_id, HOST_END + risc, &[((turned_at / 4) << 17) | end]);
}

/// Returns consecutive runs, one for each of `programs`.
fn runs(programs: std::ops::Range<u32>) -> Vec<u32> {
    programs.flat_map(|program| run(0, 0, program, 1000 * program)).collect()
}

fn consumed(bench: &mut Bench) -> [u32; 5] {
    bench.control(0)[59..].try_into().unwrap()
}

/// Returns a core with a full lane: of its thousand runs, the host has read the first hundred.
fn bench_with_full_lane() -> (Bench, Reader) {
    let mut bench = Bench::ours();
    let mut reader = Reader::new(ReadOptions::default());
    push(&mut bench.0.image, (0, 0), 0, &runs(0..100));
    finish(&mut bench.0.image, 0, 100);
    assert_eq!(reader.read(&mut bench).unwrap().devices[0].lanes[0].runs.len(), 100);
    assert_eq!(consumed(&mut bench), [1200, 0, 0, 0, 0]);
    push(&mut bench.0.image, (0, 0), 1200, &runs(100..1000));
    finish(&mut bench.0.image, 0, 1000);
    bench.0.accesses.clear();
    (bench, reader)
}

#[test]
fn a_lane_that_has_turned_is_read_from_its_end_and_its_beginning() {
    let (mut bench, mut reader) = bench_with_full_lane();
    push(&mut bench.0.image, (0, 0), 0, &runs(1000..1099));
    turn(&mut bench.0.image, (0, 0), LANE_WORDS, 99 * 12);
    finish(&mut bench.0.image, 0, 1099);
    let readout = reader.read(&mut bench).unwrap();
    let found: Vec<_> = programs(&readout).into_iter().map(|(.., program)| program).collect();
    assert_eq!(found, Vec::from_iter(100..1099));
    assert_eq!(readout.anomalies.anomaly_count(), 0);
    assert!(readout.losses.is_empty());
    assert_eq!(bench.dram_reads(), [(0, REGION + 4800, 10_800), (0, REGION, 1188)]);
    assert_eq!((consumed(&mut bench)[0], bench.control(0)[ext::SEEN_RUNS]), (1188, 1099));

    // The lane continues after word 1188; the part before the wrap has been read.
    push(&mut bench.0.image, (0, 0), 1188, &runs(1099..1100));
    turn(&mut bench.0.image, (0, 0), LANE_WORDS, 1200);
    finish(&mut bench.0.image, 0, 1100);
    bench.0.accesses.clear();
    assert_eq!(programs(&reader.read(&mut bench).unwrap()), [(1, Risc::Brisc, 1099)]);
    assert_eq!(bench.dram_reads(), [(0, REGION + 4752, 12)]);
}

#[test]
fn a_lane_may_have_turned_with_nothing_unread_behind_or_before() {
    for (turned_at, end, unread) in [(1200, 12, 12), (1200, 0, 0), (1212, 0, 12)] {
        let (mut bench, mut reader) = bench_with_full_lane();
        push(&mut bench.0.image, (0, 0), 0, &runs(2000..2001));
        turn(&mut bench.0.image, (0, 0), turned_at, end);
        let readout = reader.read(&mut bench).unwrap();
        let words: usize = bench.dram_reads().iter().map(|(.., words)| words).sum();
        assert_eq!((words, programs(&readout).len() * 12), (unread, unread));
        assert_eq!(consumed(&mut bench)[0], end);
    }
}

#[test]
fn another_reader_goes_on_where_the_first_stopped() {
    let (mut bench, _) = bench_with_full_lane();
    push(&mut bench.0.image, (0, 0), 0, &runs(1000..1001));
    turn(&mut bench.0.image, (0, 0), LANE_WORDS, 12);
    let readout = read_device_profiler(&mut bench).unwrap();
    assert_eq!(programs(&readout).len(), 901);
    assert_eq!(read_device_profiler(&mut bench).unwrap().record_count(), 0);
}

#[test]
fn a_lane_that_could_not_be_read_keeps_its_words() {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (0, 0), 0, &runs(0..1));
    push(&mut bench.0.image, (1, 0), 0, &run(1, 0, 1, 100));
    finish(&mut bench.0.image, 0, 1);
    bench.0.broken.insert(core(0));
    assert_eq!(programs(&read_device_profiler(&mut bench).unwrap()), [(2, Risc::Brisc, 1)]);
    bench.0.broken.clear();
    assert_eq!(consumed(&mut bench), [0; 5]);
    assert_eq!(programs(&read_device_profiler(&mut bench).unwrap()), [(1, Risc::Brisc, 0)]);
    assert_eq!(consumed(&mut bench), [12, 0, 0, 0, 0]);
}

#[test]
fn ends_that_cannot_be_are_named_and_read_as_far_as_they_can() {
    for (turned_at, end) in [(LANE_WORDS + 4, 12), (1196, 12), (100, LANE_WORDS + 4)] {
        let (mut bench, mut reader) = bench_with_full_lane();
        push(&mut bench.0.image, (0, 0), 0, &runs(1000..1001));
        turn(&mut bench.0.image, (0, 0), turned_at, end);
        let readout = reader.read(&mut bench).unwrap();
        assert_eq!(readout.anomalies.count(AnomalyKind::ImplausibleControlWord), 1, "{turned_at}");
        assert!(bench.dram_reads().iter().all(|(.., words)| *words <= LANE_WORDS as usize));
    }
}

#[test]
fn lanes_of_version_three_never_turn_and_are_told_of_runs_alone() {
    let mut bench = Bench::ours();
    set(&mut bench.0.image, 0, ext::SIGNATURE, &[0x4B50_3000]);
    push(&mut bench.0.image, (0, 0), 0, &runs(0..2));
    finish(&mut bench.0.image, 0, 2);
    let mut reader = Reader::new(ReadOptions::default());
    assert_eq!(reader.read(&mut bench).unwrap().losses.entries().count(), 0);
    assert_eq!((consumed(&mut bench), bench.control(0)[ext::SEEN_RUNS]), ([0; 5], 2));
    turn(&mut bench.0.image, (0, 0), 24, 12);
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(readout.anomalies.count(AnomalyKind::ImplausibleControlWord), 1);
}

#[test]
fn words_that_were_read_can_be_filled_again() {
    let (mut bench, mut reader) = bench_with_full_lane();
    let used = |reader: &mut Reader, bench: &mut Bench| {
        let marks = reader.look(bench).unwrap().watermarks;
        marks.lanes().map(|mark| mark.used_words).next()
    };
    // All words except the words already read count as used, because a vector might not fit after
    // the end.
    assert_eq!(used(&mut reader, &mut bench), Some(10_800));
    // The lane has wrapped. Words 12 to 1195 are free.
    turn(&mut bench.0.image, (0, 0), LANE_WORDS, 12);
    assert_eq!(used(&mut reader, &mut bench), Some(LANE_WORDS - 1184));
}

/// Returns the windows in which runs of the first lane may be missing.
fn windows(readout: &Readout) -> Vec<(Option<u64>, Option<u64>)> {
    let windows = readout.losses.windows();
    windows.map(|(_, window)| (window.after, window.before)).collect()
}

/// Tests the windows of refused runs.
///
/// A run refused before a wrap is later than the runs that filled the lane. A run refused after a
/// wrap is later than the wrap. A refused run is never earlier than a run that began while the lane
/// still had room for the refused run.
#[test]
fn what_a_lane_refused_before_or_after_a_turn_came_behind_what_had_filled_it() {
    // Stamps have the value 1 in the bits above the lower 32.
    let expected = |end: u64| vec![(Some((1 << 32) + end), Some(1 << 40))];
    let (mut bench, mut reader) = bench_with_full_lane();
    count(&mut bench.0.image, 0, [0; 3], [2, 12]);
    push(&mut bench.0.image, (0, 0), 0, &runs(1002..1003));
    turn(&mut bench.0.image, (0, 0), LANE_WORDS, 12);
    finish(&mut bench.0.image, 0, 1003);
    // Eleven of the twelve pairs may belong to one run, which then has 34 words. The run of program
    // 997 begins at word 11,964 and ends 900 cycles after its start.
    assert_eq!(windows(&reader.read(&mut bench).unwrap()), expected(997_900));

    // Before the read above was acknowledged, the device had to stay below word 1196.
    count(&mut bench.0.image, 0, [0; 3], [3, 18]);
    push(&mut bench.0.image, (0, 0), 12, &runs(1003..1101));
    turn(&mut bench.0.image, (0, 0), LANE_WORDS, 1188);
    finish(&mut bench.0.image, 0, 1102);
    // A run of six pairs has 24 words with its header. The run of program 1099 begins at word 1164,
    // the next run begins at word 1176.
    assert_eq!(windows(&reader.read(&mut bench).unwrap()), expected(1_099_900));

    // After the acknowledgement, the limit is the end of the lane.
    count(&mut bench.0.image, 0, [0; 3], [4, 24]);
    push(&mut bench.0.image, (0, 0), 1188, &runs(1101..1103));
    turn(&mut bench.0.image, (0, 0), LANE_WORDS, 1212);
    finish(&mut bench.0.image, 0, 1105);
    assert_eq!(windows(&reader.read(&mut bench).unwrap()), expected(1_102_900));
}

/// A lane may wrap before it is full, for a run larger than the runs that it refuses later.
#[test]
fn what_a_lane_refused_after_an_early_turn_came_behind_the_turn() {
    const TURNED_AT: u32 = 11_904;
    let mut bench = Bench::ours();
    let mut reader = Reader::new(ReadOptions::default());
    push(&mut bench.0.image, (0, 0), 0, &runs(0..100));
    finish(&mut bench.0.image, 0, 100);
    reader.read(&mut bench).unwrap();
    push(&mut bench.0.image, (0, 0), 1200, &runs(100..992));
    push(&mut bench.0.image, (0, 0), 0, &runs(992..1090));
    turn(&mut bench.0.image, (0, 0), TURNED_AT, 98 * 12);
    count(&mut bench.0.image, 0, [0; 3], [1, 6]);
    finish(&mut bench.0.image, 0, 1091);
    // The run of program 991 is the last one before the wrap.
    let expected = [(Some((1 << 32) + 991_900), Some(1 << 40))];
    assert_eq!(windows(&reader.read(&mut bench).unwrap()), expected);
}
