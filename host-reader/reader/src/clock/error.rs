//! Errors of fits and conversions.

/// Reason why a fit or a conversion is not possible.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClockError {
    /// There are not enough samples for a line.
    #[error("expected at least {needed} clock samples, found {found}; take more")]
    TooFewSamples {
        /// Minimum number of samples.
        needed: usize,
        /// Actual number of samples.
        found: usize,
    },
    /// All samples have the same counter value, or the same host time.
    #[error("expected clock samples at different times, found all at one; spread them")]
    NoBaseline,
    /// A sample is 2^60 or more cycles of the counter, or 2^60 or more units of the bracketing
    /// clock, away from the first sample.
    #[error(
        "expected clock samples within 2^60 of each other, found sample {index} further away; fit \
         it apart"
    )]
    SpanTooWide {
        /// Index of the sample.
        index: usize,
    },
    /// The host time after the reading is earlier than the host time before the reading.
    #[error(
        "expected the host time after a reading not to precede the one before it, found the \
         opposite in sample {index}; drop it"
    )]
    InvertedSample {
        /// Index of the sample.
        index: usize,
    },
    /// No line passes through all brackets: the frequency changed or a sample is wrong.
    #[error(
        "expected a line through all brackets, found none (short by {deficit_units:.1} at slope \
         {slope:.9}); the frequency changed or a sample is wrong, fit with steps"
    )]
    Infeasible {
        /// Amount by which the brackets must be widened so that a line passes through all of them,
        /// in units of the bracketing clock.
        deficit_units: f64,
        /// Slope of the line that needs the least widening of the brackets, in units per cycle.
        slope: f64,
    },
    /// The slope of the best line is impossible for a clock, because the window is too short.
    #[error("expected a rising clock, found slope {slope:e}; spread the samples further apart")]
    NotIncreasing {
        /// The slope of the best line, in units per cycle; infinite if the counter stands still.
        slope: f64,
    },
    /// Input and output slices differ in length.
    #[error("expected as many output as input items, found {output} for {input}; resize one")]
    LengthMismatch {
        /// Number of items in the input slice.
        input: usize,
        /// Number of items in the output slice.
        output: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_to_do() {
        let error = ClockError::TooFewSamples { needed: 2, found: 1 };
        assert_eq!(error.to_string(), "expected at least 2 clock samples, found 1; take more");
    }
}
