//! Kept, lost and emitted records: three tables with the same keys.
//!
//! Kept records are counted in a readout, lost records come from its ledger, and emitted records
//! from the simulator's truth. A readout is correct if the kept and the lost records add up to the
//! emitted records.

use host_reader::{
    lane::{Lane, LaneId},
    ledger::{LossCause, LossKey, LossTotals},
    mesh::Noc0Coord,
    readout::Readout,
    timeline::Timeline,
};
use sim::{arch::TileCoord, program::Emission, truth::Truth};
use std::collections::{BTreeMap, BTreeSet};
use wire::{PacketKind, RunHostId};

/// Numbers of records by lane and program.
pub(crate) type Account = BTreeMap<(LaneId, RunHostId), Emission>;

/// The zone that the runtime itself records around a push within a launch.
pub(crate) const RUNTIMES_OWN_ZONE: &str = "PROFILER-NOC-QUICK-PUSH";

/// The zone that the runtime records around a push of several launches.
pub(crate) const SHARED_PUSH_ZONE: &str = "PROFILER-DRAM-PUSH";

/// The zone that the runtime records around a wait for the host, in the debug dump.
pub(crate) const WAIT_FOR_HOST_ZONE: &str = "PROFILER-DRAM-STALL";

/// Returns the records of kernels and firmware in the lanes of a readout. A zone counts if its
/// start was read.
pub(crate) fn kept(readout: &Readout, timeline: &Timeline) -> Account {
    let mut account = Account::new();
    for (lane, paired) in readout.lanes().zip(timeline.lanes()) {
        assert_eq!(lane.id, paired.id);
        let mut counts = single_records(lane);
        for zone in paired.zones.iter() {
            let own_zones = [RUNTIMES_OWN_ZONE, SHARED_PUSH_ZONE, WAIT_FOR_HOST_ZONE];
            if !own_zones.contains(&readout.zones.name(zone.zone)) {
                counts[zone.run as usize].zones += 1;
            }
        }
        for (run, counts) in lane.runs.iter().zip(counts) {
            if counts != Emission::NONE {
                *account.entry((lane.id, run.program)).or_default() += counts;
            }
        }
    }
    account
}

/// Returns the number of launches without a kernel in the ledger, by chip and core.
pub(crate) fn left_out(readout: &Readout) -> BTreeMap<(u32, TileCoord), u64> {
    let entries = readout.losses.entries();
    let left_out = entries.filter(|(key, _)| key.cause == LossCause::ValidateOff);
    let of_core = |(key, totals): (&LossKey, &LossTotals)| {
        assert_eq!((key.lane.risc.index(), key.program), (0, None), "of the RISC that leads");
        let core = TileCoord { x: key.lane.core.x, y: key.lane.core.y };
        ((key.lane.chip_id, core), totals.zones)
    };
    left_out.map(of_core).collect()
}

/// Returns the lost records of the ledger, except intended losses. Losses with an unknown program
/// or kind are returned separately.
pub(crate) fn lost(readout: &Readout) -> (Account, BTreeMap<LaneId, LossTotals>) {
    let mut known = Account::new();
    let mut unknown = BTreeMap::<LaneId, LossTotals>::new();
    let entries = readout.losses.entries();
    for (key, totals) in entries.filter(|(key, _)| key.cause != LossCause::ValidateOff) {
        match key.program {
            Some(program) if totals.unknown_markers == 0 && !totals.is_lower_bound => {
                *known.entry((key.lane, program)).or_default() += emission(totals);
            }
            _ => unknown.entry(key.lane).or_default().add(*totals),
        }
    }
    (known, unknown)
}

/// Returns the emitted records according to the simulator's ground truth.
pub(crate) fn emitted(truth: &Truth) -> Account {
    let mut account = Account::new();
    for ((key, program_id), emission) in truth.emitted() {
        let core = Noc0Coord { x: key.core.x, y: key.core.y };
        let lane = LaneId { chip_id: key.chip_id, core, risc: key.risc };
        let program = RunHostId::encode(program_id, key.chip_id);
        if emission != Emission::NONE {
            *account.entry((lane, program)).or_default() += emission;
        }
    }
    account
}

/// Returns the sum of two accounts.
pub(crate) fn sum(left: &Account, right: &Account) -> Account {
    let mut sum = left.clone();
    for (&key, &emission) in right {
        *sum.entry(key).or_default() += emission;
    }
    sum
}

/// Returns the total of an account.
pub(crate) fn total(account: &Account) -> Emission {
    account.values().fold(Emission::NONE, |sum, &emission| sum + emission)
}

