//! Guards: a zone lasts until its guard is dropped.
//!
//! No guard can be sent to another thread, because a zone must end on the RISC on which it began:
//!
//! ```compile_fail
//! let guard = kernel_profiler::__private::open_zone::<1>();
//! std::thread::spawn(move || drop(guard));
//! ```

use crate::{
    call,
    launch::{self, Scope},
    port::{self, Clock, ClockWords, Port},
    processor::{self, with},
    stream::Begun,
    wait::{WaitIds, WaitRecords},
};
use core::marker::PhantomData;
use wire::{
    ZoneId,
    wait::{BlockedWait, WaitKind},
};

/// Guard of an open zone.
#[must_use = "a zone ends where its guard is dropped"]
pub struct ZoneGuard<const ID: u16> {
    is_recorded: bool,
    /// Low word of the clock at the zone's start.
    begun: Begun<u32>,
    on_this_risc: PhantomData<*const ()>,
}

impl<const ID: u16> ZoneGuard<ID> {
    #[inline(always)]
    pub(crate) fn open() -> Self {
        let begun = with(|_, port| Begun::now(Port::is_streaming(port), || Clock::now_low(port)));
        if with(|_, port| Port::is_streaming(port)) {
            return Self { is_recorded: true, begun, on_this_risc: PhantomData };
        }
        let is_recorded = if cfg!(feature = "out-of-line") {
            call::open_zone(call::shifted(ID))
        } else {
            with(|state, port| state.open_zone(port, ZoneId(ID)))
        };
        Self { is_recorded, begun, on_this_risc: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn unopened() -> Self {
        let begun = Begun::now(false, || 0);
        Self { is_recorded: false, begun, on_this_risc: PhantomData }
    }
}

impl<const ID: u16> Drop for ZoneGuard<ID> {
    #[inline(always)]
    fn drop(&mut self) {
        if with(|_, port| Port::is_streaming(port)) {
            if self.is_recorded && cfg!(feature = "out-of-line") {
                call::end_zone(call::shifted(ID), self.begun.time());
            } else if self.is_recorded {
                with(|state, port| state.end_zone(port, ZoneId(ID), self.begun.time()));
            }
        } else if cfg!(feature = "out-of-line") {
            call::close_zone(call::shifted(ID), self.is_recorded);
        } else if self.is_recorded {
            with(|state, port| state.close_zone(port, ZoneId(ID)));
        }
    }
}

/// Guard of an open FW or KERNEL zone, whose markers have fixed slots in the L1 vector.
#[must_use = "a zone ends where its guard is dropped"]
pub struct MainGuard<const ID: u16, const IS_MAIN: bool> {
    begun: Begun<ClockWords>,
    on_this_risc: PhantomData<*const ()>,
}

impl<const ID: u16, const IS_MAIN: bool> MainGuard<ID, IS_MAIN> {
    const SCOPE: Scope = if IS_MAIN { Scope::Main } else { Scope::MainChild };

    #[inline(always)]
    pub(crate) fn open() -> Self {
        let begun = with(|_, port| Begun::now(Port::is_streaming(port), || port::whole_time(port)));
        if IS_MAIN {
            processor::begin();
        }
        with(|_, port| {
            if !Port::is_streaming(port) {
                launch::open_scope(port, Self::SCOPE, ZoneId(ID));
            }
        });
        Self { begun, on_this_risc: PhantomData }
    }
}

impl<const ID: u16, const IS_MAIN: bool> Drop for MainGuard<ID, IS_MAIN> {
    #[inline(always)]
    fn drop(&mut self) {
        with(|state, port| {
            if !Port::is_streaming(port) {
                launch::close_scope(port, Self::SCOPE, ZoneId(ID));
            } else if !(IS_MAIN && state.is_launch_idle()) {
                // If the launch runs no kernel on this core, nothing is recorded, so the zone does
                // not count as lost.
                state.end_measured_zone(port, ZoneId(ID), self.begun.time());
            }
        });
        if IS_MAIN {
            processor::finish();
        } else {
            with(|state, port| {
                if Port::wait_records(port) != WaitRecords::Off {
                    state.write_wait_totals(port);
                }
            });
        }
    }
}

/// Guard of an open sum zone (a zone recorded only as a total time); it does nothing if sums are
/// not recorded.
#[must_use = "a zone ends where its guard is dropped"]
pub struct SumGuard<const ID: u16, const ACCUMULATOR: usize> {
    started: Option<u32>,
    on_this_risc: PhantomData<*const ()>,
}

impl<const ID: u16, const ACCUMULATOR: usize> SumGuard<ID, ACCUMULATOR> {
    #[inline(always)]
    pub(crate) fn open() -> Self {
        let started = with(|_, port| Port::sums_enabled(port).then(|| Clock::now_low(port)));
        Self { started, on_this_risc: PhantomData }
    }
}

impl<const ID: u16, const ACCUMULATOR: usize> Drop for SumGuard<ID, ACCUMULATOR> {
    #[inline(always)]
    fn drop(&mut self) {
        let Some(started) = self.started else { return };
        with(|state, port| {
            state.add_to_sum(port, ACCUMULATOR, ZoneId(ID), started);
        });
    }
}

/// Guard of a wait whose first poll was not successful.
#[must_use = "a wait is recorded when it ends"]
pub struct WaitGuard<const KIND: u8, const ID: u16, const TOTAL_ID: u16> {
    key: u32,
    started: u32,
    on_this_risc: PhantomData<*const ()>,
}

impl<const KIND: u8, const ID: u16, const TOTAL_ID: u16> WaitGuard<KIND, ID, TOTAL_ID> {
    #[inline(always)]
    pub(crate) fn begin(key: u32) -> Self {
        let started = with(|_, port| match Port::wait_records(port) {
            WaitRecords::Off => 0,
            WaitRecords::Totals | WaitRecords::Events => Clock::now_low(port),
        });
        Self { key, started, on_this_risc: PhantomData }
    }

    /// Ends the wait, because a poll was successful.
    #[inline(always)]
    pub fn end(self) {
        let Self { key, started, .. } = self;
        with(|state, port| {
            if Port::wait_records(port) != WaitRecords::Off {
                let cycles = Clock::now_low(port).wrapping_sub(started);
                let ids = WaitIds { blocked: ZoneId(ID), total: ZoneId(TOTAL_ID) };
                state.add_wait(port, ids, BlockedWait { kind: WaitKind(KIND), key, cycles });
            }
        });
    }
}
