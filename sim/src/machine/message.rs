//! Requests between tiles, and reads of DRAM, on their way.

use super::{Payload, tile_watch::Sender};
use crate::arch::TileCoord;

/// A request on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Cycle of the chip at which it is there.
    pub(crate) arrival: u64,
    /// Which of the sender's messages it is.
    pub(crate) number: usize,
    pub(crate) sender: TileCoord,
    /// RISC that sent it, and when; `None` for what no RISC has sent.
    pub(crate) by: Option<Sender>,
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
    /// An acknowledgement that was sent to a tile that did not write.
    StrayAck {
        noc: usize,
        transaction_id: usize,
    },
}

/// Where what is read goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) cycle: u64,
    pub(crate) noc: usize,
    pub(crate) transaction_id: usize,
    /// L1 of the sender.
    pub(crate) destination: u32,
    pub(crate) is_atomic: bool,
}
