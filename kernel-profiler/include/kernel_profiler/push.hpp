/// \file
///
/// Pushes to DRAM through the NoC, and the push at the end of a launch.
///
/// # Compatibility
/// The order of stores on which the host relies: data in DRAM, HOST_END, counters, RUN_COUNTER,
/// PROFILER_DONE.

#pragma once

#include "lanes.hpp"

#if KERNEL_PROFILER_HAS_NOC

namespace kernel_profiler {
namespace detail {

// These functions are defined by the headers of the modes: plain.hpp or accumulate.hpp, and
// stall.hpp or no_stall.hpp.

/// If a RISC with a kernel in this launch has not published its run, waits for the run, up to a
/// limit. Sets `run` to the words of the RISC's vector. `core` is the address of control word r,
/// where r is the RISC's index; `words` is the address of the control vector.
KERNEL_PROFILER_ALWAYS_INLINE void await_publication(uint32_t words, uint32_t core, uint32_t& run);
/// Counts the refused words in a RISC's vector: all of its `run` words except the first `stored`
/// words, which were stored in DRAM.
KERNEL_PROFILER_ALWAYS_INLINE void refuse(uint32_t words, uint32_t core, uint32_t run, uint32_t stored);
/// Waits for a host that has stopped reading, in a mode that must not drop records.
KERNEL_PROFILER_ALWAYS_INLINE void await_host(uint32_t words);

/// Returns true once a command buffer accepts commands, and false if it does not within a limit.
KERNEL_PROFILER_ALWAYS_INLINE bool is_ready(uint32_t buffer) {
    return __builtin_expect(await_word<true, NOC_POLLS>(buffer + CMD_CTRL) == 0, 1);
}

/// Prepares an idle command buffer for acknowledged writes to a DRAM bank, under this runtime's
/// transaction id.
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

/// Starts a write through an idle command buffer.
KERNEL_PROFILER_ALWAYS_INLINE void push(uint32_t buffer, uint32_t from, uint32_t to, uint32_t word_count) {
    write_word(buffer + TARG_ADDR_LO, from);
    write_word(buffer + RET_ADDR_LO, to);
    write_word(buffer + AT_LEN_BE, 4 * word_count);
    write_word(buffer + CMD_CTRL, 1);
}

/// Waits only for the acknowledgements of the runtime's pushes. Returns false if they do not arrive
/// within a limit.
KERNEL_PROFILER_ALWAYS_INLINE bool await_pushes(uint32_t noc) {
    return await_word<true, NOC_POLLS>(noc + PUSHES_OUTSTANDING) == 0;
}

/// Waits until the store to `place` and all earlier stores have reached L1. A store to a register
/// can overtake these stores, but cannot overtake a load from `place` whose result is used.
KERNEL_PROFILER_ALWAYS_INLINE void settle(uint32_t place) {
    __asm__ volatile("mv zero, %0" : : "r"(read_word(place)) : "memory");
}

/// Pads a run of `word_count` words to a multiple of the push alignment.
KERNEL_PROFILER_ALWAYS_INLINE void pad(uint32_t vector, uint32_t word_count) {
    if ((word_count & 2) != 0) {
        const uint32_t place = vector + 4 * word_count;
        write_word(place, EMPTY_SLOT);
        write_word(place + 4, 0);
        settle(place + 4);
    }
}

constexpr uint32_t padded(uint32_t word_count) { return (word_count + 2) & ~3u; }

/// Result of `send_published`.
struct Sent {
    uint32_t writes;
    /// True if the command buffer stayed busy and some writes were not sent.
    bool is_stuck;
};

/// Sends the published runs of this core's RISCs. Depending on the room in its lane, sends a whole
/// run, its fixed slots or nothing. Stops if the command buffer stays busy. Sets `stored` to the
/// increments of HOST_END: the words sent, or more if the lane has restarted, and 0 for a RISC that
/// has published nothing.
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
        uint32_t run = read_word(core + 4 * DEVICE_BUFFER_END_INDEX_BR_ER);
        uint32_t sent = 0;
        if (__builtin_expect(run == 0, 0)) {
            await_publication(words, core, run);
        }
        bool is_sent = run != 0;
        if (is_sent) {
            uint32_t position = read_word(core + 4 * HOST_BUFFER_END_INDEX_BR_ER);
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

/// Pushes the published runs of this core's RISCs and publishes the new ends of the lanes.
KERNEL_PROFILER_ALWAYS_INLINE void push_published() {
    forget_cached();
    const uint32_t noc = hidden(noc_place());
    const uint32_t buffer = hidden(command_buffer_place());
    const uint32_t words = hidden(control_place());
    await_host(words);
    uint32_t stored[LANE_STRIDE_RISCS];
    Sent pushes = send_published(noc, buffer, words, stored);
    count_writes(pushes.writes);
    const bool has_arrived = !pushes.is_stuck && await_pushes(noc);
    if (__builtin_expect(!has_arrived, 0)) {
        add_to_word(words + 4 * TIMED_OUT_PUSHES, 1);
        for (uint32_t& sent : stored) {
            sent = 0;
        }
    }
    // While a command buffer is busy, its registers belong to the packet in it.
    if (__builtin_expect(has_arrived || read_word(buffer + CMD_CTRL) == 0, 1)) {
        write_word(buffer + PACKET_TAG, 0);
    }
    const uint32_t* sent = stored;
    const uint32_t end_of_cores = words + 4 * risc_count();
    for (uint32_t core = words; core != end_of_cores; core += 4) {
        const uint32_t run = read_word(core + 4 * DEVICE_BUFFER_END_INDEX_BR_ER);
        add_to_word(core + 4 * HOST_BUFFER_END_INDEX_BR_ER, *sent);
        if (__builtin_expect(*sent < run, 0)) {
            refuse(words, core, run, *sent);
        }
        write_word(core + 4 * DEVICE_BUFFER_END_INDEX_BR_ER, 0);
        ++sent;
    }
    add_to_word(words + 4 * RUN_COUNTER, 1);
    write_word(words + 4 * PROFILER_DONE, 1);
}

}  // namespace detail
}  // namespace kernel_profiler

#endif
