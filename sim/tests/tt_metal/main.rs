//! tt-metal's own firmware, as its package `ttnn` carries it precompiled: files that nobody here
//! has made.
//!
//! `KPROF_TTNN` names the folder of the package that `tt_metal` and `runtime` lie in.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod boot;
mod files;
mod package;
