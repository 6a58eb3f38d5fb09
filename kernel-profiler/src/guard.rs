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
    port::{Clock, Port},
    processor::{self, with},
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
pub struct MainGuard<const ID: u16, const IS_MAIN: bool>(PhantomData<*const ()>);

impl<const ID: u16, const IS_MAIN: bool> MainGuard<ID, IS_MAIN> {
    const SCOPE: Scope = if IS_MAIN { Scope::Main } else { Scope::MainChild };

    #[inline(always)]
    pub(crate) fn open() -> Self {
        if IS_MAIN {
            processor::begin();
        }
        with(|_, port| launch::open_scope(port, Self::SCOPE, ZoneId(ID)));
        Self(PhantomData)
    }
}

impl<const ID: u16, const IS_MAIN: bool> Drop for MainGuard<ID, IS_MAIN> {
    #[inline(always)]
    fn drop(&mut self) {
        with(|_, port| launch::close_scope(port, Self::SCOPE, ZoneId(ID)));
        if IS_MAIN {
            processor::finish();
        }
    }
}

/// An open sum zone; without sums it is empty.
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
