//! Runs that still wait in L1.

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
    // While a launch runs, the word says more, and the host leaves it alone.
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
