//! Definitions with which tt-metal's host compiles the kernels of its dispatch cores.
//!
//! # Compatibility
//! Names: the kernels' own sources of 0.81.1. Values:
//! `kernel_config/{prefetch,dispatch,dispatch_s}.cpp` for a chip without a fabric,
//! `dispatch_settings.hpp` for sizes of pages. Addresses in L1 are chosen by this test.

use crate::{
    package::Package,
    toolchain::{Chip, Processor},
};
use std::path::PathBuf;

/// A kernel of the dispatch cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    Prefetch,
    Dispatch,
    Subordinate,
}

impl Duty {
    pub(super) const ALL: [Self; 3] = [Self::Prefetch, Self::Dispatch, Self::Subordinate];

    pub(super) const fn file_name(self) -> &'static str {
        match self {
            Self::Prefetch => "cq_prefetch.cpp",
            Self::Dispatch => "cq_dispatch.cpp",
            Self::Subordinate => "cq_dispatch_subordinate.cpp",
        }
    }

    /// Returns the name of the zone around each command of the kernel.
    pub(super) const fn zone(self) -> &'static str {
        match self {
            Self::Prefetch => "CQ-PREFETCH",
            Self::Dispatch => "CQ-DISPATCH",
            Self::Subordinate => "CQ-DISPATCH-SUBORDINATE",
        }
    }

    pub(super) const fn processor(self) -> Processor {
        match self {
            Self::Prefetch | Self::Dispatch => Processor::Brisc,
            Self::Subordinate => Processor::Ncrisc,
        }
    }

    pub(super) fn source(self, package: &Package) -> PathBuf {
        package.root.join("tt_metal/impl/dispatch/kernels").join(self.file_name())
    }
}

/// Coordinates of the tiles that take part, as kernels use them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub(super) chip: Chip,
    pub(super) prefetcher: (u16, u16),
    pub(super) dispatcher: (u16, u16),
    /// First and last corner of the workers' rectangle.
    pub(super) workers: [(u16, u16); 2],
    pub(super) worker_count: u32,
}

impl Places {
    /// Returns the coordinates of a tile, as encoded in commands.
    pub(super) fn unicast(&self, (x, y): (u16, u16)) -> u32 {
        (u32::from(y) << 6 | u32::from(x)) << self.shift()
    }

    /// Returns the rectangle of workers, as encoded in commands for a NoC. For NoC 1 the corners
    /// are exchanged, because NoC 1 runs in the opposite direction.
    pub(super) fn multicast(&self, noc: usize) -> u32 {
        let [first, last] = self.workers;
        let (from, to) = if noc == 0 { (first, last) } else { (last, first) };
        let corner = |(x, y): (u16, u16)| u32::from(y) << 6 | u32::from(x);
        (corner(from) << 12 | corner(to)) << self.shift()
    }

    /// # Compatibility
    /// `NOC_XY_ENCODING` of both chips' `noc_parameters.h`.
    const fn shift(&self) -> u32 {
        match self.chip {
            Chip::Wormhole => 4,
            Chip::Blackhole => 0,
        }
    }
}

/// Addresses in the L1 of the prefetcher's core.
pub(super) const PREFETCH_Q: u32 = 0x4_0000;
pub(super) const PREFETCH_Q_BYTES: u32 = 0x1000;
const PREFETCH_Q_READ: u32 = 0x4_2000;
const COMMANDS: u32 = 0x5_0000;
const COMMANDS_BYTES: u32 = 0x1_0000;
const SCRATCH: u32 = 0x6_0000;
const SCRATCH_BYTES: u32 = 0x2_0000;
/// Addresses in the L1 of the dispatcher's core.
const PAGES: u32 = 0x4_0000;
const PAGE_LOG: u32 = 12;
pub(super) const PAGE_COUNT: u32 = 32;
const SUBORDINATE_PAGES: u32 = 0x6_0000;
const SUBORDINATE_PAGE_LOG: u32 = 8;
pub(super) const SUBORDINATE_PAGE_COUNT: u32 = 32;
/// Words that the host clears before the kernels begin.
pub(super) const CLEARED: [(u32, usize); 3] =
    [(GO_COUNTS, 64), (REALTIME, 1024), (TELEMETRY, 1024)];
