//! Registers that Wormhole and Blackhole have at the same addresses.

use super::{
    super::daisychain::DaisyRegister as Daisy,
    super::performance::{
        BankIndex,
        BankRegister::{Control, Cycles, Events, Mode, Period},
    },
    Access::{Read, ReadWrite, Write},
    Block,
    Effect::{
        CoprocessorDone, Daisychain, Gpr, Mailbox, MopConfig, PcBuffer, Performance,
        PushInstruction, Semaphore, SoftReset, Stored, WallClockHigh, WallClockLatched,
        WallClockLow,
    },
    Reach, Register, unmodelled, word, words,
};

/// Register blocks that every tile with RISCs has.
pub(super) static ALL_TILES: [Block; 5] = [
    Block::single(Reach::ALL, "TensixTile/DebugTimestamper.md", 0xFFB1_2000, &WALL_CLOCK),
    Block::single(
        Reach::ALL,
        "TensixTile/SoftReset.md",
        0xFFB1_2000,
        &[word(0x1B0, "RISCV_DEBUG_REG_SOFT_RESET_0", ReadWrite, SoftReset)],
    ),
    Block::single(
        Reach::ALL,
        "TensixTile/TileControlDebugStatus.md and tt-metal's tensix.h",
        0xFFB1_2000,
        &DEBUG,
    ),
    Block::single(
        Reach::ALL,
        "tt-metal's perf_counters/registers.h",
        0xFFB1_2000,
        PERFORMANCE.as_flattened(),
    ),
    Block::single(
        Reach::ALL,
        "tt-metal's perf_counters/registers.h",
        0xFFB1_2000,
        PERFORMANCE_READINGS.as_flattened(),
    ),
];

static WALL_CLOCK: [Register; 4] = [
    word(0x1F0, "RISCV_DEBUG_REG_WALL_CLOCK_L", Read, WallClockLow),
    word(0x1F4, "RISCV_DEBUG_REG_WALL_CLOCK_1", Read, WallClockHigh),
    word(0x1F8, "RISCV_DEBUG_REG_WALL_CLOCK_H", Read, WallClockLatched),
    unmodelled(0x1FC, 7, "the debug timestamper"),
];

