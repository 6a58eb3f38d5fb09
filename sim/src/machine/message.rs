//! Messages in flight between tiles, including reads of DRAM.

use super::Payload;
use crate::{arch::TileCoord, truth::ReleaseTruth};

/// A message in flight: a request or an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Cycle of the chip at which the message arrives.
    pub(crate) arrival: u64,
    /// Sequence number of the message at its sender.
    pub(crate) number: usize,
    pub(crate) sender: TileCoord,
    /// RISC that sent the request, and when; `None` for an acknowledgement.
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
    /// An acknowledgement sent to a tile other than the one that wrote.
    StrayAck {
        noc: usize,
        transaction_id: usize,
    },
}

/// Answer to a read or atomic request: when and where the returned data arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) cycle: u64,
    pub(crate) noc: usize,
    pub(crate) transaction_id: usize,
    /// L1 address in the tile that sent the request.
    pub(crate) destination: u32,
    pub(crate) is_atomic: bool,
}
