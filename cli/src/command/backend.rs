//! Back ends that run programs: kprof's own simulator and Tenstorrent's ttsim.

use crate::{
    args::{Backend, WorkloadArgs},
    failure::{Failure, OrFail, failure},
};
use host_reader::{
    lane::LaneId,
    mesh::{Mesh, Noc0Coord},
};
use sim::{
    config::MeshConfig,
    lines::RiscLines,
    mesh::SimulatedMesh,
    unfinished::UnfinishedLaunch,
    workload::{Phase, Plan},
};

/// A kernel that hung or crashed.
pub(super) struct KernelFailure {
    /// The RISC that ran the kernel.
    pub(super) lane: LaneId,
    /// Cause and place, as a sentence without a full stop.
    pub(super) text: String,
}

/// A mesh of chips on which programs can be run.
pub(super) trait Chips: Mesh {
    /// Runs the launches of a phase to completion, and calls `on_launch` after each launch.
    fn run_phase(&mut self, phase: &Phase, on_launch: &mut dyn FnMut()) -> Result<(), Failure>;

    /// Enqueues the launches of a phase. [`Chips::run_for`] then runs them.
    fn begin_phase(&mut self, phase: &Phase) -> Result<(), Failure>;

    /// Runs enqueued launches for `duration_ns`. Returns false if no launches are left to run.
    ///
    /// A launch is left to run until it has begun. In three cases, a launch is left to run until it
    /// has ended: with the debug dump, with streaming, and on ttsim.
    fn run_for(&mut self, duration_ns: u64) -> Result<bool, Failure>;

    /// Ends the dispatch kernels, if the chips run any.
    fn close_command_queues(&mut self) {}

    /// Returns the texts (name and source location) of all zones in the programs.
    fn zone_texts(&self) -> Vec<String>;

    /// Returns the failures of kernels.
    fn kernel_failures(&self) -> Vec<KernelFailure> {
        Vec::new()
    }

    /// Returns where RISCs stand in the launches that did not end, if that is known.
    fn unfinished_launches(&self) -> Vec<UnfinishedLaunch> {
        Vec::new()
    }

    /// Removes and returns what the RISCs have executed since the last call, if it is counted.
    fn take_lines(&mut self) -> Vec<RiscLines> {
        Vec::new()
    }

    /// Returns the number of launches that have not begun, summed over chips.
    fn launches_left(&self) -> u64 {
        0
    }

    /// Returns an error if the chips can no longer be read.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Creates the chips of the back end that the arguments choose.
pub(super) fn start(
    args: &WorkloadArgs,
    config: &MeshConfig,
    plan: &Plan,
) -> Result<Box<dyn Chips>, Failure> {
    match args.backend {
        Backend::Sim if args.ttsim_library.is_some() => {
            Err(failure!("--ttsim-library is for Tenstorrent's simulator; add --backend ttsim"))
        }
        Backend::Sim => {
            let mesh = SimulatedMesh::new(config).or_fail()?;
            let mut mesh = Box::new(mesh);
            plan.rules.iter().for_each(|rule| mesh.add_shared_rule(rule));
            Ok(mesh)
        }
        Backend::Ttsim if config.dispatch_cores.is_some() => Err(failure!(
            "--profile-dispatch-cores needs dispatch kernels, which run only on kprof's own simulator; \
             choose --backend sim"
        )),
        Backend::Ttsim => on_ttsim::start(args, config, plan),
    }
}

impl Chips for SimulatedMesh {
    fn run_phase(&mut self, phase: &Phase, on_launch: &mut dyn FnMut()) -> Result<(), Failure> {
        self.enqueue_phase(phase);
        self.run_to_completion_with(on_launch);
        Ok(())
    }

    fn begin_phase(&mut self, phase: &Phase) -> Result<(), Failure> {
        self.enqueue_phase(phase);
        Ok(())
    }

    fn run_for(&mut self, duration_ns: u64) -> Result<bool, Failure> {
        let has_more = self.has_launches_to_run();
        if has_more {
            self.wait_ns(duration_ns);
        }
        Ok(has_more)
    }

    fn close_command_queues(&mut self) {
        Self::close_command_queues(self);
    }

    fn zone_texts(&self) -> Vec<String> {
        Self::zone_texts(self)
    }

    fn kernel_failures(&self) -> Vec<KernelFailure> {
        let failures = self.execution_failures();
        failures
            .map(|failure| {
                let core = Noc0Coord { x: failure.core.x, y: failure.core.y };
                let lane = LaneId { chip_id: failure.chip_id, core, risc: failure.risc };
                KernelFailure { lane, text: failure.to_string() }
            })
            .collect()
    }

    fn unfinished_launches(&self) -> Vec<UnfinishedLaunch> {
        Self::unfinished_launches(self).cloned().collect()
    }

    fn take_lines(&mut self) -> Vec<RiscLines> {
        Self::take_lines(self)
    }

    fn launches_left(&self) -> u64 {
        self.chips().map(|chip| chip.queued_count() as u64).sum()
    }
}

#[cfg(feature = "ttsim")]
mod on_ttsim {
    use super::{Chips, Failure, MeshConfig, OrFail, Phase, Plan, WorkloadArgs, failure};
    use std::process::Command;
    use ttsim::TtsimMesh;

    /// Starts a child process that runs ttsim's library. The child process runs the same executable
    /// as this process.
    pub(super) fn start(
        args: &WorkloadArgs,
        config: &MeshConfig,
        plan: &Plan,
    ) -> Result<Box<dyn Chips>, Failure> {
        let Some(library) = &args.ttsim_library else {
            return Err(failure!(
                "--backend ttsim needs the library of Tenstorrent's simulator; name its file \
                 with --ttsim-library"
            ));
        };
        TtsimMesh::check(plan).or_fail()?;
        let program = std::env::current_exe()
            .map_err(|error| failure!("cannot find kprof's own executable: {error}"))?;
        let mut child = Command::new(program);
        child.arg(crate::args::TTSIM_CHILD);
        let mesh = TtsimMesh::start(config, child, library).or_fail()?;
        crate::failure::note!(
            "kprof: ttsim has no timing: a cycle below is one instruction on every RISC"
        );
        Ok(Box::new(mesh))
    }

    impl Chips for TtsimMesh {
        fn run_phase(&mut self, phase: &Phase, on_launch: &mut dyn FnMut()) -> Result<(), Failure> {
            for launch in &phase.launches {
                self.begin(launch).or_fail()?;
                on_launch();
            }
            self.settle().or_fail()
        }

        fn begin_phase(&mut self, phase: &Phase) -> Result<(), Failure> {
            phase.launches.iter().for_each(|launch| self.enqueue(launch.clone()));
            Ok(())
        }

        fn run_for(&mut self, duration_ns: u64) -> Result<bool, Failure> {
            Self::run_for(self, duration_ns).or_fail()
        }

        fn zone_texts(&self) -> Vec<String> {
            ttsim::runner::zone_texts()
        }

        fn check(&self) -> Result<(), Failure> {
            self.failure().map_or(Ok(()), |failure| Err(Failure::from_error(failure)))
        }
    }
}

#[cfg(not(feature = "ttsim"))]
mod on_ttsim {
    use super::{Chips, Failure, MeshConfig, Plan, WorkloadArgs, failure};

    pub(super) fn start(
        _: &WorkloadArgs,
        _: &MeshConfig,
        _: &Plan,
    ) -> Result<Box<dyn Chips>, Failure> {
        Err(failure!(
            "this kprof was built without ttsim; build it with `cargo build -p kprof --features \
             ttsim`"
        ))
    }
}
