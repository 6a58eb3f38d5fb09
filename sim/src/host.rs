//! The host: its clock, and the durations of its accesses.
//!
//! The chip decides the result of an access; this module only determines its time.

use crate::{
    clock::{PS_PER_NS, Picoseconds},
    random::Stream,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Durations of host accesses, in picoseconds.
///
/// # Compatibility
/// tt-isa-documentation, `PCIExpressTile/README.md`: at least 671 ns for a read, about 180 ns for a
/// posted write, 1.6 GB/s for streamed reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTiming {
    /// A read of one word.
    pub read_latency_ps: u64,
    /// A posted write of one word.
    pub write_latency_ps: u64,
    /// Additional time for each word after the first.
    pub word_ps: u64,
    /// Maximum random addition to the latency of an access.
    pub jitter_ps: u64,
    /// Number of interrupted accesses per million.
    pub interrupted_parts_per_million: u32,
    /// Maximum duration of an interruption.
    pub interruption_ps: u64,
}

impl HostTiming {
    /// Typical values for a card in a PCIe slot.
    pub const PCIE: Self = Self {
        read_latency_ps: 780_000,
        write_latency_ps: 170_000,
        word_ps: 2_500,
        jitter_ps: 60_000,
        interrupted_parts_per_million: 2_000,
        interruption_ps: 20_000_000,
    };
}

/// The host's time, shared by the chips that it accesses.
#[derive(Clone, Debug)]
pub struct HostClock(Arc<Mutex<HostState>>);

#[derive(Debug)]
struct HostState {
    now: Picoseconds,
    origin_ns: u64,
    timing: HostTiming,
    random: Stream,
}

/// Times at which an access reads or writes the words of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessTime {
    /// Time of the first word.
    pub first: Picoseconds,
    /// Interval between two words.
    pub word_ps: u64,
    /// Time at which the host continues.
    pub end: Picoseconds,
}

impl AccessTime {
    /// Returns the time at which the word with this index is read or written.
    #[must_use]
    pub const fn word(&self, index: usize) -> Picoseconds {
        self.first + self.word_ps * index as u64
    }
}

impl HostClock {
    /// Creates a host whose monotonic clock begins at a time drawn from the seed.
    #[must_use]
    pub fn new(timing: HostTiming, seed: u64) -> Self {
        let mut random = Stream::new(seed, &[HOST_STREAM]);
        let origin_ns = random.below(ORIGIN_MAX_NS);
        Self(Arc::new(Mutex::new(HostState { now: 0, origin_ns, timing, random })))
    }

    /// Returns the time since the simulation began.
    #[must_use]
    pub fn now(&self) -> Picoseconds {
        self.state().now
    }

    /// Returns the time of the host's monotonic clock.
    #[must_use]
    pub fn monotonic_ns(&self) -> u64 {
        let state = self.state();
        state.origin_ns + state.now / PS_PER_NS
    }

    /// Advances the clock to a time, if that time is in the future.
    pub fn wait_until(&self, time: Picoseconds) {
        let mut state = self.state();
        state.now = state.now.max(time);
    }

    /// Advances the clock by the duration of a read; returns the times of the read.
    pub fn read(&self, word_count: usize) -> AccessTime {
        let mut state = self.state();
        let base_ps = state.timing.read_latency_ps;
        let latency = state.drawn(base_ps);
        // The request takes one to two thirds of the latency.
        let request = latency / 3 + state.random.below(latency / 3);
        state.access(request, latency, word_count)
    }

    /// Advances the clock by the duration of a posted write, which arrives when the host continues;
    /// returns the times of the write.
    pub fn write(&self, word_count: usize) -> AccessTime {
        let mut state = self.state();
        let base_ps = state.timing.write_latency_ps;
        let latency = state.drawn(base_ps);
        state.access(latency, latency, word_count)
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostState {
    fn drawn(&mut self, base_ps: u64) -> u64 {
        let jitter = self.random.below(self.timing.jitter_ps);
        let is_interrupted = self.random.chance(self.timing.interrupted_parts_per_million);
        let interruption =
            if is_interrupted { self.random.below(self.timing.interruption_ps) } else { 0 };
        base_ps + jitter + interruption
    }

    fn access(&mut self, request_ps: u64, latency_ps: u64, word_count: usize) -> AccessTime {
        let word_ps = self.timing.word_ps;
        let first = self.now + request_ps;
        self.now += latency_ps + word_ps * word_count.saturating_sub(1) as u64;
        AccessTime { first, word_ps, end: self.now }
    }
}

const HOST_STREAM: u64 = 0x4057;
const ORIGIN_MAX_NS: u64 = 1 << 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_access_looks_while_it_lasts_and_lets_time_pass() {
        let host = HostClock::new(HostTiming::PCIE, 1);
        for _ in 0..1000 {
            let start = host.now();
            let read = host.read(64);
            assert!(start < read.first && read.word(63) < read.end && read.end == host.now());
            let write = host.write(1);
            assert!(write.first == write.end && write.end > read.end);
        }
        assert!(host.now() > 1000 * (780_000 + 170_000));
        assert!(host.now() < 1000 * 1_300_000);
    }

    #[test]
    fn the_monotonic_clock_follows_the_time() {
        let host = HostClock::new(HostTiming::PCIE, 1);
        let before = host.monotonic_ns();
        host.wait_until(5_000_000);
        host.wait_until(1_000_000);
        assert_eq!(host.monotonic_ns() - before, 5_000);
    }
}