const GO_COUNTS: u32 = 0x7_0000;
const REALTIME: u32 = 0x7_1000;
const TELEMETRY: u32 = 0x7_3000;
const TELEMETRY_CONTROL: u32 = 0x7_3800;
pub(super) const COMPLETION_WRITE: u32 = 0x7_5000;
pub(super) const COMPLETION_READ: u32 = 0x7_5010;
const PROGRESS: u32 = 0x7_5020;
/// A word of each worker: the program that the worker may begin.
pub(super) const GO: u32 = 0x7_6000;

/// Addresses in the first bank of DRAM, which replaces the host's memory here.
pub(super) const QUEUE: u32 = 0x1000_0000;
pub(super) const QUEUE_BYTES: u32 = 0x10_0000;
pub(super) const COMPLETION: u32 = 0x1020_0000;
const COMPLETION_BYTES: u32 = 0x1_0000;
const HOST_COMPLETION_WRITE: u32 = 0x30_0000;

/// Number of the stream that counts finished workers, and maximum number of such counters.
///
/// # Compatibility
/// `DispatchMemMap::get_dispatch_stream_index(0)`: the stream of tt-metal's
/// `DISPATCH_MESSAGE_ADDR`.
pub(super) const STREAM: u32 = 48;
const SUB_DEVICES: u32 = 8;

/// Initial values of the semaphores. All cores have the same values, so each use has its own
/// semaphore.
pub(super) const SEMAPHORES: [u32; 7] = [0, 0, 0, PAGE_COUNT, 0, SUBORDINATE_PAGE_COUNT, 0];
const OF_DISPATCHER: u32 = 0;
const OF_SUBORDINATE: u32 = 1;
const SHUTDOWN: u32 = 2;
const CREDITS: u32 = 3;
const SYNC: u32 = 4;
const SUBORDINATE_CREDITS: u32 = 5;
const UPSTREAM: u32 = 6;

/// Returns the host's definitions for a kernel, with the queue in the host's memory or in DRAM.
pub(super) fn definitions(duty: Duty, places: &Places, is_in_dram: bool) -> Vec<(String, u64)> {
    let mut all: Vec<(&str, u64)> = vec![
        ("DISPATCH_KERNEL", 1),
        ("IS_D_VARIANT", 1),
        ("IS_H_VARIANT", 1),
        ("OFFSETOF_MY_DEV_ID", 1),
        ("OFFSETOF_TO_DEV_ID", 2),
        ("OFFSETOF_ROUTER_DIRECTION", 3),
        ("DISPATCH_TELEMETRY_DISABLED", 0),
        ("DISPATCH_TELEMETRY_ADDR", TELEMETRY.into()),
        ("DISPATCH_TELEMETRY_CONTROL_ADDR", TELEMETRY_CONTROL.into()),
    ];
    all.extend(NO_FABRIC.map(|name| (name, 0)));
    if is_in_dram {
        all.extend([("IS_CQ_DRAM_BACKED", 1), ("DRAM_BACKED_CQ_BANK_ID", 0)]);
    }
    all.extend(match duty {
        Duty::Prefetch => prefetcher_definitions(),
        Duty::Dispatch => dispatcher_definitions(places),
        Duty::Subordinate => subordinate_definitions(places),
    });
    let Places { prefetcher, dispatcher, .. } = *places;
    let (own, upstream, downstream) = match duty {
        Duty::Prefetch => (prefetcher, (0, 0), dispatcher),
        Duty::Dispatch | Duty::Subordinate => (dispatcher, prefetcher, dispatcher),
    };
    let tiles = [
        ("MY", own),
        ("UPSTREAM", upstream),
        ("DOWNSTREAM", downstream),
        ("DOWNSTREAM_SUBORDINATE", dispatcher),
    ];
    let coordinates = tiles.into_iter().flat_map(|(name, (x, y))| {
        [(format!("{name}_NOC_X"), x.into()), (format!("{name}_NOC_Y"), y.into())]
    });
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(coordinates).collect()
}

