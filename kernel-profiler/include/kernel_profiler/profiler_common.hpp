/// \file
/// Constants of the format under the names of tt-metal's `profiler_common.h`, whose place this
/// file takes outside of tt-metal.
///
/// Written by `wire/tests/cpp_constants.rs`; `BLESS=1` rewrites it.

#pragma once

#include <stdint.h>

namespace kernel_profiler {

constexpr int SUM_COUNT = 2;

/// Ids of records that are no zones.
constexpr uint32_t NOC_TRACING_STATIC_ID = 12345;
constexpr uint32_t NOC_DEBUGGING_STATIC_ID = 23456;

/// Indices of words in a RISC's vector: ID words, guaranteed slots, first other marker.
enum BufferIndex : uint32_t {
    ID_LH = 2,
    ID_LL = 3,
    GUARANTEED_MARKER_1_H = 4,
    GUARANTEED_MARKER_2_H = 6,
    GUARANTEED_MARKER_3_H = 8,
    GUARANTEED_MARKER_4_H = 10,
    CUSTOM_MARKERS = 12,
};

/// Sizes in words of the control vector, a marker and a vector; a vector's size in bytes.
constexpr uint32_t PROFILER_L1_CONTROL_VECTOR_SIZE = 64;
constexpr uint32_t PROFILER_L1_MARKER_UINT32_SIZE = 2;
constexpr uint32_t PROFILER_L1_VECTOR_SIZE = 512;
constexpr uint32_t PROFILER_L1_BUFFER_SIZE = 2048;

/// First bits and widths of the fields in the ID_LH word.
constexpr uint32_t PROFILER_ID_RISC_SHIFT = 0;
constexpr uint32_t PROFILER_ID_RISC_BITS = 5;
constexpr uint32_t PROFILER_ID_FLAT_SHIFT = 5;
constexpr uint32_t PROFILER_ID_TRACE_SHIFT = 13;
constexpr uint32_t PROFILER_ID_TRACE_BITS = 16;
constexpr uint32_t PROFILER_ID_FLAT_MASK = 0xFF;
constexpr uint32_t PROFILER_ID_TRACE_MASK = 0xFFFF;

/// First bits of the fields in a marker's first word.
constexpr uint32_t PROFILER_MARKER_TIMER_ID_SHIFT = 12;
constexpr uint32_t PROFILER_TIMER_PACKET_TYPE_SHIFT = 16;
constexpr uint32_t PROFILER_MARKER_VALID = 0x80000000;
constexpr uint32_t PROFILER_MARKER_TS_HIGH_MASK = 0xFFF;
constexpr uint32_t PROFILER_TIMER_STATIC_ID_MASK = 0xFFFF;
constexpr uint32_t PROFILER_TIMER_PACKET_TYPE_MASK = 0x7;

/// Indices of words in the control vector.
enum ControlBuffer : uint32_t {
    HOST_BUFFER_END_INDEX_BR_ER = 0,
    HOST_BUFFER_END_INDEX_NC = 1,
    HOST_BUFFER_END_INDEX_T0 = 2,
    HOST_BUFFER_END_INDEX_T1 = 3,
    HOST_BUFFER_END_INDEX_T2 = 4,
    DEVICE_BUFFER_END_INDEX_BR_ER = 24,
    DEVICE_BUFFER_END_INDEX_NC = 25,
    DEVICE_BUFFER_END_INDEX_T0 = 26,
    DEVICE_BUFFER_END_INDEX_T1 = 27,
    DEVICE_BUFFER_END_INDEX_T2 = 28,
    FW_RESET_H = 48,
    FW_RESET_L = 49,
    DRAM_PROFILER_ADDRESS_DEFAULT = 50,
    RUN_COUNTER = 51,
    NOC_X = 52,
    NOC_Y = 53,
    FLAT_ID = 54,
    CORE_COUNT_PER_DRAM = 55,
    DROPPED_ZONES = 56,
    PROFILER_DONE = 57,
    TRACE_REPLAY_STATUS = 58,
    PROFILER_DISPATCH_CORE = 59,
    DRAM_PROFILER_ADDRESS_BR_ER_0 = 60,
    DRAM_PROFILER_ADDRESS_NC_0 = 61,
    DRAM_PROFILER_ADDRESS_T0_0 = 62,
    DRAM_PROFILER_ADDRESS_T1_0 = 63,
};

/// Packet types of the format.
enum PacketTypes : uint32_t {
    ZONE_START = 0,
    ZONE_END = 1,
    ZONE_TOTAL = 2,
    TS_DATA = 3,
    TS_EVENT = 4,
    TS_DATA_16B = 5,
};

/// Number of 64-bit values in a packet of this type; 0 if the number is not fixed.
template <PacketTypes>
struct TimestampedDataSize {
    static constexpr uint32_t size = 0;
};
template <>
struct TimestampedDataSize<TS_DATA> {
    static constexpr uint32_t size = 1;
};
template <>
struct TimestampedDataSize<TS_DATA_16B> {
    static constexpr uint32_t size = 2;
};

}  // namespace kernel_profiler
