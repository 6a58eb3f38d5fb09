//! Registers of Blackhole.
//!
//! # Compatibility
//! The sources are the page of tt-isa-documentation (`BlackholeA0`) that each block names, and
//! tt-metal's `tensix.h`, `noc_parameters.h` and `noc_overlay_parameters.h`. The addresses agree
//! with ttsim 1.10 (`tile_regs.json`).

use super::{
    Access::{Read, ReadWrite, Write},
    Block,
    Effect::{
        Accepted, ClearOutstanding, Config, Counter, Initiator, LogicalId, NcriscResetOverride,
        NodeId, ResetAddress, Send, Stored, StreamSize, StreamSpace, StreamSpaceUpdate,
        StreamStored, TriscResetOverride,
    },
    Reach, Register, unmodelled, word, words,
};

/// Register blocks that every tile with RISCs has.
pub(super) static ALL_TILES: [Block; 4] = [
    initiators(0xFFB2_0000),
    initiators(0xFFB3_0000),
    Block::per_noc("BlackholeA0/NoC/MemoryMap.md", &INTERFACE),
    Block::per_noc(
        "BlackholeA0/NoC/Counters.md",
        &[
            word(0x60, "NOC_CLEAR_OUTSTANDING_REQ_CNT", Write, ClearOutstanding),
            words(0x200, 62, "NIU counter", Read, Counter),
        ],
    ),
];

const fn initiators(base: u32) -> Block {
    Block::repeated(Reach::ALL, "BlackholeA0/NoC/MemoryMap.md", (base, 4, 0x800), &INITIATOR)
}

static INITIATOR: [Register; 16] = [
    word(0x00, "NOC_TARG_ADDR_LO", ReadWrite, Initiator),
    word(0x04, "NOC_TARG_ADDR_MID", ReadWrite, Initiator),
    word(0x08, "NOC_TARG_ADDR_HI", ReadWrite, Initiator),
    word(0x0C, "NOC_RET_ADDR_LO", ReadWrite, Initiator),
    word(0x10, "NOC_RET_ADDR_MID", ReadWrite, Initiator),
    word(0x14, "NOC_RET_ADDR_HI", ReadWrite, Initiator),
    word(0x18, "NOC_PACKET_TAG", ReadWrite, Initiator),
    word(0x1C, "NOC_CTRL", ReadWrite, Initiator),
    word(0x20, "NOC_AT_LEN_BE", ReadWrite, Initiator),
    word(0x24, "NOC_AT_LEN_BE_1", ReadWrite, Initiator),
    word(0x28, "NOC_AT_DATA", ReadWrite, Initiator),
    word(0x2C, "NOC_BRCST_EXCLUDE", ReadWrite, Initiator),
    unmodelled(0x30, 2, "NOC_L1_ACC_AT_INSTRN or NOC_SEC_CTRL"),
    word(0x40, "NOC_CMD_CTRL", ReadWrite, Send),
    word(0x44, "NOC_NODE_ID", Read, NodeId),
    unmodelled(0x48, 1, "NOC_ENDPOINT_ID"),
];

static INTERFACE: [Register; 7] = [
    unmodelled(0x64, 2, "NIU request FIFO status"),
    words(0x100, 6, "NIU_CFG_0 or ROUTER_CFG", ReadWrite, Stored),
    unmodelled(0x118, 12, "NOC_ID_TRANSLATE_TABLE"),
    word(0x148, "NOC_ID_LOGICAL", Read, LogicalId),
    unmodelled(0x150, 12, "coordinate translation and interrupts of the NIU"),
    unmodelled(0x300, 64, "NoC router and NIU debug information"),
    unmodelled(0x400, 128, "NIU security fence and packet counters"),
];

/// Registers of the streams of a Tensix tile.
pub(super) static TENSIX_STREAMS: Block = streams(64);
/// Registers of the streams of an Ethernet tile.
pub(super) static ETHERNET_STREAMS: Block = streams(32);

