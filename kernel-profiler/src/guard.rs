//! Guards: a zone lasts as long as its guard.
//!
//! None can be sent to another thread, since a zone ends on the RISC where it began:
//!
//! ```compile_fail
//! let guard = kernel_profiler::__private::open_zone::<1>();
//! std::thread::spawn(move || drop(guard));
//! ```

use crate::{
    call,
    launch::{self, Scope},
    port::{Clock, ClockWords, Port},
    processor::with,
};
use core::marker::PhantomData;
use wire::ZoneId;

/// An open zone.
#[must_use = "a zone ends where its guard is dropped"]
pub struct ZoneGuard<const ID: u16> {
    is_recorded: bool,
    on_this_risc: PhantomData<*const ()>,
}

impl<const ID: u16> ZoneGuard<ID> {
    #[inline(always)]
    pub(crate) fn open() -> Self {
        let is_recorded = if cfg!(feature = "out-of-line") {
            call::open_zone(call::shifted(ID))
        } else {
            with(|state, port| state.open_zone(port, ZoneId(ID)))
        };
        Self { is_recorded, on_this_risc: PhantomData }
    }

    #[inline(always)]
    pub(crate) const fn unopened() -> Self {
        Self { is_recorded: false, on_this_risc: PhantomData }
    }
}

impl<const ID: u16> Drop for ZoneGuard<ID> {
    #[inline(always)]
    fn drop(&mut self) {
        if cfg!(feature = "out-of-line") {
            call::close_zone(call::shifted(ID), self.is_recorded);
        } else if self.is_recorded {
            with(|state, port| state.close_zone(port, ZoneId(ID)));
        }
    }
}

/// An open FW or KERNEL zone.
#[must_use = "a zone ends where its guard is dropped"]
pub struct MainGuard {
    scope: Scope,
    id: ZoneId,
    on_this_risc: PhantomData<*const ()>,
}

impl MainGuard {
    #[inline(always)]
    pub(crate) fn open(scope: Scope, id: u16) -> Self {
        let id = ZoneId(id);
        with(|state, port| state.open_scope(port, scope, id));
        Self { scope, id, on_this_risc: PhantomData }
    }
}

impl Drop for MainGuard {
    #[inline(always)]
    fn drop(&mut self) {
        with(|state, port| state.close_scope(port, self.scope, self.id));
    }
}

/// An open sum zone; without sums it is empty.
#[must_use = "a zone ends where its guard is dropped"]
pub struct SumGuard<const ID: u16, const ACCUMULATOR: usize> {
    started: Option<ClockWords>,
    on_this_risc: PhantomData<*const ()>,
}

impl<const ID: u16, const ACCUMULATOR: usize> SumGuard<ID, ACCUMULATOR> {
    #[inline(always)]
    pub(crate) fn open() -> Self {
        let started = with(|_, port| Port::sums_enabled(port).then(|| Clock::now(port)));
        Self { started, on_this_risc: PhantomData }
    }
}

impl<const ID: u16, const ACCUMULATOR: usize> Drop for SumGuard<ID, ACCUMULATOR> {
    #[inline(always)]
    fn drop(&mut self) {
        let Some(started) = self.started else { return };
        with(|state, port| {
            let cycles = launch::cycles_since(started, Clock::now(port));
            state.add_to_sum(ACCUMULATOR, ZoneId(ID), cycles);
        });
    }
}
