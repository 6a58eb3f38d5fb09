//! Counting what found no room, and telling the host.
//!
//! A probe that finds no room adds one to a counter in local RAM. At the end of a launch
//! the counters go to the aggregating RISC in the first ID words of the RISC's own
//! vector, which carry nothing until the run is stamped: room is guaranteed there even
//! where the vector is full. From there they become a trailer in DRAM or an extent of
//! the loss log ([`wire::loss`]).

use crate::{
    lane::CONTROL,
    port::Port,
    state::{NOTHING_LOST, State},
};
use wire::{
    Header, PacketKind,
    control::ext,
    loss::{
        EXTENT_WORDS, EXTENTS_MAX, LOG_START, LossCounts, LossExtent, LossKind, TrailerCause,
        TrailerPair,
    },
    marker, vector,
};

impl State {
    /// Counts one record that found no room.
    #[cold]
    #[inline(never)]
    pub(crate) fn lose(&mut self, kind: LossKind) {
        let count = match kind {
            LossKind::Zone => &mut self.lost.zones,
            LossKind::Data => &mut self.lost.data,
            LossKind::Event => &mut self.lost.events,
            LossKind::Sum => &mut self.lost.sums,
        };
        *count = count.saturating_add(1);
    }
}

/// Leaves a RISC's losses for the aggregating RISC, in ID words 0 to 2 of its vector.
///
/// Word 0 is otherwise zero, so its top bit says that losses are there.
pub(crate) fn leave<P: Port + ?Sized>(port: &mut P, risc_index: usize, lost: LossCounts) {
    let zones = lost.zones.min(!LEFT_BEHIND);
    let events = lost.events.min(u32::MAX >> SUM_BITS);
    let sums = lost.sums.min(SUM_MASK);
    port.set_vector(risc_index, 0, LEFT_BEHIND | zones);
    port.set_vector(risc_index, 1, lost.data);
    port.set_vector(risc_index, 2, events << SUM_BITS | sums);
}

/// Whether [`leave`] has left anything.
pub(crate) fn has_left<P: Port + ?Sized>(port: &mut P, risc_index: usize) -> bool {
    port.vector(risc_index, 0) & LEFT_BEHIND != 0
}

/// Reads what [`leave`] has left.
pub(crate) fn left_behind<P: Port + ?Sized>(port: &mut P, risc_index: usize) -> LossCounts {
    if !has_left(port, risc_index) {
        return NOTHING_LOST;
    }
    let flagged_zones = port.vector(risc_index, 0);
    let data = port.vector(risc_index, 1);
    let events_and_sums = port.vector(risc_index, 2);
    LossCounts {
        zones: flagged_zones & !LEFT_BEHIND,
        data,
        events: events_and_sums >> SUM_BITS,
        sums: events_and_sums & SUM_MASK,
    }
}

/// Counts the optional records in words 12 to `end` of a vector. A zone counts by its start.
pub(crate) fn optional_records<P: Port + ?Sized>(
    port: &mut P,
    risc_index: usize,
    end: usize,
) -> LossCounts {
    let mut counts = NOTHING_LOST;
    let mut index = vector::FIRST_OPTIONAL;
    while index < end {
        let header = Header(port.vector(risc_index, index));
        let kind = header.kind();
        match kind {
            Some(PacketKind::ZoneStart) if is_of_kernel(header) => counts.zones += 1,
            Some(PacketKind::TimestampedData | PacketKind::TimestampedData16B) => counts.data += 1,
            Some(PacketKind::TimestampedEvent) => counts.events += 1,
            Some(PacketKind::ZoneTotal) => counts.sums += 1,
            Some(PacketKind::ZoneStart | PacketKind::ZoneEnd) | None => {}
        }
        index += kind.map_or(marker::MARKER_WORDS, PacketKind::record_words);
    }
    counts
}

/// Whether a zone's start is neither padding nor the runtime's own.
fn is_of_kernel(start: Header) -> bool {
    !start.is_empty() && start.id() != crate::flush::QUICK_PUSH_ZONE
}

/// Counts the fixed zones that have begun: FW and KERNEL.
pub(crate) fn guaranteed_zones<P: Port + ?Sized>(port: &mut P, risc_index: usize) -> LossCounts {
    let main = u32::from(!Header(port.vector(risc_index, vector::MAIN_START)).is_empty());
    let child = u32::from(!Header(port.vector(risc_index, vector::CHILD_START)).is_empty());
    LossCounts { zones: main + child, ..NOTHING_LOST }
}

/// The losses that go with one run into DRAM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trailer {
    /// What the L1 vector had no room for.
    pub(crate) l1_full: LossCounts,
    /// What the lane had no room for.
    pub(crate) dram_full: LossCounts,
}

