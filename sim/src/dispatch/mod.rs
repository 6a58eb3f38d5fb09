//! Dispatch cores: the cores that run the host's command queue.
//!
//! `command` defines the commands and their records. `kernels` defines the three kernels that
//! execute them: the prefetcher receives commands from the host, the dispatcher carries them out,
//! and the dispatcher's subordinate sends the GO messages.
//!
//! These kernels run from the first launch until the host closes the queue. The simulator runs them
//! only once the queue is closed and all commands are known. Each GO message starts a launch; it
//! leaves the dispatcher's subordinate at the cycle at which the simulated chip began that launch.

pub mod command;
mod kernels;
pub mod words;

use crate::{
    arch::{
        HarvestAxis, TileCoord,
        floorplan::{CorePlace, Floorplan},
    },
    program::{CoreSelection, CoreUse, Launch, Program},
};
use std::sync::Arc;
use wire::{CoreKind, Risc};

/// Kind of cores that run the dispatch kernels.
///
/// # Compatibility
/// `ttnn.DispatchCoreType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatchCores {
    /// The last row of worker cores on a Wormhole, or the last column on a Blackhole.
    ///
    /// One core runs the prefetcher. The next core runs the dispatcher on BRISC and its subordinate
    /// on NCRISC.
    ///
    /// # Compatibility
    /// `core_descriptors/wormhole_b0_80_arch.yaml`, `blackhole_140_arch.yaml` of 0.81.1.
    Worker,
    /// The Ethernet cores without a connected link. Each of the first three runs one dispatch
    /// kernel.
    Ethernet,
}

/// Minimum number of Ethernet cores for dispatch.
const ETHERNET_CORES: usize = 3;

impl DispatchCores {
    /// Returns the cores of a chip that are reserved for dispatch, in logical order; `None` if the
    /// chip has too few.
    #[must_use]
    pub fn reserved(self, plan: &Floorplan) -> Option<Vec<TileCoord>> {
        let (columns, rows) = plan.worker_grid();
        let axis = plan.arch().facts().harvest_axis;
        let mut reserved: Vec<&CorePlace> = plan
            .cores()
            .iter()
            .filter(|core| match (self, axis) {
                (Self::Ethernet, _) => core.kind == CoreKind::IdleEth,
                (Self::Worker, HarvestAxis::Rows) => {
                    core.kind == CoreKind::Tensix && core.logical.y + 1 == rows
                }
                (Self::Worker, HarvestAxis::Columns) => {
                    core.kind == CoreKind::Tensix && core.logical.x + 1 == columns
                }
            })
            .collect();
        reserved.sort_by_key(|core| (core.logical.y, core.logical.x));
        let is_enough = self == Self::Worker || reserved.len() >= ETHERNET_CORES;
        is_enough.then(|| reserved.into_iter().map(|core| core.coord).collect())
    }
}

/// A launch that went through the command queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dispatched {
    pub(crate) program_id: u32,
    /// Cycle at which the GO message left.
    pub(crate) go_cycle: u64,
}

/// Cycles from opening the queue to the first GO message. In this time the host writes the dispatch
/// kernels' inputs.
pub(crate) const OPENING_CYCLES: u64 = 20_000;

/// All commands and launches that went through a chip's command queue.
#[derive(Clone, Debug)]
pub(crate) struct CommandQueue {
    kind: DispatchCores,
    reserved: Vec<TileCoord>,
    /// True if the kernels are built with probes.
    is_profiled: bool,
    opened_at: Option<u64>,
    launches: Vec<Dispatched>,
}

impl CommandQueue {
    /// Creates a chip's queue, without launches; `None` if the chip has too few cores for dispatch.
    pub(crate) fn new(kind: DispatchCores, plan: &Floorplan, is_profiled: bool) -> Option<Self> {
        let reserved = kind.reserved(plan)?;
        Some(Self { kind, reserved, is_profiled, opened_at: None, launches: Vec::new() })
    }

    /// Returns the cores reserved for dispatch kernels.
    pub(crate) fn reserved(&self) -> &[TileCoord] {
        &self.reserved
    }

    /// Returns true if the kernels are built with probes.
    pub(crate) const fn is_profiled(&self) -> bool {
        self.is_profiled
    }

    /// Opens the queue at a cycle, unless it is already open.
    pub(crate) fn open(&mut self, cycle: u64) {
        self.opened_at.get_or_insert(cycle);
    }

    /// Returns the first cycle at which a GO message can be sent.
    pub(crate) fn ready_at(&self) -> u64 {
        self.opened_at.map_or(0, |opened_at| opened_at + OPENING_CYCLES)
    }

    pub(crate) fn record(&mut self, launch: Dispatched) {
        self.launches.push(launch);
    }

    /// Closes the queue; returns the cycle at which the queue was opened, and the launches of the
    /// dispatch kernels.
    ///
    /// Returns `None` if the queue is not open, or if the kernels have no probes and record
    /// nothing.
    pub(crate) fn close(
        &mut self,
        closed_at: u64,
        traffic: HostTraffic,
    ) -> Option<(u64, Vec<Launch>)> {
        let opened_at = self.opened_at.take()?;
        let launches = std::mem::take(&mut self.launches);
        let session = Session { opened_at, launches, closed_at, traffic };
        self.is_profiled.then(|| (opened_at, self.kernels(&session)))
    }

    fn kernels(&self, session: &Session) -> Vec<Launch> {
        let (prefetch, dispatch) = (Program::new("prefetch"), Program::new("dispatch"));
        let programs = match self.kind {
            DispatchCores::Worker => {
                let dispatch = dispatch
                    .with_kernel(Risc::Brisc, session.dispatcher())
                    .with_kernel(Risc::Ncrisc, session.subordinate());
                vec![prefetch.with_kernel(Risc::Brisc, session.prefetcher()), dispatch]
            }
            DispatchCores::Ethernet => vec![
                prefetch.with_kernel(Risc::Erisc, session.prefetcher()),
                dispatch.with_kernel(Risc::Erisc, session.dispatcher()),
                Program::new("dispatch-subordinate")
                    .with_kernel(Risc::Erisc, session.subordinate()),
            ],
        };
        programs
            .into_iter()
            .zip(&self.reserved)
            .map(|(program, &core)| {
                let cores = CoreSelection::At(vec![core]);
                Launch::new(&Arc::new(program), 0).on(cores).for_use(CoreUse::Dispatch)
            })
            .collect()
    }
}

/// Numbers of host reads and writes that go through the queue before it is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostTraffic {
    pub(crate) reads: usize,
    pub(crate) writes: usize,
}

/// Everything that passed through one queue between opening and closing.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    opened_at: u64,
    launches: Vec<Dispatched>,
    closed_at: u64,
    traffic: HostTraffic,
}
