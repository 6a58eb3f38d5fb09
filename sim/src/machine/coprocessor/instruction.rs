//! Instructions of the coprocessor: their fields, the unit that executes them, and their times there.

use crate::arch::Arch;

/// An instruction, as a RISC pushes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Instruction(pub(super) u32);

/// Part of the coprocessor that executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// The frontend itself.
    Frontend,
    Sync,
    Miscellaneous,
    Unpackers,
    Packers,
    Mover,
    Scalar,
    Matrix,
    Configuration,
    Vector,
}

/// What is known about all instructions with one opcode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Properties {
    pub(super) unit: Unit,
    /// Kinds of the instruction in the block mask of a wait: see [`kind`].
    pub(super) kinds: u16,
    /// Cycles after which the unit can begin the next instruction.
    pub(super) occupancy: u8,
    /// Cycles until the instruction has left the unit.
    pub(super) latency: u8,
    /// Sources whose bank the instruction reads: [`SOURCE_A`] and [`SOURCE_B`].
    pub(super) sources: u8,
}

/// Bits of kinds of instructions in the block mask of a wait: B0 to B8 of `STALLWAIT.md`.
pub(super) mod kind {
    pub(in crate::machine::coprocessor) const MISCELLANEOUS: u16 = 1;
    pub(in crate::machine::coprocessor) const SYNC: u16 = 1 << 1;
    pub(in crate::machine::coprocessor) const PACK: u16 = 1 << 2;
    pub(in crate::machine::coprocessor) const UNPACK: u16 = 1 << 3;
    pub(in crate::machine::coprocessor) const MOVER: u16 = 1 << 4;
    pub(in crate::machine::coprocessor) const SCALAR: u16 = 1 << 5;
    pub(in crate::machine::coprocessor) const MATRIX: u16 = 1 << 6;
    pub(in crate::machine::coprocessor) const CONFIGURATION: u16 = 1 << 7;
    pub(in crate::machine::coprocessor) const VECTOR: u16 = 1 << 8;
    pub(in crate::machine::coprocessor) const ALL: u16 = 0x1FF;
}

/// Bits of the sources in [`Properties::sources`] and in the flags of instructions.
pub(super) const SOURCE_A: u8 = 1;
pub(super) const SOURCE_B: u8 = 2;

