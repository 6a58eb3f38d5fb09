//! Tracy: a trace as a `.tracy` file, or live for a connecting viewer.
//!
//! | question | item |
//! |---|---|
//! | how is a trace written as a file for every viewer? | [`write_tracy_file`] |
//! | how is a trace sent to a running viewer or capture tool? | [`TracyServer`] |
//! | how does a viewer show a program that is still running? | [`LiveView`], [`LiveFeed`] |
//! | which viewers can connect? | [`TracyProtocol`] |
//! | what does Tracy show differently from the recording? | [`TracyNotes`] |
//!
//! Each core is a GPU context, and each RISC is a lane of its core's context. The colours and the
//! order of the lanes are the same as in Tenstorrent's fork of Tracy. Ops, and instants such as
//! events, values, sums and losses, are shown as threads, like the host's threads. The module
//! `scene` decides what a viewer shows; `file` and `live` only encode it.

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
pub use live::{
    FeedPressure, LiveFeed, LiveView, LiveViewOptions, Program, ServeError, ServedViewer,
    TracyProtocol, TracyServer, Visitor,
};
pub use notes::TracyNotes;

/// Title and date of a trace in Tracy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracyOptions {
    /// Name of the trace, such as its file name; cut to 60 bytes if sent live.
    pub title: String,
    /// Time of the recording, in seconds since 1970; 0 if unknown.
    pub recorded_at_s: u64,
}
