//! Streamed lanes: cells that cores write while their kernels run, and their records.
//!
//! | question | file |
//! |---|---|
//! | what do the cells of a lane contain, and at which time? | `pieces` |
//! | what does one read find in a lane whose launch goes on? | `batch` |
//! | which cells are in the frame of a relay? | `frame` |
//! | how do cells, in the order of zone ends, become a lane in order of time? | `launch` |
//!
//! Module `read` reads the rings, in its part `rings`, and the frames of relays, in its file
//! `relays`. The formats are [`wire::stream`] and [`wire::frame`].

mod batch;
mod frame;
mod launch;
mod pieces;

pub use batch::{Batch, DataColumns, EventColumns, TotalColumns, lanes_of_batches};
pub use pieces::{
    CellReader, CellWords, Damage, Piece, Pieces, Span, StreamRecord, ZoneColumns, Zones,
};

pub(crate) use frame::{Frame, FrameFault, Header};
pub(crate) use launch::{LaneAssembly, Launch};
