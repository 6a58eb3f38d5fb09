//! No-op probes, which the macros call when the profiler is switched off.
//!
//! These functions never call their closures, so the arguments of the probes are not evaluated.
//! `probe.rs` has the real functions, which have the same names.

use core::marker::PhantomData;
use wire::{
    noc_event::{LocalNocEvent, NocEventKind},
    scoped_lock::LockEvent,
};

/// No-op counterpart of a zone's guard.
#[must_use = "a zone ends where its guard is dropped"]
pub struct NoGuard(PhantomData<*const ()>);

/// No-op counterpart of an open wait.
#[must_use = "a wait is recorded when it ends"]
pub struct NoWait(PhantomData<*const ()>);

impl NoWait {
    /// Does nothing.
    #[inline(always)]
    pub const fn end(self) {}
}

/// Does nothing.
#[inline(always)]
pub fn begin_wait<const KIND: u8, const ID: u16, const TOTAL_ID: u16>(
    _: impl FnOnce() -> u32,
) -> NoWait {
    NoWait(PhantomData)
}

/// Does nothing.
#[inline(always)]
pub const fn open_zone<const ID: u16>() -> NoGuard {
    NoGuard(PhantomData)
}

/// Does nothing.
#[inline(always)]
pub fn open_zone_if<const ID: u16>(_: impl FnOnce() -> bool) -> NoGuard {
    NoGuard(PhantomData)
}

/// No-op counterpart of a zone with fixed slots.
pub struct FixedZone<const ID: u16, const IS_MAIN: bool, const IS_OF_LAUNCH: bool>;

impl<const ID: u16, const IS_MAIN: bool, const IS_OF_LAUNCH: bool>
    FixedZone<ID, IS_MAIN, IS_OF_LAUNCH>
{
    /// Does nothing.
    #[inline(always)]
    pub const fn open() -> NoGuard {
        NoGuard(PhantomData)
    }
}

/// Does nothing.
#[inline(always)]
pub const fn open_sum<const ID: u16, const ACCUMULATOR: usize>() -> NoGuard {
    NoGuard(PhantomData)
}

/// Returns 0.
#[inline(always)]
pub const fn low_word(_: u64) -> u32 {
    0
}

/// Does nothing.
#[inline(always)]
pub fn validate<E: Into<u32>>(_: impl FnOnce() -> E) {}

/// Defines functions that do nothing.
macro_rules! no_ops {
    ($($name:ident $([$(const $parameter:ident: $kind:ty),+])? ($($argument:ty),*);)+) => {
        $(
            /// Does nothing: the profiler is switched off.
            #[inline(always)]
            pub fn $name$(<$(const $parameter: $kind),+>)?($(_: $argument),*) {}
        )+
    };
}

no_ops! {
    record_signal[const ID: u16](impl FnOnce() -> u64);
    record_data[const ID: u16](impl FnOnce() -> u64);
    record_data_16b[const ID: u16](impl FnOnce() -> [u64; 2]);
    record_event(impl FnOnce() -> u16);
    record_noc_event(NocEventKind, impl FnOnce() -> u64);
    record_local_noc_event[const HAS_ADDRESSES: bool](
        NocEventKind,
        impl FnOnce() -> (LocalNocEvent, [u32; 2])
    );
    record_lock_event(impl FnOnce() -> LockEvent);
    start_perf_counters(impl FnOnce() -> u32);
    stop_perf_counters(impl FnOnce() -> u32);
    read_perf_counters(impl FnOnce() -> u32);
    quick_push_if_linked_for_noc_events(impl FnOnce() -> (u32, bool));
    set_counter(impl FnOnce() -> u32);
    init_profiler();
    increment_trace_count();
    init_trace_only();
    init();
    finish();
    quick_push();
    quick_push_if_linked(u32, bool);
    flush_to_dram_if_full(u32);
}
