/// \file
///
/// A RISC's ring of cells, which is drained while the RISC runs, and the hot paths that fill it.
///
/// docs/streaming.md documents the format, which `wire::stream` defines in Rust. A zone is one cell
/// of two words, written when the zone ends; nothing is written when the zone begins.
///
/// # State
/// The state uses the variables of ring.hpp with other meanings. Everything else is in the control
/// vector.
///
/// | variable | meaning |
/// |---|---|
/// | `stackSize` | address of the end of the current chunk, where turn.hpp takes over; 0 if the ring is full, and outside of a launch |
/// | `wIndex` | address of the next cell; `blocking_chunk` if the ring is full; `CLOSED` bits outside of a launch |
/// | `sums[2]`, `sumIDs[2]` | as in ring.hpp; `sumIDs` has the first word of the total of an accumulator in use |
///
/// All zero is a valid state: every record is counted as lost.
///
/// A chunk is begun only when all of its cells are free, so one comparison checks both room and
/// publication. The first record that does not fit into a full chunk publishes the chunk. The
/// chunk's cells are thus stored some time before the count of cells.
///
/// # Order of cells
/// A cell with a time is not older than the cell before it. So a record reads the clock first and
/// takes its cells afterwards. Cells that are written while the record waits for room come after
/// the record.
///
/// # Limits
/// A zone of a kernel is measured by the low word of the clock: a length of 2^32 cycles or more (3
/// to 4 s) is recorded modulo 2^32. The zones of a launch itself have 64 bits. If a RISC records
/// nothing for that long, and then a short record, the times in the rest of the chunk are too early
/// by the same multiple of 2^32 cycles.

#pragma once

#include "state.hpp"
#include "stream_constants.hpp"

#if defined(KERNEL_PROFILER_STREAM_CALLS)
/// Marks the code of a record as a function that all call sites share.
#define KERNEL_PROFILER_AT_SITE inline __attribute__((noinline))
#else
#define KERNEL_PROFILER_AT_SITE KERNEL_PROFILER_ALWAYS_INLINE
#endif

namespace kernel_profiler {
namespace detail {

constexpr uint32_t CELL_BYTES = STREAM_CELL_BYTES;
constexpr uint32_t CHUNK_BYTES = STREAM_CELL_BYTES * STREAM_CHUNK_CELLS;
constexpr uint32_t RING_BYTES = STREAM_CELL_BYTES * STREAM_RING_CELLS;
static_assert(RING_BYTES == PROFILER_L1_BUFFER_SIZE, "expected a ring in the place of a vector");

/// Minimum value of the cursor while a launch runs. Below this value, the cursor's bits describe
/// the end of the last launch.
constexpr uint32_t OPEN = 4;
/// Bit of the cursor: records were lost, and no cell reports them yet.
constexpr uint32_t CLOSED_WITH_LOSS = 1;
/// Bit of the cursor: the launch runs no kernel on this core.
constexpr uint32_t CLOSED_AS_IDLE = 2;

/// Returns the first word of a cell.
constexpr uint32_t cell_head(StreamCode code, uint32_t field = 0) {
    return static_cast<uint32_t>(code) << STREAM_CODE_SHIFT | (field & 0xFFFF);
}

/// Returns the first word of a data record or of a total.
constexpr uint32_t prefix(PacketTypes type, uint32_t id) {
    return cell_head(
        type == TS_DATA_16B  ? StreamCode::DATA_16B
        : type == ZONE_TOTAL ? StreamCode::TOTAL
                             : StreamCode::DATA,
        id);
}

/// Returns true if the id of a zone can be the code of a cell.
constexpr bool is_code(uint32_t id) { return id < STREAM_FIRST_ESCAPE; }

KERNEL_PROFILER_ALWAYS_INLINE uint32_t load_limit() { return loaded(detail::room_left); }
KERNEL_PROFILER_ALWAYS_INLINE uint32_t clock_low() { return read_word(TILE_REGISTERS + WALL_CLOCK_LOW); }

/// If the low word is at least this value, the high word may belong to the next wrap.
constexpr uint32_t NEAR_END = ~0u << 8;

/// Reads both words of the clock; repeats the reading near the end of the low word.
KERNEL_PROFILER_ALWAYS_INLINE Clock whole_time() {
    Clock now = Clock::now(TILE_REGISTERS);
    while (__builtin_expect(now.low >= NEAR_END, 0)) {
        now = Clock::now(TILE_REGISTERS);
    }
    return now;
}

KERNEL_PROFILER_ALWAYS_INLINE void write_cell(uint32_t place, uint32_t head, uint32_t value) {
    write_word(place, head);
    write_word(place + 4, value);
}

/// Writes 64 bits in a cell's order, low word first; returns the address after them.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t write_data(uint32_t place, uint64_t data) {
    write_cell(place, static_cast<uint32_t>(data), static_cast<uint32_t>(data >> 32));
    return place + CELL_BYTES;
}

// The following functions are defined in turn.hpp.

/// Takes cells for a record when the current chunk has no room for them. `kind` is the control word
/// that counts the record if it is lost, `time` the low word of its time. Returns the address of
/// the cells, or 0 if the record is lost.
uint32_t take_behind_chunk(uint32_t bytes, uint32_t kind, uint32_t time);
/// Ends a zone when the current chunk has no room for it; `place` is the value of the cursor.
void end_zone_behind_chunk(uint32_t code, uint32_t begun, uint32_t place, uint32_t ended);

/// Takes `bytes` bytes of consecutive cells in one chunk; returns 0 if the record is lost.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t take(uint32_t bytes, uint32_t kind, uint32_t time) {
    const uint32_t place = load_cursor();
    if (__builtin_expect(place + bytes <= load_limit(), 1)) {
        store_cursor(place + bytes);
        return place;
    }
    return take_behind_chunk(bytes, kind, time);
}

