//! Tests of the causes that are found in captures, in folders and in simulated pipelines.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod captures;
mod claims;
mod dram;
mod folders;
mod full_l1;
mod generated;
mod honest;
mod iterations;
mod late_chips;
mod model;
mod ops_csvs;
mod path_shares;
mod perturbed;
mod pipelines;
mod whole;
mod windows;
