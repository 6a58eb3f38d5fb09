/// \file
/// The begin and the end of a launch, and pushes to DRAM.
///
/// Every RISC begins with an empty ring and publishes how far it is filled. The aggregating one
/// (BRISC, the first Ethernet RISC) also prepares the vectors of all and pushes them.
///
/// # Compatibility
/// The order of stores that the host relies on: data in DRAM, HOST_END, counters, RUN_COUNTER,
/// PROFILER_DONE.

#pragma once

#include "ring.hpp"

namespace kernel_profiler {
namespace detail {

// Words of the control vector: upstream's, then ours.
constexpr uint32_t HOST_END = 0;
constexpr uint32_t DRAM_ADDRESS = 50;
constexpr uint32_t RUNS = 51;
constexpr uint32_t OWN_X = 52;
constexpr uint32_t OWN_Y = 53;
constexpr uint32_t FLAT = 54;
constexpr uint32_t CORES_PER_BANK = 55;
constexpr uint32_t DROPPED = 56;
constexpr uint32_t DONE = 57;
constexpr uint32_t IN_VAIN = 58;
constexpr uint32_t CONSUMED = 59;
constexpr uint32_t SIGNATURE = 5;
constexpr uint32_t SIGNATURE_VALUE = 0x4B504000;
constexpr uint32_t GENERATION = 7;
constexpr uint32_t SEEN_RUNS = 8;
constexpr uint32_t REFUSED_RUNS = 9;
constexpr uint32_t REFUSED_MARKERS = 14;
constexpr uint32_t FIRST_REFUSED = 19;
constexpr uint32_t LAST_REFUSED = 20;
constexpr uint32_t TIMED_OUT = 21;
constexpr uint32_t EMPTY_LAUNCHES = 22;
constexpr uint32_t ENABLES = 23;
constexpr uint32_t UNPUBLISHED = 43;

// Bits of HOST_END: where the lane ends, and above that where it ended when it began anew.
constexpr uint32_t TURN_SHIFT = 17;
constexpr uint32_t TURN_MASK = (1u << TURN_SHIFT) - 1;
/// Words of the largest lane that begins anew: with a larger one, the sum of HOST_END and of what
/// comes behind could overflow.
constexpr uint32_t TURNING_LANE_WORDS_MAX = TURN_MASK - 2 * PROFILER_L1_VECTOR_SIZE;

// Words of a vector, and fields of its third.
constexpr uint32_t ID_LH_BYTES = 8;
constexpr uint32_t ID_LL_BYTES = 12;
constexpr uint32_t FIXED_SLOTS_BYTES = 16;
constexpr uint32_t FLAT_SHIFT = 5;
constexpr uint32_t FLAT_MAX = 255;
constexpr uint32_t TRACE_SHIFT = 13;
constexpr uint32_t TRACE_MASK = 0xFFFF;
constexpr uint32_t GENERATION_SHIFT = 29;
constexpr uint32_t EMPTY_SLOT = 0x80000000;
/// Behind the slot of the end of the firmware's zone, which is empty within a launch.
constexpr uint32_t IN_VAIN_BYTES = 28;

/// Polls of the NoC at most, some ten milliseconds of them. What they wait for takes microseconds
/// unless the chip is stuck.
constexpr uint32_t NOC_POLLS = 1 << 20;
/// Polls at most of a word in which another RISC publishes its ring. It does so some hundred cycles
/// after it has said that its kernel is done.
constexpr uint32_t PUBLICATION_POLLS = 1 << 12;

KERNEL_PROFILER_ALWAYS_INLINE uint32_t control(uint32_t index) { return read_word(control_place() + 4 * index); }

KERNEL_PROFILER_ALWAYS_INLINE void set_control(uint32_t index, uint32_t value) {
    write_word(control_place() + 4 * index, value);
}

/// Adds to a word.
KERNEL_PROFILER_ALWAYS_INLINE void add_to_word(uint32_t place, uint32_t amount) {
    write_word(place, read_word(place) + amount);
}

/// Waits until a word at a place is (or is not) 0, not forever. Returns what stands there.
template <bool IS_ZERO_WANTED, uint32_t POLLS>
KERNEL_PROFILER_ALWAYS_INLINE uint32_t await_word(uint32_t place) {
    uint32_t word = read_word(place);
    for (uint32_t polls = POLLS; __builtin_expect((word == 0) != IS_ZERO_WANTED && polls != 0, 0); --polls) {
        forget_cached();
        word = read_word(place);
    }
    return word;
}

/// Waits until a register at a place is 0, not forever. Returns what stands there. Smaller than
/// `await_word`, and slower where it is 0 at once.
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

// Loops over RISCs: unrolled where a kernel or firmware is built to be fast.
#if defined(__OPTIMIZE_SIZE__)
constexpr int UNROLLED_RISCS = 1;
#else
constexpr int UNROLLED_RISCS = 5;
#endif

KERNEL_PROFILER_ALWAYS_INLINE uint32_t trace_field() {
    if constexpr (HAS_TRACE_COUNT) {
        return (traceCount & TRACE_MASK) << TRACE_SHIFT;
    }
    return 0;
}

/// Empties the fixed slots of a run. A Wormhole takes five cycles for each word, so that it gets
/// the first of each slot alone, which says that it is empty; on a Blackhole, neighbours merge.
KERNEL_PROFILER_ALWAYS_INLINE void empty_slots(uint32_t run) {
    constexpr uint32_t STEP_BYTES = IS_BLACKHOLE ? 4 : 8;
#pragma GCC unroll 8
    for (uint32_t offset = FIXED_SLOTS_BYTES; offset < FIRST_OPTIONAL_BYTES; offset += STEP_BYTES) {
        write_word(run + offset, EMPTY_SLOT);
    }
}

/// Empties the fixed slots of all vectors.
KERNEL_PROFILER_ALWAYS_INLINE void empty_fixed_slots() {
    uint32_t vector = hidden(first_vector());
#pragma GCC unroll UNROLLED_RISCS
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        empty_slots(vector);
        vector = hidden(vector + PROFILER_L1_BUFFER_SIZE);
    }
}

#if KERNEL_PROFILER_HAS_NOC

/// The third word of the vector of the core's first RISC.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t id_of_core(uint32_t words, uint32_t generation) {
    const uint32_t flat = read_word(words + 4 * FLAT) & FLAT_MAX;
    return generation << GENERATION_SHIFT | trace_field() | flat << FLAT_SHIFT;
}

