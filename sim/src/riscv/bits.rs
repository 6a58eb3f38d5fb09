//! Bit manipulation: the extensions Zba and Zbb, which Blackhole's RISCs have and Wormhole's lack.
//!
//! # Compatibility
//! The RISC-V bit-manipulation extensions 1.0.0; tt-isa-documentation,
//! `BlackholeA0/TensixTile/BabyRISCV/README.md`. All instructions take one cycle of the integer
//! unit.

/// Returns the result of a Zba or Zbb instruction, given the values of its register operands;
/// `None` for any other instruction word.
pub(super) fn result(word: u32, a: u32, b: u32) -> Option<u32> {
    let (funct7, funct3, second) = (word >> 25, word >> 12 & 7, word >> 20 & 31);
    Some(match (word & 0x7F, funct7, funct3) {
        (REGISTERS, 0x10, 2) => b.wrapping_add(a << 1),
        (REGISTERS, 0x10, 4) => b.wrapping_add(a << 2),
        (REGISTERS, 0x10, 6) => b.wrapping_add(a << 3),
        (REGISTERS, 0x20, 7) => a & !b,
        (REGISTERS, 0x20, 6) => a | !b,
        (REGISTERS, 0x20, 4) => !(a ^ b),
        (REGISTERS, 0x05, 4) => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
        (REGISTERS, 0x05, 5) => a.min(b),
        (REGISTERS, 0x05, 6) => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
        (REGISTERS, 0x05, 7) => a.max(b),
        (REGISTERS, 0x30, 1) => a.rotate_left(b & 31),
        (REGISTERS, 0x30, 5) => a.rotate_right(b & 31),
        (REGISTERS, 0x04, 4) if second == 0 => a & 0xFFFF,
        (IMMEDIATE, 0x30, 1) => match second {
            0 => a.leading_zeros(),
            1 => a.trailing_zeros(),
            2 => a.count_ones(),
            4 => i32::from((a & 0xFF) as u8 as i8).cast_unsigned(),
            5 => i32::from((a & 0xFFFF) as u16 as i16).cast_unsigned(),
            _ => return None,
        },
        (IMMEDIATE, 0x30, 5) => a.rotate_right(second),
        (IMMEDIATE, 0x14, 5) if second == 7 => {
            u32::from_le_bytes(a.to_le_bytes().map(|byte| if byte == 0 { 0 } else { 0xFF }))
        }
        (IMMEDIATE, 0x34, 5) if second == 24 => a.swap_bytes(),
        _ => return None,
    })
}

const REGISTERS: u32 = 0x33;
const IMMEDIATE: u32 = 0x13;

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests instruction words that the GNU assembler 2.40 has produced, with `rd` a0, `rs1` a1,
    /// `rs2` a2.
    #[test]
    fn every_instruction_does_what_the_specification_says() {
        let (a, b) = (0x8000_01F0, 0x0000_0004);
        for (word, name, expected) in [
            (0x20C5_A533, "sh1add", 0x0000_03E4),
            (0x20C5_C533, "sh2add", 0x0000_07C4),
            (0x20C5_E533, "sh3add", 0x0000_0F84),
            (0x40C5_F533, "andn", 0x8000_01F0),
            (0x40C5_E533, "orn", 0xFFFF_FFFB),
            (0x40C5_C533, "xnor", 0x7FFF_FE0B),
            (0x0AC5_C533, "min", 0x8000_01F0),
            (0x0AC5_D533, "minu", 4),
            (0x0AC5_E533, "max", 4),
            (0x0AC5_F533, "maxu", 0x8000_01F0),
            (0x60C5_9533, "rol", 0x0000_1F08),
            (0x60C5_D533, "ror", 0x0800_001F),
            (0x0805_C533, "zext.h", 0x01F0),
            (0x6005_9513, "clz", 0),
            (0x6015_9513, "ctz", 4),
            (0x6025_9513, "cpop", 6),
            (0x6045_9513, "sext.b", 0xFFFF_FFF0),
            (0x6055_9513, "sext.h", 0x01F0),
            (0x6085_D513, "rori 8", 0xF080_0001),
            (0x2875_D513, "orc.b", 0xFF00_FFFF),
            (0x6985_D513, "rev8", 0xF001_0080),
        ] {
            assert_eq!(result(word, a, b), Some(expected), "{name}");
        }
    }

    #[test]
    fn words_of_the_base_set_and_of_nothing_are_left_alone() {
        for word in [0x0000_0013, 0x00C5_8533, 0x4000_1033, 0x0815_C533, 0x6035_9513, 0x2865_D513] {
            assert_eq!(result(word, 1, 1), None, "{word:#010x}");
        }
    }
}
