/// \file
///
/// NoC events, under the names of TT-Metal's `noc_event_profiler.hpp`.
///
/// header.hpp includes this file outside of tt-metal, which has its own file. An event is
/// timestamped data of 64 bits under the id 12345, which the format reserves for events. If a
/// record does not fit, the RISC pushes first, so that NoC traces are complete.
///
/// The macros record on BRISC and NCRISC (COMPILE_FOR_BRISC or COMPILE_FOR_NCRISC defined) with
/// PROFILE_NOC_EVENTS defined; elsewhere they expand to nothing. If the value of PROFILE_NOC_EVENTS
/// is 2 or more, waits and operations on single words are recorded, too. If it is 3, and in the
/// debug dump, each NoC event within the chip has 64 further bits, with addresses within the tiles
/// and a counter of the NoC. Memory locks are then recorded under the id 23456.
///
/// A kernel describes its fabric packets with RECORD_FABRIC_EVENT and the macros that follow it,
/// which TT-Metal does not have. RECORD_FABRIC_HEADER counts a packet as lost data, as this file
/// cannot parse the packet's header. tt-metal's own file can.
///
/// The file also defines TT-Metal names that record nothing here, because kernels may contain them.
/// If an option requests their records, header.hpp stops the build.
///
/// # Compatibility
/// `event_metadata.hpp` of tt-metal 0.81: the numbers and the layout, with 12 bits for a payload.
/// Older versions of TT-Metal's reader give other meanings to the numbers from 30 on, read payloads
/// of 8,192 bytes and more as posted events, and read posted events as non-posted.

#pragma once

#if KERNEL_PROFILER_IS_ON && defined(PROFILE_NOC_EVENTS) && \
    (defined(COMPILE_FOR_BRISC) || defined(COMPILE_FOR_NCRISC))

#include "noc_constants.hpp"

