/// \file
/// Accumulate mode: one push transfers the runs of several launches.
///
/// launch.hpp includes this file instead of plain.hpp. Each launch appends one run to the vector of
/// each of its RISCs. All vectors are pushed as soon as one of them might lack room for another
/// launch of the same length:
///
///              0        12                                      DEVICE_END       512
///              +--------+---------------+---------------+-------+-------------------+
///     BRISC's  | push   | run           | run           | run   | free              |
///              +--------+---------------+---------------+-------+-------------------+
///
/// The zone PROFILER-DRAM-PUSH shows the cost of the previous push, including its wait for the NoC.
/// The zone is stored as a run without a program at the beginning of BRISC's vector, and is sent
/// with the next push. The zone is omitted if a single launch fills the vector. Runs that have not
/// been pushed when the last program ends stay in L1, where the host reads them.
///
/// The runs of the next launch are prepared at the end of a launch, when no RISC waits. DEVICE_END
/// holds the number of words in a RISC's vector, which is the index at which its next run begins.
/// From the publication of a run until its launch ends, the high half of DEVICE_END holds the words
/// of that run. TT-Metal's host reads L1 between launches, and so finds the same there as with
/// TT-Metal's firmware: a number of words.
///
/// Nothing is pushed while a kernel runs. At a push, a lane takes either all accumulated runs or
/// none of them.
///
/// # Compatibility
/// PROFILER_OPT_DO_ACCUMULATE of TT-Metal's `kernel_profiler.hpp`, which writes one run header for
/// all launches, stores the zones of firmware and kernels as records, and omits the ids, data and
/// sums of programs, and the count of launches without kernels.

#pragma once

#include "push.hpp"

namespace kernel_profiler {
namespace detail {

/// Publishes this RISC's run. `place` is the address of the run's end, and `words` is the number of
/// words from the beginning of the vector to that end.
KERNEL_PROFILER_ALWAYS_INLINE void publish_run(uint32_t place, uint32_t words) {
    if ((words & 2) != 0) {
        write_word(place, EMPTY_SLOT);
        write_word(place + 4, 0);
        words += 2;
    }
    const uint32_t length = words - bytes_before_run(own_place()) / 4;
    write_word(own_place() + 4 * DEVICE_BUFFER_END_INDEX_BR_ER, words | length << RUN_WORDS_SHIFT);
}

/// Empties the slots of a run that the firmware has begun but no kernel has filled.
KERNEL_PROFILER_ALWAYS_INLINE void leave_no_run() { empty_slots(own_run()); }

/// Makes visible what another RISC has written to the beginning of this RISC's run.
KERNEL_PROFILER_ALWAYS_INLINE void prepare_own_run() { forget_cached(); }

#if KERNEL_PROFILER_HAS_NOC

KERNEL_PROFILER_SITE("PROFILER-DRAM-PUSH") constexpr uint32_t PUSH_ID = KERNEL_PROFILER_ID("PROFILER-DRAM-PUSH");

/// Prepares a run in every vector of the core. `words` is the address of the control vector.
inline __attribute__((noinline)) void prepare_runs(uint32_t words) {
    const uint32_t id = id_of_core(words, read_word(words + 4 * GENERATION));
    uint32_t vector = hidden(first_vector());
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        const uint32_t run = vector + bytes_before_run(words + 4 * risc);
        write_word(run, 0);
        write_word(run + 4, 0);
        write_word(run + ID_LH_BYTES, id | risc);
        empty_slots(run);
        vector += PROFILER_L1_BUFFER_SIZE;
    }
}

/// Begins a launch on the RISC that pushes for its core, with the runs that the previous launch
/// prepared. Prepares the runs itself in the first launch, after a host has read the vectors, and
/// if the generation or the replay count has changed.
inline __attribute__((noinline)) void begin_launch() {
    const uint32_t words = hidden(control_place());
    const uint32_t runs = read_word(words + 4 * RUN_COUNTER);
    const uint32_t seen_runs = read_word(words + 4 * SEEN_RUNS);
    const uint32_t before = bytes_before_run(words);
    write_word(words + 4 * PROFILER_DONE, 0);
    // Runs that wait in L1 belong to the generation in which they were recorded. This RISC takes
    // part in every launch, so if its vector is empty, no run waits in any vector.
    if (runs == seen_runs && before <= 4 * CUSTOM_MARKERS) {
        take_lanes_back();
    }
    const uint32_t run = first_vector() + before;
    const uint32_t id = id_of_core(words, read_word(words + 4 * GENERATION));
    if (read_word(run + FIXED_SLOTS_BYTES) != EMPTY_SLOT || read_word(run + ID_LH_BYTES) != id) {
        prepare_runs(words);
    }
}

/// Numbers of words in the vectors at the end of a launch.
struct Filled {
    /// Number of words in the fullest vector.
    uint32_t fullest;
    /// Number of words in the launch's longest run, but at least the minimum for any launch.
    uint32_t longest;
};

/// Waits, up to a limit, until each RISC with a kernel in this launch has published its run. Counts
/// each run that is late.
KERNEL_PROFILER_ALWAYS_INLINE Filled await_runs(uint32_t words) {
    const uint32_t enables = read_word(words + 4 * SCRATCH) | 1;
    Filled filled = {0, LEAST_FREE_WORDS};
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        const uint32_t place = words + 4 * (DEVICE_BUFFER_END_INDEX_BR_ER + risc);
        uint32_t end = read_word(place);
        for (uint32_t polls = PUBLICATION_POLLS; (enables >> risc & 1) != 0 && end <= END_MASK; --polls) {
            if (polls == 0) {
                add_to_word(words + 4 * (LATE_RUNS - 1 + risc), 1);
                break;
            }
            forget_cached();
            end = read_word(place);
        }
        const uint32_t length = end >> RUN_WORDS_SHIFT;
        filled.longest = length > filled.longest ? length : filled.longest;
        end &= END_MASK;
        filled.fullest = end > filled.fullest ? end : filled.fullest;
        write_word(place, end);
    }
    return filled;
}

