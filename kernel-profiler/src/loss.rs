//! Counting what found no room, and telling the host.
//!
//! A probe that finds no room adds one to a counter in local RAM. At the end of a launch
//! the counters go to the aggregating RISC in the first ID words of the RISC's own
//! vector, which carry nothing until the run is stamped: room is guaranteed there even
//! where the vector is full. From there they become a trailer in DRAM or an extent of
//! the loss log ([`wire::loss`]).
//!
//! All of it is made to be small and to need little stack, since firmware has little room
//! for either: counters are arrays in the RISC's state, and nothing is passed by value.

#[cfg(target_arch = "riscv32")]
use crate::tensix::increment;
use crate::{
    flush::GUARANTEED_WORDS,
    lane::{CONTROL, DEVICE_END, LOSS_LOG_WORDS, LOST_LAUNCHES},
    launch::clear_run,
    port::Port,
    state::{NOTHING_LOST, State, offset, word_count},
};
use wire::{
    Header, PacketKind,
    control::ext,
    loss::{self, EXTENT_WORDS, EXTENTS_MAX, LOG_START, LossKind, TRAILER_WORDS, TrailerCause},
    marker,
    run::{ID_LH, ID_LL},
    vector::{FIRST_OPTIONAL, MAIN_START},
};

impl State {
    /// Counts one record that found no room.
    #[inline(always)]
    pub(crate) fn lose(&mut self, kind: LossKind) {
        increment(&mut self.lost[kind as usize]);
    }

    /// Leaves this RISC's losses for the aggregating RISC, in ID words 0 to 2 of its vector, and
    /// forgets them. If the vector still holds an earlier run, they join those of that run.
    #[inline(never)]
    pub(crate) fn leave_losses<P: Port + ?Sized>(&mut self, port: &mut P) {
        let risc_index = port.risc_index();
        let vector = port.vector_place(risc_index);
        let is_pending = port.load(port.control_place(risc_index) + DEVICE_END) != 0;
        if !self.is_recording() && !is_pending {
            clear_run(port, vector);
        }
        let [zones, data, events, mut sums] = core::mem::replace(&mut self.lost, NOTHING_LOST);
        if zones | data | events | sums == 0 {
            return;
        }
        let mut left =
            [port.load(vector), port.load(vector + 4), port.load(vector + offset(ID_LH))];
        if left[0] == 0 {
            left[2] = 0;
        }
        if port.sums_enabled() {
            sums = sums.min(loss::LEFT_SUM_MAX - (left[2] & loss::LEFT_SUM_MAX));
        }
        let left = loss::left_behind_with(left, [zones, data, events, sums]);
        port.store(vector, left[0]);
        port.store(vector + 4, left[1]);
        port.store(vector + offset(ID_LH), left[2]);
    }

    /// Counts a launch that ran no kernel here, and forgets what it lost.
    #[inline(never)]
    pub(crate) fn discard_launch<P: Port + ?Sized>(&mut self, port: &mut P) {
        let discarded = port.control(ext::DISCARDED_LAUNCHES);
        port.set_control(ext::DISCARDED_LAUNCHES, discarded.wrapping_add(1));
        self.lost = NOTHING_LOST;
        self.stop_recording();
    }

