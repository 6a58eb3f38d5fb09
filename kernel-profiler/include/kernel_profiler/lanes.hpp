/// \file
///
/// The vectors of a core and its lanes in DRAM: location, and preparation for a launch.

#pragma once

#include "ring.hpp"

namespace kernel_profiler {
namespace detail {

// Fields of HOST_END: the low bits hold the lane's end, the high bits the end from before the lane
// last wrapped around.
constexpr uint32_t TURN_MASK = (1u << TURN_SHIFT) - 1;

// Byte offsets of words in a vector.
constexpr uint32_t ID_LH_BYTES = 4 * ID_LH;
constexpr uint32_t ID_LL_BYTES = 4 * ID_LL;
constexpr uint32_t FIXED_SLOTS_BYTES = 4 * GUARANTEED_MARKER_1_H;
/// First word of an empty slot and of padding.
constexpr uint32_t EMPTY_SLOT = PROFILER_MARKER_VALID;
/// Offset of the word in which a RISC marks a wait that timed out: the second word of the slot for
/// the end of the firmware's zone, unused within a launch.
constexpr uint32_t IN_VAIN_BYTES = 4 * (GUARANTEED_MARKER_2_H + 1);

/// Maximum number of polls of the NoC, which take some ten milliseconds. The polled events take
/// microseconds unless the chip is stuck.
constexpr uint32_t NOC_POLLS = 1 << 20;
/// Maximum number of polls of a word in which another RISC publishes its ring. The RISC publishes
/// some hundred cycles after it has signalled the end of its kernel.
constexpr uint32_t PUBLICATION_POLLS = 1 << 12;

KERNEL_PROFILER_ALWAYS_INLINE uint32_t control(uint32_t index) { return read_word(control_place() + 4 * index); }

KERNEL_PROFILER_ALWAYS_INLINE void set_control(uint32_t index, uint32_t value) {
    write_word(control_place() + 4 * index, value);
}

/// Waits, up to a limit, until the word at `place` is 0, or not 0 if IS_ZERO_WANTED is false.
/// Returns the word.
template <bool IS_ZERO_WANTED, uint32_t POLLS>
KERNEL_PROFILER_ALWAYS_INLINE uint32_t await_word(uint32_t place) {
    uint32_t word = read_word(place);
    for (uint32_t polls = POLLS; __builtin_expect((word == 0) != IS_ZERO_WANTED && polls != 0, 0); --polls) {
        forget_cached();
        word = read_word(place);
    }
    return word;
}

/// Waits, up to a limit, until the register at `place` is 0. Returns the register's value. The code
/// is smaller than `await_word`, but slower if the register is 0 at once.
template <uint32_t POLLS>
KERNEL_PROFILER_ALWAYS_INLINE uint32_t await_zero(uint32_t place) {
    uint32_t polls = POLLS;
    uint32_t word;
    do {
        word = read_word(place);
        if (word == 0) {
            break;
        }
    } while (--polls != 0);
    return word;
}

// Loops over RISCs are unrolled in fast builds of kernels or firmware.
#if defined(__OPTIMIZE_SIZE__)
constexpr int UNROLLED_RISCS = 1;
#else
constexpr int UNROLLED_RISCS = 5;
#endif

#if defined(COMPILE_FOR_BRISC)
/// At -Os, a Blackhole's BRISC firmware has room even for the unrolled loop.
constexpr int UNROLLED_LANES = IS_BLACKHOLE ? 5 : UNROLLED_RISCS;
#else
constexpr int UNROLLED_LANES = UNROLLED_RISCS;
#endif

KERNEL_PROFILER_ALWAYS_INLINE uint32_t trace_field() {
    if constexpr (HAS_TRACE_COUNT) {
        // Shifts are used because loading a mask would take another instruction.
        constexpr uint32_t ABOVE = 32 - PROFILER_ID_TRACE_BITS;
        return hidden(traceCount << ABOVE) >> (ABOVE - PROFILER_ID_TRACE_SHIFT);
    }
    return 0;
}

/// Empties the fixed slots of a run. On a Wormhole each store takes five cycles, so only the first
/// word of each slot is written, which marks the slot as empty. On a Blackhole, adjacent stores
/// merge.
KERNEL_PROFILER_ALWAYS_INLINE void empty_slots(uint32_t run) {
    constexpr uint32_t STEP_BYTES = IS_BLACKHOLE ? 4 : 8;
#pragma GCC unroll 8
    for (uint32_t offset = FIXED_SLOTS_BYTES; offset < FIRST_OPTIONAL_BYTES; offset += STEP_BYTES) {
        write_word(run + offset, EMPTY_SLOT);
    }
}

/// Base address from which a loop over RISCs addresses their vectors. In an unrolled loop, one base
/// address serves two vectors, because an instruction's offset can reach back from the second
/// vector to the first.
template <int UNROLLED>
struct Vectors {
    static constexpr bool IS_OF_TWO = UNROLLED > 1;
    uint32_t address = hidden(first_vector() + (IS_OF_TWO ? PROFILER_L1_BUFFER_SIZE : 0));

    KERNEL_PROFILER_ALWAYS_INLINE uint32_t of(uint32_t risc) const {
        return IS_OF_TWO && risc % 2 == 0 ? address - PROFILER_L1_BUFFER_SIZE : address;
    }