namespace kernel_profiler {
namespace detail {

/// Coordinates of a tile on a NoC.
struct NocPlace {
    int8_t x;
    int8_t y;
};

/// Target of an event: a tile, or all tiles of a rectangle.
struct NocTarget {
    NocPlace first;
    NocPlace last;
};

/// No target.
constexpr NocTarget NO_TARGET{{-1, -1}, {0, 0}};
constexpr int8_t NO_VC = -1;

/// Returns true if a type is in a set of types.
constexpr bool is_one_of(uint64_t types, NocEventType type) { return (types >> static_cast<uint32_t>(type) & 1) != 0; }

/// Returns the coordinates in a NoC address: x at `first_bit`, y above it.
constexpr NocPlace place_in(uint64_t address, unsigned first_bit = NOC_ADDRESS_BITS) {
    constexpr uint32_t MASK = (1u << NOC_COORDINATE_BITS) - 1;
    return {
        static_cast<int8_t>(address >> first_bit & MASK),
        static_cast<int8_t>(address >> (first_bit + NOC_COORDINATE_BITS) & MASK)};
}

/// Returns the target of an address. In a multicast address, the last corner is in the lower bits
/// and the first corner above it.
constexpr NocTarget target_of(NocEventType type, uint64_t address) {
    const NocPlace low = place_in(address);
    return is_one_of(NOC_MULTICAST_EVENTS, type)
               ? NocTarget{place_in(address, NOC_ADDRESS_BITS + 2 * NOC_COORDINATE_BITS), low}
               : NocTarget{low, {0, 0}};
}

/// True if all NoC events are recorded. PROFILE_NOC_EVENTS may be defined without a value.
constexpr bool IS_EACH_NOC_EVENT_RECORDED = KERNEL_PROFILER_IS_NON_DROPPING != 0 || (PROFILE_NOC_EVENTS + 0) > 1;

/// Returns true if a type is recorded. Waits and single-word operations require a request.
constexpr bool is_recorded(NocEventType type) {
    return IS_EACH_NOC_EVENT_RECORDED || !is_one_of(NOC_DEBUG_ONLY_EVENTS, type);
}

/// Returns a number of bytes in units of the format, rounded up and limited to the format's
/// maximum.
constexpr uint32_t noc_chunks(uint32_t bytes) {
    return bytes > NOC_CHUNKS_MAX * NOC_CHUNK_BYTES ? NOC_CHUNKS_MAX
                                                    : (bytes + NOC_CHUNK_BYTES - 1) / NOC_CHUNK_BYTES;
}

constexpr uint32_t byte_of(int32_t value) { return static_cast<uint8_t>(value); }

/// Returns the NoC's number in the format. Waits use -1 for no NoC.
constexpr uint32_t noc_number(uint8_t noc) { return noc == 1 ? 2 : 1; }

/// Shifts a value into a field of the upper half.
constexpr uint32_t in_upper_half(uint32_t value, uint32_t shift) { return value << (shift - 32); }

constexpr uint64_t noc_words(uint32_t high, NocEventType type, NocTarget target) {
    const uint32_t low = static_cast<uint32_t>(type) | byte_of(target.first.x) << NOC_X_SHIFT |
                         byte_of(target.first.y) << NOC_Y_SHIFT | byte_of(target.last.x) << NOC_LAST_X_SHIFT;
    return static_cast<uint64_t>(high) << 32 | low;
}

/// Returns the 64 bits of an event in the format.
constexpr uint64_t noc_event(NocEventType type, NocTarget target, uint32_t bytes, int8_t vc, bool posted, uint8_t noc) {
    const uint32_t high = in_upper_half(byte_of(target.last.y), NOC_LAST_Y_SHIFT) |
                          in_upper_half(noc_number(noc), NOC_NETWORK_SHIFT) |
                          in_upper_half(byte_of(vc) & NOC_CHANNEL_MASK, NOC_CHANNEL_SHIFT) |
                          in_upper_half(noc_chunks(bytes), NOC_CHUNKS_SHIFT) |
                          in_upper_half(posted ? 1 : 0, NOC_POSTED_SHIFT);
    return noc_words(high, type, target);
}

/// Returns the 64 bits of a fabric packet.
constexpr uint64_t fabric_event(NocEventType type, FabricPacketType packet, NocTarget target, uint8_t noc) {
    const uint32_t high = in_upper_half(byte_of(target.last.y), NOC_LAST_Y_SHIFT) |
                          in_upper_half(noc_number(noc), NOC_NETWORK_SHIFT) |
                          in_upper_half(static_cast<uint32_t>(packet), FABRIC_ROUTE_SHIFT);
    return noc_words(high, type, target);
}

/// Returns the 64 bits of one target of a fabric packet that writes to several addresses.
constexpr uint64_t fabric_scatter_event(
    FabricPacketType packet, NocPlace target, uint16_t bytes, uint8_t parts, uint8_t noc) {
    const uint32_t high = in_upper_half(bytes, SCATTER_BYTES_SHIFT) | in_upper_half(parts, SCATTER_PARTS_SHIFT) |
                          in_upper_half(noc_number(noc), SCATTER_NETWORK_SHIFT) |
                          in_upper_half(static_cast<uint32_t>(packet), SCATTER_ROUTE_SHIFT);
    return noc_words(high, NocEventType::FABRIC_UNICAST_SCATTER_WRITE, {target, {0, 0}});
}

/// Records data under an id; pushes first if there is no room.
template <uint32_t ID>
inline void record_or_push(uint64_t data) {
    constexpr uint32_t WORDS = 4;
    flush_to_dram_if_full<DoingDispatch::DISPATCH>(WORDS - 1);
    timeStampedData<ID, DoingDispatch::DISPATCH>(data);
}

/// Records an event.
inline void record_noc_event(uint64_t event) { record_or_push<NOC_TRACING_STATIC_ID>(event); }

constexpr uint32_t NOC_STATUS_PLACE = 0x200;
constexpr uint32_t NO_COUNTER = ~0u;

/// Returns the NoC counter that is recorded with a type of event.
constexpr uint32_t counter_of(NocEventType type, bool posted) {
    return is_one_of(NOC_WRITE_EVENTS, type)  ? (posted ? NOC_POSTED_WRITES_SENT : NOC_WRITES_SENT)
           : is_one_of(NOC_READ_EVENTS, type) ? NOC_READ_RESPONSES
                                              : NO_COUNTER;
}

/// Returns 24 bits of an address in the order of the format: the lowest two bits have their own
/// field at the top.
constexpr uint32_t trailer_address(uint32_t address) {
    return (address >> 2 & NOC_TRAILER_ADDRESS_MASK) | (address & 3) << NOC_TRAILER_LOW_BITS_SHIFT;
}

/// Returns the second 64 bits of an event: remote and local address, and 12 bits of a counter.
constexpr uint64_t noc_trailer(uint32_t remote, uint32_t local, uint32_t counter) {
    return static_cast<uint64_t>(trailer_address(remote)) |
           static_cast<uint64_t>(trailer_address(local)) << NOC_TRAILER_LOCAL_SHIFT |
           static_cast<uint64_t>(counter & NOC_TRAILER_COUNTER_MASK) << NOC_TRAILER_COUNTER_SHIFT;
}

/// Records an event with addresses and the counter of its type; pushes first if there is no room.
inline void record_noc_event_with_addresses(uint64_t event, uint32_t remote, uint32_t local, uint32_t counter) {
    constexpr uint32_t WORDS = 6;
    flush_to_dram_if_full<DoingDispatch::DISPATCH>(WORDS - 1);
    // The counter is read after a possible push, since a push is a write, too.
    const uint32_t count = counter == NO_COUNTER ? 0 : read_word(noc_place() + NOC_STATUS_PLACE + 4 * counter);
    timeStampedData<NOC_TRACING_STATIC_ID, DoingDispatch::DISPATCH, TS_DATA_16B>(
        event, noc_trailer(remote, local, count));
}

/// Records a NoC event within the chip, with or without addresses as the options select.
template <NocEventType TYPE>
KERNEL_PROFILER_ALWAYS_INLINE void record_local_event(uint64_t event, uint32_t remote, uint32_t local, bool posted) {
    if constexpr (NON_DROPPING) {
        record_noc_event_with_addresses(event, remote, local, counter_of(TYPE, posted));
    } else {
        record_noc_event(event);
    }
}

template <NocEventType TYPE>
KERNEL_PROFILER_ALWAYS_INLINE void record_noc_event_without_address(bool posted, uint8_t noc) {
    if constexpr (is_recorded(TYPE)) {
        record_local_event<TYPE>(noc_event(TYPE, NO_TARGET, 0, NO_VC, posted, noc), 0, 0, posted);
    }
}

template <NocEventType TYPE>
KERNEL_PROFILER_ALWAYS_INLINE void record_noc_event_at(
    uint32_t local, uint64_t address, uint32_t bytes, int8_t vc, bool posted, uint8_t noc) {
    if constexpr (is_recorded(TYPE)) {
        record_local_event<TYPE>(
            noc_event(TYPE, target_of(TYPE, address), bytes, vc, posted, noc),
            static_cast<uint32_t>(address),
            local,
            posted);
    }
}

constexpr uint64_t lock_field(uint32_t value) { return value > LOCK_FIELD_MAX ? LOCK_FIELD_MAX : value; }

/// Returns the 64 bits of a lock event.
constexpr uint64_t lock_event(NocDebugEventType type, uint32_t address, uint32_t bytes) {
    return static_cast<uint64_t>(type) | lock_field(address) << LOCK_ADDRESS_SHIFT |
           lock_field(bytes) << LOCK_BYTES_SHIFT;
}

}  // namespace detail
}  // namespace kernel_profiler

