//! Tests of the public interface: figures over whole recordings, captures and random runs.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod ambiguous_zones;
mod cases;
mod counters_captures;
mod holes;
mod noc_events_captures;
mod noc_lanes;
mod properties;
mod repeated_workloads;
mod streaming_waits;
