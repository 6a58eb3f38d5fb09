//! One RISC without firmware: memory, a clock, and a NoC that acknowledges immediately.
//!
//! The registers of the NoC therefore never report a transfer in progress.

use sim::{
    arch::Arch,
    machine::images::ParsedImage,
    riscv::{
        Bus, Flow, Hart, L1Front, L1Port, LOCAL_RAM_BASE, Pause, Refusal, Region, StoreResult,
        Width,
    },
};
use std::collections::BTreeMap;
use tile::{Registers, Tile};
use wire::control::ControlLayout;

#[path = "../../sim/tests/unit/tile.rs"]
mod tile;

/// Cost of a function call on the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) instruction_count: u64,
    pub(crate) cycle_count: u64,
}

/// A BRISC that runs probes.
pub(crate) struct BareCore {
    hart: Hart,
    front: L1Front,
    tile: Tile<NocRegisters>,
    image: &'static ParsedImage,
}

/// Registers of a NoC and a clock; other registers keep the value stored in them.
struct NocRegisters {
    command_offset: u32,
    values: BTreeMap<u32, u32>,
    pushed: Vec<u32>,
}

impl BareCore {
    /// Makes a core with a DRAM lane and the probes' code.
    pub(crate) fn new(arch: Arch, image: &'static ParsedImage) -> Self {
        let command_offset = match arch {
            Arch::WormholeB0 => 0x28,
            Arch::Blackhole => 0x40,
        };
        let mut core = Self {
            hart: Hart::new(arch, L1Port::Port2).with_warm_code(),
            front: L1Front::new(),
            tile: Tile {
                l1: vec![0; 0x2_0000],
                local: vec![0; 4096],
                instruction_ram: Vec::new(),
                registers: NocRegisters {
                    command_offset,
                    values: BTreeMap::new(),
                    pushed: Vec::new(),
                },
            },
            image,
        };
        for segment in image.program.segments() {
            let at = segment.address as usize;
            if at < core.tile.l1.len() {
                core.tile.l1[at..at + segment.bytes.len()].copy_from_slice(segment.bytes);
            }
        }
        core.tile.set_word(RETURN, EBREAK);
        for (index, value) in [
            (ControlLayout::WORDS64.dram_address, 0x20),
            (ControlLayout::WORDS64.cores_per_bank, 8),
        ] {
            core.set_control(index, value);
        }
        core
    }

    fn address_of(&self, symbol: &str) -> u32 {
        self.image.symbol(symbol).unwrap_or_else(|| panic!("no symbol {symbol}")).address
    }

    /// Writes a word of the control vector, as the host does.
    pub(crate) fn set_control(&mut self, index: usize, value: u32) {
        let control = self.address_of("__kprof_control");
        self.tile.set_word(control + 4 * u32::try_from(index).expect("small"), value);
    }

    /// Publishes a word count for each subordinate RISC.
    pub(crate) fn publish_others(&mut self, word_count: u32) {
        for risc in 1..5 {
            self.set_control(ControlLayout::WORDS64.device_end + risc, word_count);
        }
    }

    /// Returns a word of the control vector.
    pub(crate) fn control(&self, index: usize) -> u32 {
        let at = self.address_of("__kprof_control") as usize + 4 * index;
        let bytes = &self.tile.l1[at..at + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// Calls a function and returns the number of stack bytes that it touched.
    pub(crate) fn stack_bytes(&mut self, function: &str, arg: u32) -> u32 {
        let stack = usize::try_from(STACK_LIMIT - LOCAL_RAM_BASE).expect("fits");
        self.tile.local[stack..].fill(UNTOUCHED);
        self.call(function, arg);
        let untouched = self.tile.local[stack..].iter().take_while(|byte| **byte == UNTOUCHED);
        STACK_TOP - STACK_LIMIT - u32::try_from(untouched.count()).expect("fits")
    }

    /// Calls a function and returns its cost.
    pub(crate) fn call(&mut self, function: &str, arg: u32) -> Cost {
        let before = self.hart.counters();
        self.hart.set_pc(self.address_of(function));
        self.hart.set_register(1, RETURN);
        self.hart.set_register(2, STACK_TOP);
        self.hart.set_register(3, self.address_of("__global_pointer$"));
        self.hart.set_register(10, arg);
        let pause = self.hart.run_until(&mut self.tile, &mut self.front, 100_000_000);
        assert_eq!((pause, self.hart.pc()), (Ok(Pause::Breakpoint), RETURN), "{function}");
        let after = self.hart.counters();
        Cost {
            instruction_count: after.instruction_count - before.instruction_count,
            cycle_count: after.cycle_count - before.cycle_count,
        }
    }

    /// Returns the words written to DRAM, in the order of the writes.
    pub(crate) fn pushed(&self) -> &[u32] {
        &self.tile.registers.pushed
    }
}

impl Tile<NocRegisters> {
    fn set_word(&mut self, address: u32, word: u32) {
        let (memory, at) = match address.checked_sub(LOCAL_RAM_BASE) {
            Some(offset) => (&mut self.local, offset as usize),
            None => (&mut self.l1, address as usize),
        };
        memory[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
}

impl NocRegisters {
    /// Stores the words that the NoC would write. The NoC's registers contain the range of these
    /// words in L1.
    fn push(&mut self, l1: &[u8]) {
        let [start, length] = [TARG_ADDR_LO, AT_LEN_BE]
            .map(|register| self.values.get(&(NOC_0 + register)).copied().unwrap_or(0) as usize);
        let words = l1[start..start + length].chunks_exact(4);
        self.pushed
            .extend(words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])));
    }
}

impl Registers for NocRegisters {
    fn load(&mut self, address: u32, _: Width, cycle: u64) -> Result<u32, Refusal> {
        Ok(match address {
            0xFFB1_21F0 => (cycle & 0xFFFF_FFFF) as u32,
            0xFFB1_21F4 => (cycle >> 32) as u32,
            _ => self.values.get(&address).copied().unwrap_or(0),
        })
    }
    fn store(&mut self, l1: &[u8], address: u32, value: (Width, u32), _: u64) -> StoreResult {
        if address == NOC_0 + self.command_offset {
            self.push(l1);
            *self.values.entry(NOC_0 + WRITES_SENT).or_default() += 1;
        } else {
            self.values.insert(address, value.1);
        }
        Ok(Flow::Continue)
    }
}

/// Return address of a call.
const RETURN: u32 = 0x10;
const EBREAK: u32 = 0x0010_0073;
const STACK_LIMIT: u32 = LOCAL_RAM_BASE + 0x800;
const STACK_TOP: u32 = LOCAL_RAM_BASE + 0x1000;
const UNTOUCHED: u8 = 0xA5;
const NOC_0: u32 = 0xFFB2_0000;
/// Offset of the register that counts the sent writes for which an acknowledgement was requested.
const WRITES_SENT: u32 = 0x228;
const TARG_ADDR_LO: u32 = 0x00;
const AT_LEN_BE: u32 = 0x20;
