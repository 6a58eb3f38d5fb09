//! Decoder of RV32IM instruction words into the compact form that the interpreter runs.
//!
//! A word at an address is decoded only once. Values that depend on the address (branch targets,
//! `auipc`) are computed here. This module neither executes nor times instructions.

use super::bits;

/// Operation of an [`Op`]. `Undecoded` must be all zeros, because new lines are filled with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum Code {
    #[default]
    Undecoded,
    Illegal,
    Constant,
    AddImmediate,
    SetLessImmediate,
    SetLessUnsignedImmediate,
    XorImmediate,
    OrImmediate,
    AndImmediate,
    ShiftLeftImmediate,
    ShiftRightImmediate,
    ShiftArithmeticImmediate,
    Add,
    Subtract,
    ShiftLeft,
    SetLess,
    SetLessUnsigned,
    Xor,
    ShiftRight,
    ShiftArithmetic,
    Or,
    And,
    Multiply,
    MultiplyHigh,
    MultiplyHighSignedUnsigned,
    MultiplyHighUnsigned,
    Divide,
    DivideUnsigned,
    Remainder,
    RemainderUnsigned,
    LoadByte,
    LoadHalf,
    LoadWord,
    LoadByteUnsigned,
    LoadHalfUnsigned,
    StoreByte,
    StoreHalf,
    StoreWord,
    BranchEqual,
    BranchNotEqual,
    BranchLess,
    BranchNotLess,
    BranchLessUnsigned,
    BranchNotLessUnsigned,
    Jump,
    JumpRegister,
    Fence,
    EnvironmentCall,
    Breakpoint,
    /// An access to a control and status register; the immediate is the instruction word.
    ControlStatus,
    /// A `.ttinsn`; the immediate is the Tensix instruction.
    PushTensix,
    /// An instruction of Zba or Zbb; the immediate is the instruction word.
    Bits,
}

/// One decoded instruction, in eight bytes.
///
/// If the destination is `x0`, `rd` is [`SINK`], so that execution need not check for writes to the
/// zero register. A register field that the instruction does not have is 0 ([`SINK`] for `rd`), so
/// that timing need not know which fields an instruction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Op {
    pub(crate) code: Code,
    pub(crate) rd: u8,
    pub(crate) rs1: u8,
    pub(crate) rs2: u8,
    /// Immediate operand, absolute target of a branch or `jal`, or result of `lui` or `auipc`.
    pub(crate) immediate: u32,
}

const _: () = assert!(size_of::<Op>() == 8);

impl Op {
    /// Returns true if straight-line execution always ends at this instruction.
    pub(crate) fn ends_run(self) -> bool {
        matches!(
            self.code,
            Code::Illegal
                | Code::Jump
                | Code::JumpRegister
                | Code::EnvironmentCall
                | Code::Breakpoint
        )
    }
}

/// Index of the unused slot in the register file to which writes to `x0` are redirected.
pub(crate) const SINK: u8 = 32;

/// Number of slots in the register file: one for each value of a byte. Most slots are unused. They
/// exist so that the inner loop needs neither bounds checks nor masks.
pub(crate) const SLOT_COUNT: usize = 256;

/// Decodes the word at `pc`; a word that RV32IM does not define becomes [`Code::Illegal`].
pub(crate) fn decode(word: u32, pc: u32) -> Op {
    let funct3 = word >> 12 & 7;
    if word & 3 != 3 {
        return push_tensix(word);
    }
    match word & 0x7F {
        0x37 => writes(Code::Constant, word, word & 0xFFFF_F000),
        0x17 => writes(Code::Constant, word, pc.wrapping_add(word & 0xFFFF_F000)),
        0x6F => writes(Code::Jump, word, pc.wrapping_add(jump_offset(word))),
        0x67 if funct3 == 0 => register_immediate(Code::JumpRegister, word),
        0x63 => branch(word, pc),
        0x03 => register_immediate(pick(&LOADS, funct3), word),
        0x23 => store(word),
        0x13 => immediate_arithmetic(word),
        0x33 => register_arithmetic(word),
        0x0F if funct3 == 0 => plain(Code::Fence),
        0x73 if word == 0x0000_0073 => plain(Code::EnvironmentCall),
        0x73 if word == 0x0010_0073 => plain(Code::Breakpoint),
        0x73 if funct3 & 3 != 0 => control_status(word),
        _ => plain(Code::Illegal),
    }
}