/// Opcodes of the instructions that the model treats individually, as in tt-metal's `ckernel_ops.h`.
pub(super) mod op {
    pub(in crate::machine::coprocessor) const MOP: u8 = 0x01;
    pub(in crate::machine::coprocessor) const NOP: u8 = 0x02;
    pub(in crate::machine::coprocessor) const MOP_CFG: u8 = 0x03;
    pub(in crate::machine::coprocessor) const REPLAY: u8 = 0x04;
    pub(in crate::machine::coprocessor) const MOVD2A: u8 = 0x08;
    pub(in crate::machine::coprocessor) const MOVD2B: u8 = 0x0A;
    pub(in crate::machine::coprocessor) const MOVB2A: u8 = 0x0B;
    pub(in crate::machine::coprocessor) const MOVA2D: u8 = 0x12;
    pub(in crate::machine::coprocessor) const MOVB2D: u8 = 0x13;
    pub(in crate::machine::coprocessor) const TRNSPSRCB: u8 = 0x16;
    pub(in crate::machine::coprocessor) const SHIFTXA: u8 = 0x17;
    pub(in crate::machine::coprocessor) const SHIFTXB: u8 = 0x18;
    pub(in crate::machine::coprocessor) const MVMUL: u8 = 0x26;
    pub(in crate::machine::coprocessor) const ELWMUL: u8 = 0x27;
    pub(in crate::machine::coprocessor) const DOTPV: u8 = 0x29;
    pub(in crate::machine::coprocessor) const ELWSUB: u8 = 0x30;
    pub(in crate::machine::coprocessor) const GMPOOL: u8 = 0x33;
    pub(in crate::machine::coprocessor) const GAPOOL: u8 = 0x34;
    pub(in crate::machine::coprocessor) const CLEARDVALID: u8 = 0x36;
    pub(in crate::machine::coprocessor) const SETRWC: u8 = 0x37;
    pub(in crate::machine::coprocessor) const PACR: u8 = 0x41;
    pub(in crate::machine::coprocessor) const UNPACR: u8 = 0x42;
    pub(in crate::machine::coprocessor) const UNPACR_NOP: u8 = 0x43;
    pub(in crate::machine::coprocessor) const SETDMAREG: u8 = 0x45;
    pub(in crate::machine::coprocessor) const REG2FLOP: u8 = 0x48;
    pub(in crate::machine::coprocessor) const PACR_SETREG: u8 = 0x4A;
    pub(in crate::machine::coprocessor) const SETADC: u8 = 0x50;
    pub(in crate::machine::coprocessor) const SETADCXY: u8 = 0x51;
    pub(in crate::machine::coprocessor) const SETDVALID: u8 = 0x57;
    pub(in crate::machine::coprocessor) const ADDDMAREG: u8 = 0x58;
    pub(in crate::machine::coprocessor) const CMPDMAREG: u8 = 0x5D;
    pub(in crate::machine::coprocessor) const SETADCXX: u8 = 0x5E;
    pub(in crate::machine::coprocessor) const STOREREG: u8 = 0x67;
    pub(in crate::machine::coprocessor) const SFPSTORE: u8 = 0x72;
    pub(in crate::machine::coprocessor) const SFPMULI: u8 = 0x74;
    pub(in crate::machine::coprocessor) const SFPADDI: u8 = 0x75;
    pub(in crate::machine::coprocessor) const SFPMAD: u8 = 0x84;
    pub(in crate::machine::coprocessor) const SFPMUL: u8 = 0x86;
    pub(in crate::machine::coprocessor) const SFPNOP: u8 = 0x8F;
    pub(in crate::machine::coprocessor) const SFPSWAP: u8 = 0x92;
    pub(in crate::machine::coprocessor) const SFPSHFT2: u8 = 0x94;
    pub(in crate::machine::coprocessor) const ATGETM: u8 = 0xA0;
    pub(in crate::machine::coprocessor) const ATRELM: u8 = 0xA1;
    pub(in crate::machine::coprocessor) const STALLWAIT: u8 = 0xA2;
    pub(in crate::machine::coprocessor) const SEMINIT: u8 = 0xA3;
    pub(in crate::machine::coprocessor) const SEMPOST: u8 = 0xA4;
    pub(in crate::machine::coprocessor) const SEMGET: u8 = 0xA5;
    pub(in crate::machine::coprocessor) const SEMWAIT: u8 = 0xA6;
    pub(in crate::machine::coprocessor) const WRCFG: u8 = 0xB0;
    pub(in crate::machine::coprocessor) const SETC16: u8 = 0xB2;
    pub(in crate::machine::coprocessor) const RMWCIB0: u8 = 0xB3;
    pub(in crate::machine::coprocessor) const RMWCIB3: u8 = 0xB6;
}

impl Instruction {
    /// Returns the opcode.
    #[inline]
    pub(super) const fn opcode(self) -> u8 {
        self.0.to_be_bytes()[0]
    }

    /// Returns the field of `width` bits that begins with bit `shift`.
    #[inline]
    pub(super) const fn field(self, shift: u32, width: u32) -> u32 {
        self.0 >> shift & ((1 << width) - 1)
    }

    /// Returns true if the bit is set.
    #[inline]
    pub(super) const fn bit(self, index: u32) -> bool {
        self.0 >> index & 1 != 0
    }

    /// Returns the sources whose banks the instruction hands over: the flags in its two highest
    /// bits below the opcode.
    #[inline]
    pub(super) const fn cleared_sources(self) -> u8 {
        (self.0 >> 22 & 3) as u8
    }

