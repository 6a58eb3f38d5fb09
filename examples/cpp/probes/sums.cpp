// Cycles of two parts of a loop, added up over its passes: one record each. Needs a kernel built with
// PROFILE_KERNEL=9, and `kprof run --enable-sum-profiling`.

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
