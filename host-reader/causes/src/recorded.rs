//! What a recording holds, so that no advice asks for it again.

use crate::{
    evidence::Evidence,
    noc_use::{BarrierRecords, NocEvidence},
};
use analysis::SyncNames;
use reader::{
    ledger::UncountedSource, readout::Readout, recorded_options::RecordedOptions, role::ZoneRole,
};

/// Kinds of records that a recording holds, or was made to hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recorded {
    /// True if the recording has the names of waits. Kernels that are built to record waits bring
    /// these names along, also if nothing makes them wait.
    pub(crate) has_wait_names: bool,
    /// How waits were recorded.
    pub(crate) waits: WaitOption,
    /// True if authors put zones of their own into kernels.
    pub(crate) has_own_zones: bool,
    /// True if the recording has zones of kernels.
    pub(crate) has_kernel_zones: bool,
    /// True if the recording has readings of hardware counters.
    pub(crate) has_counters: bool,
    /// True if the recording has NoC events.
    pub(crate) has_noc_events: bool,
    /// What the NoC events tell of waits at barriers.
    pub(crate) barriers: BarrierRecords,
    /// True if it is unknown whether records were lost.
    pub(crate) are_losses_unknown: bool,
    /// True if every record that the chips made is in the recording, except for those that are omitted on
    /// purpose.
    is_nothing_lost: bool,
    /// True if the recording is cut or damaged.
    is_source_damaged: bool,
}

/// How waits were recorded, as the options of the recording say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WaitOption {
    /// The options are unknown, or changed within the recording.
    #[default]
    Unknown,
    /// The option that records waits was off.
    Off,
    /// The kernels contain no code that records waits.
    Unbuilt,
    /// Waits were recorded.
    On,
}

impl WaitOption {
    fn from_value(value: Option<&str>) -> Self {
        match value {
            Some("off") => Self::Off,
            Some("unbuilt") => Self::Unbuilt,
            Some("totals" | "events" | "windows") => Self::On,
            _ => Self::Unknown,
        }
    }
}

/// Advice to authors whose kernels wait in none of the calls that record waits.
const ZONES_AROUND_LOOPS: &str = "the loops of the kernels that poll, with DeviceWait in C++ or \
     device_wait! in Rust, and zones around the others (docs/kernels.md)";

/// Advice to authors who have such zones.
const ZONES_INSIDE: &str = "the loops of the kernels that poll, with DeviceWait in C++ or \
     device_wait! in Rust, and zones inside the longest zones (docs/kernels.md)";

/// Advice if the option that records waits was off.
const WITH_TOTALS: &str = "a capture with --waits totals (docs/explain.md)";

/// Advice if kernels were not built to record waits.
pub(crate) const WAITS: &str = "a capture of kernels that record waits (docs/explain.md), also those of \
     loops that poll by themselves: DeviceWait in C++, device_wait! in Rust (docs/kernels.md)";

impl Recorded {
    /// Returns what a recording holds.
    pub(crate) fn new(readout: &Readout, evidence: &Evidence, noc: &NocEvidence) -> Self {
        let mut uncounted = readout.losses.uncounted();
        let is_on = |name| readout.options.value(name).is_some_and(|value| value != "off");
        Self {
            waits: WaitOption::from_value(readout.options.value(RecordedOptions::WAITS)),
            has_wait_names: !SyncNames::from_names(&readout.zones).is_empty(),
            has_kernel_zones: readout
                .zones
                .named_indices()
                .any(|(_, name)| ZoneRole::from_name(name).is_kernel()),
            are_losses_unknown: uncounted.any(|source| {
                matches!(source, UncountedSource::TtMetalLog | UncountedSource::ForeignRuntime)
            }),
            is_nothing_lost: readout.losses.is_intended()
                && readout.losses.uncounted().next().is_none(),
            is_source_damaged: readout.losses.uncounted().any(UncountedSource::is_failure),
            has_own_zones: evidence.has_own_zones,
            has_counters: evidence.has_counters || is_on(RecordedOptions::COUNTERS),
            barriers: noc.barriers,
            has_noc_events: noc.has_events || is_on(RecordedOptions::NOC_EVENTS),
        }
    }

    /// Returns why launches have no length, and what to record in order to know it. `are_open` is true if in
    /// each of them a kernel or firmware began and did not end.
    pub(crate) const fn lengths(self, are_open: bool) -> (&'static str, &'static str) {
        if !self.has_kernel_zones {
            return (
                ": the recording has no zone of a kernel",
                "firmware and kernels built with the profiler, whose zones BRISC-KERNEL and so on \
                 begin and end each launch",
            );
        }
        // With every record at hand, an end that is missing never came.
        if are_open && self.is_nothing_lost {
            return (
                ": their kernels began and had not ended, and nothing was lost",
                "a run in which the kernels end; `kprof report` shows the zones in which they stood, and \
                 zones around their loops show where (docs/kernels.md)",
            );
        }
        let advice = if self.is_source_damaged {
            "the whole capture: it is cut or damaged (`kprof check` shows where)"
        } else if self.are_losses_unknown {
            "the whole log, if its end is missing; else fewer zones, or read after fewer programs"
        } else {
            "fewer zones, or read after fewer programs (`kprof report` shows the losses)"
        };
        ("", advice)
    }

    /// Returns why no wait is known, and what to record instead.
    pub(crate) const fn waits(self) -> (&'static str, &'static str) {
        let advice = if self.has_own_zones { ZONES_INSIDE } else { ZONES_AROUND_LOOPS };
        match self.waits {
            WaitOption::Off => return ("waits were not recorded (--waits off)", WITH_TOTALS),
            WaitOption::Unbuilt => {
                return ("the kernels have no code that records waits", WAITS);
            }
            WaitOption::On => {
                let reason = "waits were recorded, but kernels waited in none of the calls that \
                              record them";
                return (reason, advice);
            }
            WaitOption::Unknown => {}
        }
        if self.has_wait_names {
            let reason = "the recording has the names of waits, but no wait: kernels waited in none of \
                          the calls that record waits, or --waits off was given";
            return (reason, advice);
        }
        // The name of a zone does not tell whether its author put it around a wait.
        if self.has_own_zones {
            let reason =
                "waits were recorded at most as zones in the kernels, which do not name the buffer";
            return (reason, WAITS);
        }
        match self.barriers {
            BarrierRecords::None => ("no waits were recorded", WAITS),
            BarrierRecords::Some => {
                ("of waits, only those at NoC barriers were recorded, which name no buffer", WAITS)
            }
            BarrierRecords::Unread => (
                "no waits were recorded, except for those that NoC events may tell, which could not be read",
                WAITS,
            ),
        }
    }
}