/// Hands the core's lanes back to the device: the host has read everything that is in them.
///
/// The generation comes last: a host that reads in between then finds nothing new, and not the old
/// ends as words of the new generation.
inline __attribute__((noinline)) void take_lanes_back() {
    const uint32_t words = hidden(control_place());
    const uint32_t generation = read_word(words + 4 * GENERATION) + 1;
    write_word(words + 4 * SIGNATURE, SIGNATURE_VALUE);
    write_word(words + 4 * OWN_X, noc_x());
    write_word(words + 4 * OWN_Y, noc_y());
    write_word(words + 4 * FIRST_REFUSED, 0);
    write_word(words + 4 * LAST_REFUSED, 0);
    write_word(words + 4 * DROPPED, 0);
    if constexpr (KERNEL_PROFILER_IS_NON_DROPPING != 0) {
        write_word(words + 4 * IN_VAIN, 0);
    }
    const uint32_t id = id_of_core(words, generation);
    uint32_t vector = hidden(first_vector());
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        write_word(words + 4 * (HOST_END + risc), 0);
        write_word(words + 4 * (CONSUMED + risc), 0);
        write_word(vector, 0);
        write_word(vector + 4, 0);
        write_word(vector + ID_LH_BYTES, id | risc);
        vector += PROFILER_L1_BUFFER_SIZE;
    }
    write_word(words + 4 * GENERATION, generation);
}

/// Returns true as soon as a command buffer takes commands, and false if it does not.
KERNEL_PROFILER_ALWAYS_INLINE bool is_ready(uint32_t buffer) {
    return __builtin_expect(await_word<true, NOC_POLLS>(buffer + CMD_CTRL) == 0, 1);
}

