//! Tests: cores and lanes that cannot be read.

use super::*;

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
fn a_lane_that_cannot_be_read_is_tried_again() {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    finish(&mut bench.0.image, 0, 1);
    // The chip's DRAM does not answer, and a later read may succeed.
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
            // At most the whole profiler region and the cores' profiler memory in L1 are read.
            proptest::prop_assert!(readout.words_read < 2 * 2 * 120_000 + 4 * 5 * 4096);
        }
    }
}
