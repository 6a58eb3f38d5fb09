//! Ready-made workloads for a mesh, selected by name.
//!
//! Several of the workloads correspond to tests of tt-metal's device profiler. For these, a reader
//! should report the numbers that the tests expect.

mod buffers;
mod floods;
mod long_runs;
mod matmul;
mod pipeline;
mod random_scripts;
mod special_kernels;
#[cfg(test)]
mod tests;
mod traces;

pub use buffers::{BufferChange, BufferMemory, buffer_changes};
pub use pipeline::{
    ASKED_SEMAPHORE, INPUT_BUFFER, OUTPUT_BUFFER, PipelineShape, PipelineShapeError,
    SENT_SEMAPHORE, WRITTEN_SEMAPHORE,
};
pub use traces::Trace;

use crate::{
    fault::Rule,
    mesh::SimulatedMesh,
    program::{Launch, Program},
};
use std::sync::Arc;
use wire::dram::DEFAULT_PROGRAM_SUPPORT_COUNT;

/// Options for creating the plan of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkloadOptions {
    /// Number of launches; `None` for the workload's default. Some workloads have a fixed number.
    pub ops: Option<u32>,
    /// Number of trace replays; `None` for the workload's default.
    pub replays: Option<u32>,
    /// True if Ethernet cores take part, in workloads that support it.
    pub has_ethernet: bool,
    /// Seed of the workload's random choices.
    pub seed: u64,
    /// Sizes and durations for the workload `pipeline`.
    pub pipeline: PipelineShape,
    /// True if kernels that read and write tiles transfer the tiles over the NoC and record the
    /// transfers; false if they only spend the time.
    pub moves_tiles: bool,
}

/// Launches that run before a readout.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// The launches in order; every chip runs all of them.
    pub launches: Vec<Launch>,
}

/// The launches and faults of a workload.
#[derive(Clone, Default)]
pub struct Plan {
    /// Phases in order. After each phase, the records are read.
    pub phases: Vec<Phase>,
    /// Fault rules of the workload, which must be added before anything runs.
    pub rules: Vec<Arc<dyn Rule>>,
}

impl Plan {
    /// Returns a plan with one phase and no faults.
    fn new(launches: impl Iterator<Item = Launch>) -> Self {
        Self { phases: vec![Phase { launches: launches.collect() }], rules: Vec::new() }
    }

    /// Returns a plan of `count` launches of a program on all worker cores. The launches have the
    /// program ids 1, 2, and so on, and the same arguments.
    #[must_use]
    pub fn launching(program: &Arc<Program>, count: u32, args: &[u32]) -> Self {
        Self::new((1..=count).map(|id| Launch::new(program, id).with_args(args)))
    }

    /// Returns true if any launch begins a trace replay.
    #[must_use]
    pub fn replays_traces(&self) -> bool {
        let mut launches = self.phases.iter().flat_map(|phase| &phase.launches);
        launches.any(|launch| launch.begins_trace_replay)
    }

    /// Returns the number of launches in all phases.
    #[must_use]
    pub fn launch_count(&self) -> usize {
        self.phases.iter().map(|phase| phase.launches.len()).sum()
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rules: Vec<&str> = self.rules.iter().map(|rule| rule.name()).collect();
        f.debug_struct("Plan").field("phases", &self.phases).field("rules", &rules).finish()
    }
}

/// A workload that can be selected by name.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Name on the command line.
    pub name: &'static str,
    /// One-line description.
    pub description: &'static str,
    /// Default number of programs whose records fit in DRAM.
    pub program_support_count: u32,
    plan: fn(&SimulatedMesh, &WorkloadOptions) -> Plan,
}

impl Workload {
    const fn new(
        name: &'static str,
        description: &'static str,
        plan: fn(&SimulatedMesh, &WorkloadOptions) -> Plan,
    ) -> Self {
        let program_support_count = DEFAULT_PROGRAM_SUPPORT_COUNT;
        Self { name, description, program_support_count, plan }
    }

