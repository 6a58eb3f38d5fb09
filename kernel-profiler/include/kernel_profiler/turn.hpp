/// \file
///
/// Transition from one chunk to the next: publication, first cells, and a full ring.
///
/// | policy | if the ring is full |
/// |---|---|
/// | drop newest | records are counted as lost until a whole chunk is free; its first cell then holds their number |
/// | overwrite oldest | does not occur: the runtime ignores what has been read |
/// | block | the RISC waits, up to a time limit, and records the wait as the zone PROFILER-DRAM-STALL; after a time-out it drops records, and does not wait again until something has been read |
/// | keep one of N | as in drop newest; of N chunks, N - 1 are not published but overwritten |
///
/// # Compatibility
/// Stores of a RISC to L1 are carried out in order, so that a count is never visible before its
/// cells.

#pragma once

#include "stream.hpp"

namespace kernel_profiler {
namespace detail {

/// Cell that is written at the beginning of a chunk, in addition to the cells of the launch: it
/// holds the number of records lost in this launch or before it, or the number of skipped cells.
enum class First { NOTHING, LOST, LOST_BEFORE, SKIPPED };

constexpr uint32_t POLICY_KIND_MASK = (1u << STREAM_POLICY_KIND_BITS) - 1;

KERNEL_PROFILER_ALWAYS_INLINE uint32_t place_of_cell(uint32_t number) {
    return own_vector() + number % STREAM_RING_CELLS * CELL_BYTES;
}

/// Returns true if a cell of the chunk that begins with cell number `first` is not free.
constexpr bool is_full(uint32_t first, uint32_t read) { return first + STREAM_CHUNK_CELLS - read > STREAM_RING_CELLS; }

/// Returns the cursor's value while the ring is full: a number that identifies the chunk that must
/// be read before there is room. It differs from the values outside of a launch.
constexpr uint32_t blocking_chunk(uint32_t read) { return read | (STREAM_CHUNK_CELLS - 1); }
static_assert(blocking_chunk(0) >= OPEN, "expected chunks that are told from what the cursor holds outside of launches");

KERNEL_PROFILER_ALWAYS_INLINE void count_lost(uint32_t core, uint32_t kind) { add_to_word(core + 4 * kind, 1); }

/// Returns the clock's high word at a time less than 2^32 cycles ago, given the low word.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t high_word_at(uint32_t time) {
    Clock now = whole_time();
    return now.high - (now.low < time);
}

/// Returns the value of STREAM_TOLD for a launch announced at a time with this high word.
constexpr uint32_t told_of(uint32_t launches, uint32_t high) { return launches << 16 | (high & (STREAM_TOLD_ENDED - 1)); }

/// Writes the launch into the cell with the given number and the next cell, publishes both cells,
/// and marks the launch as announced. A drain that sees the mark thus finds the cells published.
/// Returns the address after the cells.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t write_launch(
    uint32_t core, uint32_t place, uint32_t number, uint32_t launches, uint32_t program, uint32_t replays, Clock time) {
    write_cell(place, cell_head(StreamCode::LAUNCH, launches), time.low);
    write_cell(place + CELL_BYTES, program, replays << 16 | (time.high & 0xFFFF));
    write_word(core + 4 * STREAM_WRITTEN, number + 2);
    write_word(core + 4 * STREAM_TOLD, told_of(launches, time.high));
    return place + 2 * CELL_BYTES;
}

/// Writes the number of records that the RISC has lost; returns the address after the cell.
inline __attribute__((noinline, cold)) uint32_t write_lost(uint32_t core, uint32_t place) {
    const uint32_t lost = read_word(core + 4 * LOST_ZONES) + read_word(core + 4 * LOST_DATA) + read_word(core + 4 * LOST_EVENTS);
    write_cell(place, cell_head(StreamCode::LOST), lost);
    return place + CELL_BYTES;
}