/// TT-Metal's struct for the types of locks.
struct NocDebuggingEventMetadata {
    using NocDebugEventType = ::kernel_profiler::NocDebugEventType;
};

#define KERNEL_PROFILER_NOC_EVENT(...)                                                          \
    do {                                                                                        \
        using NocEventType [[maybe_unused]] = ::kernel_profiler::NocEventType;                  \
        using FabricPacketType [[maybe_unused]] = ::kernel_profiler::FabricPacketType;          \
        __VA_ARGS__;                                                                            \
    } while (0)

/// Records an event without a target: a barrier or a wait.
#define RECORD_NOC_EVENT(type, posted, noc) \
    KERNEL_PROFILER_NOC_EVENT(::kernel_profiler::detail::record_noc_event_without_address<type>(posted, noc))

/// Records a transfer to or from a NoC address, or a change of a semaphore there. For a multicast,
/// the address contains a rectangle of tiles. `local_addr` and the address within the remote tiles
/// are recorded if PROFILE_NOC_EVENTS is 3.
#define RECORD_NOC_EVENT_WITH_ADDR(type, local_addr, noc_addr, bytes, vc, posted, noc) \
    KERNEL_PROFILER_NOC_EVENT(                                                         \
        ::kernel_profiler::detail::record_noc_event_at<type>(local_addr, noc_addr, bytes, vc, posted, noc))

/// Records a transfer like RECORD_NOC_EVENT_WITH_ADDR, at page `noc_id` of an address generator.
#define RECORD_NOC_EVENT_WITH_ID(type, local_addr, noc_id, addrgen, offset, bytes, vc, posted, noc) \
    RECORD_NOC_EVENT_WITH_ADDR(                                                                     \
        type, local_addr, (addrgen).get_noc_addr(noc_id, offset, noc), bytes, vc, posted, noc)

/// Pushes before a linked transaction begins, since no push is possible during such a transaction.
#define NOC_TRACE_QUICK_PUSH_IF_LINKED(cmd_buf, linked) \
    ::kernel_profiler::quick_push_if_linked(cmd_buf, linked)

/// Counts a fabric packet as lost data, since its header cannot be parsed here.
#define RECORD_FABRIC_HEADER(packet_header)      \
    (static_cast<void>(sizeof(packet_header)), \
     ::kernel_profiler::detail::lose<::kernel_profiler::detail::LOST_DATA>())

