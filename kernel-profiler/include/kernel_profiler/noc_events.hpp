/// \file
/// Events of the NoC, under the names that upstream's `noc_event_profiler.hpp` gives them.
///
/// header.hpp includes this file outside of tt-metal, which has such a file of its own. An event is
/// timestamped data of 64 bits under the id 12345, which the format keeps for it; a record that
/// does not fit is pushed for first, so that a reader of NoC traces misses none.
///
/// The macros record on BRISC and NCRISC (COMPILE_FOR_BRISC or COMPILE_FOR_NCRISC defined) with
/// PROFILE_NOC_EVENTS defined; elsewhere they vanish.
///
/// Packets of the fabric are counted as lost data.
///
/// Includes further names of upstream's that have no producer here: kernels may contain them, and
/// where an option asks for what they would record, the build stops in header.hpp.
///
/// # Compatibility
/// `event_metadata.hpp`: `LocalNocEvent` and the numbers of its newer event types; older versions
/// of upstream's reader take those from 30 on for others.

#pragma once

#if KERNEL_PROFILER_IS_ON && defined(PROFILE_NOC_EVENTS) && \
    (defined(COMPILE_FOR_BRISC) || defined(COMPILE_FOR_NCRISC))

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
};

namespace detail {

/// A tile's place on a NoC.
struct NocPlace {
    int8_t x;
    int8_t y;
};

/// Where an event goes to: a tile, or all tiles of a rectangle.
struct NocTarget {
    NocPlace first;
    NocPlace last;
};

/// No tile in particular.
constexpr NocTarget NO_TARGET{{-1, -1}, {0, 0}};
constexpr int8_t NO_VC = -1;

constexpr bool is_multicast(NocEventType type) {
    return type == NocEventType::WRITE_MULTICAST || type == NocEventType::SEMAPHORE_SET_MULTICAST ||
           type == NocEventType::SEMAPHORE_INC_MULTICAST;
}

/// The place in a NoC address: six bits of x above the 36 of the local address, six of y.
constexpr NocPlace place_in(uint64_t address, unsigned first_bit) {
    return {
        static_cast<int8_t>(address >> first_bit & 0x3F),
        static_cast<int8_t>(address >> (first_bit + 6) & 0x3F)};
}

/// The target of an address; the end of a rectangle stands below its beginning.
constexpr NocTarget target_of(NocEventType type, uint64_t address) {
    const NocPlace low = place_in(address, 36);
    return is_multicast(type) ? NocTarget{place_in(address, 48), low} : NocTarget{low, {0, 0}};
}

/// So many bytes in units of 32, rounded up; the format says 255 of anything longer.
constexpr uint32_t noc_chunks(uint32_t bytes) {
    return bytes > 255 * 32 ? 255 : (bytes + 31) / 32;
}

/// The format's 64 bits.
constexpr uint64_t noc_event(NocEventType type, NocTarget target, uint32_t bytes, int8_t vc, bool posted, uint8_t noc) {
    const auto byte = [](auto value) { return static_cast<uint32_t>(static_cast<uint8_t>(value)); };
    const uint32_t low = byte(type) | byte(target.first.x) << 8 | byte(target.first.y) << 16 | byte(target.last.x) << 24;
    const uint32_t carrier = ((noc + 1u) & 0xF) | byte(static_cast<uint32_t>(vc) << 4);
    const uint32_t high = byte(target.last.y) | carrier << 8 | noc_chunks(bytes) << 16 | (posted ? 1u : 0u) << 24;
    return static_cast<uint64_t>(high) << 32 | low;
}

/// Records an event; pushes first if there is no room.
inline void record_noc_event(uint64_t event) {
    constexpr uint32_t WORDS = 4;
    flush_to_dram_if_full<DoingDispatch::DISPATCH>(WORDS - 1);
    timeStampedData<NOC_TRACING_STATIC_ID, DoingDispatch::DISPATCH>(event);
}

template <NocEventType TYPE>
KERNEL_PROFILER_ALWAYS_INLINE void record_noc_event_without_address(bool posted, uint8_t noc) {
    record_noc_event(noc_event(TYPE, NO_TARGET, 0, NO_VC, posted, noc));
}

template <NocEventType TYPE>
KERNEL_PROFILER_ALWAYS_INLINE void record_noc_event_at(uint64_t address, uint32_t bytes, int8_t vc, bool posted, uint8_t noc) {
    record_noc_event(noc_event(TYPE, target_of(TYPE, address), bytes, vc, posted, noc));
}

}  // namespace detail
}  // namespace kernel_profiler

#define KERNEL_PROFILER_NOC_EVENT(call)                        \
    do {                                                       \
        using NocEventType = ::kernel_profiler::NocEventType;  \
        call;                                                  \
    } while (0)

/// Records an event without a place: a barrier, a wait.
#define RECORD_NOC_EVENT(type, posted, noc) \
    KERNEL_PROFILER_NOC_EVENT(::kernel_profiler::detail::record_noc_event_without_address<type>(posted, noc))

/// Records a transfer or a semaphore's change at a NoC address; of a multicast, which tiles.
/// `local_addr` is of interest to upstream's debug dump only.
#define RECORD_NOC_EVENT_WITH_ADDR(type, local_addr, noc_addr, bytes, vc, posted, noc)       \
    KERNEL_PROFILER_NOC_EVENT(static_cast<void>(sizeof(local_addr));                         \
                              ::kernel_profiler::detail::record_noc_event_at<type>(noc_addr, bytes, vc, posted, noc))

/// As RECORD_NOC_EVENT_WITH_ADDR, at page `noc_id` of an address generator.
#define RECORD_NOC_EVENT_WITH_ID(type, local_addr, noc_id, addrgen, offset, bytes, vc, posted, noc) \
    RECORD_NOC_EVENT_WITH_ADDR(                                                                     \
        type, local_addr, (addrgen).get_noc_addr(noc_id, offset, noc), bytes, vc, posted, noc)

/// Pushes before a transaction that is to be linked begins: while it lasts, none can be.
#define NOC_TRACE_QUICK_PUSH_IF_LINKED(cmd_buf, linked) \
    ::kernel_profiler::quick_push_if_linked(cmd_buf, linked)

/// Counts a packet of the fabric as lost data: its header is not understood here.
#define RECORD_FABRIC_HEADER(packet_header)      \
    (static_cast<void>(sizeof(packet_header)), \
     ::kernel_profiler::detail::lose(::kernel_profiler::detail::LOST_DATA))

#else

// Not even type-checked: the enumeration and the address generator may not be there.
#define RECORD_NOC_EVENT(...) static_cast<void>(0)
#define RECORD_NOC_EVENT_WITH_ADDR(...) static_cast<void>(0)
#define RECORD_NOC_EVENT_WITH_ID(...) static_cast<void>(0)
#define NOC_TRACE_QUICK_PUSH_IF_LINKED(cmd_buf, linked) static_cast<void>(0)
#define RECORD_FABRIC_HEADER(packet_header) static_cast<void>(0)

#endif

#define RECORD_SCOPED_LOCK_EVENT(...) static_cast<void>(0)
#define RECORD_DFB_REGION_CLEAR(...) static_cast<void>(0)
#define StartPerfCounters(...) static_cast<void>(0)
#define StopPerfCounters(...) static_cast<void>(0)
#define RecordPerfCounters(...) static_cast<void>(0)
#define SYNC_WAIT(...) static_cast<void>(0)
#define SYNC_SIGNAL(...) static_cast<void>(0)
#define SYNC_SIGNAL_NOC_ADDR(...) static_cast<void>(0)
