//! Causes of slowness: where the time of chips went, who waited for whom, and what to try.
//!
//! | question | item |
//! |---|---|
//! | why is a recording slow, in at most ten sentences? | [`Explanation`], [`Finding`] |
//! | where did each nanosecond of a chip or an op go? | [`TimeSplit`], [`TimeClass`] |
//! | which core set the length of an op? | [`Balance`] |
//! | how long was each RISC blocked, and by what? | [`RiscWait`], [`SyncCounts`] |
//! | for which RISCs did cores wait at a semaphore? | [`SemaphoreWait`] |
//! | which RISC sets the pace of an op? | [`Pace`], [`CriticalPath`] |
//! | would what an op has in DRAM fit into L1? | [`Explanation::add_memory`], [`RoomInL1`] |
//! | at which value does a rule fire, and what is the source of the value? | [`Threshold`] |
//!
//! All results can be serialised, and field names contain their units. This crate prints nothing.
//! `docs/explain.md` describes the rules and the known sources of error of each rule.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

mod awaited;
mod balance;
mod barriers;
mod clock_syncs;
mod counter_sentence;
mod counter_shares;
mod coverage;
mod duration;
mod evidence;
mod explanation;
mod finding;
mod gap_before;
mod host_time;
mod iteration;
mod iteration_rows;
mod kernel_sentence;
mod kernel_zone;
mod l1_room;
mod last_block;
mod late_starts;
mod launch_rows;
mod lost_runs;
mod math_use;
mod middle;
mod missing_launches;
mod missing_lengths;
mod mover_use;
mod no_cause;
mod noc_use;
mod op;
mod op_code_group;
mod op_split;
mod ops_csv;
mod pace;
mod parallel;
mod path;
mod phase;
mod reason;
mod recorded;
mod risc_wait;
mod roles;
mod routers;
mod row_slots;
mod rules;
mod semaphore;
mod signals;
mod signpost_name;
mod stage;
mod steady;
mod steady_launches;
mod threshold;
mod time_class;
mod time_sum;
mod timeline;
mod ttnn_call;
mod window;

pub use analysis::SyncCounts;
pub use balance::{Balance, CoreTime, Steps};
pub use explanation::{Explanation, SCHEMA_VERSION};
pub use finding::{Basis, Cause, Finding, GainOf, Place, Untold};
pub use iteration::SteadyRule;
pub use kernel_zone::KernelZone;
pub use l1_room::RoomInL1;
pub use no_cause::NoCause;
pub use op::{OpCauses, SetupShare};
pub use op_code_group::{GroupBound, OpCodeGroup};
pub use pace::Pace;
pub use path::{CriticalPath, PathShare, PathStep, StepKind};
pub use phase::{Phase, PhaseOrigin};
pub use reason::Reason;
pub use risc_wait::{RiscWait, WaitSum};
pub use semaphore::{SemaphoreWait, SignalingRisc};
pub use stage::{Engine, Stage, StageUse};
pub use steady::{Scope, SteadyPart, Window};
pub use threshold::{THRESHOLDS, Threshold};
pub use time_class::{ClassShare, Overlap, TimeClass, TimeSplit, WaitEvidence};
pub use timeline::{DeviceTime, SideBySide};
