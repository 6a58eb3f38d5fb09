// A loop that polls, in each of four passes until 1,000 cycles have passed for each earlier pass: its
// waits are added up into one record, and the first pass waits for nothing. Build the kernel with
// KERNEL_PROFILER_WAITS=1, and link it with a script of `kprof sdk --waits`.

#include "tools/profiler/kernel_profiler.hpp"

namespace {

/// Reads the low word of the tile's clock.
uint32_t now() { return *reinterpret_cast<volatile uint32_t*>(0xFFB121F0); }

/// Address of the word for which a kernel would wait; this one waits for the clock.
constexpr uint32_t READY = 0x1234;

}  // namespace

extern "C" void kernel_main(const volatile uint32_t* /* launch */, uint32_t /* risc */) {
    for (uint32_t pass = 0; pass < 4; ++pass) {
        const uint32_t begun = now();
        DeviceWait(SEM_WAIT, READY, now() - begun >= 1000 * pass);
    }
}