/// Writes a zone in one cell, or in two cells if necessary. If the clock's high word has changed
/// since `told` was written, possibly several times, the zone goes into the next chunk, which
/// begins with the new high word.
inline __attribute__((noinline)) void write_measured_zone(
    uint32_t id, uint32_t high_cycles, uint32_t cycles, uint32_t ended, uint32_t high, uint32_t told) {
    const bool is_short = is_code(id) && (cycles >> 16 | high_cycles) == 0;
    const uint32_t bytes = is_short ? CELL_BYTES : 2 * CELL_BYTES;
    const uint32_t place = __builtin_expect((told ^ high) << 16 == 0, 1) ? take(bytes, LOST_ZONES, ended)
                                                                         : take_behind_chunk(bytes, LOST_ZONES, ended);
    if (place == 0) {
        return;
    }
    if (is_short) {
        write_cell(place, id << STREAM_CODE_SHIFT | cycles, ended);
    } else {
        write_cell(place, cell_head(StreamCode::LONG_ZONE, id), ended);
        write_cell(place + CELL_BYTES, cycles, high_cycles);
    }
}

/// Writes a zone that may not fit into one cell.
inline __attribute__((noinline, cold)) void write_long_zone(uint32_t id, uint32_t high_cycles, uint32_t cycles, uint32_t ended) {
    const uint32_t told = read_word(own_place() + 4 * STREAM_TOLD);
    write_measured_zone(id, high_cycles, cycles, ended, read_word(TILE_REGISTERS + WALL_CLOCK_HIGH), told);
}

/// Ends a zone; `code` is its id, shifted to the position of a code.
KERNEL_PROFILER_AT_SITE void end_zone(uint32_t code, uint32_t begun) {
    const uint32_t place = load_cursor();
    const uint32_t limit = load_limit();
    const uint32_t ended = clock_low();
    if (__builtin_expect(place >= limit, 0)) {
        end_zone_behind_chunk(code, begun, place, ended);
        return;
    }
    store_cursor(place + CELL_BYTES);
    const uint32_t cycles = ended - begun;
    if (__builtin_expect(cycles > STREAM_ZONE_CYCLES_MAX, 0)) {
        store_cursor(place);
        write_long_zone(code >> STREAM_CODE_SHIFT, 0, cycles, ended);
        return;
    }
    write_cell(place, code + cycles, ended);
}

/// Ends a zone, given its id.
template <uint32_t ID>
KERNEL_PROFILER_ALWAYS_INLINE void close_zone(uint32_t begun) {
    if constexpr (is_code(ID)) {
        end_zone(ID << STREAM_CODE_SHIFT, begun);
    } else {
        const uint32_t ended = clock_low();
        write_long_zone(ID, 0, ended - begun, ended);
    }
}

/// Takes cells for a record with a time that was read earlier, and writes the first cell. Sets
/// `place` to the address after that cell. If there is no room, counts the record as lost and
/// returns false.
KERNEL_PROFILER_ALWAYS_INLINE bool append_at(uint32_t head, uint32_t bytes, Clock time, uint32_t& place) {
    place = take(bytes, LOST_DATA, time.low);
    if (place == 0) {
        return false;
    }
    write_cell(place, head, time.low);
    place += CELL_BYTES;
    return true;
}

/// Does nothing: the lane's policy decides whether a record waits for room.
KERNEL_PROFILER_ALWAYS_INLINE void make_room(int32_t) {}

