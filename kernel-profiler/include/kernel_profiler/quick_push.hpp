/// \file
///
/// Pushes during a launch.

#pragma once

namespace kernel_profiler {

/// Pushes what this RISC has recorded so far and begins a new run.
///
/// Does nothing if a push is not possible: on a TRISC, in accumulate mode, while the NoC holds a
/// linked transaction, while an earlier push is stuck, or if the lane would have no room left for
/// the end of the launch. The markers then stay in L1 until the end of the launch. The zone
/// PROFILER-NOC-QUICK-PUSH shows the cost of the push. It is the first record of the new run.
inline __attribute__((noinline, cold)) void quick_push() {
#if KERNEL_PROFILER_HAS_NOC && !KERNEL_PROFILER_IS_ACCUMULATING
    using namespace detail;
    if (has_given_up()) {
        return;
    }
    const uint32_t vector = hidden(own_vector());
    uint32_t place = detail::next_place;
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
    const uint32_t end = read_word(core + 4 * HOST_BUFFER_END_INDEX_BR_ER);
    const uint32_t run = (place - vector) / 4;
    const uint32_t count = padded(run);
    Lanes lanes = lanes_of_core(words);
    if (lanes.words == 0) {
        return;
    }
    Stall stall = await_own_lane(words, core, count + CUSTOM_MARKERS, lanes.words);
    if (leave_vain_stall(stall, place)) {
        return;
    }
    Place in_lane = place_in_lane(core, end, count + CUSTOM_MARKERS, lanes.words);
    if (in_lane.advance == 0) {
        return;
    }
    settle(place - 4);
    pad(vector, run);
    const uint32_t end_behind = hidden(end + in_lane.advance - CUSTOM_MARKERS);
    const uint32_t to = hidden(lanes.address + (core - words) * lanes.words + 4 * in_lane.position);
    // Another RISC may be pushing through the same NoC. The limit is short, so that no call waits
    // long for a stuck push.
    if (await_zero<PUBLICATION_POLLS>(noc + PUSHES_OUTSTANDING) != 0) {
        return;
    }
    Clock started = Clock::now(TILE_REGISTERS);
    const uint32_t buffer = hidden(command_buffer_place());
    if (await_zero<NOC_POLLS>(buffer + CMD_CTRL) != 0) {
        return;
    }
    // The registers are saved, because the kernel may have partly set up its own transaction.
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
    write_word(core + 4 * HOST_BUFFER_END_INDEX_BR_ER, end_behind);
    int32_t room = load_room() + static_cast<int32_t>(used);
    place = vector + FIRST_OPTIONAL_BYTES;
    const int32_t stall_bytes = record_stall(stall, place, started);
    place += stall_bytes;
    room -= stall_bytes;
    if (room >= ZONE_BYTES) {  // Otherwise hundreds of open zones take the room.
        // Both macros must be on one line, because both use the current line number.
        KERNEL_PROFILER_SITE("PROFILER-NOC-QUICK-PUSH") constexpr uint32_t ID = KERNEL_PROFILER_ID("PROFILER-NOC-QUICK-PUSH");
        write_zone(place, ID, started, Clock::now(TILE_REGISTERS));
        place += ZONE_BYTES;
        room -= ZONE_BYTES;
    }
    detail::next_place = place;
    detail::room_left = static_cast<uint32_t>(room);
#endif
}

/// Pushes before a linked transaction begins on a command buffer, since no push is possible during
/// the transaction.
inline void quick_push_if_linked(uint32_t cmd_buf, bool linked) {
#if KERNEL_PROFILER_HAS_NOC
    using namespace detail;
    if (linked && (read_word(noc_place() + ((cmd_buf & 3) << COMMAND_BUFFER_SHIFT) + CTRL) & CTRL_LINKED) == 0) {
        quick_push();
    }
#endif
}

}  // namespace kernel_profiler
