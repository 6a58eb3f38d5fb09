//! Transfer of markers from L1 to DRAM, at the end of a launch or during a launch.
//!
//! The order is always the same: words leave L1, DRAM acknowledges them, and only then do control
//! words report them. Each wait has a time limit; words that have not arrived by then count as
//! lost.

use crate::{
    accumulate::Runs,
    lane::{self, CONTROL, DEVICE_END, HOST_END, LATE_RUNS, Lanes, REFUSED_MARKERS, REFUSED_RUNS},
    names,
    port::{Port, Pushes, SavedRegisters},
    stall,
    state::{State, bytes, offset, word_count},
};
use wire::{
    Header, PacketKind, ZoneId, control::ext, marker, risc::RISCS_PER_CORE, run::ID_LL, vector,
};

/// Size, in words, of a launch's records without optional markers.
pub(crate) const GUARANTEED_WORDS: u32 = word_count(vector::FIRST_OPTIONAL);

/// Maximum number of polls for a run (a RISC's records of a launch) that is not published yet.
///
/// A poll takes some ten cycles. Some RISCs signal that they are done before they publish their
/// run; they publish it some hundred cycles later.
pub const PUBLICATION_POLLS: u32 = 4096;

impl State {
    /// Pushes to DRAM all records of the launch that the core's RISCs have published.
    ///
    /// Depending on the room in the RISC's lane in DRAM, pushes all records, only the fixed slots
    /// or nothing. `own_words` is the length in words of this RISC's records.
    ///
    /// Rare cases are handled in separate functions, so that the loop can use all registers.
    #[inline(always)]
    pub(crate) fn push_published<P: Port + ?Sized>(port: &mut P, control: u32, own_words: u32) {
        port.forget_cached();
        let mut lanes = Lanes::new(port, control);
        let mut is_stuck = !port.await_idle();
        let pushes = if is_stuck {
            lanes.words = 0;
            Pushes(0)
        } else {
            port.begin_pushes(lanes.bank)
        };
        let mut runs = published_runs(port, control, own_words);
        if port.is_non_dropping() && !is_stuck {
            stall::await_lanes(port, &lanes, &mut runs);
        }
        let mut vector = port.opaque(port.vector_place(0));
        let mut lane = lanes.first_address;
        let stride = lanes.words << 2;
        let (mut has_full_lanes, mut sent) = (false, 0);
        for run in &mut runs {
            let padded = padded(run.words);
            let end = run.end.wrapping_add(padded);
            if end > lanes.words {
                has_full_lanes = true;
            } else if padded != 0 {
                if !port.push(pushes, vector, padded, lane.wrapping_add(run.end << 2)) {
                    is_stuck = true;
                    break;
                }
                run.end = end;
                sent += 1;
            }
            vector += VECTOR;
            lane = lane.wrapping_add(stride);
        }
        if has_full_lanes && !is_stuck {
            is_stuck = !push_to_full_lanes(port, pushes, &lanes, &mut runs, &mut sent);
        }
        port.count_pushes(sent);
        let has_arrived = !is_stuck && port.wait_for_pushes(pushes);
        if has_full_lanes || !has_arrived {
            account(port, &mut runs, has_arrived);
        }
        let [one, two, three, four, five] = runs;
        one.hand_over(port, control);
        two.hand_over(port, control + 4);
        three.hand_over(port, control + 8);
        four.hand_over(port, control + 12);
        five.hand_over(port, control + 16);
        lane::add(port, control + offset(CONTROL.run_counter), 1);
        port.store(control + offset(CONTROL.profiler_done), 1);
    }

    /// Pushes to DRAM what this RISC has recorded so far, and starts a new run in its emptied
    /// vector.
    ///
    /// Does nothing if a push is impossible: on a TRISC, in accumulate mode, when streaming, while
    /// a command buffer has a linked transaction, or if the lane would have no room left for the
    /// end of the launch. The markers then stay in L1 until the end of the launch.
    ///
    /// The zone `PROFILER-NOC-QUICK-PUSH` shows the cost of the push. This zone is the first record
    /// after the push.
    #[cold]
    #[inline(never)]
    pub fn quick_push<P: Port + ?Sized>(&mut self, port: &mut P) {
        let vector = port.own_vector();
        let is_worthwhile = self.next() > vector + GUARANTEED_WORDS * 4;
        let may_push = port.can_quick_push() && !port.is_accumulating() && !port.is_streaming();
        if !is_worthwhile || !may_push || port.is_linked() {
            return;
        }
        let mut stall = None;
        if port.is_non_dropping() {
            match self.await_own_lane(port) {
                Some(wait) => stall = Some(wait),
                None => return,
            }
        }
        let started = port.now();
        port.forget_cached();
        let core = port.own_place();
        let start = port.load(core + HOST_END);
        let words = (self.next() - vector) >> 2;
        pad(port, self.next(), words);
        let words = padded(words);
        let lanes = Lanes::new(port, port.control_place(0));
        let place = lanes.place(port, core, (start, words + GUARANTEED_WORDS));
        let Some(end) = place.end else { return };
        let lanes_before = lanes.words.wrapping_mul(lane::index_word(port.risc_index()));
        let before = lanes_before + place.position;
        if !port.await_idle() {
            return;
        }
        let mut saved = SavedRegisters::default();
        port.save_command_buffer(&mut saved);
        let pushes = port.begin_pushes(lanes.bank);
        let address = lanes.first_address.wrapping_add(before.wrapping_mul(4));
        let has_started = port.push(pushes, vector, words, address);
        port.count_pushes(u32::from(has_started));
        let has_arrived = has_started && port.wait_for_pushes(pushes);
        port.restore_command_buffer(&saved);
        if !has_arrived {
            // All words are still in L1, so the push at the end of the launch sends them.
            return;
        }
        port.store(core + HOST_END, end - GUARANTEED_WORDS);
        self.empty(port);
        if let Some(stall) = stall {
            self.record_stall(port, &stall);
        }
        self.record_quick_push(port, started);
    }

