//! Problems with profiling variables and with combinations of them.

use crate::environment::variable::PRINT_SERVER;

/// A problem with a profiling variable, or with a combination of variables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A name is unknown, but similar to the name of a variable.
    #[error("{name} is not known; did you mean {nearest}?")]
    Misspelled {
        /// The unknown name.
        name: String,
        /// The most similar known name.
        nearest: &'static str,
    },
    /// A switch has a value that looks like "on" but means "off".
    #[error("{name}={value} is off: TT-Metal looks for a 1 at the beginning")]
    NotOn {
        /// Name of the switch.
        name: &'static str,
        /// Value of the switch.
        value: String,
    },
    /// A variable has no effect, because the profiler is off.
    #[error("{name} has no effect: TT_METAL_DEVICE_PROFILER=1 is not set")]
    NeedsProfiler {
        /// Name of the variable.
        name: &'static str,
    },
    /// A variable has no effect, because it is processed before the variable that switches the
    /// profiler on.
    #[error(
        "{name} has no effect: TT-Metal takes it before {switched_by}, which switches the profiler \
         on; set TT_METAL_DEVICE_PROFILER=1 as well"
    )]
    TakenTooEarly {
        /// Name of the variable.
        name: &'static str,
        /// Name of the variable that switches the profiler on.
        switched_by: &'static str,
    },
    /// A variable has no effect, because another variable is not set.
    #[error("{name} has no effect without {needed}")]
    HasNoEffect {
        /// Name of the variable.
        name: &'static str,
        /// What the variable needs to have an effect, such as the name of another variable.
        needed: &'static str,
    },
    /// A value should be a number, but is not.
    #[error("{name}={value}: expected a number; TT-Metal {consequence}")]
    NoNumber {
        /// Name of the variable.
        name: &'static str,
        /// Value of the variable.
        value: String,
        /// TT-Metal's reaction to the value.
        consequence: &'static str,
    },
    /// A number is followed by other characters, which are ignored.
    #[error("{name}={value}: expected digits alone; TT-Metal takes it as {taken}")]
    CutNumber {
        /// Name of the variable.
        name: &'static str,
        /// Value of the variable.
        value: String,
        /// Value that TT-Metal reads from the leading digits.
        taken: i64,
    },
    /// A number is out of range.
    #[error("{name}={value}: expected {expected}")]
    OutOfRange {
        /// Name of the variable.
        name: &'static str,
        /// Value of the variable.
        value: String,
        /// Description of the valid values.
        expected: &'static str,
    },
    /// TT-Metal raises the number of programs for which a DRAM lane has room, because the lane must
    /// have room for the records of at least one full L1 buffer.
    #[error("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT={given} is raised to {raised}")]
    SupportCountRaised {
        /// The given count.
        given: u32,
        /// The count that is used instead.
        raised: u32,
    },
    /// Several banks of L1 counters are selected, although a run can only use one bank.
    #[error(
        "TT_METAL_PROFILE_PERF_COUNTERS={mask}: expected one bank of L1 counters (bits 3, 4, 6 to \
         9), found {bank_count}; TT-Metal stops, so read them in several runs"
    )]
    SeveralL1Banks {
        /// Value of the variable.
        mask: u32,
        /// Number of banks in the mask.
        bank_count: u32,
    },
    /// The delay of TT-Metal's NoC checker is not longer than the interval between two reads of the
    /// profiler's records.
    #[error(
        "TT_METAL_NOC_DEBUG_WATERMARK_MARGIN_MS={margin_ms}: expected more than the {interval_ms} of \
         TT_METAL_NOC_DEBUG_POLL_INTERVAL_MS; TT-Metal stops"
    )]
    MarginTooSmall {
        /// The given delay of the NoC checker, in milliseconds.
        margin_ms: u32,
        /// Interval between two reads, in milliseconds.
        interval_ms: u32,
    },
    /// The print server is on. The print server and the profiler cannot be used together.
    #[error(
        "{PRINT_SERVER} and the profiler exclude each other, since both use the same L1; TT-Metal \
         stops, so unset {PRINT_SERVER}"
    )]
    PrintServer,
    /// Two selected modes exclude each other.
    #[error("{one} and {other} exclude each other: {reason}")]
    Contradiction {
        /// Name of the variable that selects one mode.
        one: &'static str,
        /// Name of the variable that selects the other mode.
        other: &'static str,
        /// Reason why the modes exclude each other.
        reason: &'static str,
    },
}

impl Problem {
    /// Returns true if TT-Metal stops because of the problem.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        match self {
            Self::SeveralL1Banks { .. }
            | Self::MarginTooSmall { .. }
            | Self::PrintServer
            | Self::Contradiction { .. } => true,
            Self::NoNumber { name, .. } | Self::OutOfRange { name, .. } => {
                matches!(name.as_bytes(), b"TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT")
            }
            _ => false,
        }
    }
}
