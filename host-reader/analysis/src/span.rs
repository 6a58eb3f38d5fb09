//! Spans of cycles and their length in nanoseconds.

#![expect(clippy::arithmetic_side_effects, reason = "products of 64 bits fit in 128")]

/// Time span with known start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Span {
    /// First cycle, on the chip's reference clock.
    pub start_cycle: u64,
    /// Last cycle, on the chip's reference clock.
    pub end_cycle: u64,
    /// Duration in cycles.
    pub duration_cycles: u64,
    /// Duration in nanoseconds; `None` if the clock's frequency is unknown.
    pub duration_ns: Option<u64>,
}

impl Span {
    /// Returns the span between two cycles; `None` if it would end before it starts.
    #[must_use]
    pub fn new(start_cycle: u64, end_cycle: u64, aiclk_mhz: u32) -> Option<Self> {
        let duration_cycles = end_cycle.checked_sub(start_cycle)?;
        let duration_ns = cycles_to_ns(duration_cycles, aiclk_mhz);
        Some(Self { start_cycle, end_cycle, duration_cycles, duration_ns })
    }
}

/// Converts cycles at `aiclk_mhz` to nanoseconds, rounded half up; `None` if the frequency is
/// unknown (0) or the result does not fit.
///
/// ```
/// use analysis::cycles_to_ns;
/// assert_eq!(cycles_to_ns(27, 1350), Some(20));
/// assert_eq!(cycles_to_ns(1, 2000), Some(1));
/// assert_eq!(cycles_to_ns(1, 0), None);
/// ```
#[must_use]
pub fn cycles_to_ns(cycles: u64, aiclk_mhz: u32) -> Option<u64> {
    let clock = u128::from(aiclk_mhz);
    let rounded = (u128::from(cycles) * 1000 + clock / 2).checked_div(clock)?;
    u64::try_from(rounded).ok()
}
