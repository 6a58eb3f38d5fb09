/// \file
/// NoC events and locks of memory, under the names of tt-metal's `event_metadata.hpp` and
/// `noc_debugging_metadata.hpp`, for builds outside of tt-metal.
///
/// Written by `wire/tests/cpp_constants.rs`; `BLESS=1` rewrites it.

#pragma once

#include <stdint.h>

namespace kernel_profiler {

/// Type of a NoC event.
enum class NocEventType : uint8_t {
    UNDEF = 0,
    READ = 1,
    READ_SET_STATE = 2,
    READ_SET_TRID = 3,
    READ_WITH_STATE = 4,
    READ_WITH_STATE_AND_TRID = 5,
    READ_BARRIER_START = 6,
    READ_BARRIER_END = 7,
    READ_BARRIER_WITH_TRID = 8,
    READ_DRAM_SHARDED_SET_STATE = 9,
    READ_DRAM_SHARDED_WITH_STATE = 10,
    WRITE_ = 11,
    WRITE_SET_TRID = 12,
    WRITE_WITH_TRID = 13,
    WRITE_INLINE = 14,
    WRITE_MULTICAST = 15,
    WRITE_SET_STATE = 16,
    WRITE_WITH_STATE = 17,
    WRITE_WITH_TRID_SET_STATE = 18,
    WRITE_WITH_TRID_WITH_STATE = 19,
    WRITE_BARRIER_START = 20,
    WRITE_BARRIER_END = 21,
    WRITE_BARRIER_WITH_TRID = 22,
    WRITE_FLUSH = 23,
    WRITE_FLUSH_WITH_TRID = 24,
    FULL_BARRIER = 25,
    ATOMIC_BARRIER = 26,
    SEMAPHORE_INC = 27,
    SEMAPHORE_WAIT = 28,
    SEMAPHORE_SET = 29,
    SEMAPHORE_SET_REMOTE = 30,
    SEMAPHORE_SET_MULTICAST = 31,
    SEMAPHORE_INC_MULTICAST = 32,
    FABRIC_UNICAST_WRITE = 33,
    FABRIC_UNICAST_INLINE_WRITE = 34,
    FABRIC_UNICAST_ATOMIC_INC = 35,
    FABRIC_FUSED_UNICAST_ATOMIC_INC = 36,
    FABRIC_MULTICAST_WRITE = 37,
    FABRIC_MULTICAST_ATOMIC_INC = 38,
    FABRIC_UNICAST_SCATTER_WRITE = 39,
    FABRIC_ROUTING_FIELDS_1D = 40,
    FABRIC_ROUTING_METADATA_UNAVAILABLE_2D = 41,
};

/// Form of a fabric packet's route.
enum class FabricPacketType : uint8_t {
    REGULAR = 0,
    LOW_LATENCY = 1,
    LOW_LATENCY_MESH = 2,
    DYNAMIC_MESH = 3,
};

/// Type of a lock's event.
enum class NocDebugEventType : uint8_t {
    CB_LOCK = 0,
    CB_UNLOCK = 1,
    MEM_LOCK = 2,
    MEM_UNLOCK = 3,
    DFB_LOCK = 4,
    DFB_UNLOCK = 5,
    DFB_REGION_START = 6,
    DFB_REGION_CLEAR = 7,
};

namespace detail {

/// Sets of NoC event types, one bit per type: recorded on request only, of several tiles, and
/// with a counter of writes or of reads.
constexpr uint64_t NOC_DEBUG_ONLY_EVENTS = 0x13FF041C0;
constexpr uint64_t NOC_MULTICAST_EVENTS = 0x180008000;
constexpr uint64_t NOC_WRITE_EVENTS = 0xC00AA800;
constexpr uint64_t NOC_READ_EVENTS = 0x32;

/// Counters of a NoC, as indices of their registers.
constexpr uint32_t NOC_READ_RESPONSES = 2;
constexpr uint32_t NOC_WRITES_SENT = 10;
constexpr uint32_t NOC_POSTED_WRITES_SENT = 11;

/// Coordinates in a NoC address: first bit of x, and width of each coordinate in bits.
constexpr uint32_t NOC_ADDRESS_BITS = 36;
constexpr uint32_t NOC_COORDINATE_BITS = 6;

/// First bits of the fields in an event, and the mask of its channel.
constexpr uint32_t NOC_X_SHIFT = 8;
constexpr uint32_t NOC_Y_SHIFT = 16;
constexpr uint32_t NOC_LAST_X_SHIFT = 24;
constexpr uint32_t NOC_LAST_Y_SHIFT = 32;
constexpr uint32_t NOC_NETWORK_SHIFT = 40;
constexpr uint32_t NOC_CHANNEL_SHIFT = 44;
constexpr uint32_t NOC_CHUNKS_SHIFT = 48;
constexpr uint32_t NOC_POSTED_SHIFT = 60;
constexpr uint32_t NOC_CHANNEL_MASK = 0xF;

/// Unit in which an event states its payload, in bytes, and maximum number of units.
constexpr uint32_t NOC_CHUNK_BYTES = 32;
constexpr uint32_t NOC_CHUNKS_MAX = 4095;

/// First bits and masks of fields in an event's second value. The two lowest bits of an
/// address are in a field of their own above the others.
constexpr uint32_t NOC_TRAILER_LOCAL_SHIFT = 26;
constexpr uint32_t NOC_TRAILER_COUNTER_SHIFT = 52;
constexpr uint32_t NOC_TRAILER_LOW_BITS_SHIFT = 22;
constexpr uint32_t NOC_TRAILER_ADDRESS_MASK = 0x3FFFFF;
constexpr uint32_t NOC_TRAILER_COUNTER_MASK = 0xFFF;

/// First bits of fields in fabric packets, parts of a scatter and routes along a line.
constexpr uint32_t FABRIC_ROUTE_SHIFT = 44;
constexpr uint32_t SCATTER_BYTES_SHIFT = 32;
constexpr uint32_t SCATTER_PARTS_SHIFT = 48;
constexpr uint32_t SCATTER_NETWORK_SHIFT = 56;
constexpr uint32_t SCATTER_ROUTE_SHIFT = 60;
constexpr uint32_t FABRIC_LINE_SHIFT = 8;

/// First bits of the fields in a lock's event, and the greatest value of a field.
constexpr uint32_t LOCK_ADDRESS_SHIFT = 8;
constexpr uint32_t LOCK_BYTES_SHIFT = 32;
constexpr uint32_t LOCK_FIELD_MAX = 0xFFFFFF;

}  // namespace detail

}  // namespace kernel_profiler
