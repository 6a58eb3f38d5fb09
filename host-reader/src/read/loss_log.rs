//! The loss log: launches that found no room in DRAM, by program.

use super::{plan::CoreRead, session::Session};
use crate::{
    anomaly::AnomalyKind,
    lane::LaneId,
    ledger::{LossCause, LossTotals},
};
use wire::{
    RunHostId,
    control::ext,
    loss::{EXTENT_WORDS, EXTENTS_MAX, LOG_START, LossCounts, LossExtent},
};

/// Launches of one lane that are entered one by one in one read. The rest of an extent is
/// entered without a program: its totals are right, and memory stays bounded whatever an
/// extent claims.
pub(super) const EXPANDED_LAUNCHES_MAX: u64 = 1 << 16;

/// What was read of a remainder extent, whose counts only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SeenRemainder {
    lost_launches: u32,
    counts: LossCounts,
}

/// The log of one lane, with the count that belongs to it.
struct Log {
    lane_index: usize,
    id: LaneId,
    extents: Vec<LossExtent>,
    /// Lost launches that an earlier read has entered.
    seen: u64,
    /// Lost launches in all.
    lost: u64,
}

/// Reads and enters the losses of a core's lanes; `remainders` has what earlier reads of a
/// lane saw.
pub(super) fn read_logs(
    session: &mut Session<'_>,
    core: &mut CoreRead,
    mut remainder: impl FnMut(LaneId) -> SeenRemainder,
) -> Vec<(LaneId, SeenRemainder)> {
    let mut seen = Vec::new();
    for log in consistent_logs(session, core) {
        let remembered = remainder(log.id);
        let is_current = u64::from(remembered.lost_launches) == log.seen;
        let before = if is_current { Some(remembered.counts) } else { None };
        let counts = Entry { session, log: &log, budget: EXPANDED_LAUNCHES_MAX }.enter(before);
        let lost_launches = u32::try_from(log.lost).unwrap_or(u32::MAX);
        core.lanes[log.lane_index].lost_read = Some(lost_launches);
        seen.push((log.id, SeenRemainder { lost_launches, counts }));
    }
    seen
}

/// Reads the logs until no launch was lost meanwhile, as far as that can be waited for.
fn consistent_logs(session: &mut Session<'_>, core: &mut CoreRead) -> Vec<Log> {
    const ATTEMPTS: usize = 4;
    let mut logs = Vec::new();
    for _ in 0..ATTEMPTS {
        logs = (0..core.lanes.len()).filter_map(|lane| read_log(session, core, lane)).collect();
        if logs.is_empty() {
            return logs;
        }
        let mut words = [0; ext::DISCARDED_LAUNCHES];
        if session.read_control(&core.core, &mut words).is_err() {
            return logs;
        }
        let counters = ext::LOST_LAUNCHES..ext::DISCARDED_LAUNCHES;
        let is_same = words[counters.clone()] == core.control.words[counters.clone()];
        core.control.words[counters.clone()].copy_from_slice(&words[counters]);
        if is_same {
            break;
        }
    }
    logs
}

fn read_log(session: &mut Session<'_>, core: &CoreRead, lane_index: usize) -> Option<Log> {
    let lane = &core.lanes[lane_index];
    let (lost, seen) = core.control.lost_launches(lane.risc_index);
    // A device that is about to rewind the lane zeroes its own word first.
    if lost == seen || lost == 0 {
        return None;
    }
    let position = ext::LOSS_LOG_WORDS + lane.risc_index;
    let said = core.control.word(position) as usize;
    let most = EXTENTS_MAX * EXTENT_WORDS;
    if said > most || !said.is_multiple_of(EXTENT_WORDS) {
        session.note(AnomalyKind::ImplausibleControlWord, Some(lane.id), position, || {
            format!("{said} words are said to be in a loss log of {most}")
        });
    }
    let mut words = vec![0; said.min(most) / EXTENT_WORDS * EXTENT_WORDS];
    if let Err(error) = session.read_vector(&core.core, lane.risc_index, LOG_START, &mut words) {
        session.note(AnomalyKind::UnreadableCore, Some(lane.id), position, || error.to_string());
        return None;
    }
    let (extents, _) = words.as_chunks::<EXTENT_WORDS>();
    let extents = extents.iter().map(|&words| LossExtent::from_words(words)).collect();
    let seen = if seen > lost { 0 } else { seen };
    Some(Log { lane_index, id: lane.id, extents, seen: seen.into(), lost: lost.into() })
}