    /// Returns what is known about instructions with this opcode.
    #[inline]
    pub(super) fn properties(self) -> &'static Properties {
        &PROPERTIES[usize::from(self.opcode())]
    }

    /// Returns true for a plain `NOP`, which the macro expander leaves out.
    #[inline]
    pub(super) const fn is_nop(self) -> bool {
        self.opcode() == op::NOP
    }

    /// Returns the cycles after which the instruction's unit can begin the next one.
    pub(super) fn occupancy(self) -> u64 {
        let base = u64::from(self.properties().occupancy);
        match self.opcode() {
            // Two registers of different groups of four are read one after the other.
            op::ADDDMAREG..=op::CMPDMAREG => {
                let [left, right] = [self.field(0, 6) / 4, self.field(6, 6) / 4];
                base + u64::from(!self.bit(23) && left != right)
            }
            _ => base,
        }
    }

    /// Returns true if the vector unit accepts only an `SFPNOP` in the next cycle: `SFPSWAP`, and
    /// `SFPSHFT2` in its modes that rotate or shift lanes.
    pub(super) const fn takes_two_vector_cycles(self) -> bool {
        match self.opcode() {
            op::SFPSWAP => true,
            op::SFPSHFT2 => matches!(self.field(0, 4), 2..=4),
            _ => false,
        }
    }

    /// Returns the register that a vector instruction of two cycles writes, if it is one.
    pub(super) const fn late_vector_register(self) -> Option<u32> {
        match self.opcode() {
            op::SFPMULI | op::SFPADDI | op::SFPMAD..=op::SFPMUL => Some(self.field(4, 4)),
            _ => None,
        }
    }

    /// Returns true if a Blackhole's vector unit holds the instruction back for a cycle because the
    /// instruction before it writes this register late.
    ///
    /// # Compatibility
    /// tt-isa-documentation `BlackholeA0/TensixTile/TensixCoprocessor/SFPMAD.md`, with the cases that
    /// the hardware does not notice left out.
    pub(super) const fn reads_vector_register(self, register: u32) -> bool {
        match self.opcode() {
            op::SFPMAD..=op::SFPMUL => {
                self.field(8, 4) == register
                    || self.field(12, 4) == register
                    || self.field(16, 4) == register
            }
            op::SFPMULI | op::SFPADDI => self.field(4, 4) == register,
            op::SFPSTORE => self.field(20, 4) == register,
            // Loads read no register; SFPCONFIG, SFPSWAP and SFPSHFT2 are not noticed.
            0x70 | 0x71 | op::SFPNOP | 0x91..=0x94 => false,
            0x73 | 0x95 => register == 3,
            _ => self.field(8, 4) == register,
        }
    }
}

static PROPERTIES: [Properties; 256] = {
    let mut table = [properties(0); 256];
    let mut opcode: u8 = 0;
    loop {
        table[opcode as usize] = properties(opcode);
        if opcode == u8::MAX {
            break table;
        }
        opcode += 1;
    }
};

/// Returns the properties of an opcode.
///
/// # Compatibility
/// tt-isa-documentation, `TensixTile/TensixCoprocessor`: units and kinds `STALLWAIT.md`; times
/// `MatrixUnit.md`, `VectorUnit.md`, `ConfigurationUnit.md`, `SyncUnit.md`, and the pages of the
/// scalar unit's instructions (`ADDDMAREG.md`, `ATCAS.md`, `FLUSHDMA.md`, `LOADREG.md`,
/// `REG2FLOP_Configuration.md`, `STOREREG.md`).
const fn properties(opcode: u8) -> Properties {
    let (unit, kinds) = place(opcode);
    let (occupancy, latency) = match opcode {
        op::MVMUL..=op::DOTPV | op::ELWSUB | op::GMPOOL | op::GAPOOL => (1, 5),
        op::MOVD2A => (1, 2),
        op::MOVB2A | op::MOVA2D | op::MOVB2D | 0x09 | op::MOVD2B => (1, 4),
        op::SHIFTXB => (2, 2),
        op::ADDDMAREG..=op::CMPDMAREG => (3, 3),
        // ATINCGET, ATINCGETPTR, ATSWAP, STOREIND, STOREREG, LOADIND.
        0x61..=0x63 | 0x66 | op::STOREREG | 0x49 => (3, 3),
        // ATCAS.
        0x64 => (15, 15),
        // LOADREG: its result is usually there after seven more instructions.
        0x68 => (3, 10),
        // FLUSHDMA.
        0x46 | op::REG2FLOP => (2, 2),
        // SFPMULI, SFPADDI, SFPMAD to SFPMUL, SFPLUT, SFPLUTFP32, SFPSWAP.
        op::SFPMULI | op::SFPADDI | op::SFPMAD..=op::SFPMUL | 0x73 | 0x95 | op::SFPSWAP => (1, 2),
        // WRCFG, RDCFG.
        op::WRCFG | 0xB1 => (1, 2),
        // CFGSHIFTMASK, STREAMWRCFG.
        0xB8 => (2, 2),
        0xB7 => (1, 5),
        _ => (1, 1),
    };
    let sources = match opcode {
        op::MVMUL..=op::DOTPV | op::ELWSUB | op::GMPOOL | op::GAPOOL => SOURCE_A | SOURCE_B,
        op::MOVA2D | op::SHIFTXA => SOURCE_A,
        // MOVB2A waits for SrcB, as in ttsim 1.10.0.
        op::MOVB2A | op::MOVB2D | op::TRNSPSRCB | op::SHIFTXB => SOURCE_B,
        _ => 0,
    };
    Properties { unit, kinds, occupancy, latency, sources }
}

