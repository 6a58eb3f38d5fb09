// Events: a 16-bit number, and the time at which it was recorded.

#include "tools/profiler/kernel_profiler.hpp"
#include "work.hpp"

extern "C" void kernel_main(const volatile uint32_t* /* launch */, uint32_t /* risc */) {
    DeviceRecordEvent(1);
    work(100);
    DeviceRecordEvent(2);
}
