// State that firmware defines and the tests' functions are linked against: counters of the NoCs,
// tables of banks, the profiler's state, and the addresses of its block and of the launch message.

#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(COMPILE_FOR_TRISC)
uint8_t my_x[NUM_NOCS] __attribute__((used));
uint8_t my_y[NUM_NOCS] __attribute__((used));
uint32_t noc_reads_num_issued[NUM_NOCS] __attribute__((used));
uint32_t noc_nonposted_writes_num_issued[NUM_NOCS] __attribute__((used));
uint32_t noc_nonposted_writes_acked[NUM_NOCS] __attribute__((used));
uint32_t noc_nonposted_atomics_acked[NUM_NOCS] __attribute__((used));
uint32_t noc_posted_writes_num_issued[NUM_NOCS] __attribute__((used));
bank_noc_xy_t dram_bank_to_noc_xy[NUM_NOCS][NUM_DRAM_BANKS] __attribute__((used));
bank_noc_xy_t l1_bank_to_noc_xy[NUM_NOCS][NUM_L1_BANKS] __attribute__((used));
int32_t bank_to_dram_offset[NUM_DRAM_BANKS] __attribute__((used));
int32_t bank_to_l1_offset[NUM_L1_BANKS] __attribute__((used));
#endif

namespace kernel_profiler {
#if defined(KERNEL_PROFILER_IS_UPSTREAMS) && !KERNEL_PROFILER_IS_UPSTREAMS && defined(KERNEL_BUILD)
// In kernels, our header has other names for the variables `wIndex` and `stackSize` of the firmware.
namespace detail {
uint32_t next_place __attribute__((used));
uint32_t room_left __attribute__((used));
}  // namespace detail
#else
uint32_t wIndex __attribute__((used));
uint32_t stackSize __attribute__((used));
#endif
uint32_t sums[SUM_COUNT] __attribute__((used));
uint32_t sumIDs[SUM_COUNT] __attribute__((used));
uint32_t traceCount __attribute__((used));
}  // namespace kernel_profiler

#define PROBE extern "C" __attribute__((used, noinline)) void

extern "C" {
extern const uint32_t profiler_place __attribute__((used)) =
    MEM_MAILBOX_BASE + offsetof(mailboxes_t, profiler.control_vector);
extern const uint32_t launch_enables_place __attribute__((used)) =
    MEM_MAILBOX_BASE + offsetof(mailboxes_t, launch[0].kernel_config.enables);
}
