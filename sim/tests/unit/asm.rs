//! Instruction words by mnemonic, for test programs.
//!
//! Operands are in the order of assembly text: destination, sources, immediate. Branches and jumps
//! take byte offsets. Operands are not checked; a value too large for its field is truncated.

#![allow(dead_code, reason = "each program uses its own part")]

pub(crate) const ZERO: u32 = 0;
pub(crate) const RA: u32 = 1;
pub(crate) const SP: u32 = 2;
pub(crate) const T0: u32 = 5;
pub(crate) const T1: u32 = 6;
pub(crate) const T2: u32 = 7;
pub(crate) const S0: u32 = 8;
pub(crate) const S1: u32 = 9;
pub(crate) const A0: u32 = 10;
pub(crate) const A1: u32 = 11;
pub(crate) const A2: u32 = 12;
pub(crate) const A3: u32 = 13;
pub(crate) const A4: u32 = 14;
pub(crate) const A5: u32 = 15;
pub(crate) const A6: u32 = 16;
pub(crate) const A7: u32 = 17;

pub(crate) const NOP: u32 = 0x0000_0013;
pub(crate) const EBREAK: u32 = 0x0010_0073;
pub(crate) const ECALL: u32 = 0x0000_0073;
pub(crate) const FENCE: u32 = 0x0FF0_000F;

pub(crate) const fn register_type(funct7: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33
}

pub(crate) const fn immediate_type(
    opcode: u32,
    funct3: u32,
    rd: u32,
    rs1: u32,
    immediate: i32,
) -> u32 {
    immediate.cast_unsigned() << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

pub(crate) const fn store_type(funct3: u32, rs2: u32, rs1: u32, immediate: i32) -> u32 {
    let i = immediate.cast_unsigned();
    (i >> 5 & 0x7F) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (i & 0x1F) << 7 | 0x23
}

pub(crate) const fn branch_type(funct3: u32, rs1: u32, rs2: u32, offset: i32) -> u32 {
    let i = offset.cast_unsigned();
    let high = (i >> 12 & 1) << 31 | (i >> 5 & 0x3F) << 25;
    let low = (i >> 1 & 0xF) << 8 | (i >> 11 & 1) << 7;
    high | rs2 << 20 | rs1 << 15 | funct3 << 12 | low | 0x63
}

pub(crate) const fn add(rd: u32, rs1: u32, rs2: u32) -> u32 {
    register_type(0, 0, rd, rs1, rs2)
}
pub(crate) const fn sub(rd: u32, rs1: u32, rs2: u32) -> u32 {
    register_type(0x20, 0, rd, rs1, rs2)
}
pub(crate) const fn or(rd: u32, rs1: u32, rs2: u32) -> u32 {
    register_type(0, 6, rd, rs1, rs2)
}
pub(crate) const fn mul(rd: u32, rs1: u32, rs2: u32) -> u32 {
    register_type(1, 0, rd, rs1, rs2)
}
pub(crate) const fn divu(rd: u32, rs1: u32, rs2: u32) -> u32 {
    register_type(1, 5, rd, rs1, rs2)
}
pub(crate) const fn addi(rd: u32, rs1: u32, immediate: i32) -> u32 {
    immediate_type(0x13, 0, rd, rs1, immediate)
}
pub(crate) const fn andi(rd: u32, rs1: u32, immediate: i32) -> u32 {
    immediate_type(0x13, 7, rd, rs1, immediate)
}
pub(crate) const fn xori(rd: u32, rs1: u32, immediate: i32) -> u32 {
    immediate_type(0x13, 4, rd, rs1, immediate)
}
pub(crate) const fn slli(rd: u32, rs1: u32, shift: i32) -> u32 {
    immediate_type(0x13, 1, rd, rs1, shift)
}
pub(crate) const fn lui(rd: u32, value: u32) -> u32 {
    value & 0xFFFF_F000 | rd << 7 | 0x37
}
pub(crate) const fn auipc(rd: u32, value: u32) -> u32 {
    value & 0xFFFF_F000 | rd << 7 | 0x17
}
pub(crate) const fn lb(rd: u32, rs1: u32, offset: i32) -> u32 {
    immediate_type(0x03, 0, rd, rs1, offset)
}
pub(crate) const fn lh(rd: u32, rs1: u32, offset: i32) -> u32 {
    immediate_type(0x03, 1, rd, rs1, offset)
}
pub(crate) const fn lw(rd: u32, rs1: u32, offset: i32) -> u32 {
    immediate_type(0x03, 2, rd, rs1, offset)
}
pub(crate) const fn lbu(rd: u32, rs1: u32, offset: i32) -> u32 {
    immediate_type(0x03, 4, rd, rs1, offset)
}
pub(crate) const fn sb(rs2: u32, rs1: u32, offset: i32) -> u32 {
    store_type(0, rs2, rs1, offset)
}
pub(crate) const fn sh(rs2: u32, rs1: u32, offset: i32) -> u32 {
    store_type(1, rs2, rs1, offset)
}
pub(crate) const fn sw(rs2: u32, rs1: u32, offset: i32) -> u32 {
    store_type(2, rs2, rs1, offset)
}
pub(crate) const fn beq(rs1: u32, rs2: u32, offset: i32) -> u32 {
    branch_type(0, rs1, rs2, offset)
}
pub(crate) const fn bne(rs1: u32, rs2: u32, offset: i32) -> u32 {
    branch_type(1, rs1, rs2, offset)
}
pub(crate) const fn bltu(rs1: u32, rs2: u32, offset: i32) -> u32 {
    branch_type(6, rs1, rs2, offset)
}
pub(crate) const fn bgeu(rs1: u32, rs2: u32, offset: i32) -> u32 {
    branch_type(7, rs1, rs2, offset)
}
pub(crate) const fn jal(rd: u32, offset: i32) -> u32 {
    let i = offset.cast_unsigned();
    let high = (i >> 20 & 1) << 31 | (i >> 1 & 0x3FF) << 21;
    high | (i >> 11 & 1) << 20 | i & 0x000F_F000 | rd << 7 | 0x6F
}
pub(crate) const fn jalr(rd: u32, rs1: u32, offset: i32) -> u32 {
    immediate_type(0x67, 0, rd, rs1, offset)
}

/// Returns the `lui` and `addi` that load a constant.
pub(crate) const fn li(rd: u32, value: u32) -> [u32; 2] {
    let low = (value << 20).cast_signed() >> 20;
    [lui(rd, value.wrapping_sub(low.cast_unsigned())), addi(rd, rd, low)]
}
