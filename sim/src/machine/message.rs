//! Requests in flight between tiles, including reads of DRAM.

use super::Payload;
use crate::{arch::TileCoord, truth::ReleaseTruth};

/// A request in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Cycle of the chip at which the request arrives.
    pub(crate) arrival: u64,
    /// Sequence number among the sender's messages.
    pub(crate) number: usize,
    pub(crate) sender: TileCoord,
    /// RISC that sent the request, and the time; `None` if the request was not sent by a RISC.
    pub(crate) by: Option<ReleaseTruth>,
    pub(crate) target: TileCoord,
    pub(crate) content: Content,
}

/// Content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Request {
        payload: Payload,
        answer: Option<Answer>,
    },
    /// An acknowledgement sent to a tile other than the writer.
    StrayAck {
        noc: usize,
        transaction_id: usize,
    },
}

/// Destination and arrival time of the data that a read returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) cycle: u64,
    pub(crate) noc: usize,
    pub(crate) transaction_id: usize,
    /// L1 address at the sender.
    pub(crate) destination: u32,
    pub(crate) is_atomic: bool,
}
