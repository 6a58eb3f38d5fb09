//! Wrong readouts, such as faulty readers would produce. The comparison must detect each of them.
//!
//! Whether the tests detect faulty code is checked by hand: see `tests/mutants`.

use super::{check, scenario::Scenario};
use host_reader::{
    lane::{Lane, RecordHead, ZoneIndex},
    readout::Readout,
    timeline::Timeline,
};
use wire::{PacketKind, Risc};

/// Description of a change to a readout, and the function that makes it.
type Mutant = (&'static str, fn(&mut Readout));

const MUTANTS: [Mutant; 12] = [
    ("high word of time ignored", |readout| {
        each_lane(readout, |lane| lane.times.iter_mut().for_each(|time| *time &= 0xFFFF_FFFF));
    }),
    ("all times 1000 cycles late", |readout| {
        each_lane(readout, |lane| lane.times.iter_mut().for_each(|time| *time += 1000));
    }),
    ("times of NCRISC doubled", |readout| {
        each_lane(readout, |lane| {
            let first = lane.times.first().copied().unwrap_or(0);
            let is_ncrisc = lane.id.risc == Risc::Ncrisc;
            let times = lane.times.iter_mut().filter(|_| is_ncrisc);
            times.for_each(|time| *time = first + 2 * time.saturating_sub(first));
        });
    }),
    ("data reversed", |readout| each_lane(readout, |lane| lane.data.reverse())),
    ("ids of events wrong", |readout| {
        each_lane(readout, |lane| {
            let is_event = |head: &&mut RecordHead| head.kind() == PacketKind::TimestampedEvent;
            let events = lane.heads.iter_mut().filter(is_event);
            events.for_each(|head| *head = RecordHead::new(head.kind(), ZoneIndex(1)));
        });
    }),
    ("trace counters zeroed", |readout| {
        each_lane(readout, |lane| lane.runs.iter_mut().for_each(|run| run.trace_counter = 0));
    }),
    ("last record of odd lanes lost", |readout| {
        each_lane(readout, |lane| {
            let is_plain = lane.heads.last().is_some_and(|head| head.data_count() == 0);
            if lane.heads.len() % 2 == 1 && is_plain {
                lane.heads.pop();
                lane.times.pop();
            }
        });
    }),
    ("two records exchanged", |readout| {
        each_lane(readout, |lane| {
            let plain = |head: &RecordHead| head.data_count() == 0;
            if let [.., one, other] = lane.heads.as_mut_slice()
                && plain(one)
                && plain(other)
            {
                std::mem::swap(one, other);
            }
        });
    }),
    ("TRISC 1 and 2 exchanged", |readout| {
        for device in &mut readout.devices {
            for lane in &mut device.lanes {
                lane.id.risc = match lane.id.risc {
                    Risc::Trisc1 => Risc::Trisc2,
                    Risc::Trisc2 => Risc::Trisc1,
                    other => other,
                };
            }
            device.lanes.sort_by_key(|lane| lane.id);
        }
    }),
    ("runs given to the program before", |readout| {
        each_lane(readout, |lane| {
            for index in (6..lane.runs.len()).step_by(7) {
                lane.runs[index].program = lane.runs[index - 1].program;
            }
        });
    }),
    ("ledger empty", |readout| readout.losses = host_reader::ledger::LossLedger::default()),
    ("a lane missing", |readout| {
        readout.devices.iter_mut().for_each(|device| drop(device.lanes.pop()));
    }),
];

fn each_lane(readout: &mut Readout, change: impl FnMut(&mut Lane)) {
    readout.devices.iter_mut().flat_map(|device| &mut device.lanes).for_each(change);
}

#[test]
fn every_wrong_readout_is_noticed() {
    let mut unnoticed: Vec<Mutant> = MUTANTS.to_vec();
    for seed in 0..60 {
        if unnoticed.is_empty() {
            break;
        }
        let scenario = Scenario::from_seed(seed);
        let (mut outcome, pushed) = scenario.run();
        let readout = outcome.readout.clone();
        unnoticed.retain(|(_, change)| {
            outcome.readout = readout.clone();
            change(&mut outcome.readout);
            outcome.timeline = Timeline::from_readout(&outcome.readout);
            check(&scenario, &outcome, &pushed).is_ok()
        });
    }
    let names: Vec<_> = unnoticed.iter().map(|(name, _)| name).collect();
    assert!(names.is_empty(), "not noticed: {names:?}");
}
