/// \file
/// The debug dump: a RISC that finds its lane full waits until the host has read on.
///
/// launch.hpp includes this file, or no_stall.hpp in its place. A wait ends when the lane has room;
/// when the host has read all of it and there is still none, since the lane is too small for the
/// run; or after KERNEL_PROFILER_STALL_CYCLES, and then no RISC waits again before the host has read
/// on: how far it had come is remembered, by the aggregating RISC in control word STALLED_IN_VAIN, by
/// the others in their vector until the launch ends. What finds no room is counted as ever. So a
/// host that keeps up loses nothing, and without one a kernel still ends.
///
/// The zone PROFILER-DRAM-STALL shows each wait. It lies in the run that follows it, or in the one
/// that found no room; that of the launch's end lies behind the firmware's zone.
///
/// Records of BRISC, NCRISC and Ethernet RISCs are pushed as soon as their ring is full. A TRISC
/// does not push, so that what its ring does not take in one launch is counted as lost.

#pragma once

#include "push.hpp"

#if !defined(KERNEL_PROFILER_STALL_CYCLES)
/// Cycles that a RISC waits for the host at most: a second at 1 GHz.
#define KERNEL_PROFILER_STALL_CYCLES (1u << 30)
#endif

namespace kernel_profiler {
namespace detail {

/// Forgets waits of the launch before.
KERNEL_PROFILER_ALWAYS_INLINE void forget_stalls() { write_word(own_vector() + IN_VAIN_BYTES, 0); }

#if KERNEL_PROFILER_HAS_NOC

inline __attribute__((noinline)) void write_stall(uint32_t place, Clock started, Clock ended) {
    KERNEL_PROFILER_SITE("PROFILER-DRAM-STALL") write_zone(place, KERNEL_PROFILER_ID("PROFILER-DRAM-STALL"), started, ended);
}

/// How far the host has read in all lanes, as one number that is not 0.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t host_progress(uint32_t words) {
    uint32_t sum = 1;
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        sum += read_word(words + 4 * (CONSUMED + risc));
    }
    return sum;
}

/// Returns true if a run of so many words finds no room in a lane that the host has not read to its
/// end, so that there may be some.
KERNEL_PROFILER_ALWAYS_INLINE bool is_full(uint32_t core, uint32_t count, uint32_t capacity) {
    const uint32_t end = read_word(core + 4 * HOST_BUFFER_END_INDEX_BR_ER);
    Place place = place_in_lane(core, end, count, capacity);
    return place.advance == 0 && read_word(core + 4 * CONSUMED) != place.position;
}

/// Returns true if this RISC has found its lane full in this launch, waited in vain, and the host
/// has not read on since.
KERNEL_PROFILER_ALWAYS_INLINE bool has_given_up() {
    forget_cached();
    return read_word(own_vector() + IN_VAIN_BYTES) == host_progress(control_place());
}

/// A wait for the host. Passed by reference: gcc copies it with `memcpy`, which kernels do not have.
struct Stall {
    Clock started;
    /// How far the host had read when it was looked for last.
    uint32_t progress;
    /// True if the wait has come to its bound, or if one before was in vain.
    bool is_over;
    bool has_waited;

    KERNEL_PROFILER_ALWAYS_INLINE static Stall begin() { return {Clock::now(TILE_REGISTERS), 0, false, false}; }

    /// Called where a lane is full. `words` is the address of the control vector.
    KERNEL_PROFILER_ALWAYS_INLINE void go_on(uint32_t words) {
        progress = host_progress(words);
        is_over = progress == read_word(words + 4 * STALLED_IN_VAIN);
        if (!is_over) {
            has_waited = true;
            is_over = Clock::now(TILE_REGISTERS).low - started.low >= KERNEL_PROFILER_STALL_CYCLES;
        }
        forget_cached();
    }
};

/// Waits until this RISC's lane takes so many words.
inline __attribute__((noinline)) Stall await_own_lane(uint32_t words, uint32_t core, uint32_t count, uint32_t capacity) {
    Stall stall = Stall::begin();
    while (!stall.is_over && is_full(core, count, capacity)) {
        stall.go_on(words);
    }
    if (stall.is_over) {
        write_word(own_vector() + IN_VAIN_BYTES, stall.progress);
        if (is_aggregator()) {
            write_word(words + 4 * STALLED_IN_VAIN, stall.progress);
        }
    }
    return stall;
}

/// Waits until the lanes take what the RISCs of this core have published, and puts the zone of that
/// into the run of this one.
inline __attribute__((noinline)) void await_lanes(uint32_t words) {
    const uint32_t capacity = lanes_of_core(words).words;
    const uint32_t end_of_cores = words + 4 * risc_count();
    const uint32_t own = hidden(words);
    for (uint32_t core = own + 4; core != end_of_cores; core += 4) {
        if ((read_word(words + 4 * SCRATCH) >> ((core - words) / 4) & 1) != 0) {
            await_word<false, PUBLICATION_POLLS>(core + 4 * DEVICE_BUFFER_END_INDEX_BR_ER);
        }
    }
    Stall stall = Stall::begin();
    for (bool are_full = true; are_full && !stall.is_over;) {
        are_full = false;
        for (uint32_t core = own; core != end_of_cores; core += 4) {
            const uint32_t run = read_word(core + 4 * DEVICE_BUFFER_END_INDEX_BR_ER) + (core == own ? ZONE_BYTES / 4 : 0);
            are_full |= run != 0 && is_full(core, padded(run), capacity);
        }
        if (are_full) {
            stall.go_on(words);
        }
    }
    if (stall.is_over) {
        write_word(words + 4 * STALLED_IN_VAIN, stall.progress);
    }
    if (stall.has_waited) {
        const uint32_t run = read_word(own + 4 * DEVICE_BUFFER_END_INDEX_BR_ER);
        write_stall(first_vector() + 4 * run, stall.started, Clock::now(TILE_REGISTERS));
        write_word(own + 4 * DEVICE_BUFFER_END_INDEX_BR_ER, run + ZONE_BYTES / 4);
    }
}

KERNEL_PROFILER_ALWAYS_INLINE void await_host(uint32_t words) { await_lanes(words); }

/// Leaves the zone of a wait in vain in a ring that is not pushed, if there is room; false if there
/// was no such wait.
KERNEL_PROFILER_ALWAYS_INLINE bool leave_vain_stall(const Stall& stall, uint32_t place) {
    if (!stall.is_over || !stall.has_waited || load_room() < 0) {
        return false;
    }
    write_stall(place, stall.started, Clock::now(TILE_REGISTERS));
    wIndex = place + ZONE_BYTES;
    store_room(load_room() - ZONE_BYTES);
    return true;
}

/// Begins a ring with the zone of the wait before a push; returns its bytes.
KERNEL_PROFILER_ALWAYS_INLINE int32_t record_stall(const Stall& stall, uint32_t place, Clock ended) {
    if (!stall.has_waited) {
        return 0;
    }
    write_stall(place, stall.started, ended);
    return ZONE_BYTES;
}

#endif

}  // namespace detail
}  // namespace kernel_profiler
