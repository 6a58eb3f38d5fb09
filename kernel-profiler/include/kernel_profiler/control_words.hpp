/// \file
///
/// Words of the control vector and fields of markers and run headers, from TT-Metal and from this
/// project, with checks that they do not overlap.
///
/// Names in TT-Metal's `profiler_common.h` come from that file or, outside of tt-metal, from
/// profiler_common.hpp. This project's own words and bits are in constants.hpp. Compilation fails
/// if TT-Metal's list uses one of these words or has an unexpected structure.
///
/// # Compatibility
/// `ControlBuffer`, `BufferIndex` and `PROFILER_ID_*` of `profiler_common.h`.

#pragma once

#include "constants.hpp"
#include "registers.hpp"

namespace kernel_profiler {
namespace detail {

/// Returns true if TT-Metal's list has a name for a word. The compiler prints a value without a
/// name as a cast.
template <ControlBuffer WORD>
constexpr bool is_named() {
    const char* text = __PRETTY_FUNCTION__;
    const char* value = text;
    for (; *text != '\0'; ++text) {
        if (text[0] == '=' && text[1] == ' ') {
            value = text + 2;
        }
    }
    return *value != '(' && !(*value >= '0' && *value <= '9');
}

/// Returns true if TT-Metal's list names none of `COUNT` consecutive words.
template <uint32_t FIRST, uint32_t COUNT = 1>
constexpr bool are_free() {
    if constexpr (COUNT == 0) {
        return true;
    } else {
        return !is_named<static_cast<ControlBuffer>(FIRST)>() && are_free<FIRST + 1, COUNT - 1>();
    }
}

static_assert(is_named<PROFILER_DONE>(), "expected a compiler that spells out names of enumerators");
static_assert(
    are_free<SIGNATURE>() && are_free<LANE_WORDS>() && are_free<GENERATION>() && are_free<SEEN_RUNS>() &&
        are_free<REFUSED_RUNS, RISCS_PER_CORE>() && are_free<REFUSED_MARKERS, RISCS_PER_CORE>() &&
        are_free<FIRST_REFUSED_PROGRAM>() && are_free<LAST_REFUSED_PROGRAM>() && are_free<TIMED_OUT_PUSHES>() &&
        are_free<IDLE_LAUNCHES>() && are_free<SCRATCH>(),
    "upstream's ControlBuffer names a word from 5 to 23, which this header uses");
static_assert(
    are_free<LOST_ZONES, RISCS_PER_CORE>() && are_free<LOST_DATA, RISCS_PER_CORE>() &&
        are_free<LOST_EVENTS, RISCS_PER_CORE>() && are_free<LATE_RUNS, RISCS_PER_CORE - 1>(),
    "upstream's ControlBuffer names a word from 29 to 47, which this header uses");

// Words that TT-Metal's runtime and host use in modes that this header does not support.
static_assert(
    STALLED_IN_VAIN == TRACE_REPLAY_STATUS && CONSUMED == PROFILER_DISPATCH_CORE &&
        CONSUMED + 1 == DRAM_PROFILER_ADDRESS_BR_ER_0 && CONSUMED + 4 == DRAM_PROFILER_ADDRESS_T1_0 &&
        CONSUMED + RISCS_PER_CORE <= PROFILER_L1_CONTROL_VECTOR_SIZE,
    "upstream's ControlBuffer has moved words 58 to 63, which this header shares with modes of upstream's");

// The words of the RISCs are consecutive.
static_assert(
    HOST_BUFFER_END_INDEX_T2 == HOST_BUFFER_END_INDEX_BR_ER + RISCS_PER_CORE - 1 &&
        HOST_BUFFER_END_INDEX_NC == HOST_BUFFER_END_INDEX_BR_ER + 1 &&
        HOST_BUFFER_END_INDEX_T0 == HOST_BUFFER_END_INDEX_BR_ER + 2 &&
        DEVICE_BUFFER_END_INDEX_T2 == DEVICE_BUFFER_END_INDEX_BR_ER + RISCS_PER_CORE - 1 &&
        DEVICE_BUFFER_END_INDEX_NC == DEVICE_BUFFER_END_INDEX_BR_ER + 1 &&
        DEVICE_BUFFER_END_INDEX_T0 == DEVICE_BUFFER_END_INDEX_BR_ER + 2,
    "expected the ends of RISCs in the order of their numbers");

static_assert(
    ID_LH == 2 && ID_LL == 3 && GUARANTEED_MARKER_1_H == 4 && GUARANTEED_MARKER_2_H == 6 &&
        GUARANTEED_MARKER_3_H == 8 && GUARANTEED_MARKER_4_H == 10 && CUSTOM_MARKERS == 12,
    "expected four ID words and four markers at the beginning of a vector");
static_assert(PROFILER_L1_MARKER_UINT32_SIZE == 2, "expected markers of two words");
static_assert(
    PROFILER_L1_VECTOR_SIZE <= LARGEST_RUN_WORDS && PROFILER_L1_VECTOR_SIZE % PUSH_ALIGN_WORDS == 0 &&
        PROFILER_L1_CONTROL_VECTOR_SIZE % PUSH_ALIGN_WORDS == 0,
    "expected vectors of at most 512 words that pushes can be aligned in");
static_assert(
    PROFILER_ID_RISC_SHIFT == 0 && RISCS_PER_CORE <= 1u << PROFILER_ID_RISC_BITS &&
        PROFILER_ID_RISC_BITS <= PROFILER_ID_FLAT_SHIFT &&
        PROFILER_ID_TRACE_SHIFT + PROFILER_ID_TRACE_BITS <= GENERATION_SHIFT,
    "upstream's ID_LH needs bits 29 to 31, which this header uses");

/// Bit positions of a marker's packet type and id.
constexpr uint32_t PACKET_TYPE_SHIFT = PROFILER_MARKER_TIMER_ID_SHIFT + PROFILER_TIMER_PACKET_TYPE_SHIFT;

static_assert(
    (PROFILER_MARKER_TS_HIGH_MASK >> PROFILER_MARKER_TIMER_ID_SHIFT) == 0 &&
        (PROFILER_TIMER_STATIC_ID_MASK >> PROFILER_TIMER_PACKET_TYPE_SHIFT) == 0 &&
        (PROFILER_MARKER_VALID & (PROFILER_TIMER_PACKET_TYPE_MASK << PACKET_TYPE_SHIFT)) == 0 &&
        PROFILER_MARKER_VALID == 1u << 31,
    "expected fields of a marker that do not overlap");

}  // namespace detail
}  // namespace kernel_profiler