impl Trailer {
    pub(crate) const fn of_l1(l1_full: LossCounts) -> Self {
        Self { l1_full, dram_full: NOTHING_LOST }
    }

    /// Words of the trailer, a multiple of the push alignment.
    pub(crate) fn words(&self) -> u32 {
        let mut pairs = 0;
        self.for_each_pair(|_| pairs += 1);
        pairs * 2
    }

    /// Calls `visit` with every pair of the trailer, and with a pair of padding if their
    /// number is odd.
    pub(crate) fn for_each_pair(&self, mut visit: impl FnMut([u32; 2])) {
        let mut is_odd = false;
        for cause in [TrailerCause::L1Full, TrailerCause::DramFull] {
            for kind in LossKind::ALL {
                let count = self.count(cause, kind);
                if count != 0 {
                    is_odd = !is_odd;
                    visit(TrailerPair { cause, kind, count }.to_words());
                }
            }
        }
        if is_odd {
            visit([marker::EMPTY_HEADER, 0]);
        }
    }

    const fn count(&self, cause: TrailerCause, kind: LossKind) -> u32 {
        let counts = match cause {
            TrailerCause::L1Full => &self.l1_full,
            TrailerCause::DramFull => &self.dram_full,
        };
        match kind {
            LossKind::Zone => counts.zones,
            LossKind::Data => counts.data,
            LossKind::Event => counts.events,
            LossKind::Sum => counts.sums,
        }
    }
}

/// Enters a launch that found no room in DRAM into the RISC's loss log.
#[cold]
#[inline(never)]
pub(crate) fn log_launch<P: Port + ?Sized>(port: &mut P, risc_index: usize, counts: LossCounts) {
    let program = port.vector(risc_index, wire::run::ID_LL);
    let launches = port.control(ext::LOST_LAUNCHES + risc_index);
    let extents = if launches == 0 { 0 } else { extent_count(port, risc_index) };
    let (slot, extent) = match extents.checked_sub(1) {
        Some(last) => next_extent(read_extent(port, risc_index, last), last, program, counts),
        None => (0, LossExtent::of_launch(program, counts)),
    };
    let start = LOG_START + slot * EXTENT_WORDS;
    for (offset, word) in extent.to_words().into_iter().enumerate() {
        port.set_vector(risc_index, start + offset, word);
    }
    let words = start + EXTENT_WORDS - LOG_START;
    port.set_control(ext::LOSS_LOG_WORDS + risc_index, low_word(words));
    port.set_control(ext::LOST_LAUNCHES + risc_index, launches.saturating_add(1));
}

/// The slot and the extent that a launch changes, given the last extent of the log.
fn next_extent(
    last_extent: LossExtent,
    last: usize,
    program: u32,
    counts: LossCounts,
) -> (usize, LossExtent) {
    if last_extent.is_remainder {
        return (last, last_extent.remainder_with(counts));
    }
    if let Some(extended) = last_extent.extended(program, counts) {
        return (last, extended);
    }
    let next = last + 1;
    if next + 1 < EXTENTS_MAX {
        return (next, LossExtent::of_launch(program, counts));
    }
    (REMAINDER_SLOT, LossExtent::EMPTY_REMAINDER.remainder_with(counts))
}

/// Extents in the log; more than fit can only be damage, and the last slot then takes all.
fn extent_count<P: Port + ?Sized>(port: &mut P, risc_index: usize) -> usize {
    let words = port.control(ext::LOSS_LOG_WORDS + risc_index) as usize;
    (words / EXTENT_WORDS).min(EXTENTS_MAX)
}

fn read_extent<P: Port + ?Sized>(port: &mut P, risc_index: usize, slot: usize) -> LossExtent {
    let start = LOG_START + slot * EXTENT_WORDS;
    let mut words = [0; EXTENT_WORDS];
    for (offset, word) in words.iter_mut().enumerate() {
        *word = port.vector(risc_index, start + offset);
    }
    LossExtent::from_words(words)
}

/// Sets the bits of the RISCs in `mask` that lost markers because DRAM was full.
pub(crate) fn set_dropped<P: Port + ?Sized>(port: &mut P, mask: u32) {
    if mask != 0 {
        let dropped = port.control(CONTROL.dropped_zones);
        port.set_control(CONTROL.dropped_zones, dropped | mask);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the log lies in a vector of 512 words")]
const fn low_word(words: usize) -> u32 {
    words as u32
}

const LEFT_BEHIND: u32 = 1 << 31;
/// Two totals and two contested accumulators make four lost sums at most.
const SUM_BITS: u32 = 3;
const SUM_MASK: u32 = (1 << SUM_BITS) - 1;
const REMAINDER_SLOT: usize = EXTENTS_MAX - 1;
