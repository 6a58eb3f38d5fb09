// SFPU types come with Tenstorrent's compiler; kernels that use them do not compile here.
//
// Modes of SFPLOADI: tt-isa-documentation, TensixCoprocessor/SFPLOADI.md.

#pragma once
namespace sfpi {

enum {
    SFPLOADI_MOD0_FLOATB = 0,
    SFPLOADI_MOD0_FLOATA = 1,
    SFPLOADI_MOD0_USHORT = 2,
    SFPLOADI_MOD0_SHORT = 4,
    SFPLOADI_MOD0_UPPER = 8,
    SFPLOADI_MOD0_LOWER = 10,
};

}  // namespace sfpi