/// Writes the first cells of a chunk or launch; returns the address after them.
inline __attribute__((noinline, cold)) uint32_t write_first_cells(uint32_t core, uint32_t place, First first, uint32_t time) {
    if (first == First::LOST_BEFORE) {
        place = write_lost(core, place);
    }
    const uint32_t words = control_place();
    Clock told{time, high_word_at(time)};
    const uint32_t launches = read_word(words + 4 * STREAM_LAUNCHES);
    if (read_word(core + 4 * STREAM_TOLD) != told_of(launches, told.high)) {
        const uint32_t program = read_word(words + 4 * STREAM_PROGRAM);
        const uint32_t written = read_word(core + 4 * STREAM_WRITTEN);
        const uint32_t number = written + (place - place_of_cell(written)) / CELL_BYTES;
        place = write_launch(core, place, number, launches, program, read_word(words + 4 * STREAM_TRACE_COUNT), told);
    }
    if (first == First::LOST) {
        place = write_lost(core, place);
    }
    if (first == First::SKIPPED) {
        write_cell(place, cell_head(StreamCode::SKIPPED), read_word(core + 4 * STREAM_SKIPPED));
        place += CELL_BYTES;
    }
    return place;
}

/// Publishes the cells before an address. Publishes nothing if they do not follow the published
/// cells: a host has then zeroed the control vector, and would read cells that were never written.
KERNEL_PROFILER_ALWAYS_INLINE void publish(uint32_t core, uint32_t written, uint32_t place) {
    const uint32_t cells = ((place - own_vector()) / CELL_BYTES - written) % STREAM_RING_CELLS;
    if (cells <= STREAM_CHUNK_CELLS) {
        write_word(core + 4 * STREAM_WRITTEN, written + cells);
    }
}

/// Skips the chunk that ends at an address if the policy discards the chunk. A chunk that is partly
/// published, as at the beginning of a launch, is kept.
inline bool skip_chunk(uint32_t core, uint32_t end, uint32_t policy) {
    const uint32_t written = read_word(core + 4 * STREAM_WRITTEN);
    const uint32_t skipped = read_word(core + 4 * STREAM_SKIPPED);
    const uint32_t chunk = (written + skipped) / STREAM_CHUNK_CELLS;
    const uint32_t others = (1u << (policy >> STREAM_POLICY_KIND_BITS)) - 1;
    if ((chunk & others) == 0 || end - place_of_cell(written) != CHUNK_BYTES) {
        return false;
    }
    add_to_word(core + 4 * STREAM_SKIPPED, STREAM_CHUNK_CELLS);
    return true;
}

/// Waits until the chunk that begins with cell `first` is free, at most 2^`cycles_log2` cycles.
/// Does not wait if the last wait timed out and nothing was read since. Returns the number of cells
/// that have been read.
inline uint32_t await_room(uint32_t core, uint32_t first, uint32_t read, uint32_t cycles_log2, uint32_t begun) {
    if (read_word(core + 4 * STREAM_WAITED_IN_VAIN) == read + 1) {
        return read;
    }
    do {
        forget_cached();
        read = read_word(core + 4 * STREAM_READ);
        if (!is_full(first, read)) {
            return read;
        }
    } while ((clock_low() - begun) >> (cycles_log2 & 31) == 0);
    write_word(core + 4 * STREAM_WAITED_IN_VAIN, read + 1);
    return read;
}

/// Writes the zone of a wait; returns the address after the zone.
inline uint32_t write_stall(uint32_t place, uint32_t begun) {
    // Both macros must be on one line, because both use the current line number.
    KERNEL_PROFILER_SITE("PROFILER-DRAM-STALL") constexpr uint32_t ID = KERNEL_PROFILER_ID("PROFILER-DRAM-STALL");
    const uint32_t ended = clock_low();
    const uint32_t cycles = ended - begun;
    if (is_code(ID) && cycles <= STREAM_ZONE_CYCLES_MAX) {
        write_cell(place, ID << STREAM_CODE_SHIFT | cycles, ended);
        return place + CELL_BYTES;
    }
    write_cell(place, cell_head(StreamCode::LONG_ZONE, ID), ended);
    write_cell(place + CELL_BYTES, cycles, 0);
    return place + 2 * CELL_BYTES;
}

