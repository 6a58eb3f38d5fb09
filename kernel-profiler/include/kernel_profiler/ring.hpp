/// \file
/// A RISC's own ring of markers: what is remembered of it, and the hot paths that fill it.
///
/// # State
/// Upstream's variables, which the firmware of each RISC defines in its local RAM and which
/// kernels are linked against. C++ and Rust share them; nothing else is remembered.
///
/// | variable | symbol | meaning |
/// |---|---|---|
/// | `wIndex` | `_ZN15kernel_profiler6wIndexE` | address of the next free word of this RISC's vector |
/// | `stackSize` | `_ZN15kernel_profiler9stackSizeE` | signed: bytes left for records; the ends of open zones and the totals of sums in use are already taken off; below 0 if a total found no room |
/// | `sums[2]` | `_ZN15kernel_profiler4sumsE` | cycles of each accumulator, modulo 2^32 |
/// | `sumIDs[2]` | `_ZN15kernel_profiler6sumIDsE` | finished first word of each total, 0 while nobody used the accumulator |
/// | `traceCount` | `_ZN15kernel_profiler10traceCountE` | trace replays so far; the aggregating RISC's only |
///
/// All zero is a valid state: nothing fits, every record is counted as lost.
///
/// Begin of a launch: `wIndex` = vector + 48, `stackSize` = 2000. So, at any time until its end,
/// `wIndex + stackSize + 8 * open zones + 8 * accumulators in use` is the vector's end. The end
/// appends the totals and sets `sumIDs` and `sums` to 0. The Rust runtime takes 16 bytes for totals
/// at the begin of a launch instead.
///
/// | record | wants `stackSize` >= | `stackSize` -= | `wIndex` += |
/// |---|---|---|---|
/// | a zone's start | 16 | 16 | 8 |
/// | a zone's end | - (nothing if the start did not fit) | 0 | 8 |
/// | event | 8 | 8 | 8 |
/// | data of 64 / 128 bits | 16 / 24 | 16 / 24 | 16 / 24 |
/// | an accumulator's first use in a launch | - | 8 | 0 |
/// | a sum's total, at the end of a launch | - (lost if behind the vector's end) | 0 | 8 |
///
/// A dispatch kernel wants 64 bytes more (DISPATCH) or 16 more (DISPATCH_META), which it does
/// not take. What does not fit adds 1 to control word 29 + RISC (zones and totals), 34 + RISC (data
/// of both sizes) or 39 + RISC (events).
///
/// A quick push sets `wIndex` = vector + 48 again and gives the bytes that it freed back to
/// `stackSize`.
///
/// # ID words
/// The aggregating RISC writes words 0 to 2 of all vectors in the fresh path, with the trace
/// counter and the generation in them, and rewrites the trace counter's bits at a replay; the end
/// of a launch does not touch them. Word 3 is set in all vectors when the program id is told.
/// The begin of a launch empties the fixed slots of all vectors: on Wormhole the first words
/// alone (each L1 store costs there), on Blackhole both.
///
/// # Variables
/// None that is a structure is `const`: gcc would keep it on the stack, member by member.

#pragma once

#include "state.hpp"

namespace kernel_profiler {

namespace detail {

constexpr int32_t ZONE_BYTES = 2 * static_cast<int32_t>(MARKER_BYTES);
/// From the beginning of a vector to its first optional word.
constexpr uint32_t FIRST_OPTIONAL_BYTES = 4 * CUSTOM_MARKERS;
/// Bytes that every launch keeps for zones of stalls, where a RISC may wait for the host: of one
/// within the launch, and of one at its end.
constexpr int32_t STALL_BYTES = KERNEL_PROFILER_IS_NON_DROPPING != 0 ? 2 * ZONE_BYTES : 0;
constexpr int32_t OPTIONAL_BYTES = 4 * (PROFILER_L1_VECTOR_SIZE - CUSTOM_MARKERS) - STALL_BYTES;
/// A marker's first word without its time.
constexpr uint32_t prefix(PacketTypes type, uint32_t id) {
    return PROFILER_MARKER_VALID | static_cast<uint32_t>(type) << PACKET_TYPE_SHIFT |
           (id & PROFILER_TIMER_STATIC_ID_MASK) << PROFILER_MARKER_TIMER_ID_SHIFT;
}

/// Bytes that a record must leave free.
constexpr int32_t headroom(DoingDispatch dispatch) {
    return dispatch == DoingDispatch::DISPATCH        ? 64
           : dispatch == DoingDispatch::DISPATCH_META ? 16
                                                      : 0;
}

/// Two constants that a zone needs in registers.
struct Constants {
    uint32_t registers;
    uint32_t time_mask;

