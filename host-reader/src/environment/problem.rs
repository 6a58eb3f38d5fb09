//! Problems of a set of variables.

use crate::environment::variable::PRINT_SERVER;

/// Something wrong with the variables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A name that is nearly that of a variable.
    #[error("{name} is not known; did you mean {nearest}?")]
    Misspelled {
        /// The name.
        name: String,
        /// The nearest known one.
        nearest: &'static str,
    },
    /// A switch that looks on and is off.
    #[error("{name}={value} is off: TT-Metal looks for a 1 at the beginning")]
    NotOn {
        /// The switch.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// A variable that counts only with the profiler on.
    #[error("{name} has no effect: TT_METAL_DEVICE_PROFILER=1 is not set")]
    NeedsProfiler {
        /// The variable.
        name: &'static str,
    },
    /// A variable that is taken before the one that switches the profiler on.
    #[error(
        "{name} has no effect: TT-Metal takes it before {switched_by}, which switches the profiler \
         on; set TT_METAL_DEVICE_PROFILER=1 as well"
    )]
    TakenTooEarly {
        /// The variable.
        name: &'static str,
        /// The one that switches the profiler on.
        switched_by: &'static str,
    },
    /// A variable without effect unless another is set.
    #[error("{name} has no effect without {needed}")]
    HasNoEffect {
        /// The variable.
        name: &'static str,
        /// The other one.
        needed: &'static str,
    },
    /// A number that is none.
    #[error("{name}={value}: expected a number; TT-Metal {consequence}")]
    NoNumber {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// Way in which TT-Metal takes it.
        consequence: &'static str,
    },
    /// A number with something behind it, which is passed over.
    #[error("{name}={value}: expected digits alone; TT-Metal takes it as {taken}")]
    CutNumber {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// Number that it is taken as.
        taken: i64,
    },
    /// A number that is out of range.
    #[error("{name}={value}: expected {expected}")]
    OutOfRange {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// The range.
        expected: &'static str,
    },
    /// A support count that is raised, since a lane holds more than one full L1 vector.
    #[error("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT={given} is raised to {raised}")]
    SupportCountRaised {
        /// The value.
        given: u32,
        /// Value that is used instead.
        raised: u32,
    },
    /// Several banks of L1 counters, of which a run counts one.
    #[error(
        "TT_METAL_PROFILE_PERF_COUNTERS={mask}: expected one bank of L1 counters (bits 3, 4, 6 to \
         9), found {bank_count}; TT-Metal stops, so read them in several runs"
    )]
    SeveralL1Banks {
        /// The value.
        mask: u32,
        /// Banks in it.
        bank_count: u32,
    },
    /// A checker that would stay behind by less than the time between two reads.
    #[error(
        "TT_METAL_NOC_DEBUG_WATERMARK_MARGIN_MS={margin_ms}: expected more than the {interval_ms} of \
         TT_METAL_NOC_DEBUG_POLL_INTERVAL_MS; TT-Metal stops"
    )]
    MarginTooSmall {
        /// The margin.
        margin_ms: u32,
        /// Time between two reads.
        interval_ms: u32,
    },
    /// The print server is on.
    #[error(
        "{PRINT_SERVER} and the profiler exclude each other, since both use the same L1; TT-Metal \
         stops, so unset {PRINT_SERVER}"
    )]
    PrintServer,
    /// Two modes that exclude each other.
    #[error("{one} and {other} exclude each other: {reason}")]
    Contradiction {
        /// One variable.
        one: &'static str,
        /// The other.
        other: &'static str,
        /// Why.
        reason: &'static str,
    },
}

impl Problem {
    /// Returns true if TT-Metal stops because of it.
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
