"""Kernels that set up and read profiled chips, compiled by ttnn itself.

The kernels run on BRISC. `RUN` launches of the profiler itself have program id 0, "no program", so
these launches do not count as ops of the user's program.
"""

_BEGIN = "void kernel_main() {\n"


def leaving_nothing(source: str) -> str:
    """Returns a kernel whose launches leave no run: program 0 then means dispatch kernels only."""
    begin = _BEGIN + "    DeviceValidateProfiler(false);\n"
    return "#define KPROF_LEAVES_NOTHING 1\n" + source.replace(_BEGIN, begin, 1)


SET_UP = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

// Assigns lanes to this core and reports the core's NoC coordinates to the host.
void kernel_main() {
    const uint32_t answer_address = get_arg_val<uint32_t>(0);
    const uint32_t core_index = get_arg_val<uint32_t>(1);
    const uint32_t lanes_address = get_arg_val<uint32_t>(2);
    const uint32_t flat_id = get_arg_val<uint32_t>(3);
    const uint32_t cores_per_bank = get_arg_val<uint32_t>(4);
    const uint32_t lane_words = get_arg_val<uint32_t>(5);
    const uint32_t dram_banks = get_arg_val<uint32_t>(6);

    volatile tt_l1_ptr uint32_t* control = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(
        GET_MAILBOX_ADDRESS_DEV(profiler.control_vector));
    const uint32_t signature = control[5];
    if (lanes_address != 0) {
        // Zeroes the control vector, as a host does that prepares a chip. Words 24 to 28 are kept: other
        // RISCs write them at the end of this launch. The next launch begins the lanes.
        const uint32_t generation = control[7];
        for (uint32_t word = 0; word < 64; word++) {
            if ((word < 24 || word > 28) && word != 5 && word != 57) {
                control[word] = 0;
            }
        }
        control[7] = generation + 1;
        control[6] = lane_words;
        control[50] = lanes_address;
        control[54] = flat_id;
        control[55] = cores_per_bank;
#if defined(KPROF_LEAVES_NOTHING)
        control[51] = 0;
#else
        // The end of this launch sets the word to 0, so no record of this launch counts.
        control[51] = 0xFFFFFFFF;
#endif
    }

    volatile tt_l1_ptr uint32_t* clock = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(0xFFB121F0);
    const uint32_t scratch = get_write_ptr(0);
    volatile tt_l1_ptr uint32_t* answer = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(scratch);
    answer[0] = NOC_CMD_BUF_READ_REG(0, 0, NOC_NODE_ID);
    answer[1] = clock[0];
    answer[2] = clock[2];
    answer[3] = reinterpret_cast<uint32_t>(control);
    answer[4] = signature;
    answer[5] = my_x[0] | my_y[0] << 16;
    for (uint32_t word = 6; word < 16; word++) {
        answer[word] = 0;
    }
    const uint32_t bank = core_index % dram_banks;
    const uint32_t row = core_index / dram_banks;
    noc_async_write(scratch, get_noc_addr_from_bank_id<true>(bank, answer_address + 64 * row), 64);
    noc_async_write_barrier();
}
"""

GATHER = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

// Copies the control vectors of all cores to DRAM, and reads this core's clock.
void kernel_main() {
    const uint32_t answer_address = get_arg_val<uint32_t>(0);
    const uint32_t core_count = get_arg_val<uint32_t>(1);
    const uint32_t dram_banks = get_arg_val<uint32_t>(2);
    const uint32_t control =
        reinterpret_cast<uint32_t>(GET_MAILBOX_ADDRESS_DEV(profiler.control_vector));
    const uint32_t scratch = get_write_ptr(0);
    for (uint32_t core = 0; core < core_count; core++) {
        const uint32_t place = get_arg_val<uint32_t>(3 + core);
        noc_async_read(get_noc_addr(place & 0xFFFF, place >> 16, control), scratch + 256 * core, 256);
    }
    noc_async_read_barrier();
    volatile tt_l1_ptr uint32_t* clock = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(0xFFB121F0);
    volatile tt_l1_ptr uint32_t* last =
        reinterpret_cast<volatile tt_l1_ptr uint32_t*>(scratch + 256 * core_count);
    for (uint32_t word = 2; word < 64; word++) {
        last[word] = 0;
    }
    last[0] = clock[0];
    last[1] = clock[2];
    for (uint32_t core = 0; core <= core_count; core++) {
        const uint32_t row = core / dram_banks;
        const uint64_t target =
            get_noc_addr_from_bank_id<true>(core % dram_banks, answer_address + 256 * row);
        noc_async_write(scratch + 256 * core, target, 256);
    }
    noc_async_write_barrier();
}
"""

ACKNOWLEDGE = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

