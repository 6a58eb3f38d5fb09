/// \file
///
/// A RISC's own ring of markers: its state, and the hot paths that fill it.
///
/// # State
/// The state is kept in TT-Metal's variables only. The firmware of each RISC defines them in its
/// local RAM, and kernels are linked against them. C++ and Rust share them. The code of a kernel
/// sees the first two in TT-Metal's units, words: see inner_names.hpp.
///
/// | variable | symbol | meaning |
/// |---|---|---|
/// | `wIndex` | `_ZN15kernel_profiler6wIndexE` | address of the next free word of this RISC's vector |
/// | `stackSize` | `_ZN15kernel_profiler9stackSizeE` | signed: bytes left for records, without the room reserved for ends of open zones and totals of sums in use; below 0 if a total has no room |
/// | `sums[2]` | `_ZN15kernel_profiler4sumsE` | cycles of each accumulator, modulo 2^32 |
/// | `sumIDs[2]` | `_ZN15kernel_profiler6sumIDsE` | complete first word of each total, 0 while the accumulator is unused |
/// | `traceCount` | `_ZN15kernel_profiler10traceCountE` | trace replays so far; only on the RISC that pushes for its core |
///
/// All zero is a valid state: no record fits, and every record is counted as lost.
///
/// At the beginning of a launch, `wIndex` = vector + 48 and `stackSize` = 2000. Until its end, the
/// sum `wIndex + stackSize + 8 * open zones + 8 * accumulators in use` always equals the vector's
/// end. The end of the launch appends the totals and sets `sumIDs` and `sums` to 0. The Rust
/// runtime differs: it reserves 16 bytes for totals at the beginning of a launch.
///
/// | record | required `stackSize` | `stackSize` -= | `wIndex` += |
/// |---|---|---|---|
/// | a zone's start | 16 | 16 | 8 |
/// | a zone's end | - (no end is written if the start did not fit) | 0 | 8 |
/// | event | 8 | 8 | 8 |
/// | data of 64 / 128 bits | 16 / 24 | 16 / 24 | 16 / 24 |
/// | an accumulator's first use in a launch | - | 8 | 0 |
/// | a sum's total, at the end of a launch | - (lost if beyond the vector's end) | 0 | 8 |
///
/// In a dispatch kernel, a record also requires 64 (DISPATCH) or 16 (DISPATCH_META) further free
/// bytes, which it leaves unused. A record that does not fit adds 1 to control word 29 + RISC
/// (zones and totals), 34 + RISC (data of both sizes) or 39 + RISC (events).
///
/// A quick push resets `wIndex` to vector + 48 and adds the freed bytes to `stackSize`.
///
/// # ID words
/// When the RISC that pushes resets the lanes, it writes words 0 to 2 of all vectors, including the
/// trace counter and the generation. At a replay it rewrites the bits of the trace counter. The end
/// of a launch leaves these words unchanged. Word 3 of all vectors is written when the program id
/// is set. The beginning of a launch empties the fixed slots of all vectors: on Wormhole, whose L1
/// stores are slow, only the first word of each slot, on Blackhole both words.
///
/// # Variables
/// No variable of a structure type is `const`: gcc would keep it on the stack, member by member.

#pragma once

#include "state.hpp"

namespace kernel_profiler {

namespace detail {

constexpr int32_t ZONE_BYTES = 2 * static_cast<int32_t>(MARKER_BYTES);
/// Bytes from the beginning of a vector to its first optional word.
constexpr uint32_t FIRST_OPTIONAL_BYTES = 4 * CUSTOM_MARKERS;
/// Bytes that every launch reserves for zones of stalls, in a mode in which a RISC may wait for the
/// host: one zone within the launch, and one zone at its end.
constexpr int32_t STALL_BYTES = KERNEL_PROFILER_IS_NON_DROPPING != 0 ? 2 * ZONE_BYTES : 0;
/// Number of words of this RISC's vector that can have records. If KERNEL_PROFILER_SAMPLES is defined,
/// the debug daisychain writes samples into the rest of TRISC 2's vector.
#if defined(KERNEL_PROFILER_SAMPLES) && defined(COMPILE_FOR_TRISC) && COMPILE_FOR_TRISC == 2
constexpr uint32_t RECORD_WORDS = WORDS_BESIDE_SAMPLES;
#else
constexpr uint32_t RECORD_WORDS = PROFILER_L1_VECTOR_SIZE;
#endif
constexpr int32_t OPTIONAL_BYTES = 4 * static_cast<int32_t>(RECORD_WORDS - CUSTOM_MARKERS) - STALL_BYTES;
/// Returns the first word of a marker without its time.
constexpr uint32_t prefix(PacketTypes type, uint32_t id) {
    return PROFILER_MARKER_VALID | static_cast<uint32_t>(type) << PACKET_TYPE_SHIFT |
           (id & PROFILER_TIMER_STATIC_ID_MASK) << PROFILER_MARKER_TIMER_ID_SHIFT;
}

/// Returns the bytes that a record must leave free.
constexpr int32_t headroom(DoingDispatch dispatch) {
    return dispatch == DoingDispatch::DISPATCH        ? 64
           : dispatch == DoingDispatch::DISPATCH_META ? 16
                                                      : 0;
}

/// Two constants that a zone needs in registers.
struct Constants {
    uint32_t registers;
    uint32_t time_mask;

