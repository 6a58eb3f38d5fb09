//! Assembly listings of functions, for reading and comparison.
//!
//! Addresses are relative to the function, so that a listing changes only with its code.

use sim::machine::images::ParsedImage;
use std::fmt::Write as _;

/// Returns the instruction words of a function.
pub(crate) fn words(image: &ParsedImage, function: &str) -> Vec<u32> {
    let symbol = image.symbol(function).unwrap_or_else(|| panic!("no function {function}"));
    let holds = |address: u32, length: usize| {
        address <= symbol.address && symbol.address - address < u32::try_from(length).expect("fits")
    };
    let mut segments = image.program.segments().iter();
    let segment = segments.find(|segment| holds(segment.address, segment.bytes.len()));
    let segment = segment.expect("functions are loaded");
    let first = (symbol.address - segment.address) as usize;
    let bytes = &segment.bytes[first..first + symbol.size_bytes as usize];
    let words = bytes.chunks_exact(4);
    words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

/// Returns the listing of a function.
pub(crate) fn disassemble(image: &ParsedImage, function: &str) -> String {
    let mut listing = format!("{function}:\n");
    for (at, word) in (0..).step_by(4).zip(words(image, function)) {
        writeln!(listing, "{at:4x}  {}", instruction(word, at)).expect("strings take all");
    }
    listing
}

/// Formats one RV32IM instruction at an offset in assembler syntax.
fn instruction(word: u32, at: i32) -> String {
    let fields = Fields(word);
    let (rd, rs1, rs2) = (fields.rd(), fields.rs1(), fields.rs2());
    let i = fields.signed(31, 20);
    match word & 0x7F {
        0x37 => format!("lui {rd}, {:#x}", word >> 12),
        0x17 => format!("auipc {rd}, {:#x}", word >> 12),
        0x6F => format!("jal {rd}, {:x}", at + fields.jump()),
        // The target of a far call depends on the function's address.
        0x67 => format!("jalr {rd}, {rs1}"),
        0x63 => {
            let name = ["beq", "bne", "?", "?", "blt", "bge", "bltu", "bgeu"][fields.function()];
            format!("{name} {rs1}, {rs2}, {:x}", at + fields.branch())
        }
        0x03 => {
            let name = ["lb", "lh", "lw", "?", "lbu", "lhu", "?", "?"][fields.function()];
            format!("{name} {rd}, {i}({rs1})")
        }
        0x23 => {
            let name = ["sb", "sh", "sw", "?", "?", "?", "?", "?"][fields.function()];
            let offset = fields.signed(31, 25) << 5 | (word >> 7 & 31).cast_signed();
            format!("{name} {rs2}, {offset}({rs1})")
        }
        0x13 => immediate(&fields, i),
        0x33 => format!("{} {rd}, {rs1}, {rs2}", operation(&fields)),
        _ => format!(".word {word:#010x}"),
    }
}

fn immediate(fields: &Fields, i: i32) -> String {
    let (rd, rs1, shift) = (fields.rd(), fields.rs1(), fields.0 >> 20 & 31);
    let is_arithmetic = fields.0 >> 30 & 1 != 0;
    match fields.function() {
        0 => format!("addi {rd}, {rs1}, {i}"),
        1 => format!("slli {rd}, {rs1}, {shift}"),
        2 => format!("slti {rd}, {rs1}, {i}"),
        3 => format!("sltiu {rd}, {rs1}, {i}"),
        4 => format!("xori {rd}, {rs1}, {i}"),
        5 if is_arithmetic => format!("srai {rd}, {rs1}, {shift}"),
        5 => format!("srli {rd}, {rs1}, {shift}"),
        6 => format!("ori {rd}, {rs1}, {i}"),
        _ => format!("andi {rd}, {rs1}, {i}"),
    }
}

fn operation(fields: &Fields) -> &'static str {
    let names = match fields.0 >> 25 {
        0 => ["add", "sll", "slt", "sltu", "xor", "srl", "or", "and"],
        1 => ["mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"],
        _ => ["sub", "?", "?", "?", "?", "sra", "?", "?"],
    };
    names[fields.function()]
}

/// The fields of an instruction word.
struct Fields(u32);

impl Fields {
    fn rd(&self) -> &'static str {
        NAMES[(self.0 >> 7 & 31) as usize]
    }

    fn rs1(&self) -> &'static str {
        NAMES[(self.0 >> 15 & 31) as usize]
    }

    fn rs2(&self) -> &'static str {
        NAMES[(self.0 >> 20 & 31) as usize]
    }

    fn function(&self) -> usize {
        (self.0 >> 12 & 7) as usize
    }

    fn signed(&self, high: u32, low: u32) -> i32 {
        (self.0 << (31 - high)).cast_signed() >> (31 - high + low)
    }

    fn bits(&self, high: u32, low: u32) -> i32 {
        (self.0 >> low & (u32::MAX >> (31 - (high - low)))).cast_signed()
    }

    fn jump(&self) -> i32 {
        let middle = self.bits(19, 12) << 12 | self.bits(20, 20) << 11;
        self.signed(31, 31) << 20 | middle | self.bits(30, 21) << 1
    }

    fn branch(&self) -> i32 {
        let middle = self.bits(7, 7) << 11 | self.bits(30, 25) << 5;
        self.signed(31, 31) << 12 | middle | self.bits(11, 8) << 1
    }
}

const NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];