// Tells each core how far its lanes were read: words 59 to 63, then word 8.
void kernel_main() {
    const uint32_t words_address = get_arg_val<uint32_t>(0);
    const uint32_t core_count = get_arg_val<uint32_t>(1);
    const uint32_t dram_banks = get_arg_val<uint32_t>(2);
    const uint32_t control =
        reinterpret_cast<uint32_t>(GET_MAILBOX_ADDRESS_DEV(profiler.control_vector));
    const uint32_t scratch = get_write_ptr(0);
    for (uint32_t core = 0; core < core_count; core++) {
        const uint32_t row = core / dram_banks;
        const uint64_t source =
            get_noc_addr_from_bank_id<true>(core % dram_banks, words_address + 256 * row);
        noc_async_read(source, scratch + 256 * core, 256);
    }
    noc_async_read_barrier();
    for (uint32_t core = 0; core < core_count; core++) {
        const uint32_t place = get_arg_val<uint32_t>(3 + core);
        const uint32_t words = scratch + 256 * core;
        // The first word of the copy says whether there is anything to tell this core.
        if (*reinterpret_cast<volatile tt_l1_ptr uint32_t*>(words) != 0) {
            noc_async_write(
                words + 4 * 59, get_noc_addr(place & 0xFFFF, place >> 16, control + 4 * 59), 20);
        }
    }
    noc_async_write_barrier();
    for (uint32_t core = 0; core < core_count; core++) {
        const uint32_t place = get_arg_val<uint32_t>(3 + core);
        const uint32_t words = scratch + 256 * core;
        if (*reinterpret_cast<volatile tt_l1_ptr uint32_t*>(words) != 0) {
            noc_async_write(
                words + 4 * 8, get_noc_addr(place & 0xFFFF, place >> 16, control + 4 * 8), 4);
        }
    }
    noc_async_write_barrier();
}
"""

COPY_LANES = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

// Copies a window of each of this core's five lanes to a buffer with the windows of all lanes of a bank.
void kernel_main() {
    const uint32_t lanes_address = get_arg_val<uint32_t>(0);
    const uint32_t target_address = get_arg_val<uint32_t>(1);
    const uint32_t bank = get_arg_val<uint32_t>(2);
    const uint32_t first_lane = get_arg_val<uint32_t>(3);
    const uint32_t lane_bytes = get_arg_val<uint32_t>(4);
    const uint32_t first_byte = get_arg_val<uint32_t>(5);
    const uint32_t window_bytes = get_arg_val<uint32_t>(6);
    constexpr uint32_t ALIGNMENT = 64;
    constexpr uint32_t PIECE_BYTES = 4096;
    const uint32_t scratch = (get_write_ptr(0) + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    for (uint32_t lane = first_lane; lane < first_lane + 5; lane++) {
        const uint32_t source = (lanes_address + lane * lane_bytes + first_byte) & ~(ALIGNMENT - 1);
        const uint32_t target = target_address + (lane * window_bytes);
        for (uint32_t done = 0; done < window_bytes; done += PIECE_BYTES) {
            const uint32_t left = window_bytes - done;
            const uint32_t size = left < PIECE_BYTES ? left : PIECE_BYTES;
            noc_async_read(get_noc_addr_from_bank_id<true>(bank, source + done), scratch, size);
            noc_async_read_barrier();
            noc_async_write(scratch, get_noc_addr_from_bank_id<true>(bank, target + done), size);
            noc_async_write_barrier();
        }
    }
}
"""

FIND_CORES = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

