/// \file
///
/// Names of TT-Metal's header with which kernels write markers of their own, for example zones that
/// a value at run time switches on. They have TT-Metal's meaning, and keep this header's state.
///
///     if (is_on && kernel_profiler::bufferHasRoom()) {
///         kernel_profiler::stackSize += kernel_profiler::PROFILER_L1_MARKER_UINT32_SIZE;
///         kernel_profiler::mark_time_at_index_inlined(kernel_profiler::wIndex, id);
///         kernel_profiler::wIndex += kernel_profiler::PROFILER_L1_MARKER_UINT32_SIZE;
///     }
///
/// With KERNEL_PROFILER_STREAM there is no such vector: the functions then refuse to compile, with
/// a sentence that says what to use.

#pragma once

#include "state.hpp"

namespace kernel_profiler {

/// Returns the id of a marker of a type.
constexpr uint32_t get_id(uint32_t id, PacketTypes type) {
    return (id & PROFILER_TIMER_STATIC_ID_MASK) | static_cast<uint32_t>(type) << PROFILER_TIMER_PACKET_TYPE_SHIFT;
}

constexpr uint32_t NOC_ALIGNMENT_FACTOR = 4;
constexpr uint32_t QUICK_PUSH_MARKER_COUNT = 2;
constexpr uint32_t DISPATCH_META_DATA_COUNT = 2;
constexpr uint32_t DISPATCH_META_DATA_UINT32_SIZE = 4;
constexpr uint32_t DISPATCH_PARENT_ZONE_MARKER_COUNT = 2;
constexpr uint32_t DISPATCH_HEADROOM_SIZE = 16;

#if KERNEL_PROFILER_IS_STREAMING

namespace detail {
template <typename>
constexpr bool IS_NEVER = false;
}  // namespace detail

#define KERNEL_PROFILER_NOT_STREAMED \
    "with KERNEL_PROFILER_STREAM, records are not in a vector with an index: expected DeviceZoneScopedN, DeviceZoneScopedNIf or DeviceTimestampedData"

#if !KERNEL_PROFILER_IN_TT_METAL || defined(KERNEL_BUILD)

namespace detail {

struct NotStreamed {
    template <typename NUMBER>
    operator NUMBER() const {
        static_assert(IS_NEVER<NUMBER>, KERNEL_PROFILER_NOT_STREAMED);
        return {};
    }

    template <typename NUMBER>
    const NotStreamed& operator+=(NUMBER) const {
        static_assert(IS_NEVER<NUMBER>, KERNEL_PROFILER_NOT_STREAMED);
        return *this;
    }

    template <typename NUMBER>
    const NotStreamed& operator-=(NUMBER) const {
        static_assert(IS_NEVER<NUMBER>, KERNEL_PROFILER_NOT_STREAMED);
        return *this;
    }
};

}  // namespace detail

constexpr detail::NotStreamed wIndex{};
constexpr detail::NotStreamed stackSize{};

#endif

template <typename INDEX>
void mark_time_at_index_inlined(INDEX, uint32_t) {
    static_assert(detail::IS_NEVER<INDEX>, KERNEL_PROFILER_NOT_STREAMED);
}

template <typename INDEX>
void mark_time_at_index_with_stamp(INDEX, uint32_t, uint32_t, uint32_t) {
    static_assert(detail::IS_NEVER<INDEX>, KERNEL_PROFILER_NOT_STREAMED);
}

#else

namespace detail {

/// Writes a marker at a word of this RISC's vector.
KERNEL_PROFILER_ALWAYS_INLINE void write_at_index(uint32_t index, uint32_t timer_id, Clock time) {
    const uint32_t place = own_vector() + 4 * index;
    constexpr uint32_t ID_MASK = PROFILER_TIMER_STATIC_ID_MASK | 7u << PROFILER_TIMER_PACKET_TYPE_SHIFT;
    const uint32_t id = (timer_id & ID_MASK) << PROFILER_MARKER_TIMER_ID_SHIFT;
    write_word(place, PROFILER_MARKER_VALID | id | (time.high & PROFILER_MARKER_TS_HIGH_MASK));
    write_word(place + 4, time.low);
}

}  // namespace detail

/// Writes a marker with the current time at a word of this RISC's vector.
KERNEL_PROFILER_ALWAYS_INLINE void mark_time_at_index_inlined(uint32_t index, uint32_t timer_id) {
    detail::write_at_index(index, timer_id, detail::Clock::now(detail::TILE_REGISTERS));
}

/// Writes a marker with a time that was read earlier at a word of this RISC's vector.
KERNEL_PROFILER_ALWAYS_INLINE void mark_time_at_index_with_stamp(
    uint32_t index, uint32_t timer_id, uint32_t time_h, uint32_t time_l) {
    detail::write_at_index(index, timer_id, detail::Clock{time_l, time_h});
}

#if !KERNEL_PROFILER_IN_TT_METAL || defined(KERNEL_BUILD)

namespace detail {

/// Index in this RISC's vector of the next free word.
struct WordIndex {
    KERNEL_PROFILER_ALWAYS_INLINE operator uint32_t() const { return (load_cursor() - own_vector()) / 4; }

    /// Takes words that the caller has written. Words that are reserved stay reserved.
    KERNEL_PROFILER_ALWAYS_INLINE const WordIndex& operator+=(uint32_t words) const {
        store_room(load_room() - static_cast<int32_t>(4 * words));
        store_cursor(load_cursor() + 4 * words);
        return *this;
    }
};

/// Number of words of this RISC's vector that are reserved for the ends of open zones.
struct ReservedWords {
    KERNEL_PROFILER_ALWAYS_INLINE operator uint32_t() const {
        const uint32_t end = own_vector() + 4 * PROFILER_L1_VECTOR_SIZE;
        return (end - load_cursor() - static_cast<uint32_t>(load_room())) / 4;
    }

    KERNEL_PROFILER_ALWAYS_INLINE const ReservedWords& operator+=(uint32_t words) const {
        store_room(load_room() - static_cast<int32_t>(4 * words));
        return *this;
    }

    KERNEL_PROFILER_ALWAYS_INLINE const ReservedWords& operator-=(uint32_t words) const {
        store_room(load_room() + static_cast<int32_t>(4 * words));
        return *this;
    }
};

}  // namespace detail

// Other assignments would move the cursor away from what is recorded, and do not compile.
constexpr detail::WordIndex wIndex{};
constexpr detail::ReservedWords stackSize{};

#endif

#endif

}  // namespace kernel_profiler
