// A kernel for the simulator: adds numbers, a zone around each pass.
//
// docs/kernels.md says how it is compiled, linked and run.

#include "kernel_profiler.hpp"

namespace {

// Variables lie in L1 and begin with these values in every launch.
volatile uint32_t total = 0;

}  // namespace

/// What the firmware calls. `launch` holds the number of the launch, two words of seed, and the
/// count of runtime arguments with the arguments behind it.
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
