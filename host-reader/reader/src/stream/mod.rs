//! Streamed lanes: cells that cores write while their kernels run, and their records.
//!
//! | question | file |
//! |---|---|
//! | what do the cells of a lane contain, and at which time? | `pieces` |
//! | what does one read find in a lane whose launch goes on? | `batch` |
//! | how do cells, in the order of zone ends, become a lane in order of time? | `launch` |
//!
//! Module `read` reads the rings, in its file `rings`. The format is [`wire::stream`].

mod batch;
mod launch;
mod pieces;

pub use batch::{Batch, DataColumns, EventColumns, TotalColumns};
pub use pieces::{
    CellReader, CellWords, Damage, Piece, Pieces, Span, StreamRecord, ZoneColumns, Zones,
};

pub(crate) use launch::{LaneAssembly, Launch};