/// Entering one log into the ledger.
struct Entry<'a, 'b, 'c> {
    session: &'a mut Session<'b>,
    log: &'c Log,
    budget: u64,
}

impl Entry<'_, '_, '_> {
    /// Enters what is new; returns the counts of the remainder as they are now.
    fn enter(&mut self, remainder_before: Option<LossCounts>) -> LossCounts {
        let mut first = 0_u64;
        let mut remainder = LossCounts::default();
        for extent in &self.log.extents {
            let end = first + u64::from(extent.launches);
            let (from, to) = (first.max(self.log.seen), end.min(self.log.lost));
            if extent.is_remainder {
                remainder = extent.counts;
                let is_unseen = self.log.seen <= first;
                let before = if is_unseen { Some(LossCounts::default()) } else { remainder_before };
                self.remainder(extent.counts, before, to.saturating_sub(from));
            } else if from < to {
                self.launches(*extent, from - first..to - first);
            }
            first = end;
        }
        self.check_total(first);
        remainder
    }

    /// Enters some launches of an extent, each under its program.
    fn launches(&mut self, extent: LossExtent, range: std::ops::Range<u64>) {
        let each = LossTotals::of_counts(extent.counts);
        let count = range.end - range.start;
        if extent.program_step == 0 || count == 1 {
            return self.lose(Some(program_of(extent, range.start)), each.repeated(count));
        }
        let expanded = count.min(self.budget);
        self.budget -= expanded;
        for launch in range.start..range.start + expanded {
            self.lose(Some(program_of(extent, launch)), each);
        }
        self.lose(None, each.repeated(count - expanded));
    }

    /// Enters what a remainder has gathered since it was last read.
    fn remainder(&mut self, now: LossCounts, before: Option<LossCounts>, launches: u64) {
        let totals = match before {
            Some(before) => LossTotals::of_counts(LossCounts {
                zones: now.zones.saturating_sub(before.zones),
                data: now.data.saturating_sub(before.data),
                events: now.events.saturating_sub(before.events),
                sums: now.sums.saturating_sub(before.sums),
            }),
            // Another reader took the counts before; each launch lost one marker at least.
            None => LossTotals {
                unknown_markers: launches,
                is_lower_bound: true,
                ..LossTotals::default()
            },
        };
        if launches > 0 {
            self.lose(None, totals);
        }
    }

    /// Compares the log with the count of lost launches.
    fn check_total(&mut self, logged: u64) {
        let Log { id, lost, seen, lane_index, .. } = *self.log;
        if logged == lost {
            return;
        }
        self.session.note(
            AnomalyKind::ImplausibleControlWord,
            Some(id),
            ext::LOST_LAUNCHES + lane_index,
            || format!("{lost} launches are said to be lost, {logged} are in the log"),
        );
        let missing = lost.saturating_sub(logged.max(seen));
        let totals =
            LossTotals { unknown_markers: missing, is_lower_bound: true, ..LossTotals::default() };
        self.lose(None, totals);
    }

    fn lose(&mut self, program_id: Option<u32>, totals: LossTotals) {
        let program = program_id.map(|id| self.run_host_id(id));
        if totals.record_count() > 0 {
            self.session.lose(self.log.id, LossCause::DramFull, program, totals);
        }
    }

    fn run_host_id(&self, program_id: u32) -> RunHostId {
        self.session.options.host_ids.run_host_id(program_id, self.log.id.chip_id)
    }
}

/// The program of the launch with this number in its extent.
fn program_of(extent: LossExtent, launch: u64) -> u32 {
    // Ids wrap at 32 bits, and so may the number of the launch.
    #[expect(clippy::cast_possible_truncation, reason = "arithmetic modulo 2^32")]
    let launch = launch as u32;
    extent.first_program.wrapping_add(extent.program_step.wrapping_mul(launch))
}