    /// Counts what a run has lost that is to lie from word `end` of its lane on: what its RISC has left in
    /// the ID words, which are stamped, and the records that the lane cannot take beside a
    /// trailer. Puts the trailer together. Returns the words that may still be pushed.
    ///
    /// A zone counts by its start; neither padding nor the runtime's own zone is a record.
    #[inline(never)]
    pub(crate) fn take_losses<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        (vector, risc_index): (u32, usize),
        mut words: u32,
        (end, limit): (u32, u32),
    ) -> u32 {
        const OWN_ZONE: u32 = Header::prefix(PacketKind::ZoneStart, crate::flush::QUICK_PUSH_ZONE);
        let mut left =
            [port.load(vector), port.load(vector + 4), port.load(vector + offset(ID_LH))];
        if left[0] == 0 {
            left[2] = 0;
        }
        self.reported = loss::left_behind_counts(left);
        port.store(vector, 0);
        port.store(vector + 4, 0);
        port.store(vector + offset(ID_LH), self.id_word.wrapping_add(low_word(risc_index)));
        let mut cause = TrailerCause::L1Full;
        if end.wrapping_add(words + TRAILER_WORDS) > limit {
            cause = TrailerCause::DramFull;
            let dropped = port.control(CONTROL.dropped_zones);
            port.set_control(CONTROL.dropped_zones, dropped | 1 << risc_index);
            let last = vector + words * 4;
            words = GUARANTEED_WORDS;
            let mut place = vector + offset(FIRST_OPTIONAL);
            if end.wrapping_add(words) > limit {
                place = vector + offset(MAIN_START);
            }
            while place < last {
                let header = port.load(place);
                let shift = (header >> 26) & 0x1C;
                if header != marker::EMPTY_HEADER && header & !marker::TIME_HIGH_MASK != OWN_ZONE {
                    let kind = (COUNTED_AS >> shift & 0xF) as usize;
                    if let Some(count) = self.reported.get_mut(kind) {
                        *count = count.wrapping_add(1);
                    }
                }
                place += (RECORD_WORDS >> shift & 0xF) << 2;
            }
        }
        let mut pair = port.control_place(ext::TRAILER);
        let mut tag = loss::trailer_low(cause, 0, 0);
        for &count in &self.reported {
            port.store(pair, marker::EMPTY_HEADER);
            port.store(pair + 4, tag | count.min(loss::TRAILER_COUNT_MAX));
            pair += 8;
            tag = tag.wrapping_add(NEXT_KIND);
        }
        words
    }

    /// Enters the losses of the run at hand, which found no room in DRAM, into the RISC's
    /// loss log. `core` and `vector` are the places of the RISC's first words.
    #[inline(never)]
    pub(crate) fn log_launch<P: Port + ?Sized>(&self, port: &mut P, core: u32, vector: u32) {
        let program = port.load(vector + offset(ID_LL));
        // More than fits can only be damage.
        let used = port.load(core + LOSS_LOG_WORDS).min(LOG_WORDS_MAX);
        let end = vector + offset(LOG_START) + used * 4;
        if used == 0 || !self.continues(port, end - EXTENT_BYTES, program, used) {
            port.store(end, program);
            port.store(end + EXTENT_STEP, 0);
            port.store(end + EXTENT_LAUNCHES, 1);
            let is_remainder = u32::from(used == LOG_WORDS_MAX - EXTENT_BYTES / 4);
            port.store(end + EXTENT_FLAGS, is_remainder);
            let mut word = end + EXTENT_COUNTS;
            for &count in &self.reported {
                port.store(word, count);
                word += 4;
            }
            port.store(core + LOSS_LOG_WORDS, used + EXTENT_BYTES / 4);
        }
        let launches = port.load(core + LOST_LAUNCHES);
        port.store(core + LOST_LAUNCHES, launches.wrapping_add(1));
    }

    /// Adds the launch to the last extent if it continues it, or if the log is full.
    #[inline(always)]
    fn continues<P: Port + ?Sized>(
        &self,
        port: &mut P,
        extent: u32,
        program: u32,
        used: u32,
    ) -> bool {
        let launches = port.load(extent + EXTENT_LAUNCHES);
        let mut word = extent + EXTENT_COUNTS;
        if used == LOG_WORDS_MAX {
            for &count in &self.reported {
                let total = port.load(word).saturating_add(count);
                port.store(word, total);
                word += 4;
            }
        } else {
            for &count in &self.reported {
                if port.load(word) != count {
                    return false;
                }
                word += 4;
            }
            let distance = program.wrapping_sub(port.load(extent));
            if launches == 1 {
                port.store(extent + EXTENT_STEP, distance);
            } else if port.load(extent + EXTENT_STEP).wrapping_mul(launches) != distance {
                return false;
            }
        }
        port.store(extent + EXTENT_LAUNCHES, launches.wrapping_add(1));
        true
    }
}

/// Counts up to the largest count.
#[cfg(not(target_arch = "riscv32"))]
fn increment(count: &mut u32) {
    *count = (*count + 1).min(loss::TRAILER_COUNT_MAX);
}

/// Per packet type, four bits: the words of its records. Unknown types take two.
#[expect(clippy::cast_possible_truncation, reason = "a record has up to six words")]
const RECORD_WORDS: u32 = {
    let mut table = 0x2222_2222;
    let mut i = 0;
    while i < PacketKind::ALL.len() {
        let kind = PacketKind::ALL[i];
        let shift = 4 * kind as u32;
        table = table & !(0xF << shift) | (kind.record_words() as u32) << shift;
        i += 1;
    }
    table
};

/// Per packet type, four bits: as which [`LossKind`] its records count, or one that is none.
const COUNTED_AS: u32 = {
    let counted = [
        (PacketKind::ZoneStart, LossKind::Zone),
        (PacketKind::ZoneTotal, LossKind::Sum),
        (PacketKind::TimestampedData, LossKind::Data),
        (PacketKind::TimestampedData16B, LossKind::Data),
        (PacketKind::TimestampedEvent, LossKind::Event),
    ];
    let mut table = u32::MAX;
    let mut i = 0;
    while i < counted.len() {
        let shift = 4 * counted[i].0 as u32;
        table = table & !(0xF << shift) | (counted[i].1 as u32) << shift;
        i += 1;
    }
    table
};

#[expect(clippy::cast_possible_truncation, reason = "a core has five RISCs")]
const fn low_word(risc_index: usize) -> u32 {
    risc_index as u32
}

/// From a trailer's low word of one kind to that of the next.
const NEXT_KIND: u32 =
    loss::trailer_low(TrailerCause::L1Full, 1, 0) - loss::trailer_low(TrailerCause::L1Full, 0, 0);

const EXTENT_BYTES: u32 = word_count(EXTENT_WORDS) * 4;
const LOG_WORDS_MAX: u32 = word_count(EXTENTS_MAX * EXTENT_WORDS);
/// Words of an extent, in places from its first one.
const EXTENT_STEP: u32 = 4;
const EXTENT_LAUNCHES: u32 = 8;
const EXTENT_FLAGS: u32 = 12;
const EXTENT_COUNTS: u32 = 16;

const _: () = {
    use wire::loss::{LossCounts, LossExtent};
    let counts = LossCounts { zones: 5, data: 6, events: 7, sums: 8 };
    let extent =
        LossExtent { first_program: 1, program_step: 2, launches: 3, is_remainder: true, counts };
    assert!(matches!(extent.to_words(), [1, 2, 3, 1, 5, 6, 7, 8]), "as the constants above");
};
