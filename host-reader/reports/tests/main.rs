//! Tests of reports over whole recordings and folders.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod device_tables;
mod extreme_numbers;
mod latencies;
mod ops_of_folders;
mod packed_ops;
mod perf_claims;
mod programs;
