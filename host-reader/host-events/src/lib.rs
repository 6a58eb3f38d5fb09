//! Events of the host: zones, messages, signposts, frame marks, plots and op records.
//!
//! A host that drives chips records its own events with its monotonic clock. Clock samples relate
//! the chips' clocks to the host's clock, so a trace can show which host call a kernel waited for.
//!
//! | question | item |
//! |---|---|
//! | how is a program instrumented? | [`host_zone_scoped!`](crate::host_zone_scoped), [`host_message!`](crate::host_message), [`host_signpost!`](crate::host_signpost), [`host_frame_mark!`](crate::host_frame_mark), [`host_plot!`](crate::host_plot) |
//! | what records the events? | [`HostRecorder`], once it is [installed](HostRecorder::install) |
//! | what was recorded? | [`HostRecording`], which a capture stores |
//! | how are spans of `tracing` recorded? | `HostLayer`, with the feature `tracing` |
//!
//! Each thread writes its events to its own buffer, so threads hardly ever wait for each other. A
//! recorder never uses more memory than its limits allow, and counts dropped events. Without an
//! installed recorder, an instrumented program has almost no overhead.
//!
//! ```
//! use host_events::{host_message, host_zone_scoped, HostRecorder};
//! let recorder = HostRecorder::default();
//! recorder.install()?;
//! {
//!     host_zone_scoped!("LoadWeights");
//!     host_message!("layer {} of {}", 1, 24);
//! }
//! let recording = recorder.take();
//! assert_eq!(recording.event_count(), 2);
//! assert_eq!(recording.name(&recording.threads[0].events[1]), "LoadWeights");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Compatibility
//! The names follow Tracy (`ZoneScopedN`, `TracyMessage`, `FrameMark`, `TracyPlot`), which TT-Metal
//! uses to instrument hosts, and `signpost` in TT-Metal's Python package `tracy`.

#![forbid(unsafe_code)]

mod buffers;
mod color;
mod installed;
mod log;
mod macros;
mod op;
mod record;
mod recorder;
mod recording;
mod sites;
mod source;
#[cfg(test)]
mod tests;
mod trace_message;
#[cfg(feature = "tracing")]
mod tracing_layer;
mod words;

pub use buffers::{BufferPool, BufferUsage, address_text, buffer_address, buffer_bytes};
pub use color::HostColor;
pub use installed::{AlreadyInstalled, installed};
pub use op::{OP_MESSAGES_TITLES, OP_TIMES_TITLES, OpMetadata, OpTexts};
pub use recorder::{HostClock, HostRecorder, HostRecorderOptions, HostZoneGuard};
pub use recording::{HostDrops, HostEvent, HostEventKind, HostRecording, HostThread};
pub use source::HostSource;
pub use trace_message::{TraceMessage, TraceStep};
#[cfg(feature = "tracing")]
pub use tracing_layer::HostLayer;

/// Returns the time of the monotonic clock that recorders use, in nanoseconds.
///
/// A back end for real hardware should take the host times of its clock samples from this clock.
/// If it does, device times can be converted to times on the clock of the host's events.
///
/// On Unix this is `CLOCK_MONOTONIC`, which all processes of a machine share. On other systems the
/// clock starts at 0 with the process.
///
/// The clock is read directly, not estimated from a processor counter. A processor counter is a few
/// nanoseconds faster to read, but the error of its calibration would add to the error of converted
/// chip times.
#[must_use]
pub fn monotonic_ns() -> u64 {
    #[cfg(unix)]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
    }
    #[cfg(not(unix))]
    {
        use std::{sync::OnceLock, time::Instant};
        static START: OnceLock<Instant> = OnceLock::new();
        let elapsed = START.get_or_init(Instant::now).elapsed();
        u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
    }
}
