//! Tests: which words of lanes are read, and the results of two consecutive reads.

use super::*;

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
    // Four control vectors, of which two were read twice, and two runs.
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
    // This launch had begun before the read, so the device did not release the lanes.
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
    push(&mut bench.0.image, (0, 0), 0, &with_generation(1, run(0, 0, 8, 5000)));
    // The write of the other RISC is lost, so the old run of this RISC is still in its lane.
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
    // A launch has begun. Its control words arrive between two readings of the control vector.
    set(&mut bench.0.image, 0, DONE, &[0]);
    set(&mut bench.0.image, 0, RUN_COUNTER, &[2]);
    let mut reads = 0;
    bench.on_access(move |image, access| {
        if matches!(access, Access::ReadL1 { core: place, .. } if *place == core(0)) {
            reads += 1;
            if reads == 2 {
                hand_back(image, 0, 1);
                push(image, (0, 0), 0, &with_generation(1, run(0, 0, 9, 5000)));
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
fn lanes_that_are_handed_back_behind_the_word_that_says_rest_keep_their_new_words() {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    finish(&mut bench.0.image, 0, 1);
    let mut reader = Reader::new(ReadOptions::default());
    reader.read(&mut bench).unwrap();
    // A launch begins when all words except the last have been read. The words read so far still
    // report that the core is done.
    let mut accesses = 0;
    bench.on_access(move |image, _| {
        accesses += 1;
        if accesses == 1 {
            set(image, 0, ext::CONSUMED, &[0; 5]);
        } else if accesses == 2 {
            set(image, 0, DONE, &[0]);
            hand_back(image, 0, 1);
        }
    });
    assert_eq!(programs(&reader.read(&mut bench).unwrap()), []);
    bench.on_access(|_, _| ());
    push(&mut bench.0.image, (0, 0), 0, &with_generation(1, run(0, 0, 9, 5000)));
    finish(&mut bench.0.image, 0, 2);
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 9)]);
    assert_eq!(readout.anomalies.anomaly_count(), 0);
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
    push(&mut bench.0.image, (0, 0), 0, &with_generation(2, run(0, 0, 8, 5000)));
    count(&mut bench.0.image, 0, [1, 0, 0], [0, 0]);
    finish(&mut bench.0.image, 0, 1);
    let readout = reader.read(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 8)]);
    assert_eq!(losses(&readout), [(LossCause::L1Full, Some(8), zones(1))]);
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
