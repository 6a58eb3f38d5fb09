/// \file
///
/// Waits at NoC barriers, measured through TT-Metal's hook `RECORD_NOC_EVENT`.
///
/// A barrier's function calls the hook before the polling loop. As in waits.hpp, the hook declares
/// objects with the names of the functions that the loop calls, so that each poll calls the object.
/// The object may poll to the end by itself, since its result decides whether the loop polls again.
/// If no transaction is outstanding, the barrier does the same as without the hook.
///
/// The event type in the hook's first argument determines the functions with which a barrier polls.
/// The argument is a scoped name (`A::B`), which a macro cannot split. So the hook appends a
/// parenthesis, which makes `B` a call of a macro that this file defines. Without a parenthesis,
/// `B` remains a name.
///
/// A wait for posted writes counts as `NOC_WRITE_FLUSH`. Barriers for one transaction id count as
/// barriers for all ids.
///
/// Barriers are not measured in builds that record NoC events and include TT-Metal's
/// `noc_event_profiler.hpp` before this header, since TT-Metal's hook then stays in effect.
///
/// # Compatibility
/// `dataflow_api.h` of tt-metal 0.81: each barrier calls the hook once, before its loop and in the
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

    /// Polls until the barrier is reached. In dynamic NoC mode, the expected counts are in L1, so
    /// the data cache must be emptied before each poll.
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

/// Polls until `is_done` returns true.
template <bool IS_IN_L1, typename IsDone>
KERNEL_PROFILER_ALWAYS_INLINE void poll_until(IsDone is_done) {
    while (!is_done()) {
        if constexpr (IS_IN_L1) {
            forget_cached();
        }
    }
}

/// Waits until a NoC has no outstanding transactions. This is a separate function, because an
/// inlined loop would enlarge each call site.
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

/// A barrier that polls with several functions in sequence, as one wait. The first function that
/// finds an outstanding transaction waits for all of them, and the others need not poll.
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

/// Declares the wait of a barrier.
#define KERNEL_PROFILER_BARRIER(structure, kind, noc)                                                          \
    KERNEL_PROFILER_SYNC_SITE(KERNEL_PROFILER_NOC_BARRIER_ZONE)                                                              \
    ::kernel_profiler::detail::structure<                                                                      \
        ::kernel_profiler::detail::WaitKind::kind, KERNEL_PROFILER_SYNC_ID(KERNEL_PROFILER_NOC_BARRIER_ZONE)>                \
        kernel_profiler_barrier{static_cast<uint32_t>(noc)}

/// Declares the replacement of a function with which the loop polls.
#define KERNEL_PROFILER_BARRIER_POLL(is_in_l1, function)                                                       \
    [[maybe_unused]] const auto function = [&kernel_profiler_barrier](auto... arguments)                       \
        __attribute__((always_inline)) {                                                                       \
            return kernel_profiler_barrier.template poll<is_in_l1>(                                            \
                [=]() __attribute__((always_inline)) { return ::function(arguments...); });                    \
        }

/// Declares the replacements of a barrier's two functions, one for each mode: dedicated and dynamic
/// NoCs.
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

// Function-like macros under TT-Metal's names of the events that begin barriers. They expand only
// before a parenthesis.
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
/// Records an event as TT-Metal does.
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

/// If `type` is the event of a barrier, measures the wait of the loop that follows in the block.
/// Always records the event as TT-Metal does.
#undef RECORD_NOC_EVENT
#define RECORD_NOC_EVENT(type, posted, noc)                                                 \
    KERNEL_PROFILER_SECOND_OF(type(~), KERNEL_PROFILER_NO_BARRIER, ~)(noc)                  \
        KERNEL_PROFILER_RECORD_NOC_EVENT(type, posted, noc)

#endif
