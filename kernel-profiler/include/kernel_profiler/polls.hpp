/// \file
///
/// The macros of own_waits.hpp in builds that record no waits, also those that use TT-Metal's
/// header: the loops poll, and nothing is recorded. Keys are type-checked and not evaluated.

#pragma once

#define DeviceBlockedWait(kind, key) static_cast<void>(sizeof(key))

#define DeviceWait(kind, key, ...)              \
    do {                                        \
        DeviceBlockedWait(kind, key);           \
        while (!(__VA_ARGS__)) {                \
        }                                       \
    } while (0)