fn prefetcher_definitions() -> Vec<(&'static str, u64)> {
    [
        ("UPSTREAM_NOC_INDEX", 0),
        ("DOWNSTREAM_CB_BASE", PAGES),
        ("DOWNSTREAM_CB_LOG_PAGE_SIZE", PAGE_LOG),
        ("DOWNSTREAM_CB_PAGES", PAGE_COUNT),
        ("MY_DOWNSTREAM_CB_SEM_ID", CREDITS),
        ("DOWNSTREAM_CB_SEM_ID", OF_DISPATCHER),
        ("PCIE_BASE", QUEUE),
        ("PCIE_SIZE", QUEUE_BYTES),
        ("PREFETCH_Q_BASE", PREFETCH_Q),
        ("PREFETCH_Q_SIZE", PREFETCH_Q_BYTES),
        ("PREFETCH_Q_ENTRY_BITS", 16),
        ("PREFETCH_Q_RD_PTR_ADDR", PREFETCH_Q_READ),
        ("CMDDAT_Q_BASE", COMMANDS),
        ("CMDDAT_Q_SIZE", COMMANDS_BYTES),
        ("CMDDAT_Q_PAGES", COMMANDS_BYTES >> PAGE_LOG),
        ("CMDDAT_Q_LOG_PAGE_SIZE", PAGE_LOG),
        ("CMDDAT_Q_BLOCKS", 4),
        ("SCRATCH_DB_BASE", SCRATCH),
        ("SCRATCH_DB_SIZE", SCRATCH_BYTES),
        ("DOWNSTREAM_SYNC_SEM_ID", SYNC),
        ("MY_UPSTREAM_CB_SEM_ID", UPSTREAM),
        ("UPSTREAM_CB_SEM_ID", 0),
        ("DISPATCH_S_BUFFER_BASE", SUBORDINATE_PAGES),
        ("MY_DISPATCH_S_CB_SEM_ID", SUBORDINATE_CREDITS),
        ("DOWNSTREAM_DISPATCH_S_CB_SEM_ID", OF_SUBORDINATE),
        ("DISPATCH_S_BUFFER_SIZE", SUBORDINATE_PAGE_COUNT << SUBORDINATE_PAGE_LOG),
        ("DISPATCH_S_CB_LOG_PAGE_SIZE", SUBORDINATE_PAGE_LOG),
        ("RINGBUFFER_SIZE", SCRATCH_BYTES),
    ]
    .map(|(name, value)| (name, u64::from(value)))
    .into()
}

fn dispatcher_definitions(places: &Places) -> Vec<(&'static str, u64)> {
    let mut list: Vec<_> = [
        ("UPSTREAM_NOC_INDEX", 1),
        ("DISPATCH_CB_BASE", PAGES),
        ("DISPATCH_CB_LOG_PAGE_SIZE", PAGE_LOG),
        ("DISPATCH_CB_PAGES", PAGE_COUNT),
        ("DISPATCH_CB_BLOCKS", 4),
        ("MY_DISPATCH_CB_SEM_ID", OF_DISPATCHER),
        ("UPSTREAM_DISPATCH_CB_SEM_ID", CREDITS),
        ("UPSTREAM_SYNC_SEM", SYNC),
        ("COMMAND_QUEUE_BASE_ADDR", QUEUE),
        ("COMPLETION_QUEUE_BASE_ADDR", COMPLETION),
        ("COMPLETION_QUEUE_SIZE", COMPLETION_BYTES),
        ("HOST_COMPLETION_Q_WR_PTR", HOST_COMPLETION_WRITE),
        ("DEV_COMPLETION_Q_WR_PTR", COMPLETION_WRITE),
        ("DEV_COMPLETION_Q_RD_PTR", COMPLETION_READ),
        ("DEV_DISPATCH_PROGRESS_PTR", PROGRESS),
        ("DOWNSTREAM_CB_BASE", 0),
        ("DOWNSTREAM_CB_SIZE", 0),
        ("MY_DOWNSTREAM_CB_SEM_ID", 0),
        ("DOWNSTREAM_CB_SEM_ID", 0),
        ("SPLIT_PREFETCH", 0),
        ("PREFETCH_H_NOC_XY", 0),
        ("PREFETCH_H_LOCAL_DOWNSTREAM_SEM_ADDR", 0),
        ("PREFETCH_H_MAX_CREDITS", 0),
        ("PACKED_WRITE_MAX_UNICAST_SUB_CMDS", 64),
    ]
    .map(|(name, value)| (name, u64::from(value)))
    .into();
    list.extend(shared_definitions(places, 0));
    list
}

