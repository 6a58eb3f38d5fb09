// A zone for the whole kernel. The firmware's own zones use the guaranteed slots, so this zone is stored
// among the optional records. It always has room, because it is the first optional record.

#include "tools/profiler/kernel_profiler.hpp"
#include "work.hpp"

extern "C" void kernel_main(const volatile uint32_t* /* launch */, uint32_t /* risc */) {
    DeviceZoneScopedMainN("KERNEL-MAIN");
    work(100);
}
