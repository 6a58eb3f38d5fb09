//! Tests: known formats of control vectors, invalid words, options.

use super::*;

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
