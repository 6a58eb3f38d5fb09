//! Clocks: a chip's cycles as a function of real time, and the clock registers of tiles.
//!
//! Real time is counted in picoseconds from the start of the simulation. The clocks of all tiles of
//! a chip count the same cycles, but each clock starts from its own value, the epoch. The host's
//! clock is in [`crate::host`].

use wire::Cycles;

/// Picoseconds since the simulation began.
pub type Picoseconds = u64;

/// Picoseconds in a nanosecond.
pub const PS_PER_NS: u64 = 1000;

const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// A change of a chip's frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrequencyStep {
    /// Time of the change, in nanoseconds since the simulation began.
    pub at_ns: u64,
    /// Deviation from the nominal frequency after the change, in parts per billion.
    pub drift_ppb: i64,
}

/// A chip's cycle count as a function of time: piecewise linear and continuous.
///
/// ```
/// use sim::clock::ChipClock;
/// let clock = ChipClock::new(1000, 0, &[]);
/// assert_eq!(clock.cycles_at(5_000), 5);
/// assert_eq!(clock.ps_at(5), 5_000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipClock {
    segments: Vec<Segment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    start_ps: Picoseconds,
    start_cycles: u64,
    frequency_hz: u64,
}

impl ChipClock {
    /// Creates a clock with a nominal frequency of `nominal_mhz`, an initial deviation of
    /// `drift_ppb`, and the frequency changes `steps`.
    #[must_use]
    pub fn new(nominal_mhz: u32, drift_ppb: i64, steps: &[FrequencyStep]) -> Self {
        let frequency_hz = deviated_hz(nominal_mhz, drift_ppb);
        let mut clock =
            Self { segments: vec![Segment { start_ps: 0, start_cycles: 0, frequency_hz }] };
        let mut steps = steps.to_vec();
        steps.sort_by_key(|step| step.at_ns);
        for step in steps {
            let start_ps = step.at_ns.saturating_mul(PS_PER_NS);
            let start_cycles = clock.cycles_at(start_ps);
            let frequency_hz = deviated_hz(nominal_mhz, step.drift_ppb);
            clock.segments.push(Segment { start_ps, start_cycles, frequency_hz });
        }
        clock
    }

    /// Returns the number of whole cycles that have passed at the given time.
    #[must_use]
    pub fn cycles_at(&self, time: Picoseconds) -> u64 {
        let index = self.segments.partition_point(|segment| segment.start_ps <= time);
        let segment = self.segments[index.saturating_sub(1)];
        let passed = u128::from(time - segment.start_ps) * u128::from(segment.frequency_hz);
        segment.start_cycles + saturated(passed / PS_PER_SECOND)
    }

    /// Returns the earliest time at which `cycles` have passed.
    #[must_use]
    pub fn ps_at(&self, cycles: u64) -> Picoseconds {
        let index = self.segments.partition_point(|segment| segment.start_cycles < cycles);
        let segment = self.segments[index.saturating_sub(1)];
        let missing = u128::from(cycles - segment.start_cycles) * PS_PER_SECOND;
        segment.start_ps + saturated(missing.div_ceil(u128::from(segment.frequency_hz)))
    }
}

fn deviated_hz(nominal_mhz: u32, drift_ppb: i64) -> u64 {
    let nominal = i128::from(nominal_mhz.max(1)) * 1_000_000;
    let deviated = nominal + nominal * i128::from(drift_ppb) / 1_000_000_000;
    u64::try_from(deviated.max(1)).unwrap_or(u64::MAX)
}

fn saturated(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// The wall clock registers of one tile.
///
/// Reading the low word latches the high word. A tile has only one latch, so another reader may
/// change the latched word after a reader has loaded the low word and before it loads the high
/// word. Another register shows the current high word without a latch. If a reader loads that
/// register, the low word can wrap between the reader's two loads.
///
/// ```
/// use sim::clock::WallClock;
/// let mut clock = WallClock::new(0xFFFF_FFFF);
/// assert_eq!(clock.read_low(0), 0xFFFF_FFFF);
/// assert_eq!(clock.read_live_high(1), 1);
/// assert_eq!(clock.latched_high(), 0);
/// ```
///
/// # Compatibility
/// tt-isa-documentation, `TensixTile/DebugTimestamper.md`: offsets 0x1F0, 0x1F4, 0x1F8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WallClock {
    epoch: u64,
    latched_high: u32,
}

