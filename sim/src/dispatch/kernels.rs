//! The kernels of the dispatch cores.
//!
//! # Compatibility
//! Names and order of the probes follow `cq_prefetch.cpp`, `cq_dispatch.cpp` and
//! `cq_dispatch_subordinate.cpp` of 0.81.1: the dispatcher waits before it opens a command's zone;
//! the other two kernels wait within the zone. The durations of commands are a model.
//!
//! The kernels are the object code in `objects/kernels/src/dispatch.rs`. They receive the commands
//! in the encoding of [`words`].

use super::{
    Session,
    command::{self, Command, Detail, UNAWAITED_PROGRAMS},
    words::{DATA_SHIFT, HAS_DONE, HAS_LONG_ARRIVAL, HAS_LONG_DONE, LONG_CYCLES, SORT_SHIFT},
};
use crate::program::{Emission, Kernel, KernelContext};
use std::{borrow::Cow, sync::Arc};

/// Cycles by which a command arrives at the prefetcher earlier than at the dispatcher.
const PREFETCH_CYCLES: u64 = 400;

/// Role of a dispatch kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Receives commands from the host and passes them to the dispatcher.
    Prefetch,
    /// Carries out the commands.
    Dispatch,
    /// Sends the GO messages.
    Subordinate,
}

/// A command with its arrival and completion times.
#[derive(Clone, Copy, Debug)]
struct Due {
    command: Command,
    arrives_at: u64,
    /// Earliest cycle at which the command can complete.
    done_at: u64,
}

impl Due {
    /// Creates a command that can complete as soon as it arrives.
    const fn at_once(command: Command, cycle: u64) -> Self {
        Self { command, arrives_at: cycle, done_at: cycle }
    }
}

impl Session {
    /// Returns the dispatcher's commands with their times.
    ///
    /// A program's commands arrive once the GO message of the previous program has left.
    fn dispatched(&self) -> Vec<Due> {
        let gos = self.launches.iter().map(|launch| launch.go_cycle);
        let begins = std::iter::once(self.opened_at).chain(gos);
        let programs = self.launches.iter().zip(begins).enumerate();
        let program_commands = programs.flat_map(|(index, (launch, begin))| {
            let commands = command::program(launch.program_id, index >= UNAWAITED_PROGRAMS);
            commands.into_iter().map(move |command| Due::at_once(command, begin))
        });
        let accesses = [(self.traffic.reads, true), (self.traffic.writes, false)];
        let accesses = accesses
            .into_iter()
            .flat_map(|(count, is_read)| std::iter::repeat_n(command::access(is_read), count));
        let closing = accesses.flatten().chain([command::terminate()]);
        let closing = closing.map(|command| Due::at_once(command, self.closed_at));
        let opening = command::opening().map(|command| Due::at_once(command, self.opened_at));
        opening.chain(program_commands).chain(closing).collect()
    }

    /// Returns the subordinate's commands with their times. A GO command completes when its launch
    /// begins.
    fn announced(&self) -> Vec<Due> {
        let [first, go, last] = command::subordinate();
        let mut arrives_at = self.opened_at;
        let launches = self.launches.iter().map(|launch| {
            let arrived_at = std::mem::replace(&mut arrives_at, launch.go_cycle);
            Due { command: go, arrives_at: arrived_at, done_at: launch.go_cycle }
        });
        let begun = std::iter::once(Due::at_once(first, self.opened_at)).chain(launches);
        begun.chain([Due::at_once(last, self.closed_at)]).collect()
    }
}

/// A dispatch kernel.
pub(super) struct QueueKernel {
    session: Arc<Session>,
    duty: Duty,
    /// The kernel's commands, encoded for the object code.
    words: Vec<u32>,
}

impl QueueKernel {
    pub(super) fn new(session: &Arc<Session>, duty: Duty) -> Self {
        let mut kernel = Self { session: Arc::clone(session), duty, words: Vec::new() };
        kernel.words = kernel.command_words();
        kernel
    }

    fn due(&self) -> Vec<Due> {
        match self.duty {
            Duty::Prefetch | Duty::Dispatch => self.session.dispatched(),
            Duty::Subordinate => self.session.announced(),
        }
    }