/// Writes the zone of a push that began at `started` to the beginning of this RISC's vector, after
/// the vector has been pushed. The other ID words already have their values.
KERNEL_PROFILER_ALWAYS_INLINE void write_push_zone(Clock started) {
    const uint32_t vector = hidden(first_vector());
    write_word(vector + ID_LL_BYTES, 0);
    empty_slots(vector);
    write_zone(vector + FIXED_SLOTS_BYTES, PUSH_ID, started, Clock::now(TILE_REGISTERS));
    write_word(control_place() + 4 * DEVICE_BUFFER_END_INDEX_BR_ER, CUSTOM_MARKERS);
}

/// Counts the runs and markers in the first `count` words of a RISC's vector as refused, because
/// they were not stored in DRAM. Empty slots count as markers; padding does not. The zone of a push
/// does not count as a run. `core` is the address of control word r, where r is the RISC's index;
/// `words` is the address of the control vector.
inline __attribute__((noinline)) void refuse_runs(uint32_t words, uint32_t core, uint32_t count) {
    constexpr uint32_t SLOTS = (CUSTOM_MARKERS - GUARANTEED_MARKER_1_H) / PROFILER_L1_MARKER_UINT32_SIZE;
    const uint32_t risc = (core - words) / 4;
    uint32_t place = first_vector() + PROFILER_L1_BUFFER_SIZE * risc;
    const uint32_t end = place + 4 * (count < PROFILER_L1_VECTOR_SIZE ? count : PROFILER_L1_VECTOR_SIZE);
    const uint32_t dropped = read_word(words + 4 * DROPPED_ZONES);
    bool is_first = dropped == 0;
    while (place < end) {
        const uint32_t header = read_word(place);
        if ((header & PROFILER_MARKER_VALID) != 0) {
            const uint32_t type = header >> PACKET_TYPE_SHIFT & PROFILER_TIMER_PACKET_TYPE_MASK;
            const uint32_t markers = type == TS_DATA ? 2 : type == TS_DATA_16B ? 3 : 1;
            if (header != EMPTY_SLOT) {
                add_to_word(core + 4 * REFUSED_MARKERS, markers);
            }
            place += MARKER_BYTES * markers;
            continue;
        }
        if ((read_word(place + FIXED_SLOTS_BYTES) & ~PROFILER_MARKER_TS_HIGH_MASK) != prefix(ZONE_START, PUSH_ID)) {
            const uint32_t program = read_word(place + ID_LL_BYTES);
            if (is_first) {
                write_word(words + 4 * FIRST_REFUSED_PROGRAM, program);
                is_first = false;
            }
            write_word(words + 4 * LAST_REFUSED_PROGRAM, program);
            write_word(words + 4 * DROPPED_ZONES, dropped | 1u << risc);
            add_to_word(core + 4 * REFUSED_RUNS, 1);
            add_to_word(core + 4 * REFUSED_MARKERS, SLOTS);
        }
        place += FIRST_OPTIONAL_BYTES;
    }
}

/// Does nothing: `await_runs` has waited already.
KERNEL_PROFILER_ALWAYS_INLINE void await_publication(uint32_t, uint32_t, uint32_t&) {}

KERNEL_PROFILER_ALWAYS_INLINE void refuse(uint32_t words, uint32_t core, uint32_t run, uint32_t) {
    refuse_runs(words, core, run);
}

/// Pushes all vectors, and records the push as a zone in this RISC's vector. Records no zone if the
/// vector would then lack room for a launch of `longest` words.
inline __attribute__((noinline)) void push_runs(uint32_t longest) {
    Clock started = Clock::now(TILE_REGISTERS);
    push_published();
    if (longest <= PROFILER_L1_VECTOR_SIZE - CUSTOM_MARKERS) {
        write_push_zone(started);
    }
}

/// Ends a launch on the RISC that pushes for its core, and prepares the next launch. Waits for the
/// runs of the other RISCs. Pushes the accumulated runs if another launch of this length might not
/// fit.
inline __attribute__((noinline)) void end_launch() {
    const uint32_t words = hidden(control_place());
    Filled filled = await_runs(words);
    if (filled.fullest + filled.longest > PROFILER_L1_VECTOR_SIZE) {
        push_runs(filled.longest);
    } else {
        write_word(words + 4 * PROFILER_DONE, 1);
    }
    prepare_runs(words);
}

#endif

}  // namespace detail
}  // namespace kernel_profiler
