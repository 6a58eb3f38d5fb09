// A zone for the whole kernel, and a zone for its inner loop.

#include "tools/profiler/kernel_profiler.hpp"
#include "work.hpp"

extern "C" void kernel_main(const volatile uint32_t* /* launch */, uint32_t /* risc */) {
    DeviceZoneScopedMainN("KERNEL-MAIN");
    work(50);
    {
        DeviceZoneScopedMainChildN("KERNEL-INNER-LOOP");
        work(100);
    }
}
