/// \file
/// Waits at barriers of the NoC, through upstream's hook `RECORD_NOC_EVENT`.
///
/// The hook stands in a barrier's function, in front of the loop that polls. As in waits.hpp it
/// declares objects with the names of the functions that the loop calls, so that each poll asks the
/// object. The function says by its result whether it has to be called again, so that an object can
/// poll to the end by itself: a barrier that finds nothing under way does what it did before.
///
/// Which functions a barrier polls with, its type in the hook's first argument says. The argument is
/// a name in a scope, which no macro can take apart; but followed by a parenthesis, the name is a
/// macro that this file defines. Elsewhere nothing follows it, and it remains a name.
///
/// A posted write that is waited for counts as `NOC_WRITE_FLUSH`, and barriers for one transaction id
/// as those for all.
///
/// Not measured: barriers of builds that record NoC events and include upstream's
/// `noc_event_profiler.hpp` before this header, which then has the last word.
///
/// # Compatibility
/// `dataflow_api.h` of tt-metal 0.81: each barrier calls the hook once in front of its loop, in the
/// same block.

#pragma once

#include "waits.hpp"

#if KERNEL_PROFILER_HAS_WAITS && KERNEL_PROFILER_HAS_NOC && KERNEL_PROFILER_IN_TT_METAL && \
    defined(RECORD_NOC_EVENT)

namespace kernel_profiler {
namespace detail {

/// A barrier that polls with one function.
template <WaitKind KIND, uint32_t ID>
struct BarrierWait {
    const uint32_t noc;

    /// Polls to the end. What NoCs in dynamic mode are compared with stands in L1.
    template <bool IS_IN_L1, typename IsDone>
    KERNEL_PROFILER_ALWAYS_INLINE bool poll(IsDone is_done) const {
        if (__builtin_expect(is_done(), 1)) {
            return true;
        }
        const uint32_t started = clock_where_it_stands();
        do {
            if constexpr (IS_IN_L1) {
                forget_cached();
            }
        } while (!is_done());
        end_wait<KIND, ID>(noc, started);
        return true;
    }
};

/// Polls until something is done.
template <bool IS_IN_L1, typename IsDone>
KERNEL_PROFILER_ALWAYS_INLINE void poll_until(IsDone is_done) {
    while (!is_done()) {
        if constexpr (IS_IN_L1) {
            forget_cached();
        }
    }
}

/// Waits until a NoC has nothing under way, out of a site that would grow with each of its loops.
template <WaitKind KIND, uint32_t ID, bool IS_IN_L1>
inline __attribute__((noinline)) void wait_until_idle(uint32_t noc) {
    const uint32_t started = clock_where_it_stands();
    if constexpr (IS_IN_L1) {
        poll_until<true>([=]() { return ncrisc_dynamic_noc_reads_flushed(noc); });
        poll_until<true>([=]() { return ncrisc_dynamic_noc_nonposted_writes_sent(noc); });
        poll_until<true>([=]() { return ncrisc_dynamic_noc_nonposted_writes_flushed(noc); });
        poll_until<true>([=]() { return ncrisc_dynamic_noc_nonposted_atomics_flushed(noc); });
        poll_until<true>([=]() { return ncrisc_dynamic_noc_posted_writes_sent(noc); });
    } else {
        poll_until<false>([=]() { return ncrisc_noc_reads_flushed(noc); });
        poll_until<false>([=]() { return ncrisc_noc_nonposted_writes_sent(noc); });
        poll_until<false>([=]() { return ncrisc_noc_nonposted_writes_flushed(noc); });
        poll_until<false>([=]() { return ncrisc_noc_nonposted_atomics_flushed(noc); });
        poll_until<false>([=]() { return ncrisc_noc_posted_writes_sent(noc); });
    }
    end_wait<KIND, ID>(noc, started);
}

/// A barrier that polls with one function after the other. It is one wait: the first of them that
/// finds something under way waits for them all, and the rest need not ask.
template <WaitKind KIND, uint32_t ID>
struct LongBarrierWait {
    const uint32_t noc;
    bool has_blocked = false;

    KERNEL_PROFILER_ALWAYS_INLINE explicit LongBarrierWait(uint32_t noc) : noc(noc) {}

    template <bool IS_IN_L1, typename IsDone>
    KERNEL_PROFILER_ALWAYS_INLINE bool poll(IsDone is_done) {
        if (__builtin_expect(!has_blocked && !is_done(), 0)) {
            has_blocked = true;
            wait_until_idle<KIND, ID, IS_IN_L1>(noc);
        }
        return true;
    }

    LongBarrierWait(const LongBarrierWait&) = delete;
    LongBarrierWait& operator=(const LongBarrierWait&) = delete;
};

}  // namespace detail
}  // namespace kernel_profiler

/// Declares a barrier's wait.
#define KERNEL_PROFILER_BARRIER(structure, kind, noc)                                                          \
    KERNEL_PROFILER_SYNC_SITE(KERNEL_PROFILER_NOC_BARRIER_ZONE)                                                              \
    ::kernel_profiler::detail::structure<                                                                      \
        ::kernel_profiler::detail::WaitKind::kind, KERNEL_PROFILER_SYNC_ID(KERNEL_PROFILER_NOC_BARRIER_ZONE)>                \
        kernel_profiler_barrier{static_cast<uint32_t>(noc)}

/// Declares what takes the place of a function that the loop polls with.
#define KERNEL_PROFILER_BARRIER_POLL(is_in_l1, function)                                                       \
    [[maybe_unused]] const auto function = [&kernel_profiler_barrier](auto... arguments)                       \
        __attribute__((always_inline)) {                                                                       \
            return kernel_profiler_barrier.template poll<is_in_l1>(                                            \
                [=]() __attribute__((always_inline)) { return ::function(arguments...); });                    \
        }

