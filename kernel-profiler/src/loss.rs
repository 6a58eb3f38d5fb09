//! Counting what found no room, and telling the host.
//!
//! A probe that finds no room adds one to a counter in local RAM. At the end of a launch
//! the counters go to the aggregating RISC in the first two ID words of the RISC's own
//! vector, which carry nothing, and in a control word: room is guaranteed there even
//! where the vector is full. From there they become a trailer in DRAM or an extent of
//! the loss log ([`wire::loss`]).
//!
//! All of it is made to be small and to need no stack, since firmware has little room
//! for either: it is inlined into one function, the counts are an array in the RISC's state,
//! and where the compiler would keep more values in registers than there are, it is told that
//! it does not know them ([`Port::opaque`]).

#[cfg(target_arch = "riscv32")]
use crate::tensix::increment;
use crate::{
    flush::GUARANTEED_WORDS,
    lane::{CONTROL, LEFT_EVENTS, LOSS_LOG_WORDS, LOST_LAUNCHES},
    port::Port,
    state::{State, offset, word_count},
};
use wire::{
    Header, PacketKind,
    loss::{self, EXTENT_WORDS, LOG_START, LossKind, TRAILER_WORDS, TrailerCause},
    marker,
    run::ID_LL,
    vector::{FIRST_OPTIONAL, MAIN_START},
};

impl State {
    /// Counts one record that found no room.
    #[inline(always)]
    pub(crate) fn lose(&mut self, kind: LossKind) {
        increment(&mut self.lost[kind as usize]);
    }

    /// Leaves this RISC's losses for the aggregating RISC.
    #[inline(always)]
    pub(crate) fn leave_losses<P: Port + ?Sized>(&self, port: &mut P, core: u32, vector: u32) {
        let [zones, data, events, sums] = self.lost;
        let sums = if port.sums_enabled() { sums.min(loss::LEFT_SUM_MAX) } else { 0 };
        let [zones, data, events] = loss::left_behind_words([zones, data, events, sums]);
        port.store(vector, zones);
        port.store(vector + 4, data);
        port.store(core + LEFT_EVENTS, events);
    }

    /// Counts what a run has lost that is to lie from word `end` of its lane on: what its RISC has
    /// `left`, which is taken, and the records that the lane cannot take beside a trailer.
    /// Returns the words that may still be pushed and the tag of the trailer's first pair.
    #[inline(always)]
    pub(crate) fn take_losses<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        (risc_index, vector): (usize, u32),
        left: [u32; 3],
        words: u32,
        (end, limit): (u32, u32),
    ) -> (u32, u32) {
        let [zones, data, events, sums] = loss::left_behind_counts(left);
        let sums = if port.sums_enabled() { sums } else { 0 };
        self.reported[..KINDS].copy_from_slice(&[zones, data, events, sums]);
        port.store(vector, 0);
        port.store(vector + 4, 0);
        if end.wrapping_add(words + TRAILER_WORDS) <= limit {
            return (words, loss::trailer_low(TrailerCause::L1Full, 0, 0));
        }
        let dropped = port.control(CONTROL.dropped_zones);
        port.set_control(CONTROL.dropped_zones, dropped | 1 << risc_index);
        // All bits set if the guaranteed part can be pushed.
        let is_full = end.wrapping_add(GUARANTEED_WORDS + TRAILER_WORDS) > limit;
        let fits = port.opaque(u32::from(is_full).wrapping_sub(1));
        let first = offset(MAIN_START) + (fits & offset(FIRST_OPTIONAL - MAIN_START));
        self.count_records(port, vector + first, vector + words * 4);
        (fits & GUARANTEED_WORDS, loss::trailer_low(TrailerCause::DramFull, 0, 0))
    }

    /// Adds the records from one place up to another, of which there is at least one.
    ///
    /// A zone counts by its start; neither padding nor the runtime's own zone is a record.
    #[inline(always)]
    fn count_records<P: Port + ?Sized>(&mut self, port: &mut P, mut place: u32, end: u32) {
        const OWN_ZONE: u32 = Header::prefix(PacketKind::ZoneStart, crate::flush::QUICK_PUSH_ZONE);
        loop {
            let header = port.load(place) >> TIME_BITS;
            let shift = header >> (26 - TIME_BITS) & 0x1C;
            if header != marker::EMPTY_HEADER >> TIME_BITS && header != OWN_ZONE >> TIME_BITS {
                let count = &mut self.reported[(COUNTED_AS >> shift & 7) as usize];
                *count = count.wrapping_add(1);
            }
            place += (RECORD_WORDS >> shift & 0xF) << 2;
            if place >= end {
                break;
            }
        }
    }

    /// Puts a trailer with the losses of the run at hand together.
    #[inline(always)]
    pub(crate) fn write_trailer<P: Port + ?Sized>(
        &self,
        port: &mut P,
        mut place: u32,
        mut tag: u32,
    ) {
        const _: () = assert!(marker::EMPTY_HEADER == NEXT_KIND << 3, "one constant for two");
        for &count in &self.reported[..KINDS] {
            let next_kind = port.opaque(NEXT_KIND);
            port.store(place, next_kind << 3);
            port.store(place + 4, tag.wrapping_add(count));
            place += 8;
            tag = tag.wrapping_add(next_kind);
        }
    }

    /// Enters the losses of the run at hand, which found no room in DRAM, into the RISC's
    /// loss log.
    ///
    /// They are always written as an extent of their own, which then counts only if they do not
    /// continue the extent before. The last extent of a full log keeps its counts and adds them.
    #[inline(always)]
    pub(crate) fn log_launch<P: Port + ?Sized>(&self, port: &mut P, core: u32, vector: u32) {
        let program = port.load(vector + offset(ID_LL));
        let mut used = port.load(core + LOSS_LOG_WORDS);
        // All bits set if the log is full; more than that can only be damage.
        let kept = port.opaque(u32::from(used > REMAINDER).wrapping_neg());
        if kept != 0 {
            used = REMAINDER;
        }
        let extent = vector + used * 4;
        port.store(extent + PROGRAM, program);
        port.store(extent + STEP, 0);
        port.store(extent + LOG_WORDS_BEFORE, used);
        let launches = port.load(extent + LAUNCHES) & kept;
        port.store(extent + LAUNCHES, launches.wrapping_add(1));
        let mut word = extent;
        for &count in &self.reported[..KINDS] {
            let total = port.load(word + COUNTS) & kept;
            port.store(word + COUNTS, total.wrapping_add(count));
            word += 4;
        }
        if kept != 0 || !continues(port, extent, program) {
            port.store(core + LOSS_LOG_WORDS, used + EXTENT_BYTES / 4);
        }
        // Last, since a host that sees the count looks into the log.
        let launches = port.load(core + LOST_LAUNCHES);
        port.store(core + LOST_LAUNCHES, launches.wrapping_add(1));
    }
}

