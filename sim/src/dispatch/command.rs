//! Commands of a dispatcher, and the number of records that the dispatcher writes for each command.
//!
//! # Compatibility
//! Command numbers are from `cq_commands.hpp` of 0.81.1; names of the data types are from
//! `cq_dispatch.cpp` and `cq_dispatch_subordinate.cpp`. The commands of a program are modelled on
//! the sequences in tt-metal's `program/dispatch.cpp`, because no source gives the number of
//! commands of a particular program.

use super::words;

/// A command, and the data that the dispatcher records in addition to the command's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    number: u32,
    /// Type of the data, in the encoding of [`words`]; 0 if the command has no data.
    sort: u32,
    data: u32,
}

/// Data type: the low 16 bits of the id of the program that the next commands belong to.
const HOST_ID: u32 = 1;
/// Data type of a command that writes a few bytes (a packed write). The data's lowest bit is set if
/// the write is a multicast.
const PACKED: u32 = 2;
/// Data type: a large write.
const PACKED_LARGE: u32 = 3;

impl Command {
    const fn new(number: u32) -> Self {
        Self { number, sort: 0, data: 0 }
    }

    const fn packed(kind: u32, is_multicast: bool) -> Self {
        Self { number: 5, sort: PACKED, data: kind << 1 | is_multicast as u32 }
    }

    const fn packed_large(kind: u32) -> Self {
        Self { number: 6, sort: PACKED_LARGE, data: kind }
    }

    /// Returns the command's head word without flags.
    pub(crate) const fn head(self) -> u32 {
        self.number | self.sort << words::SORT_SHIFT | self.data << words::DATA_SHIFT
    }

    /// Returns the number of 8-byte records that a dispatcher writes for the command.
    pub(crate) const fn data_count(self) -> u64 {
        if self.sort == 0 { 1 } else { 2 }
    }
}

const WRITE_LINEAR: Command = Command::new(1);
const WRITE_LINEAR_H_HOST: Command = Command::new(3);
const WRITE_PAGED: Command = Command::new(4);
const WAIT: Command = Command::new(7);
/// The command that ends the queue.
pub(crate) const TERMINATE: Command = Command::new(13);
const SEND_GO_SIGNAL: Command = Command::new(14);
const NOTIFY_SUBORDINATE: Command = Command::new(15);
const SET_NUM_WORKER_SEMS: Command = Command::new(16);
const ARGUMENTS: Command = Command::packed(1, false);
const LAUNCH: Command = Command::packed(2, true);
const EVENT: Command = Command::packed(4, false);
const CONFIGURATION: Command = Command::packed_large(1);
const BINARIES: Command = Command::packed_large(2);

/// Number of commands before the commands of the first program. These commands set up buffers of
/// the device and fill them.
pub const OPENING_COMMANDS: usize = 65;

/// Number of commands for one host access: a wait, the transfer, another wait, the write of an
/// event, and a write to the host.
pub const ACCESS_COMMANDS: usize = 5;

/// Number of launch messages that a core's ring buffer can hold.
///
/// # Compatibility
/// `launch_msg_buffer_num_entries` of `dev_msgs.h`.
const LAUNCH_MESSAGES: usize = 8;

/// Number of programs that a queue accepts before it waits until the first program's workers are
/// done.
///
/// One entry of a core's ring buffer of launch messages is kept, so that a debugger can inspect the
/// previous launch.
///
/// # Compatibility
/// The buffer manager in `program/dispatch.cpp` gets one entry less than the ring has. This model
/// omits two cases: the very first program also waits until its code is in DRAM, and large programs
/// run out of configuration space earlier.
pub const UNAWAITED_PROGRAMS: usize = LAUNCH_MESSAGES - 1;

/// Returns the commands that precede the first program.
pub(crate) fn opening() -> impl Iterator<Item = Command> {
    let round = [WRITE_LINEAR, WRITE_PAGED, WRITE_PAGED, WRITE_LINEAR, WAIT];
    round.into_iter().cycle().take(OPENING_COMMANDS)
}

/// Returns the commands that transfer a program's id and data, and then start its launch. If
/// `awaits_room`, they include a wait for a free launch message.
pub(crate) fn program(program_id: u32, awaits_room: bool) -> Vec<Command> {
    let offset = Command { number: 12, sort: HOST_ID, data: program_id & 0xFFFF };
    let wait = awaits_room.then_some(WAIT);
    let rest = [[ARGUMENTS; 3].as_slice(), &[CONFIGURATION], &[BINARIES; 3]];
    let rest = rest.concat().into_iter().chain([LAUNCH, NOTIFY_SUBORDINATE]);
    std::iter::once(offset).chain(wait).chain(rest).collect()
}

/// Returns the commands of a host access.
pub(crate) const fn access(is_read: bool) -> [Command; ACCESS_COMMANDS] {
    let transfer = if is_read { WRITE_LINEAR_H_HOST } else { WRITE_LINEAR };
    [WAIT, transfer, WAIT, EVENT, WRITE_LINEAR_H_HOST]
}

/// Returns the commands of the dispatcher's subordinate: the first command, the command for each
/// program, and the last command.
pub(crate) const fn subordinate() -> [Command; 3] {
    [SET_NUM_WORKER_SEMS, SEND_GO_SIGNAL, TERMINATE]
}