    /// Returns the constants, opaque to the compiler, which then materialises them once per zone or
    /// loop instead of once per marker. In a dispatch kernel, one zone surrounds all work, and the
    /// work needs the registers more, so the constants are not hidden there.
    KERNEL_PROFILER_ALWAYS_INLINE static Constants hidden() {
#if defined(DISPATCH_KERNEL)
        return {TILE_REGISTERS, PROFILER_MARKER_TS_HIGH_MASK};
#else
        uint32_t registers;
        uint32_t time_mask;
        __asm__("" : "=r"(registers) : "0"(TILE_REGISTERS));
        __asm__("" : "=r"(time_mask) : "0"(PROFILER_MARKER_TS_HIGH_MASK));
        return {registers, time_mask};
#endif
    }
};

KERNEL_PROFILER_ALWAYS_INLINE int32_t load_room() { return static_cast<int32_t>(loaded(detail::room_left)); }
KERNEL_PROFILER_ALWAYS_INLINE void store_room(int32_t bytes) {
    detail::room_left = static_cast<uint32_t>(bytes);
    keep_order();
}

/// Writes the two words of a marker, after all stores to the state: the core stalls at the first
/// use of the clock, and earlier stores cost nothing.
KERNEL_PROFILER_ALWAYS_INLINE void write_marker(uint32_t place, uint32_t prefix, Clock now, uint32_t time_mask) {
    loaded(now.high);
    write_ring(place, prefix | (now.high & time_mask));
    write_ring(place + 4, now.low);
}

/// Advances the cursor from an address by `BYTES`, and returns the new address. The two
/// instructions must stay adjacent: after the clock's loads, a Wormhole forwards a result without
/// delay only to the very next instruction; any other instruction waits until the clock has been
/// read. The caller writes relative to the new address, so that a loop needs one register for both.
template <int32_t BYTES>
KERNEL_PROFILER_ALWAYS_INLINE uint32_t move_cursor(uint32_t place) {
    uint32_t next;
    __asm__ volatile("addi %0, %1, %2" : "=r"(next) : "r"(place), "I"(BYTES));
    store_cursor(next);
    return next;
}

/// Subtracts bytes from the room; the result is below 0 if the room was too small. Without
/// headroom, the subtraction is opaque to the compiler, so a loop keeps only the result. In a
/// dispatch kernel, whose records leave headroom, the plain subtraction takes less code.
template <int32_t BYTES, int32_t HEADROOM>
KERNEL_PROFILER_ALWAYS_INLINE int32_t take(int32_t room) {
    if constexpr (HEADROOM != 0) {
        return room - (BYTES + HEADROOM);
    }
    int32_t left;
    __asm__ volatile("addi %0, %1, %2" : "=r"(left) : "r"(room), "I"(-BYTES));
    return left;
}

/// Pushes if `bytes` bytes do not fit, in a mode that must not drop records.
KERNEL_PROFILER_ALWAYS_INLINE void make_room(int32_t bytes) {
    if constexpr (KERNEL_PROFILER_IS_NON_DROPPING != 0) {
        if (__builtin_expect(load_room() < bytes, 0)) {
            quick_push();
        }
    }
}

/// Opens a zone; returns the remaining room, negative if there was not enough.
template <DoingDispatch DISPATCH>
KERNEL_PROFILER_ALWAYS_INLINE int32_t open_zone(uint32_t prefix, Constants constants) {
    make_room(ZONE_BYTES + headroom(DISPATCH));
    const uint32_t place = load_cursor();
    const int32_t room = load_room();
    Clock now = Clock::now(constants.registers);
    constexpr int32_t HEADROOM = headroom(DISPATCH);
    const int32_t left = take<ZONE_BYTES, HEADROOM>(room);
    if (__builtin_expect(left < 0, 0)) {
        lose<LOST_ZONES>();
        return left;
    }
    const uint32_t next = move_cursor<MARKER_BYTES>(place);
    store_room(HEADROOM == 0 ? left : room - ZONE_BYTES);
    write_marker(next - MARKER_BYTES, prefix, now, constants.time_mask);
    return left;
}

/// Closes a zone for which `open_zone` has returned `left`.
KERNEL_PROFILER_ALWAYS_INLINE void close_zone(uint32_t prefix, int32_t left, Constants constants) {
    const uint32_t place = load_cursor();
    Clock now = Clock::now(constants.registers);
    // Otherwise the compiler would duplicate the code inside the zone, to save a branch whose cost
    // the clock's latency hides.
    __asm__("" : "+r"(left));
    if (__builtin_expect(left >= 0, 1)) {
        const uint32_t next = move_cursor<MARKER_BYTES>(place);
        write_marker(next - MARKER_BYTES, prefix, now, constants.time_mask);
    }
}

/// Reserves room for a record of `BYTES` bytes and writes its marker. Sets `place` to the address
/// after the marker. Returns false if there is no room.
template <int32_t BYTES, int32_t HEADROOM>
KERNEL_PROFILER_ALWAYS_INLINE bool append(uint32_t prefix, uint32_t& place) {
    make_room(BYTES + HEADROOM);
    Constants constants = Constants::hidden();
    const int32_t room = load_room();
    const uint32_t begin = load_cursor();
    Clock now = Clock::now(constants.registers);
    const int32_t left = take<BYTES, HEADROOM>(room);
    if (__builtin_expect(left < 0, 0)) {
        // The room is restored so that, at -Os, a loop of events has the old and the new room in
        // one register. A loop of data needs no more registers even without this step, and its call
        // site would grow by two instructions.
        if constexpr (HEADROOM == 0 && BYTES == MARKER_BYTES) {
            store_room(left + BYTES);
        }
        return false;
    }
    store_room(HEADROOM == 0 ? left : room - BYTES);
    const uint32_t end = move_cursor<BYTES>(begin);
    write_marker(end - BYTES, prefix, now, constants.time_mask);
    place = end - BYTES + MARKER_BYTES;
    return true;
}

/// Reads the clock for a sum and sets the name of its accumulator to `total`, the first word of the
/// total. The first use in a launch reserves room for the total. The end of the launch checks
/// whether there was room.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t begin_sum(uint32_t index, uint32_t total) {
    const uint32_t before = sumIDs[index];
    // The value must be in a register before the clock is read, so that the comparison does not
    // wait for the clock.
    __asm__ volatile("" : : "r"(before));
    uint32_t started = read_word(TILE_REGISTERS + WALL_CLOCK_LOW);
    if (__builtin_expect(before != total, 0)) {
        if (before == 0) {
            make_room(MARKER_BYTES);
            store_room(load_room() - static_cast<int32_t>(MARKER_BYTES));
        }
        sumIDs[index] = total;
        started = read_word(TILE_REGISTERS + WALL_CLOCK_LOW);
    }
    return started;
}

/// Writes a complete zone.
KERNEL_PROFILER_ALWAYS_INLINE void write_zone(uint32_t place, uint32_t id, Clock started, Clock ended) {
    write_word(place, prefix(ZONE_START, id) | (started.high & PROFILER_MARKER_TS_HIGH_MASK));
    write_word(place + 4, started.low);
    write_word(place + 8, prefix(ZONE_END, id) | (ended.high & PROFILER_MARKER_TS_HIGH_MASK));
    write_word(place + 12, ended.low);
}

/// Writes 64 bits, high word first, as the format requires; returns the next address.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t write_data(uint32_t place, uint64_t data) {
    write_ring(place, static_cast<uint32_t>(data >> 32));
    write_ring(place + 4, static_cast<uint32_t>(data));
    return place + 8;
}

