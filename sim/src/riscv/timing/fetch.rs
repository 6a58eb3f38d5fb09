//! Fetch of instructions from L1 through the instruction cache.
//!
//! The model follows each line of 16 bytes that a hart's code enters. A line that is not in the
//! cache is read from L1. Two reads can be in flight, and the prefetcher reads the next two lines
//! ahead. A line that arrives ahead of its use waits in a buffer beside the cache, as long as no
//! later read needs its place.
//!
//! Reads of code do not delay loads and stores in this model, nor the fetches of other RISCs.
//!
//! # Compatibility
//! tt-isa-documentation, `WormholeB0/TensixTile/BabyRISCV/InstructionCache.md` (sizes, prefetcher,
//! reset) and `WormholeB0/TensixTile/L1.md` (reads of 128 bits). The documents give neither the
//! number of ways nor times: see [`InstructionCache`].

use super::pipeline::Beat;
use super::rules::{FETCH_AHEAD_CYCLES, InstructionCache};
use crate::riscv::decode::SINK;

/// log2 of the bytes of a line.
const LINE_SHIFT: u32 = 4;
/// Number of ways of a cache, of reads in flight, and of lines that wait beside the cache.
const WAY_COUNT: usize = 2;
/// Number of lines that are read ahead.
const LINES_AHEAD: u32 = 2;
/// A number that no line has.
const NO_LINE: u32 = u32::MAX;

/// Returns the number of the line that contains an address.
#[inline(always)]
pub(in super::super) const fn line_of(pc: u32) -> u32 {
    pc >> LINE_SHIFT
}

/// Instruction cache and prefetcher of one hart.
#[derive(Clone, Debug)]
pub(super) struct FetchUnit {
    /// For each set, the numbers of its lines, the one used last first.
    sets: Box<[[u32; WAY_COUNT]]>,
    fetch_cycles: u64,
    has_misses: bool,
    /// First line that is not cached.
    first_uncached: u32,
    /// Lines that were read ahead, with the cycles in which they arrive.
    ahead: [(u32, u64); WAY_COUNT],
    oldest_ahead: usize,
    /// Cycles in which the last reads arrive; the older one is at `oldest_read`.
    reads: [u64; WAY_COUNT],
    oldest_read: usize,
    /// First cycle after the bubble of the last mispredicted branch or jump; nothing was fetched
    /// ahead of it.
    pub(super) restarted_at: u64,
}

impl FetchUnit {
    pub(super) fn new(cache: InstructionCache) -> Self {
        let set_count = (cache.byte_count >> LINE_SHIFT) as usize / WAY_COUNT;
        Self {
            sets: vec![[NO_LINE; WAY_COUNT]; set_count].into_boxed_slice(),
            fetch_cycles: cache.fetch_cycles,
            has_misses: cache.has_misses,
            first_uncached: line_of(cache.uncached_from),
            ahead: [(NO_LINE, 0); WAY_COUNT],
            oldest_ahead: 0,
            reads: [0; WAY_COUNT],
            oldest_read: 0,
            restarted_at: 0,
        }
    }

    /// Empties the cache and the buffer.
    pub(super) fn invalidate(&mut self) {
        self.sets.fill([NO_LINE; WAY_COUNT]);
        self.ahead = [(NO_LINE, 0); WAY_COUNT];
    }

    #[inline(always)]
    fn set_of(&self, line: u32) -> usize {
        line as usize & (self.sets.len() - 1)
    }

    /// Enters another line of code; returns true if the next instruction has to wait for it.
    #[inline(always)]
    pub(super) fn enter(&mut self, beat: &mut Beat, line: u32) -> bool {
        beat.line = line;
        let is_usual = self.sets[self.set_of(line)][0] == line
            && self.sets[self.set_of(line + 1)].contains(&(line + 1));
        !is_usual && self.read(beat, line)
    }

    #[inline(never)]
    fn read(&mut self, beat: &mut Beat, line: u32) -> bool {
        if line >= self.first_uncached || !self.has_misses {
            return false;
        }
        let now = beat.next_entry;
        let ready_at = self.arrival(line, now);
        let waits = ready_at > now;
        if waits {
            beat.next_entry = ready_at;
            beat.forwarded = SINK;
        }
        let from = self.fetched_from(beat.next_entry);
        for next in line + 1..=line + LINES_AHEAD {
            let is_known = self.sets[self.set_of(next)].contains(&next)
                || self.ahead.iter().any(|(ahead, _)| *ahead == next);
            if !is_known {
                let arrival = self.request(from);
                self.ahead[self.oldest_ahead % WAY_COUNT] = (next, arrival);
                self.oldest_ahead = (self.oldest_ahead + 1) % WAY_COUNT;
            }
        }
        waits
    }

    /// Returns the cycle from which on a line is available, and makes it the one used last.
    fn arrival(&mut self, line: u32, now: u64) -> u64 {
        let index = self.set_of(line);
        let set = self.sets[index];
        self.sets[index] = [line, if set[0] == line { set[1] } else { set[0] }];
        if set.contains(&line) {
            return now;
        }
        if let Some(place) = self.ahead.iter().position(|(ahead, _)| *ahead == line) {
            return std::mem::replace(&mut self.ahead[place], (NO_LINE, 0)).1;
        }
        self.request(self.fetched_from(now))
    }

    /// Returns when the unit could begin to fetch an instruction that enters the pipeline in a cycle.
    fn fetched_from(&self, entry: u64) -> u64 {
        entry.saturating_sub(FETCH_AHEAD_CYCLES).max(self.restarted_at)
    }

    /// Reads a line from L1 at or after a cycle; returns when it arrives.
    fn request(&mut self, from: u64) -> u64 {
        let place = self.oldest_read % WAY_COUNT;
        let arrival = from.max(self.reads[place]) + self.fetch_cycles;
        self.reads[place] = arrival;
        self.oldest_read = (place + 1) % WAY_COUNT;
        arrival
    }
}
