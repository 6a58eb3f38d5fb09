//! The firmware of a core: starts kernels, times them, ends the launch.
//!
//! ```text
//! BRISC / ERISC                         subordinates
//! -------------                         ------------
//! GO arrives
//! main zone opens
//! validate, program id
//! starts them ------------------------> main zone opens
//! kernel zone around the kernel         kernel zone around the kernel
//! waits until all are done <----------- main zone closes, done
//! done: the dispatcher goes on
//! main zone closes: push
//! ```
//!
//! Subordinates run before the rest of BRISC in the order of the simulation, each on a
//! time line of its own.
//!
//! # Compatibility
//! `brisc.cc`, `ncrisc.cc`, `trisc.cc`, `active_erisc.cc`, except that subordinates close
//! their main zone before they say that they are done, unless a fault rule makes them late.

use super::{
    port::RiscPort,
    stage::{self, cost},
};
use crate::{
    arch::Arch,
    noc,
    program::{Emission, Kernel, KernelContext, Launch, Progress, SteppedKernel},
    random::Stream,
    truth::{KernelTimes, LaunchTruth},
};
use kernel_profiler::{
    __private::FixedZone,
    __site, device_increment_trace_count, device_profiler_init, device_trace_only_profiler_init,
    device_validate_profiler, device_zone_scoped_main, device_zone_set_counter,
    hosted::{self, HostedRisc},
    state::State,
};
use std::sync::Arc;
use wire::{CoreKind, Cycles, Risc};

/// The RISCs of one core: what the profiler's runtime remembers on each between launches.
pub(crate) struct Riscs {
    kind: CoreKind,
    states: Vec<State>,
    has_booted: bool,
}

impl Riscs {
    pub(crate) fn new(kind: CoreKind) -> Self {
        Self { kind, states: vec![State::new(); kind.risc_count()], has_booted: false }
    }

    /// Runs on the RISC with this index; the macros speak to it meanwhile.
    fn on<R>(&mut self, index: usize, action: impl FnOnce(&mut Self) -> R) -> R {
        let state = std::mem::take(&mut self.states[index]);
        let risc = HostedRisc::with_state(Box::new(RiscPort::new(self.kind, index)), state);
        let outer = stage::with(|stage| {
            let outer = stage.context().risc;
            stage.switch_to(self.kind.risc(index).unwrap_or(outer));
            outer
        });
        let (risc, result) = hosted::enter(risc, || action(self));
        stage::with(|stage| stage.switch_to(outer));
        self.states[index] = risc.state().clone();
        result
    }
}

/// The GO message as a core gets it.
pub(crate) struct Go {
    pub(crate) arrival_cycle: u64,
    pace: Pace,
    random: Stream,
}

impl Go {
    /// A message that leaves the dispatcher at a cycle and takes its way to the core.
    pub(crate) fn arriving_at(context: &KernelContext, arch: Arch, cycle: u64) -> Self {
        let coord = context.place.coord;
        let path = [
            FIRMWARE_STREAM,
            u64::from(context.chip_id),
            u64::from(coord.x),
            u64::from(coord.y),
            context.launch_index,
        ];
        let mut random = Stream::new(context.seed, &path);
        let way = u64::from(coord.x + coord.y) * noc::HOP_CYCLES + random.below(GO_JITTER_CYCLES);
        Self { arrival_cycle: cycle + way, pace: Pace::of(arch), random }
    }

    /// Lets the firmware work for about a number of cycles.
    fn work(&mut self, cycles: u64) {
        let spread = cycles / 16;
        let drawn = cycles - spread / 2 + self.random.below(spread + 1);
        stage::with(|stage| stage.spin(drawn));
    }
}

/// Cycles that the firmware itself needs, besides what the profiler costs.
///
/// # Compatibility
/// Medians of silicon captures, less what the profiler costs here: from the start of the
/// firmware's zone to that of the kernel's (857, 684 and 420 cycles on Wormhole's BRISC,
/// NCRISC and TRISCs), and between their ends. Blackhole's TRISCs are an estimate.
#[derive(Clone, Copy)]
struct Pace {
    brisc_before_start: u64,
    brisc_before_kernel: u64,
    ncrisc_before_kernel: u64,
    trisc_before_kernel: u64,
    brisc_after_kernel: u64,
    ncrisc_after_kernel: u64,
    trisc_after_kernel: u64,
}

