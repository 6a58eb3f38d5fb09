//! Registers that Wormhole and Blackhole have at the same addresses.

use super::{
    Access::{Read, ReadWrite, Write},
    Block,
    Effect::{
        CoprocessorDone, Gpr, Mailbox, MopConfig, PcBuffer, PushInstruction, Semaphore, SoftReset,
        Stored, WallClockHigh, WallClockLatched, WallClockLow,
    },
    Reach, Register, unmodelled, word, words,
};

/// Blocks of every tile with RISCs.
pub(super) static ALL_TILES: [Block; 3] = [
    Block {
        source: "TensixTile/DebugTimestamper.md",
        base: 0xFFB1_2000,
        instance_count: 1,
        stride: 0,
        reach: Reach::ALL,
        registers: &WALL_CLOCK,
    },
    Block {
        source: "TensixTile/SoftReset.md",
        base: 0xFFB1_2000,
        instance_count: 1,
        stride: 0,
        reach: Reach::ALL,
        registers: &[word(0x1B0, "RISCV_DEBUG_REG_SOFT_RESET_0", ReadWrite, SoftReset)],
    },
    Block {
        source: "TensixTile/TileControlDebugStatus.md and tt-metal's tensix.h",
        base: 0xFFB1_2000,
        instance_count: 1,
        stride: 0,
        reach: Reach::ALL,
        registers: &DEBUG,
    },
];

static WALL_CLOCK: [Register; 4] = [
    word(0x1F0, "RISCV_DEBUG_REG_WALL_CLOCK_L", Read, WallClockLow),
    word(0x1F4, "RISCV_DEBUG_REG_WALL_CLOCK_1", Read, WallClockHigh),
    word(0x1F8, "RISCV_DEBUG_REG_WALL_CLOCK_H", Read, WallClockLatched),
    unmodelled(0x1FC, 7, "the debug timestamper"),
];

static DEBUG: [Register; 15] = [
    unmodelled(0x000, 9, "performance counters (RISCV_DEBUG_REG_PERF_CNT_*)"),
    unmodelled(0x030, 4, "performance counters (RISCV_DEBUG_REG_PERF_CNT_L1_*)"),
    unmodelled(0x048, 8, "the debug bus (RISCV_DEBUG_REG_DBG_*)"),
    // Its one documented bit chooses how the coprocessor reads Dst (Dst.md).
    word(0x068, "RISCV_DEBUG_REG_DBG_FEATURE_DISABLE", ReadWrite, Stored),
    unmodelled(0x06C, 1, "RISCV_DEBUG_REG_DBG_ARRAY_RD_DATA"),
    unmodelled(0x070, 2, "clock gating (RISCV_DEBUG_REG_CG_CTRL_HYST*)"),
    unmodelled(0x078, 2, "RISCV_DEBUG_REG_CFGREG_RDDATA and CG_CTRL_HYST2"),
    unmodelled(0x080, 4, "the debugger's interface (RISCV_DEBUG_REG_RISC_DBG_*)"),
    unmodelled(0x090, 2, "RISCV_DEBUG_REG_TRISC_PC_BUF_OVERRIDE and DBG_INVALID_INSTRN"),
    unmodelled(0x0A0, 8, "the debugger's instruction buffers (RISCV_DEBUG_REG_INSTRN_BUF_*)"),
    unmodelled(0x0F0, 3, "performance counters (RISCV_DEBUG_REG_PERF_CNT_TDMA_PACK*)"),
    unmodelled(0x100, 10, "performance counters (RISCV_DEBUG_REG_PERF_CNT_OUT_*)"),
    unmodelled(0x1D0, 2, "RISCV_DEBUG_REG_ECC_*"),
    unmodelled(0x1E0, 3, "the watchdog (RISCV_DEBUG_REG_WDT_*)"),
    unmodelled(0x218, 2, "RISCV_DEBUG_REG_PERF_CNT_MUX_CTRL and DBG_L1_READBACK_OFFSET"),
];

/// Blocks of Tensix tiles.
pub(super) static TENSIX: [Block; 7] = [
    Block {
        source: "TensixTile/TensixCoprocessor/MOPExpander.md",
        base: 0xFFB8_0000,
        instance_count: 1,
        stride: 0,
        reach: Reach::TRISCS,
        registers: &[words(0, 9, "TENSIX_MOP_CFG", Write, MopConfig)],
    },
    Block {
        source: "TensixTile/TensixCoprocessor/ScalarUnit.md",
        base: 0xFFE0_0000,
        instance_count: 1,
        stride: 0,
        reach: Reach::COPROCESSOR,
        registers: &[words(0, 192, "REGFILE", ReadWrite, Gpr)],
    },
    Block {
        source: "TensixTile/BabyRISCV/PushTensixInstruction.md",
        base: 0xFFE4_0000,
        instance_count: 1,
        stride: 0,
        reach: Reach::COPROCESSOR,
        registers: &[word(0, "INSTRN_BUF", Write, PushInstruction)],
    },
    Block {
        source: "TensixTile/BabyRISCV/PushTensixInstruction.md",
        base: 0xFFE5_0000,
        instance_count: 2,
        stride: 0x1_0000,
        reach: Reach::BRISC,
        registers: &[word(0, "INSTRN1_BUF or INSTRN2_BUF", Write, PushInstruction)],
    },
    Block {
        source: "TensixTile/BabyRISCV/PCBufs.md and TTSync.md",
        base: 0xFFE8_0000,
        instance_count: 1,
        stride: 0,
        reach: Reach::COPROCESSOR,
        registers: &[
            word(0x0, "PC_BUF", ReadWrite, PcBuffer),
            words(0x4, 2, "TTSync", ReadWrite, CoprocessorDone),
            words(0x20, 8, "Tensix semaphore", ReadWrite, Semaphore),
        ],
    },
    Block {
        source: "TensixTile/BabyRISCV/PCBufs.md",
        base: 0xFFE9_0000,
        instance_count: 2,
        stride: 0x1_0000,
        reach: Reach::BRISC,
        registers: &[word(0, "PC1_BUF or PC2_BUF", ReadWrite, PcBuffer)],
    },
    Block {
        source: "TensixTile/BabyRISCV/Mailboxes.md",
        base: 0xFFEC_0000,
        instance_count: 4,
        stride: 0x1000,
        reach: Reach::COPROCESSOR,
        registers: &[words(0, 2, "TENSIX_MAILBOX", ReadWrite, Mailbox)],
    },
];
