//! What L1 and DRAM hold while ops run.
//!
//! | question | item |
//! |---|---|
//! | what do launch messages say? | rows of the table `memory`: [`read_csv`] |
//! | which cores are meant? | [`CoreSet`] |
//! | what did the host's allocator do? | [`OpBuffers`] |
//! | what is in memory during an op? | [`Usage`] |
//! | when is it fullest, and what makes it so? | [`Peak`], [`Maker`] |
//! | would what lies in DRAM fit into L1? | [`L1Room`] |
//!
//! Both sources are untrusted. Either may be missing: figures without one of them are lower bounds,
//! and say so.

#![forbid(unsafe_code)]

mod buffers;
mod cores;
mod csv_file;
mod intervals;
mod lifetimes;
mod makers;
mod peak;
mod place;
mod room;
mod usage;

pub use buffers::{BufferEvent, Layout, OpBuffers};
pub use cores::{CoreSet, CoreSetError};
pub use csv_file::read_csv;
pub use lifetimes::Lifetime;
pub use makers::Maker;
pub use peak::Peak;
pub use place::{CallPlace, CallPlaces};
pub use room::{DramTensor, L1Room};
pub use usage::{L1Usage, OpUsage, RecordedOp, Usage};
