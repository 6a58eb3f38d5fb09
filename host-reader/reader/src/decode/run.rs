//! Decoding of runs: finds the beginnings of launches, skips repeated slots and orders the records.

use super::{
    CaptureMode, LaneContext, LaneDecoder,
    peek::{self, FirstStamps},
    words::{LaneWords, RunWords, after, slot_words},
};
use crate::{
    anomaly::AnomalyKind,
    lane::{Lane, RecordHead, Run, ZoneIndex},
    ledger::LossCause,
};
use std::mem;
use wire::{Header, PacketKind, RunHeader, ZoneId, vector};

/// State of the launch whose records are being decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LaunchState {
    /// Words of the guaranteed slots decoded so far; zeros for a slot without a decoded marker.
    slots: [[u32; 2]; vector::GUARANTEED_MARKER_COUNT],
    first_zone: Option<FirstZone>,
    /// Index of the first record that has not yet been searched for a zone. The launch's earlier
    /// records are not zones.
    searched: usize,
}

/// Source of the time of a launch's first zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstZone {
    /// Index of a record in this lane. The record's time may still be corrected.
    Record(usize),
    /// Time of a record that an earlier read returned.
    Earlier(u64),
}

impl LaunchState {
    const fn at(first_record: usize) -> Self {
        let slots = [[0, 0]; vector::GUARANTEED_MARKER_COUNT];
        Self { slots, first_zone: None, searched: first_record }
    }

    /// Returns true if the run is a later push of this launch: the first zone start in the run's
    /// guaranteed slots equals the first zone start in the launch's guaranteed slots.
    pub(super) fn is_continued_by(&self, run: &RunWords) -> bool {
        let starts = [vector::MAIN_START, vector::CHILD_START];
        let used = starts.into_iter().find(|&slot| !Header(slot_words(run, slot)[0]).is_empty());
        let none_before = used != Some(vector::CHILD_START) || self.slots[0] == [0, 0];
        none_before
            && used.is_some_and(|slot| {
                self.slots.get(slot_index(slot)) == Some(&slot_words(run, slot))
            })
    }

    /// Returns true if all of this launch was decoded, and the run is a part of it.
    pub(super) fn has_ended_with(&self, run: &RunWords) -> bool {
        let end = slot_words(run, vector::MAIN_END);
        self.is_continued_by(run)
            && !Header(end[0]).is_empty()
            && self.slots.get(slot_index(vector::MAIN_END)) == Some(&end)
    }

    /// Returns the time of the first zone of this launch.
    pub(super) fn first_zone_time(&mut self, lane: &Lane) -> Option<u64> {
        if self.first_zone.is_none() {
            let unsearched = lane.heads.get(self.searched..).unwrap_or(&[]);
            let found = unsearched.iter().position(|head| head.is_endpoint());
            self.first_zone =
                found.map(|offset| FirstZone::Record(self.searched.saturating_add(offset)));
            self.searched = lane.heads.len();
        }
        match self.first_zone? {
            FirstZone::Record(record) => lane.times.get(record).copied(),
            FirstZone::Earlier(time) => Some(time),
        }
    }

    /// Returns the launch's state for the next read, whose lane will not contain the records of
    /// `lane`.
    pub(super) fn carried_over(mut self, lane: &Lane) -> Self {
        let first_zone = self.first_zone_time(lane).map(FirstZone::Earlier);
        Self { first_zone, searched: 0, ..self }
    }
}

/// Zone that measures a wait for the host at the end of a launch.
struct WaitForHost {
    heads: [RecordHead; 2],
    times: [u64; 2],
}

