// Data records: a number, and the time at which it was recorded.

#include "tools/profiler/kernel_profiler.hpp"
#include "work.hpp"

extern "C" void kernel_main(const volatile uint32_t* launch, uint32_t /* risc */) {
    const uint32_t iterations = launch[3] > 0 ? launch[4] : 3;
    for (uint32_t i = 0; i < iterations; ++i) {
        DeviceTimestampedData("IterationData", i);
        work(50);
    }
}