/// Asserts that the kept and the lost records add up to the emitted records in every lane.
///
/// If all losses of a lane have a known program and kind, records are compared by program and kind.
/// Otherwise, the other losses must equal the missing records in number of markers, and no program
/// may have more records than it emitted.
#[track_caller]
pub(crate) fn assert_honest(readout: &Readout, timeline: &Timeline, truth: &Truth) {
    let (known, unknown) = lost(readout);
    let (kept, emitted) = (kept(readout, timeline), emitted(truth));
    let found = sum(&kept, &known);
    let lanes: BTreeSet<LaneId> = found.keys().chain(emitted.keys()).map(|key| key.0).collect();
    let mut compared = [0; 2];
    for lane in lanes {
        let accounts = [lane_account(&found, lane), lane_account(&emitted, lane)];
        compared = [0, 1].map(|side| compared[side] + accounts[side].len());
        let [found, emitted] = &accounts;
        match unknown.get(&lane) {
            None => assert_same(found, emitted),
            Some(unknown) => {
                assert_part(found, emitted);
                assert_rest(lane, unknown, total(emitted), total(found));
            }
        }
    }
    assert_eq!(compared, [found.len(), emitted.len()], "every launch belongs to one lane");
    assert_eq!(left_out(readout), truth.idle_launches);
}

/// Returns the entries of one lane in an account.
pub(crate) fn lane_account(account: &Account, lane: LaneId) -> Account {
    // A range is faster than a filter: accounts hold hundreds of thousands of launches on hundreds
    // of lanes.
    let of_lane = account.range((lane, RunHostId(0))..=(lane, RunHostId(u32::MAX)));
    of_lane.map(|(&key, &emission)| (key, emission)).collect()
}

/// Asserts that no program has more kept and lost records than it emitted.
#[track_caller]
pub(crate) fn assert_part(found: &Account, emitted: &Account) {
    for ((lane, program), found) in found {
        let emitted = emitted.get(&(*lane, *program)).copied().unwrap_or(Emission::NONE);
        let is_part = found.zones <= emitted.zones
            && found.data <= emitted.data
            && found.events <= emitted.events
            && found.sums <= emitted.sums;
        assert!(is_part, "{lane}, {program}: {found:?} of {emitted:?}");
    }
}

/// Asserts that losses without a program or kind equal the emitted records that were not found.
#[track_caller]
fn assert_rest(lane: LaneId, lost: &LossTotals, emitted: Emission, found: Emission) {
    assert!(!lost.is_lower_bound, "{lane}: {lost:?}");
    let rest = |emitted: u64, found: u64, lost: u64| {
        let rest = emitted.checked_sub(found).and_then(|rest| rest.checked_sub(lost));
        rest.unwrap_or_else(|| panic!("{lane}: {emitted} emitted, {found} found, {lost} lost"))
    };
    let zones = rest(emitted.zones, found.zones, lost.zones);
    let data = rest(emitted.data, found.data, lost.data);
    let events = rest(emitted.events, found.events, lost.events);
    let sums = rest(emitted.sums, found.sums, lost.sums);
    // A data record has two or three markers. A run of a RISC without a kernel has two empty
    // markers.
    let least = 2 * zones + 2 * data + events + sums;
    let most = least + data + 2 * lost.runs;
    let markers = lost.unknown_markers;
    assert!((least..=most).contains(&markers), "{lane}: {markers}, not {least} to {most}");
}

#[track_caller]
fn assert_same(found: &Account, expected: &Account) {
    let keys = found.keys().chain(expected.keys());
    for key in keys {
        let (found, expected) = (found.get(key), expected.get(key));
        assert_eq!(found, expected, "left: kept and lost, right: emitted; {} {}", key.0, key.1);
    }
}

/// Returns the records of each run of a lane, without zones.
fn single_records(lane: &Lane) -> Vec<Emission> {
    let counts_of = |index| {
        let mut counts = Emission::NONE;
        for head in &lane.heads[lane.run_records(index)] {
            match head.kind() {
                PacketKind::ZoneStart | PacketKind::ZoneEnd => {}
                PacketKind::ZoneTotal => counts.sums += 1,
                PacketKind::TimestampedData | PacketKind::TimestampedData16B => counts.data += 1,
                PacketKind::TimestampedEvent => counts.events += 1,
            }
        }
        counts
    };
    (0..lane.runs.len()).map(counts_of).collect()
}

const fn emission(totals: &LossTotals) -> Emission {
    Emission { zones: totals.zones, data: totals.data, events: totals.events, sums: totals.sums }
}
