// Events: a number of 16 bits and the time.

#include "tools/profiler/kernel_profiler.hpp"
#include "work.hpp"

extern "C" void kernel_main(const volatile uint32_t* /* launch */, uint32_t /* risc */) {
    DeviceRecordEvent(1);
    work(100);
    DeviceRecordEvent(2);
}
