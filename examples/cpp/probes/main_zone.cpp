// A zone around the whole kernel. The firmware's own zones have the fixed slots, so that it takes its
// place among the optional records, of which it is the first: it always has room.

#include "tools/profiler/kernel_profiler.hpp"
#include "work.hpp"

extern "C" void kernel_main(const volatile uint32_t* /* launch */, uint32_t /* risc */) {
    DeviceZoneScopedMainN("KERNEL-MAIN");
    work(100);
}
