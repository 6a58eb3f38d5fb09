// A zone for each phase of a kernel.

#include "tools/profiler/kernel_profiler.hpp"
#include "work.hpp"

extern "C" void kernel_main(const volatile uint32_t* /* launch */, uint32_t /* risc */) {
    {
        DeviceZoneScopedN("LoadData");
        work(100);
    }
    {
        DeviceZoneScopedN("Compute");
        work(300);
    }
    {
        DeviceZoneScopedN("StoreData");
        work(200);
    }
}
