//! Streamed lanes: cells that cores write while their kernels run, and their records.
//!
//! | question | file |
//! |---|---|
//! | what records do the cells of a lane contain, and what are the records' times? | `pieces` |
//! | how are records returned while their launch still runs? | `batch` |
//! | which cells are in the frame of a relay? | `frame` |
//! | how do cells, in the order of zone ends, become a lane in order of time? | `launch` |
//!
//! `read::rings` reads the rings, and `read::relays` reads the frames of relays. [`wire::stream`]
//! and [`wire::frame`] define the formats.

mod batch;
mod frame;
mod launch;
mod pieces;

pub use batch::{Batch, DataColumns, EventColumns, TotalColumns, lanes_of_batches};
pub use pieces::{
    CellReader, CellWords, Damage, Piece, Pieces, Span, StreamRecord, ZoneCells, ZoneColumns,
};

pub(crate) use frame::{Frame, FrameFault, FrameHeader};
pub(crate) use launch::{LaneAssembly, LaunchId};
