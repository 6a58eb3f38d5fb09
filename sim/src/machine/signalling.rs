//! Words that the code of a kernel may signal: where it stores, as far as that is a constant.

use crate::riscv::{Code, decode};
use std::collections::BTreeSet;

/// Number of registers.
const REGISTERS: usize = 32;
/// Registers that a called function keeps: s0 to s11.
const KEPT: u32 = 0x0FFC_0300;
/// Address of the register to which TRISCs store instructions of the coprocessor.
const INSTRUCTIONS: u32 = 0xFFE4_0000;

/// Returns the addresses to which code stores something other than 0, of those that are constants in the
/// code; of the addresses that `STOREREG` writes, too. `first` is the address of the first word.
///
/// Constants are followed in the order of the instructions, which is that of a compiler's output between
/// two jumps. An address that depends on an argument is not found.
///
/// # Compatibility
/// tt-isa-documentation, `STOREREG.md`.
pub(crate) fn stored_addresses(first: u32, words: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut values = [None; REGISTERS];
    for (offset, word) in (0..).step_by(4).zip(words) {
        let op = decode(word, first.wrapping_add(offset));
        let value = |register: u8| match register {
            0 => Some(0),
            register => values.get(usize::from(register)).copied().flatten(),
        };
        let result = match op.code {
            Code::Constant => Some(op.immediate),
            Code::AddImmediate => value(op.rs1).map(|value: u32| value.wrapping_add(op.immediate)),
            Code::Add => value(op.rs1)
                .zip(value(op.rs2))
                .map(|(one, other): (u32, u32)| one.wrapping_add(other)),
            Code::StoreByte | Code::StoreHalf | Code::StoreWord => {
                let address = value(op.rs1).map(|value| value.wrapping_add(op.immediate));
                match (address, value(op.rs2)) {
                    (None, _) | (_, Some(0)) => {}
                    (Some(INSTRUCTIONS), Some(instruction)) => found.extend(stored_by(instruction)),
                    (Some(address), _) => _ = found.insert(address & !3),
                }
                None
            }
            Code::PushTensix => {
                found.extend(stored_by(op.immediate));
                None
            }
            _ => None,
        };
        if let Some(register) = values.get_mut(usize::from(op.rd)) {
            *register = result;
        }
        if op.ends_run() {
            let is_call = usize::from(op.rd) < REGISTERS;
            for (register, value) in values.iter_mut().enumerate() {
                if !is_call || KEPT >> register & 1 == 0 {
                    *value = None;
                }
            }
        }
    }
    found
}

/// Returns the address that an instruction of the coprocessor stores to, if it is a `STOREREG`.
fn stored_by(instruction: u32) -> Option<u32> {
    const STOREREG: u32 = 0x67;
    const REGISTERS_BASE: u32 = 0xFFB0_0000;
    let address = REGISTERS_BASE + ((instruction & 0x3_FFFF) << 2);
    (instruction >> 24 == STOREREG).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::asm;

    #[test]
    fn constant_addresses_of_stores_are_found() {
        let [high, low] = asm::li(asm::T0, 0xFFB4_3000);
        let code = [
            high,
            low,
            asm::sw(asm::A0, asm::T0, 16),
            // A store of 0 sets back, and that of an unknown address is not known.
            asm::sw(asm::ZERO, asm::T0, 4),
            asm::sw(asm::A0, asm::A1, 8),
            // Behind a return, another function begins.
            asm::jalr(asm::ZERO, asm::RA, 0),
            asm::sw(asm::A0, asm::T0, 12),
        ];
        assert_eq!(stored_addresses(0x5000, code), BTreeSet::from([0xFFB4_3010]));
    }

    #[test]
    fn counters_that_the_coprocessor_stores_are_found() {
        // Register 0xFFB4_0010 is word 0x1_0004 from 0xFFB0_0000.
        let [high, low] = asm::li(asm::T0, 0xFFE4_0000);
        let [upper, lower] = asm::li(asm::A0, 0x6700_0000 | 0x1_0004);
        let code = [high, low, upper, lower, asm::sw(asm::A0, asm::T0, 0)];
        assert_eq!(stored_addresses(0, code), BTreeSet::from([0xFFB4_0010]));
    }
}
