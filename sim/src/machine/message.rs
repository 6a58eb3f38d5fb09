//! Messages in flight between tiles, including reads of DRAM: requests, answers and
//! acknowledgements.

use super::{
    arrival::{Payload, carry_out, read_bytes, write_bytes},
    devices::Devices,
    niu::{Change, counter},
    request::{Action, Request},
};
use crate::{arch::TileCoord, chip::facts::ChipFacts, tile::Tile, truth::ReleaseTruth};

/// A message in flight: a request, its answer, or an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Cycle of the chip at which the message arrives.
    pub(crate) arrival: u64,
    /// Sequence number of the message, counted per sender; on a board, counted per chip.
    pub(crate) number: usize,
    pub(crate) sender: TileCoord,
    /// RISC that sent the request, and the time of sending; `None` if the ground truth does not
    /// contain the request.
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
    /// Data returned for a request.
    Answer {
        answer: Answer,
        bytes: Vec<u8>,
    },
    /// Acknowledgement of a write.
    Acknowledgement {
        noc: usize,
        transaction_id: usize,
    },
}

/// Answer to a read or atomic request: when and where the returned data arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) cycle: u64,
    noc: usize,
    transaction_id: usize,
    /// L1 address in the tile that sent the request.
    destination: u32,
    is_atomic: bool,
}

impl Request {
    /// Returns the operation for each target tile; the data of a write is read from the sender's
    /// L1.
    pub(crate) fn payload(&self, sender: &Tile) -> Payload {
        match self.action {
            Action::Write { source, byte_count, address, .. } => {
                let bytes = read_bytes(sender, u64::from(source), byte_count);
                Payload::Bytes { address, bytes }
            }
            Action::Inline { address, value, byte_mask, .. } => {
                Payload::Masked { address, value, byte_mask }
            }
            Action::Read { address, byte_count, .. } => Payload::Read { address, byte_count },
            Action::Increment { address, amount, mask, .. } => {
                Payload::Increment { address, amount, mask }
            }
        }
    }

    /// Returns the answer to the request; `None` if the request returns no data. The answer leaves
    /// the target at once, and its first flit reaches the sender at `cycle`.
    pub(crate) fn answer(&self, chip: &ChipFacts, cycle: u64) -> Option<Answer> {
        let (destination, byte_count, is_atomic) = match self.action {
            Action::Read { destination, byte_count, .. } => (destination, byte_count, false),
            Action::Increment { reply, .. } if self.wants_response => (reply, 4, true),
            _ => return None,
        };
        let flits = u64::from(byte_count).div_ceil(chip.arch.facts().noc_flit_bytes);
        let (noc, transaction_id) = (self.noc, self.transaction_id);
        Some(Answer { cycle: cycle + flits, noc, transaction_id, destination, is_atomic })
    }

    /// Returns the tile that gets the acknowledgements of the request; `None` if the request is not
    /// acknowledged.
    pub(crate) const fn acknowledge_to(&self, sender: TileCoord) -> Option<TileCoord> {
        match self.action {
            Action::Write { acknowledge_to, .. } if self.wants_response => Some(acknowledge_to),
            Action::Inline { .. } if self.wants_response => Some(sender),
            _ => None,
        }
    }
}

impl Content {
    /// Carries out the message at a core; returns the bytes that a request reads.
    pub(crate) fn arrive(
        &self,
        (tile, devices): (&mut Tile, &mut Devices),
        chip: &ChipFacts,
        cycle: u64,
    ) -> Vec<u8> {
        match self {
            Self::Request { payload, .. } => carry_out(payload, (tile, devices), chip, cycle),
            Self::Answer { answer, bytes } => {
                answer.receive(bytes, (tile, devices), chip);
                Vec::new()
            }
            &Self::Acknowledgement { noc, transaction_id } => {
                count(devices, (noc, transaction_id), (counter::WRITE_ACKS, 1), cycle);
                Vec::new()
            }
        }
    }
}

impl Answer {
    /// Writes the returned bytes into the requesting tile, and updates the counters of that tile's
    /// NoC interface.
    fn receive(self, bytes: &[u8], (tile, devices): (&mut Tile, &mut Devices), chip: &ChipFacts) {
        let Self { cycle, noc, transaction_id, destination, is_atomic } = self;
        write_bytes((tile, devices), destination.into(), bytes, cycle);
        let received = if is_atomic {
            (counter::ATOMIC_RESPONSES, 1)
        } else {
            let flits = (bytes.len() as u64).div_ceil(chip.arch.facts().noc_flit_bytes);
            let amount = u32::try_from(flits).unwrap_or(0);
            devices.noc.expect(noc, Change { cycle, counter: counter::READ_DATA_WORDS, amount });
            (counter::READ_RESPONSES, 1)
        };
        count(devices, (noc, transaction_id), received, cycle);
    }
}

/// Schedules the counter changes for a response that arrives at `cycle`.
fn count(
    devices: &mut Devices,
    (noc, transaction_id): (usize, usize),
    received: (usize, u32),
    cycle: u64,
) {
    let done = (counter::OUTSTANDING + transaction_id, u32::MAX);
    for (counter, amount) in [received, done] {
        devices.noc.expect(noc, Change { cycle, counter, amount });
    }
}