/// Makes an idle command buffer write to a bank of DRAM, with answers to this tile and under an id
/// of our own.
KERNEL_PROFILER_ALWAYS_INLINE void begin_pushes(uint32_t noc, uint32_t buffer, uint32_t bank) {
    write_word(buffer + PACKET_TAG, PUSH_PACKET_TAG);
    write_word(buffer + CTRL, CTRL_ANSWERED_WRITE);
    const uint32_t own = hidden(read_word(noc + OWN_COORDINATES) << OWN_COORDINATES_SHIFT);
    write_word(buffer + TARG_COORDINATE, own >> (OWN_COORDINATES_SHIFT - COORDINATE_SHIFT));
    write_word(buffer + RET_COORDINATE, bank_coordinates(bank));
    if constexpr (IS_BLACKHOLE) {
        write_word(buffer + TARG_ADDR_MID, 0);
        write_word(buffer + RET_ADDR_MID, 0);
    }
}

/// Sends through an idle command buffer.
KERNEL_PROFILER_ALWAYS_INLINE void push(uint32_t buffer, uint32_t from, uint32_t to, uint32_t word_count) {
    write_word(buffer + TARG_ADDR_LO, from);
    write_word(buffer + RET_ADDR_LO, to);
    write_word(buffer + AT_LEN_BE, 4 * word_count);
    write_word(buffer + CMD_CTRL, 1);
}

/// Waits for the answers to our pushes and to nothing else. False if they do not come.
KERNEL_PROFILER_ALWAYS_INLINE bool await_pushes(uint32_t noc) {
    return await_word<true, NOC_POLLS>(noc + PUSHES_OUTSTANDING) == 0;
}

/// Returns when the store to a place and those before it are in L1: one to a register may overtake
/// them, but not a load of them that is consumed.
KERNEL_PROFILER_ALWAYS_INLINE void settle(uint32_t place) {
    __asm__ volatile("mv zero, %0" : : "r"(read_word(place)) : "memory");
}

/// Pads a run, of which so many words are there, to a whole number of pushed units.
KERNEL_PROFILER_ALWAYS_INLINE void pad(uint32_t vector, uint32_t word_count) {
    if ((word_count & 2) != 0) {
        const uint32_t place = vector + 4 * word_count;
        write_word(place, EMPTY_SLOT);
        write_word(place + 4, 0);
        settle(place + 4);
    }
}

constexpr uint32_t padded(uint32_t word_count) { return (word_count + 2) & ~3u; }

/// Where a core's lanes lie in DRAM.
struct Lanes {
    /// Words of each; 0 if the host has given the core none.
    uint32_t words;
    uint32_t bank;
    /// Address of the lane of the core's first RISC; the other lanes follow.
    uint32_t address;
};

/// Reads the lanes that the host has set up: a core without a DRAM address, with a flat id beyond
/// the format's eight bits or in a bank that does not exist has no lanes. `control` is the address
/// of the control vector.
KERNEL_PROFILER_ALWAYS_INLINE Lanes lanes_of_core(uint32_t control) {
    const uint32_t region = read_word(control + 4 * DRAM_ADDRESS);
    const uint32_t flat = read_word(control + 4 * FLAT);
    const uint32_t cores = read_word(control + 4 * CORES_PER_BANK);
    if (__builtin_expect(region == 0 || cores == 0 || flat > FLAT_MAX, 0)) {
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

/// Where words go in a lane.
struct Place {
    uint32_t position;
    /// Words that they add to HOST_END; 0 if there is no room for them.
    uint32_t advance;
    /// Where the room at the lane's end ends.
    uint32_t limit;
};

/// Finds a place in a lane of `capacity` words, behind its end or, where the host has read so many
/// words at its beginning, there. `end` is its HOST_END, `core` the address of the RISC's first
/// control word.
///
/// A lane that began anew ends below the words that the host has not read of the time before. It
/// never reaches them, so that a host that has read them stands at or before the lane's end.
KERNEL_PROFILER_ALWAYS_INLINE Place place_in_lane(uint32_t core, uint32_t end, uint32_t count, uint32_t capacity) {
    const bool can_turn = lane_words() <= TURNING_LANE_WORDS_MAX;
    const uint32_t position = can_turn ? end & TURN_MASK : end;
    // Upstream's host writes a 1 to the first such word of a dispatch core in accumulate mode.
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
        // The place is a multiple of four, so that its bits begin where those of the end are over.
        return {0, (position << (32 - TURN_SHIFT) | count) - end, limit};
    }
    return {position, 0, limit};
}

#endif

}  // namespace detail
}  // namespace kernel_profiler