/// Returns a time that is not before the end of the kernel's zone.
KERNEL_PROFILER_ALWAYS_INLINE Clock end_of_kernel() { return Clock::now(TILE_REGISTERS); }

/// Records 64 bits of data.
KERNEL_PROFILER_AT_SITE void record_data(uint32_t head, uint64_t data) {
    const uint32_t time = clock_low();
    const uint32_t place = take(2 * CELL_BYTES, LOST_DATA, time);
    if (__builtin_expect(place != 0, 1)) {
        write_cell(place, head, time);
        write_data(place + CELL_BYTES, data);
    }
}

/// Records 128 bits of data.
KERNEL_PROFILER_AT_SITE void record_data(uint32_t head, uint64_t first, uint64_t second) {
    const uint32_t time = clock_low();
    const uint32_t place = take(3 * CELL_BYTES, LOST_DATA, time);
    if (__builtin_expect(place != 0, 1)) {
        write_cell(place, head, time);
        write_data(write_data(place + CELL_BYTES, first), second);
    }
}

/// Records an event.
KERNEL_PROFILER_AT_SITE void record_event(uint32_t head) {
    const uint32_t time = clock_low();
    const uint32_t place = take(CELL_BYTES, LOST_EVENTS, time);
    if (__builtin_expect(place != 0, 1)) {
        write_cell(place, head, time);
    }
}

}  // namespace detail

/// Does nothing: a drain takes the published cells.
inline void quick_push() {}
inline void quick_push_if_linked(uint32_t, bool) {}
template <DoingDispatch = DoingDispatch::NOT_DISPATCH>
KERNEL_PROFILER_ALWAYS_INLINE void flush_to_dram_if_full(uint32_t = 0) {}

/// Returns true: writing a record checks the room, and counts the record as lost if there is none.
template <DoingDispatch = DoingDispatch::NOT_DISPATCH>
KERNEL_PROFILER_ALWAYS_INLINE constexpr bool bufferHasRoom(uint32_t = 0) { return true; }

/// A zone that is open as long as the object lives.
template <uint32_t timer_id, DoingDispatch = DoingDispatch::NOT_DISPATCH>
struct profileScope {
    uint32_t begun = detail::clock_low();

    KERNEL_PROFILER_ALWAYS_INLINE profileScope() {}
    KERNEL_PROFILER_ALWAYS_INLINE ~profileScope() { detail::close_zone<timer_id>(begun); }

    profileScope(const profileScope&) = delete;
    profileScope& operator=(const profileScope&) = delete;
};

/// A zone that is recorded only if a condition holds.
template <uint32_t timer_id, DoingDispatch = DoingDispatch::NOT_DISPATCH>
struct profileScopeIf {
    const bool is_active;
    uint32_t begun;

    KERNEL_PROFILER_ALWAYS_INLINE explicit profileScopeIf(bool is_active)
        : is_active(is_active), begun(is_active ? detail::clock_low() : 0) {}
    KERNEL_PROFILER_ALWAYS_INLINE ~profileScopeIf() {
        if (is_active) {
            detail::close_zone<timer_id>(begun);
        }
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
            sumIDs[index] = detail::prefix(ZONE_TOTAL, timer_id);
            started = detail::clock_low();
        }
    }

    KERNEL_PROFILER_ALWAYS_INLINE ~profileScopeAccumulate() {
        if constexpr (DO_SUM) {
            const uint32_t ended = detail::clock_low();
            sums[index] += ended - started;
        }
    }

    profileScopeAccumulate(const profileScopeAccumulate&) = delete;
    profileScopeAccumulate& operator=(const profileScopeAccumulate&) = delete;
};

/// Records 64 or 128 bits of data under an id with the time.
template <
    uint32_t data_id,
    DoingDispatch dispatch = DoingDispatch::NOT_DISPATCH,
    PacketTypes packet_type = TS_DATA,
    typename... Trailers>
KERNEL_PROFILER_ALWAYS_INLINE void timeStampedData(uint64_t data, Trailers... trailers) {
    static_assert(
        TimestampedDataSize<packet_type>::size == 1 + sizeof...(Trailers),
        "as many values of 64 bits as the packet type has: TS_DATA one, TS_DATA_16B two");
    detail::record_data(detail::prefix(packet_type, data_id), data, static_cast<uint64_t>(trailers)...);
}

/// Records an event.
template <DoingDispatch dispatch = DoingDispatch::NOT_DISPATCH>
KERNEL_PROFILER_ALWAYS_INLINE void recordEvent(uint16_t event_id) {
    detail::record_event(detail::cell_head(detail::StreamCode::EVENT) | event_id);
}

}  // namespace kernel_profiler
