/// \file
///
/// Common parts of classic and streamed lanes: a RISC's variables, ids of texts, the clock, and
/// counters of records without room.

#pragma once

#include "control_words.hpp"

namespace kernel_profiler {

#if KERNEL_PROFILER_IN_TT_METAL && !defined(KERNEL_BUILD)
// TT-Metal's firmware defines these variables.
extern uint32_t wIndex;
extern uint32_t stackSize;
namespace detail {
constexpr uint32_t& next_place = wIndex;
constexpr uint32_t& room_left = stackSize;
}  // namespace detail
#else
// Elsewhere, `wIndex` and `stackSize` have TT-Metal's meaning: see inner_names.hpp.
namespace detail {
extern uint32_t next_place __asm__("_ZN15kernel_profiler6wIndexE");
extern uint32_t room_left __asm__("_ZN15kernel_profiler9stackSizeE");
}  // namespace detail
#endif
extern uint32_t sums[SUM_COUNT];
extern uint32_t sumIDs[SUM_COUNT];
extern uint32_t traceCount;

#if ((PROFILE_KERNEL) & PROFILER_OPT_DO_SUM) != 0
constexpr bool DO_SUM = true;
#else
constexpr bool DO_SUM = false;
#endif

// Names with which TT-Metal's other headers query the mode; this header supports only the first
// mode.
constexpr bool TRACE_ON_TENSIX = false;
constexpr bool DO_ACCUMULATE = KERNEL_PROFILER_IS_ACCUMULATING != 0;

/// True if NoC events have addresses, under the name that TT-Metal's `noc_event_profiler.hpp` uses.
/// Events have addresses in the debug dump, and if PROFILE_NOC_EVENTS is 3.
#if defined(PROFILE_NOC_EVENTS)
constexpr bool NON_DROPPING = KERNEL_PROFILER_IS_NON_DROPPING != 0 || (PROFILE_NOC_EVENTS + 0) > 2;
#else
constexpr bool NON_DROPPING = KERNEL_PROFILER_IS_NON_DROPPING != 0;
#endif

/// Word indices from the clock's base, under TT-Metal's names.
constexpr int WALL_CLOCK_LOW_INDEX = 0;
constexpr int WALL_CLOCK_HIGH_INDEX = 1;

/// Free room that a record must leave: records of dispatch kernels leave headroom.
enum class DoingDispatch {
    /// Must leave the headroom free.
    DISPATCH,
    /// Metadata: may use most of the headroom.
    DISPATCH_META,
    /// May use all room.
    NOT_DISPATCH,
};

/// Returns the format's hash of a text: FNV-1a.
constexpr uint32_t Hash32_CT(const char* text, size_t length, uint32_t basis = UINT32_C(2166136261)) {
    for (size_t index = 0; index < length; ++index) {
        basis = (basis ^ static_cast<unsigned char>(text[index])) * UINT32_C(16777619);
    }
    return basis;
}

/// Returns the id of a text: the two halves of its hash, combined.
template <size_t SIZE>
constexpr uint32_t Hash16_CT(const char (&text)[SIZE]) {
    const uint32_t hash = Hash32_CT(text, SIZE - 1);
    return (hash ^ hash >> 16) & 0xFFFF;
}

void quick_push();

#if defined(DISPATCH_KERNEL)
/// Marks a function that is rarely called. In a dispatch kernel the function is not inlined: most
/// call sites are in one large function, in which inlined steps would be out of range of the sites'
/// branches.
#define KERNEL_PROFILER_RARE inline __attribute__((noinline, cold))
#else
/// Marks a function that is rarely called.
#define KERNEL_PROFILER_RARE KERNEL_PROFILER_ALWAYS_INLINE
#endif

namespace detail {

constexpr uint32_t MARKER_BYTES = 4 * PROFILER_L1_MARKER_UINT32_SIZE;
/// The largest record.
constexpr int32_t RECORD_BYTES_MAX = static_cast<int32_t>(MARKER_BYTES + 8 * TimestampedDataSize<TS_DATA_16B>::size);

/// A reading of the tile's wall clock.
struct Clock {
    uint32_t low;
    uint32_t high;

    /// Reads the low word and, directly after it, the current high word. If the low word wraps in
    /// between, the reading is 2^32 cycles too late, which the host corrects.
    KERNEL_PROFILER_ALWAYS_INLINE static Clock now(uint32_t registers) {
        const uint32_t low = read_word(registers + WALL_CLOCK_LOW);
        const uint32_t high = read_word(registers + WALL_CLOCK_HIGH);
        return {low, high};
    }
};

// Accesses to the state are in program order. Accesses that the clock's loads would delay come
// before these loads; accesses that can run during the loads' latency come after them. The accesses
// are not volatile, so a loop may keep the state in registers.

/// Prevents the compiler from moving instructions across this point. Unlike a volatile access or a
/// memory clobber, it has no effect on memory, so that a loop can still keep variables in
/// registers.
KERNEL_PROFILER_ALWAYS_INLINE void keep_order() { __asm__ volatile("" : :); }

/// Forces a value into a register at this point.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t loaded(uint32_t value) {
    __asm__ volatile("" : : "r"(value));
    return value;
}

KERNEL_PROFILER_ALWAYS_INLINE uint32_t load_cursor() { return loaded(detail::next_place); }
KERNEL_PROFILER_ALWAYS_INLINE void store_cursor(uint32_t place) {
    detail::next_place = place;
    keep_order();
}

/// Adds `amount` to the word at `place`.
KERNEL_PROFILER_ALWAYS_INLINE void add_to_word(uint32_t place, uint32_t amount) {
    write_word(place, read_word(place) + amount);
}

/// Counts a record without room.
template <uint32_t KIND>
KERNEL_PROFILER_RARE void lose() {
    const uint32_t counter = own_place() + 4 * KIND;
    write_ring(counter, read_word(counter) + 1);
}

}  // namespace detail
}  // namespace kernel_profiler
