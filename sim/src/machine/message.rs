//! Messages in flight between tiles, including reads of DRAM: requests, answers and
//! acknowledgements.

use super::{
    arrival::{Payload, carry_out, read_bytes, write_bytes},
    devices::Devices,
    niu::{Change, counter},
    request::{Action, Request},
};
use crate::{
    arch::TileCoord,
    chip::facts::ChipFacts,
    dram::Landing,
    network::{Channels, KeptPort},
    tile::Tile,
    truth::ReleaseTruth,
};

/// A message in flight: a request, its answer, or an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Cycle of the chip at which the message begins its step.
    pub(crate) cycle: u64,
    pub(crate) step: Step,
    pub(crate) noc: usize,
    /// Virtual channels of the links of its way; `None` if it takes none. A multicast takes only the
    /// links to its first target.
    pub(crate) channels: Option<Channels>,
    /// The port of the target tile, if the message keeps it until the tile accepts it.
    pub(crate) port: Option<KeptPort>,
    /// Number of the request that this message is or answers, counted per requesting tile; on a
    /// board, 0.
    pub(crate) number: u64,
    pub(crate) sender: TileCoord,
    /// RISC that sent the request, and the time of sending; `None` if the ground truth does not
    /// contain the request.
    pub(crate) by: Option<ReleaseTruth>,
    pub(crate) target: TileCoord,
    pub(crate) content: Content,
}

/// Part of a message's way that is still to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The message leaves its sender.
    Departs,
    /// The message is in its target tile.
    Arrives,
}

/// Content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Request {
        payload: Payload,
        answer: Option<Answer>,
        /// Tile that gets the acknowledgement, and the acknowledgement.
        acknowledgement: Option<(TileCoord, Acknowledgement)>,
    },
    /// Data for a DRAM bank.
    DramWrite {
        bank: u32,
        byte_count: u64,
        /// The write as DRAM gets it; `None` if a fault loses it.
        landing: Option<Landing>,
        /// Cycles by which a fault delays the write.
        delay_cycles: u64,
        acknowledgement: Option<(TileCoord, Acknowledgement)>,
    },
    /// Data returned for a request.
    Answer {
        answer: Answer,
        bytes: Vec<u8>,
    },
    Acknowledgement(Acknowledgement),
}

/// Acknowledgement of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    pub(crate) noc: usize,
    pub(crate) transaction_id: usize,
}

/// Answer to a read or atomic request: where the returned data arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
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

    /// Returns the answer to the request; `None` if the request returns no data.
    pub(crate) const fn answer(&self) -> Option<Answer> {
        let (destination, is_atomic) = match self.action {
            Action::Read { destination, .. } => (destination, false),
            Action::Increment { reply, .. } if self.wants_response => (reply, true),
            _ => return None,
        };
        let (noc, transaction_id) = (self.noc, self.transaction_id);
        Some(Answer { noc, transaction_id, destination, is_atomic })
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
                answer.receive(bytes, (tile, devices), chip, cycle);
                Vec::new()
            }
            &Self::Acknowledgement(Acknowledgement { noc, transaction_id }) => {
                count(devices, (noc, transaction_id), (counter::WRITE_ACKS, 1), cycle);
                Vec::new()
            }
            Self::DramWrite { .. } => Vec::new(),
        }
    }

    /// Returns the number of data bytes in the message's packet.
    pub(crate) const fn byte_count(&self) -> u64 {
        match self {
            Self::Request { payload, .. } => payload.byte_count(),
            Self::DramWrite { byte_count, .. } => *byte_count,
            Self::Answer { bytes, .. } => bytes.len() as u64,
            Self::Acknowledgement(_) => 0,
        }
    }

    /// Returns true if the sender of this request waits for something that comes back to it.
    pub(crate) fn is_awaited_by(&self, sender: TileCoord) -> bool {
        let (Self::Request { acknowledgement, .. } | Self::DramWrite { acknowledgement, .. }) =
            self
        else {
            return false;
        };
        matches!(self, Self::Request { answer: Some(_), .. })
            || acknowledgement.is_some_and(|(to, _)| to == sender)
    }
}

impl Message {
    /// Returns the message that an answer or acknowledgement makes, which leaves this request's
    /// target at a cycle.
    pub(crate) const fn back(&self, to: TileCoord, content: Content, cycle: u64) -> Self {
        Self {
            cycle,
            step: Step::Departs,
            noc: self.noc,
            channels: Some(Channels::ANSWERS),
            port: None,
            number: self.number,
            sender: self.target,
            by: None,
            target: to,
            content,
        }
    }
}

impl Answer {
    /// Writes the returned bytes into the requesting tile, and updates the counters of that tile's
    /// NoC interface.
    fn receive(
        self,
        bytes: &[u8],
        (tile, devices): (&mut Tile, &mut Devices),
        chip: &ChipFacts,
        cycle: u64,
    ) {
        let Self { noc, transaction_id, destination, is_atomic } = self;
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