/// Reserves room for a data record and writes its marker with a time that was read earlier. Sets
/// `place` to the address after the marker. If there is no room, counts the record as lost and
/// returns false.
KERNEL_PROFILER_ALWAYS_INLINE bool append_at(uint32_t prefix, int32_t size, Clock time, uint32_t& place) {
    const int32_t room = load_room();
    if (room < size) {
        lose<LOST_DATA>();
        return false;
    }
    place = load_cursor();
    store_room(room - size);
    store_cursor(place + static_cast<uint32_t>(size));
    write_marker(place, prefix, time, PROFILER_MARKER_TS_HIGH_MASK);
    place += MARKER_BYTES;
    return true;
}

/// Minimum number of words that must be free for another launch if launches share pushes, even
/// after a shorter launch: the fixed slots and 29 zones.
constexpr uint32_t LEAST_FREE_WORDS = 128;
/// Number of low bits in `DEVICE_END` that hold the words of a vector. From a run's publication to
/// the end of its launch, the bits above hold the words of that run.
constexpr uint32_t RUN_WORDS_SHIFT = 16;
constexpr uint32_t END_MASK = (1u << RUN_WORDS_SHIFT) - 1;

/// Returns the number of bytes before a RISC's run in its vector: 0 unless launches share pushes.
/// `core` is the address of control word r, where r is the RISC's index.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t bytes_before_run(uint32_t core) {
    if constexpr (DO_ACCUMULATE) {
        const uint32_t words = read_word(core + 4 * DEVICE_BUFFER_END_INDEX_BR_ER) & END_MASK;
        // This runtime stores no larger number, so something else has overwritten the word.
        return words > PROFILER_L1_VECTOR_SIZE - LEAST_FREE_WORDS ? 0 : 4 * words;
    }
    return 0;
}

