//! Every pushed record, before faults on the way to DRAM can change it.
//!
//! A [`PushedRuns`] is a fault rule of the simulator that leaves every write to DRAM unchanged and
//! keeps a copy of its words. This module has its own decoder, so that an error in a reader cannot
//! be hidden by the same error in the expected records. The decoder uses only the low word of a
//! marker's time. Of the cycles with this low word, the decoder chooses the one nearest to the time
//! at which the simulator ran the launch's kernel.

mod noc;

pub use noc::unexplained_noc_event;
use sim::{
    fault::{PushFate, PushPoint, Rule},
    random::Stream,
    truth::{RiscKey, Truth},
};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use wire::{CoreKind, Risc};

/// One record of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedRecord {
    /// Record type: 0 and 1 are the start and end of a zone, 2 is a total, 3 and 5 are data of 8
    /// and 16 bytes, 4 is an event.
    pub kind: u8,
    /// Id of the zone, data or event.
    pub id: u16,
    /// Time on the 64-bit clock of the tile; for a total, the start of the launch's first zone.
    pub cycle: u64,
    /// Values of the record: none, one or two.
    pub values: Vec<u64>,
}

/// Records that one RISC pushed in one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushedLaunch {
    /// Number of the launch on its chip, from 0.
    pub launch_index: u64,
    /// Program id in the last push of the launch.
    pub program_id: u32,
    /// Number of trace replays on the core so far.
    pub trace_counter: u32,
    /// The records in this order: starts of the zones with guaranteed slots; other records as
    /// written; ends of the zones with guaranteed slots; and a wait for the host, if any.
    pub records: Vec<PushedRecord>,
    /// Number of pushed markers, including guaranteed slots and padding.
    pub slot_count: u64,
    /// Number of writes with records of the launch.
    pub push_count: usize,
}

/// Fault rule of the simulator that keeps a copy of every pushed run and has no other effect.
#[derive(Debug, Default)]
pub struct PushedRuns {
    pushes: Mutex<BTreeMap<PushKey, Push>>,
}

/// Key of a write: chip, core, launch, true if the first RISC of the core writes, RISC index, and
/// number of the write. The first RISC pushes for all RISCs at the end of a launch, so its writes
/// sort last.
type PushKey = (u32, (u16, u16), u64, bool, usize, u32);

/// Words of a write, and their destination.
#[derive(Debug)]
struct Push {
    place: (u32, u64),
    words: Vec<u32>,
}

impl Push {
    /// Returns true if this write repeats an earlier write of the same launch.
    ///
    /// Optional records have times, so two different writes never begin with the same optional
    /// records. If the writes have no optional records, their addresses are compared. In the debug
    /// dump, equal addresses prove nothing, because the host may have read between two writes.
    fn repeats(&self, earlier: &Self) -> bool {
        let optional = earlier.words.get(OPTIONAL_WORD..).unwrap_or(&[]);
        let optional = optional.strip_suffix(&[EMPTY, 0]).unwrap_or(optional);
        let own = self.words.get(OPTIONAL_WORD..).unwrap_or(&[]);
        if optional.is_empty() { self.place == earlier.place } else { own.starts_with(optional) }
    }
}

impl Rule for PushedRuns {
    fn name(&self) -> &'static str {
        "pushed-runs"
    }

    fn on_push(&self, push: &PushPoint<'_>, _: &mut PushFate, _: &mut Stream) {
        let site = &push.site;
        let core = (site.core.x, site.core.y);
        let risc = site.risc.index();
        let key = (site.chip_id, core, site.launch_index, risc == 0, risc, push.push_index);
        let mut pushes = self.pushes.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (push.bank, push.address);
        pushes.insert(key, Push { place, words: push.words.to_vec() });
    }
}

