//! No-op probes, which the macros call when the profiler is switched off.
//!
//! These functions call no closures, so arguments cost nothing. `probe.rs` has the real functions
//! under the same names.

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
pub fn record_signal<const ID: u16>(_: impl FnOnce() -> u64) {}

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

/// Does nothing.
#[inline(always)]
pub fn record_data<const ID: u16>(_: impl FnOnce() -> u64) {}

/// Does nothing.
#[inline(always)]
pub fn record_data_16b<const ID: u16>(_: impl FnOnce() -> [u64; 2]) {}

/// Does nothing.
#[inline(always)]
pub fn record_event(_: impl FnOnce() -> u16) {}

/// Does nothing.
#[inline(always)]
pub fn record_noc_event(_: NocEventKind, _: impl FnOnce() -> u64) {}

/// Does nothing.
#[inline(always)]
pub fn record_local_noc_event<const HAS_ADDRESSES: bool>(
    _: NocEventKind,
    _: impl FnOnce() -> (LocalNocEvent, [u32; 2]),
) {
}

/// Returns 0.
#[inline(always)]
pub const fn low_word(_: u64) -> u32 {
    0
}

/// Does nothing.
#[inline(always)]
pub fn record_lock_event(_: impl FnOnce() -> LockEvent) {}

/// Does nothing.
#[inline(always)]
pub fn start_perf_counters(_: impl FnOnce() -> u32) {}

/// Does nothing.
#[inline(always)]
pub fn stop_perf_counters(_: impl FnOnce() -> u32) {}

/// Does nothing.
#[inline(always)]
pub fn read_perf_counters(_: impl FnOnce() -> u32) {}

/// Does nothing.
#[inline(always)]
pub fn quick_push_if_linked_for_noc_events(_: impl FnOnce() -> (u32, bool)) {}

/// Does nothing.
#[inline(always)]
pub fn validate<E: Into<u32>>(_: impl FnOnce() -> E) {}

/// Does nothing.
#[inline(always)]
pub fn set_counter(_: impl FnOnce() -> u32) {}

/// Does nothing.
#[inline(always)]
pub const fn init_profiler() {}

/// Does nothing.
#[inline(always)]
pub const fn increment_trace_count() {}

/// Does nothing.
#[inline(always)]
pub const fn init_trace_only() {}

/// Does nothing: the profiler is switched off.
#[inline(always)]
pub const fn init() {}

/// Does nothing: the profiler is switched off.
#[inline(always)]
pub const fn finish() {}

/// Does nothing: the profiler is switched off.
#[inline(always)]
pub const fn quick_push() {}

/// Does nothing: the profiler is switched off.
#[inline(always)]
pub const fn quick_push_if_linked(_command_buffer: u32, _is_to_be_linked: bool) {}

/// Does nothing: the profiler is switched off.
#[inline(always)]
pub const fn flush_to_dram_if_full(_words: u32) {}