fn subordinate_definitions(places: &Places) -> Vec<(&'static str, u64)> {
    let mut list: Vec<_> = [
        ("UPSTREAM_NOC_INDEX", 0),
        ("CB_BASE", SUBORDINATE_PAGES),
        ("CB_LOG_PAGE_SIZE", SUBORDINATE_PAGE_LOG),
        ("CB_SIZE", SUBORDINATE_PAGE_COUNT << SUBORDINATE_PAGE_LOG),
        ("MY_DISPATCH_CB_SEM_ID", OF_SUBORDINATE),
        ("UPSTREAM_DISPATCH_CB_SEM_ID", SUBORDINATE_CREDITS),
    ]
    .map(|(name, value)| (name, u64::from(value)))
    .into();
    list.extend(shared_definitions(places, 1));
    list
}

/// Returns the definitions of both kernels on one core: the dispatcher and its subordinate.
fn shared_definitions(places: &Places, noc: usize) -> [(&'static str, u64); 10] {
    [
        ("DISPATCH_D_SHUTDOWN_SEM_ID", SHUTDOWN.into()),
        ("DISPATCH_S_SYNC_SEM_BASE_ADDR", GO_COUNTS.into()),
        ("DISTRIBUTED_DISPATCHER", 0),
        ("FIRST_STREAM_USED", STREAM.into()),
        ("COMPLETION_COUNTER_OFFSET", 0),
        ("MAX_NUM_WORKER_SEMS", SUB_DEVICES.into()),
        ("MCAST_GO_SIGNAL_ADDR", GO.into()),
        ("WORKER_MCAST_GRID", places.multicast(noc).into()),
        ("NUM_WORKER_CORES_TO_MCAST", places.worker_count.into()),
        ("REALTIME_PROFILER_MSG_ADDR", REALTIME.into()),
    ]
}

/// Definitions that are 0 on a chip without a fabric.
const NO_FABRIC: [&str; 21] = [
    "FABRIC_HEADER_RB_BASE",
    "FABRIC_HEADER_RB_ENTRIES",
    "MY_FABRIC_SYNC_STATUS_ADDR",
    "FABRIC_MUX_X",
    "FABRIC_MUX_Y",
    "FABRIC_MUX_NUM_BUFFERS_PER_CHANNEL",
    "FABRIC_MUX_CHANNEL_BUFFER_SIZE_BYTES",
    "FABRIC_MUX_CHANNEL_BASE_ADDRESS",
    "FABRIC_MUX_CONNECTION_INFO_ADDRESS",
    "FABRIC_MUX_CONNECTION_HANDSHAKE_ADDRESS",
    "FABRIC_MUX_FLOW_CONTROL_ADDRESS",
    "FABRIC_MUX_BUFFER_INDEX_ADDRESS",
    "FABRIC_MUX_STATUS_ADDRESS",
    "FABRIC_MUX_TERMINATION_SIGNAL_ADDRESS",
    "WORKER_CREDITS_STREAM_ID",
    "FABRIC_WORKER_FLOW_CONTROL_SEM",
    "FABRIC_WORKER_TEARDOWN_SEM",
    "FABRIC_WORKER_BUFFER_INDEX_SEM",
    "NUM_HOPS",
    "EW_DIM",
    "TO_MESH_ID",
];
