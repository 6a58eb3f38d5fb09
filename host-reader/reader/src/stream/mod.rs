//! Streamed lanes: cells that cores write while their kernels run, and the records in them.
//!
//! | question | file |
//! |---|---|
//! | what do the cells of a lane say, and when was it? | `pieces` |
//! | how do cells, which come as zones end, become a lane in the order of time? | `launch` |
//!
//! Rings are read by `read`, in its file `rings`. The format is [`wire::stream`].

mod launch;
mod pieces;

pub use pieces::{CellReader, CellWords, Damage, Piece, Pieces, Span, StreamRecord, Zones};

pub(crate) use launch::{LaneAssembly, Launch};
