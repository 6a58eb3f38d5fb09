// A kernel that either fills its RISC's ring, like tt-metal's test_full_buffer, or does nothing.

#include "api/debug/kernel_profiler.hpp"

void kernel_main() {
#if !defined(BLANK_KERNEL)
    for (uint32_t pass = 0; pass < 150; ++pass) {
        DeviceZoneScopedN("filled");
        __asm__ volatile("nop");
    }
    DeviceTimestampedData("data", 7);
    DeviceRecordEvent(3);
#endif
}
