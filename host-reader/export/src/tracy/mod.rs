//! Tracy: the same trace as a `.tracy` file, and live to a viewer that connects.
//!
//! | question | item |
//! |---|---|
//! | how does a trace become a file that every viewer opens? | [`write_tracy_file`] |
//! | how does a running viewer or capture tool get it? | [`TracyServer`] |
//! | which viewers can connect? | [`TracyProtocol`] |
//! | what could Tracy not show as it was recorded? | [`TracyNotes`] |
//!
//! Each core is a GPU context and each RISC a lane in it, coloured and ordered as users of
//! Tenstorrent's fork know them. Ops and what happened at one instant (events, values, sums,
//! losses) are threads, and so are those of the host. What a viewer sees is decided once, in `scene`; `file` and `live`
//! only put it into bytes.

mod file;
mod host;
mod lanes;
mod live;
mod messages;
mod notes;
mod ops;
mod places;
mod plots;
mod scene;
mod spans;

pub use file::write_tracy_file;
pub use live::{Program, ServeError, ServedViewer, TracyProtocol, TracyServer, Visitor};
pub use notes::TracyNotes;

/// Title and date of a trace in Tracy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracyOptions {
    /// Name of the trace, such as its file's; cut at 60 bytes where it is sent live.
    pub title: String,
    /// When it was recorded, in seconds since 1970; 0 if unknown.
    pub recorded_at_s: u64,
}
