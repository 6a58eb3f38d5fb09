//! Tests: the device's counters, and losses of a full lane.

use super::*;

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

    // Only the first of five runs fits in DRAM, and one loss counter overflows.
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
    // Version 2 stores the number of words read by the host in word 8, and the number of lost
    // launches in word 29.
    set(&mut bench.0.image, 0, 8, &[12]);
    set(&mut bench.0.image, 0, 29, &[3]);
    let readout = read_device_profiler(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 8)]);
    assert!(readout.losses.is_empty());
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
