//! Tests: runs that still wait in L1.

use super::*;

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
fn a_run_of_ours_that_waits_is_left_to_its_launch_unless_there_is_no_later_read() {
    let read = |last_read| {
        let mut bench = Bench::ours();
        wait_in_l1(&mut bench.0.image, 2, &run(0, 2, 8, 5000));
        let options = ReadOptions { last_read, ..ReadOptions::default() };
        let readout = read_device_profiler_with(&mut bench, &options).unwrap();
        assert_eq!(bench.control(0)[DEVICE_END + 2], 12, "the device alone writes it");
        (readout.devices[0].pending_runs, readout.record_count())
    };
    assert_eq!(read(false), (1, 0));
    assert_eq!(read(true), (0, 4));
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
fn what_launches_have_accumulated_is_taken_by_the_last_read_and_handed_back() {
    const DONE: usize = 57;
    let mut bench = Bench::ours();
    let words = [run(0, 0, 7, 100), run(0, 0, 8, 5000)].concat();
    wait_in_l1(&mut bench.0.image, 0, &words);
    set(&mut bench.0.image, 0, DONE, &[1]);
    let mode = CaptureMode::Accumulate;
    let mut reader = Reader::new(ReadOptions { mode, ..ReadOptions::default() });
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!((readout.devices[0].pending_runs, readout.record_count()), (1, 0));
    assert_eq!(bench.control(0)[DEVICE_END], 24, "it waits for launches to come");
    reader.options_mut().last_read = true;
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 7), (1, Risc::Brisc, 8)]);
    assert_eq!((readout.devices[0].pending_runs, bench.control(0)[DEVICE_END]), (0, 0));
    assert_eq!(reader.read(&mut bench).unwrap().record_count(), 0);
    // While a launch is running, the end word contains further bits, and the host does not change
    // the end word.
    let words = [run(0, 0, 9, 10_000), run(0, 0, 10, 15_000)].concat();
    wait_in_l1(&mut bench.0.image, 0, &words);
    set(&mut bench.0.image, 0, DEVICE_END, &[1 << 31 | 24]);
    set(&mut bench.0.image, 0, DONE, &[0]);
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 9), (1, Risc::Brisc, 10)]);
    assert_eq!(bench.control(0)[DEVICE_END], 1 << 31 | 24);
}

#[test]
fn what_upstreams_launches_have_accumulated_is_taken_though_the_last_one_is_done() {
    let taken = |mode| {
        let mut bench = Bench::new();
        wait_in_l1(&mut bench.0.image, 1, &run(0, 1, 0, 100));
        set(&mut bench.0.image, 0, 57, &[1]);
        let options = ReadOptions { last_read: true, mode, ..ReadOptions::default() };
        let readout = read_device_profiler_with(&mut bench, &options).unwrap();
        (programs(&readout), bench.control(0)[DEVICE_END + 1])
    };
    assert_eq!(taken(CaptureMode::Accumulate), (vec![(1, Risc::Ncrisc, 0)], 0));
    assert_eq!(taken(CaptureMode::Workers).0, []);
}

/// Returns a run without a program, whose first guaranteed markers are the zone that measures a
/// push.
fn shared_push(start: u32) -> Vec<u32> {
    let mut words = run(0, 0, 0, start);
    // The slots of the kernel's zone are free.
    words[8..].copy_from_slice(&[1 << 31, 0, 1 << 31, 0]);
    words
}