#include "stall.hpp"
#include "accumulate.hpp"

namespace kernel_profiler {
namespace detail {

#if KERNEL_PROFILER_HAS_NOC

/// Counts the records of a RISC's run of `run` words that DRAM did not take; it took the first
/// `stored` words. `words` is the address of the control vector, `core` that of the RISC's first
/// control word.
KERNEL_PROFILER_ALWAYS_INLINE void refuse(uint32_t words, uint32_t core, uint32_t run, uint32_t stored) {
    add_to_word(core + 4 * REFUSED_RUNS, 1);
    // The ID words are no markers, stored or not.
    add_to_word(core + 4 * REFUSED_MARKERS, (run - (stored == 0 ? 4 : stored)) / 2);
    const uint32_t risc = (core - words) / 4;
    const uint32_t program = read_word(first_vector() + PROFILER_L1_BUFFER_SIZE * risc + ID_LL_BYTES);
    const uint32_t dropped = read_word(words + 4 * DROPPED);
    if (dropped == 0) {
        write_word(words + 4 * FIRST_REFUSED, program);
    }
    write_word(words + 4 * LAST_REFUSED, program);
    write_word(words + 4 * DROPPED, dropped | 1u << risc);
}

/// Writes that were sent.
struct Sent {
    uint32_t writes;
    /// True if the command buffer stayed busy, so that some were not.
    bool is_stuck;
};

/// Sends what the RISCs of this core have published: all of a run, or the fixed slots, or nothing,
/// whatever its lane can take; nothing any more once the command buffer has stayed busy. Leaves in
/// `stored` what that adds to HOST_END: the words, or more where the lane begins anew; 0 of a RISC
/// that has published nothing.
KERNEL_PROFILER_ALWAYS_INLINE Sent send_published(uint32_t noc, uint32_t buffer, uint32_t words, uint32_t* stored) {
    Lanes lanes = lanes_of_core(words);
    uint32_t capacity = lanes.words;
    uint32_t address = lanes.address;
    bool is_stuck = !is_ready(buffer);
    if (__builtin_expect(is_stuck, 0)) {
        capacity = 0;
    } else {
        begin_pushes(noc, buffer, lanes.bank);
    }
    uint32_t writes = 0;
    uint32_t vector = hidden(first_vector());
    const uint32_t end_of_cores = words + 4 * risc_count();
    for (uint32_t core = words; core != end_of_cores; core += 4) {
        uint32_t run = read_word(core + 4 * DEVICE_END);
        uint32_t sent = 0;
        // Where launches share pushes, their runs have been waited for.
        if (!DO_ACCUMULATE && __builtin_expect(run == 0, 0)) {
            if ((read_word(words + 4 * ENABLES) >> ((core - words) / 4) & 1) != 0) {
                run = await_word<false, PUBLICATION_POLLS>(core + 4 * DEVICE_END);
                if (run == 0) {
                    add_to_word(core + 4 * UNPUBLISHED, 1);
                }
            }
        }
        bool is_sent = run != 0;
        if (is_sent) {
            uint32_t position = read_word(core + 4 * HOST_END);
            uint32_t count = padded(run);
            sent = count;
            if (__builtin_expect(position + count > capacity, 0)) {
                Place place = place_in_lane(core, position, count, capacity);
                position = place.position;
                sent = place.advance;
                if (!DO_ACCUMULATE && sent == 0 && position + CUSTOM_MARKERS <= place.limit) {
                    count = CUSTOM_MARKERS;
                    sent = count;
                }
                is_sent = sent != 0;
            }
            if (is_sent) {
                pad(vector, run);
                if (__builtin_expect(!is_ready(buffer), 0)) {
                    is_stuck = true;
                    capacity = 0;
                    sent = 0;
                } else {
                    push(buffer, vector, address + 4 * position, count);
                    ++writes;
                }
            }
        }
        *stored++ = sent;
        address += 4 * capacity;
        vector += PROFILER_L1_BUFFER_SIZE;
    }
    return {writes, is_stuck};
}

/// Pushes what the RISCs of this core have published and says so to the host.
KERNEL_PROFILER_ALWAYS_INLINE void push_published() {
    forget_cached();
    const uint32_t noc = hidden(noc_place());
    const uint32_t buffer = hidden(command_buffer_place());
    const uint32_t words = hidden(control_place());
#if KERNEL_PROFILER_IS_NON_DROPPING
    await_lanes(words);
#endif
    uint32_t stored[LANE_STRIDE_RISCS];
    Sent pushes = send_published(noc, buffer, words, stored);
    count_writes(pushes.writes);
    const bool has_arrived = !pushes.is_stuck && await_pushes(noc);
    if (__builtin_expect(!has_arrived, 0)) {
        add_to_word(words + 4 * TIMED_OUT, 1);
        for (uint32_t& sent : stored) {
            sent = 0;
        }
    }
    // A command buffer that is still busy belongs to its packet.
    if (__builtin_expect(has_arrived || read_word(buffer + CMD_CTRL) == 0, 1)) {
        write_word(buffer + PACKET_TAG, 0);
    }
    const uint32_t* sent = stored;
    const uint32_t end_of_cores = words + 4 * risc_count();
    for (uint32_t core = words; core != end_of_cores; core += 4) {
        const uint32_t run = read_word(core + 4 * DEVICE_END);
        add_to_word(core + 4 * HOST_END, *sent);
        if (__builtin_expect(*sent < run, 0)) {
#if KERNEL_PROFILER_IS_ACCUMULATING
            refuse_runs(words, core, run);
#else
            refuse(words, core, run, *sent);
#endif
        }
        write_word(core + 4 * DEVICE_END, 0);
        ++sent;
    }
    add_to_word(words + 4 * RUNS, 1);
    write_word(words + 4 * DONE, 1);
}

#if KERNEL_PROFILER_IS_ACCUMULATING

/// Pushes all vectors, and leaves the zone of that in this RISC's if a launch of `longest` words
/// finds room beside it.
inline __attribute__((noinline)) void push_runs(uint32_t longest) {
    Clock started = Clock::now(TILE_REGISTERS);
    push_published();
    if (longest <= PROFILER_L1_VECTOR_SIZE - CUSTOM_MARKERS) {
        write_push_zone(started);
    }
}

/// Ends a launch on the aggregating RISC: waits for the runs of the others, and pushes what has
/// accumulated if another launch like this one might not fit. Prepares the next launch.
inline __attribute__((noinline)) void end_runs() {
    const uint32_t words = hidden(control_place());
    Filled filled = await_runs(words);
    if (filled.fullest + filled.longest > PROFILER_L1_VECTOR_SIZE) {
        push_runs(filled.longest);
    } else {
        write_word(words + 4 * DONE, 1);
    }
    prepare_runs(words);
}

#endif

#endif

}  // namespace detail

/// Begins a launch on this RISC.
static inline void init_profiler(uint16_t = 0, uint16_t = 0, uint16_t = 0) {
    using namespace detail;
#if KERNEL_PROFILER_HAS_NOC && KERNEL_PROFILER_IS_ACCUMULATING
    if (is_aggregator()) {
        begin_runs();
    }
#endif
    if constexpr (DO_ACCUMULATE) {
        forget_cached();  // Another RISC has said where this one's run begins.
    }
    const uint32_t before = bytes_before_run(own_place());
    wIndex = own_vector() + before + FIRST_OPTIONAL_BYTES;
    stackSize = OPTIONAL_BYTES - before;
    if constexpr (KERNEL_PROFILER_IS_NON_DROPPING != 0) {
        write_word(own_vector() + IN_VAIN_BYTES, 0);
    }
    if constexpr (DO_SUM) {
        // No instruction: gcc lays variables out by where they are named first, and would leave a
        // hole before these.
        __asm__ volatile("" : : "i"(sums), "i"(sumIDs));
    }
#if KERNEL_PROFILER_HAS_NOC && !KERNEL_PROFILER_IS_ACCUMULATING
    if (is_aggregator()) {
        const uint32_t runs = control(RUNS);
        const uint32_t seen_runs = control(SEEN_RUNS);
        set_control(DONE, 0);
        empty_fixed_slots();
        if (runs == seen_runs) {
            take_lanes_back();
        }
    }
#endif
}

/// Says which RISCs have a kernel in this launch; if none, nothing of it is pushed.
template <typename Enables>
KERNEL_PROFILER_ALWAYS_INLINE void set_profiler_zone_valid(Enables enables) {
    detail::set_control(detail::DONE, static_cast<uint32_t>(enables) == 0);
    detail::set_control(detail::ENABLES, static_cast<uint32_t>(enables));
}

/// Adds this RISC to those of the launch, or makes the whole launch leave nothing.
KERNEL_PROFILER_ALWAYS_INLINE void set_profiler_zone_valid(bool is_valid) {
    using namespace detail;
    if (is_valid) {
        set_control(ENABLES, control(ENABLES) | 1u << ((own_place() - control_place()) / 4));
    }
    set_control(DONE, !is_valid);
}

KERNEL_PROFILER_ALWAYS_INLINE bool get_profiler_zone_invalid() { return detail::control(detail::DONE) == 1; }

/// Sets the program id of this launch for all RISCs of the core.
KERNEL_PROFILER_ALWAYS_INLINE void set_host_counter(uint32_t program_id) {
    using namespace detail;
    if constexpr (!IS_TOLD_ENABLES) {
        set_control(ENABLES, launch_enables());
    }
    uint32_t vector = hidden(first_vector());
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        write_word(vector + bytes_before_run(control_place() + 4 * risc) + ID_LL_BYTES, program_id);
        vector += PROFILER_L1_BUFFER_SIZE;
    }
}

