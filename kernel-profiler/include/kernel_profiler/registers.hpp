/// \file
/// Words of L1 and registers of the tile, by address.
///
/// # Compatibility
/// `noc_parameters.h` of Wormhole and Blackhole; `RISCV_DEBUG_REG_WALL_CLOCK_L`.

#pragma once

#include <stddef.h>
#include <stdint.h>

#if !defined(__riscv) || __riscv_xlen != 32
#error "expected a 32-bit RISC-V compiler: the probes read registers of a Tensix core"
#endif

#if !defined(ARCH_WORMHOLE) && !defined(ARCH_BLACKHOLE)
#error "expected ARCH_WORMHOLE or ARCH_BLACKHOLE to be defined: registers of the NoC differ"
#endif

#define KERNEL_PROFILER_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace kernel_profiler {
namespace detail {

#if defined(ARCH_BLACKHOLE)
constexpr bool IS_BLACKHOLE = true;
#else
constexpr bool IS_BLACKHOLE = false;
#endif

constexpr uint32_t TILE_REGISTERS = 0xFFB12000;
constexpr uint32_t WALL_CLOCK_LOW = 0x1F0;
constexpr uint32_t WALL_CLOCK_HIGH = 0x1F4;

constexpr uint32_t NOC_REGISTERS = 0xFFB20000;
constexpr uint32_t NOC_REGISTERS_SHIFT = 16;
constexpr uint32_t COMMAND_BUFFER_SHIFT = IS_BLACKHOLE ? 11 : 10;

// Registers of a command buffer.
constexpr uint32_t TARG_ADDR_LO = 0x00;
constexpr uint32_t TARG_ADDR_MID = 0x04;
constexpr uint32_t TARG_ADDR_HI = 0x08;
constexpr uint32_t RET_ADDR_LO = 0x0C;
constexpr uint32_t RET_ADDR_MID = 0x10;
constexpr uint32_t RET_ADDR_HI = 0x14;
constexpr uint32_t PACKET_TAG = 0x18;
constexpr uint32_t CTRL = 0x1C;
constexpr uint32_t AT_LEN_BE = 0x20;
constexpr uint32_t CMD_CTRL = IS_BLACKHOLE ? 0x40 : 0x28;

/// Registers with coordinates: a Wormhole has them above the address bits, a Blackhole separately.
constexpr uint32_t TARG_COORDINATE = IS_BLACKHOLE ? TARG_ADDR_HI : TARG_ADDR_MID;
constexpr uint32_t RET_COORDINATE = IS_BLACKHOLE ? RET_ADDR_HI : RET_ADDR_MID;
constexpr uint32_t COORDINATE_SHIFT = IS_BLACKHOLE ? 0 : 4;

/// Register with a tile's own coordinates, as in tt-metal's `noc_init`: the node id on a Wormhole,
/// the translated id on a Blackhole.
constexpr uint32_t OWN_COORDINATES = IS_BLACKHOLE ? 0x100 + 4 * 0x12 : 0x2C;
/// Left shift that drops the register's bits above the coordinates.
constexpr uint32_t OWN_COORDINATES_SHIFT = 20;

/// The transaction id of pushes, the highest of a NoC's 16.
///
/// Some kernels also use this id: kernels that cycle through ids, the fabric's routers, and kernels
/// that name the id. A push also waits for the acknowledgements of these kernels' outstanding
/// requests. A push that times out is counted. A kernel's own wait for the id cannot end early,
/// since a push ends before the kernel continues.
constexpr uint32_t PUSH_TRANSACTION_ID = 15;
constexpr uint32_t PUSH_PACKET_TAG = PUSH_TRANSACTION_ID << 10;
/// Register that counts the unacknowledged transactions that have the id of pushes.
constexpr uint32_t PUSHES_OUTSTANDING = 0x200 + 4 * (0x10 + PUSH_TRANSACTION_ID);

constexpr uint32_t CTRL_LINKED = 1 << 6;
/// Reserved bits of CTRL, which are undefined when read and must be written as 0.
constexpr uint32_t CTRL_RESERVED = 0x87FC0000;
/// An acknowledged write on static virtual channel 1. If many tiles write to one DRAM channel on
/// dynamic virtual channels, the DRAM channel has only a third of its bandwidth.
constexpr uint32_t CTRL_ANSWERED_WRITE = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 13;

#pragma GCC diagnostic push
// gcc 12 treats addresses below 4,096 as offsets from a null pointer, but L1 begins at 0.
#pragma GCC diagnostic ignored "-Warray-bounds"

/// A word of L1 or of a register, within a type larger than any variable in local RAM. The compiler
/// thus knows that an access does not alias these variables, and may keep them in registers.
struct Memory {
    uint32_t word;
    uint32_t following[3];
};

/// A word with four words before it, so that it cannot be part of a variable. A loop that writes
/// through this type need not store the variables in program order.
struct MemoryBehind {
    uint32_t before[4];
    uint32_t word;
};

KERNEL_PROFILER_ALWAYS_INLINE uint32_t read_word(uint32_t place) {
    return reinterpret_cast<const volatile Memory*>(place)->word;
}

KERNEL_PROFILER_ALWAYS_INLINE void write_word(uint32_t place, uint32_t value) {
    reinterpret_cast<volatile Memory*>(place)->word = value;
}

/// Writes a word of the ring, without ordering against the variables.
KERNEL_PROFILER_ALWAYS_INLINE void write_ring(uint32_t place, uint32_t value) {
    reinterpret_cast<volatile MemoryBehind*>(place - offsetof(MemoryBehind, word))->word = value;
}

#pragma GCC diagnostic pop

/// Returns a value opaque to the compiler, which must then address relative to a register.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t hidden(uint32_t value) {
    __asm__("" : "+r"(value));
    return value;
}

}  // namespace detail
}  // namespace kernel_profiler
