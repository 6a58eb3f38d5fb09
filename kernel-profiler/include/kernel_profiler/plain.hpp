/// \file
///
/// The usual mode, in which each launch is pushed separately.
///
/// launch.hpp includes this file, or accumulate.hpp instead.

#pragma once

#include "push.hpp"

namespace kernel_profiler {
namespace detail {

/// Publishes this RISC's run, which ends `words` words after the beginning of its vector.
KERNEL_PROFILER_ALWAYS_INLINE void publish_run(uint32_t, uint32_t words) {
    write_word(own_place() + 4 * DEVICE_BUFFER_END_INDEX_BR_ER, words);
}

/// Does nothing: after a launch without kernels, the slots are ready for the next launch.
KERNEL_PROFILER_ALWAYS_INLINE void leave_no_run() {}

/// Does nothing: a vector has only one run.
KERNEL_PROFILER_ALWAYS_INLINE void prepare_own_run() {}

#if KERNEL_PROFILER_HAS_NOC

KERNEL_PROFILER_ALWAYS_INLINE void await_publication(uint32_t words, uint32_t core, uint32_t& run) {
    if ((read_word(words + 4 * SCRATCH) >> ((core - words) / 4) & 1) != 0) {
        run = await_word<false, PUBLICATION_POLLS>(core + 4 * DEVICE_BUFFER_END_INDEX_BR_ER);
        if (run == 0) {
            add_to_word(core + 4 * (LATE_RUNS - 1), 1);
        }
    }
}

KERNEL_PROFILER_ALWAYS_INLINE void refuse(uint32_t words, uint32_t core, uint32_t run, uint32_t stored) {
    add_to_word(core + 4 * REFUSED_RUNS, 1);
    // The ID words are not markers, whether or not they were stored.
    add_to_word(core + 4 * REFUSED_MARKERS, (run - (stored == 0 ? 4 : stored)) / 2);
    const uint32_t risc = (core - words) / 4;
    const uint32_t program = read_word(first_vector() + PROFILER_L1_BUFFER_SIZE * risc + ID_LL_BYTES);
    const uint32_t dropped = read_word(words + 4 * DROPPED_ZONES);
    if (dropped == 0) {
        write_word(words + 4 * FIRST_REFUSED_PROGRAM, program);
    }
    write_word(words + 4 * LAST_REFUSED_PROGRAM, program);
    write_word(words + 4 * DROPPED_ZONES, dropped | 1u << risc);
}

/// Prepares the vectors of all RISCs, and resets the lanes if the host has read them.
KERNEL_PROFILER_ALWAYS_INLINE void begin_launch() {
    const uint32_t runs = control(RUN_COUNTER);
    const uint32_t seen_runs = control(SEEN_RUNS);
    set_control(PROFILER_DONE, 0);
    empty_fixed_slots();
    if (runs == seen_runs) {
        take_lanes_back();
    }
}

/// Pushes the launch.
KERNEL_PROFILER_ALWAYS_INLINE void end_launch() { push_published(); }

#endif

}  // namespace detail
}  // namespace kernel_profiler
