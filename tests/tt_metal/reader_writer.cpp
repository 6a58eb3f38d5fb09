// A kernel for every RISC of a core: BRISC writes to DRAM, NCRISC reads these data, and the TRISCs
// only compute. Outside of tt-metal the kernel moves no data, but leaves the same records.

#if defined(KERNEL_BUILD)
#include "api/debug/kernel_profiler.hpp"
#if defined(COMPILE_FOR_BRISC) || defined(COMPILE_FOR_NCRISC)
#include "api/dataflow/dataflow_api.h"
#endif
#else
#include "kernel_profiler.hpp"
#endif

namespace {

[[maybe_unused]] constexpr uint32_t PASSES = 5;
[[maybe_unused]] constexpr uint32_t SOURCE = 0x90000;
[[maybe_unused]] constexpr uint32_t DESTINATION = 0x91000;
[[maybe_unused]] constexpr uint32_t BYTES = 64;
[[maybe_unused]] constexpr uint32_t BANK = 3;
[[maybe_unused]] constexpr uint32_t WRITTEN = 0x10000000;

inline __attribute__((always_inline)) void transfer([[maybe_unused]] uint32_t pass) {
#if defined(KERNEL_BUILD) && defined(COMPILE_FOR_BRISC)
    volatile tt_l1_ptr uint32_t* source = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(SOURCE);
    for (uint32_t word = 0; word < BYTES / 4; ++word) {
        source[word] = 0x600D0000 + 0x100 * pass + word;
    }
    noc_async_write(SOURCE, get_noc_addr_from_bank_id<true>(BANK, WRITTEN), BYTES);
    noc_async_write_barrier();
#elif defined(KERNEL_BUILD) && defined(COMPILE_FOR_NCRISC)
    noc_async_read(get_noc_addr_from_bank_id<true>(BANK, WRITTEN), DESTINATION, BYTES);
    noc_async_read_barrier();
#endif
}

}  // namespace

#if defined(KERNEL_BUILD)
void kernel_main() {
#else
extern "C" void kernel_main(const volatile uint32_t*, uint32_t) {
#endif
    for (uint32_t pass = 0; pass < PASSES; ++pass) {
        DeviceZoneScopedN("transfer");
        transfer(pass);
        DeviceTimestampedData("pass", pass);
    }
    DeviceRecordEvent(7);
}