/// Returns the address of this RISC's run.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t own_run() { return own_vector() + bytes_before_run(own_place()); }

/// Returns the time at which the kernel of this launch ended.
KERNEL_PROFILER_ALWAYS_INLINE Clock end_of_kernel() {
    const uint32_t end = own_run() + 4 * GUARANTEED_MARKER_4_H;
    return {read_word(end + 4), read_word(end)};
}

/// Writes a marker into one of the fixed slots of this RISC's run.
KERNEL_PROFILER_ALWAYS_INLINE void write_fixed(uint32_t word_index, uint32_t prefix) {
    const uint32_t place = own_run() + 4 * word_index;
    Clock now = Clock::now(TILE_REGISTERS);
    write_word(place, prefix | (now.high & PROFILER_MARKER_TS_HIGH_MASK));
    write_word(place + 4, now.low);
}

}  // namespace detail

constexpr uint32_t get_const_id(uint32_t id, PacketTypes type) {
    return (id & PROFILER_TIMER_STATIC_ID_MASK) | static_cast<uint32_t>(type) << PROFILER_TIMER_PACKET_TYPE_SHIFT;
}

/// Returns true if a record of one word and `additional_words` further words fits, and at least a
/// zone: callers that give no number may open one.
template <DoingDispatch DISPATCH = DoingDispatch::NOT_DISPATCH>
KERNEL_PROFILER_ALWAYS_INLINE bool bufferHasRoom(uint32_t additional_words = 0) {
    constexpr uint32_t ZONE_WORDS = detail::ZONE_BYTES / 4;
    const uint32_t words = additional_words < ZONE_WORDS ? ZONE_WORDS - 1 : additional_words;
    return detail::load_room() - detail::headroom(DISPATCH) > static_cast<int32_t>(4 * words);
}

/// Pushes if a record of one word and `additional_words` further words does not fit. Also pushes if
/// the largest record does not fit, because callers that give no number may record any kind.
template <DoingDispatch DISPATCH = DoingDispatch::NOT_DISPATCH>
KERNEL_PROFILER_ALWAYS_INLINE void flush_to_dram_if_full(uint32_t additional_words = 0) {
    constexpr uint32_t LARGEST = detail::RECORD_BYTES_MAX / 4 - 1;
    if (!bufferHasRoom<DISPATCH>(additional_words > LARGEST ? additional_words : LARGEST)) {
        quick_push();
    }
}

