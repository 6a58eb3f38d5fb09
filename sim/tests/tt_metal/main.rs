//! Tests with tt-metal's own precompiled firmware from its package `ttnn`: files that this project
//! did not build.
//!
//! `KPROF_TTNN` is the folder of the package, which contains `tt_metal` and `runtime`.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod boot;
mod files;
mod package;
