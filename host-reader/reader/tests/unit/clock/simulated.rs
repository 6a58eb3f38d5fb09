//! Simulated counters that a host pings. The exact relation of counter and host time is known.
//!
//! `accuracy.md` describes the latency model. All values are derived from a seed, so a failing
//! trial can be repeated on its own.

#![expect(clippy::cast_possible_truncation, reason = "simulated times are small or meant to wrap")]

use super::{EthernetPing, HostStamp, TwoWayPing};

/// A small deterministic generator (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Seeded(u64);

impl Seeded {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a uniform random number in `0..1`.
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

/// A counter with an exactly known relation to the host's clock.
///
/// Host times are nanoseconds since `host_origin_ns` as doubles, so the relation is precise to a
/// millionth of a nanosecond.
#[derive(Debug, Clone)]
pub(super) struct TrueClock {
    pub(super) host_origin_ns: i64,
    pub(super) origin_cycles: u64,
    /// Intervals of constant frequency, as (start in nanoseconds, frequency in GHz).
    stretches: Vec<(f64, f64)>,
}

impl TrueClock {
    /// Returns a counter that differs from 1.35 GHz, the frequency of a Blackhole chip, by up to 50
    /// ppm. Its uptime is up to two hours.
    pub(super) fn random(random: &mut Seeded) -> Self {
        let ghz = 1.35 * (1.0 + random.between(-50e-6, 50e-6));
        Self {
            host_origin_ns: 1_700_000_000_000_000_000 + (random.bits() >> 14) as i64,
            origin_cycles: random.bits() % 10_000_000_000_000,
            stretches: vec![(0.0, ghz)],
        }
    }

    /// Returns this counter with a change of frequency at a host time.
    pub(super) fn with_step(mut self, at_ns: f64, ppm: f64) -> Self {
        let (_, ghz) = self.stretches[self.stretches.len() - 1];
        self.stretches.push((at_ns, ghz * (1.0 + ppm * 1e-6)));
        self
    }

    /// Returns a counter of the same clock domain that is ahead of this counter by `cycles`.
    pub(super) fn with_offset(mut self, cycles: i64) -> Self {
        self.origin_cycles = self.origin_cycles.wrapping_add_signed(cycles);
        self
    }

    /// Returns the duration of a cycle in the first interval, in nanoseconds.
    pub(super) fn slope(&self) -> f64 {
        self.stretches[0].1.recip()
    }

    /// Returns the counter value at a host time, relative to `origin_cycles` and not rounded.
    pub(super) fn cycles_at(&self, at_ns: f64) -> f64 {
        let mut cycles = 0.0;
        for (index, &(start, ghz)) in self.stretches.iter().enumerate() {
            let end = self.stretches.get(index + 1).map_or(f64::INFINITY, |next| next.0);
            let from = if index == 0 { 0.0 } else { start };
            if index == 0 || at_ns > start {
                cycles += (at_ns.min(end) - from) * ghz;
            }
        }
        cycles
    }

    /// Returns the counter value that software reads at a host time.
    pub(super) fn reading_at(&self, at_ns: f64) -> u64 {
        self.origin_cycles.wrapping_add_signed(self.cycles_at(at_ns).floor() as i64)
    }

    /// Returns the host time, relative to `host_origin_ns`, at which the counter reached `cycles`.
    pub(super) fn time_of(&self, cycles: u64) -> f64 {
        let mut rest = cycles.wrapping_sub(self.origin_cycles).cast_signed() as f64;
        for (index, &(start, ghz)) in self.stretches.iter().enumerate() {
            let Some(&(next, _)) = self.stretches.get(index + 1) else { return start + rest / ghz };
            let whole = (next - start) * ghz;
            if rest <= whole {
                return start + rest / ghz;
            }
            rest -= whole;
        }
        unreachable!("the last stretch has no end")
    }

    /// Returns the converted host time minus the true host time, in nanoseconds.
    pub(super) fn error_ns(&self, cycles: u64, (ns, fraction): (i64, f64)) -> f64 {
        (ns - self.host_origin_ns) as f64 + fraction - self.time_of(cycles)
    }

    fn host_clock(&self, at_ns: f64) -> i64 {
        self.host_origin_ns + at_ns.floor() as i64
    }
}

/// Model of the durations of a ping's two legs.
#[derive(Debug, Clone)]
pub(super) struct Latency {
    pub(super) forward_ns: f64,
    pub(super) return_ns: f64,
    pub(super) jitter_ns: f64,
    pub(super) outlier_share: f64,
    pub(super) outlier_ns: f64,
    pub(super) warm_up_ns: f64,
    pub(super) warm_up_samples: usize,
}

impl Latency {
    /// Latency of a host MMIO read of 0.78 us. One ping in ten has a delay on one leg.
    pub(super) const MMIO: Self = Self {
        forward_ns: 350.0,
        return_ns: 430.0,
        jitter_ns: 60.0,
        outlier_share: 0.1,
        outlier_ns: 20_000.0,
        warm_up_ns: 600.0,
        warm_up_samples: 8,
    };