/// Returns the unit that executes an opcode, and the opcode's kinds in the block mask of a wait.
const fn place(opcode: u8) -> (Unit, u16) {
    use kind::{CONFIGURATION, MATRIX, MISCELLANEOUS, MOVER, PACK, SCALAR, SYNC, UNPACK, VECTOR};
    match opcode {
        // 0x05 is RESOURCEDECL of a Blackhole, which never reaches the gate.
        0x06..=0x3F => (Unit::Matrix, MATRIX),
        0x40 => (Unit::Mover, MISCELLANEOUS | MOVER),
        op::PACR | op::PACR_SETREG => (Unit::Packers, MISCELLANEOUS | PACK),
        op::UNPACR | op::UNPACR_NOP => (Unit::Unpackers, MISCELLANEOUS | UNPACK),
        0x44 | op::SETADC..=op::SETDVALID | op::SETADCXX => (Unit::Miscellaneous, MISCELLANEOUS),
        op::SETDMAREG..=0x49 | op::ADDDMAREG..=op::CMPDMAREG | 0x60..=0x68 => {
            (Unit::Scalar, MISCELLANEOUS | SCALAR)
        }
        0x70..=0x9F => (Unit::Vector, VECTOR),
        op::STALLWAIT | op::SEMWAIT | 0xA7 => (Unit::Sync, kind::ALL),
        op::ATGETM..=op::SEMGET => (Unit::Sync, SYNC),
        0xB0..=0xB8 => (Unit::Configuration, CONFIGURATION),
        _ => (Unit::Frontend, 0),
    }
}

/// Conditions of a wait for units, in the order of a Blackhole's `STALLWAIT.md`.
pub(super) mod condition {
    pub(in crate::machine::coprocessor) const SCALAR: u32 = 1;
    pub(in crate::machine::coprocessor) const UNPACKER_0: u32 = 1 << 1;
    pub(in crate::machine::coprocessor) const UNPACKER_1: u32 = 1 << 2;
    pub(in crate::machine::coprocessor) const PACKERS: u32 = 1 << 3;
    pub(in crate::machine::coprocessor) const MATRIX: u32 = 1 << 4;
    pub(in crate::machine::coprocessor) const A_CLEARED: u32 = 1 << 5;
    pub(in crate::machine::coprocessor) const B_CLEARED: u32 = 1 << 6;
    pub(in crate::machine::coprocessor) const A_VALID: u32 = 1 << 7;
    pub(in crate::machine::coprocessor) const B_VALID: u32 = 1 << 8;
    pub(in crate::machine::coprocessor) const OF_SOURCES: u32 =
        A_CLEARED | B_CLEARED | A_VALID | B_VALID;
    pub(in crate::machine::coprocessor) const VECTOR: u32 = 1 << 11;
    pub(in crate::machine::coprocessor) const CONFIGURATION: u32 = 1 << 12;
}

/// Returns the conditions of a `STALLWAIT`, in the order of [`condition`].
pub(super) const fn conditions(arch: Arch, instruction: Instruction) -> u32 {
    match arch {
        Arch::Blackhole => match instruction.field(0, 13) {
            0 => 0xF,
            mask => mask,
        },
        Arch::WormholeB0 => {
            let mask = match instruction.field(0, 15) {
                0 => 0x7F,
                mask => mask,
            };
            let packers = if mask & 0x78 != 0 { condition::PACKERS } else { 0 };
            // From the matrix unit on, bits are three places higher than on a Blackhole.
            mask & 7 | packers | mask >> 3 & 0xFF0
        }
    }
}