/// The two functions of a barrier, for NoCs in either mode.
#define KERNEL_PROFILER_BARRIER_POLLS(condition)                        \
    KERNEL_PROFILER_BARRIER_POLL(false, ncrisc_noc_##condition);        \
    KERNEL_PROFILER_BARRIER_POLL(true, ncrisc_dynamic_noc_##condition)

#define KERNEL_PROFILER_READ_BARRIER(noc)                               \
    KERNEL_PROFILER_BARRIER(BarrierWait, NOC_READ_BARRIER, noc);        \
    KERNEL_PROFILER_BARRIER_POLLS(reads_flushed);
#define KERNEL_PROFILER_WRITE_BARRIER(noc)                              \
    KERNEL_PROFILER_BARRIER(BarrierWait, NOC_WRITE_BARRIER, noc);       \
    KERNEL_PROFILER_BARRIER_POLLS(nonposted_writes_flushed);
#define KERNEL_PROFILER_WRITE_FLUSH(noc)                                \
    KERNEL_PROFILER_BARRIER(BarrierWait, NOC_WRITE_FLUSH, noc);         \
    KERNEL_PROFILER_BARRIER_POLLS(nonposted_writes_sent);               \
    KERNEL_PROFILER_BARRIER_POLLS(posted_writes_sent);
#define KERNEL_PROFILER_ATOMIC_BARRIER(noc)                             \
    KERNEL_PROFILER_BARRIER(BarrierWait, NOC_ATOMIC_BARRIER, noc);      \
    KERNEL_PROFILER_BARRIER_POLLS(nonposted_atomics_flushed);
#define KERNEL_PROFILER_FULL_BARRIER(noc)                               \
    KERNEL_PROFILER_BARRIER(LongBarrierWait, NOC_FULL_BARRIER, noc);    \
    KERNEL_PROFILER_BARRIER_POLLS(reads_flushed);                       \
    KERNEL_PROFILER_BARRIER_POLLS(nonposted_writes_sent);               \
    KERNEL_PROFILER_BARRIER_POLLS(nonposted_writes_flushed);            \
    KERNEL_PROFILER_BARRIER_POLLS(nonposted_atomics_flushed);           \
    KERNEL_PROFILER_BARRIER_POLLS(posted_writes_sent);
#define KERNEL_PROFILER_READ_BARRIER_OF_ID(noc)                         \
    KERNEL_PROFILER_BARRIER(BarrierWait, NOC_READ_BARRIER, noc);        \
    KERNEL_PROFILER_BARRIER_POLL(false, ncrisc_noc_read_with_transaction_id_flushed);
#define KERNEL_PROFILER_WRITE_BARRIER_OF_ID(noc)                        \
    KERNEL_PROFILER_BARRIER(BarrierWait, NOC_WRITE_BARRIER, noc);       \
    KERNEL_PROFILER_BARRIER_POLL(false, ncrisc_noc_nonposted_write_with_transaction_id_flushed);
#define KERNEL_PROFILER_WRITE_FLUSH_OF_ID(noc)                          \
    KERNEL_PROFILER_BARRIER(BarrierWait, NOC_WRITE_FLUSH, noc);         \
    KERNEL_PROFILER_BARRIER_POLL(false, ncrisc_noc_nonposted_write_with_transaction_id_sent);
#define KERNEL_PROFILER_NO_BARRIER(noc)

// Upstream's names of the events that begin barriers, where a parenthesis follows.
#define READ_BARRIER_START(_) ~, KERNEL_PROFILER_READ_BARRIER
#define WRITE_BARRIER_START(_) ~, KERNEL_PROFILER_WRITE_BARRIER
#define WRITE_FLUSH(_) ~, KERNEL_PROFILER_WRITE_FLUSH
#define ATOMIC_BARRIER(_) ~, KERNEL_PROFILER_ATOMIC_BARRIER
#define FULL_BARRIER(_) ~, KERNEL_PROFILER_FULL_BARRIER
#define READ_BARRIER_WITH_TRID(_) ~, KERNEL_PROFILER_READ_BARRIER_OF_ID
#define WRITE_BARRIER_WITH_TRID(_) ~, KERNEL_PROFILER_WRITE_BARRIER_OF_ID
#define WRITE_FLUSH_WITH_TRID(_) ~, KERNEL_PROFILER_WRITE_FLUSH_OF_ID

#define KERNEL_PROFILER_SECOND(first, second, ...) second
#define KERNEL_PROFILER_SECOND_OF(...) KERNEL_PROFILER_SECOND(__VA_ARGS__)

#if defined(RECORD_NOC_EVENT_IMPL_)
/// An event as upstream records it.
#define KERNEL_PROFILER_RECORD_NOC_EVENT(type, posted, noc)                     \
    {                                                                           \
        using NocEventType = KernelProfilerNocEventMetadata::NocEventType;      \
        if constexpr (::noc_event_profiler::shouldRecordEvent(type)) {          \
            RECORD_NOC_EVENT_IMPL_(type, posted, noc)                           \
        }                                                                       \
    }
#else
#define KERNEL_PROFILER_RECORD_NOC_EVENT(type, posted, noc)
#endif

/// Measures the wait of the loop that follows in the block, where `type` is a barrier's, and
/// records the event as upstream does.
#undef RECORD_NOC_EVENT
#define RECORD_NOC_EVENT(type, posted, noc)                                                 \
    KERNEL_PROFILER_SECOND_OF(type(~), KERNEL_PROFILER_NO_BARRIER, ~)(noc)                  \
        KERNEL_PROFILER_RECORD_NOC_EVENT(type, posted, noc)

#endif