// Reads the NoC-0 coordinates of other cores from the NoC registers of these cores.
void kernel_main() {
    const uint32_t answer_address = get_arg_val<uint32_t>(0);
    const uint32_t core_count = get_arg_val<uint32_t>(1);
    const uint32_t dram_banks = get_arg_val<uint32_t>(2);
    const uint32_t scratch = get_write_ptr(0);
    for (uint32_t core = 0; core < core_count; core++) {
        const uint32_t place = get_arg_val<uint32_t>(3 + core);
        // Source and target of a transfer have the same place in 64 bytes.
        const uint32_t target = scratch + 64 * core + NOC_NODE_ID % 64;
        noc_async_read(get_noc_addr(place & 0xFFFF, place >> 16, NOC_NODE_ID), target, 4);
        noc_async_read_barrier();
        const uint32_t node = *reinterpret_cast<volatile tt_l1_ptr uint32_t*>(target);
        *reinterpret_cast<volatile tt_l1_ptr uint32_t*>(scratch + 64 * core) = node;
    }
    for (uint32_t core = 0; core < core_count; core++) {
        const uint32_t row = core / dram_banks;
        const uint64_t bank = get_noc_addr_from_bank_id<true>(core % dram_banks, answer_address + 256 * row);
        noc_async_write(scratch + 64 * core, bank, 64);
    }
    noc_async_write_barrier();
}
"""

SET_UP_OTHERS = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

// Assigns lanes to cores on which this kernel cannot run, because dispatch kernels already run there.
// The headers of these kernels were written without lanes and are written again. The address of the
// lanes is written last, because pushes begin as soon as it is set.
void kernel_main() {
    const uint32_t lanes_address = get_arg_val<uint32_t>(0);
    const uint32_t core_count = get_arg_val<uint32_t>(1);
    const uint32_t first_flat_id = get_arg_val<uint32_t>(2);
    const uint32_t cores_per_bank = get_arg_val<uint32_t>(3);
    const uint32_t lane_words = get_arg_val<uint32_t>(4);
    const uint32_t control =
        reinterpret_cast<uint32_t>(GET_MAILBOX_ADDRESS_DEV(profiler.control_vector));
    const uint32_t scratch = get_write_ptr(0);
    const uint32_t headers = scratch + 256;
    volatile tt_l1_ptr uint32_t* words = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(scratch);
    volatile tt_l1_ptr uint32_t* header = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(headers);
    for (uint32_t core = 0; core < core_count; core++) {
        const uint32_t place = get_arg_val<uint32_t>(5 + 2 * core);
        const uint32_t flat_id = get_arg_val<uint32_t>(6 + 2 * core);
        const auto at = [&](uint32_t address) {
            return get_noc_addr(place & 0xFFFF, place >> 16, address);
        };
        noc_async_read(at(control), scratch, 256);
        noc_async_read_barrier();
        const uint32_t generation = words[7] + 1;
        for (uint32_t risc = 0; risc < 5; risc++) {
            volatile tt_l1_ptr uint32_t* of_risc = header + 12 * risc;
            for (uint32_t word = 0; word < 12; word++) {
                // Slots of the zones around all that the kernel does: they have begun, but do not end.
                of_risc[word] = word < 4 || word % 2 != 0 ? 0 : 0x80000000;
            }
            of_risc[2] = generation << 29 | flat_id << 5 | risc;
            noc_async_write(headers + 48 * risc, at(control + 256 + 2048 * risc), 48);
        }
        // Whether a launch runs, of which RISCs, and where the core is, stays.
        for (uint32_t word = 0; word < 64; word++) {
            if (word != 23 && word != 52 && word != 53 && word != 57) {
                words[word] = 0;
            }
        }
        words[5] = 0x4B504000;
        words[6] = lane_words;
        words[7] = generation;
        words[54] = flat_id;
        words[55] = cores_per_bank;
        noc_async_write(scratch, at(control), 256);
        noc_async_write_barrier();
        words[50] = lanes_address;
        noc_async_write(scratch + 200, at(control + 200), 4);
        noc_async_write_barrier();
    }
}
"""

TAKE_LANES = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

// Removes the lanes of other cores, so that these cores push no more records.
void kernel_main() {
    const uint32_t core_count = get_arg_val<uint32_t>(1);
    const uint32_t control =
        reinterpret_cast<uint32_t>(GET_MAILBOX_ADDRESS_DEV(profiler.control_vector));
    // As far from a multiple of 64 as the word that it is written to.
    const uint32_t zero = get_write_ptr(0) + (control + 200) % 64;
    *reinterpret_cast<volatile tt_l1_ptr uint32_t*>(zero) = 0;
    for (uint32_t core = 0; core < core_count; core++) {
        const uint32_t place = get_arg_val<uint32_t>(3 + core);
        noc_async_write(zero, get_noc_addr(place & 0xFFFF, place >> 16, control + 200), 4);
    }
    noc_async_write_barrier();
}
"""

GATHER_RINGS = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

// Copies the control vectors of other cores, and the rings of their five RISCs, to DRAM.
void kernel_main() {
    const uint32_t answer_address = get_arg_val<uint32_t>(0);
    const uint32_t core_count = get_arg_val<uint32_t>(1);
    const uint32_t dram_banks = get_arg_val<uint32_t>(2);
    const uint32_t control =
        reinterpret_cast<uint32_t>(GET_MAILBOX_ADDRESS_DEV(profiler.control_vector));
    constexpr uint32_t SIZE = 256 + 5 * 2048;
    const uint32_t scratch = get_write_ptr(0);
    for (uint32_t core = 0; core < core_count; core++) {
        const uint32_t place = get_arg_val<uint32_t>(3 + core);
        const uint32_t target = answer_address + SIZE * (core / dram_banks);
        for (uint32_t done = 0; done < SIZE; done += 2048) {
            const uint32_t size = SIZE - done < 2048 ? SIZE - done : 2048;
            noc_async_read(get_noc_addr(place & 0xFFFF, place >> 16, control + done), scratch, size);
            noc_async_read_barrier();
            const uint64_t bank = get_noc_addr_from_bank_id<true>(core % dram_banks, target + done);
            noc_async_write(scratch, bank, size);
            noc_async_write_barrier();
        }
    }
}
"""
