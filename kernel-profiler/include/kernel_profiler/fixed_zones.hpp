/// \file
///
/// The zones with fixed slots, chosen by name: the firmware's zone and the kernel's zone of a
/// launch.

#pragma once

namespace kernel_profiler {

namespace detail {

/// Returns true if a name ends in `ending`, like the usual names of a launch's zone ("BRISC-FW")
/// and of its kernel's zone ("BRISC-KERNEL"). Only zones with such names use the fixed slots.
constexpr bool ends_in(const char* name, const char* ending) {
    size_t length = 0;
    while (name[length] != '\0') {
        ++length;
    }
    size_t wanted = 0;
    while (ending[wanted] != '\0') {
        ++wanted;
    }
    for (size_t index = 0; index < wanted; ++index) {
        if (length < wanted || name[length - wanted + index] != ending[index]) {
            return false;
        }
    }
    return true;
}

/// Type of a zone that requests fixed slots. Only the zones of the launch get them.
template <uint32_t timer_id, uint32_t index, bool is_of_launch>
struct FixedZone {
    using Scope = profileScopeGuaranteed<timer_id, index>;
};

/// An ordinary zone, for any other name: in the fixed slots, it would end the launch's zone early.
template <uint32_t timer_id, uint32_t index>
struct FixedZone<timer_id, index, false> {
    using Scope = profileScope<timer_id, DoingDispatch::NOT_DISPATCH>;
};

}  // namespace detail

/// TT-Metal's name of this zone in accumulate mode. profileScopeGuaranteed handles that mode, too.
template <uint32_t timer_id, uint32_t index>
struct profileScopeMainAccumulate : profileScopeGuaranteed<timer_id, index> {};

}  // namespace kernel_profiler