impl Pace {
    const fn of(arch: Arch) -> Self {
        match arch {
            Arch::WormholeB0 => Self {
                brisc_before_start: 120,
                brisc_before_kernel: 692,
                ncrisc_before_kernel: 650,
                trisc_before_kernel: 405,
                brisc_after_kernel: 108,
                ncrisc_after_kernel: 102,
                trisc_after_kernel: 28,
            },
            Arch::Blackhole => Self {
                brisc_before_start: 90,
                brisc_before_kernel: 490,
                ncrisc_before_kernel: 315,
                trisc_before_kernel: 230,
                brisc_after_kernel: 87,
                ncrisc_after_kernel: 14,
                trisc_after_kernel: 14,
            },
        }
    }
}

impl Pace {
    /// Cycles of the firmware until the kernel begins.
    const fn before_kernel(self, risc: Risc) -> u64 {
        match risc {
            Risc::Brisc => self.brisc_before_kernel,
            Risc::Ncrisc => self.ncrisc_before_kernel,
            _ => self.trisc_before_kernel,
        }
    }

    /// Cycles from the end of a subordinate's kernel to that of its firmware.
    const fn after_kernel(self, risc: Risc) -> u64 {
        match risc {
            Risc::Ncrisc => self.ncrisc_after_kernel,
            _ => self.trisc_after_kernel,
        }
    }
}

/// Report of the firmware on a launch.
pub(crate) struct LaunchReport {
    /// When the dispatcher was told that the core is done.
    pub(crate) done_cycle: u64,
    /// When every RISC of the core was idle again.
    pub(crate) free_cycle: u64,
    /// True if no kernel ran here.
    pub(crate) is_idle: bool,
    pub(crate) launches: Vec<(Risc, LaunchTruth)>,
}

/// Runs one launch on the core that is on the stage.
pub(crate) fn run_launch(riscs: &mut Riscs, launch: &Launch, go: &Go) -> LaunchReport {
    let mut run = Run {
        launch,
        pace: go.pace,
        go: Go { random: go.random.clone(), ..*go },
        launches: Vec::with_capacity(riscs.states.len()),
        late: Vec::new(),
        done_cycle: go.arrival_cycle,
    };
    riscs.on(0, |riscs| run.lead(riscs));
    run.close_late(riscs);
    let risc_count = riscs.states.len();
    let free_cycle = stage::with(|stage| (0..risc_count).map(|index| stage.cycle_of(index)).max());
    LaunchReport {
        done_cycle: run.done_cycle,
        free_cycle: free_cycle.unwrap_or(run.done_cycle),
        is_idle: !launch.program.runs_on(riscs.kind),
        launches: run.launches,
    }
}

/// A launch in progress.
struct Run<'a> {
    launch: &'a Launch,
    pace: Pace,
    go: Go,
    launches: Vec<(Risc, LaunchTruth)>,
    /// Subordinates that close their main zone when BRISC waits no longer.
    late: Vec<(usize, OpenMain)>,
    done_cycle: u64,
}