/// Adds the launch of a new extent to the extent before, if it continues that.
///
/// Before the first extent lie fixed slots, whose headers are no counts.
#[inline(always)]
fn continues<P: Port + ?Sized>(port: &mut P, extent: u32, program: u32) -> bool {
    const _: () =
        assert!(LOG_START - EXTENT_WORDS >= MAIN_START && marker::EMPTY_HEADER >> 31 == 1);
    let before = extent - EXTENT_BYTES;
    let mut word = extent;
    loop {
        if port.load(word + COUNTS) != port.load(word + COUNTS - EXTENT_BYTES) {
            return false;
        }
        word = port.opaque(word + 4);
        if word == extent + EXTENT_BYTES / 2 {
            break;
        }
    }
    let launches = port.load(before + LAUNCHES);
    let distance = program.wrapping_sub(port.load(before + PROGRAM));
    if launches == 1 {
        port.store(before + STEP, distance);
    }
    if port.load(before + STEP).wrapping_mul(launches) != distance {
        return false;
    }
    port.store(before + LAUNCHES, launches.wrapping_add(1));
    true
}

/// What a RISC has left of its losses. Nothing in trace-only mode, where the words say other
/// things.
#[inline(always)]
pub(crate) fn left_behind<P: Port + ?Sized>(port: &mut P, core: u32, vector: u32) -> [u32; 3] {
    if port.is_trace_only() {
        return [0; 3];
    }
    [port.load(vector), port.load(vector + 4), port.load(core + LEFT_EVENTS)]
}

/// Counts up to the largest count.
#[cfg(not(target_arch = "riscv32"))]
fn increment(count: &mut u32) {
    *count = (*count + 1).min(loss::LEFT_COUNT_MAX);
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

/// From a trailer's low word of one kind to that of the next.
const NEXT_KIND: u32 =
    loss::trailer_low(TrailerCause::L1Full, 1, 0) - loss::trailer_low(TrailerCause::L1Full, 0, 0);

const KINDS: usize = LossKind::ALL.len();
/// Bits of a header that have the time; those above say what it is.
const TIME_BITS: u32 = marker::TIME_HIGH_MASK.count_ones();

const EXTENT_BYTES: u32 = word_count(EXTENT_WORDS) * 4;
/// Words of a log before its last extent, which gathers the rest.
const REMAINDER: u32 = loss::REMAINDER_START;

/// The words of an extent, from the place that lies as far behind the vector's first as the extent
/// behind the log's.
const PROGRAM: u32 = word_count(LOG_START) * 4;
const STEP: u32 = PROGRAM + 4;
const LAUNCHES: u32 = PROGRAM + 8;
const LOG_WORDS_BEFORE: u32 = PROGRAM + 12;
const COUNTS: u32 = PROGRAM + 16;

const _: () = {
    use wire::loss::{LossCounts, LossExtent};
    let counts = LossCounts { zones: 5, data: 6, events: 7, sums: 8 };
    let extent =
        LossExtent { first_program: 1, program_step: 2, launches: 3, is_remainder: true, counts };
    assert!(
        matches!(extent.to_words(), [1, 2, 3, REMAINDER, 5, 6, 7, 8]),
        "as the constants above"
    );
};
