//! Workloads with trace replays, and with sub-devices that work in parallel.

use super::{Plan, WorkloadOptions};
use crate::{
    arch::TileCoord,
    chip::Chip,
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{CoreSelection, Launch, Program, SubDevice},
};
use std::sync::Arc;
use wire::Risc;

/// Launches that a host has captured as a trace, which can be replayed.
///
/// ```
/// use sim::{program::{Launch, Program}, workload::Trace};
/// use std::sync::Arc;
/// let program = Arc::new(Program::new("op"));
/// let trace = Trace::new(7, [Launch::new(&program, 1), Launch::new(&program, 2)]);
/// let replay = trace.replay();
/// assert!(replay[0].begins_trace_replay && !replay[1].begins_trace_replay);
/// assert_eq!(replay[1].trace_id, Some(7));
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    launches: Vec<Launch>,
}

impl Trace {
    /// Creates a trace of launches.
    #[must_use]
    pub fn new(trace_id: u64, launches: impl IntoIterator<Item = Launch>) -> Self {
        Self { launches: launches.into_iter().map(|launch| launch.in_trace(trace_id)).collect() }
    }

    /// Returns the launches of one replay; the first one is marked as the beginning of the replay.
    #[must_use]
    pub fn replay(&self) -> Vec<Launch> {
        let mut launches = self.launches.clone();
        if let Some(first) = launches.first_mut() {
            first.begins_trace_replay = true;
        }
        launches
    }
}

const DEFAULT_OPS: u32 = 100;
const DEFAULT_REPLAYS: u32 = 5;
/// Id of the trace, an arbitrary number.
const TRACE_ID: u64 = 1;

/// Returns one launch outside the trace, then the replays. The first launch represents the one for
/// which a host compiles the program.
///
/// # Compatibility
/// tt-metal's `test_device_trace_run`: 5 replays of 100 ops.
pub(super) fn trace_replay(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let program = Arc::new(Program::new("step").with_kernel_on_all(&ObjectKernel::shared("short")));
    let ops = options.ops.unwrap_or(DEFAULT_OPS);
    let trace = Trace::new(TRACE_ID, (0..ops).map(|op| Launch::new(&program, op + 2)));
    let replays = options.replays.unwrap_or(DEFAULT_REPLAYS);
    let replayed = (0..replays).flat_map(|_| trace.replay());
    Plan::new(std::iter::once(Launch::new(&program, 1)).chain(replayed))
}

/// Returns launches of three programs on two sub-devices that share the worker cores.
///
/// The first program runs on sub-device 1, the other two on sub-device 0, so the first two programs
/// run in parallel.
///
/// # Compatibility
/// tt-metal's `test_sub_device_profiler`.
pub(super) fn sub_devices(mesh: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let steps = ObjectKernel::shared("steps");
    let program = Program::new("on-sub-device").with_kernel(Risc::Brisc, Arc::clone(&steps));
    let program = Arc::new(program.with_kernel(Risc::Ncrisc, steps));
    let [first, second] = halves(mesh);
    let rounds = options.ops.unwrap_or(3).div_ceil(3);
    let launches = (0..rounds).flat_map(|round| {
        [(1, 1, &second), (2, 0, &first), (3, 0, &first)].map(|(program_id, id, cores)| {
            Launch::new(&program, 3 * round + program_id)
                .on(CoreSelection::At(cores.clone()))
                .on_sub_device(SubDevice { id, manager_id: 1 })
        })
    });
    Plan::new(launches)
}

/// Divides the mesh's worker cores, ordered by column and row, into two halves.
fn halves(mesh: &SimulatedMesh) -> [Vec<TileCoord>; 2] {
    let workers = mesh.chips().flat_map(Chip::workers).map(|core| core.coord);
    let workers: std::collections::BTreeSet<_> = workers.collect();
    let mut first: Vec<_> = workers.into_iter().collect();
    let second = first.split_off(first.len() / 2);
    [first, second]
}