    /// The compiler cannot see what they are, so that it makes them once for a zone, or once for a
    /// loop, and not for each marker anew. A dispatch kernel's zone is around all that it does, which
    /// needs the registers more.
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

KERNEL_PROFILER_ALWAYS_INLINE int32_t load_room() { return static_cast<int32_t>(loaded(stackSize)); }
KERNEL_PROFILER_ALWAYS_INLINE void store_room(int32_t bytes) {
    stackSize = static_cast<uint32_t>(bytes);
    keep_order();
}

/// Writes the two words of a marker, after everything that has been stored to the state: the
/// core stalls at the first use of the clock, and stores that come before cost nothing.
KERNEL_PROFILER_ALWAYS_INLINE void write_marker(uint32_t place, uint32_t prefix, Clock now, uint32_t time_mask) {
    loaded(now.high);
    write_ring(place, prefix | (now.high & time_mask));
    write_ring(place + 4, now.low);
}

/// Moves the cursor from a place by so many bytes, and returns where it is then. Two instructions that
/// stay together: behind the clock's loads a Wormhole passes a result on to the very next instruction
/// at once, and to any other only once the clock has been read. What is written there goes by the
/// returned place, so that a loop needs one register for both.
template <int32_t BYTES>
KERNEL_PROFILER_ALWAYS_INLINE uint32_t move_cursor(uint32_t place) {
    uint32_t next;
    __asm__ volatile("addi %0, %1, %2" : "=r"(next) : "r"(place), "I"(BYTES));
    store_cursor(next);
    return next;
}

/// Takes bytes off the room; the result is below 0 if there were too few. Where nothing must stay free
/// besides, the compiler cannot see the sum, so that a loop keeps the result alone. A dispatch kernel's
/// records leave headroom; there the plain sum takes less code.
template <int32_t BYTES, int32_t HEADROOM>
KERNEL_PROFILER_ALWAYS_INLINE int32_t take(int32_t room) {
    if constexpr (HEADROOM != 0) {
        return room - (BYTES + HEADROOM);
    }
    int32_t left;
    __asm__ volatile("addi %0, %1, %2" : "=r"(left) : "r"(room), "I"(-BYTES));
    return left;
}

/// Pushes, where nothing is to be dropped, if so many bytes find no room.
KERNEL_PROFILER_ALWAYS_INLINE void make_room(int32_t bytes) {
    if constexpr (KERNEL_PROFILER_IS_NON_DROPPING != 0) {
        if (__builtin_expect(load_room() < bytes, 0)) {
            quick_push();
        }
    }
}

/// Opens a zone; returns the room that is left, negative if there was none.
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
    // Else the compiler would make two copies of what the zone measures, to spare a branch that
    // the clock's latency hides.
    __asm__("" : "+r"(left));
    if (__builtin_expect(left >= 0, 1)) {
        const uint32_t next = move_cursor<MARKER_BYTES>(place);
        write_marker(next - MARKER_BYTES, prefix, now, constants.time_mask);
    }
}

/// Takes room for a record of so many bytes and writes its marker; `place` becomes the place behind
/// it. False if there was no room.
template <int32_t BYTES, int32_t HEADROOM>
KERNEL_PROFILER_ALWAYS_INLINE bool append(uint32_t prefix, uint32_t& place) {
    make_room(BYTES + HEADROOM);
    Constants constants = Constants::hidden();
    const int32_t room = load_room();
    const uint32_t begin = load_cursor();
    Clock now = Clock::now(constants.registers);
    const int32_t left = take<BYTES, HEADROOM>(room);
    if (__builtin_expect(left < 0, 0)) {
        // Given back, so that at -Os a loop of events has the old and the new room in one register. A
        // loop of data takes no more without, and its site would grow by two instructions.
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

/// Reads the clock for a sum and names its accumulator, by the first word of the total. The first use
/// in a launch takes the total's room; where there is none, the end of the launch finds out.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t begin_sum(uint32_t index, uint32_t total) {
    const uint32_t before = sumIDs[index];
    // In a register before the clock is read, so that the comparison does not wait for that.
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

/// Writes a zone that has ended.
KERNEL_PROFILER_ALWAYS_INLINE void write_zone(uint32_t place, uint32_t id, Clock started, Clock ended) {
    write_word(place, prefix(ZONE_START, id) | (started.high & PROFILER_MARKER_TS_HIGH_MASK));
    write_word(place + 4, started.low);
    write_word(place + 8, prefix(ZONE_END, id) | (ended.high & PROFILER_MARKER_TS_HIGH_MASK));
    write_word(place + 12, ended.low);
}

/// Writes 64 bits as the format has them, high word first; returns the place behind.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t write_data(uint32_t place, uint64_t data) {
    write_ring(place, static_cast<uint32_t>(data >> 32));
    write_ring(place + 4, static_cast<uint32_t>(data));
    return place + 8;
}

/// Takes room for data and writes its marker with a time that was read before; `place` becomes the
/// place behind it. False, and the record is lost, if there was no room.
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

/// Free words without which no launch begins where launches share pushes, however short the last
/// one was: the fixed slots and 29 zones.
constexpr uint32_t LEAST_FREE_WORDS = 128;
/// Bits of `DEVICE_END` with the words of a vector; above them those of the run that ends there,
/// once it is published and until the launch ends.
constexpr uint32_t RUN_WORDS_SHIFT = 16;
constexpr uint32_t END_MASK = (1u << RUN_WORDS_SHIFT) - 1;

/// Bytes before a RISC's run in its vector: 0 unless launches share pushes. `core` is the address
/// of its first control word.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t bytes_before_run(uint32_t core) {
    if constexpr (DO_ACCUMULATE) {
        const uint32_t words = read_word(core + 4 * DEVICE_BUFFER_END_INDEX_BR_ER) & END_MASK;
        // More is nothing of ours: a word that somebody has spoilt.
        return words > PROFILER_L1_VECTOR_SIZE - LEAST_FREE_WORDS ? 0 : 4 * words;
    }
    return 0;
}

/// The place of this RISC's run.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t own_run() { return own_vector() + bytes_before_run(own_place()); }

/// When the kernel of this launch ended.
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

/// Returns true if a record of one word and `additional_words` more fits.
template <DoingDispatch DISPATCH = DoingDispatch::NOT_DISPATCH>
KERNEL_PROFILER_ALWAYS_INLINE bool bufferHasRoom(uint32_t additional_words = 0) {
    return detail::load_room() - detail::headroom(DISPATCH) > static_cast<int32_t>(4 * additional_words);
}

/// Pushes if a record of so many words and one more does not fit, or if the largest one does not:
/// callers that name no number want to record something.
template <DoingDispatch DISPATCH = DoingDispatch::NOT_DISPATCH>
KERNEL_PROFILER_ALWAYS_INLINE void flush_to_dram_if_full(uint32_t additional_words = 0) {
    constexpr uint32_t LARGEST = detail::RECORD_BYTES_MAX / 4 - 1;
    if (!bufferHasRoom<DISPATCH>(additional_words > LARGEST ? additional_words : LARGEST)) {
        quick_push();
    }
}

/// A zone, open as long as it lives.
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

/// A zone that is there only if a condition holds.
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

/// A zone whose cycles are added up. Its accumulator keeps the name of the last one that used it.
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

/// Records data under an id, with the time: 64 bits and whatever follows them.
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
