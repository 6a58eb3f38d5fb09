//! Tests of rings and vectors that cannot be read, and of reads that cannot be acknowledged.

use super::*;

/// Returns a function that refuses reads, or writes, of a range of addresses.
fn refuse(range: std::ops::Range<u64>, is_write: bool, is_final: bool) -> Refusal {
    Box::new(move |access| {
        let (address, writes) = match access {
            Access::ReadL1 { address, .. } => (address, false),
            Access::WriteL1 { address, .. } => (address, true),
            _ => return None,
        };
        let (chip_id, reason) = (3, "asleep".into());
        (range.contains(address) && writes == is_write).then_some(match is_final {
            true => AccessError::Gone { chip_id, reason },
            false => AccessError::Unreachable { chip_id, reason },
        })
    })
}

fn answer(bench: &mut Bench) {
    bench.0.refusal = Box::new(|_| None);
}

/// Returns a core whose first RISC has recorded ten events in a launch.
fn ten_events() -> (Bench, Producer) {
    let mut bench = Bench::new();
    let mut producer = Producer::new(&mut bench.0.image, 0, Policy::DropNewest, 100);
    (0..10).for_each(|number| producer.step(&mut bench.0.image, &Step::Event(number)));
    (bench, producer)
}

const RINGS: std::ops::Range<u64> = VECTOR..VECTOR + 5 * 2048;

/// Ends the launch, reads again without failing accesses, and compares the lane with the records
/// written.
fn assert_nothing_is_lost_once_all_answers(
    bench: &mut Bench,
    producer: &mut Producer,
    (reader, whole): (&mut Reader, &mut Readout),
) {
    answer(bench);
    producer.end_launch(&mut bench.0.image, &[]);
    read_all(bench, reader, whole, (1000, false));
    assert_eq!(losses(whole), []);
    assert_eq!(lane_of(whole, Risc::Brisc), producer.launches);
}

#[test]
fn cells_that_cannot_be_read_yet_are_unread_until_they_are() {
    let (mut bench, mut producer) = ten_events();
    bench.0.refusal = refuse(RINGS, false, false);
    let (mut reader, mut whole) = (Reader::new(ReadOptions::default()), Readout::default());
    for _ in 0..2 {
        read_all(&mut bench, &mut reader, &mut whole, (1000, false));
        // The announcement of the launch takes two cells, and the ten events take one cell each.
        let unread = (LossCause::Unread, None, LossTotals::at_least_markers(12));
        assert_eq!(losses(&whole), [unread]);
        assert_eq!(bench.control(0)[words::READ], 0);
    }
    assert_eq!(whole.anomalies.count(AnomalyKind::UnreadableCore), 2);
    assert_nothing_is_lost_once_all_answers(&mut bench, &mut producer, (&mut reader, &mut whole));
}

#[test]
fn losses_that_a_risc_counts_are_known_even_if_its_cells_are_not() {
    let (mut bench, mut producer) = ten_events();
    bench.0.refusal = refuse(RINGS, false, false);
    (0..250).for_each(|number| producer.step(&mut bench.0.image, &Step::Event(number)));
    let lost = u64::from(producer.lost[EVENTS]);
    assert!(lost > 0);
    let (mut reader, mut whole) = (Reader::new(ReadOptions::default()), Readout::default());
    read_all(&mut bench, &mut reader, &mut whole, (1000, false));
    let unread = (LossCause::Unread, None, LossTotals::at_least_markers(256));
    let full = (LossCause::RingFull, Some(7), LossTotals { events: lost, ..LossTotals::default() });
    assert_eq!(losses(&whole), [unread, full]);
    answer(&mut bench);
    producer.end_launch(&mut bench.0.image, &[]);
    read_all(&mut bench, &mut reader, &mut whole, (1000, false));
    // The ring had no room for the zone of the launch either.
    let full = LossTotals { events: lost, zones: 1, ..LossTotals::default() };
    assert_eq!(losses(&whole), [(LossCause::RingFull, Some(7), full)]);
    assert_eq!(lane_of(&whole, Risc::Brisc), producer.launches);
}

