// A kernel for the simulator that adds numbers, with a zone for each pass.
//
// docs/kernels.md describes how to compile, link and run it.

#include "kernel_profiler.hpp"

namespace {

// Variables are in L1, and are set to these initial values at the start of every launch.
volatile uint32_t total = 0;

}  // namespace

/// Runs the kernel; called by the firmware. `launch` holds the number of the launch, two words of
/// seed, the count of the runtime arguments, and the runtime arguments.
extern "C" void kernel_main(const volatile uint32_t* launch, uint32_t /* risc */) {
    const uint32_t passes = launch[3] > 0 ? launch[4] : 3;
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceZoneScopedN("ADD");
        for (uint32_t number = 0; number < 16; ++number) {
            total = total + number;
        }
    }
    DeviceTimestampedData("TOTAL", total);
}
