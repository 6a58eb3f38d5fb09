//! Clock synchronisation: maps cycles of a tile to nanoseconds of the host.
//!
//! # Which item answers which question
//!
//! | question | module item |
//! |---|---|
//! | what was measured, in which units? | [`TwoWayPing`], [`OneWaySession`], [`EthernetPing`] |
//! | which line fits these pings, and what is its maximum error? | [`CorridorFit`] |
//! | what would TT-Metal have fitted? | [`Regression`] |
//! | did the frequency change while the samples were taken, and when? | [`SteppedFit`] |
//! | what is the offset of this tile's counter? | [`TileOffset`] |
//! | how do the clocks of several chips relate? | [`ChipTree`] |
//! | which host time belongs to a cycle? | [`PiecewiseClock::to_host_ns`] |
//! | what is the offset of the time of day from the host's own clock? | [`DayOffset`] |
//!
//! # The mathematics in a few lines
//!
//! A ping brackets a counter reading `d_i` between host times `t0_i` and `t1_i`. So the actual map
//! `g` from cycles to host time satisfies `t0_i <= g(d_i) <= t1_i`, no matter how long the ping was
//! delayed. If `g` is a line, it is in the polygon `P` of all lines that satisfy all brackets. The
//! fit `f` is the line with the largest distance to the nearest bracket end. For any `d`, the error
//! `|f(d) - g(d)|` is at most the maximum of `|f(d) - p(d)|` over all lines `p` in `P`. Since
//! `p(d)` is linear in the line's two parameters, this maximum is at a corner of `P`. There are few
//! corners, because they come from the convex hulls of the bracket ends. The bound is therefore
//! exact and cheap, and needs no noise model. If two maps are composed, their bounds are added. If
//! a map is inverted, its bound is divided by the slope.
//!
//! If no line satisfies all brackets, `g` is not a line. The time span of the samples is then
//! divided into the smallest number of pieces for which one line per piece satisfies the piece's
//! brackets.
//!
//! # Out of scope
//!
//! This module reads no device, writes no file and does not sleep. It computes clock maps from
//! samples. Torn or wrapped timestamps of markers are corrected by the decoder.
//!
#![doc = include_str!("accuracy.md")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "wide integers of samples, sliced by positions found in them"
)]

mod conversion;
mod corridor;
mod day;
mod error;
mod graph;
mod hull;
mod line;
mod offset;
mod piecewise;
mod regression;
mod samples;
mod steps;

#[cfg(test)]
#[path = "../../tests/unit/clock/accuracy.rs"]
mod accuracy;
#[cfg(test)]
#[path = "../../tests/unit/clock/simulated.rs"]
mod simulated;

pub use conversion::HostTime;
pub use corridor::{Bracket, CorridorFit, Resolution};
pub use day::{DayOffset, DayProblem, DayReading};
pub use error::ClockError;
pub use graph::{ChipEdge, ChipTree, LoopClosure};
pub use line::{BoundedLine, Deviation, ErrorBound, Line};
pub use offset::TileOffset;
pub use piecewise::{PiecewiseClock, Split};
pub use regression::{HostStamp, Regression};
pub use samples::{
    EthernetPing, OneWaySession, OneWayStamp, PingBurst, Tile, TwoWayPing, extend_cycles,
};
pub use steps::{Evidence, FrequencyStep, SteppedFit};
