//! Queues between the RISCs of a Tensix tile: mailboxes, and program counter (PC) buffers.
//!
//! # Compatibility
//! tt-isa-documentation, `TensixTile/BabyRISCV/Mailboxes.md` and `PCBufs.md`.

use crate::riscv::Refusal;
use std::collections::VecDeque;

/// Mailboxes and PC buffers of a tile; NCRISC has none of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    /// Queues of values by sender and receiver; index 0 is BRISC, 1 to 3 are the TRISCs.
    mailboxes: [[VecDeque<u32>; MEMBER_COUNT]; MEMBER_COUNT],
    /// Queues of values from BRISC to each TRISC.
    pc_buffers: [VecDeque<u32>; 3],
}

impl Queues {
    /// Appends a value to the mailbox from one RISC to another; the error is `Busy` if the sender's
    /// mailboxes together already hold [`MAILBOX_VALUES`] values.
    pub(crate) fn send(&mut self, from: usize, to: usize, value: u32) -> Result<(), Refusal> {
        let held: usize = self.mailboxes[from].iter().map(VecDeque::len).sum();
        if held >= MAILBOX_VALUES {
            return Err(Refusal::Busy);
        }
        self.mailboxes[from][to].push_back(value);
        Ok(())
    }

    /// Removes and returns the next value that `from` sent to `to`; the error is `Busy` if there is
    /// none.
    pub(crate) fn receive(&mut self, from: usize, to: usize) -> Result<u32, Refusal> {
        self.mailboxes[from][to].pop_front().ok_or(Refusal::Busy)
    }

    /// Returns true if `to` can receive a value that `from` sent.
    pub(crate) fn has_mail(&self, from: usize, to: usize) -> bool {
        !self.mailboxes[from][to].is_empty()
    }

    /// Appends a value to a TRISC's PC buffer; the error is `Busy` if the buffer is full.
    pub(crate) fn push_pc(&mut self, thread: usize, value: u32) -> Result<(), Refusal> {
        let buffer = &mut self.pc_buffers[thread];
        if buffer.len() >= PC_BUFFER_VALUES {
            return Err(Refusal::Busy);
        }
        buffer.push_back(value);
        Ok(())
    }

    /// Removes and returns the next value of a TRISC's PC buffer; the error is `Busy` if there is
    /// none.
    pub(crate) fn pop_pc(&mut self, thread: usize) -> Result<u32, Refusal> {
        self.pc_buffers[thread].pop_front().ok_or(Refusal::Busy)
    }

    /// Carries out BRISC's read of a TRISC's PC buffer, which returns 0; the error is `Busy` until
    /// the TRISC has removed all values from the buffer.
    pub(crate) fn drained_pc(&self, thread: usize) -> Result<u32, Refusal> {
        if self.pc_buffers[thread].is_empty() { Ok(0) } else { Err(Refusal::Busy) }
    }
}

/// Returns the index of a RISC among the RISCs with mailboxes.
pub(crate) const fn member(risc_index: usize) -> usize {
    risc_index.saturating_sub(1)
}

const MEMBER_COUNT: usize = 4;
/// Maximum number of values in all mailboxes of one sender.
const MAILBOX_VALUES: usize = 4;
const PC_BUFFER_VALUES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_arrives_in_order_and_a_sender_has_four_places() {
        let mut queues = Queues::default();
        assert_eq!((member(0), member(2), member(4)), (0, 1, 3));
        for value in 0..4 {
            assert_eq!(queues.send(0, 1 + value as usize % 2, value), Ok(()));
        }
        assert_eq!(queues.send(0, 3, 9), Err(Refusal::Busy));
        assert_eq!((queues.receive(0, 1), queues.receive(0, 1)), (Ok(0), Ok(2)));
        assert_eq!(queues.receive(0, 1), Err(Refusal::Busy));
        assert!(queues.has_mail(0, 2) && !queues.has_mail(0, 1) && !queues.has_mail(1, 0));
    }

    #[test]
    fn brisc_waits_until_a_pc_buffer_is_empty() {
        let mut queues = Queues::default();
        assert_eq!(queues.drained_pc(2), Ok(0));
        for value in 0..16 {
            assert_eq!(queues.push_pc(2, value), Ok(()));
        }
        assert_eq!(queues.push_pc(2, 16), Err(Refusal::Busy));
        assert_eq!(queues.drained_pc(2), Err(Refusal::Busy));
        assert_eq!((queues.pop_pc(2), queues.pop_pc(1)), (Ok(0), Err(Refusal::Busy)));
    }
}
