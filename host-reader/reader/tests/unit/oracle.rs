//! Reference decoder for tests, as simple as possible. It shares no code with the real decoder.
//!
//! It handles one pair of words at a time. Word positions are plain numbers, and bit operations are
//! written out.

use crate::{anomaly::AnomalyKind, ledger::LossCause};
use std::collections::BTreeMap;

const EMPTY: u32 = 0x8000_0000;
const TEAR: u64 = 1 << 32;
const RANGE: u64 = 1 << 44;
/// Id of a hardware counter, which TT-Metal's firmware reads after the KERNEL end.
const COUNTER: u32 = 9090;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Truth {
    /// Type, id, time and values of each record.
    pub(super) records: Vec<(u32, u32, u64, Vec<u64>)>,
    /// Program, trace counter, index of the first record and index of the first word of each run.
    pub(super) runs: Vec<(u32, u32, usize, u64)>,
    /// Zones, data, events, sums and unknown markers by cause and program.
    pub(super) losses: BTreeMap<(LossCause, Option<u32>), [u64; 5]>,
    pub(super) findings: Vec<(AnomalyKind, u64)>,
}

pub(super) struct Oracle<'a> {
    words: &'a [u32],
    own_id: u32,
    /// Generation that run headers must contain in the upper three bits of word 2; `None` for
    /// TT-Metal's runtime.
    generation: Option<u32>,
    is_anchored: bool,
    oldest_slot: Option<u64>,
    read_at: Option<u64>,
    program: Option<u32>,
    epoch: u64,
    last: u64,
    leading: Option<u64>,
    first_optional: Option<(u32, u32)>,
    starts: [Option<u64>; 2],
    slots: [(u32, u32); 4],
    /// True if the KERNEL end of the run has already been decoded.
    has_kernel_end: bool,
    truth: Truth,
}

/// Decodes the words of a lane whose run headers contain `own_id`. `generation` is `None` for
/// TT-Metal's runtime.
pub(super) fn truth(
    words: &[u32],
    own_id: u32,
    generation: Option<u32>,
    read_at: Option<u64>,
) -> Truth {
    let (epoch, last, slots) = (0, 0, [(0, 0); 4]);
    let (program, leading, first_optional, truth) = (None, None, None, Truth::default());
    let mut oracle = Oracle {
        words: &words[..words.len() / 2 * 2],
        own_id,
        generation,
        is_anchored: false,
        oldest_slot: None,
        read_at,
        program,
        epoch,
        last,
        leading,
        first_optional,
        starts: [None; 2],
        slots,
        has_kernel_end: false,
        truth,
    };
    oracle.all();
    if words.len() % 2 == 1 {
        oracle.found(AnomalyKind::TruncatedRecord, words.len() - 1);
        oracle.lost(LossCause::Damaged, 4, 1);
    }
    oracle.lower_last();
    oracle.truth
}

