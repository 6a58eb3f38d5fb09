//! Native execution of kernels, for tests: the macros act on the RISC that the thread has entered.
//!
//! ```
//! # use kernel_profiler::{device_zone_scoped, hosted, port};
//! # struct Nowhere;
//! # impl port::Clock for Nowhere {
//! #     fn now(&mut self) -> port::ClockWords { port::ClockWords { high: 0, low: 0 } }
//! # }
//! # impl port::Memory for Nowhere {
//! #     fn load(&mut self, _: u32) -> u32 { 0 }
//! #     fn store(&mut self, _: u32, _: u32) {}
//! # }
//! # impl port::Noc for Nowhere {
//! #     fn is_linked(&mut self) -> bool { false }
//! #     fn begin_pushes(&mut self, _: u32) -> port::Pushes { port::Pushes(0) }
//! #     fn push(&mut self, _: port::Pushes, _: u32, _: u32, _: u32) -> bool { true }
//! #     fn wait_for_pushes(&mut self, _: port::Pushes) -> bool { true }
//! # }
//! # impl port::Port for Nowhere {
//! #     fn risc_index(&self) -> usize { 0 }
//! #     fn risc_count(&self) -> usize { 1 }
//! #     fn sums_enabled(&self) -> bool { false }
//! # }
//! fn kernel() {
//!     device_zone_scoped!("Work");
//! }
//! # let port = Box::new(Nowhere);
//! let risc = hosted::HostedRisc::new(port);
//! let (_risc, ()) = hosted::enter(risc, kernel);
//! assert!(hosted::registered_zones().iter().any(|text| text.starts_with("Work,")));
//! ```

use crate::{port::Port, state::State};
use std::{
    boxed::Box,
    cell::RefCell,
    collections::BTreeSet,
    string::{String, ToString},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    vec::Vec,
};

/// A RISC on which native kernels run: its port, and the runtime's state.
pub struct HostedRisc {
    port: Box<dyn Port>,
    state: State,
}

impl HostedRisc {
    /// Creates a RISC in the state after its reset.
    #[must_use]
    pub fn new(port: Box<dyn Port>) -> Self {
        Self { port, state: State::new() }
    }

    /// Returns this RISC's port.
    pub fn port_mut(&mut self) -> &mut dyn Port {
        &mut *self.port
    }
}

/// Runs `body` on `risc`: until `body` returns, the macros on this thread act on `risc`.
///
/// Calls can be nested: the outer RISC is restored when `body` returns or panics.
pub fn enter<R>(risc: HostedRisc, body: impl FnOnce() -> R) -> (HostedRisc, R) {
    let outer = Outer(CURRENT.replace(Some(risc)));
    let result = body();
    let risc = CURRENT.take().expect("the RISC that was entered is still there");
    drop(outer);
    (risc, result)
}

/// Returns how many probe calls recorded nothing because their thread had entered no RISC.
#[must_use]
pub fn stray_probe_count() -> u64 {
    STRAY_PROBES.load(Ordering::Relaxed)
}

/// Returns the texts of all zones that native kernels have reached so far, sorted by text.
///
/// Each text is `name,file,line,KERNEL_PROFILER`; the zone's id was computed from it.
#[must_use]
pub fn registered_zones() -> Vec<String> {
    let texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    texts.iter().map(ToString::to_string).collect()
}

/// A call site of a macro, with its zone text.
#[doc(hidden)]
pub struct Site {
    text: &'static str,
    is_registered: AtomicBool,
}

impl Site {
    /// Creates a site that has not been reached yet.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self { text, is_registered: AtomicBool::new(false) }
    }

    /// Registers the site's text if it is not yet registered.
    #[inline(always)]
    pub fn register(&'static self) {
        // Ordering: the flag protects no other data, and registering a text twice does no harm.
        if !self.is_registered.load(Ordering::Relaxed) {
            self.register_text();
        }
    }

    #[cold]
    #[inline(never)]
    fn register_text(&'static self) {
        TEXTS.lock().unwrap_or_else(PoisonError::into_inner).insert(self.text);
        self.is_registered.store(true, Ordering::Relaxed);
    }
}

/// Calls `probe` with the RISC that the thread has entered. If the thread has entered no RISC, only
/// counts the probe as stray.
#[inline(always)]
pub(crate) fn with<R: Default>(probe: impl FnOnce(&mut State, &mut dyn Port) -> R) -> R {
    CURRENT.with_borrow_mut(|current| match current {
        Some(risc) => probe(&mut risc.state, &mut *risc.port),
        None => {
            STRAY_PROBES.fetch_add(1, Ordering::Relaxed);
            R::default()
        }
    })
}

/// Begins a launch on the RISC that the thread has entered.
pub(crate) fn begin() {
    with(|state, port| {
        if !port.is_trace_only() {
            state.begin(port);
        }
    });
}

/// Ends a launch on the RISC that the thread has entered.
pub(crate) fn finish() {
    with(|state, port| {
        if !port.is_trace_only() {
            state.finish(port);
        }
    });
}

/// Guard that restores the outer RISC when the guard is dropped.
struct Outer(Option<HostedRisc>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

std::thread_local! {
    static CURRENT: RefCell<Option<HostedRisc>> = const { RefCell::new(None) };
}

static STRAY_PROBES: AtomicU64 = AtomicU64::new(0);
static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
