//! Looks at harts that are about to reach their launch's cycle limit, and says where they stand.

use super::{
    FailureReason, look::polled_words, mailbox, polling::next_access, riscs::HartState, run::Run,
    signalling::stored_addresses,
};
use crate::{
    lines::{LoadedCode, loaded_code},
    unfinished::{LOOK_CYCLES, Standing, StandingCode, StandingRisc, UnfinishedLaunch},
};
use std::collections::BTreeSet;
use wire::Risc;

impl Run<'_> {
    /// Returns true if a hart is so near to the cycle limit that its instructions are followed.
    pub(super) fn is_near_limit(&self, index: usize) -> bool {
        let cycle = self.machine.riscs.harts[index].hart.cycle();
        let executed = cycle - self.machine.processors[index].rest.skipped_cycles;
        executed >= self.limit_end().saturating_sub(LOOK_CYCLES)
    }

    /// Notes a hart's next instruction.
    pub(super) fn look(&mut self, index: usize) {
        let hart = &self.machine.riscs.harts[index].hart;
        let code = &self.machine.riscs.devices.instruction_ram;
        let access = next_access(hart, &self.stage.tile, code);
        let instruction = (hart.pc(), *hart.registers());
        self.looks_mut()[index].note(instruction, access);
    }

    /// Returns where the RISCs stand; `None` if the launch has ended.
    pub(super) fn unfinished(&self) -> Option<UnfinishedLaunch> {
        if !self.has_failed() {
            return None;
        }
        let context = self.stage.context().clone();
        let riscs: Vec<_> = self
            .riscs()
            .into_iter()
            .filter_map(|(index, risc)| self.standing(index, risc))
            .collect();
        (!riscs.is_empty()).then(|| UnfinishedLaunch {
            chip_id: context.chip_id,
            core: context.place.coord,
            launch_index: context.launch_index,
            program_id: context.program_id,
            program: self.stage.launch.program.name().to_owned(),
            riscs,
        })
    }

    fn standing(&self, index: usize, risc: Risc) -> Option<StandingRisc> {
        let has_kernel = self.stage.launch.program.kernel(risc).is_some();
        let hart = self.machine.riscs.harts.get(index)?;
        let failure = self.failures().iter().find(|failure| failure.risc == risc);
        if index > 0 && !has_kernel && failure.is_none() {
            return None;
        }
        let has_ended = self.machine.riscs.devices.signals.kernel_end[index].is_some();
        let state = match (&hart.state, failure) {
            (_, Some(failure)) => failed(&failure.reason),
            (HartState::Waiting { address, .. }, None) => {
                match self.awaited_risc(index, *address) {
                    Some(risc) => Standing::WaitsFor(risc),
                    None if has_ended || !has_kernel => Standing::Ended,
                    None => Standing::Polls,
                }
            }
            (HartState::Polling(_) | HartState::Running, None) => Standing::Polls,
            (HartState::InReset | HartState::Failed, None) => return None,
        };
        let look = &self.looks()[index];
        let mut words = look.polls();
        if let HartState::Polling(watched) = &hart.state {
            words = watched.addresses().map(|address| (address, None)).collect();
        }
        let pc = hart.hart.pc();
        let code =
            loaded_code(&self.machine.code, &self.stage.launch, (index, risc), &self.stage.tile);
        Some(StandingRisc {
            risc,
            chip_cycle: hart.hart.cycle(),
            pc,
            earlier_pc: look.first_pc(),
            state,
            code: code
                .into_iter()
                .find(|code: &LoadedCode| code.loaded.contains(&pc))
                .map(StandingCode::Loaded),
            executed: look.executed().clone(),
            polls: self.with_meaning(|meaning| {
                let devices = &self.machine.riscs.devices;
                let at = (index, hart.hart.cycle());
                polled_words((&self.stage.chip, &self.stage.tile, devices), meaning, at, words)
            }),
            signals: self.signals(risc),
        })
    }

    /// Returns the addresses to which the kernel of a RISC has code that stores.
    fn signals(&self, risc: Risc) -> BTreeSet<u32> {
        let kernel = self.stage.launch.program.kernel(risc);
        let Some(file) = kernel.and_then(|kernel| kernel.object_file()) else {
            return BTreeSet::new();
        };
        let Ok(image) = file.image() else { return BTreeSet::new() };
        let segments = image.segments().iter();
        let stored = segments.flat_map(|segment| {
            let words = segment.bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
            stored_addresses(segment.address, words)
        });
        stored.collect()
    }

    /// Returns the RISC for which this project's firmware waits at an address of the mailbox: BRISC
    /// for the end of another RISC's kernel, and the others for BRISC before they begin theirs.
    fn awaited_risc(&self, index: usize, address: u32) -> Option<Risc> {
        let mailbox = self.machine.riscs.devices.mailbox.address;
        let of_risc = address.checked_sub(mailbox + mailbox::SYNC)? as usize;
        let has_ended = self.machine.riscs.devices.signals.kernel_end[index].is_some();
        let other = match index {
            0 if (1..self.machine.riscs.harts.len()).contains(&of_risc) => of_risc,
            _ if index > 0 && of_risc == index && !has_ended => 0,
            _ => return None,
        };
        self.stage.context().place.kind.risc(other)
    }
}

fn failed(reason: &FailureReason) -> Standing {
    match reason {
        FailureReason::CycleLimit { .. } | FailureReason::Deadlock => {
            Standing::Unended { failure: Some(reason.to_string()) }
        }
        _ => Standing::Stopped(reason.to_string()),
    }
}