/// Counts a trace replay.
KERNEL_PROFILER_ALWAYS_INLINE void increment_trace_count() {
    using namespace detail;
    traceCount = traceCount + 1;
    if constexpr (DO_ACCUMULATE) {
        return;  // The next launch prepares its runs anew, and those before keep their count.
    }
    uint32_t vector = hidden(first_vector()) + ID_LH_BYTES;
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        write_word(vector, (read_word(vector) & ~(TRACE_MASK << TRACE_SHIFT)) | trace_field());
        vector += PROFILER_L1_BUFFER_SIZE;
    }
}

/// Nothing: trace-only mode is upstream's.
KERNEL_PROFILER_ALWAYS_INLINE void trace_only_init() {}

/// Ends a launch on this RISC: publishes its ring; the aggregating RISC pushes.
///
/// A RISC that comes after the push publishes no more: its markers would look like the next
/// launch's.
static inline void finish_profiler(bool = false) {
    using namespace detail;
    // Read first and asked for last: L1 takes its time.
    const uint32_t done = control(DONE);
    uint32_t place = wIndex;
    if constexpr (DO_SUM) {
        for (int index = 0; index < SUM_COUNT; ++index) {
            const uint32_t total = sumIDs[index];
            if (total != 0) {
                write_word(place, total);
                write_word(place + 4, sums[index]);
                place += MARKER_BYTES;
                sumIDs[index] = 0;
                sums[index] = 0;
            }
        }
    }
    uint32_t words = (place - own_vector()) / 4;
    __asm__ volatile("" : "+r"(words));
    if (done != 0) {
        if (is_aggregator()) {
            add_to_word(control_place() + 4 * EMPTY_LAUNCHES, 1);
            if constexpr (DO_ACCUMULATE) {
                empty_slots(own_run());  // The firmware has begun a run that is none.
            }
        }
        return;
    }
    if constexpr (DO_ACCUMULATE) {
        publish_run(place, words);
    } else {
        write_word(own_place() + 4 * DEVICE_END, words);
    }
#if KERNEL_PROFILER_HAS_NOC
    if (is_aggregator()) {
#if KERNEL_PROFILER_IS_ACCUMULATING
        end_runs();
#else
        push_published();
#endif
    }
#endif
}

