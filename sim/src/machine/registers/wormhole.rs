//! Registers of Wormhole.
//!
//! # Compatibility
//! The source of each block is the page of tt-isa-documentation (`WormholeB0`) that the block
//! names. The addresses of configuration words are from tt-metal's `cfg_defines.h`, those of stream
//! registers from tt-metal's `noc_overlay_parameters.h`. The addresses agree with ttsim 1.10
//! (`tile_regs.json`).

use super::{
    Access::{Read, ReadWrite, Write},
    Block,
    Effect::{
        Accepted, ClearOutstanding, Config, Counter, Initiator, InitiatorsBusy, LogicalId,
        MoverCommand, MoverParameter, MoverStatus, NcriscResetOverride, NodeId, ResetAddress, Send,
        Stored, StreamSize, StreamSpace, StreamSpaceUpdate, StreamStored, TriscResetOverride,
    },
    Reach, Register, unmodelled, word, words,
};

/// Register blocks that every tile with RISCs has.
pub(super) static ALL_TILES: [Block; 4] = [
    initiators(0xFFB2_0000),
    initiators(0xFFB3_0000),
    Block::per_noc("WormholeB0/NoC/MemoryMap.md", &INTERFACE),
    Block::per_noc(
        "WormholeB0/NoC/Counters.md",
        &[
            word(0x50, "NOC_CLEAR_OUTSTANDING_REQ_CNT", Write, ClearOutstanding),
            words(0x200, 62, "NIU counter", Read, Counter),
        ],
    ),
];

const fn initiators(base: u32) -> Block {
    Block::repeated(Reach::ALL, "WormholeB0/NoC/MemoryMap.md", (base, 4, 0x400), &INITIATOR)
}

static INITIATOR: [Register; 11] = [
    word(0x00, "NOC_TARG_ADDR_LO", ReadWrite, Initiator),
    word(0x04, "NOC_TARG_ADDR_MID", ReadWrite, Initiator),
    word(0x0C, "NOC_RET_ADDR_LO", ReadWrite, Initiator),
    word(0x10, "NOC_RET_ADDR_MID", ReadWrite, Initiator),
    word(0x18, "NOC_PACKET_TAG", ReadWrite, Initiator),
    word(0x1C, "NOC_CTRL", ReadWrite, Initiator),
    word(0x20, "NOC_AT_LEN_BE", ReadWrite, Initiator),
    word(0x24, "NOC_AT_DATA", ReadWrite, Initiator),
    word(0x28, "NOC_CMD_CTRL", ReadWrite, Send),
    word(0x2C, "NOC_NODE_ID", Read, NodeId),
    unmodelled(0x30, 1, "NOC_ENDPOINT_ID"),
];

static INTERFACE: [Register; 5] = [
    word(0x54, "NIU combined request initiator status", Read, InitiatorsBusy),
    words(0x100, 6, "NIU_CFG_0 or ROUTER_CFG", ReadWrite, Stored),
    unmodelled(0x118, 8, "NOC_ID_TRANSLATE_TABLE"),
    word(0x138, "NOC_ID_LOGICAL", Read, LogicalId),
    unmodelled(0x300, 64, "NoC router and NIU debug information"),
];

/// Registers of the streams of a Tensix tile.
pub(super) static TENSIX_STREAMS: Block = streams(64);
/// Registers of the streams of an Ethernet tile.
pub(super) static ETHERNET_STREAMS: Block = streams(32);

const fn streams(instance_count: u32) -> Block {
    Block::streams(
        "WormholeB0/NoC/Overlay and tt-metal's noc_overlay_parameters.h",
        instance_count,
        &STREAM,
    )
}

static STREAM: [Register; 5] = [
    word(0x00, "STREAM_REMOTE_SRC", ReadWrite, Stored),
    word(0x0C, "STREAM_REMOTE_DEST_BUF_START", ReadWrite, StreamStored),
    word(0x10, "STREAM_REMOTE_DEST_BUF_SIZE", ReadWrite, StreamSize),
    word(0x88, "STREAM_REMOTE_DEST_BUF_SPACE_AVAILABLE_UPDATE", Write, StreamSpaceUpdate),
    word(0x100, "STREAM_REMOTE_DEST_BUF_SPACE_AVAILABLE", Read, StreamSpace),
];

/// Register blocks of Tensix tiles.
pub(super) static TENSIX: [Block; 3] = [
    Block::single(
        Reach::ALL,
        "WormholeB0/TensixTile/TDMA-RISC.md",
        0xFFB1_1000,
        &[
            words(0x00, 4, "RISCV_TDMA_REG_XMOV", ReadWrite, MoverParameter),
            word(0x10, "RISCV_TDMA_REG_COMMAND_ADDR", ReadWrite, MoverCommand),
            word(0x14, "RISCV_TDMA_REG_STATUS", ReadWrite, MoverStatus),
            unmodelled(0x18, 3, "RISCV_TDMA_REG_PACKED_SIZE"),
            word(0x24, "RISCV_TDMA_REG_CLK_GATE_EN", ReadWrite, Stored),
            word(0x28, "RISCV_TDMA_REG_CLK_GATE_HYST", ReadWrite, Accepted),
            unmodelled(0x2C, 5, "RISCV_TDMA_REG_FIFO_PACKED_TILE"),
        ],
    ),
    Block::single(
        Reach::COPROCESSOR,
        "WormholeB0/TensixTile/SoftReset.md",
        0xFFEF_0000 + 4 * 158,
        &[
            word(0x00, "TRISC_RESET_PC_SEC0_PC", ReadWrite, ResetAddress(2)),
            word(0x04, "TRISC_RESET_PC_SEC1_PC", ReadWrite, ResetAddress(3)),
            word(0x08, "TRISC_RESET_PC_SEC2_PC", ReadWrite, ResetAddress(4)),
            word(0x0C, "TRISC_RESET_PC_OVERRIDE", ReadWrite, TriscResetOverride),
            word(0x10, "NCRISC_RESET_PC_PC", ReadWrite, ResetAddress(1)),
            word(0x14, "NCRISC_RESET_PC_OVERRIDE", ReadWrite, NcriscResetOverride),
        ],
    ),
    Block::single(
        Reach::COPROCESSOR,
        "WormholeB0/TensixTile/TensixCoprocessor/BackendConfiguration.md",
        0xFFEF_0000,
        &[
            words(0, 158, "Config", ReadWrite, Config),
            words(4 * 164, 2 * 188 - 164, "Config", ReadWrite, Config),
        ],
    ),
];