/// Decodes an instruction word of Zba or Zbb; returns `None` for other words.
pub(crate) fn decode_bits(word: u32) -> Option<Op> {
    bits::result(word, 0, 0)?;
    Some(Op { rs1: field(word, 15), rs2: field(word, 20), ..writes(Code::Bits, word, word) })
}

/// Decodes `.ttinsn`: a Tensix instruction, rotated left by two bits. The highest byte of a Tensix
/// instruction, the opcode, is never zero; a word with opcode 0 is illegal.
///
/// # Compatibility
/// tt-isa-documentation, `TensixTile/BabyRISCV/PushTensixInstruction.md`.
fn push_tensix(word: u32) -> Op {
    let instruction = word.rotate_right(2);
    match instruction >> 24 {
        0 => plain(Code::Illegal),
        _ => Op { immediate: instruction, ..plain(Code::PushTensix) },
    }
}

/// Decodes an access to a control and status register. Accesses with an immediate operand read no
/// register.
fn control_status(word: u32) -> Op {
    let has_register = word >> 14 & 1 == 0;
    let rs1 = if has_register { field(word, 15) } else { 0 };
    Op { rs1, ..writes(Code::ControlStatus, word, word) }
}

const ILL: Code = Code::Illegal;

const LOADS: [Code; 8] = [
    Code::LoadByte,
    Code::LoadHalf,
    Code::LoadWord,
    ILL,
    Code::LoadByteUnsigned,
    Code::LoadHalfUnsigned,
    ILL,
    ILL,
];

const STORES: [Code; 8] =
    [Code::StoreByte, Code::StoreHalf, Code::StoreWord, ILL, ILL, ILL, ILL, ILL];

const BRANCHES: [Code; 8] = [
    Code::BranchEqual,
    Code::BranchNotEqual,
    ILL,
    ILL,
    Code::BranchLess,
    Code::BranchNotLess,
    Code::BranchLessUnsigned,
    Code::BranchNotLessUnsigned,
];

/// Operations of arithmetic instructions with an immediate operand, by `funct3`. The shifts (1 and
/// 5) also depend on `funct7`, so `immediate_arithmetic` selects them.
const IMMEDIATES: [Code; 8] = [
    Code::AddImmediate,
    ILL,
    Code::SetLessImmediate,
    Code::SetLessUnsignedImmediate,
    Code::XorImmediate,
    ILL,
    Code::OrImmediate,
    Code::AndImmediate,
];

const REGISTERS: [Code; 8] = [
    Code::Add,
    Code::ShiftLeft,
    Code::SetLess,
    Code::SetLessUnsigned,
    Code::Xor,
    Code::ShiftRight,
    Code::Or,
    Code::And,
];

const MULTIPLIES: [Code; 8] = [
    Code::Multiply,
    Code::MultiplyHigh,
    Code::MultiplyHighSignedUnsigned,
    Code::MultiplyHighUnsigned,
    Code::Divide,
    Code::DivideUnsigned,
    Code::Remainder,
    Code::RemainderUnsigned,
];

fn pick(codes: &[Code; 8], funct3: u32) -> Code {
    codes[(funct3 & 7) as usize]
}

/// Returns the five bits of the register field at bit `shift`.
fn field(word: u32, shift: u32) -> u8 {
    (word >> shift & 0x1F) as u8
}

fn destination(word: u32) -> u8 {
    match field(word, 7) {
        0 => SINK,
        rd => rd,
    }
}

fn plain(code: Code) -> Op {
    Op { code, rd: SINK, ..Op::default() }
}

fn writes(code: Code, word: u32, immediate: u32) -> Op {
    Op { code, rd: destination(word), rs1: 0, rs2: 0, immediate }
}

fn register_immediate(code: Code, word: u32) -> Op {
    match code {
        Code::Illegal => plain(code),
        _ => Op { rs1: field(word, 15), ..writes(code, word, signed_shift(word, 20)) },
    }
}

fn immediate_arithmetic(word: u32) -> Op {
    let code = match (word >> 12 & 7, word >> 25) {
        (1, 0x00) => Code::ShiftLeftImmediate,
        (5, 0x00) => Code::ShiftRightImmediate,
        (5, 0x20) => Code::ShiftArithmeticImmediate,
        (funct3, _) => pick(&IMMEDIATES, funct3),
    };
    let op = register_immediate(code, word);
    match word >> 12 & 3 {
        1 => Op { immediate: op.immediate & 0x1F, ..op },
        _ => op,
    }
}