    /// Returns the durations of the forward and the return leg of ping `index`.
    pub(super) fn legs(&self, random: &mut Seeded, index: usize) -> (f64, f64) {
        let remaining = self.warm_up_samples.saturating_sub(index) as f64;
        let warm_up = self.warm_up_ns * remaining / self.warm_up_samples.max(1) as f64;
        let mut forward = self.forward_ns + random.exponential(self.jitter_ns) + warm_up;
        let mut back = self.return_ns + random.exponential(self.jitter_ns);
        if random.unit() < self.outlier_share {
            let leg = if random.unit() < 0.5 { &mut forward } else { &mut back };
            *leg += random.between(0.0, self.outlier_ns);
        }
        (forward, back)
    }
}

/// Host times at which pings are sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    pub(super) first_ns: f64,
    pub(super) spacing_ns: f64,
    pub(super) count: usize,
}

impl Schedule {
    /// 249 pings spread over one second.
    pub(super) const ONE_SECOND: Self =
        Self { first_ns: 1000.0, spacing_ns: 1e9 / 248.0, count: 249 };

    fn times(self) -> impl Iterator<Item = f64> {
        (0..self.count).map(move |index| self.first_ns + self.spacing_ns * index as f64)
    }
}

/// Returns two-way pings of a counter.
pub(super) fn pings(
    clock: &TrueClock,
    latency: &Latency,
    schedule: Schedule,
    random: &mut Seeded,
) -> Vec<TwoWayPing> {
    let ping = |(index, sent): (usize, f64)| {
        let (forward, back) = latency.legs(random, index);
        TwoWayPing {
            host_send_ns: clock.host_clock(sent),
            device_cycles: clock.reading_at(sent + forward),
            host_receive_ns: clock.host_clock(sent + forward + back),
        }
    };
    schedule.times().enumerate().map(ping).collect()
}

/// Returns Ethernet pings between two chips. Each leg takes 500 ns plus jitter, and the receiver
/// answers after 100 ns.
pub(super) fn ethernet_pings(
    sender: &TrueClock,
    receiver: &TrueClock,
    schedule: Schedule,
    random: &mut Seeded,
) -> Vec<EthernetPing> {
    let latency = Latency { forward_ns: 500.0, return_ns: 500.0, ..Latency::MMIO };
    let ping = |(index, sent): (usize, f64)| {
        let (forward, back) = latency.legs(random, index);
        let seen = sent + forward;
        EthernetPing {
            sender_start_cycles: sender.reading_at(sent),
            receiver_start_cycles: receiver.reading_at(seen),
            receiver_end_cycles: receiver.reading_at(seen + 100.0),
            sender_end_cycles: sender.reading_at(seen + 100.0 + back),
        }
    };
    schedule.times().enumerate().map(ping).collect()
}

/// Returns one-way stamps of a counter: only the forward legs of pings are used.
///
/// The host's write is posted and returns after 180 ns. The kernel reads its clock before it checks
/// the mailbox, so the clock reading is up to 20 ns older than the arrival of the write.
pub(super) fn session(
    clock: &TrueClock,
    latency: &Latency,
    schedule: Schedule,
    random: &mut Seeded,
) -> Vec<HostStamp> {
    let stamp = |(index, sent): (usize, f64)| {
        let (forward, _) = latency.legs(random, index);
        let seen = sent + forward - random.between(0.0, 20.0);
        HostStamp { device_cycles: clock.reading_at(seen), host_ns: sent.floor() as u64 + 180 }
    };
    schedule.times().enumerate().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_and_times_invert_each_other_across_a_step() {
        let clock = TrueClock::random(&mut Seeded::new(1)).with_step(5e8, 20.0);
        for at_ns in [1.0, 4.999e8, 5.001e8, 9e8] {
            let error = clock.time_of(clock.reading_at(at_ns)) - at_ns;
            assert!((-0.75..=1e-6).contains(&error), "{error}");
        }
    }

    #[test]
    fn pings_bracket_the_instant_of_the_reading() {
        let mut random = Seeded::new(2);
        let clock = TrueClock::random(&mut random);
        for ping in pings(&clock, &Latency::MMIO, Schedule::ONE_SECOND, &mut random) {
            let read = clock.time_of(ping.device_cycles);
            let since = |ns: i64| (ns - clock.host_origin_ns) as f64;
            assert!(since(ping.host_send_ns) - 1.0 <= read);
            assert!(read <= since(ping.host_receive_ns) + 1.0);
        }
    }

    #[test]
    fn generator_repeats_the_published_sequence() {
        // First outputs of splitmix64 for seed 1234567.
        let mut random = Seeded::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }
}
