//! Accumulate mode: one push to DRAM transfers the records of several launches.
//!
//! Each launch appends one run (its records, after four ID words) to the L1 vector of each of its
//! RISCs. At the end of a launch, all vectors are pushed if one of them might lack room for the
//! next launch. The next launch is assumed to need as many words as this launch, but at least
//! [`LEAST_FREE_WORDS`]:
//!
//! ```text
//!            0        12                                      device_end        512
//!            +--------+---------------+---------------+-------+-------------------+
//! BRISC's    | push   | run           | run           | run   | free              |
//!            +--------+---------------+---------------+-------+-------------------+
//! ```
//!
//! The zone `PROFILER-DRAM-PUSH` shows the cost of the previous push, including its wait for the
//! NoC. The zone is stored as a run without a program at the beginning of BRISC's vector, and is
//! sent with the next push. The zone is omitted if a single launch fills the vector. Runs that have
//! not been pushed when the last program ends stay in L1, from where the host reads them.
//!
//! The runs of the next launch are prepared at the end of a launch, so that no launch measures this
//! work. Between launches, a RISC's `device_end` contains the number of words in its vector. This
//! number is the index at which the next run begins. When a RISC publishes its run, it stores the
//! run's end in the low half of `device_end` and the run's length in words in the high half, where
//! they stay until the launch ends. Empty fixed slots in BRISC's next run show that the runs are
//! prepared.
//!
//! Nothing is pushed while a kernel runs. When all runs are pushed, a lane stores either all of a
//! RISC's runs or none of them.
//!
//! # Compatibility
//! `PROFILER_OPT_DO_ACCUMULATE` of `kernel_profiler.hpp`. TT-Metal's mode differs: it writes one
//! run header for all launches, stores the zones of firmware and kernels as records, and omits
//! program ids.

use crate::{
    flush::{GUARANTEED_WORDS, PUBLICATION_POLLS},
    lane::{self, CONTROL, DEVICE_END, LATE_RUNS},
    launch::{self, Scope},
    names,
    port::{ClockWords, Port},
    state::{FIRST_OPTIONAL_BYTES, State, offset, word_count},
};
use wire::{
    Header, PacketKind, ZoneId,
    control::ext,
    marker::{self, MARKER_WORDS, TIME_HIGH_MASK},
    run::{ID_LH, ID_LL},
    vector,
};

const LENGTH_SHIFT: u32 = 16;
const END_MASK: u32 = (1 << LENGTH_SHIFT) - 1;

/// Minimum number of words that must be free for another launch, even if the last launch was
/// shorter. This number of words holds the fixed slots and 29 zones.
pub const LEAST_FREE_WORDS: u32 = 128;

/// Id of the zone that the runtime itself records around a push.
pub(crate) const PUSH_ZONE: ZoneId = ZoneId(names::zone_id(names::PUSH));

/// Returns the index of the word in a RISC's L1 vector at which the RISC's current or next run
/// begins.
///
/// `core` is the address of control word `r`, where `r` is the RISC's index.
#[inline(always)]
fn begin_of<P: Port + ?Sized>(port: &mut P, core: u32) -> u32 {
    const LAST: u32 = word_count(vector::VECTOR_WORDS) - LEAST_FREE_WORDS;
    let begin = port.load(core + DEVICE_END) & END_MASK;
    // This runtime stores no larger index, so something else has overwritten the word.
    if begin > LAST { 0 } else { begin }
}

/// Returns the address at which this RISC's records of the current launch begin.
#[inline(always)]
pub(crate) fn own_run<P: Port + ?Sized>(port: &mut P) -> u32 {
    let vector = port.own_vector();
    if !port.is_accumulating() {
        return vector;
    }
    let core = port.own_place();
    vector + 4 * begin_of(port, core)
}

/// Returns the address at which the current launch's records of the RISC `risc_index` begin.
pub(crate) fn run_of<P: Port + ?Sized>(port: &mut P, risc_index: usize) -> u32 {
    let core = port.control_place(risc_index);
    let begin = if port.is_accumulating() { begin_of(port, core) } else { 0 };
    port.vector_place(risc_index) + 4 * begin
}

/// Returns true if no launch has recorded anything in the core's vectors since the last push.
pub(crate) fn is_empty<P: Port + ?Sized>(port: &mut P) -> bool {
    let core = port.control_place(0);
    // BRISC takes part in every launch.
    port.load(core + DEVICE_END) & END_MASK <= GUARANTEED_WORDS
}

/// Publishes this RISC's records of the launch, which end at word index `end` of its vector.
#[inline(always)]
pub(crate) fn publish<P: Port + ?Sized>(port: &mut P, end: u32) {
    let core = port.own_place();
    let length = end - begin_of(port, core);
    port.store(core + DEVICE_END, end | length << LENGTH_SHIFT);
}

/// Ends a launch that ran no kernel on this core, and discards the firmware's records of that
/// launch.
pub(crate) fn forget_launch<P: Port + ?Sized>(port: &mut P) {
    let run = own_run(port);
    launch::empty_slots(port, run);
}

impl State {
    /// Begins a launch on the RISC that pushes for the core, using the runs that were prepared at
    /// the end of the previous launch.
    ///
    /// Prepares the runs now if this is the first launch, if a host has read the vectors since the
    /// runs were prepared, or if the generation or the replay count has changed.
    #[inline(always)]
    pub(crate) fn begin_runs<P: Port + ?Sized>(&self, port: &mut P) {
        let run = own_run(port);
        let id = self.id_word(port);
        let is_prepared = port.load(run + Scope::Main.start()) == marker::EMPTY_HEADER;
        if !is_prepared || port.load(run + offset(ID_LH)) != id {
            self.prepare_runs(port);
        }
    }