fn register_arithmetic(word: u32) -> Op {
    let code = match (word >> 25, word >> 12 & 7) {
        (0x00, funct3) => pick(&REGISTERS, funct3),
        (0x01, funct3) => pick(&MULTIPLIES, funct3),
        (0x20, 0) => Code::Subtract,
        (0x20, 5) => Code::ShiftArithmetic,
        _ => return plain(Code::Illegal),
    };
    Op { code, rd: destination(word), rs1: field(word, 15), rs2: field(word, 20), immediate: 0 }
}

fn store(word: u32) -> Op {
    let immediate = signed_shift(word, 25) << 5 | word >> 7 & 0x1F;
    reads_two(pick(&STORES, word >> 12 & 7), word, immediate)
}

fn branch(word: u32, pc: u32) -> Op {
    let offset = signed_shift(word, 31) << 12
        | (word >> 7 & 1) << 11
        | (word >> 25 & 0x3F) << 5
        | (word >> 8 & 0xF) << 1;
    reads_two(pick(&BRANCHES, word >> 12 & 7), word, pc.wrapping_add(offset))
}

fn reads_two(code: Code, word: u32, immediate: u32) -> Op {
    match code {
        Code::Illegal => plain(code),
        _ => Op { code, rd: SINK, rs1: field(word, 15), rs2: field(word, 20), immediate },
    }
}

fn jump_offset(word: u32) -> u32 {
    signed_shift(word, 31) << 20
        | word & 0x000F_F000
        | (word >> 20 & 1) << 11
        | (word >> 21 & 0x3FF) << 1
}

/// Returns the encoding of `jal zero, address` for an instruction at address 0.
pub(crate) fn jump_to(address: u32) -> u32 {
    let bits = |high: u32, low: u32| address >> low & (u32::MAX >> (31 - (high - low)));
    bits(20, 20) << 31 | bits(10, 1) << 21 | bits(11, 11) << 20 | bits(19, 12) << 12 | 0x6F
}

/// Shifts right and fills the upper bits with the sign bit.
fn signed_shift(word: u32, shift: u32) -> u32 {
    (word.cast_signed() >> shift).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_specification_decode_to_their_fields() {
        let op = decode(0xFFC1_0113, 0);
        assert_eq!(
            (op.code, op.rd, op.rs1, op.immediate.cast_signed()),
            (Code::AddImmediate, 2, 2, -4)
        );
        let op = decode(0x0081_2623, 0);
        assert_eq!((op.code, op.rs1, op.rs2, op.immediate), (Code::StoreWord, 2, 8, 12));
        let op = decode(0xFE52_9EE3, 0x100);
        assert_eq!((op.code, op.rs1, op.rs2, op.immediate), (Code::BranchNotEqual, 5, 5, 0xFC));
        let op = decode(0x0080_00EF, 0x100);
        assert_eq!((op.code, op.rd, op.immediate), (Code::Jump, 1, 0x108));
        let op = decode(0x4020_D093, 0);
        assert_eq!(
            (op.code, op.rd, op.rs1, op.immediate),
            (Code::ShiftArithmeticImmediate, 1, 1, 2)
        );
    }

    #[test]
    fn writes_to_the_zero_register_go_to_the_sink() {
        assert_eq!(decode(0x0000_0013, 0).rd, SINK);
        assert_eq!(decode(0x0000_006F, 0).rd, SINK);
    }

    #[test]
    fn tensix_instructions_and_control_registers_are_told_apart() {
        let op = decode(0x0800_0000, 0);
        assert_eq!((op.code, op.immediate), (Code::PushTensix, 0x0200_0000));
        // csrrs a0, 0x7c0, a1 and csrrwi zero, 0x7c0, 3
        let op = decode(0x7C05_A573, 0);
        assert_eq!((op.code, op.rd, op.rs1), (Code::ControlStatus, 10, 11));
        let op = decode(0x7C01_D073, 0);
        assert_eq!((op.code, op.rd, op.rs1), (Code::ControlStatus, SINK, 0));
    }

    #[test]
    fn what_the_base_set_and_m_do_not_define_is_illegal() {
        // Illegal words: zero, all ones, Tensix instruction 0, fence.i, mret, lr.w, sll with a
        // wrong funct7, and sh1add of Zba.
        for word in [
            0,
            u32::MAX,
            0x0000_0404,
            0x0000_100F,
            0x3020_0073,
            0x1005_22AF,
            0x4000_1033,
            0x2020_A033,
        ] {
            assert_eq!(decode(word, 0).code, Code::Illegal, "{word:#010x}");
        }
    }
}
