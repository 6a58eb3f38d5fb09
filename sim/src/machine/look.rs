//! Looks at harts that are about to reach their launch's cycle limit, and says where they stand.

use super::{
    mailbox,
    polling::{Access, next_access},
    riscs::HartState,
    run::Run,
};
use crate::{
    arch::WALL_CLOCK_LOW,
    lines::{Awaited, LoadedCode, loaded_code},
    machine::Devices,
    riscv::LOCAL_RAM_BASE,
    tile::Tile,
    unfinished::{LOOK_CYCLES, PolledWord, Standing, StandingRisc, UnfinishedLaunch},
};
use std::collections::BTreeSet;
use wire::Risc;

/// What a hart has done since the first look at it.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    first_pc: Option<u32>,
    executed: BTreeSet<u32>,
    /// Loads since the latest store outside the private RAM, in the order of the first of each.
    loads: Vec<Load>,
}

#[derive(Clone, Copy, Debug)]
struct Load {
    pc: u32,
    address: u32,
    count: u32,
    /// Registers at the latest load, and how many loads in a row had the same.
    registers: [u32; 32],
    same_count: u32,
}

impl Look {
    fn note(&mut self, (pc, registers): (u32, [u32; 32]), access: Option<Access>) {
        self.first_pc.get_or_insert(pc);
        self.executed.insert(pc);
        match access {
            Some(Access::LoadL1(address) | Access::LoadRegister(address)) => {
                let place = (pc, address);
                match self.loads.iter_mut().find(|load| (load.pc, load.address) == place) {
                    Some(load) => {
                        load.count += 1;
                        load.same_count =
                            if load.registers == registers { load.same_count + 1 } else { 1 };
                        load.registers = registers;
                    }
                    None => {
                        self.loads.push(Load { pc, address, count: 1, registers, same_count: 1 });
                    }
                }
            }
            Some(Access::Store(address)) if !(LOCAL_RAM_BASE..PRIVATE_END).contains(&address) => {
                self.loads.clear();
            }
            Some(Access::None | Access::Store(_)) | None => {}
        }
    }

    /// Returns the polled words and the instructions that load them.
    ///
    /// A loop that computes changes registers in each round. So does a loop that waits with a time
    /// limit, which reads the clock.
    fn polls(&self) -> Vec<(u32, Option<u32>)> {
        let has_clock = self.loads.iter().any(|load| load.address == WALL_CLOCK_LOW);
        let is_poll = |load: &&Load| {
            let count = if has_clock { load.count } else { load.same_count };
            count >= POLLS_MIN
        };
        let mut words: Vec<(u32, Option<u32>)> = Vec::new();
        for load in self.loads.iter().filter(is_poll) {
            match words.iter_mut().find(|(address, _)| *address == load.address) {
                // Several instructions load the word; which one waits is not known.
                Some((_, pc)) => *pc = None,
                None => words.push((load.address, Some(load.pc))),
            }
        }
        words
    }
}

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
            (_, Some(failure)) => Standing::Failed(failure.reason.clone()),
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
            earlier_pc: look.first_pc,
            state,
            code: code.into_iter().find(|code: &LoadedCode| code.loaded.contains(&pc)),
            executed: look.executed.clone(),
            polls: self.polled_words(index, words),
        })
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

    fn polled_words(&self, index: usize, words: Vec<(u32, Option<u32>)>) -> Vec<PolledWord> {
        let (devices, tile) = (&self.machine.riscs.devices, &self.stage.tile);
        let cycle = self.machine.riscs.harts[index].hart.cycle();
        let mut polls: Vec<PolledWord> = self.with_meaning(|meaning| {
            let words = words.into_iter().map(|(address, load_pc)| PolledWord {
                awaited: meaning.of(address),
                address,
                load_pc,
                value: self.value((devices, tile), (address, index), cycle),
                // TT-Metal's firmware sets counters back, which is no signal.
                stored_by: devices.writers_of(address).filter(|_| !self.has_set()).map(|riscs| {
                    let kind = self.stage.context().place.kind;
                    riscs.into_iter().filter_map(|index| kind.risc(index)).collect()
                }),
            });
            words.collect()
        });
        // The clock is a time limit if anything else is polled.
        if polls.iter().any(|word| word.awaited != Awaited::Clock) {
            polls.retain(|word| word.awaited != Awaited::Clock);
        }
        polls
    }

    /// Reads a word; a register's device is copied, because a read may change it.
    fn value(
        &self,
        (devices, tile): (&Devices, &Tile),
        (address, index): (u32, usize),
        cycle: u64,
    ) -> Option<u32> {
        let word = address & !3;
        if u64::from(word) < tile.l1.size_bytes() {
            return Some(tile.load(word.into()));
        }
        let mut devices = devices.clone();
        let found = devices.find(index, word, false).ok()?;
        devices.load(&self.stage.chip, found, (word, index), cycle).ok()
    }
}

/// Number of loads of a word from which on it is polled.
const POLLS_MIN: u32 = 4;
/// First address after the largest private RAM.
const PRIVATE_END: u32 = LOCAL_RAM_BASE + 0x2000;
