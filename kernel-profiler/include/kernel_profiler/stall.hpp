/// \file
/// The debug dump: a RISC that finds its lane full waits until the host has read on.
///
/// launch.hpp includes this file. A wait ends when the lane has room; when the host has read all of
/// it and there is still none, since the lane is too small for the run; or after
/// KERNEL_PROFILER_STALL_CYCLES, and then no RISC waits again before the host has read on: how far
/// it had come is remembered, by the aggregating RISC in control word IN_VAIN, by the others in
/// their vector until the launch ends. What finds no room is counted as ever. So a host that keeps up loses nothing, and without one a
/// kernel still ends.
///
/// The zone PROFILER-DRAM-STALL shows each wait. It lies in the run that follows it, or in the one
/// that found no room; that of the launch's end lies behind the firmware's zone.
///
/// Records of BRISC, NCRISC and Ethernet RISCs are pushed as soon as their ring is full. A TRISC
/// does not push, so that what its ring does not take in one launch is counted as lost.

#pragma once

#if !defined(KERNEL_PROFILER_STALL_CYCLES)
/// Cycles that a RISC waits for the host at most: a second at 1 GHz.
#define KERNEL_PROFILER_STALL_CYCLES (1u << 30)
#endif

namespace kernel_profiler {
namespace detail {

/// Writes a zone that has ended.
KERNEL_PROFILER_ALWAYS_INLINE void write_zone(uint32_t place, uint32_t id, Clock started, Clock ended) {
    write_word(place, prefix(ZONE_START, id) | (started.high & TIME_HIGH_MASK));
    write_word(place + 4, started.low);
    write_word(place + 8, prefix(ZONE_END, id) | (ended.high & TIME_HIGH_MASK));
    write_word(place + 12, ended.low);
}

#if KERNEL_PROFILER_IS_NON_DROPPING && KERNEL_PROFILER_HAS_NOC

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
    const uint32_t end = read_word(core + 4 * HOST_END);
    Place place = place_in_lane(core, end, count, capacity);
    return place.advance == 0 && read_word(core + 4 * CONSUMED) != place.position;
}

/// Returns true if this RISC has found its lane full in this launch, waited in vain, and the host
/// has not read on since.
KERNEL_PROFILER_ALWAYS_INLINE bool has_given_up() {
    forget_cached();
    return read_word(own_vector() + IN_VAIN_BYTES) == host_progress(control_place());
}

/// A wait for the host.
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
        is_over = progress == read_word(words + 4 * IN_VAIN);
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
            write_word(words + 4 * IN_VAIN, stall.progress);
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
        if ((read_word(words + 4 * ENABLES) >> ((core - words) / 4) & 1) != 0) {
            await_word<false, PUBLICATION_POLLS>(core + 4 * DEVICE_END);
        }
    }
    Stall stall = Stall::begin();
    for (bool are_full = true; are_full && !stall.is_over;) {
        are_full = false;
        for (uint32_t core = own; core != end_of_cores; core += 4) {
            const uint32_t run = read_word(core + 4 * DEVICE_END) + (core == own ? ZONE_BYTES / 4 : 0);
            are_full |= run != 0 && is_full(core, padded(run), capacity);
        }
        if (are_full) {
            stall.go_on(words);
        }
    }
    if (stall.is_over) {
        write_word(words + 4 * IN_VAIN, stall.progress);
    }
    if (stall.has_waited) {
        const uint32_t run = read_word(own + 4 * DEVICE_END);
        write_stall(first_vector() + 4 * run, stall.started, Clock::now(TILE_REGISTERS));
        write_word(own + 4 * DEVICE_END, run + ZONE_BYTES / 4);
    }
}

#endif

}  // namespace detail
}  // namespace kernel_profiler