#[test]
fn room_in_accumulate_mode_is_counted_in_launches_and_not_in_pushes() {
    let mut bench = Bench::ours();
    let options = ReadOptions { mode: CaptureMode::Accumulate, ..ReadOptions::default() };
    let mut reader = Reader::new(options);
    let runs = |programs: std::ops::Range<u32>| -> Vec<u32> {
        programs.flat_map(|program| run(0, 0, program, 1000 * program)).collect()
    };
    // There are two pushes. The first contains 30 launches; the second contains the zone of the
    // first push, and 20 launches.
    let words = [runs(1..31), shared_push(30_950), runs(31..51)].concat();
    push(&mut bench.0.image, (0, 0), 0, &words);
    finish(&mut bench.0.image, 0, 2);
    // The L1 vector contains the zone of the previous push and two more launches; the next run is
    // prepared.
    let waiting = [shared_push(50_950), runs(51..53)].concat();
    wait_in_l1(&mut bench.0.image, 0, &waiting);
    set(&mut bench.0.image, 0, DEVICE_END, &[1 << 31 | 36]);
    let mark_of = |marks: &Watermarks| *marks.lanes().next().unwrap();
    let mark = mark_of(&reader.look(&mut bench).unwrap().watermarks);
    // No launch has been decoded yet, so a push of 306 words counts as one launch.
    assert_eq!((mark.used_words, mark.waiting_words, mark.pushed_launches), (612, 36, 2));
    assert_eq!(mark.launches_left(), Some((12_000 - 612 - 512 - 36) / 306));
    let mark = mark_of(&reader.read(&mut bench).unwrap().watermarks);
    // 612 words for 50 launches are 12.24 words per launch.
    assert_eq!((mark.pushed_words, mark.pushed_launches, mark.words_per_launch), (612, 50, 13));
    assert_eq!(mark.launches_left(), Some((12_000 - 612 - 512 - 36) / 13));

    // The next poll uses the same average. A whole vector might not fit at the end of the lane, but
    // the space of words that were read can be reused.
    push(&mut bench.0.image, (0, 0), 612, &[shared_push(50_950), runs(51..65)].concat());
    finish(&mut bench.0.image, 0, 3);
    let mark = mark_of(&reader.look(&mut bench).unwrap().watermarks);
    assert_eq!((mark.used_words, mark.words_per_launch), (180 + 512, 13));
    assert_eq!(mark.launches_left(), Some((12_000 - 692 - 512 - 36) / 13));
    let mark = mark_of(&reader.read(&mut bench).unwrap().watermarks);
    assert_eq!((mark.pushed_launches, mark.words_per_launch), (14, 13));
}

#[test]
fn launches_of_upstreams_accumulate_mode_are_those_of_its_firmware() {
    let mut bench = Bench::new();
    let zones = ["BRISC-FW,/fw.cc,1,KERNEL_PROFILER", "DRAM-PUSH,/p.h,2,KERNEL_PROFILER"];
    let mut options = ReadOptions { mode: CaptureMode::Accumulate, ..ReadOptions::default() };
    let firmware = wire::ZoneId::from_text(zones[0]).0;
    options.zones = crate::names::ZoneTable::from_texts(zones).unwrap();
    let mut reader = Reader::new(options);
    let mut words = vec![0, 0, 0, 0];
    words.extend([1 << 31, 0].repeat(4));
    for launch in 0..9_u32 {
        let header = |kind: u32| 1 << 31 | kind << 28 | u32::from(firmware) << 12;
        words.extend([header(0), 1000 * launch + 100, header(1), 1000 * launch + 900]);
    }
    push(&mut bench.0.image, (0, 0), 0, &words);
    finish(&mut bench.0.image, 0, 1);
    let marks = reader.read(&mut bench).unwrap().watermarks;
    let mark = marks.lanes().next().unwrap();
    assert_eq!((mark.pushed_words, mark.pushed_launches, mark.words_per_launch), (48, 9, 6));
}

/// Tests three contents of the end word.
///
/// Between launches, all runtimes store only the number of words in the end word. During a launch,
/// the end word also contains other bits. Captures until 2026 contain the bit of a prepared run.
#[test]
fn what_stands_beside_the_number_of_words_changes_nothing() {
    let words = [run(0, 0, 7, 100), run(0, 0, 8, 5000)].concat();
    let read = |end: u32| {
        let mut bench = Bench::ours();
        wait_in_l1(&mut bench.0.image, 0, &words);
        set(&mut bench.0.image, 0, DEVICE_END, &[end]);
        // No launch runs, so nothing behind this number of words is of a launch.
        set(&mut bench.0.image, 0, DONE, &[1]);
        let mode = CaptureMode::Accumulate;
        let options = ReadOptions { mode, last_read: true, ..ReadOptions::default() };
        let readout = read_device_profiler_with(&mut bench, &options).unwrap();
        let lane = &readout.devices[0].lanes[0];
        (programs(&readout), lane.heads.clone(), lane.times.clone())
    };
    let plain = read(24);
    assert_eq!(plain.0, [(1, Risc::Brisc, 7), (1, Risc::Brisc, 8)]);
    assert_eq!(read(12 << 16 | 24), plain);
    assert_eq!(read(1 << 31 | 24), plain);
    assert_ne!(read(12).0, plain.0);
}
