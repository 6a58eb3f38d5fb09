// A pipeline over two circular buffers. NCRISC fills the first buffer, and the unpacker empties it.
// The packer fills the second buffer. BRISC empties that, writes to DRAM and signals NCRISC with a
// semaphore. The host writes each RISC's work per tile to WORK before the launch. The kernels write
// their measured waits to CLOCKED behind it.

#include "api/debug/kernel_profiler.hpp"
#if defined(COMPILE_FOR_TRISC)
#include "chlkc_descriptors.h"
#include "ckernel.h"
#include "internal/circular_buffer_interface.h"
#if COMPILE_FOR_TRISC == 0
#include "llk_io_unpack.h"
#elif COMPILE_FOR_TRISC == 2
#include "llk_io_pack.h"
#endif
#else
#include "api/dataflow/dataflow_api.h"
#endif

namespace {

[[maybe_unused]] constexpr uint32_t IN = 0;
[[maybe_unused]] constexpr uint32_t OUT = 16;
[[maybe_unused]] constexpr uint32_t TILES = 20;
[[maybe_unused]] constexpr uint32_t CAPACITY = 2;
[[maybe_unused]] constexpr uint32_t PAGE_BYTES = 64;
[[maybe_unused]] constexpr uint32_t PAGES = 0x90000;
[[maybe_unused]] constexpr uint32_t WORK = 0x97000;
[[maybe_unused]] constexpr uint32_t CLOCKED = 0x97040;
[[maybe_unused]] constexpr uint32_t BANK = 3;
[[maybe_unused]] constexpr uint32_t WRITTEN = 0x10000000;

// Sets up a buffer like the firmware does for buffers of the host.
[[maybe_unused]] void set_up(uint32_t number, uint32_t unit) {
    auto& buffer = get_local_cb_interface(number);
    const uint32_t first = (PAGES + number * CAPACITY * PAGE_BYTES) / unit;
    buffer.fifo_page_size = PAGE_BYTES / unit;
    buffer.fifo_size = CAPACITY * PAGE_BYTES / unit;
    buffer.fifo_limit = first + buffer.fifo_size;
    buffer.fifo_num_pages = CAPACITY;
    buffer.fifo_rd_ptr = first;
    buffer.fifo_wr_ptr = first;
    buffer.tiles_acked_received_init = 0;
}

// Works for a tile: as many passes as the RISC's word in WORK.
[[maybe_unused]] void work(uint32_t risc) {
    const uint32_t passes = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(WORK)[risc];
    for (uint32_t pass = 0; pass < passes; ++pass) {
        __asm__ volatile("nop");
    }
}

// Adds the cycles of a wait, measured with the tile's clock, to a word of CLOCKED.
template <typename Wait>
[[maybe_unused]] void clocked(uint32_t number, Wait wait) {
    const auto clock = reinterpret_cast<volatile uint32_t*>(RISCV_DEBUG_REG_WALL_CLOCK_L);
    const uint32_t before = *clock;
    wait();
    const uint32_t after = *clock;
    reinterpret_cast<volatile tt_l1_ptr uint32_t*>(CLOCKED)[number] += after - before;
}

#if !defined(COMPILE_FOR_TRISC)
#define SEMAPHORE reinterpret_cast<volatile tt_l1_ptr uint32_t*>(0x98000)
#endif

}  // namespace

void kernel_main() {
#if defined(COMPILE_FOR_NCRISC)
    set_up(IN, 1);
    for (uint32_t tile = 0; tile < TILES; ++tile) {
        clocked(0, [] { cb_reserve_back(IN, 1); });
        work(0);
        cb_push_back(IN, 1);
    }
    clocked(4, [] { noc_semaphore_wait(SEMAPHORE, TILES); });
#elif defined(COMPILE_FOR_BRISC)
    set_up(OUT, 1);
    noc_semaphore_set(SEMAPHORE, 0);
    for (uint32_t tile = 0; tile < TILES; ++tile) {
        clocked(3, [] { cb_wait_front(OUT, 1); });
        work(3);
        noc_async_write(PAGES, get_noc_addr_from_bank_id<true>(BANK, WRITTEN), PAGE_BYTES);
        clocked(5, [] { noc_async_write_barrier(); });
        cb_pop_front(OUT, 1);
    }
    noc_semaphore_set(SEMAPHORE, TILES);
#elif COMPILE_FOR_TRISC == 0
    set_up(IN, 16);
    for (uint32_t tile = 0; tile < TILES; ++tile) {
        clocked(1, [] { llk_wait_tiles(IN, 1); });
        work(1);
        llk_pop_tiles(IN, 1);
    }
#elif COMPILE_FOR_TRISC == 2
    set_up(OUT, 16);
    for (uint32_t tile = 0; tile < TILES; ++tile) {
        clocked(2, [] { llk_wait_for_free_tiles<false, false, false>(OUT, 1); });
        work(2);
        llk_push_tiles<false, false>(OUT, 1);
    }
#endif
}