impl Run<'_> {
    /// The launch as BRISC or ERISC sees it.
    fn lead(&mut self, riscs: &mut Riscs) {
        if !std::mem::replace(&mut riscs.has_booted, true) {
            device_profiler_init!();
        }
        for _ in 0..stage::with(|stage| stage.context().replays_begun) {
            device_trace_only_profiler_init!();
            device_increment_trace_count!();
        }
        match riscs.kind {
            CoreKind::Tensix => {
                device_zone_scoped_main!("BRISC-FW");
                self.lead_kernels(riscs);
            }
            CoreKind::ActiveEth => {
                device_zone_scoped_main!("ERISC-FW");
                self.lead_kernels(riscs);
            }
            CoreKind::IdleEth => {
                device_zone_scoped_main!("ERISC-IDLE-FW");
                self.lead_kernels(riscs);
            }
        }
    }

    fn lead_kernels(&mut self, riscs: &mut Riscs) {
        let is_enabled = self.launch.program.runs_on(riscs.kind);
        device_validate_profiler!(self.enables(riscs.kind));
        device_zone_set_counter!(self.launch.program_id);
        if !is_enabled {
            self.done_cycle = stage::with(|stage| stage.cycle_of(0));
            return;
        }
        self.go.work(self.pace.brisc_before_start);
        let all_done = match self.stepped_kernels(riscs.kind) {
            kernels if kernels.is_empty() => {
                let all_done = self.run_subordinates(riscs);
                self.go.work(self.pace.brisc_before_kernel);
                let leader = stage::with(|stage| stage.context().risc);
                self.run_kernel(leader);
                all_done
            }
            kernels => self.run_in_turns(riscs, kernels),
        };
        stage::with(|stage| stage.wait_until(0, all_done));
        self.go.work(self.pace.brisc_after_kernel);
        self.done_cycle = stage::with(|stage| stage.cycle_of(0));
    }

    /// Runs every subordinate that has a kernel; returns when the last one was done.
    fn run_subordinates(&mut self, riscs: &mut Riscs) -> u64 {
        let start_cycle = stage::with(|stage| stage.cycle_of(0));
        let mut all_done = start_cycle;
        for index in 1..riscs.states.len() {
            let risc = riscs.kind.risc(index);
            let Some(risc) = risc.filter(|risc| self.launch.program.kernel(*risc).is_some()) else {
                continue;
            };
            stage::with(|stage| stage.wait_until(index, start_cycle));
            all_done = all_done.max(riscs.on(index, |_| self.follow(risc)));
        }
        all_done
    }

    /// One bit per RISC that has a kernel in this launch.
    fn enables(&self, kind: CoreKind) -> u32 {
        let program = &self.launch.program;
        let has_kernel =
            |index: &usize| kind.risc(*index).is_some_and(|risc| program.kernel(risc).is_some());
        (0..kind.risc_count()).filter(has_kernel).map(|index| 1 << index).sum()
    }

    /// The launch as a subordinate sees it; returns when it says that it is done.
    fn follow(&mut self, risc: Risc) -> u64 {
        let zone = OpenMain::on(risc);
        let pace = self.pace;
        self.go.work(pace.before_kernel(risc));
        self.run_kernel(risc);
        self.go.work(pace.after_kernel(risc));
        let index = risc.index();
        match stage::with(|stage| stage.late_cycles(index)) {
            0 => {
                drop(zone);
                stage::with(|stage| stage.cycle_of(index))
            }
            delay => {
                let done = stage::with(|stage| stage.cycle_of(index));
                stage::with(|stage| stage.advance(index, delay));
                if delay > cost::PUBLICATION_PATIENCE {
                    self.late.push((index, zone));
                }
                done
            }
        }
    }

    /// The kernels of this launch that run in steps, by index of the RISC.
    fn stepped_kernels(&self, kind: CoreKind) -> Vec<(Risc, Box<dyn SteppedKernel>)> {
        let context = stage::with(|stage| stage.context().clone());
        let riscs = (0..kind.risc_count()).filter_map(|index| kind.risc(index));
        let kernels = riscs.filter_map(|risc| {
            let context = KernelContext { risc, ..context.clone() };
            Some((risc, self.launch.program.kernel(risc)?.stepped(&context)?))
        });
        kernels.collect()
    }

    /// Runs kernels that wait for each other, that of BRISC among them; returns when the last
    /// subordinate was done.
    ///
    /// # Panics
    /// If all of them wait, and no other core will signal them.
    fn run_in_turns(
        &mut self,
        riscs: &mut Riscs,
        kernels: Vec<(Risc, Box<dyn SteppedKernel>)>,
    ) -> u64 {
        let start_cycle = stage::with(|stage| stage.cycle_of(0));
        let mut turns: Vec<Turn> = Vec::new();
        for (risc, kernel) in kernels {
            let index = risc.index();
            stage::with(|stage| stage.wait_until(index, start_cycle));
            turns.push(on_risc(riscs, index, || {
                let main = (index != 0).then(|| OpenMain::on(risc));
                self.go.work(self.pace.before_kernel(risc));
                let start = stage::with(|stage| stage.wall_clock());
                Turn { risc, main, start, zone: Some(open_kernel_zone(risc)), kernel, end: None }
            }));
        }
        while turns.iter().any(|turn| turn.end.is_none()) {
            let mut has_advanced = false;
            for turn in turns.iter_mut().filter(|turn| turn.end.is_none()) {
                has_advanced |= on_risc(riscs, turn.risc.index(), || turn.run());
            }
            let goes_on = has_advanced || stage::with(|stage| stage.wait_for_other_cores());
            assert!(goes_on, "every kernel of {} waits", self.launch.program.name());
        }
        let mut all_done = start_cycle;
        for turn in turns {
            let index = turn.risc.index();
            on_risc(riscs, index, || self.note_turn(&turn));
            if index != 0 {
                all_done = all_done.max(on_risc(riscs, index, || {
                    self.go.work(self.pace.after_kernel(turn.risc));
                    drop(turn.main);
                    stage::with(|stage| stage.cycle_of(index))
                }));
            }
        }
        all_done
    }

    fn note_turn(&mut self, turn: &Turn) {
        let context = stage::with(|stage| stage.context().clone());
        let KernelContext { launch_index, program_id, .. } = context;
        let kernel = self.launch.program.kernel(turn.risc);
        let of_kernel = kernel.map_or(Emission::NONE, |kernel| kernel.emission(&context));
        let mut emitted = Emission::zones(2) + of_kernel;
        emitted.data += stage::with(|stage| {
            stage.dataflow.starvation.launch_index = launch_index;
            stage.dataflow.starvation.program_id = program_id;
            stage.dataflow.record_count(turn.risc.index(), &stage.chip)
        });
        let kernel = turn.end.map(|end| KernelTimes { start: turn.start, end });
        self.launches.push((turn.risc, LaunchTruth { launch_index, program_id, emitted, kernel }));
    }

    /// Lets subordinates for which BRISC has not waited close their main zone.
    fn close_late(&mut self, riscs: &mut Riscs) {
        for (index, zone) in self.late.drain(..) {
            stage::with(|stage| stage.wait_until(index, stage.cycle_of(0)));
            riscs.on(index, |_| drop(zone));
        }
    }

    /// Runs the kernel of a RISC in its zone, if there is one, and notes the truth.
    fn run_kernel(&mut self, risc: Risc) {
        let context = stage::with(|stage| stage.context().clone());
        let kernel = self.launch.program.kernel(risc);
        let mut emitted = Emission::zones(1);
        let times = kernel.map(|kernel| {
            emitted += Emission::zones(1) + kernel.emission(&context);
            timed(kernel, &context)
        });
        let KernelContext { launch_index, program_id, .. } = context;
        self.launches
            .push((risc, LaunchTruth { launch_index, program_id, emitted, kernel: times }));
    }
}