/// Begins the next chunk with its first cells, and takes the following `bytes` bytes for a record.
/// Returns the address of the record's cells, or 0 if the ring is full.
inline __attribute__((noinline, cold)) uint32_t begin_chunk(uint32_t core, uint32_t bytes, First first, uint32_t time) {
    const uint32_t written = read_word(core + 4 * STREAM_WRITTEN) & ~(STREAM_CHUNK_CELLS - 1);
    const uint32_t begin = place_of_cell(written);
    bool has_waited = false;
    if (is_full(written, read_word(core + 4 * STREAM_READ))) {
        forget_cached();
        const uint32_t policy = read_word(core + 4 * STREAM_POLICY);
        const uint32_t kind = policy & POLICY_KIND_MASK;
        uint32_t read = read_word(core + 4 * STREAM_READ);
        if (kind == static_cast<uint32_t>(StreamPolicy::BLOCK) && is_full(written, read)) {
            has_waited = true;
            read = await_room(core, written, read, policy >> STREAM_POLICY_KIND_BITS, time);
        }
        if (kind != static_cast<uint32_t>(StreamPolicy::OVERWRITE_OLDEST) && is_full(written, read)) {
            detail::room_left = 0;
            // This uses the value read above, since the host may have read more meanwhile.
            detail::next_place = blocking_chunk(read);
            return 0;
        }
    }
    const uint32_t place = write_first_cells(core, begin, first, time);
    uint32_t next = place + bytes;
    if (has_waited) {
        next = write_stall(next, time);
    }
    detail::room_left = begin + CHUNK_BYTES;
    detail::next_place = next;
    return place;
}

/// Takes cells after a full chunk, in all cases; `UsualTurn` handles only the usual case.
inline __attribute__((noinline, cold)) uint32_t take_with_care(uint32_t bytes, uint32_t kind, uint32_t time) {
    const uint32_t core = hidden(own_place());
    const uint32_t limit = detail::room_left;
    uint32_t place = detail::next_place;
    First first = First::NOTHING;
    if (limit != 0) {
        if (place < limit) {
            write_word(place, cell_head(StreamCode::PADDING));
        }
        const uint32_t policy = read_word(core + 4 * STREAM_POLICY);
        if ((policy & POLICY_KIND_MASK) == static_cast<uint32_t>(StreamPolicy::KEEP_ONE_OF) &&
            skip_chunk(core, limit, policy)) {
            first = First::SKIPPED;
        } else {
            publish(core, read_word(core + 4 * STREAM_WRITTEN), limit);
        }
    } else if (place < OPEN) {
        count_lost(core, kind);
        detail::next_place = place | CLOSED_WITH_LOSS;
        return 0;
    } else {
        first = First::LOST;
    }
    place = begin_chunk(core, bytes, first, time);
    if (place == 0) {
        count_lost(core, kind);
    }
    return place;
}

/// Writes a zone after a full chunk, in all cases; `UsualTurn` handles only the usual case.
inline __attribute__((noinline, cold)) void write_zone_with_care(uint32_t code, uint32_t begun, uint32_t ended) {
    const uint32_t cycles = ended - begun;
    if (cycles > STREAM_ZONE_CYCLES_MAX) {
        write_long_zone(code >> STREAM_CODE_SHIFT, 0, cycles, ended);
        return;
    }
    const uint32_t place = take_with_care(CELL_BYTES, LOST_ZONES, ended);
    if (place != 0) {
        write_cell(place, code + cycles, ended);
    }
}

/// Left shift of the clock's high word that keeps only the bits stored in STREAM_TOLD.
constexpr uint32_t TIME_ABOVE_TOLD = 17;
static_assert(STREAM_TOLD_ENDED == 1u << (31 - TIME_ABOVE_TOLD + 1), "expected 15 bits of the time");

/// The usual transition: the next chunk is free, the clock's high word is unchanged, and the policy
/// keeps all chunks.
struct UsualTurn {
    uint32_t written;
    uint32_t told;
    uint32_t policy;
    uint32_t read;
    uint32_t high;

