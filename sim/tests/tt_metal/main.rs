//! tt-metal's own precompiled firmware from its package `ttnn`: files that this project has not
//! built.
//!
//! `KPROF_TTNN` gives the folder of the package that contains `tt_metal` and `runtime`.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod boot;
mod files;
mod package;