/// A kernel that runs in turns with others.
struct Turn {
    risc: Risc,
    /// The zone of a subordinate's firmware.
    main: Option<OpenMain>,
    zone: Option<Box<dyn std::any::Any>>,
    kernel: Box<dyn SteppedKernel>,
    start: Cycles,
    end: Option<Cycles>,
}

impl Turn {
    /// Runs until the kernel waits or ends; returns false if it has not got on.
    fn run(&mut self) -> bool {
        let mut has_advanced = false;
        loop {
            match self.kernel.step() {
                Progress::Advanced => has_advanced = true,
                Progress::Waiting => return has_advanced,
                Progress::Done => {
                    self.zone = None;
                    self.end = Some(stage::with(|stage| stage.wall_clock()));
                    return true;
                }
            }
        }
    }
}

/// Runs on a RISC; RISC 0 is on the stage already.
fn on_risc<R>(riscs: &mut Riscs, index: usize, action: impl FnOnce() -> R) -> R {
    if index == 0 { action() } else { riscs.on(index, |_| action()) }
}

/// An open main zone of a subordinate, which may outlive the push.
struct OpenMain {
    _guard: Box<dyn std::any::Any>,
}

impl OpenMain {
    fn on(risc: Risc) -> Self {
        let guard: Box<dyn std::any::Any> = if risc == Risc::Ncrisc {
            __site!("NCRISC-FW" => ID);
            Box::new(FixedZone::<ID, true, true>::open())
        } else {
            __site!("TRISC-FW" => ID);
            Box::new(FixedZone::<ID, true, true>::open())
        };
        Self { _guard: guard }
    }
}