    fn command_words(&self) -> Vec<u32> {
        let due = self.due();
        let mut words = vec![u32::try_from(due.len()).unwrap_or(u32::MAX)];
        let mut since = self.session.opened_at;
        let ahead = if self.duty == Duty::Prefetch { PREFETCH_CYCLES } else { 0 };
        for Due { command, arrives_at, done_at } in due {
            let place = words.len();
            words.push(u32::from(command.id) | detail_bits(command.detail));
            if push_time(&mut words, &mut since, arrives_at.saturating_sub(ahead)) {
                words[place] |= HAS_LONG_ARRIVAL;
            }
            if self.duty == Duty::Subordinate && done_at > arrives_at {
                words[place] |= HAS_DONE;
                if push_time(&mut words, &mut since, done_at) {
                    words[place] |= HAS_LONG_DONE;
                }
            }
        }
        words
    }
}

/// Returns the bits of a command's head that encode its further data.
fn detail_bits(detail: Detail) -> u32 {
    let (sort, data) = match detail {
        Detail::None => (0, 0),
        Detail::HostId(id) => (1, u32::from(id)),
        Detail::Packed(sort) => (2, sort),
        Detail::PackedLarge(sort) => (3, sort),
    };
    sort << SORT_SHIFT | data << DATA_SHIFT
}

/// Appends a time relative to `since`. If the time is [`LONG_CYCLES`] or more away, first appends
/// the number of [`LONG_CYCLES`] intervals and returns true.
fn push_time(words: &mut Vec<u32>, since: &mut u64, cycle: u64) -> bool {
    let passed = cycle.saturating_sub(*since);
    let turns = passed / u64::from(LONG_CYCLES);
    if turns > 0 {
        words.push(u32::try_from(turns).unwrap_or(u32::MAX));
        *since += turns * u64::from(LONG_CYCLES);
    }
    words.push(u32::try_from(passed % u64::from(LONG_CYCLES)).unwrap_or(0));
    turns > 0
}

impl Kernel for QueueKernel {
    fn emission(&self, _: &KernelContext) -> Emission {
        let due = self.due();
        due.iter()
            .map(|due| match self.duty {
                Duty::Prefetch => Emission::zones(1),
                Duty::Dispatch | Duty::Subordinate => {
                    Emission { data: due.command.data_count(), ..Emission::zones(1) }
                }
            })
            .fold(Emission::NONE, |sum, emission| sum + emission)
    }

    fn object_name(&self) -> Option<&str> {
        Some(match self.duty {
            Duty::Prefetch => "dispatch_prefetch",
            Duty::Dispatch => "dispatch_commands",
            Duty::Subordinate => "dispatch_announce",
        })
    }

    fn object_data(&self, _: &KernelContext) -> Cow<'_, [u32]> {
        Cow::Borrowed(&self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::{Dispatched, HostTraffic};

    #[test]
    fn times_that_a_word_does_not_hold_are_told_in_turns() {
        const TURN: u64 = 0x0180_0000;
        let launches = vec![
            Dispatched { program_id: 1, go_cycle: 500 },
            Dispatched { program_id: 2, go_cycle: 3 * TURN + 70 },
        ];
        let traffic = HostTraffic { reads: 0, writes: 0 };
        let closed_at = 4 * TURN + 90;
        let session = Arc::new(Session { opened_at: 100, launches, closed_at, traffic });
        let kernel = QueueKernel::new(&session, Duty::Subordinate);
        // The first command, two GO messages and the last command. All but the first wait for the
        // announced event. The events occur 400, `3 * TURN - 30` and `4 * TURN - 10` cycles after
        // the opening.
        let expected = [
            [4, 16, 0].as_slice(),
            &[14 | 1 << 13, 0, 400],
            &[14 | 1 << 13 | 1 << 14, 400, 2, 0x017F_FFE2],
            &[13 | 1 << 12, 1, 0x017F_FFF6],
        ];
        assert_eq!(kernel.words, expected.concat());
    }
}