impl LaneDecoder<'_> {
    /// Decodes the run at `index`; returns the index after the run.
    pub(super) fn run(&mut self, words: LaneWords<'_>, index: usize, run: &RunWords) -> usize {
        let header = words.run_header(run);
        if !words.is_own(header) {
            return self.skip_run(words, index, AnomalyKind::ForeignRun, LossCause::Damaged);
        }
        let first = FirstStamps::from_run(words, index, run, self.context.generation.header);
        let is_repeated = self.is_repeated(&first);
        if !words.is_current(header) || self.is_stale(&first, is_repeated, run) {
            if self.is_unpushed {
                // Whatever was pushed of the launch to which these words belong was read before.
                return words.len();
            }
            if is_repeated && self.state.taken_words.is_some() && !first.has_starts() {
                // The core was started again after its launch had hung, and pushes what a RISC that
                // takes no part in the new launch had published in the old one. The last read has
                // taken these words from L1.
                return words.next_own_run(after(index, vector::FIRST_OPTIONAL));
            }
            return self.skip_run(words, index, AnomalyKind::StaleRun, LossCause::NeverArrived);
        }
        self.anchor(&first, index);
        self.oldest_slot = self.oldest_slot_of(run);
        self.remember(&first);
        let is_continued = self.open_launch(header, run, index);
        self.take_early_records(words);
        self.slot(run, index, vector::MAIN_START);
        self.slot(run, index, vector::CHILD_START);
        let ends_first = self.ends_precede(run, &first);
        self.has_kernel_end = false;
        if ends_first {
            self.end_slots(run, index);
        }
        let program = self.state.program;
        let first_word = after(index, vector::FIRST_OPTIONAL);
        // The push repeats the words that an earlier read has taken from L1.
        let taken_words = self.state.taken_words.take().filter(|_| is_continued && is_repeated);
        let first = after(first_word, taken_words.unwrap_or(0)).min(words.len());
        let next = self.records(words, (run, index), first);
        if self.is_unpushed {
            self.state.taken_words = Some(next.saturating_sub(first_word));
        }
        if !ends_first {
            let wait = self.wait_behind_ends(run);
            self.end_slots(run, index);
            self.put_back(wait);
        }
        // A launch that has not ended may have lost records before its vector is full, because room
        // is reserved for the ends of open zones.
        let may_have_lost = is_continued || self.is_unpushed;
        self.count_run(program, may_have_lost, next.saturating_sub(index));
        next
    }

    /// Returns true if the run is a leftover of an earlier push.
    ///
    /// There are two cases. In the first case, both of the run's first two stamps are older than
    /// all leading stamps of the previous run: that run's first two stamps and the stamps in its
    /// guaranteed slots. In the second case, the run begins with the same records as the previous
    /// run. Such repeated records come from an earlier read, or from a RISC that did not take part
    /// in the launch and sent its last records again. A later push of the same launch begins with
    /// different optional records, so it is not taken for a leftover. If the previous words of the
    /// launch were read from L1, its next push begins with the same records.
    fn is_stale(&self, first: &FirstStamps, is_repeated: bool, run: &RunWords) -> bool {
        let Some([one, other]) = first.leading() else { return false };
        let newer = if self.order.is_before(one, other) { other } else { one };
        let goes_on = self.state.taken_words.is_some() && self.state.launch.is_continued_by(run);
        self.state.leading_stamp.is_some_and(|leading| self.order.is_before(newer, leading))
            || is_repeated && !goes_on
    }

    /// Returns true if the run begins with the same records as the previous run.
    fn is_repeated(&self, first: &FirstStamps) -> bool {
        let has_same_starts = !first.has_starts() || first.starts == self.state.starts;
        has_same_starts && first.first_optional == self.state.first_optional
    }

    fn remember(&mut self, first: &FirstStamps) {
        if let Some(leading) = first.leading() {
            let stamps = leading.into_iter().chain(self.oldest_slot);
            self.state.leading_stamp = self.order.oldest(stamps);
        }
        self.state.starts = first.starts;
        self.state.first_optional = first.first_optional;
    }

    /// Begins a new launch, or continues the last launch if the run is a later push of it. Returns
    /// true if the last launch is continued.
    fn open_launch(&mut self, header: RunHeader, run: &RunWords, index: usize) -> bool {
        let LaneContext { lane, mode, host_ids, .. } = *self.context;
        let program = host_ids.run_host_id(header.program_id, lane.chip_id);
        let has_counter = matches!(mode, CaptureMode::Workers | CaptureMode::Accumulate);
        let trace_counter = if has_counter { header.trace_counter } else { 0 };
        self.state.program = Some(program);
        let is_continued = self.state.launch.is_continued_by(run);
        if is_continued && let Some(last) = self.lane.runs.last_mut() {
            // The program id may be set after the launch has begun, so the later id is correct.
            (last.program, last.trace_counter) = (program, trace_counter);
            last.is_unfinished = self.is_unpushed;
            return true;
        }
        let first_record = self.lane.record_count();
        let origin = self.position(index);
        if is_continued {
            self.lane.goes_on = true;
        } else {
            self.state.launch = LaunchState::at(first_record);
        }
        let is_unfinished = self.is_unpushed;
        let trace = None;
        self.lane.runs.push(Run {
            program,
            trace_counter,
            trace,
            first_record,
            origin,
            is_unfinished,
        });
        is_continued
    }

    /// Returns the oldest stamp in the guaranteed slots of the run.
    fn oldest_slot_of(&self, run: &RunWords) -> Option<u64> {
        let layout = self.context.generation.header;
        let slots = (vector::MAIN_START..vector::FIRST_OPTIONAL).step_by(2);
        self.order.oldest(slots.filter_map(|slot| peek::stamp(run, slot, layout)))
    }

    fn ends_precede(&self, run: &RunWords, first: &FirstStamps) -> bool {
        let layout = self.context.generation.header;
        match (peek::stamp(run, vector::MAIN_END, layout), first.optional_pair()) {
            (Some(end), Some(pair)) => pair.iter().all(|&stamp| self.order.is_before(end, stamp)),
            _ => false,
        }
    }

    /// Removes the run's last zone from the lane and returns it, if the zone began after the end of
    /// the firmware's zone.
    ///
    /// In the debug dump of this project's runtime, a RISC whose DRAM lane is full waits for the
    /// host, and such a zone measures the wait. The zone is removed only if all times are in order.
    fn wait_behind_ends(&mut self, run: &RunWords) -> Option<WaitForHost> {
        let layout = self.context.generation.header;
        let stamp = peek::stamp(run, vector::MAIN_END, layout)?;
        let end = self.state.time.epoch.wrapping_add(stamp);
        let last = self.state.time.last;
        if end >= last || self.context.lane_generation.is_none() {
            return None;
        }
        let run_begin = self.lane.runs.last().map_or(0, |run| run.first_record);
        let (before, heads) = self.lane.heads.split_last_chunk::<2>()?;
        let (times_before, times) = self.lane.times.split_last_chunk::<2>()?;
        let ([start_head, end_head], [start, _]) = (*heads, *times);
        let is_zone = start_head.kind() == PacketKind::ZoneStart
            && end_head.kind() == PacketKind::ZoneEnd
            && start_head.zone() == end_head.zone();
        let (last_before, time_before) = (before.last()?, *times_before.last()?);
        let is_in_order = time_before <= end && last_before.kind() != PacketKind::ZoneTotal;
        let is_of_run = run_begin < before.len();
        if !is_zone || !is_in_order || !is_of_run || end >= start {
            return None;
        }
        let wait = WaitForHost { heads: *heads, times: *times };
        let kept = before.len();
        self.lane.heads.truncate(kept);
        self.lane.times.truncate(kept);
        self.state.time.last = time_before;
        Some(wait)
    }

    /// Appends the wait for the host after the ends of the firmware's zone and the kernel's zone.
    fn put_back(&mut self, wait: Option<WaitForHost>) {
        let Some(WaitForHost { heads, times }) = wait else { return };
        for (head, time) in heads.into_iter().zip(times) {
            self.lane.push(head, time, &[]);
            self.state.time.last = time;
        }
    }

    fn end_slots(&mut self, run: &RunWords, index: usize) {
        self.kernel_end(run, index);
        self.slot(run, index, vector::MAIN_END);
    }

    fn kernel_end(&mut self, run: &RunWords, index: usize) {
        if !mem::replace(&mut self.has_kernel_end, true) {
            self.slot(run, index, vector::CHILD_END);
        }
    }

    /// Decodes the end of the kernel's zone (KERNEL end) early, if the next marker is a hardware
    /// counter that was read after the KERNEL end.
    ///
    /// TT-Metal's firmware reads the counters after the KERNEL end. All other optional records of a
    /// run precede the KERNEL end.
    pub(super) fn kernel_end_before(
        &mut self,
        (run, index): (&RunWords, usize),
        [header, low]: [u32; 2],
    ) {
        let layout = self.context.generation.header;
        if layout.id(header) == u32::from(ZoneId::PERF_COUNTER.0)
            && let Some(end) = peek::stamp(run, vector::CHILD_END, layout)
            && self.order.is_before(end, layout.time(header, low).0)
        {
            self.kernel_end(run, index);
        }
    }

    /// Decodes the marker in a guaranteed slot, unless an earlier push of the launch contained it.
    fn slot(&mut self, run: &RunWords, run_index: usize, slot: usize) {
        let [header, low] = slot_words(run, slot);
        let word = Header(header);
        let index = after(run_index, slot);
        if word.is_empty() {
            return self.free_slot(index, low);
        }
        let Some(seen) = self.state.launch.slots.get_mut(slot_index(slot)) else { return };
        if *seen == [header, low] {
            return self.note(AnomalyKind::DuplicateGuaranteedMarker, index, String::new);
        }
        let Some(kind @ (PacketKind::ZoneStart | PacketKind::ZoneEnd)) = word.kind() else {
            return self.damaged_slot(index, word);
        };
        *seen = [header, low];
        let layout = self.context.generation.header;
        let head = RecordHead::new(kind, ZoneIndex(layout.id(header)));
        let time = self.time_of_stamp(layout.time(header, low).0, index);
        self.lane.push(head, time, &[]);
    }
}

const fn slot_index(slot: usize) -> usize {
    slot.saturating_sub(vector::MAIN_START) / 2
}
