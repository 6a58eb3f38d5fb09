// Work for the examples: runs for at least `cycles` cycles.

#pragma once

#include <stdint.h>

inline void work(uint32_t cycles) {
    for (uint32_t done = 0; done < cycles; ++done) {
        __asm__ volatile("nop");
    }
}
