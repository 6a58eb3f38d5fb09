//! The code that a core runs (this project's or TT-Metal's firmware), and the host's interface to
//! it.

use crate::simulator::TtsimError;
use sim::{
    arch::floorplan::CorePlace,
    chip::ChipFacts,
    machine::{
        core_code::CoreCode,
        mailbox::{self, signal},
    },
    program::{CoreUse, KernelContext, Launch},
    tt_metal::{HostWrite, boot::CoreFacts, firmware::FirmwareSet},
};
use std::sync::Arc;

/// Code of a Tensix core.
#[derive(Debug)]
pub(crate) enum Code {
    /// Firmware and kernels of this project.
    Own {
        /// The code itself.
        code: CoreCode,
        /// Size of the core's L1.
        l1_bytes: u64,
    },
    /// Firmware built by TT-Metal, and kernels from files.
    TtMetal {
        /// The firmware.
        set: Arc<FirmwareSet>,
        /// Properties of the core that the firmware needs.
        facts: CoreFacts,
        /// Position and kind of the core.
        place: CorePlace,
    },
}

/// An L1 address and the words written there.
type Write = (u32, Vec<u32>);

impl Code {
    pub(crate) fn new(core_use: CoreUse, chip: &ChipFacts, place: CorePlace) -> Self {
        let l1_bytes = chip.arch.facts().l1_bytes(place.kind);
        match &chip.modes.firmware {
            Some(set) if core_use == CoreUse::Programs => {
                let facts = CoreFacts::new(chip, place);
                Self::TtMetal { set: Arc::clone(set), facts, place }
            }
            _ => Self::Own { code: CoreCode::new(core_use, chip, place), l1_bytes },
        }
    }

    pub(crate) const fn place(&self) -> CorePlace {
        match self {
            Self::Own { code, .. } => code.place(),
            Self::TtMetal { place, .. } => *place,
        }
    }

    /// Returns true if the build has no code for the core.
    pub(crate) const fn is_missing(&self) -> bool {
        matches!(self, Self::Own { code, .. } if code.is_empty())
    }

    /// Returns true if the firmware profiles, so that launches leave records.
    pub(crate) fn has_profiler(&self) -> bool {
        match self {
            Self::Own { .. } => true,
            Self::TtMetal { set, .. } => set.has_profiler(),
        }
    }

    /// Returns the writes to L1 that must be made before BRISC leaves reset.
    pub(crate) fn boot_writes(&self) -> Vec<Write> {
        match self {
            Self::Own { code, .. } => {
                let mut writes = code.boot_writes();
                writes.push((code.mailbox() + mailbox::GO, vec![signal::DONE.into()]));
                writes
            }
            Self::TtMetal { set, facts, .. } => writes(set.boot_writes(facts)),
        }
    }

    /// Returns the writes to L1 that a launch needs before its go signal.
    pub(crate) fn launch_writes(
        &self,
        launch: &Launch,
        context: &KernelContext,
    ) -> Result<Vec<Write>, TtsimError> {
        let written = match self {
            Self::Own { code, l1_bytes } => {
                let message = code.message(launch, context, code.data_area(*l1_bytes));
                message.map(|message| message.writes().to_vec())
            }
            Self::TtMetal { set, .. } => {
                let written = set.writes_for(launch, context);
                written.map(writes).map_err(|error| error.to_string())
            }
        };
        written.map_err(|reason| TtsimError::Unsupported { reason })
    }

    /// Returns the address and value of the byte that starts a launch.
    pub(crate) fn go(&self) -> (u64, u8) {
        match self {
            Self::Own { code, .. } => (u64::from(code.mailbox() + mailbox::GO), signal::GO),
            Self::TtMetal { set, .. } => {
                let (address, _) = set.done_signal();
                let word = set.go_write().bytes;
                let place = usize::try_from(address & 3).unwrap_or(0);
                (address.into(), word.get(place).copied().unwrap_or(0))
            }
        }
    }

    /// Returns the address and value of the byte that signals the end of a launch.
    pub(crate) fn done(&self) -> (u64, u8) {
        match self {
            Self::Own { code, .. } => (u64::from(code.mailbox() + mailbox::GO), signal::DONE),
            Self::TtMetal { set, .. } => {
                let (address, done) = set.done_signal();
                (address.into(), done)
            }
        }
    }
}

fn writes(host: Vec<HostWrite>) -> Vec<Write> {
    host.into_iter().map(|write| (write.address, write.words())).collect()
}