/// Pushes what this RISC has recorded so far and begins a new run.
///
/// Does nothing where a push is not possible: on a TRISC, in accumulate mode, while the NoC holds a linked
/// transaction, while an earlier push is stuck, when the lane could not take the end of the launch
/// afterwards. The markers then stay, and the launch's end decides about them. The zone
/// PROFILER-NOC-QUICK-PUSH shows what the push cost; it is the first record of the new run.
inline __attribute__((noinline, cold)) void quick_push() {
#if KERNEL_PROFILER_HAS_NOC && !KERNEL_PROFILER_IS_ACCUMULATING
    using namespace detail;
#if KERNEL_PROFILER_IS_NON_DROPPING
    if (has_given_up()) {
        return;
    }
#endif
    const uint32_t vector = hidden(own_vector());
    uint32_t place = wIndex;
    const uint32_t used = place - vector - FIRST_OPTIONAL_BYTES;
    if (used == 0 || used > PROFILER_L1_BUFFER_SIZE) {
        return;
    }
    const uint32_t noc = hidden(noc_place());
    for (uint32_t number = 0; number < 4; ++number) {
        if ((read_word(noc + (number << COMMAND_BUFFER_SHIFT) + CTRL) & CTRL_LINKED) != 0) {
            return;
        }
    }
    forget_cached();
    const uint32_t words = hidden(control_place());
    const uint32_t core = hidden(own_place());
    const uint32_t end = read_word(core + 4 * HOST_END);
    const uint32_t run = (place - vector) / 4;
    const uint32_t count = padded(run);
    Lanes lanes = lanes_of_core(words);
    if (lanes.words == 0) {
        return;
    }
#if KERNEL_PROFILER_IS_NON_DROPPING
    Stall stall = await_own_lane(words, core, count + CUSTOM_MARKERS, lanes.words);
    if (stall.is_over && stall.has_waited && load_room() >= 0) {
        write_stall(place, stall.started, Clock::now(TILE_REGISTERS));
        wIndex = place + ZONE_BYTES;
        store_room(load_room() - ZONE_BYTES);
        return;
    }
#endif
    Place in_lane = place_in_lane(core, end, count + CUSTOM_MARKERS, lanes.words);
    if (in_lane.advance == 0) {
        return;
    }
    settle(place - 4);
    pad(vector, run);
    const uint32_t end_behind = hidden(end + in_lane.advance - CUSTOM_MARKERS);
    const uint32_t to = hidden(lanes.address + (core - words) * lanes.words + 4 * in_lane.position);
    // Another RISC may be pushing through the same NoC; but if a push is stuck, no call waits long.
    if (await_zero<PUBLICATION_POLLS>(noc + PUSHES_OUTSTANDING) != 0) {
        return;
    }
    Clock started = Clock::now(TILE_REGISTERS);
    const uint32_t buffer = hidden(command_buffer_place());
    if (await_zero<NOC_POLLS>(buffer + CMD_CTRL) != 0) {
        return;
    }
    // The kernel may be in the middle of preparing a transaction of its own.
    constexpr uint32_t REGISTERS = AT_LEN_BE / 4 + 1;
    const auto exists = [](uint32_t index) {
        return IS_BLACKHOLE || (4 * index != TARG_ADDR_HI && 4 * index != RET_ADDR_HI);
    };
    uint32_t saved[REGISTERS];
#pragma GCC unroll 9
    for (uint32_t index = 0; index < REGISTERS; ++index) {
        if (exists(index)) {
            saved[index] = read_word(buffer + 4 * index);
        }
    }
    begin_pushes(noc, buffer, lanes.bank);
    push(buffer, vector, to, count);
    count_writes(1);
    const bool has_arrived = await_zero<NOC_POLLS>(noc + PUSHES_OUTSTANDING) == 0;
    if (!has_arrived && read_word(buffer + CMD_CTRL) != 0) {
        return;  // A command buffer that is still busy belongs to its packet.
    }
    saved[CTRL / 4] &= ~CTRL_RESERVED;
#pragma GCC unroll 9
    for (uint32_t index = 0; index < REGISTERS; ++index) {
        if (exists(index)) {
            write_word(buffer + 4 * index, saved[index]);
        }
    }
    if (!has_arrived) {
        return;
    }
    write_word(core + 4 * HOST_END, end_behind);
    int32_t room = load_room() + static_cast<int32_t>(used);
    place = vector + FIRST_OPTIONAL_BYTES;
#if KERNEL_PROFILER_IS_NON_DROPPING
    if (stall.has_waited) {
        write_stall(place, stall.started, started);
        place += ZONE_BYTES;
        room -= ZONE_BYTES;
    }
#endif
    if (room >= ZONE_BYTES) {  // Else hundreds of zones are open.
        // On one line, as the log names it.
        KERNEL_PROFILER_SITE("PROFILER-NOC-QUICK-PUSH") constexpr uint32_t ID = KERNEL_PROFILER_ID("PROFILER-NOC-QUICK-PUSH");
        write_zone(place, ID, started, Clock::now(TILE_REGISTERS));
        place += ZONE_BYTES;
        room -= ZONE_BYTES;
    }
    wIndex = place;
    stackSize = static_cast<uint32_t>(room);
#endif
}

