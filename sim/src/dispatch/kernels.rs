//! The kernels of the dispatch cores.
//!
//! # Compatibility
//! Names and order of the probes as in `cq_prefetch.cpp`, `cq_dispatch.cpp` and
//! `cq_dispatch_subordinate.cpp` of 0.81.1: the dispatcher waits before it opens the zone of a
//! command, the other two within it. How long a command takes is a model.

use super::{
    Session,
    command::{self, Command, Detail, UNAWAITED_PROGRAMS},
};
use crate::{
    native,
    program::{Emission, Kernel, KernelContext, Progress, SteppedKernel},
};
use kernel_profiler::{device_timestamped_data, device_zone_scoped};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Cycles by which commands reach the prefetcher before the dispatcher.
const PREFETCH_CYCLES: u64 = 400;
/// Cycles that a command takes besides its probes.
const COMMAND_CYCLES: u64 = 40;

/// Job of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Takes commands from the host and gives them to the dispatcher.
    Prefetch,
    /// Carries them out.
    Dispatch,
    /// Sends the GO messages.
    Subordinate,
}

/// A command with its time.
#[derive(Clone, Copy, Debug)]
struct Due {
    command: Command,
    arrives_at: u64,
    /// When it can be done at the earliest.
    done_at: u64,
}

impl Session {
    /// Returns the commands of the dispatcher: those of a program come once the GO message of the
    /// one before has left.
    fn dispatched(&self) -> Vec<Due> {
        let at = |cycle| move |command| Due { command, arrives_at: cycle, done_at: cycle };
        let gos = self.launches.iter().map(|launch| launch.go_cycle);
        let begins = std::iter::once(self.opened_at).chain(gos);
        let programs = self.launches.iter().zip(begins).enumerate();
        let of_programs = programs.flat_map(|(index, (launch, begin))| {
            let commands = command::program(launch.program_id, index >= UNAWAITED_PROGRAMS);
            commands.into_iter().map(at(begin))
        });
        let accesses = [(self.traffic.reads, true), (self.traffic.writes, false)];
        let accesses = accesses
            .into_iter()
            .flat_map(|(count, is_read)| std::iter::repeat_n(command::access(is_read), count));
        let closing = accesses.flatten().chain([command::terminate()]).map(at(self.closed_at));
        command::opening().map(at(self.opened_at)).chain(of_programs).chain(closing).collect()
    }

    /// Returns the commands of its subordinate, each of which waits for what it is to announce.
    fn announced(&self) -> Vec<Due> {
        let [first, go, last] = command::subordinate();
        let at = |command, cycle| Due { command, arrives_at: cycle, done_at: cycle };
        let mut arrives_at = self.opened_at;
        let launches = self.launches.iter().map(|launch| {
            let arrived_at = std::mem::replace(&mut arrives_at, launch.go_cycle);
            Due { command: go, arrives_at: arrived_at, done_at: launch.go_cycle }
        });
        let begun = std::iter::once(at(first, self.opened_at)).chain(launches);
        begun.chain([at(last, self.closed_at)]).collect()
    }
}

/// A kernel that dispatches.
pub(super) struct QueueKernel {
    pub(super) session: Arc<Session>,
    pub(super) duty: Duty,
    /// Shared with the kernel beside it, if there is one.
    pub(super) pace: Option<Pace>,
}

impl QueueKernel {
    fn due(&self) -> Vec<Due> {
        match self.duty {
            Duty::Prefetch | Duty::Dispatch => self.session.dispatched(),
            Duty::Subordinate => self.session.announced(),
        }
    }
}

impl Duty {
    fn carry_out(self, due: Due) {
        match self {
            Self::Prefetch => prefetch(due),
            Self::Dispatch => dispatch(due),
            Self::Subordinate => announce(due),
        }
    }
}

impl Kernel for QueueKernel {
    fn run(&self, _: &KernelContext) {
        self.due().into_iter().for_each(|due| self.duty.carry_out(due));
    }

    fn emission(&self, _: &KernelContext) -> Emission {
        let of_command = |due: &Due| match self.duty {
            Duty::Prefetch => Emission::zones(1),
            Duty::Dispatch | Duty::Subordinate => {
                Emission { data: due.command.data_count(), ..Emission::zones(1) }
            }
        };
        let due = self.due();
        due.iter().map(of_command).fold(Emission::NONE, |sum, emission| sum + emission)
    }

    fn stepped(&self, _: &KernelContext) -> Option<Box<dyn SteppedKernel>> {
        let pace = self.pace.clone()?;
        let rest = self.due().into_iter();
        Some(Box::new(Steps { duty: self.duty, rest: rest.peekable(), pace, has_begun: false }))
    }
}

fn prefetch(due: Due) {
    device_zone_scoped!("CQ-PREFETCH");
    native::wait_until(due.arrives_at.saturating_sub(PREFETCH_CYCLES));
    native::spin(COMMAND_CYCLES);
}

fn dispatch(due: Due) {
    native::wait_until(due.arrives_at);
    device_zone_scoped!("CQ-DISPATCH");
    device_timestamped_data!("process_cmd_d_dispatch", u64::from(due.command.id));
    match due.command.detail {
        Detail::None => {}
        Detail::HostId(id) => device_timestamped_data!("runtime_host_id_dispatch", u64::from(id)),
        Detail::Packed(sort) => device_timestamped_data!("packed_data_dispatch", u64::from(sort)),
        Detail::PackedLarge(sort) => {
            device_timestamped_data!("packed_large_data_dispatch", u64::from(sort));
        }
    }
    native::spin(COMMAND_CYCLES);
}

fn announce(due: Due) {
    device_zone_scoped!("CQ-DISPATCH-SUBORDINATE");
    native::wait_until(due.arrives_at);
    device_timestamped_data!("process_cmd_d_dispatch_subordinate", u64::from(due.command.id));
    native::wait_until(due.done_at);
}

/// Pace of two kernels of one core: the one that is behind goes on, so that what they push leaves
/// the core in the order of its times.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// When each of them does its next command.
    next: Arc<[AtomicU64; 2]>,
    own: usize,
}

impl Pace {
    /// Returns the paces of two kernels.
    pub(super) fn pair() -> [Self; 2] {
        let next = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        [0, 1].map(|own| Self { next: Arc::clone(&next), own })
    }

    /// Says when the next command is done; returns true if the other kernel's is not done before.
    // Ordering: both run on one thread, in turns.
    fn is_behind(&self, next: u64) -> bool {
        self.next[self.own].store(next, Ordering::Relaxed);
        next <= self.next[1 - self.own].load(Ordering::Relaxed)
    }
}

/// A kernel beside another one, command by command.
struct Steps {
    duty: Duty,
    rest: std::iter::Peekable<std::vec::IntoIter<Due>>,
    pace: Pace,
    /// True once its pace is known to the other.
    has_begun: bool,
}

impl SteppedKernel for Steps {
    fn step(&mut self) -> Progress {
        let Some(due) = self.rest.peek() else {
            self.pace.is_behind(u64::MAX);
            return Progress::Done;
        };
        let is_behind = self.pace.is_behind(native::chip_cycle().max(due.done_at));
        if !std::mem::replace(&mut self.has_begun, true) {
            return Progress::Advanced;
        }
        if !is_behind {
            return Progress::Waiting;
        }
        if let Some(due) = self.rest.next() {
            self.duty.carry_out(due);
        }
        Progress::Advanced
    }
}
