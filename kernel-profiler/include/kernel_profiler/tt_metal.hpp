/// \file
///
/// The runtime's environment in tt-metal: addresses, NoC and counters from tt-metal's headers.

#pragma once

// TT-Metal's header includes these files, and files that include that header rely on this.
#if defined(COMPILE_FOR_NCRISC) || defined(COMPILE_FOR_BRISC) || defined(COMPILE_FOR_ERISC) || \
    defined(COMPILE_FOR_IDLE_ERISC) || defined(COMPILE_FOR_AERISC)
#define KERNEL_PROFILER_HAS_NOC 1
#include "risc_common.h"
#include "internal/dataflow/dataflow_api_addrgen.h"
#include "api/tensor/tensor_accessor.h"
#else
#define KERNEL_PROFILER_HAS_NOC 0
#include "ckernel.h"
#endif

#include "hostdev/profiler_common.h"
#include "internal/risc_attribs.h"
#include "internal/hw_thread.h"
#include "hostdev/dev_msgs.h"
#include "internal/ethernet/erisc.h"

#include "control_words.hpp"

namespace kernel_profiler {

constexpr uint32_t PROFILER_FULL_HOST_VECTOR_SIZE_PER_RISC = PROFILER_FULL_HOST_BUFFER_SIZE_PER_RISC / sizeof(uint32_t);

namespace detail {

/// Returns true on the RISC that collects the records of all RISCs of its core and pushes them. As
/// in TT-Metal's header, a Wormhole's active Ethernet RISC, which is built without
/// COMPILE_FOR_AERISC, publishes its ring and pushes nothing.
KERNEL_PROFILER_ALWAYS_INLINE constexpr bool is_aggregator() {
#if defined(COMPILE_FOR_BRISC)
    return true;
#elif defined(COMPILE_FOR_AERISC) || defined(COMPILE_FOR_IDLE_ERISC)
    return PROCESSOR_INDEX == 0;
#else
    return false;
#endif
}

/// Returns true on the RISC whose firmware receives the launch.
KERNEL_PROFILER_ALWAYS_INLINE constexpr bool is_first_risc() { return PROCESSOR_INDEX == 0; }

/// True if the firmware counts trace replays. The firmware of idle Ethernet cores does not.
#if defined(COMPILE_FOR_IDLE_ERISC)
constexpr bool HAS_TRACE_COUNT = false;
#else
constexpr bool HAS_TRACE_COUNT = true;
#endif

constexpr uint32_t LANE_STRIDE_RISCS = MaxProcessorsPerCoreType;

KERNEL_PROFILER_ALWAYS_INLINE constexpr uint32_t risc_count() { return PROCESSOR_COUNT; }

KERNEL_PROFILER_ALWAYS_INLINE uint32_t control_place() {
    return reinterpret_cast<uint32_t>(GET_MAILBOX_ADDRESS_DEV(profiler.control_vector));
}

/// Returns the address of control word r, where r is this RISC's index.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t own_place() { return control_place() + 4 * PROCESSOR_INDEX; }

KERNEL_PROFILER_ALWAYS_INLINE uint32_t first_vector() {
    return reinterpret_cast<uint32_t>(GET_MAILBOX_ADDRESS_DEV(profiler.buffer));
}

KERNEL_PROFILER_ALWAYS_INLINE uint32_t own_vector() {
    return first_vector() + PROFILER_L1_BUFFER_SIZE * PROCESSOR_INDEX;
}

KERNEL_PROFILER_ALWAYS_INLINE uint32_t lane_words() { return PROFILER_FULL_HOST_VECTOR_SIZE_PER_RISC; }

/// Makes the writes of other RISCs and of the NoC visible to later loads, if a data cache is on.
KERNEL_PROFILER_ALWAYS_INLINE void forget_cached() { invalidate_l1_cache(); }

/// Returns a bit for each RISC that has a kernel in this launch. The firmware of Ethernet cores
/// does not provide these bits.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t launch_enables() {
    const uint32_t index = *GET_MAILBOX_ADDRESS_DEV(launch_msg_rd_ptr);
    return GET_MAILBOX_ADDRESS_DEV(launch)[0][index].kernel_config.enables;
}

#if defined(COMPILE_FOR_AERISC) || defined(COMPILE_FOR_IDLE_ERISC)
constexpr bool IS_TOLD_ENABLES = false;
#else
constexpr bool IS_TOLD_ENABLES = true;
#endif

#if KERNEL_PROFILER_HAS_NOC

KERNEL_PROFILER_ALWAYS_INLINE uint32_t noc_x() { return my_x[0]; }
KERNEL_PROFILER_ALWAYS_INLINE uint32_t noc_y() { return my_y[0]; }

/// Returns the address of the registers of the NoC that this launch uses.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t noc_place() {
    return NOC_REGISTERS + (static_cast<uint32_t>(noc_index) << NOC_REGISTERS_SHIFT);
}

KERNEL_PROFILER_ALWAYS_INLINE uint32_t command_buffer_place() {
    return noc_place() + (write_cmd_buf << COMMAND_BUFFER_SHIFT);
}

KERNEL_PROFILER_ALWAYS_INLINE constexpr uint32_t bank_count() { return NUM_DRAM_BANKS; }

/// Returns the coordinates of a DRAM bank in the format of the coordinate register.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t bank_coordinates(uint32_t bank) { return dram_bank_to_noc_xy[noc_index][bank]; }

KERNEL_PROFILER_ALWAYS_INLINE uint32_t bank_offset(uint32_t bank) {
    return static_cast<uint32_t>(bank_to_dram_offset[bank]);
}

/// Adds acknowledged writes to the counters that the barriers of kernels and firmware read.
KERNEL_PROFILER_ALWAYS_INLINE void count_writes(uint32_t writes) {
#if defined(KERNEL_BUILD)
    constexpr bool IS_IN_L1 = noc_mode == DM_DYNAMIC_NOC;
    constexpr bool IS_LOCAL = !IS_IN_L1;
#elif defined(COMPILE_FOR_AERISC) && defined(ENABLE_2_ERISC_MODE)
    // The base firmware shares the NoC and keeps its counters in L1.
    constexpr bool IS_IN_L1 = true;
    constexpr bool IS_LOCAL = true;
#else
    constexpr bool IS_IN_L1 = false;
    constexpr bool IS_LOCAL = true;
#endif
    if constexpr (IS_IN_L1) {
        inc_noc_counter_val<proc_type, NocBarrierType::NONPOSTED_WRITES_NUM_ISSUED>(noc_index, writes);
        inc_noc_counter_val<proc_type, NocBarrierType::NONPOSTED_WRITES_ACKED>(noc_index, writes);
    }
    if constexpr (IS_LOCAL) {
        noc_nonposted_writes_num_issued[noc_index] += writes;
        noc_nonposted_writes_acked[noc_index] += writes;
    }
}

#endif

}  // namespace detail
}  // namespace kernel_profiler
