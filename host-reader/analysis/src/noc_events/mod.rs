//! NoC events: transfers, barriers, semaphores and fabric packets recorded by kernels.
//!
//! A NoC event is timestamped data with the id 12345 ([`wire::ZoneId::NOC_TRACING`]); data with any
//! other id is not a NoC event. Lock events have the id 23456 ([`wire::ZoneId::NOC_DEBUGGING`]).
//!
//! | question | item |
//! |---|---|
//! | what do the 64 bits of an event mean? | [`Payload::decode`] |
//! | which number stands for which kind of event? | [`NocEventKind`], [`PayloadVersion`] |
//! | to which tile do the coordinates of an event refer? | [`TileMap`] |
//! | which lines of tiles are harvested? | [`lines_without`], [`lines_of_traces`] |
//! | what happened in each program? | [`NocTraces::from_readout`] |
//! | how is TT-Metal's format written and read? | [`ProgramTrace::to_json`], [`read_json`] |
//! | to which programs of a log do the trace files in the log's folder belong? | [`TraceFiles`] |
//! | at which times of the log did the events of the trace files happen? | [`KernelStarts`] |
//! | how are addresses stored in a device log? | [`describe_addresses`] |
//! | how many bytes moved between which tiles, over which links? | [`Traffic`] |
//! | how busy were links and DRAM, and what did congestion cost? | [`NocFigures`] |
//! | which memory did kernels hold, and for how long? | [`Locks`] |
//!
//! # Compatibility
//! `tt_metal/tools/profiler/event_metadata.hpp` and `tt_metal/impl/profiler/profiler.cpp`: the
//! payloads, the numbers, the objects of `noc_trace_*.json` and the joining of fabric events.

#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

mod describe;
mod fabric;
mod harvesting;
mod json;
mod kernel_starts;
mod lanes;
mod layout;
mod locks;
mod model;
mod object;
mod payload;
mod programs;
mod route;
mod size_field;
mod tile;
mod trace;
mod trace_files;
mod traffic;
mod traffic_sums;
mod transfer;
mod version;

pub use describe::describe_addresses;
pub use harvesting::{HarvestingError, lines_of_traces, lines_without, lines_without_mask};
pub use json::{ReadTrace, TraceProblem, read_json};
pub use kernel_starts::KernelStarts;
pub use lanes::NocLanes;
pub(crate) use layout::LayoutEvidence;
pub use locks::{Locks, MemoryLock};
pub use model::{NocChip, NocFigures, NocGap};
pub use object::{Destination, FabricMux, FabricSend, TraceObject};
pub use payload::{
    FabricEvent, FabricPart, LocalEvent, Noc, Payload, PayloadError, RawCoord, Routing,
};
pub use programs::NocPrograms;
pub use route::Direction;
pub use size_field::{SizeEvidence, SizeField};
pub use tile::TileMap;
pub use trace::{NocTraces, ProgramTrace, TraceNotes, TraceOptions};
pub use trace_files::{ProgramLanes, TraceFileCounts, TraceFiles};
pub use traffic::{
    Activity, Link, LinkLoad, OutsideBytes, OutsideReason, Pair, Traffic, UnplacedPair,
};
pub use version::PayloadVersion;
pub use wire::{noc_event::NocEventKind, scoped_lock::LockEventKind};

/// Returns a count with the noun that it counts, in the singular or the plural.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
