//! The kernels of the dispatch cores.
//!
//! # Compatibility
//! Names and order of the probes follow `cq_prefetch.cpp`, `cq_dispatch.cpp` and
//! `cq_dispatch_subordinate.cpp` of 0.81.1: the dispatcher waits before it opens a command's zone;
//! the other two kernels wait within the zone. No source gives the durations of commands; they are
//! an assumption of this model.
//!
//! The kernels are the object code in `objects/kernels/src/dispatch.rs`. They receive the commands
//! in the encoding of [`words`].

use super::{
    Session,
    command::{self, Command, UNAWAITED_PROGRAMS},
    words::{HAS_DONE, HAS_LONG_ARRIVAL, HAS_LONG_DONE, LONG_CYCLES},
};
use crate::{
    kernel::ObjectKernel,
    program::{Emission, Kernel},
};
use std::sync::Arc;

/// Number of cycles by which a command arrives earlier at the prefetcher than at the dispatcher.
const PREFETCH_CYCLES: u64 = 400;

/// A command with its arrival time and its earliest completion time.
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
    /// Returns the kernel that receives commands from the host and passes them to the dispatcher.
    pub(super) fn prefetcher(&self) -> Arc<dyn Kernel> {
        let due = self.dispatched();
        let emission = Emission::zones(due.len() as u64);
        self.kernel("dispatch_prefetch", &due, PREFETCH_CYCLES, emission)
    }

    /// Returns the kernel that carries out the commands.
    pub(super) fn dispatcher(&self) -> Arc<dyn Kernel> {
        let due = self.dispatched();
        self.kernel("dispatch_commands", &due, 0, with_data(&due))
    }

    /// Returns the kernel that sends the GO messages.
    pub(super) fn subordinate(&self) -> Arc<dyn Kernel> {
        let due = self.announced();
        self.kernel("dispatch_announce", &due, 0, with_data(&due))
    }

    fn kernel(
        &self,
        name: &'static str,
        due: &[Due],
        ahead_cycles: u64,
        emission: Emission,
    ) -> Arc<dyn Kernel> {
        let words = self.command_words(due, ahead_cycles);
        Arc::new(ObjectKernel::new(name).with_data(words).with_emission(emission))
    }

    /// Encodes commands for the object code. Each command arrives `ahead_cycles` cycles before its
    /// arrival time in `due`.
    fn command_words(&self, due: &[Due], ahead_cycles: u64) -> Vec<u32> {
        let mut words = vec![u32::try_from(due.len()).unwrap_or(u32::MAX)];
        let mut since = self.opened_at;
        for &Due { command, arrives_at, done_at } in due {
            let place = words.len();
            words.push(command.head());
            if push_time(&mut words, &mut since, arrives_at.saturating_sub(ahead_cycles)) {
                words[place] |= HAS_LONG_ARRIVAL;
            }
            if done_at > arrives_at {
                words[place] |= HAS_DONE;
                if push_time(&mut words, &mut since, done_at) {
                    words[place] |= HAS_LONG_DONE;
                }
            }
        }
        words
    }

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
        let closing = accesses.flatten().chain([command::TERMINATE]);
        let closing = closing.map(|command| Due::at_once(command, self.closed_at));
        let opening = command::opening().map(|command| Due::at_once(command, self.opened_at));
        opening.chain(program_commands).chain(closing).collect()
    }

    /// Returns the commands of the dispatcher's subordinate with their times. A GO command
    /// completes when the launch that it announces begins.
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

/// Returns the records of a dispatcher or its subordinate: one zone per command, and the records of
/// the command's number and data.
fn with_data(due: &[Due]) -> Emission {
    let data = due.iter().map(|due| due.command.data_count()).sum();
    Emission { data, ..Emission::zones(due.len() as u64) }
}

/// Appends the time `cycle`, relative to `since`.
///
/// If the time is [`LONG_CYCLES`] or more after `since`, first appends the number of whole
/// [`LONG_CYCLES`] intervals, adds them to `since`, and returns true.
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
        let session = Session { opened_at: 100, launches, closed_at, traffic };
        let words = session.command_words(&session.announced(), 0);
        // The first command, two GO messages and the last command. All but the first wait: for the
        // cycle of their GO message, or until the queue is closed. These events are 400, `3 * TURN
        // - 30` and `4 * TURN - 10` cycles after the opening.
        let expected = [
            [4, 16, 0].as_slice(),
            &[14 | 1 << 13, 0, 400],
            &[14 | 1 << 13 | 1 << 14, 400, 2, 0x017F_FFE2],
            &[13 | 1 << 12, 1, 0x017F_FFF6],
        ];
        assert_eq!(words, expected.concat());
    }
}
