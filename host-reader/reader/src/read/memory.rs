//! State of a core between two reads: the read positions and the values of the counters.

use super::{
    control::{ControlVector, WORDS, word_of},
    plan::{CoreRead, LaneRead},
    watermark::PUSH_ALIGN_WORDS,
};
use wire::{control::ext, risc::RISCS_PER_CORE};

/// State of a core that runs this project's runtime, after the last read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CoreMemory {
    /// Number of launches that the host has acknowledged as read, including its last
    /// acknowledgement.
    seen_runs: u32,
    /// Number of launches that the host had acknowledged as read before its last acknowledgement.
    seen_runs_before: u32,
    /// Number of finished launches at the last read.
    pub(super) run_counter: u32,
    /// Generation of the lanes at the last read.
    generation: u32,
    /// Number of words read from each lane.
    read_words: [u32; RISCS_PER_CORE],
    /// The control vector that the last read found, before the acknowledgement; zeros if no host
    /// has read the core yet. `None` if unknown, because another reader has read the core.
    pub(super) words: Option<[u32; WORDS]>,
}

impl CoreMemory {
    /// Returns the state of a core before this read, from the state after the last read and the
    /// control vector.
    ///
    /// Another host may have read the core, or initialized it again, since this reader's last read.
    /// The `remembered` state is then invalid. If no host has read the core since it was
    /// initialized, all words of the core are new; otherwise only the words written after the other
    /// host's read are new.
    pub(super) fn from_core(remembered: Option<Self>, control: &ControlVector) -> Self {
        let seen_runs = control.word(ext::SEEN_RUNS);
        let run_counter = control.run_counter();
        let generation = control.word(ext::GENERATION);
        let is_same = |memory: &Self| {
            let is_ahead = run_counter.wrapping_sub(memory.run_counter) <= u32::MAX / 2;
            // The device may not have received the last acknowledgement. In that case the device
            // has not released its lanes, so their generation is unchanged.
            let was_not_told =
                seen_runs == memory.seen_runs_before && generation == memory.generation;
            is_ahead && (seen_runs == memory.seen_runs || was_not_told)
        };
        if let Some(memory) = remembered.filter(is_same) {
            return Self { seen_runs, seen_runs_before: seen_runs, ..memory };
        }
        let mut memory = Self {
            seen_runs,
            seen_runs_before: seen_runs,
            run_counter: seen_runs,
            generation,
            ..Self::default()
        };
        if control.has_turning_lanes() {
            memory.read_words = control.risc_words(ext::CONSUMED);
        } else if seen_runs != 0 && seen_runs == run_counter {
            memory.read_words = control.risc_words(control.layout.host_end);
        }
        if seen_runs == 0 {
            memory.words = Some([0; WORDS]);
        }
        memory
    }

    /// Returns the number of words of a lane that hosts have read since the device last reset the
    /// lane to empty.
    pub(super) fn read_words(&self, control: &ControlVector, risc_index: usize) -> u32 {
        if control.word(ext::GENERATION) == self.generation {
            return self.read_words.get(risc_index).copied().unwrap_or(0);
        }
        // The device has released the lanes. If another reader has read the core since then, that
        // reader has written its read positions to the core.
        if control.has_turning_lanes() { control.consumed(risc_index) } else { 0 }
    }

    /// Returns the first word of a lane that the device was not allowed to write; `None` if
    /// unknown.
    ///
    /// After a wrap, the device may overwrite only words that the host has acknowledged as read. So
    /// an acknowledged read position after the first unread word is a limit. The device may not
    /// have received the last acknowledgement in time, so the lower limit of the last two
    /// acknowledgements applies. If neither of them sets a limit, the device may write up to the
    /// end of the lane, and the result is the lane's size.
    pub(super) fn room_end(&self, control: &ControlVector, lane: &LaneRead) -> Option<u32> {
        let before = if control.word(ext::GENERATION) == self.generation {
            word_of(&self.words?, ext::CONSUMED.saturating_add(lane.risc_index))
        } else {
            0
        };
        let known = [before, control.consumed(lane.risc_index)];
        let unread = known.into_iter().filter(|&words| words > lane.begin).min();
        Some(unread.map_or(lane.lane_words, |words| words.saturating_sub(PUSH_ALIGN_WORDS)))
    }

    /// Returns the state of the core after a read.
    ///
    /// `acknowledged` is the number of launches that were acknowledged as read; `None` if this read
    /// wrote no new number to the device.
    pub(super) fn after_read(&self, core: &CoreRead, acknowledged: Option<u32>) -> Self {
        let control = &core.control;
        let mut read_words: [u32; RISCS_PER_CORE] =
            std::array::from_fn(|risc_index| self.read_words(control, risc_index));
        for lane in core.lanes.iter().filter(|lane| lane.is_taken()) {
            if let Some(words) = read_words.get_mut(lane.risc_index) {
                *words = lane.end.end;
            }
        }
        Self {
            seen_runs: acknowledged.unwrap_or(self.seen_runs),
            seen_runs_before: self.seen_runs,
            run_counter: control.run_counter(),
            generation: control.word(ext::GENERATION),
            read_words,
            words: Some(control.words),
        }
    }
}