    /// Returns every workload; the first one is the default.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        ALL
    }

    /// Returns the workload with this name.
    ///
    /// # Errors
    /// If there is no such workload; the error lists the names of all workloads.
    ///
    /// ```
    /// use sim::workload::Workload;
    /// assert_eq!(Workload::named("matmul").map(|workload| workload.name), Ok("matmul"));
    /// let error = Workload::named("matmull").unwrap_err();
    /// assert!(error.to_string().starts_with("there is no workload `matmull`; choose from matmul,"));
    /// ```
    pub fn named(name: &str) -> Result<&'static Self, UnknownWorkload> {
        let found = ALL.iter().find(|workload| workload.name == name);
        found.ok_or_else(|| UnknownWorkload { name: name.to_owned() })
    }

    /// Creates the workload's plan for a mesh.
    #[must_use]
    pub fn plan(&self, mesh: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
        (self.plan)(mesh, options)
    }
}

/// Error for a name that no workload has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no workload `{name}`; choose from {}", known_names())]
pub struct UnknownWorkload {
    /// The requested name.
    pub name: String,
}

fn known_names() -> String {
    ALL.iter().map(|workload| workload.name).collect::<Vec<_>>().join(", ")
}

const ALL: &[Workload] = &[
    Workload::new(
        "matmul",
        "matrix products of several shapes: reader, writer and compute kernels",
        matmul::plan,
    ),
    Workload::new(
        "pipeline",
        "reader, compute and writer over circular buffers that block",
        pipeline::plan,
    ),
    Workload::new(
        "full-buffer",
        "23 launches with 150 zones per RISC, of which 125 fit in L1",
        floods::full_buffer,
    ),
    Workload::new(
        "timestamped-events",
        "2 launches of 150 zones, 150 data records and 150 events, of which 50 each fit",
        floods::timestamped_events,
    ),
    Workload {
        program_support_count: 1200,
        ..Workload::new(
            "multi-op",
            "1000 launches, a read, and 1000 more launches",
            floods::multi_op,
        )
    },
    Workload::new(
        "multi-op-overflow",
        "1400 launches without a read, compute kernels in every fifth",
        floods::multi_op_overflow,
    ),
    Workload::new(
        "op-support-count",
        "25 % more one-kernel launches than DRAM has room for",
        floods::op_support_count,
    ),
    Workload::new(
        "long-kernel",
        "a launch with 5000 zones with data on BRISC and NCRISC, more than DRAM can hold",
        floods::long_kernel,
    ),
    Workload::new("cycle-count", "2000 loops of 52 cycles on every RISC", long_runs::cycle_count),
    Workload::new(
        "two-hour",
        "two hours in which one clock's 44 bits wrap and another clock is read torn",
        long_runs::two_hour,
    ),
    Workload::new(
        "random",
        "random kernels on random cores, with trace replays and idle launches",
        random_scripts::random,
    ),
    Workload::new(
        "quick-push",
        "random kernels that push in the middle of a launch",
        random_scripts::quick_push,
    ),
    Workload::new(
        "trace-replay",
        "one launch, and 5 replays of a trace of 100 ops",
        traces::trace_replay,
    ),
    Workload::new(
        "sub-devices",
        "three ops on two sub-devices that run at the same time",
        traces::sub_devices,
    ),
    Workload::new(
        "instructions",
        "hundreds of FPU and SFPU instructions, for hardware counters",
        special_kernels::instructions,
    ),
    Workload::new(
        "probe-cost",
        "zones that contain only another probe, to measure the cost of probes",
        special_kernels::probe_cost,
    ),
    Workload::new(
        "broken-kernels",
        "kernels with six kinds of faults, and correct kernels",
        special_kernels::broken_kernels,
    ),
];

impl SimulatedMesh {
    /// Enqueues the launches of a phase on every chip.
    pub fn enqueue_phase(&mut self, phase: &Phase) {
        for launch in &phase.launches {
            self.enqueue_everywhere(launch);
        }
    }
}