impl WallClock {
    /// Creates a clock that shows `epoch` at the chip's cycle 0.
    #[must_use]
    pub const fn new(epoch: u64) -> Self {
        Self { epoch, latched_high: 0 }
    }

    /// Returns the clock's value at the chip's cycle 0.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the 64-bit clock value at a cycle of the chip.
    #[must_use]
    pub const fn value(&self, chip_cycle: u64) -> Cycles {
        Cycles(self.epoch.wrapping_add(chip_cycle))
    }

    /// Reads the low word and latches the high word.
    pub const fn read_low(&mut self, chip_cycle: u64) -> u32 {
        let value = self.value(chip_cycle);
        self.latched_high = value.high_word();
        value.low_word()
    }

    /// Reads the current high word.
    #[must_use]
    pub const fn read_live_high(&self, chip_cycle: u64) -> u32 {
        self.value(chip_cycle).high_word()
    }

    /// Reads the latched high word.
    #[must_use]
    pub const fn latched_high(&self) -> u32 {
        self.latched_high
    }

    /// Returns the number of cycles from `chip_cycle` until the clock's lowest `bits` bits become
    /// zero.
    #[must_use]
    pub const fn cycles_to_wrap(&self, chip_cycle: u64, bits: u32) -> u64 {
        let shown = self.value(chip_cycle).truncated(bits).0;
        Cycles(0_u64.wrapping_sub(shown)).truncated(bits).0
    }

    /// Increases the epoch by less than 2^`bits` cycles, so that the clock's lowest `bits` bits
    /// become zero exactly at `chip_cycle`.
    pub const fn wrap_at(&mut self, chip_cycle: u64, bits: u32) {
        self.epoch = self.epoch.wrapping_add(self.cycles_to_wrap(chip_cycle, bits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    #[test]
    fn drift_changes_the_count_by_its_share() {
        let second = 1_000_000_000_000;
        assert_eq!(ChipClock::new(1350, 0, &[]).cycles_at(second), 1_350_000_000);
        assert_eq!(ChipClock::new(1000, 20_000, &[]).cycles_at(second), 1_000_020_000);
        assert_eq!(ChipClock::new(1000, -20_000, &[]).cycles_at(second), 999_980_000);
    }

    #[test]
    fn a_frequency_step_bends_the_line_without_a_jump() {
        let step = FrequencyStep { at_ns: 1000, drift_ppb: -500_000_000 };
        let clock = ChipClock::new(1000, 0, &[step]);
        assert_eq!(clock.cycles_at(1_000_000), 1000);
        assert_eq!(clock.cycles_at(3_000_000), 2000);
    }

    #[test]
    fn a_placed_wrap_happens_at_its_cycle_and_only_moves_time_forward() {
        let mut clock = WallClock::new(12_345_678_901_234);
        let before = clock.epoch();
        clock.wrap_at(1_000, 32);
        assert_eq!(clock.value(999).low_word(), u32::MAX);
        assert_eq!(clock.value(1_000).low_word(), 0);
        assert!(clock.epoch() >= before && clock.epoch() - before < 1 << 32);
        clock.wrap_at(5_000, 44);
        assert_eq!(clock.value(5_000).truncated(44), Cycles(0));
        assert_eq!(clock.cycles_to_wrap(4_990, 44), 10);
    }

    proptest! {
        #[test]
        fn the_first_time_of_a_cycle_is_its_first(
            cycles in 0_u64..10_000_000_000_000, ppb in -100_000_i64..100_000, step_ns in 1_u64..1_000_000,
        ) {
            let step = FrequencyStep { at_ns: step_ns, drift_ppb: ppb };
            let clock = ChipClock::new(1350, -ppb, &[step]);
            let time = clock.ps_at(cycles);
            prop_assert_eq!(clock.cycles_at(time), cycles);
            prop_assert!(time == 0 || clock.cycles_at(time - 1) < cycles);
        }
    }
}