const fn streams(instance_count: u32) -> Block {
    Block::streams("tt-metal's blackhole/noc/noc_overlay_parameters.h", instance_count, &STREAM)
}

static STREAM: [Register; 5] = [
    word(0x010, "STREAM_REMOTE_SRC", ReadWrite, Stored),
    word(0x020, "STREAM_REMOTE_DEST_BUF_START", ReadWrite, StreamStored),
    word(0x028, "STREAM_REMOTE_DEST_BUF_SIZE", ReadWrite, StreamSize),
    word(0x438, "STREAM_REMOTE_DEST_BUF_SPACE_AVAILABLE_UPDATE", Write, StreamSpaceUpdate),
    word(0x4A4, "STREAM_REMOTE_DEST_BUF_SPACE_AVAILABLE", Read, StreamSpace),
];

/// Entry addresses of an Ethernet tile's RISCs; a RISC stays in reset until its entry is written.
pub(super) static ETHERNET: [Block; 1] = [Block::single(
    Reach::ALL,
    "tt-metal's blackhole/eth_l1_address_map.h and ttsim's tile_regs.json",
    0xFFB1_4000,
    &[
        word(0x00, "ETH_RISC_CTRL_IERISC_RESET_PC", ReadWrite, ResetAddress(0)),
        word(0x08, "ETH_RISC_CTRL_SUBORDINATE_IERISC_RESET_PC", ReadWrite, ResetAddress(1)),
        words(0x20, 5, "ETH_RISC_CTRL_INTERRUPT_MODE", ReadWrite, Stored),
    ],
)];

/// Register blocks of Tensix tiles.
pub(super) static TENSIX: [Block; 4] = [
    Block::single(
        Reach::ALL,
        "tt-metal's blackhole/tensix.h",
        0xFFB1_1000,
        &[
            unmodelled(0x00, 9, "RISCV_TDMA_REG"),
            word(0x24, "RISCV_TDMA_REG_CLK_GATE_EN", ReadWrite, Stored),
            unmodelled(0x28, 6, "RISCV_TDMA_REG"),
        ],
    ),
    Block::single(
        Reach::ALL,
        "BlackholeA0/TensixTile/SoftReset.md",
        0xFFB1_2000,
        &[
            unmodelled(0x224, 1, "RISCV_DEBUG_REG_DISABLE_RESET"),
            word(0x228, "RISCV_DEBUG_REG_TRISC0_RESET_PC", ReadWrite, ResetAddress(2)),
            word(0x22C, "RISCV_DEBUG_REG_TRISC1_RESET_PC", ReadWrite, ResetAddress(3)),
            word(0x230, "RISCV_DEBUG_REG_TRISC2_RESET_PC", ReadWrite, ResetAddress(4)),
            word(0x234, "RISCV_DEBUG_REG_TRISC_RESET_PC_OVERRIDE", ReadWrite, TriscResetOverride),
            word(0x238, "RISCV_DEBUG_REG_NCRISC_RESET_PC", ReadWrite, ResetAddress(1)),
            word(0x23C, "RISCV_DEBUG_REG_NCRISC_RESET_PC_OVERRIDE", ReadWrite, NcriscResetOverride),
        ],
    ),
    Block::single(
        Reach::ALL,
        "tt-metal's blackhole/tensix.h",
        0xFFB1_2000,
        &[
            unmodelled(0x220, 1, "RISCV_DEBUG_REG_LFSR_HIT_MASK"),
            word(0x240, "RISCV_DEBUG_REG_DEST_CG_CTRL", Write, Accepted),
            unmodelled(0x244, 2, "RISCV_DEBUG_REG_CG_CTRL_EN or CG_KICK"),
        ],
    ),
    Block::single(
        Reach::COPROCESSOR,
        "BlackholeA0/TensixTile/TensixCoprocessor/BackendConfiguration.md",
        0xFFEF_0000,
        &[words(0, 2 * 224, "Config", ReadWrite, Config)],
    ),
];