    /// Pushes if the caller is about to begin a linked transaction on `command_buffer`, because no
    /// push is possible until that transaction ends.
    pub fn quick_push_if_linked<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        command_buffer: u32,
        is_to_be_linked: bool,
    ) {
        if is_to_be_linked && !port.is_command_buffer_linked(command_buffer) {
            self.quick_push(port);
        }
    }

    /// Pushes if a record of `words` words would not fit.
    #[inline(always)]
    pub fn flush_to_dram_if_full<P: Port + ?Sized>(&mut self, port: &mut P, words: u32) {
        if !self.has_room(port, words) {
            self.quick_push(port);
        }
    }

    /// Ends the zone of a push now, and records it as the first record after the push.
    fn record_quick_push<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        started: crate::port::ClockWords,
    ) {
        #[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
        names::QUICK_PUSH_SITE.register();
        const ZONE: i32 = bytes(2 * marker::MARKER_WORDS);
        if !self.take(ZONE, 0) {
            return; // Happens only if hundreds of zones are open.
        }
        let start = Header::prefix(PacketKind::ZoneStart, QUICK_PUSH_ZONE);
        self.append_pair(port, [start | (started.high & marker::TIME_HIGH_MASK), started.low]);
        self.append_marker(port, Header::prefix(PacketKind::ZoneEnd, QUICK_PUSH_ZONE));
    }
}

/// Returns the length of a run in words after padding.
///
/// `words` may come from another RISC. For any value of `words`, the result is less than the length
/// of two vectors.
#[inline(always)]
pub(crate) const fn padded(words: u32) -> u32 {
    const MASK: u32 = 2 * word_count(vector::VECTOR_WORDS) - word_count(vector::PUSH_ALIGN_WORDS);
    words.wrapping_add(2) & MASK
}

/// Appends padding to a run whose length is not a multiple of the push alignment.
#[inline(always)]
pub(crate) fn pad<P: Port + ?Sized>(port: &mut P, next: u32, words: u32) {
    const _: () = assert!(vector::PUSH_ALIGN_WORDS == 4 && marker::MARKER_WORDS == 2);
    if words & 2 != 0 {
        port.store(next, marker::EMPTY_HEADER);
        port.store(next + 4, 0);
    }
}

/// Pushes the runs that do not fit into the unused rest of their lane. Such a run is written to the
/// lane's beginning if the host has read enough words there.
///
/// Depending on the room in the lane, pushes the whole run, only its fixed slots, or nothing.
/// Returns false if the NoC is stuck.
#[cold]
#[inline(never)]
fn push_to_full_lanes<P: Port + ?Sized>(
    port: &mut P,
    pushes: Pushes,
    lanes: &Lanes,
    runs: &mut [Published; RISCS_PER_CORE],
    sent: &mut u32,
) -> bool {
    let mut core = port.control_place(0);
    let mut vector = port.vector_place(0);
    let mut lane = lanes.first_address;
    // The loop is not unrolled, to keep the code small.
    let mut risc_index = 0;
    while let Some(run) = runs.get_mut(risc_index as usize) {
        risc_index = port.opaque(risc_index + 1);
        let start = port.load(core + HOST_END);
        if run.words != 0 && run.end == start {
            let mut words = padded(run.words);
            let place = lanes.place(port, core, (start, words));
            let mut end = place.end;
            if end.is_none() && place.has_room_for_slots() && !port.is_accumulating() {
                words = GUARANTEED_WORDS;
                end = Some(start.wrapping_add(words));
            }
            if let Some(end) = end {
                let address = lane.wrapping_add(place.position << 2);
                if !port.push(pushes, vector, words, address) {
                    return false;
                }
                run.end = end;
                *sent += 1;
            }
        }
        core += 4;
        vector += VECTOR;
        lane = lane.wrapping_add(lanes.words << 2);
    }
    true
}

/// Length in words of a RISC's published run, and the end of the RISC's lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published {
    pub(crate) words: u32,
    end: u32,
}