/// Pushes before a linked transaction begins on a command buffer: while it lasts, none is possible.
inline void quick_push_if_linked(uint32_t cmd_buf, bool linked) {
#if KERNEL_PROFILER_HAS_NOC
    using namespace detail;
    if (linked && (read_word(noc_place() + ((cmd_buf & 3) << COMMAND_BUFFER_SHIFT) + CTRL) & CTRL_LINKED) == 0) {
        quick_push();
    }
#endif
}

namespace detail {

/// Writes what a kernel has added up. Defined behind the probes that it needs.
template <uint32_t index>
KERNEL_PROFILER_ALWAYS_INLINE void end_kernel();

}  // namespace detail

/// The firmware's zone (index 0), which begins and ends the launch, or the kernel's within it:
/// their markers have slots of their own.
template <uint32_t timer_id, uint32_t index>
struct profileScopeGuaranteed {
    static constexpr uint32_t start_index = 4 + 4 * index;
    static constexpr uint32_t end_index = start_index + 2;
    static_assert(end_index < CUSTOM_MARKERS, "index 0 or 1");

    KERNEL_PROFILER_ALWAYS_INLINE profileScopeGuaranteed() {
        if constexpr (index == 0) {
            init_profiler();
        }
        detail::write_fixed(start_index, detail::prefix(ZONE_START, timer_id));
    }