/// Records a fabric packet to the tile of a NoC address. Its route follows as a separate event.
#define RECORD_FABRIC_EVENT(type, packet, noc_addr, noc)                                                   \
    KERNEL_PROFILER_NOC_EVENT(::kernel_profiler::detail::record_noc_event(                                 \
        ::kernel_profiler::detail::fabric_event(                                                           \
            type, packet, {::kernel_profiler::detail::place_in(noc_addr), {-1, -1}}, noc)))

/// Records a fabric packet to a rectangle of tiles, given by its first and last column and row.
#define RECORD_FABRIC_MULTICAST_EVENT(type, packet, x, y, last_x, last_y, noc)                             \
    KERNEL_PROFILER_NOC_EVENT(::kernel_profiler::detail::record_noc_event(                                 \
        ::kernel_profiler::detail::fabric_event(                                                           \
            type,                                                                                          \
            packet,                                                                                        \
            {{static_cast<int8_t>(x), static_cast<int8_t>(y)},                                             \
             {static_cast<int8_t>(last_x), static_cast<int8_t>(last_y)}},                                  \
            noc)))

/// Records one target of a packet that writes to several addresses: the target's bytes, 0 for the
/// last target, and the number of targets.
#define RECORD_FABRIC_SCATTER_EVENT(packet, noc_addr, bytes, parts, noc)                                   \
    KERNEL_PROFILER_NOC_EVENT(::kernel_profiler::detail::record_noc_event(                                 \
        ::kernel_profiler::detail::fabric_scatter_event(                                                   \
            packet, ::kernel_profiler::detail::place_in(noc_addr), bytes, parts, noc)))

/// Records the previous packet's route along a line.
#define RECORD_FABRIC_ROUTE_1D(value)                                      \
    ::kernel_profiler::detail::record_noc_event(                           \
        static_cast<uint64_t>(static_cast<uint32_t>(value))                \
            << ::kernel_profiler::detail::FABRIC_LINE_SHIFT |              \
        static_cast<uint64_t>(::kernel_profiler::NocEventType::FABRIC_ROUTING_FIELDS_1D))

/// Records that the previous packet's route on a mesh is unknown.
#define RECORD_FABRIC_ROUTE_UNAVAILABLE_2D()     \
    ::kernel_profiler::detail::record_noc_event( \
        static_cast<uint64_t>(::kernel_profiler::NocEventType::FABRIC_ROUTING_METADATA_UNAVAILABLE_2D))

/// Records that this kernel begins or stops using memory of its tile, given by type, address and
/// bytes.
#if (KERNEL_PROFILER_IS_NON_DROPPING || (PROFILE_NOC_EVENTS + 0) > 2) && !defined(DISPATCH_KERNEL)
#define RECORD_SCOPED_LOCK_EVENT(type, address, bytes)                                             \
    ::kernel_profiler::detail::record_or_push<::kernel_profiler::NOC_DEBUGGING_STATIC_ID>(         \
        ::kernel_profiler::detail::lock_event(type, address, bytes))
#else
#define RECORD_SCOPED_LOCK_EVENT(type, address, bytes) \
    (static_cast<void>(type), static_cast<void>(sizeof(address)), static_cast<void>(sizeof(bytes)))
#endif

/// Records that the dataflow buffers of this RISC no longer own any memory.
#define RECORD_DFB_REGION_CLEAR() \
    RECORD_SCOPED_LOCK_EVENT(::kernel_profiler::NocDebugEventType::DFB_REGION_CLEAR, 0, 0)

#else

// The arguments are not even type-checked, as the enumeration and the address generator may not
// exist.
#define RECORD_NOC_EVENT(...) static_cast<void>(0)
#define RECORD_NOC_EVENT_WITH_ADDR(...) static_cast<void>(0)
#define RECORD_NOC_EVENT_WITH_ID(...) static_cast<void>(0)
#define NOC_TRACE_QUICK_PUSH_IF_LINKED(cmd_buf, linked) static_cast<void>(0)
#define RECORD_FABRIC_HEADER(packet_header) static_cast<void>(0)
#define RECORD_FABRIC_EVENT(...) static_cast<void>(0)
#define RECORD_FABRIC_MULTICAST_EVENT(...) static_cast<void>(0)
#define RECORD_FABRIC_SCATTER_EVENT(...) static_cast<void>(0)
#define RECORD_FABRIC_ROUTE_1D(value) static_cast<void>(0)
#define RECORD_FABRIC_ROUTE_UNAVAILABLE_2D() static_cast<void>(0)
#define RECORD_SCOPED_LOCK_EVENT(...) static_cast<void>(0)
#define RECORD_DFB_REGION_CLEAR() static_cast<void>(0)

#endif