#[test]
fn cells_that_no_read_can_find_are_lost_one_by_one() {
    let (mut bench, mut producer) = ten_events();
    bench.0.refusal = refuse(RINGS, false, true);
    let (mut reader, mut whole) = (Reader::new(ReadOptions::default()), Readout::default());
    read_all(&mut bench, &mut reader, &mut whole, (1000, false));
    let gone = LossTotals { unknown_markers: 12, ..LossTotals::default() };
    let gone = (LossCause::Unreadable, None, gone);
    assert_eq!(losses(&whole), [gone]);
    let windows: Vec<_> = whole.losses.windows().map(|(_, window)| *window).collect();
    let window = LossWindow { after: None, before: Some(1000), may_cut_launches: true };
    assert_eq!(windows, [window]);
    assert_eq!(bench.control(0)[words::READ], 12);
    answer(&mut bench);
    producer.step(&mut bench.0.image, &Step::Event(77));
    let time = producer.now;
    producer.end_launch(&mut bench.0.image, &[]);
    read_all(&mut bench, &mut reader, &mut whole, (1000, false));
    assert_eq!(losses(&whole), [gone]);
    // The program is known from the control vector. The zone of the launch itself began before the
    // loss.
    let [(7, records)] = &lane_of(&whole, Risc::Brisc)[..] else { panic!() };
    let expected = vec![
        (PacketKind::ZoneStart, 0xFC0D, 101, vec![]),
        (PacketKind::TimestampedEvent, 77, time, vec![]),
        (PacketKind::ZoneEnd, 0xFC0D, time + 1, vec![]),
    ];
    assert_eq!(records, &expected);
}

#[test]
fn lanes_of_a_vector_that_cannot_be_read_are_unread_until_it_is() {
    let (mut bench, mut producer) = ten_events();
    bench.0.refusal = refuse(CONTROL..CONTROL + 1, false, false);
    bench.0.refusal = {
        let mut refusal = std::mem::replace(&mut bench.0.refusal, Box::new(|_| None));
        // All cores have their vector at the same address.
        Box::new(move |access| match access {
            Access::ReadL1 { core: place, .. } if *place == core(0) => refusal(access),
            _ => None,
        })
    };
    let (mut reader, mut whole) = (Reader::new(ReadOptions::default()), Readout::default());
    read_all(&mut bench, &mut reader, &mut whole, (1000, false));
    let unread = (LossCause::Unread, None, LossTotals::at_least_markers(0));
    assert_eq!(losses(&whole), [unread; 5]);
    assert_nothing_is_lost_once_all_answers(&mut bench, &mut producer, (&mut reader, &mut whole));
}

#[test]
fn cells_are_read_once_even_if_the_core_cannot_be_told() {
    for arrives in [false, true] {
        let (mut bench, mut producer) = ten_events();
        let read = CONTROL + words::READ as u64 * 4;
        bench.0.refusal = refuse(read..read + 1, true, false);
        let (mut reader, mut whole) = (Reader::new(ReadOptions::default()), Readout::default());
        read_all(&mut bench, &mut reader, &mut whole, (1000, false));
        if arrives {
            producer.tell(&mut bench.0.image, words::READ, 12);
        }
        (0..3).for_each(|number| producer.step(&mut bench.0.image, &Step::Event(number)));
        answer(&mut bench);
        producer.end_launch(&mut bench.0.image, &[]);
        read_all(&mut bench, &mut reader, &mut whole, (1000, false));
        assert_eq!(losses(&whole), [], "arrives: {arrives}");
        assert_eq!(lane_of(&whole, Risc::Brisc), producer.launches, "arrives: {arrives}");
        assert_eq!(bench.control(0)[words::READ], producer.written);
    }
}

#[test]
fn a_vector_that_a_host_zeroes_between_two_reads_is_counted_anew() {
    let mut bench = Bench::new();
    // The second RISC writes no cells: it loses five events that it records outside of launches.
    set(&mut bench.0.image, 0, ext::SIGNATURE, &[words::SIGNATURE_VALUE]);
    set(&mut bench.0.image, 0, words::LOST_EVENTS + 1, &[5]);
    set(&mut bench.0.image, 0, words::IDLE_LAUNCHES, &[7]);
    let (mut reader, mut whole) = (Reader::new(ReadOptions::default()), Readout::default());
    read_all(&mut bench, &mut reader, &mut whole, (1000, false));
    set(&mut bench.0.image, 0, words::LOST_EVENTS + 1, &[2]);
    set(&mut bench.0.image, 0, words::IDLE_LAUNCHES, &[3]);
    read_all(&mut bench, &mut reader, &mut whole, (2000, false));
    let idle = (LossCause::ValidateOff, None, zones(10));
    let lost = (LossCause::RingFull, None, LossTotals { events: 7, ..LossTotals::default() });
    assert_eq!(losses(&whole), [idle, lost]);
    assert_eq!(whole.devices[0].discarded_launches, 10);
}