impl PushedRuns {
    /// Returns every launch of every RISC, in order, with its pushed records.
    #[must_use]
    pub fn launches(&self, truth: &Truth) -> BTreeMap<RiscKey, Vec<PushedLaunch>> {
        let pushes = self.pushes.lock().unwrap_or_else(PoisonError::into_inner);
        let times = kernel_times(truth);
        let mut launches = BTreeMap::<RiscKey, Vec<(PushedLaunch, Pushes<'_>)>>::new();
        for (&(chip_id, (x, y), launch_index, ..), push) in pushes.iter() {
            let &[0, 0, id_lh, program_id, ..] = push.words.as_slice() else { continue };
            let core = sim::arch::TileCoord { x, y };
            let Some(risc) = risc_of(truth, chip_id, core, id_lh & 0x1F) else { continue };
            let risc_launches = launches.entry(RiscKey { chip_id, core, risc }).or_default();
            if risc_launches.last().is_none_or(|(launch, _)| launch.launch_index != launch_index) {
                let launch = PushedLaunch { launch_index, ..PushedLaunch::default() };
                risc_launches.push((launch, Pushes::default()));
            }
            if let Some((launch, pushes)) = risc_launches.last_mut() {
                launch.program_id = program_id;
                launch.trace_counter = id_lh >> 13 & 0xFFFF;
                launch.slot_count += (push.words.len() as u64 - 4) / 2;
                launch.push_count += 1;
                pushes.add(push);
            }
        }
        launches
            .into_iter()
            .map(|(key, launches)| {
                (
                    key,
                    launches
                        .into_iter()
                        .map(|(launch, pushes)| {
                            let near =
                                times.get(&(key.chip_id, key.core, launch.launch_index)).copied();
                            PushedLaunch { records: pushes.records(near.unwrap_or(0)), ..launch }
                        })
                        .collect(),
                )
            })
            .collect()
    }
}

/// Returns the start time of a kernel in each launch, by chip, core and launch.
fn kernel_times(truth: &Truth) -> BTreeMap<(u32, sim::arch::TileCoord, u64), u64> {
    let mut times = BTreeMap::new();
    for (key, launches) in &truth.launches {
        for launch in launches {
            if let Some(kernel) = launch.kernel {
                times.insert((key.chip_id, key.core, launch.launch_index), kernel.start.0);
            }
        }
    }
    times
}

/// Returns the RISC with an index on a core; `truth` determines the kind of the core.
fn risc_of(truth: &Truth, chip_id: u32, core: sim::arch::TileCoord, index: u32) -> Option<Risc> {
    let is_ethernet = truth.launches.contains_key(&RiscKey { chip_id, core, risc: Risc::Erisc });
    let kind = if is_ethernet { CoreKind::IdleEth } else { CoreKind::Tensix };
    kind.risc(index as usize)
}

/// The writes of one RISC in one launch.
#[derive(Default)]
struct Pushes<'a> {
    pushes: Vec<&'a Push>,
}

const EMPTY: u32 = 0x8000_0000;
/// Index of the first word after the guaranteed slots.
const OPTIONAL_WORD: usize = 12;

impl<'a> Pushes<'a> {
    /// Adds another write.
    ///
    /// A write that was not acknowledged in time is sent again, together with later records. The
    /// repeated write goes to the same address or, if the host has read everything before this
    /// address, to the start of the lane. Writes to one bank do not overtake each other, so the
    /// later write is the one that remains.
    fn add(&mut self, push: &'a Push) {
        if self.pushes.last().is_some_and(|last| push.repeats(last)) {
            self.pushes.pop();
        }
        self.pushes.push(push);
    }

    fn records(&self, near_cycle: u64) -> Vec<PushedRecord> {
        let slot = |slot: usize| {
            let mut pairs = self.pushes.iter().filter_map(|Push { words, .. }| {
                Some([*words.get(slot)?, *words.get(slot + 1)?]).filter(|pair| pair[0] != EMPTY)
            });
            pairs.next().map(|[header, low]| record(header, &[low], near_cycle))
        };
        let mut records: Vec<PushedRecord> = [4, 8].into_iter().filter_map(slot).collect();
        for Push { words, .. } in &self.pushes {
            optional_records(words, near_cycle, &mut records);
        }
        let ends: Vec<PushedRecord> = [10, 6].into_iter().filter_map(slot).collect();
        let at = records.len() - waits_behind(&records, ends.last());
        records.splice(at..at, ends);
        let first_zone = records.iter().find(|record| record.kind < 2).map(|record| record.cycle);
        for total in records.iter_mut().filter(|record| record.kind == 2) {
            total.cycle = first_zone.unwrap_or(0);
        }
        records
    }
}

