// A kernel for the TRISCs: each issues its own Tensix instructions, in a number set by the test.

#include "api/debug/kernel_profiler.hpp"

namespace {

#if COMPILE_FOR_TRISC == 0
constexpr uint32_t INSTRUCTIONS = INSTRUCTIONS_0;
#elif COMPILE_FOR_TRISC == 1
constexpr uint32_t INSTRUCTIONS = INSTRUCTIONS_1;
#else
constexpr uint32_t INSTRUCTIONS = INSTRUCTIONS_2;
#endif
constexpr uint32_t TENSIX_NOP = 0x02000000;
constexpr uint32_t INSTRUCTION_BUFFER = 0xFFE40000;

}  // namespace

void kernel_main() {
    for (uint32_t index = 0; index < INSTRUCTIONS; ++index) {
        *reinterpret_cast<volatile uint32_t*>(INSTRUCTION_BUFFER) = TENSIX_NOP;
    }
}