impl Oracle<'_> {
    /// Corrects the last record's time if it is torn and later than the clock.
    fn lower_last(&mut self) {
        let records = &mut self.truth.records;
        let timed: Vec<usize> = (0..records.len()).filter(|&r| records[r].0 != 2).collect();
        let (Some(now), Some(&last)) = (self.read_at, timed.last()) else { return };
        let before = timed.iter().rev().nth(1).map_or(0, |&r| records[r].2);
        let is_ahead = self.last > now && self.last >= TEAR && self.last - TEAR <= now;
        if self.generation.is_some() && is_ahead && before <= self.last - TEAR {
            records[last].2 = self.last - TEAR;
            self.found(AnomalyKind::TornTimestamp, 0);
        }
    }

    fn all(&mut self) {
        let mut early = Vec::new();
        let mut i = 0;
        while i < self.words.len() && self.words[i] >= EMPTY {
            match (self.words[i], self.kind(i)) {
                (EMPTY, _) => self.padding(i),
                (_, 3 | 5) if i + self.size(i) <= self.words.len() && self.hidden(i).is_none() => {
                    early.push(i);
                }
                _ => break,
            }
            i += self.size(i);
        }
        while i < self.words.len() {
            i = if self.is_run(i) { self.run(i, &mut early) } else { self.gap(i) };
        }
        for i in early {
            self.program = None;
            self.found(AnomalyKind::NotAMarker, i);
            self.lost(LossCause::Damaged, 1, 1);
        }
    }

    fn run(&mut self, i: usize, early: &mut Vec<usize>) -> usize {
        if !self.is_own(i) {
            return self.skip(i, 12, AnomalyKind::ForeignRun, LossCause::Damaged);
        }
        // Collects the first two stamps of the run, and separately the first two stamps of optional
        // records.
        let slots = [4, 8].map(|s| self.slot_stamp(i + s));
        let starts: Vec<u64> = slots.into_iter().flatten().collect();
        let mut optional = Vec::new();
        let mut j = i + 12;
        while j < self.words.len() && self.words[j] >= EMPTY && self.kind(j) < 6 {
            if self.words[j] != EMPTY && self.kind(j) != 2 {
                optional.push(j);
            }
            j += self.size(j);
        }
        let first_optional = optional.first().map(|&j| (self.words[j], self.words[j + 1]));
        let optional: Vec<u64> = optional.iter().take(2).map(|&j| self.stamp(j)).collect();
        let leading: Vec<u64> = starts.iter().chain(&optional).copied().take(2).collect();
        let newest = leading.iter().copied().reduce(|a, b| if self.before(a, b) { b } else { a });
        let oldest = leading.iter().copied().reduce(|a, b| if self.before(b, a) { b } else { a });
        let is_older = newest.zip(self.leading).is_some_and(|(new, old)| self.before(new, old));
        let has_same_starts =
            if starts.is_empty() { !optional.is_empty() } else { slots == self.starts };
        let is_resent = has_same_starts && first_optional == self.first_optional;
        if is_older || is_resent || !self.is_own_run(i) {
            return self.skip(i, 12, AnomalyKind::StaleRun, LossCause::NeverArrived);
        }
        self.anchor(&leading, i);
        let slots_of_run = [4, 6, 8, 10].map(|s| self.slot_stamp(i + s)).into_iter().flatten();
        self.oldest_slot = slots_of_run.reduce(|a, b| if self.before(b, a) { b } else { a });
        let all = oldest.into_iter().chain(self.oldest_slot);
        let oldest = oldest.and(all.reduce(|a, b| if self.before(b, a) { b } else { a }));
        self.leading = oldest.or(self.leading);
        (self.first_optional, self.starts) = (first_optional, slots);

        self.open(i);
        for index in std::mem::take(early) {
            self.record(index);
        }
        let end = self.slot_stamp(i + 6);
        let ends_first =
            optional.len() == 2 && end.is_some_and(|e| optional.iter().all(|&o| self.before(e, o)));
        for slot in if ends_first { vec![4, 8, 10, 6] } else { vec![4, 8] } {
            self.slot(i, slot);
        }
        self.has_kernel_end = ends_first;
        let program = self.program;
        let next = self.optional_records(i, i + 12);
        let wait = if ends_first { vec![] } else { self.wait_behind_ends(end) };
        if !self.has_kernel_end {
            self.slot(i, 10);
        }
        if !ends_first {
            self.slot(i, 6);
        }
        for record in wait {
            self.last = record.2;
            self.truth.records.push(record);
        }
        if self.generation.is_none() && next - i >= 512 {
            *self.truth.losses.entry((LossCause::L1Full, program)).or_default() = [0, 0, 0, 0, 1];
        }
        next
    }

    /// Removes and returns the last two records if they are a wait for the host.
    ///
    /// These records must be a zone that began after the end of the firmware's zone. The end of the
    /// firmware's zone must not be before the previous record.
    fn wait_behind_ends(&mut self, end: Option<u64>) -> Vec<(u32, u32, u64, Vec<u64>)> {
        let first = self.truth.runs.last().map_or(0, |run| run.2);
        let count = self.truth.records.len();
        let Some(end) = end.map(|stamp| self.epoch.wrapping_add(stamp)) else { return vec![] };
        if self.generation.is_none() || count < first + 3 {
            return vec![];
        }
        let [before, one, two] = [3, 2, 1].map(|from_end| &self.truth.records[count - from_end]);
        let is_zone = (one.0, two.0) == (0, 1) && one.1 == two.1;
        let is_later = before.0 != 2 && before.2 <= end && end < one.2 && end < self.last;
        if !is_zone || !is_later {
            return vec![];
        }
        self.last = before.2;
        self.truth.records.split_off(count - 2)
    }

    /// Derives the 2^44 range of the stamps from the clock, once, for the first run.
    fn anchor(&mut self, leading: &[u64], i: usize) {
        let (Some(&first), Some(now)) = (leading.first(), self.read_at) else { return };
        if std::mem::replace(&mut self.is_anchored, true) {
            return;
        }
        let second = *leading.get(1).unwrap_or(&first);
        let latest = now.wrapping_add(2 * TEAR);
        let epoch = |stamp: u64| {
            let age = latest.wrapping_sub(stamp) % RANGE;
            if age > latest { 0 } else { (latest - age).saturating_sub(stamp) }
        };
        let is_wrap_between = first > second && first - second > (RANGE - 1) / 2;
        let (one, other) = (epoch(first), epoch(second));
        let range = if is_wrap_between { one } else { one.max(other) };
        let time = range.wrapping_add(if range == one { first } else { second });
        if self.last != 0 && time.saturating_add(2 * TEAR) < self.last {
            return;
        }
        if self.last != 0 && range > self.epoch {
            self.found(AnomalyKind::TimestampWrap, i);
        }
        self.epoch = range;
    }

    /// Returns true if the words at `i` were left by an earlier generation.
    fn is_leftover(&self, i: usize) -> bool {
        let Some(oldest) = self.oldest_slot.filter(|_| self.generation.is_some()) else {
            return false;
        };
        let (mut j, mut stamps) = (i, Vec::new());
        while j < self.words.len() && self.words[j] >= EMPTY && self.kind(j) < 6 && stamps.len() < 2
        {
            if self.words[j] != EMPTY && self.kind(j) != 2 {
                stamps.push(self.stamp(j));
            }
            j += self.size(j);
        }
        i.is_multiple_of(4)
            && !stamps.is_empty()
            && stamps.iter().all(|&stamp| self.before(stamp, oldest))
    }

    fn open(&mut self, i: usize) {
        let id = self.words[i + 3];
        let program = (id & 0x1F_FFFF) << 10 | u32::from(id != 0);
        let trace = self.words[i + 2] >> 13 & 0xFFFF;
        self.program = Some(if id == 0 { 0 } else { program });
        let pair = |k: usize| (self.words[i + k], self.words[i + k + 1]);
        let goes_on = match (pair(4).0, pair(8).0) {
            (EMPTY, EMPTY) => false,
            (EMPTY, _) => self.slots[0] == (0, 0) && self.slots[2] == pair(8),
            _ => self.slots[0] == pair(4),
        };
        let program = self.program.unwrap();
        if goes_on && let Some(run) = self.truth.runs.last_mut() {
            (run.0, run.1) = (program, trace);
            return;
        }
        self.slots = [(0, 0); 4];
        self.truth.runs.push((program, trace, self.truth.records.len(), i as u64));
    }

    fn slot(&mut self, i: usize, slot: usize) {
        let pair = (self.words[i + slot], self.words[i + slot + 1]);
        match (pair.0, self.kind(i + slot)) {
            (EMPTY, _) if self.generation.is_some() => {}
            (EMPTY, _) => self.padding(i + slot),
            _ if self.slots[(slot - 4) / 2] == pair => {
                self.found(AnomalyKind::DuplicateGuaranteedMarker, i + slot);
            }
            (_, 0 | 1) => {
                self.slots[(slot - 4) / 2] = pair;
                self.record(i + slot);
            }
            (_, kind) => {
                let unknown = AnomalyKind::UnknownPacketType;
                self.found(if kind < 6 { AnomalyKind::NotAMarker } else { unknown }, i + slot);
                self.lost(LossCause::Damaged, 4, 1);
            }
        }
    }

    /// Decodes the records at `i`, which belong to the run at `run`; returns the index after them.
    fn optional_records(&mut self, run: usize, mut i: usize) -> usize {
        while i < self.words.len() {
            match (self.words[i], self.words[i + 1]) {
                (0, 0) => return i,
                (EMPTY, _) => self.padding(i),
                (word, _) if word < EMPTY || self.kind(i) > 5 => return self.damage(i),
                _ => {
                    let cut = (i + self.size(i) > self.words.len()).then_some(self.words.len());
                    if let Some(next) = self.hidden(i).or(cut) {
                        self.found(AnomalyKind::TruncatedRecord, i);
                        self.lost_damaged(i, next);
                        return next;
                    }
                    let time = self.epoch.wrapping_add(self.stamp(i));
                    let is_odd = time < self.last || time > self.latest();
                    if self.kind(i) != 2 && is_odd && self.is_leftover(i) {
                        let next = self.next_own_run(i + 2);
                        self.found(AnomalyKind::StaleRun, i);
                        self.program = None;
                        self.lost_runs(LossCause::NeverArrived, next - i);
                        return next;
                    }
                    self.kernel_end_before_counter(run, i);
                    self.record(i);
                }
            }
            i += self.size(i);
        }
        i
    }

    /// Decodes the KERNEL end before a counter that was read after the KERNEL end.
    fn kernel_end_before_counter(&mut self, run: usize, i: usize) {
        let is_counter = matches!(self.kind(i), 3 | 5) && self.words[i] >> 12 & 0xFFFF == COUNTER;
        let end = self.slot_stamp(run + 10);
        let is_later = end.is_some_and(|end| self.before(end, self.stamp(i)));
        if is_counter && is_later && !self.has_kernel_end {
            self.has_kernel_end = true;
            self.slot(run, 10);
        }
    }

    fn record(&mut self, i: usize) {
        let (kind, id) = (self.kind(i), (self.words[i] >> 12) & 0xFFFF);
        let value = |at: usize| u64::from(self.words[at]) << 32 | u64::from(self.words[at + 1]);
        let values = match kind {
            2 => vec![u64::from(self.words[i + 1])],
            3 => vec![value(i + 2)],
            5 => vec![value(i + 2), value(i + 4)],
            _ => vec![],
        };
        let time = if kind == 2 { self.total_time() } else { self.time(i) };
        self.truth.records.push((kind, id, time, values));
    }

    fn total_time(&self) -> u64 {
        let first = self.truth.runs.last().map_or(0, |run| run.2);
        self.truth.records[first..].iter().find(|r| r.0 < 2).map_or(self.last, |r| r.2)
    }

    fn time(&mut self, i: usize) -> u64 {
        let stamp = self.stamp(i);
        let mut time = self.epoch.wrapping_add(stamp);
        if time < self.last {
            let timed: Vec<usize> =
                (0..self.truth.records.len()).filter(|&r| self.truth.records[r].0 != 2).collect();
            let before_last = timed.iter().rev().nth(1).map(|&r| self.truth.records[r].2);
            // This project's runtime reads the low word first: a stamp may be too high, but never
            // too low.
            let is_ours = self.generation.is_some();
            let near_wrap = self.last % TEAR >= TEAR - 4096;
            let is_near = is_ours && self.last - time > TEAR / 2;
            let torn_low = self.last >= TEAR
                && self.last - TEAR <= time
                && before_last.map_or(near_wrap || is_near, |before| before <= self.last - TEAR);
            let torn_high = !is_ours && stamp % TEAR < 4096 && time.wrapping_add(TEAR) >= self.last;
            let outlier = before_last.is_some_and(|before| before <= time);
            // If there are only two records, both explanations are possible.
            let torn_low = torn_low && !torn_high;
            let finding = if torn_low {
                if let Some(&r) = timed.last() {
                    self.truth.records[r].2 = self.last - TEAR;
                }
                AnomalyKind::TornTimestamp
            } else if torn_high {
                time = time.wrapping_add(TEAR);
                AnomalyKind::TornTimestamp
            } else if !outlier && self.wraps(stamp) && time.wrapping_add(RANGE) <= self.latest() {
                self.epoch = self.epoch.wrapping_add(RANGE);
                time = time.wrapping_add(RANGE);
                AnomalyKind::TimestampWrap
            } else {
                AnomalyKind::BackwardTime
            };
            self.found(finding, i);
        }
        self.last = time;
        time
    }

    fn latest(&self) -> u64 {
        self.read_at.map_or(u64::MAX, |now| now.saturating_add(2 * TEAR))
    }

    fn wraps(&self, stamp: u64) -> bool {
        let age = |stamp: u64| {
            self.read_at.map(|now| now.wrapping_add(2 * TEAR).wrapping_sub(stamp) % RANGE)
        };
        match (age(stamp), age(self.last)) {
            (Some(now), Some(last)) => now <= last && last < (RANGE - 1) - (RANGE - 1) / 8,
            _ => !self.before(stamp, self.last % RANGE),
        }
    }

    fn before(&self, a: u64, b: u64) -> bool {
        match self.read_at {
            Some(now) => {
                let latest = now.wrapping_add(2 * TEAR);
                latest.wrapping_sub(a) % RANGE > latest.wrapping_sub(b) % RANGE
            }
            None => a.wrapping_sub(b) % RANGE >= RANGE / 2,
        }
    }

    fn gap(&mut self, i: usize) -> usize {
        if self.words[i] == EMPTY {
            self.padding(i);
            return i + 2;
        }
        let zeros = self.words[i..].chunks(2).take_while(|pair| pair == &[0, 0]).count() * 2;
        let end = i + zeros;
        let header = (i + 2..end).step_by(2).filter(|h| h + 4 >= end && self.is_run(*h)).max();
        let missing = header.or((zeros >= 12 || end == self.words.len()).then_some(end));
        let Some(missing) = missing.filter(|_| zeros > 0) else { return self.damage(i) };
        self.program = None;
        self.found(AnomalyKind::MissingRun, i);
        self.lost_runs(LossCause::NeverArrived, missing - i);
        missing
    }

    fn damage(&mut self, i: usize) -> usize {
        let is_short = self.words.len() - i < 12 && self.words[i..i + 2] == [0, 0];
        let is_unknown = self.words[i] >= EMPTY && self.kind(i) > 5;
        let kind = match (is_short, is_unknown) {
            (true, _) => AnomalyKind::TruncatedRecord,
            (_, true) => AnomalyKind::UnknownPacketType,
            _ => AnomalyKind::NotAMarker,
        };
        let next = self.next_own_run(i + 2);
        self.found(kind, i);
        self.lost_damaged(i, next);
        next
    }

    fn skip(&mut self, i: usize, at_least: usize, kind: AnomalyKind, cause: LossCause) -> usize {
        let next = self.next_own_run(i + at_least);
        self.program = None;
        self.found(kind, i);
        self.lost_runs(cause, next - i);
        next
    }

    fn next_own_run(&self, mut i: usize) -> usize {
        while i < self.words.len() && !self.is_own_run(i) {
            i += 2;
        }
        i
    }

    /// Records the loss of words that contained whole runs. For this project's runtime, the loss is
    /// at least one marker for each possible run.
    fn lost_runs(&mut self, cause: LossCause, words: usize) {
        let markers = if self.generation.is_some() { words / 12 } else { words / 2 };
        self.lost(cause, 4, markers);
    }

    fn lost_damaged(&mut self, i: usize, next: usize) {
        let is_marker = |j: &usize| self.words[*j] > EMPTY && self.kind(*j) < 6;
        let markers = (i..next).step_by(2).filter(is_marker).count();
        match self.generation {
            Some(_) if i.is_multiple_of(4) => self.lost_runs(LossCause::Damaged, next - i),
            Some(_) => self.lost(LossCause::Damaged, 4, markers),
            None => self.lost(LossCause::Damaged, 4, (next - i) / 2),
        }
    }

    fn padding(&mut self, i: usize) {
        if self.words[i + 1] != 0 && self.words[i + 1] != EMPTY {
            self.found(AnomalyKind::AmbiguousPadding, i);
        }
    }

    fn is_run(&self, i: usize) -> bool {
        self.words.get(i..i + 12).is_some_and(|w| {
            w[..2] == [0, 0]
                && (self.generation.is_some() || w[2] >> 29 == 0)
                && [4, 6, 8, 10].iter().all(|&s| w[s] >= EMPTY)
        })
    }

    fn is_own(&self, i: usize) -> bool {
        self.is_run(i) && self.words[i + 2] & 0x1FFF == self.own_id
    }

    fn is_own_run(&self, i: usize) -> bool {
        self.is_own(i) && self.generation.is_none_or(|own| self.words[i + 2] >> 29 == own)
    }

    /// Returns the index of a run that begins in the last pair of the payload at `i`.
    fn hidden(&self, i: usize) -> Option<usize> {
        let size = self.size(i);
        (size > 2 && self.is_own_run(i + size - 2)).then(|| i + size - 2)
    }

    fn kind(&self, i: usize) -> u32 {
        self.words[i] >> 28 & 7
    }

    fn size(&self, i: usize) -> usize {
        [2, 2, 2, 4, 2, 6, 2, 2][self.kind(i) as usize]
    }

    fn stamp(&self, i: usize) -> u64 {
        u64::from(self.words[i] & 0xFFF) << 32 | u64::from(self.words[i + 1])
    }

    fn slot_stamp(&self, i: usize) -> Option<u64> {
        (self.words[i] != EMPTY && self.kind(i) < 2).then(|| self.stamp(i))
    }

    fn found(&mut self, kind: AnomalyKind, i: usize) {
        self.truth.findings.push((kind, i as u64));
    }

    fn lost(&mut self, cause: LossCause, what: usize, count: usize) {
        self.truth.losses.entry((cause, self.program)).or_default()[what] += count as u64;
    }
}
