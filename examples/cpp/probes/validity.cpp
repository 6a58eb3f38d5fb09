// Discards the records of a launch with invalid data. The runtime argument is 0 if the data is invalid.

#include "tools/profiler/kernel_profiler.hpp"
#include "work.hpp"

extern "C" void kernel_main(const volatile uint32_t* launch, uint32_t /* risc */) {
    const bool data_valid = launch[3] > 0 && launch[4] != 0;
    DeviceValidateProfiler(data_valid);
    if (data_valid) {
        DeviceZoneScopedN("MyKernelOperation");
        work(100);
    }
}
