/// \file
///
/// The runtime's environment outside of tt-metal: what the firmware provides.
///
/// The module `kernel_profiler::tensix` of the Rust runtime documents the symbols. The C++ and the
/// Rust runtime work on each other's firmware.

#pragma once

#include "control_words.hpp"

#define KERNEL_PROFILER_HAS_NOC 1

extern "C" {
// Constants from the linker script: the value is the symbol's address.
extern uint8_t __kprof_control[];
extern uint8_t __kprof_own[];
extern uint8_t __kprof_vector[];
extern uint8_t __kprof_risc_count[];
extern uint8_t __kprof_bank_count[];
}

// The firmware's variables.
extern uint8_t noc_index;
extern uint8_t my_x[2];
extern uint8_t my_y[2];
extern uint16_t dram_bank_to_noc_xy[];
extern uint32_t bank_to_dram_offset[];
extern uint32_t noc_nonposted_writes_num_issued[2];
extern uint32_t noc_nonposted_writes_acked[2];

/// Defines the variables that the profiler and its pushes need. Each RISC's firmware in C++ uses
/// this macro once, and zeroes its local RAM.
#define KERNEL_PROFILER_FIRMWARE_STATE                            \
    namespace kernel_profiler {                                   \
    namespace detail {                                            \
    uint32_t next_place, room_left;                               \
    }                                                             \
    uint32_t traceCount;                                          \
    uint32_t sums[SUM_COUNT], sumIDs[SUM_COUNT];                  \
    }                                                             \
    uint8_t noc_index, my_x[2], my_y[2];                          \
    uint16_t dram_bank_to_noc_xy[2 * 16];                         \
    uint32_t bank_to_dram_offset[16];                             \
    uint32_t noc_nonposted_writes_num_issued[2], noc_nonposted_writes_acked[2]; \
    KERNEL_PROFILER_WAITS_STATE                                   \
    static_assert(true, "a semicolon follows")

namespace kernel_profiler {
namespace detail {

/// Returns false for ids that the format reserves for other records, and for 0, the id of padding.
constexpr bool is_free(uint32_t id) { return id != 0 && id != NOC_TRACING_STATIC_ID && id != NOC_DEBUGGING_STATIC_ID && id != PERF_COUNTER_ID; }

/// Returns true if a text needs no escapes in the assembler's source.
constexpr bool is_plain(const char* text) {
    for (; *text != '\0'; ++text) {
        if (*text == '"' || *text == '\\' || *text == '\n') {
            return false;
        }
    }
    return true;
}

constexpr bool HAS_TRACE_COUNT = true;
constexpr bool IS_TOLD_ENABLES = true;
constexpr uint32_t LANE_STRIDE_RISCS = RISCS_PER_CORE;
constexpr uint32_t COMMAND_BUFFER = 0;

KERNEL_PROFILER_ALWAYS_INLINE uint32_t number(const uint8_t* symbol) { return reinterpret_cast<uint32_t>(symbol); }

KERNEL_PROFILER_ALWAYS_INLINE uint32_t risc_count() { return number(__kprof_risc_count); }
KERNEL_PROFILER_ALWAYS_INLINE uint32_t control_place() { return number(__kprof_control); }
KERNEL_PROFILER_ALWAYS_INLINE uint32_t own_place() { return number(__kprof_own); }
KERNEL_PROFILER_ALWAYS_INLINE uint32_t own_vector() { return number(__kprof_vector); }
KERNEL_PROFILER_ALWAYS_INLINE uint32_t first_vector() { return control_place() + 4 * PROFILER_L1_CONTROL_VECTOR_SIZE; }

/// Returns true on the RISC that collects the records of all RISCs of its core and pushes them. The
/// address is hidden from the compiler, which otherwise assumes that two symbols have different
/// addresses.
KERNEL_PROFILER_ALWAYS_INLINE bool is_aggregator() { return hidden(own_place()) == control_place(); }

/// Returns true on the RISC whose firmware receives the launch.
KERNEL_PROFILER_ALWAYS_INLINE bool is_first_risc() { return is_aggregator(); }

/// Returns a lane's size in words, set by the host; the default is the size for 1,000 programs.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t lane_words() {
    constexpr bool HAS_SUMS = ((PROFILE_KERNEL) & PROFILER_OPT_DO_SUM) != 0;
    constexpr uint32_t DEFAULT_WORDS = HAS_SUMS ? DEFAULT_LANE_WORDS_WITH_SUMS : DEFAULT_LANE_WORDS;
    const uint32_t words = read_word(control_place() + 4 * LANE_WORDS);
    return (words != 0 ? words : DEFAULT_WORDS) & ~(PUSH_ALIGN_WORDS - 1);
}

/// Makes the writes of other RISCs and of the NoC visible to later loads, if a data cache is on.
KERNEL_PROFILER_ALWAYS_INLINE void forget_cached() {
    if (IS_BLACKHOLE) {
        __asm__ volatile("fence" : : : "memory");
    }
}

KERNEL_PROFILER_ALWAYS_INLINE uint32_t launch_enables() { return 0; }
KERNEL_PROFILER_ALWAYS_INLINE uint32_t noc_x() { return my_x[0]; }
KERNEL_PROFILER_ALWAYS_INLINE uint32_t noc_y() { return my_y[0]; }
KERNEL_PROFILER_ALWAYS_INLINE uint32_t noc_place() {
    return NOC_REGISTERS + (static_cast<uint32_t>(noc_index) << NOC_REGISTERS_SHIFT);
}
KERNEL_PROFILER_ALWAYS_INLINE uint32_t command_buffer_place() {
    return noc_place() + (COMMAND_BUFFER << COMMAND_BUFFER_SHIFT);
}
KERNEL_PROFILER_ALWAYS_INLINE uint32_t bank_count() { return number(__kprof_bank_count); }
KERNEL_PROFILER_ALWAYS_INLINE uint32_t bank_coordinates(uint32_t bank) {
    return dram_bank_to_noc_xy[noc_index * bank_count() + bank];
}
KERNEL_PROFILER_ALWAYS_INLINE uint32_t bank_offset(uint32_t bank) { return bank_to_dram_offset[bank]; }
KERNEL_PROFILER_ALWAYS_INLINE void count_writes(uint32_t writes) {
    noc_nonposted_writes_num_issued[noc_index] += writes;
    noc_nonposted_writes_acked[noc_index] += writes;
}

}  // namespace detail
}  // namespace kernel_profiler
