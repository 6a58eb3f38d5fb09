// Waits of a kernel, through tt-metal's own functions, for the tests of their cost and records.

#include <cstddef>
#include <cstdint>

#if defined(COMPILE_FOR_TRISC)
#include "chlkc_descriptors.h"
#include "ckernel_globals.h"
#include "internal/firmware_common.h"
#include "tensix_types.h"
#if COMPILE_FOR_TRISC == 0
#include "llk_io_unpack.h"
#elif COMPILE_FOR_TRISC == 2
#include "llk_io_pack.h"
#endif
#else
#include "risc_common.h"
#include "tensix.h"
#include "tensix_types.h"
#include "noc.h"
#include "noc_overlay_parameters.h"
#include "stream_io_map.h"
#include "noc_nonblocking_api.h"
#include "internal/firmware_common.h"
#include "api/dataflow/dataflow_api.h"
#endif
#include "api/debug/kernel_profiler.hpp"
#include "hostdev/dev_msgs.h"
#include "firmware_state.hpp"

CBInterface cb_interface[NUM_CIRCULAR_BUFFERS] __attribute__((used));
#if defined(COMPILE_FOR_TRISC)
// The tests fill this table for every RISC that they run as the first one.
bank_noc_xy_t dram_bank_to_noc_xy[NUM_NOCS][NUM_DRAM_BANKS] __attribute__((used));
#endif

PROBE boot() {}

PROBE begin() { kernel_profiler::init_profiler(); }

// Gives every buffer room for `tiles` tiles, `pushed` of them pushed already.
PROBE set_up(uint32_t tiles, uint32_t pushed) {
    for (CBInterface& buffer : cb_interface) {
        buffer.local_cb_interface.fifo_num_pages = tiles;
        buffer.local_cb_interface.tiles_acked = 0;
        buffer.local_cb_interface.tiles_received = pushed;
    }
}

PROBE nothing(uint32_t, uint32_t) { __asm__ volatile("nop"); }

constexpr uint32_t BUFFER = 5;
#define SEMAPHORE reinterpret_cast<volatile tt_l1_ptr uint32_t*>(0x7F000)

PROBE wait_front() {
#if !defined(COMPILE_FOR_TRISC)
    cb_wait_front(BUFFER, 1);
#elif COMPILE_FOR_TRISC == 0
    llk_wait_tiles(BUFFER, 1);
#endif
}

PROBE reserve_back() {
#if !defined(COMPILE_FOR_TRISC)
    cb_reserve_back(BUFFER, 1);
#elif COMPILE_FOR_TRISC == 2
    llk_wait_for_free_tiles(BUFFER, 1);
#endif
}

// Changes a semaphore again and again, one change after the other.
PROBE signals(uint32_t count) {
#if !defined(COMPILE_FOR_TRISC)
    for (uint32_t value = 0; value < count; ++value) {
        noc_semaphore_set(SEMAPHORE, value);
    }
#endif
}

PROBE wait_min() {
#if !defined(COMPILE_FOR_TRISC)
    noc_semaphore_wait_min(SEMAPHORE, 1);
#endif
}

#if defined(OWN_LOOPS)
// Loops of the author's own, of which one kind is nowhere else on any RISC.
inline __attribute__((always_inline)) uint32_t polled() {
#if defined(ARCH_BLACKHOLE)
    __asm__ volatile("fence" : : : "memory");
#endif
    return *SEMAPHORE;
}
PROBE own_wait() { DeviceWait(SEM_WAIT, SEMAPHORE, polled() >= 1); }
PROBE own_block() {
    if (polled() < 1) {
        DeviceBlockedWait(NOC_ATOMIC_BARRIER, 1);
        while (polled() < 1) {
        }
    }
}
#endif

#if !defined(COMPILE_FOR_TRISC)
constexpr uint32_t TRANSACTION_ID = 3;

// Makes `count` requests of each kind outstanding on both NoCs.
PROBE issue(uint32_t count) {
    for (uint32_t noc = 0; noc < NUM_NOCS; ++noc) {
#if NOC_MODE == 1
        set_noc_counter_val<proc_type, NocBarrierType::READS_NUM_ISSUED>(noc, count);
        set_noc_counter_val<proc_type, NocBarrierType::NONPOSTED_WRITES_NUM_ISSUED>(noc, count);
        set_noc_counter_val<proc_type, NocBarrierType::NONPOSTED_WRITES_ACKED>(noc, count);
        set_noc_counter_val<proc_type, NocBarrierType::NONPOSTED_ATOMICS_ACKED>(noc, count);
        set_noc_counter_val<proc_type, NocBarrierType::POSTED_WRITES_NUM_ISSUED>(noc, count);
#endif
        noc_reads_num_issued[noc] = count;
        noc_nonposted_writes_num_issued[noc] = count;
        noc_nonposted_writes_acked[noc] = count;
        noc_nonposted_atomics_acked[noc] = count;
        noc_posted_writes_num_issued[noc] = count;
    }
}

PROBE read_barrier() { noc_async_read_barrier(); }
PROBE write_barrier() { noc_async_write_barrier(1); }
PROBE atomic_barrier() { noc_async_atomic_barrier(); }
PROBE full_barrier() { noc_async_full_barrier(1); }
PROBE writes_flushed() { noc_async_writes_flushed(); }
PROBE posted_writes_flushed() { noc_async_posted_writes_flushed(); }
PROBE read_barrier_of_id() { noc_async_read_barrier_with_trid(TRANSACTION_ID); }
PROBE write_barrier_of_id() { noc_async_write_barrier_with_trid(TRANSACTION_ID); }
PROBE write_flushed_of_id() { noc_async_write_flushed_with_trid(TRANSACTION_ID, 1); }
#endif

// Runs a kernel with one wait; `way` is the number of its function.
PROBE kernel(uint32_t way) {
    DeviceZoneScopedMainChildN("KERNEL");
    switch (way) {
        case 1: wait_front(); break;
        case 2: reserve_back(); break;
        case 3: wait_min(); break;
#if !defined(COMPILE_FOR_TRISC)
        case 4: read_barrier(); break;
        case 5: write_barrier(); break;
        case 6: atomic_barrier(); break;
        case 7: full_barrier(); break;
        case 8: writes_flushed(); break;
        case 9: posted_writes_flushed(); break;
        case 10: read_barrier_of_id(); break;
        case 11: write_barrier_of_id(); break;
        case 12: write_flushed_of_id(); break;
#endif
#if defined(OWN_LOOPS)
        case 13: own_wait(); break;
        case 14: own_block(); break;
        // One object more than there is room for, each of which waits from the first poll on.
        case 15:
            for (uint32_t key = 0; key < 9; ++key) {
                DeviceBlockedWait(CB_WAIT, key);
            }
            break;
#endif
        default: break;
    }
}