fn timed(kernel: &Arc<dyn Kernel>, context: &KernelContext) -> KernelTimes {
    let start = stage::with(|stage| stage.wall_clock());
    let zone = open_kernel_zone(context.risc);
    kernel.run(context);
    drop(zone);
    KernelTimes { start, end: stage::with(|stage| stage.wall_clock()) }
}

/// Opens the kernel's zone, which may be held while other RISCs run.
fn open_kernel_zone(risc: Risc) -> Box<dyn std::any::Any> {
    match risc {
        Risc::Brisc | Risc::TensixAggregate => {
            __site!("BRISC-KERNEL" => ID);
            Box::new(FixedZone::<ID, false, true>::open())
        }
        Risc::Ncrisc => {
            __site!("NCRISC-KERNEL" => ID);
            Box::new(FixedZone::<ID, false, true>::open())
        }
        Risc::Trisc0 | Risc::Trisc1 | Risc::Trisc2 => {
            __site!("TRISC-KERNEL" => ID);
            Box::new(FixedZone::<ID, false, true>::open())
        }
        Risc::Erisc => {
            __site!("ERISC-KERNEL" => ID);
            Box::new(FixedZone::<ID, false, true>::open())
        }
        // No Quasar is simulated.
        _ => Box::new(()),
    }
}

const FIRMWARE_STREAM: u64 = 0xF1;
const GO_JITTER_CYCLES: u64 = 60;

#[cfg(test)]
mod tests {
    use crate::{config::MeshConfig, prepared::Bench, workload::WorkloadOptions};

    /// Cycles from FW start to KERNEL start and from KERNEL end to FW end, by RISC, as the
    /// medians over all worker cores.
    fn medians(config: &MeshConfig) -> [[u32; 2]; 5] {
        let mut bench = Bench::new(config);
        let options = WorkloadOptions { ops: Some(1), ..WorkloadOptions::default() };
        let plan = bench.plan("multi-op", options);
        bench.mesh.enqueue_phase(&plan.phases[0]);
        bench.mesh.run_to_completion();
        std::array::from_fn(|risc| {
            let risc = u32::try_from(risc).unwrap();
            let workers = bench.workers();
            let runs: Vec<Vec<u32>> =
                workers.iter().map(|core| bench.lane(core, risc, 0, 12)).collect();
            [(5, 9), (11, 7)].map(|(from, to)| {
                let mut cycles: Vec<u32> =
                    runs.iter().map(|run| run[to].wrapping_sub(run[from])).collect();
                cycles.sort_unstable();
                cycles[cycles.len() / 2]
            })
        })
    }

    #[test]
    fn the_firmware_takes_as_long_as_on_silicon() {
        let [brisc, ncrisc, trisc0, ..] = medians(&MeshConfig::wormhole(1));
        assert!(brisc[0].abs_diff(857) < 20, "{brisc:?}");
        assert!(ncrisc[0].abs_diff(684) < 20 && ncrisc[1].abs_diff(119) < 10, "{ncrisc:?}");
        assert!(trisc0[0].abs_diff(420) < 20 && trisc0[1].abs_diff(45) < 10, "{trisc0:?}");
        let [brisc, ncrisc, ..] = medians(&MeshConfig::blackhole(1));
        assert!(brisc[0].abs_diff(625) < 20, "{brisc:?}");
        assert!(ncrisc[0].abs_diff(351) < 20 && ncrisc[1].abs_diff(31) < 10, "{ncrisc:?}");
    }
}