/// Returns the number of final records that belong to a wait for the host, in the debug dump: the
/// start and end of a zone that began after the end of the firmware's zone.
fn waits_behind(records: &[PushedRecord], end: Option<&PushedRecord>) -> usize {
    match (records, end) {
        ([.., start, _], Some(end)) if start.kind == 0 && start.cycle > end.cycle => 2,
        _ => 0,
    }
}

fn optional_records(words: &[u32], near_cycle: u64, records: &mut Vec<PushedRecord>) {
    let mut at = OPTIONAL_WORD;
    while let Some(&header) = words.get(at) {
        let word_count = match header >> 28 & 7 {
            3 => 4,
            5 => 6,
            _ => 2,
        };
        if header != EMPTY {
            let rest = words.get(at + 1..at + word_count).unwrap_or(&[]);
            records.push(record(header, rest, near_cycle));
        }
        at += word_count;
    }
}

/// Decodes a record from its header and the words after it.
fn record(header: u32, rest: &[u32], near_cycle: u64) -> PushedRecord {
    let kind = (header >> 28 & 7) as u8;
    let low = rest.first().copied().unwrap_or(0);
    let mut values: Vec<u64> = rest
        .get(1..)
        .unwrap_or(&[])
        .chunks_exact(2)
        .map(|pair| u64::from(pair[0]) << 32 | u64::from(pair[1]))
        .collect();
    if kind == 2 {
        values.push(low.into());
    }
    PushedRecord {
        kind,
        id: (header >> 12 & 0xFFFF) as u16,
        cycle: nearest(low, near_cycle),
        values,
    }
}

/// Returns the cycle nearest to `near_cycle` whose low 32 bits are `low`.
fn nearest(low: u32, near_cycle: u64) -> u64 {
    let begin = near_cycle.saturating_sub(1 << 31);
    #[expect(clippy::cast_possible_truncation, reason = "arithmetic modulo 2^32")]
    let ahead = low.wrapping_sub(begin as u32);
    begin + u64::from(ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_word_gets_the_cycle_near_its_kernel() {
        let wrap = 5_u64 << 32;
        assert_eq!(nearest(3, wrap - 10), wrap + 3);
        assert_eq!(nearest(u32::MAX, wrap + 10), wrap - 1);
        assert_eq!(nearest(7, 1_000), 7);
    }

    #[test]
    fn a_launch_in_two_pushes_has_its_records_in_order() {
        let first = [
            0,
            0,
            0,
            9,
            0x8000_1001,
            10,
            EMPTY,
            EMPTY,
            0x8000_2001,
            20,
            EMPTY,
            EMPTY, //
            0xB000_3001,
            30,
            1,
            2,
        ];
        let second = [
            0,
            0,
            0,
            9,
            0x8000_1001,
            10,
            0x9000_1001,
            60,
            0x8000_2001,
            20,
            0x9000_2001,
            50, //
            0xA000_4000,
            77,
            EMPTY,
            0,
        ];
        let [first, second] = [(0, first.to_vec()), (64, second.to_vec())]
            .map(|(address, words)| Push { place: (0, address), words });
        // The first write was not acknowledged in time and was sent again, to the same address or
        // to another.
        let elsewhere = Push { place: (0, 128), words: first.words.clone() };
        for again in [&first, &elsewhere] {
            check_records([&first, again, &second]);
        }
    }

    fn check_records(all: [&Push; 3]) {
        let mut pushes = Pushes::default();
        all.into_iter().for_each(|push| pushes.add(push));
        let records = pushes.records(1 << 32 | 1000);
        let found: Vec<_> =
            records.iter().map(|r| (r.kind, r.id, r.cycle & 0xFFFF, r.values.clone())).collect();
        let expected = vec![
            (0, 1, 10, vec![]),
            (0, 2, 20, vec![]),
            (3, 3, 30, vec![1 << 32 | 2]),
            (2, 4, 10, vec![77]),
            (1, 2, 50, vec![]),
            (1, 1, 60, vec![]),
        ];
        assert_eq!(found, expected);
    }
}
