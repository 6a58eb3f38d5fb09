// A kernel for the data movers: it reads, writes and signals in every way that tt-metal records as
// a transfer, with real transfers. The test defines TARGET_* and RECTANGLE_*.

#include "api/dataflow/dataflow_api.h"
#include "api/debug/kernel_profiler.hpp"

namespace {

// Both RISCs run at the same time, each with its own part of L1.
#if defined(COMPILE_FOR_NCRISC)
constexpr uint32_t OWN = 0xB0000;
#else
constexpr uint32_t OWN = 0x90000;
#endif
constexpr uint32_t THERE = OWN + 0x8000;
constexpr uint32_t SEMAPHORE = OWN + 0x7F00;
constexpr uint32_t PASSES = 12;

inline void unicasts(uint64_t there) {
    noc_async_write(OWN, there, 64);
    noc_async_write_one_packet(OWN, there, 1000);
    noc_async_write<NOC_MAX_BURST_SIZE + 1, true, true>(OWN, there, 2048);
    // This is larger than one packet.
    noc_async_write(OWN, there, 20000);
    noc_async_read(get_noc_addr_from_bank_id<true>(3, 0x10000000), OWN, 4096);
    noc_async_read_one_packet(there, OWN, 33);
    noc_async_read(there, OWN, 20000);
}

inline void with_state(uint64_t there) {
    noc_async_read_one_packet_set_state(there, 128);
    noc_async_read_one_packet_with_state(THERE, OWN);
    noc_async_read_set_state(there);
    noc_async_read_with_state(THERE, OWN, 256);
    noc_async_write_one_packet_set_state(there, 96);
    noc_async_write_one_packet_with_state(OWN, THERE);
}

inline void multicasts(uint64_t rectangle) {
    noc_async_write_multicast_one_packet(OWN, rectangle, 512, RECTANGLE_TILES, true);
    noc_async_write_multicast(OWN, rectangle, 256, RECTANGLE_TILES, false);
    noc_semaphore_set_multicast(SEMAPHORE, rectangle, RECTANGLE_TILES);
}

}  // namespace

void kernel_main() {
    const uint64_t there = get_noc_addr(TARGET_X, TARGET_Y, THERE);
    const uint64_t rectangle =
        noc_index == 0
            ? get_noc_multicast_addr(RECTANGLE_X, RECTANGLE_Y, RECTANGLE_END_X, RECTANGLE_END_Y, THERE)
            : get_noc_multicast_addr(RECTANGLE_END_X, RECTANGLE_END_Y, RECTANGLE_X, RECTANGLE_Y, THERE);
    for (uint32_t pass = 0; pass < PASSES; ++pass) {
        DeviceZoneScopedN("pass");
        unicasts(there);
        with_state(there);
        multicasts(rectangle);
        noc_semaphore_set_remote(SEMAPHORE, there);
        noc_semaphore_inc(there, 1);
        noc_async_read_barrier();
        noc_async_write_barrier();
        noc_async_atomic_barrier();
    }
}