    /// Reads all inputs together.
    KERNEL_PROFILER_ALWAYS_INLINE static UsualTurn begin(uint32_t core, uint32_t read) {
        const uint32_t written = read_word(core + 4 * STREAM_WRITTEN);
        const uint32_t told = read_word(core + 4 * STREAM_TOLD);
        const uint32_t policy = read_word(core + 4 * STREAM_POLICY);
        const uint32_t high = read_word(TILE_REGISTERS + WALL_CLOCK_HIGH);
        return {written, told, policy, read, high};
    }

    /// Returns the number of the first cell of the next chunk. The ending chunk may be partly
    /// published.
    KERNEL_PROFILER_ALWAYS_INLINE uint32_t next() const { return (written | (STREAM_CHUNK_CELLS - 1)) + 1; }

    KERNEL_PROFILER_ALWAYS_INLINE bool is_it() const {
        // `told` is 0 if a host has zeroed the control vector meanwhile.
        static_assert(static_cast<uint32_t>(StreamPolicy::KEEP_ONE_OF) == 3, "expected the kind with both bits");
        const uint32_t skips = policy & policy >> 1 & 1;
        return (skips | (high ^ told) << TIME_ABOVE_TOLD) == 0 && told != 0 && !is_full(next(), read);
    }

    /// Publishes the chunk, begins the next chunk and takes `bytes` bytes in it.
    KERNEL_PROFILER_ALWAYS_INLINE uint32_t take(uint32_t core, uint32_t bytes) const {
        const uint32_t place = hidden(place_of_cell(next()));
        write_word(core + 4 * STREAM_WRITTEN, next());
        detail::room_left = place + CHUNK_BYTES;
        detail::next_place = place + bytes;
        return place;
    }
};

/// Counts a lost record, if the ring is as full as at the previous loss.
KERNEL_PROFILER_ALWAYS_INLINE void count_lost_again(uint32_t core, uint32_t kind, uint32_t lost) {
    write_word(core + 4 * kind, lost + 1);
    // On a Blackhole, the drain's writes become visible only after the cache is emptied. That is
    // too expensive for each lost record; once per sixteen lost records is enough.
    if (IS_BLACKHOLE && __builtin_expect(lost % 16 == 0, 0)) {
        forget_cached();
    }
}

// Both functions first load all inputs of a lost record, then all inputs of a transition, so in
// either case the RISC waits for L1 once. The cursor alone shows whether the ring is as full as
// before, because an address never equals `blocking_chunk`.

inline __attribute__((noinline)) uint32_t take_behind_chunk(uint32_t bytes, uint32_t kind, uint32_t time) {
    const uint32_t core = hidden(own_place());
    const uint32_t place = detail::next_place;
    const uint32_t read = read_word(core + 4 * STREAM_READ);
    if (__builtin_expect(blocking_chunk(read) == place, 0)) {
        count_lost_again(core, kind, read_word(core + 4 * kind));
        return 0;
    }
    UsualTurn turn = UsualTurn::begin(core, read);
    const uint32_t limit = detail::room_left;
    if (__builtin_expect(limit == 0 || !turn.is_it(), 0)) {
        return take_with_care(bytes, kind, time);
    }
    if (place < limit) {
        write_word(place, cell_head(StreamCode::PADDING));
    }
    return turn.take(core, bytes);
}

inline __attribute__((noinline)) void end_zone_behind_chunk(uint32_t code, uint32_t begun, uint32_t place, uint32_t ended) {
    const uint32_t core = own_place();
    const uint32_t read = read_word(core + 4 * STREAM_READ);
    const uint32_t lost = read_word(core + 4 * LOST_ZONES);
    if (__builtin_expect(blocking_chunk(read) == place, 0)) {
        count_lost_again(core, LOST_ZONES, lost);
        return;
    }
    UsualTurn turn = UsualTurn::begin(core, read);
    const uint32_t cycles = ended - begun;
    if (__builtin_expect(detail::room_left == 0 || cycles > STREAM_ZONE_CYCLES_MAX || !turn.is_it(), 0)) {
        write_zone_with_care(code, begun, ended);
        return;
    }
    write_cell(turn.take(core, CELL_BYTES), code + cycles, ended);
}

}  // namespace detail
}  // namespace kernel_profiler