impl Published {
    /// Publishes the new end of the lane, and frees the RISC's vector.
    ///
    /// `core` is the address of control word `r`, where `r` is the RISC's index.
    #[inline(always)]
    fn hand_over<P: Port + ?Sized>(self, port: &mut P, core: u32) {
        port.store(core + HOST_END, self.end);
        port.store(core + DEVICE_END, 0);
    }
}

/// Returns the published run of each RISC of the core. The length is 0 if a run is not published,
/// or if the core has no such RISC.
#[inline(always)]
fn published_runs<P: Port + ?Sized>(
    port: &mut P,
    control: u32,
    own_words: u32,
) -> [Published; RISCS_PER_CORE] {
    // All loads come first, so that their latencies overlap.
    let second = port.load(control + 4 + DEVICE_END);
    let third = port.load(control + 8 + DEVICE_END);
    let fourth = port.load(control + 12 + DEVICE_END);
    let fifth = port.load(control + 16 + DEVICE_END);
    let ends = [
        port.load(control + HOST_END),
        port.load(control + 4 + HOST_END),
        port.load(control + 8 + HOST_END),
        port.load(control + 12 + HOST_END),
        port.load(control + 16 + HOST_END),
    ];
    let mut runs = [
        Published { words: own_words, end: ends[0] },
        Published { words: second, end: ends[1] },
        Published { words: third, end: ends[2] },
        Published { words: fourth, end: ends[3] },
        Published { words: fifth, end: ends[4] },
    ];
    let are_missing = second == 0 || third == 0 || fourth == 0 || fifth == 0;
    // In accumulate mode, the caller has already waited for the missing runs.
    if are_missing && !port.is_accumulating() {
        await_publications(port, &mut runs);
    }
    runs
}

/// Waits, up to a limit, for the unpublished runs of the RISCs that run a kernel in this launch.
/// Counts each run that is late.
#[cold]
#[inline(never)]
fn await_publications<P: Port + ?Sized>(port: &mut P, runs: &mut [Published; RISCS_PER_CORE]) {
    let control = port.control_place(0);
    let enables = port.load(control + offset(ext::SCRATCH));
    let risc_count = port.risc_count();
    for (risc_index, Published { words, .. }) in runs.iter_mut().enumerate().take(risc_count) {
        let core = control + 4 * lane::index_word(risc_index);
        let mut polls = if enables >> risc_index & 1 == 0 { 0 } else { PUBLICATION_POLLS };
        while *words == 0 && polls != 0 {
            port.forget_cached();
            *words = port.load(core + DEVICE_END);
            polls -= 1;
            if polls == 0 && *words == 0 {
                lane::add(port, core + LATE_RUNS, 1);
            }
        }
    }
}

/// Counts the runs and markers that had no room in their lanes.
///
/// If not all pushes have arrived in time, counts all runs as refused and does not change the ends
/// of their lanes.
#[cold]
#[inline(never)]
fn account<P: Port + ?Sized>(
    port: &mut P,
    runs: &mut [Published; RISCS_PER_CORE],
    has_arrived: bool,
) {
    let control = port.control_place(0);
    if !has_arrived {
        lane::add(port, control + offset(ext::TIMED_OUT_PUSHES), 1);
    }
    let mut index = 0;
    while let Some(Published { words, end }) = runs.get_mut(index as usize) {
        let (risc_index, core) = (index as usize, control + 4 * index);
        index = port.opaque(index + 1);
        let start = port.load(core + HOST_END);
        if !has_arrived {
            *end = start;
        }
        // If the lane has wrapped around, the run is stored completely, and this difference is
        // larger than the run.
        let stored = if *end == start { ID_WORDS } else { end.wrapping_sub(start) };
        if stored >= *words {
            continue;
        }
        let refused = if port.is_accumulating() {
            Runs::new(port, risc_index, *words)
        } else {
            let program = port.load(port.vector_place(risc_index) + offset(ID_LL));
            let markers = (*words - stored) >> 1;
            Runs { count: 1, markers, first: program, last: program }
        };
        if port.is_accumulating() && refused.count == 0 {
            continue; // The vector has only the zone of the previous push.
        }
        lane::add(port, core + REFUSED_RUNS, refused.count);
        lane::add(port, core + REFUSED_MARKERS, refused.markers);
        let dropped = port.load(control + offset(CONTROL.dropped_zones));
        if dropped == 0 {
            port.store(control + offset(ext::FIRST_REFUSED_PROGRAM), refused.first);
        }
        port.store(control + offset(ext::LAST_REFUSED_PROGRAM), refused.last);
        port.store(control + offset(CONTROL.dropped_zones), dropped | 1 << risc_index);
    }
}

/// Id of the zone that the runtime itself records around a push within a launch. If there is no
/// room for this zone, it is not counted as lost, since no kernel emitted it.
pub(crate) const QUICK_PUSH_ZONE: ZoneId = ZoneId(names::zone_id(names::QUICK_PUSH));

const ID_WORDS: u32 = word_count(wire::run::RUN_HEADER_WORDS);
const VECTOR: u32 = offset(vector::VECTOR_WORDS);
