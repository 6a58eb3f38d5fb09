/// \file
/// Which zones are a launch's own: the firmware's and that of the kernel in it, by their names.

#pragma once

namespace kernel_profiler {

namespace detail {

/// Returns true if a name ends in `ending`: as a firmware's of the launch ("BRISC-FW") or a wrapper's
/// of the kernel ("BRISC-KERNEL"), whose slots nothing else has taken.
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

/// The kind of a zone for which a fixed place is asked: the launch's own zones have it.
template <uint32_t timer_id, uint32_t index, bool is_of_launch>
struct FixedZone {
    using Scope = profileScopeGuaranteed<timer_id, index>;
};

/// A kernel's zone is an ordinary one: in the fixed place it would end the launch's own early.
template <uint32_t timer_id, uint32_t index>
struct FixedZone<timer_id, index, false> {
    using Scope = profileScope<timer_id, DoingDispatch::NOT_DISPATCH>;
};

}  // namespace detail

/// As profileScopeGuaranteed, which knows of accumulate mode.
template <uint32_t timer_id, uint32_t index>
struct profileScopeMainAccumulate : profileScopeGuaranteed<timer_id, index> {};

}  // namespace kernel_profiler
