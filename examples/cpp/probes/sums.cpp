// Two sum zones: the cycles of two parts of a loop, each added up over all passes into one record. Build
// the kernel with PROFILE_KERNEL=9, and run it with `kprof run --enable-sum-profiling`.

#include "tools/profiler/kernel_profiler.hpp"
#include "work.hpp"

extern "C" void kernel_main(const volatile uint32_t* /* launch */, uint32_t /* risc */) {
    for (uint32_t pass = 0; pass < 8; ++pass) {
        {
            DeviceZoneScopedSumN1("AccumulatedCompute");
            work(300);
        }
        {
            DeviceZoneScopedSumN2("AccumulatedStore");
            work(100);
        }
    }
}