/// A zone that is open as long as the object lives.
template <uint32_t timer_id, DoingDispatch dispatch = DoingDispatch::NOT_DISPATCH>
struct profileScope {
    const detail::Constants constants = detail::Constants::hidden();
    int32_t left;

    KERNEL_PROFILER_ALWAYS_INLINE profileScope()
        : left(detail::open_zone<dispatch>(detail::prefix(ZONE_START, timer_id), constants)) {}

    KERNEL_PROFILER_ALWAYS_INLINE ~profileScope() {
        detail::close_zone(detail::prefix(ZONE_END, timer_id), left, constants);
        if (dispatch == DoingDispatch::DISPATCH &&
            detail::load_room() < detail::headroom(dispatch) + detail::ZONE_BYTES) {
            quick_push();
        }
    }

    profileScope(const profileScope&) = delete;
    profileScope& operator=(const profileScope&) = delete;
};

/// A zone that is recorded only if a condition holds.
template <uint32_t timer_id, DoingDispatch dispatch = DoingDispatch::NOT_DISPATCH>
struct profileScopeIf {
    const detail::Constants constants = detail::Constants::hidden();
    int32_t left;

    KERNEL_PROFILER_ALWAYS_INLINE explicit profileScopeIf(bool is_active)
        : left(is_active ? detail::open_zone<dispatch>(detail::prefix(ZONE_START, timer_id), constants) : -1) {}

    KERNEL_PROFILER_ALWAYS_INLINE ~profileScopeIf() {
        detail::close_zone(detail::prefix(ZONE_END, timer_id), left, constants);
    }

    profileScopeIf(const profileScopeIf&) = delete;
    profileScopeIf& operator=(const profileScopeIf&) = delete;
};

/// A zone whose cycles are added up. The accumulator keeps the name of the last zone that used it.
template <uint32_t timer_id, uint32_t index>
struct profileScopeAccumulate {
    uint32_t started = 0;

    KERNEL_PROFILER_ALWAYS_INLINE profileScopeAccumulate() {
        if constexpr (DO_SUM) {
            started = detail::begin_sum(index, detail::prefix(ZONE_TOTAL, timer_id));
        }
    }

    KERNEL_PROFILER_ALWAYS_INLINE ~profileScopeAccumulate() {
        if constexpr (DO_SUM) {
            const uint32_t ended = detail::read_word(detail::TILE_REGISTERS + detail::WALL_CLOCK_LOW);
            sums[index] += ended - started;
        }
    }

    profileScopeAccumulate(const profileScopeAccumulate&) = delete;
    profileScopeAccumulate& operator=(const profileScopeAccumulate&) = delete;
};

/// Records data under an id with the time: the first 64 bits and any further data.
template <
    uint32_t data_id,
    DoingDispatch dispatch = DoingDispatch::NOT_DISPATCH,
    PacketTypes packet_type = TS_DATA,
    typename... Trailers>
KERNEL_PROFILER_ALWAYS_INLINE void timeStampedData(uint64_t data, Trailers... trailers) {
    constexpr uint32_t EXPECTED = TimestampedDataSize<packet_type>::size;
    static_assert(
        EXPECTED == 0 || EXPECTED == 1 + sizeof...(Trailers),
        "as many values of 64 bits as the packet type has: TS_DATA one, TS_DATA_16B two");
    constexpr int32_t SIZE = detail::MARKER_BYTES + 8 * (1 + static_cast<int32_t>(sizeof...(Trailers)));
    uint32_t place;
    if (!detail::append<SIZE, detail::headroom(dispatch)>(detail::prefix(packet_type, data_id), place)) {
        detail::lose<detail::LOST_DATA>();
        return;
    }
    place = detail::write_data(place, data);
    ((place = detail::write_data(place, static_cast<uint64_t>(trailers))), ...);
}

/// Records an event.
template <DoingDispatch dispatch = DoingDispatch::NOT_DISPATCH>
KERNEL_PROFILER_ALWAYS_INLINE void recordEvent(uint16_t event_id) {
    uint32_t place;
    if (!detail::append<detail::MARKER_BYTES, detail::headroom(dispatch)>(
            detail::prefix(TS_EVENT, event_id), place)) {
        detail::lose<detail::LOST_EVENTS>();
    }
}

}  // namespace kernel_profiler