    KERNEL_PROFILER_ALWAYS_INLINE void go_on_from(uint32_t risc) {
        if (!IS_OF_TWO || risc % 2 != 0) {
            address = hidden(address + (IS_OF_TWO ? 2 : 1) * PROFILER_L1_BUFFER_SIZE);
        }
    }
};

/// Empties the fixed slots of all vectors.
KERNEL_PROFILER_ALWAYS_INLINE void empty_fixed_slots() {
    Vectors<UNROLLED_RISCS> vectors;
#pragma GCC unroll UNROLLED_RISCS
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        empty_slots(vectors.of(risc));
        vectors.go_on_from(risc);
    }
}

#if KERNEL_PROFILER_HAS_NOC

/// Returns the third word of the vector of the core's first RISC.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t id_of_core(uint32_t words, uint32_t generation) {
    // The value is hidden from the compiler in order to keep the mask of the low bits as written.
    const uint32_t flat = hidden(read_word(words + 4 * FLAT_ID) & PROFILER_ID_FLAT_MASK);
    return generation << GENERATION_SHIFT | trace_field() | flat << PROFILER_ID_FLAT_SHIFT;
}

/// Resets the core's lanes, after the host has read everything in them.
///
/// The generation is written last, so that a host that reads in between finds no new words. If it
/// were written first, the host would take the words up to the old ends for new words.
inline __attribute__((noinline)) void take_lanes_back() {
    const uint32_t words = hidden(control_place());
    const uint32_t generation = read_word(words + 4 * GENERATION) + 1;
    write_word(words + 4 * SIGNATURE, SIGNATURE_VALUE);
    write_word(words + 4 * NOC_X, noc_x());
    write_word(words + 4 * NOC_Y, noc_y());
    write_word(words + 4 * FIRST_REFUSED_PROGRAM, 0);
    write_word(words + 4 * LAST_REFUSED_PROGRAM, 0);
    write_word(words + 4 * DROPPED_ZONES, 0);
    if constexpr (KERNEL_PROFILER_IS_NON_DROPPING != 0) {
        write_word(words + 4 * STALLED_IN_VAIN, 0);
    }
    uint32_t id = id_of_core(words, generation);
    Vectors<UNROLLED_LANES> vectors;
#pragma GCC unroll UNROLLED_LANES
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        write_word(words + 4 * (HOST_BUFFER_END_INDEX_BR_ER + risc), 0);
        write_word(words + 4 * (CONSUMED + risc), 0);
        const uint32_t vector = vectors.of(risc);
        write_word(vector, 0);
        write_word(vector + 4, 0);
        write_word(vector + ID_LH_BYTES, id);
        id = hidden(id + 1);
        vectors.go_on_from(risc);
    }
    write_word(words + 4 * GENERATION, generation);
}

/// Location of a core's lanes in DRAM.
struct Lanes {
    /// Size of each lane in words; 0 if the core has no lanes.
    uint32_t words;
    uint32_t bank;
    /// Address of the lane of the core's first RISC; the other lanes follow it.
    uint32_t address;
};

/// Reads the location of the lanes from the control vector at `control`. A core has no lanes if it
/// has no DRAM address, if its flat id exceeds the eight bits of the format, or if its bank does
/// not exist.
KERNEL_PROFILER_ALWAYS_INLINE Lanes lanes_of_core(uint32_t control) {
    const uint32_t region = read_word(control + 4 * DRAM_PROFILER_ADDRESS_DEFAULT);
    const uint32_t flat = read_word(control + 4 * FLAT_ID);
    const uint32_t cores = read_word(control + 4 * CORE_COUNT_PER_DRAM);
    if (__builtin_expect(region == 0 || cores == 0 || flat > PROFILER_ID_FLAT_MASK, 0)) {
        return {0, 0, 0};
    }
    const uint32_t bank = hidden(flat / cores);  // Else the remainder would be a second division.
    if (__builtin_expect(bank >= bank_count(), 0)) {
        return {0, 0, 0};
    }
    const uint32_t words = lane_words();
    const uint32_t before = (flat - bank * cores) * (LANE_STRIDE_RISCS * 4 * words);
    return {words, bank, hidden(region + before + bank_offset(bank))};
}

/// Position of a push in a lane.
struct Place {
    uint32_t position;
    /// Increment of HOST_END for the push; 0 if there is no room.
    uint32_t advance;
    /// End of the free room, which begins at the lane's end.
    uint32_t limit;
};

/// Finds room for `count` words in a lane of `capacity` words: after the lane's end or, if the host
/// has read enough words there, at the lane's beginning. `end` is the lane's HOST_END, `core` is
/// the address of control word r, where r is the RISC's index.
///
/// The end of a restarted lane never reaches words that the host has not read yet. A host position
/// beyond the lane's end thus always means unread words from before the restart.
KERNEL_PROFILER_ALWAYS_INLINE Place place_in_lane(uint32_t core, uint32_t end, uint32_t count, uint32_t capacity) {
    const bool can_turn = lane_words() <= TURNING_LANE_WORDS_MAX;
    const uint32_t position = can_turn ? end & TURN_MASK : end;
    // In accumulate mode, TT-Metal's host writes a 1 to the first CONSUMED word of dispatch cores.
    const uint32_t consumed = read_word(core + 4 * CONSUMED) & (DO_ACCUMULATE ? ~3u : ~0u);
    if (consumed > capacity) {
        return {position, 0, 0};
    }
    const bool is_behind = consumed > position;
    const uint32_t limit = is_behind ? consumed - 4 : capacity;
    if (position + count <= limit) {
        return {position, count, limit};
    }
    if (can_turn && !is_behind && count < consumed) {
        // The position is a multiple of four, so its lowest set bit is above the bits of the
        // end.
        return {0, (position << (32 - TURN_SHIFT) | count) - end, limit};
    }
    return {position, 0, limit};
}

#endif

}  // namespace detail
}  // namespace kernel_profiler
