//! The host's clock, and the durations of the host's accesses.
//!
//! This module only determines when an access takes place; the chip decides the access's result.

use crate::{
    clock::{PS_PER_NS, Picoseconds},
    random::Stream,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Durations of host accesses, in picoseconds.
///
/// # Compatibility
/// tt-isa-documentation, `PCIExpressTile/README.md`: at least 671 ns for a read, about 180 ns for a
/// posted write, 1.6 GB/s for reads of consecutive words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTiming {
    /// Duration of a read of one word.
    pub read_latency_ps: u64,
    /// Duration of a posted write of one word.
    pub write_latency_ps: u64,
    /// Additional time for each word after the first.
    pub word_ps: u64,
    /// Upper limit of the random time added to the latency of each access.
    pub jitter_ps: u64,
    /// Number of accesses per million that are interrupted.
    pub interrupted_parts_per_million: u32,
    /// Upper limit of the duration of an interruption.
    pub interruption_ps: u64,
    /// Durations of reads by the chip's DMA engine. For each read, the host uses the engine if that
    /// takes less time than loads by the host's CPU. `None` if the host never uses the engine.
    pub dma: Option<DmaTiming>,
}

/// Durations of reads that the chip's DMA engine carries out, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaTiming {
    /// Time from the start of a read until the first word has arrived at the host.
    pub latency_ps: u64,
    /// Additional time for each word after the first.
    pub word_ps: u64,
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
        dma: None,
    };

    /// Typical values for a card in a PCIe slot, if the host uses the DMA engine for long reads.
    ///
    /// # Compatibility
    /// tt-isa-documentation, `PCIExpressTile/README.md`: DMA from the L1 of a tile that is not in the
    /// row of the PCIe tile takes at least 1162 ns and transfers 8.22 GB/s.
    pub const PCIE_DMA: Self =
        Self { dma: Some(DmaTiming { latency_ps: 1_162_000, word_ps: 487 }), ..Self::PCIE };
}

/// The host's time, shared by the chips that the host accesses.
#[derive(Clone, Debug)]
pub struct HostClock(Arc<Mutex<HostState>>);

#[derive(Debug)]
struct HostState {
    now: Picoseconds,
    origin_ns: u64,
    timing: HostTiming,
    random: Stream,
}

