//! Tests of TT-Metal's debug dump: which buffer is read, and when a RISC gets the other buffer.

use super::*;

const FIRST: u32 = 0x40;
/// Address of the second buffer. Two cores share a bank, and each core has five lanes of half the
/// default size.
const SECOND: u32 = FIRST + 2 * 5 * 24_000;
const STALLED: u32 = 0xFFFF_FFFF;
const SLOTS: usize = 60;

fn options() -> ReadOptions {
    ReadOptions { program_support_count: 500, ..ReadOptions::default() }
}

/// Returns a mesh as prepared by a host, with no launch in progress.
fn bench() -> Bench {
    let mut bench = Bench::new();
    let options = crate::ProfilerOptions {
        program_support_count: 500,
        has_two_buffers: true,
        ..crate::ProfilerOptions::default()
    };
    crate::init_device_profiler(&mut bench, &options).unwrap();
    for flat_id in 0..4 {
        set(&mut bench.0.image, flat_id, DONE, &[1]);
    }
    bench.0.accesses.clear();
    bench
}

/// Writes words into a buffer of core 0, from word `at` on.
fn fill(bench: &mut Bench, risc: usize, (buffer, at): (u32, u32), words: &[u32]) {
    let address = u64::from(buffer) + risc as u64 * 24_000 + u64::from(at) * 4;
    bench.0.image.write_dram(0, address, words).unwrap();
    let end = at + u32::try_from(words.len()).unwrap();
    set(&mut bench.0.image, 0, HOST_END + risc, &[end]);
}

/// Returns a run of RISC 0; its first word is the address of the last RISC's buffer.
fn run_of_brisc(program: u32, address: u32) -> Vec<u32> {
    let mut words = run(0, 0, program, 1000 * program);
    words[0] = address;
    words
}

fn slots(bench: &mut Bench) -> [u32; 5] {
    let mut words = [0; 5];
    bench.0.image.read_l1(core(0), CONTROL + 4 * SLOTS as u64, &mut words).unwrap();
    words
}

fn found(readout: &Readout) -> Vec<(Risc, u32)> {
    assert!(readout.losses.is_empty(), "{:?}", readout.losses);
    assert_eq!(readout.anomalies.anomaly_count(), 0, "{:?}", readout.anomalies);
    programs(readout).into_iter().map(|(_, risc, program)| (risc, program)).collect()
}

#[test]
fn between_launches_each_buffer_is_read_as_far_as_it_is_filled_by_any_reader() {
    let mut bench = bench();
    fill(&mut bench, 0, (FIRST, 0), &run_of_brisc(1, FIRST));
    let read = |bench: &mut Bench| Reader::new(options()).read(bench).unwrap();
    assert_eq!(found(&read(&mut bench)), [(Risc::Brisc, 1)]);
    assert_eq!(found(&read(&mut bench)), []);
    fill(&mut bench, 0, (FIRST, 12), &run_of_brisc(2, FIRST));
    // A launch is running: the end word may count words that have not arrived in DRAM yet.
    set(&mut bench.0.image, 0, DONE, &[0]);
    assert_eq!(found(&read(&mut bench)), []);
    set(&mut bench.0.image, 0, DONE, &[1]);
    assert_eq!(found(&read(&mut bench)), [(Risc::Brisc, 2)]);
    assert_eq!(slots(&mut bench), [FIRST; 5]);
}

#[test]
fn a_risc_that_waits_gets_the_other_buffer_once_its_own_was_read() {
    let mut bench = bench();
    let mut reader = Reader::new(options());
    set(&mut bench.0.image, 0, DONE, &[0]);
    for (round, (full, free)) in [(FIRST, SECOND), (SECOND, FIRST)].into_iter().enumerate() {
        let program = u32::try_from(round).unwrap() + 1;
        fill(&mut bench, 1, (full, 0), &run(0, 1, program, 1000 * program));
        set(&mut bench.0.image, 0, SLOTS + 1, &[STALLED]);
        assert_eq!(found(&reader.read(&mut bench).unwrap()), [(Risc::Ncrisc, program)]);
        assert_eq!(slots(&mut bench)[1], free);
        let last =
            bench.0.accesses.iter().rposition(|access| matches!(access, Access::ReadDram { .. }));
        let given = bench.0.accesses.iter().rposition(
            |access| matches!(access, Access::WriteL1 { words, .. } if *words == [free]),
        );
        assert!(given > last, "given before it was read");
        // The RISC now fills the other buffer. The end word is still that of the full buffer, so
        // nothing is read.
        assert_eq!(found(&reader.read(&mut bench).unwrap()), []);
    }
}

