//! Tests: the programs to which losses are assigned, if launches begin and end between reads or
//! during reads.

use super::*;
use std::{cell::RefCell, collections::VecDeque, rc::Rc};

/// An action of the core, or a read.
#[derive(Clone, Debug)]
enum Act {
    /// Records events until this many were lost.
    Lose(u32),
    /// Ends the launch and begins the next launch. The end of a launch needs room for a zone.
    Next,
    /// Ends the launch.
    End,
    Begin,
    /// Sets the word with the launch number to the next launch in advance.
    AnnounceNext,
    /// Reads; the listed actions take place between the read of the control vector and the read of
    /// the cells.
    Read(Vec<Self>),
}

use Act::{AnnounceNext, Begin, End, Lose, Next, Read};

/// A loss, as (program, numbers of lost zones and events, programs that may have lost them).
type Lost = (Option<u32>, [u64; 2], Option<ProgramSpan>);

fn act(producer: &mut Producer, image: &mut DeviceImage, act: &Act) {
    match *act {
        Lose(count) => {
            let until = producer.lost[EVENTS] + count;
            while producer.lost[EVENTS] < until {
                producer.step(image, &Step::Event(1));
            }
        }
        Next => producer.step(image, &Step::NextLaunch { totals: vec![], pause: 100 }),
        End => producer.end_launch(image, &[]),
        Begin => producer.begin_launch(image),
        AnnounceNext => set(image, 0, words::LAUNCHES, &[producer.launch + 1]),
        Read(_) => panic!("a read within a read"),
    }
}

/// Returns the losses of all reads after these actions. The programs of the launches are numbered
/// from 7.
fn ledger_after(acts: &[Act]) -> Vec<Lost> {
    let mut bench = Bench::new();
    let producer = Producer::new(&mut bench.0.image, 0, Policy::DropNewest, 100);
    let producer = Rc::new(RefCell::new(producer));
    let meanwhile = Rc::new(RefCell::new(VecDeque::<Act>::new()));
    let (writer, waiting) = (Rc::clone(&producer), Rc::clone(&meanwhile));
    bench.on_access(move |image, access| {
        if matches!(access, Access::ReadL1 { address, .. } if *address >= VECTOR) {
            for next in waiting.borrow_mut().drain(..) {
                act(&mut writer.borrow_mut(), image, &next);
            }
        }
    });
    let mut reader = Reader::new(ReadOptions::default());
    let mut whole = Readout::default();
    for next in acts {
        if let Read(during) = next {
            meanwhile.borrow_mut().extend(during.iter().cloned());
            let now = producer.borrow().now + 1000;
            read_all(&mut bench, &mut reader, &mut whole, (now, false));
            assert!(meanwhile.borrow().is_empty(), "no cells were read");
        } else {
            act(&mut producer.borrow_mut(), &mut bench.0.image, next);
        }
    }
    assert_eq!(whole.anomalies.anomaly_count(), 0, "{:?}", whole.anomalies.kept());
    let entries = whole.losses.entries();
    let lost = entries.map(|(key, totals)| {
        assert_eq!(
            (key.cause, totals.data, totals.is_lower_bound),
            (LossCause::RingFull, 0, false)
        );
        let program = key.program.map(RunHostId::base);
        (program, [totals.zones, totals.events], totals.programs)
    });
    lost.collect()
}

#[test]
fn losses_of_one_launch_have_its_program() {
    assert_eq!(ledger_after(&[Lose(3), Read(vec![])]), [(Some(7), [0, 3], None)]);
    let during = [Lose(3), Read(vec![Lose(2)]), Lose(4), Read(vec![])];
    assert_eq!(ledger_after(&during), [(Some(7), [0, 9], None)]);
}

#[test]
fn losses_of_the_launch_that_ran_when_the_next_began_are_not_those_of_the_next() {
    // The first launch loses events until the first read has made room.
    let acts = [Lose(3), Read(vec![Lose(5)]), Next, Lose(2), End, Read(vec![])];
    let both = (None, [1, 7], span(7, 8));
    assert_eq!(ledger_after(&acts), [both, (Some(7), [0, 3], None)]);
}

#[test]
fn losses_after_a_launch_that_was_read_to_its_end_are_those_of_the_next() {
    let acts = [End, Read(vec![]), Begin, Lose(2), Read(vec![]), End, Read(vec![])];
    assert_eq!(ledger_after(&acts), [(Some(8), [0, 2], None)]);
}

#[test]
fn a_launch_that_could_not_be_announced_gets_no_losses_of_the_next() {
    // The ring has no room for the second launch until this launch has ended.
    let acts = [
        Lose(1),
        Next,
        Lose(2),
        Read(vec![Lose(4), Next]),
        Read(vec![]),
        Read(vec![]),
        Lose(1),
        Read(vec![]),
    ];
    let first = [Lose(1), Next, Lose(2), Read(vec![Lose(4), Next])];
    // Losses of two launches: 1 event and the zone of the first launch, 2 events of the second
    // launch.
    assert_eq!(ledger_after(&first), [(None, [1, 3], None)]);
    // The second read counts the loss of 4 events and of the second launch's zone. When the third
    // read begins, only the third launch can still lose an event.
    assert_eq!(ledger_after(&acts), [(None, [2, 7], None), (Some(9), [0, 1], None)]);
}

#[test]
fn a_launch_that_is_announced_late_is_not_given_what_an_unannounced_one_lost() {
    let acts = [Lose(1), Next, Read(vec![Lose(4), Next]), Lose(2), Read(vec![])];
    assert_eq!(ledger_after(&acts), [(None, [2, 7], None)]);
}

#[test]
fn a_launch_that_is_announced_late_gets_its_own_losses() {
    let acts = [Lose(1), Next, Read(vec![Lose(4)]), Lose(2), Read(vec![])];
    // At the first read, two launches had begun. The read counts the loss of 1 event and of the
    // first launch's zone.
    assert_eq!(ledger_after(&acts), [(None, [1, 1], None), (Some(8), [0, 6], None)]);
}

#[test]
fn a_launch_that_begins_while_the_vector_is_read_gets_no_losses_of_the_one_before() {
    let acts = [Lose(1), AnnounceNext, Read(vec![Lose(4)]), Next, Lose(2), Read(vec![])];
    assert_eq!(ledger_after(&acts), [(None, [0, 7], span(7, 8))]);
}
