/// \file
///
/// The debug dump: a RISC whose lane is full waits until the host has read more.
///
/// launch.hpp includes this file, or no_stall.hpp instead. A wait ends when the lane has room. It
/// also ends if the host has read all of the lane and the run still does not fit, or after
/// KERNEL_PROFILER_STALL_CYCLES. After such a time-out, no RISC waits again before the host has
/// read more. For this, the RISC that pushes stores the host's progress in the control word
/// STALLED_IN_VAIN; the other RISCs store it in their vectors until the launch ends. Records
/// without room are counted as in other modes. So a host that keeps up loses nothing, and a kernel
/// without a host still ends.
///
/// The zone PROFILER-DRAM-STALL shows each wait. It is recorded in the run after the wait, or in
/// the run that did not fit. The zone of a wait at the launch's end comes after the firmware's
/// zone.
///
/// BRISC, NCRISC and Ethernet RISCs push their records as soon as their ring is full. A TRISC does
/// not push, so records beyond one ring per launch are counted as lost.

#pragma once

#include "push.hpp"

#if !defined(KERNEL_PROFILER_STALL_CYCLES)
/// Maximum number of cycles that a RISC waits for the host: about a second at 1 GHz.
#define KERNEL_PROFILER_STALL_CYCLES (1u << 30)
#endif

namespace kernel_profiler {
namespace detail {

/// Clears the mark of a time-out in the previous launch.
KERNEL_PROFILER_ALWAYS_INLINE void forget_stalls() { write_word(own_vector() + IN_VAIN_BYTES, 0); }

#if KERNEL_PROFILER_HAS_NOC

inline __attribute__((noinline)) void write_stall(uint32_t place, Clock started, Clock ended) {
    KERNEL_PROFILER_SITE("PROFILER-DRAM-STALL") write_zone(place, KERNEL_PROFILER_ID("PROFILER-DRAM-STALL"), started, ended);
}

/// Returns the host's progress in all lanes, as one nonzero number.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t host_progress(uint32_t words) {
    uint32_t sum = 1;
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        sum += read_word(words + 4 * (CONSUMED + risc));
    }
    return sum;
}

/// Returns true if a run of `count` words does not fit into a lane now, but may fit later, because
/// the host has not read the whole lane.
KERNEL_PROFILER_ALWAYS_INLINE bool is_full(uint32_t core, uint32_t count, uint32_t capacity) {
    const uint32_t end = read_word(core + 4 * HOST_BUFFER_END_INDEX_BR_ER);
    Place place = place_in_lane(core, end, count, capacity);
    return place.advance == 0 && read_word(core + 4 * CONSUMED) != place.position;
}

/// Returns true if a wait of this RISC has timed out in this launch, and the host has not read
/// anything since.
KERNEL_PROFILER_ALWAYS_INLINE bool has_given_up() {
    forget_cached();
    return read_word(own_vector() + IN_VAIN_BYTES) == host_progress(control_place());
}

/// A wait for the host, passed by reference, because for a copy gcc would call `memcpy`, which
/// kernels do not have.
struct Stall {
    Clock started;
    /// The host's progress at the last poll.
    uint32_t progress;
    /// True if the time limit was reached, or if an earlier wait timed out.
    bool is_over;
    bool has_waited;

    KERNEL_PROFILER_ALWAYS_INLINE static Stall begin() { return {Clock::now(TILE_REGISTERS), 0, false, false}; }

    /// Continues the wait while a lane is full. `words` is the address of the control vector.
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

/// Waits until this RISC's lane has room for `count` words.
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

/// Waits until the lanes have room for the published runs of this core's RISCs, and records the
/// wait as a zone in this RISC's run.
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

/// Records the zone of a wait that timed out, if there is room. The ring is not pushed in this
/// case. Returns false if the wait did not time out.
KERNEL_PROFILER_ALWAYS_INLINE bool leave_vain_stall(const Stall& stall, uint32_t place) {
    if (!stall.is_over || !stall.has_waited || load_room() < 0) {
        return false;
    }
    write_stall(place, stall.started, Clock::now(TILE_REGISTERS));
    detail::next_place = place + ZONE_BYTES;
    store_room(load_room() - ZONE_BYTES);
    return true;
}

/// Begins a ring with the zone of the wait before a push; returns the zone's size in bytes.
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
