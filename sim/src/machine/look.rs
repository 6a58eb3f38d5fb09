//! What a hart does while it is looked at, and which words it polls.

use super::{Devices, polling::Access};
use crate::{
    arch::WALL_CLOCK_LOW,
    chip::facts::ChipFacts,
    lines::Meaning,
    riscv::LOCAL_RAM_BASE,
    tile::Tile,
    unfinished::{PolledWord, without_time_limit},
};
use std::collections::BTreeSet;

/// What a hart has done since the first look at it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
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
    /// Notes a hart's next instruction, with the hart's registers before it.
    pub(crate) fn note(&mut self, (pc, registers): (u32, [u32; 32]), access: Option<Access>) {
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

    /// Returns the address of the first instruction; `None` if there was none.
    pub(crate) const fn first_pc(&self) -> Option<u32> {
        self.first_pc
    }

    /// Returns the addresses of the instructions.
    pub(crate) const fn executed(&self) -> &BTreeSet<u32> {
        &self.executed
    }

    /// Returns the polled words and the instructions that load them.
    ///
    /// A loop that computes changes registers in each round. So does a loop that waits with a time
    /// limit, which reads the clock.
    pub(crate) fn polls(&self) -> Vec<(u32, Option<u32>)> {
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

/// Describes the words that a hart polls, each with the address of the instruction that loads it; `at`
/// is the hart's index and cycle.
pub(crate) fn polled_words(
    (chip, tile, devices): (&ChipFacts, &Tile, &Devices),
    meaning: &Meaning<'_>,
    (index, cycle): (usize, u64),
    words: Vec<(u32, Option<u32>)>,
) -> Vec<PolledWord> {
    let words = words.into_iter().map(|(address, load_pc)| {
        let awaited = meaning.of(address);
        let writers = devices.writers_of(address, meaning.has_own_layout);
        let kind = tile.place.kind;
        let word = PolledWord {
            object: awaited.to_string(),
            address,
            load_pc,
            value: value((chip, tile, devices), (index, address), cycle),
            stored_by: writers
                .map(|riscs| riscs.into_iter().filter_map(|index| kind.risc(index)).collect()),
        };
        (awaited, word)
    });
    without_time_limit(words.collect())
}

/// Reads a word; a register's device is copied, because a read may change it.
fn value(
    (chip, tile, devices): (&ChipFacts, &Tile, &Devices),
    (index, address): (usize, u32),
    cycle: u64,
) -> Option<u32> {
    let word = address & !3;
    if u64::from(word) < tile.l1.size_bytes() {
        return Some(tile.load(word.into()));
    }
    let mut devices = devices.clone();
    let found = devices.find(index, word, false).ok()?;
    devices.load(chip, found, (word, index), cycle).ok()
}

/// Number of loads of a word from which on it is polled.
const POLLS_MIN: u32 = 4;
/// First address after the largest private RAM.
const PRIVATE_END: u32 = LOCAL_RAM_BASE + 0x2000;