/// Returns the three consecutive registers that configure a bank of performance counters.
const fn bank(offset: u32, index: BankIndex, names: [&'static str; 3]) -> [Register; 3] {
    [
        word(offset, names[0], ReadWrite, Performance(index, Period)),
        word(offset + 4, names[1], ReadWrite, Performance(index, Mode)),
        word(offset + 8, names[2], ReadWrite, Performance(index, Control)),
    ]
}

/// Returns the registers from which the counts of a performance counter bank are read.
const fn readings(offset: u32, index: BankIndex, names: [&'static str; 2]) -> [Register; 2] {
    [
        word(offset, names[0], Read, Performance(index, Cycles)),
        word(offset + 4, names[1], Read, Performance(index, Events)),
    ]
}

static DEBUG: [Register; 14] = [
    unmodelled(0x03C, 1, "RISCV_DEBUG_REG_PERF_CNT_ALL"),
    unmodelled(0x058, 1, "the debug bus (RISCV_DEBUG_REG_DBG_*)"),
    unmodelled(0x060, 2, "the debug bus (RISCV_DEBUG_REG_DBG_*)"),
    // The only documented bit selects how the coprocessor reads Dst (Dst.md).
    word(0x068, "RISCV_DEBUG_REG_DBG_FEATURE_DISABLE", ReadWrite, Stored),
    unmodelled(0x06C, 1, "RISCV_DEBUG_REG_DBG_ARRAY_RD_DATA"),
    unmodelled(0x070, 2, "clock gating (RISCV_DEBUG_REG_CG_CTRL_HYST*)"),
    unmodelled(0x078, 2, "RISCV_DEBUG_REG_CFGREG_RDDATA and CG_CTRL_HYST2"),
    unmodelled(0x080, 4, "the debugger's interface (RISCV_DEBUG_REG_RISC_DBG_*)"),
    unmodelled(0x090, 2, "RISCV_DEBUG_REG_TRISC_PC_BUF_OVERRIDE and DBG_INVALID_INSTRN"),
    unmodelled(0x0A0, 8, "the debugger's instruction buffers (RISCV_DEBUG_REG_INSTRN_BUF_*)"),
    unmodelled(0x1D0, 2, "RISCV_DEBUG_REG_ECC_*"),
    unmodelled(0x1E0, 3, "the watchdog (RISCV_DEBUG_REG_WDT_*)"),
    // Selects which counters of L1 are connected; none of them is modelled.
    word(0x218, "RISCV_DEBUG_REG_PERF_CNT_MUX_CTRL", ReadWrite, Stored),
    unmodelled(0x21C, 1, "RISCV_DEBUG_REG_DBG_L1_READBACK_OFFSET"),
];

static PERFORMANCE: [[Register; 3]; 5] = [
    bank(
        0x000,
        0,
        ["PERF_CNT_INSTRN_THREAD0", "PERF_CNT_INSTRN_THREAD1", "PERF_CNT_INSTRN_THREAD2"],
    ),
    bank(0x00C, 2, ["PERF_CNT_TDMA_UNPACK0", "PERF_CNT_TDMA_UNPACK1", "PERF_CNT_TDMA_UNPACK2"]),
    bank(0x018, 1, ["PERF_CNT_FPU0", "PERF_CNT_FPU1", "PERF_CNT_FPU2"]),
    bank(0x030, 3, ["PERF_CNT_L1_0", "PERF_CNT_L1_1", "PERF_CNT_L1_2"]),
    bank(0x0F0, 4, ["PERF_CNT_TDMA_PACK0", "PERF_CNT_TDMA_PACK1", "PERF_CNT_TDMA_PACK2"]),
];

static PERFORMANCE_READINGS: [[Register; 2]; 5] = [
    readings(0x100, 0, ["PERF_CNT_OUT_L_INSTRN_THREAD", "PERF_CNT_OUT_H_INSTRN_THREAD"]),
    readings(0x108, 2, ["PERF_CNT_OUT_L_TDMA_UNPACK", "PERF_CNT_OUT_H_TDMA_UNPACK"]),
    readings(0x110, 4, ["PERF_CNT_OUT_L_TDMA_PACK", "PERF_CNT_OUT_H_TDMA_PACK"]),
    readings(0x118, 3, ["PERF_CNT_OUT_L_DBG_L1", "PERF_CNT_OUT_H_DBG_L1"]),
    readings(0x120, 1, ["PERF_CNT_OUT_L_FPU", "PERF_CNT_OUT_H_FPU"]),
];

/// The debug daisychain, which exists on tiles of all kinds, and is documented for Tensix tiles.
pub(super) static ETHERNET: [Block; 1] = [Block::single(
    Reach::ALL,
    "TensixTile/DebugDaisychain.md",
    0xFFB1_2000,
    &[
        unmodelled(0x048, 4, "the debug daisychain (RISCV_DEBUG_REG_DBG_*)"),
        unmodelled(0x05C, 1, "the debug daisychain (RISCV_DEBUG_REG_DBG_*)"),
    ],
)];

static DAISYCHAIN: [Register; 5] = [
    word(0x048, "RISCV_DEBUG_REG_DBG_L1_MEM_REG0", ReadWrite, Daisychain(Daisy::First)),
    word(0x04C, "RISCV_DEBUG_REG_DBG_L1_MEM_REG1", ReadWrite, Daisychain(Daisy::End)),
    word(0x050, "RISCV_DEBUG_REG_DBG_L1_MEM_REG2", ReadWrite, Daisychain(Daisy::Mode)),
    word(0x054, "RISCV_DEBUG_REG_DBG_BUS_CNTL_REG", ReadWrite, Daisychain(Daisy::Control)),
    word(0x05C, "RISCV_DEBUG_REG_DBG_RD_DATA", ReadWrite, Daisychain(Daisy::Data)),
];

/// Register blocks of Tensix tiles.
pub(super) static TENSIX: [Block; 8] = [
    Block::single(Reach::ALL, "TensixTile/DebugDaisychain.md", 0xFFB1_2000, &DAISYCHAIN),
    Block::single(
        Reach::TRISCS,
        "TensixTile/TensixCoprocessor/MOPExpander.md",
        0xFFB8_0000,
        &[words(0, 9, "TENSIX_MOP_CFG", Write, MopConfig)],
    ),
    Block::single(
        Reach::COPROCESSOR,
        "TensixTile/TensixCoprocessor/ScalarUnit.md",
        0xFFE0_0000,
        &[words(0, 192, "REGFILE", ReadWrite, Gpr)],
    ),
    Block::single(
        Reach::COPROCESSOR,
        "TensixTile/BabyRISCV/PushTensixInstruction.md",
        0xFFE4_0000,
        &[word(0, "INSTRN_BUF", Write, PushInstruction)],
    ),
    Block::repeated(
        Reach::BRISC,
        "TensixTile/BabyRISCV/PushTensixInstruction.md",
        (0xFFE5_0000, 2, 0x1_0000),
        &[word(0, "INSTRN1_BUF or INSTRN2_BUF", Write, PushInstruction)],
    ),
    Block::single(
        Reach::COPROCESSOR,
        "TensixTile/BabyRISCV/PCBufs.md and TTSync.md",
        0xFFE8_0000,
        &[
            word(0x0, "PC_BUF", ReadWrite, PcBuffer),
            words(0x4, 2, "TTSync", ReadWrite, CoprocessorDone),
            words(0x20, 8, "Tensix semaphore", ReadWrite, Semaphore),
        ],
    ),
    Block::repeated(
        Reach::BRISC,
        "TensixTile/BabyRISCV/PCBufs.md",
        (0xFFE9_0000, 2, 0x1_0000),
        &[word(0, "PC1_BUF or PC2_BUF", ReadWrite, PcBuffer)],
    ),
    Block::repeated(
        Reach::COPROCESSOR,
        "TensixTile/BabyRISCV/Mailboxes.md",
        (0xFFEC_0000, 4, 0x1000),
        &[words(0, 2, "TENSIX_MAILBOX", ReadWrite, Mailbox)],
    ),
];
