// A zone that lasts from the macro to the end of its block.

#include "tools/profiler/kernel_profiler.hpp"
#include "work.hpp"

extern "C" void kernel_main(const volatile uint32_t* /* launch */, uint32_t /* risc */) {
    DeviceZoneScopedN("MyKernelOperation");
    work(100);
}