    /// Prepares a run (ID words and empty fixed slots) in the L1 vector of each RISC of the core.
    #[cold]
    #[inline(never)]
    fn prepare_runs<P: Port + ?Sized>(&self, port: &mut P) {
        let id = self.id_word(port);
        for risc_index in 0..port.risc_count() {
            let core = port.control_place(risc_index);
            let begin = begin_of(port, core);
            let run = port.vector_place(risc_index) + 4 * begin;
            port.store(run, 0);
            port.store(run + 4, 0);
            port.store(run + offset(ID_LH), id + lane::index_word(risc_index));
            launch::empty_slots(port, run);
            port.store(core + DEVICE_END, begin);
        }
    }
}

/// Ends a launch on the RISC that pushes for the core, and prepares the runs of the next launch.
///
/// Waits for the runs of the other RISCs. Pushes all vectors if the fullest vector has fewer free
/// words than the longest run of this launch needed, or fewer than [`LEAST_FREE_WORDS`].
pub(crate) fn end_launch<P: Port + ?Sized>(state: &State, port: &mut P) {
    port.forget_cached();
    let control = port.control_place(0);
    let enables = port.load(control + offset(ext::SCRATCH));
    let (mut longest, mut fullest) = (LEAST_FREE_WORDS, 0);
    for risc_index in 0..port.risc_count() {
        let core = port.control_place(risc_index);
        let is_enabled = risc_index == 0 || enables >> risc_index & 1 != 0;
        let end = if is_enabled { await_run(port, core) } else { port.load(core + DEVICE_END) };
        longest = longest.max(end >> LENGTH_SHIFT);
        let end = end & END_MASK;
        fullest = fullest.max(end);
        port.store(core + DEVICE_END, end);
    }
    if fullest + longest > word_count(vector::VECTOR_WORDS) {
        push(port, longest);
    } else {
        port.store(control + offset(CONTROL.profiler_done), 1);
    }
    state.prepare_runs(port);
}

/// Waits, up to a limit, until a RISC has published its run; if the run is late, counts it as such.
fn await_run<P: Port + ?Sized>(port: &mut P, core: u32) -> u32 {
    let mut polls = PUBLICATION_POLLS;
    loop {
        let end = port.load(core + DEVICE_END);
        if end > END_MASK {
            return end;
        }
        polls -= 1;
        if polls == 0 {
            lane::add(port, core + LATE_RUNS, 1);
            return end;
        }
        port.forget_cached();
    }
}

/// Pushes all vectors, and records the push as a zone in BRISC's vector.
///
/// Records no zone if the vector would then have no room for a launch of `longest` words.
#[cold]
#[inline(never)]
fn push<P: Port + ?Sized>(port: &mut P, longest: u32) {
    #[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
    names::PUSH_SITE.register();
    let control = port.control_place(0);
    let started = port.now();
    let own_words = port.load(control + DEVICE_END);
    State::push_published(port, control, own_words);
    if longest > word_count(vector::VECTOR_WORDS) - GUARANTEED_WORDS {
        return;
    }
    // The other ID words of this vector already have the right values.
    let run = port.vector_place(0);
    port.store(run + offset(ID_LL), 0);
    launch::empty_slots(port, run);
    write(port, run + Scope::Main.start(), PacketKind::ZoneStart, started);
    let ended = port.now();
    write(port, run + Scope::Main.end(), PacketKind::ZoneEnd, ended);
    port.store(control + DEVICE_END, GUARANTEED_WORDS);
}

fn write<P: Port + ?Sized>(port: &mut P, place: u32, kind: PacketKind, time: ClockWords) {
    port.store(place, Header::prefix(kind, PUSH_ZONE) | time.high & TIME_HIGH_MASK);
    port.store(place + 4, time.low);
}

/// Numbers of runs and markers in a vector, for the loss counters.
///
/// The zone of a push does not count as a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) count: u32,
    /// Number of markers after the ID words, including empty fixed slots, but without padding.
    pub(crate) markers: u32,
    /// Program id of the first run.
    pub(crate) first: u32,
    /// Program id of the last run.
    pub(crate) last: u32,
}

impl Runs {
    /// Counts the runs in the first `words` words of a RISC's vector.
    pub(crate) fn new<P: Port + ?Sized>(port: &mut P, risc_index: usize, words: u32) -> Self {
        const SLOTS: u32 =
            (GUARANTEED_WORDS - word_count(vector::MAIN_START)) / word_count(MARKER_WORDS);
        const PUSH_START: u32 = Header::prefix(PacketKind::ZoneStart, PUSH_ZONE);
        let mut runs = Self::default();
        let mut place = port.vector_place(risc_index);
        let end = place + 4 * words.min(word_count(vector::VECTOR_WORDS));
        while place < end {
            let header = Header(port.load(place));
            if header.is_marker() {
                let size = header.kind().map_or(MARKER_WORDS, PacketKind::record_words);
                if !header.is_empty() {
                    runs.markers += word_count(size) / word_count(MARKER_WORDS);
                }
                place += offset(size);
                continue;
            }
            let is_push = port.load(place + Scope::Main.start()) & !TIME_HIGH_MASK == PUSH_START;
            if !is_push {
                runs.last = port.load(place + offset(ID_LL));
                if runs.count == 0 {
                    runs.first = runs.last;
                }
                runs.count += 1;
                runs.markers += SLOTS;
            }
            place += FIRST_OPTIONAL_BYTES;
        }
        runs
    }
}

const _: () = assert!(marker::EMPTY_HEADER >> 31 == 1);
