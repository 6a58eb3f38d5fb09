//! The kernels of the dispatch cores.
//!
//! # Compatibility
//! Names and order of the probes as in `cq_prefetch.cpp`, `cq_dispatch.cpp` and
//! `cq_dispatch_subordinate.cpp` of 0.81.1: the dispatcher waits before it opens the zone of a
//! command, the other two within it. How long a command takes is a model.
//!
//! Their twins in object code are in `objects/kernels/src/dispatch.rs`; they get the commands as
//! words.

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
/// The same in object code, whose instructions between two commands take about as long.
const OBJECT_COMMAND_CYCLES: u32 = 0;
/// Most cycles of a session of object code, some 60 ms of a chip. It polls the clock all the time,
/// which is executed; longer sessions are native.
const OBJECT_CYCLES_MAX: u64 = 64_000_000;
/// Most commands of a session of object code: as many as fit into L1 of every core that dispatches.
const OBJECT_COMMANDS_MAX: usize = 12_000;

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

/// Form of a session's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Native functions alone.
    Native,
    /// Object code, where the chip has it.
    Object,
}

impl Session {
    /// Returns the form of its kernels: object code, unless it is too long for that.
    pub(super) fn form(&self) -> Form {
        let cycles = self.closed_at.saturating_sub(self.opened_at);
        let is_short = cycles <= OBJECT_CYCLES_MAX;
        match is_short && self.dispatched().len() <= OBJECT_COMMANDS_MAX {
            true => Form::Object,
            false => Form::Native,
        }
    }
}

/// A kernel that dispatches.
pub(super) struct QueueKernel {
    session: Arc<Session>,
    duty: Duty,
    /// Shared with the kernel beside it, if there is one.
    pace: Option<Pace>,
    /// Its commands, as its twin in object code takes them; `None` if there is no twin.
    words: Option<Vec<u32>>,
}

impl QueueKernel {
    pub(super) fn new(
        (session, form): (&Arc<Session>, Form),
        duty: Duty,
        pace: Option<Pace>,
    ) -> Self {
        let session = Arc::clone(session);
        let mut kernel = Self { session, duty, pace, words: None };
        kernel.words = (form == Form::Object).then(|| kernel.object_words());
        kernel
    }

    fn due(&self) -> Vec<Due> {
        match self.duty {
            Duty::Prefetch | Duty::Dispatch => self.session.dispatched(),
            Duty::Subordinate => self.session.announced(),
        }
    }

    fn object_words(&self) -> Vec<u32> {
        let due = self.due();
        let low = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let since = |cycle: u64| low(cycle.saturating_sub(self.session.opened_at));
        let ahead = if self.duty == Duty::Prefetch { PREFETCH_CYCLES } else { 0 };
        let of_command = |due: &Due| {
            let (sort, data) = match due.command.detail {
                Detail::None => (0, 0),
                Detail::HostId(id) => (1, u32::from(id)),
                Detail::Packed(sort) => (2, sort),
                Detail::PackedLarge(sort) => (3, sort),
            };
            let head = u32::from(due.command.id) | sort << 8 | data << 16;
            [head, since(due.arrives_at.saturating_sub(ahead)), since(due.done_at)]
        };
        let head = [low(due.len() as u64), OBJECT_COMMAND_CYCLES];
        head.into_iter().chain(due.iter().flat_map(of_command)).collect()
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

    fn object_name(&self) -> Option<&str> {
        self.words.as_ref()?;
        Some(match self.duty {
            Duty::Prefetch => "dispatch_prefetch",
            Duty::Dispatch => "dispatch_commands",
            Duty::Subordinate => "dispatch_announce",
        })
    }

    fn object_data(&self) -> &[u32] {
        self.words.as_deref().unwrap_or_default()
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

#[cfg(object_code)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arch::Arch,
        config::{ChipConfig, MeshConfig},
        dispatch::{DispatchCores, Dispatched, HostTraffic},
        machine::core_code::CoreCode,
        mesh::SimulatedMesh,
    };

    fn session(launch_count: u64, closed_at: u64) -> Arc<Session> {
        let launch = |index| Dispatched { program_id: 1, go_cycle: 20_000 * index };
        let launches = (1..=launch_count).map(launch).collect();
        let traffic = HostTraffic { reads: 76, writes: 64 };
        Arc::new(Session { opened_at: 0, launches, closed_at, traffic })
    }

    #[test]
    fn sessions_beyond_the_bounds_are_native() {
        // 65 commands to open, 10 of a program, one more from the eighth on, 5 of an access.
        let commands = |programs: usize| 65 + 10 * programs + (programs - 7) + 5 * (76 + 64) + 1;
        let fitting = (8..2000).filter(|programs| commands(*programs) <= 12_000).max().unwrap();
        let form = |launches, closed_at| session(launches, closed_at).form();
        let fitting = fitting as u64;
        assert_eq!(form(fitting, 64_000_000), Form::Object);
        assert_eq!(form(fitting + 1, 64_000_000), Form::Native);
        assert_eq!(form(1, 64_000_001), Form::Native);
        assert_eq!(form(1, u64::MAX), Form::Native);
    }

    #[test]
    fn commands_of_the_longest_session_fit_beside_the_code_of_every_core() {
        // Each program needs ten commands of the dispatcher and one of its subordinate.
        let words = 2 + 3 * OBJECT_COMMANDS_MAX + 2 + 3 * (OBJECT_COMMANDS_MAX / 10 + 2);
        for arch in Arch::ALL {
            for kind in [DispatchCores::Worker, DispatchCores::Ethernet] {
                let config = MeshConfig::new(1).with_chip(ChipConfig::new(arch));
                let mesh = SimulatedMesh::new(&config.with_dispatch_cores(kind)).unwrap();
                let chip = mesh.chip(0).unwrap();
                for coord in kind.reserved(chip.plan()).unwrap() {
                    let cores = chip.plan().cores().iter();
                    let place = *cores.clone().find(|core| core.coord == coord).unwrap();
                    let code = CoreCode::dispatching(chip.facts(), place);
                    let area = code.data_area(arch.facts().l1_bytes(place.kind));
                    assert!(area.len() >= 4 * words, "{arch} {coord:?}: {} bytes", area.len());
                }
            }
        }
    }
}