/// Times at which a host access reads or writes each word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessTime {
    /// Time of the first word.
    pub first: Picoseconds,
    /// Interval between two words.
    pub word_ps: u64,
    /// Time at which the access ends for the host.
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

    /// Advances the clock to a time, unless that time has already passed.
    pub fn wait_until(&self, time: Picoseconds) {
        let mut state = self.state();
        state.now = state.now.max(time);
    }

    /// Advances the clock by the duration of a read of a chip; returns when each word is read.
    pub fn read(&self, word_count: usize) -> AccessTime {
        let mut state = self.state();
        let read = state.read(word_count);
        state.now = read.end;
        read
    }

    /// Advances the clock by the duration of a read of the host's own memory; returns when each
    /// word is read.
    ///
    /// # Compatibility
    /// tt-metal, `STREAMING_PROFILER_DETAILED.md`: one host thread reads 13.6 GB/s from the host
    /// memory that a chip writes to.
    pub fn read_own_memory(&self, word_count: usize) -> AccessTime {
        let mut state = self.state();
        let read = state.access((0, OWN_LATENCY_PS), OWN_WORD_PS, word_count);
        state.now = read.end;
        read
    }

    /// Advances the clock by the duration of two reads; returns when each word of both is read.
    ///
    /// If the DMA engine carries out only the first read, the host's CPU carries out the second
    /// read in parallel.
    pub fn read_pair(&self, [first, second]: [usize; 2]) -> [AccessTime; 2] {
        let mut state = self.state();
        let first_read = state.read(first);
        let is_meanwhile = state.dma_for(first).is_some() && state.dma_for(second).is_none();
        if !is_meanwhile {
            state.now = first_read.end;
        }
        let second_read = state.read(second);
        state.now = first_read.end.max(second_read.end);
        [first_read, second_read]
    }

    /// Advances the clock by the duration of a posted write; returns when each word is written. The
    /// host continues at the time at which the last word is written.
    pub fn write(&self, word_count: usize) -> AccessTime {
        let mut state = self.state();
        let base_ps = state.timing.write_latency_ps;
        let latency = state.drawn(base_ps);
        let word_ps = state.timing.word_ps;
        let write = state.access((latency, latency), word_ps, word_count);
        state.now = write.end;
        write
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

    /// Returns the timing of a read by the DMA engine, if the host uses the engine for the read.
    fn dma_for(&self, word_count: usize) -> Option<DmaTiming> {
        let HostTiming { read_latency_ps, word_ps, dma, .. } = self.timing;
        let more_words = word_count.saturating_sub(1) as u64;
        let loads_ps = read_latency_ps + word_ps * more_words;
        dma.filter(|dma| dma.latency_ps + dma.word_ps * more_words < loads_ps)
    }

    /// Returns the times of a read that begins now; its latency is random.
    fn read(&mut self, word_count: usize) -> AccessTime {
        let HostTiming { read_latency_ps: latency_ps, word_ps, .. } = self.timing;
        let loads = DmaTiming { latency_ps, word_ps };
        let DmaTiming { latency_ps, word_ps } = self.dma_for(word_count).unwrap_or(loads);
        let latency = self.drawn(latency_ps);
        // The request takes one to two thirds of the latency.
        let request = latency / 3 + self.random.below(latency / 3);
        self.access((request, latency), word_ps, word_count)
    }

    /// Returns the times of an access that begins now: its first word is read or written after
    /// `request_ps`, and the answer for this word arrives after `latency_ps`.
    const fn access(
        &self,
        (request_ps, latency_ps): (u64, u64),
        word_ps: u64,
        word_count: usize,
    ) -> AccessTime {
        let rest_ps = word_ps * word_count.saturating_sub(1) as u64;
        AccessTime { first: self.now + request_ps, word_ps, end: self.now + latency_ps + rest_ps }
    }
}

/// Latency of a read of the host's own memory.
const OWN_LATENCY_PS: u64 = 100_000;
const OWN_WORD_PS: u64 = 294;
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
    fn long_reads_use_the_dma_engine_and_a_short_one_runs_meanwhile() {
        let still =
            HostTiming { jitter_ps: 1, interrupted_parts_per_million: 0, ..HostTiming::PCIE_DMA };
        let host = HostClock::new(still, 1);
        let took = |read: &dyn Fn()| {
            let start = host.now();
            read();
            host.now() - start
        };
        assert_eq!(took(&|| _ = host.read(64)), 780_000 + 63 * 2_500);
        assert_eq!(took(&|| _ = host.read(2560)), 1_162_000 + 2559 * 487);
        // 1,162,000 + 487 n and 780,000 + 2,500 n cross between n = 189 and 190 words after the
        // first.
        assert_eq!(took(&|| _ = host.read(190)), 780_000 + 189 * 2_500);
        assert_eq!(took(&|| _ = host.read(191)), 1_162_000 + 190 * 487);
        assert_eq!(took(&|| _ = host.read_pair([2560, 64])), 1_162_000 + 2559 * 487);
        assert_eq!(took(&|| _ = host.read_pair([64, 64])), 2 * (780_000 + 63 * 2_500));
        let both_dma = 2 * (1_162_000 + 2559 * 487);
        assert_eq!(took(&|| _ = host.read_pair([2560, 2560])), both_dma);
        let by_loads = HostClock::new(HostTiming { dma: None, ..still }, 1);
        by_loads.read_pair([2560, 64]);
        assert_eq!(by_loads.now(), 2 * 780_000 + (2559 + 63) * 2_500);
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