#[test]
fn the_end_of_a_buffer_is_that_of_when_its_risc_began_to_wait() {
    let mut bench = bench();
    fill(&mut bench, 1, (FIRST, 0), &run(0, 1, 1, 1000));
    set(&mut bench.0.image, 0, DONE, &[0]);
    set(&mut bench.0.image, 0, SLOTS + 1, &[STALLED]);
    // The first reading of the control vector returns an old end word; the second reading returns
    // the end word of the full buffer.
    let more = run(0, 1, 2, 2000);
    bench.0.image.write_dram(0, u64::from(FIRST) + 24_000 + 48, &more).unwrap();
    let mut reads = 0;
    bench.on_access(move |image, access| {
        let is_control =
            matches!(access, Access::ReadL1 { core: at, address: CONTROL, .. } if *at == core(0));
        reads += usize::from(is_control);
        if is_control && reads == 2 {
            set(image, 0, HOST_END + 1, &[24]);
        }
    });
    let readout = Reader::new(options()).read(&mut bench).unwrap();
    assert_eq!(found(&readout), [(Risc::Ncrisc, 1), (Risc::Ncrisc, 2)]);
}

#[test]
fn a_read_that_writes_nothing_gives_no_buffer() {
    let mut bench = bench();
    fill(&mut bench, 1, (FIRST, 0), &run(0, 1, 1, 1000));
    set(&mut bench.0.image, 0, SLOTS + 1, &[STALLED]);
    let read_only = ReadOptions { read_only: true, ..options() };
    assert_eq!(found(&Reader::new(read_only).read(&mut bench).unwrap()), [(Risc::Ncrisc, 1)]);
    assert_eq!(slots(&mut bench)[1], STALLED, "nothing is written by a read that only reads");
    assert_eq!(found(&Reader::new(options()).read(&mut bench).unwrap()), [(Risc::Ncrisc, 1)]);
    assert_eq!(slots(&mut bench)[1], SECOND);
}

#[test]
fn the_last_risc_has_no_buffer_where_upstreams_host_prepared_the_core() {
    let mut bench = bench();
    // The address word of the last RISC is in the vector of RISC 0, where TT-Metal's firmware
    // writes 0.
    bench.0.image.write_l1(core(0), VECTOR, &[0]).unwrap();
    set(&mut bench.0.image, 0, 8, &[0]);
    set(&mut bench.0.image, 0, HOST_END + 4, &[5_988]);
    let readout = Reader::new(options()).read(&mut bench).unwrap();
    let lost = |readout: &Readout| readout.losses.by_cause(LossCause::NeverArrived).unknown_markers;
    let lost_at_first = lost(&readout);
    assert!(lost_at_first > 0);
    // With TT-Metal's host, which does not read this word, the core would wait forever.
    bench.0.image.write_l1(core(0), VECTOR, &[STALLED]).unwrap();
    set(&mut bench.0.image, 0, DONE, &[0]);
    let readout = Reader::new(options()).read(&mut bench).unwrap();
    assert_eq!(lost(&readout), 0, "counted before");
    assert!([FIRST, SECOND].contains(&slots(&mut bench)[4]));
}

#[test]
fn a_word_that_is_no_buffer_is_told_and_not_followed() {
    let mut bench = bench();
    fill(&mut bench, 1, (FIRST, 0), &run(0, 1, 1, 1000));
    set(&mut bench.0.image, 0, SLOTS + 1, &[0x1234_5678]);
    fill(&mut bench, 0, (FIRST, 0), &run_of_brisc(1, FIRST));
    let readout = Reader::new(options()).read(&mut bench).unwrap();
    assert_eq!(programs(&readout), [(1, Risc::Brisc, 1)]);
    let told: Vec<_> = readout.anomalies.kept().iter().map(|one| one.kind).collect();
    assert!(told.contains(&AnomalyKind::ImplausibleControlWord), "{told:?}");
    assert_eq!(slots(&mut bench)[1], 0x1234_5678);
}