    KERNEL_PROFILER_ALWAYS_INLINE ~profileScopeGuaranteed() {
        detail::write_fixed(end_index, detail::prefix(ZONE_END, timer_id));
        if constexpr (index == 0) {
            finish_profiler();
        } else {
            detail::end_kernel<index>();
        }
    }

    profileScopeGuaranteed(const profileScopeGuaranteed&) = delete;
    profileScopeGuaranteed& operator=(const profileScopeGuaranteed&) = delete;
};

namespace detail {

/// Returns true if a name ends in `ending`: as a firmware's of the launch ("BRISC-FW") or a wrapper's
/// of the kernel ("BRISC-KERNEL"), whose slots nothing else has taken.
constexpr bool ends_in(const char* name, const char* ending) {
    size_t length = 0;
    while (name[length] != '\0') {
        ++length;
    }
    size_t wanted = 0;
    while (ending[wanted] != '\0') {
        ++wanted;
    }
    for (size_t index = 0; index < wanted; ++index) {
        if (length < wanted || name[length - wanted + index] != ending[index]) {
            return false;
        }
    }
    return true;
}

/// The kind of a zone for which a fixed place is asked: the launch's own zones have it.
template <uint32_t timer_id, uint32_t index, bool is_of_launch>
struct FixedZone {
    using Scope = profileScopeGuaranteed<timer_id, index>;
};

/// A kernel's zone is an ordinary one: in the fixed place it would end the launch's own early.
template <uint32_t timer_id, uint32_t index>
struct FixedZone<timer_id, index, false> {
    using Scope = profileScope<timer_id, DoingDispatch::NOT_DISPATCH>;
};

}  // namespace detail

/// As profileScopeGuaranteed, which knows of accumulate mode.
template <uint32_t timer_id, uint32_t index>
struct profileScopeMainAccumulate : profileScopeGuaranteed<timer_id, index> {};

}  // namespace kernel_profiler
