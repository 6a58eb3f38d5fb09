//! A simulated mesh of Tenstorrent chips, to run and to read profiled kernels on.
//!
//! Deterministic: one seed gives the same words in the same places at the same times, on
//! any machine. Facts that the chips share with real ones carry their source; what has
//! none is named as a model.
//!
//! # Map
//!
//! | question | module |
//! |---|---|
//! | Which chips can I have, and how do I ask for them? | [`config`] |
//! | How do I launch something and let time pass? | [`mesh`] |
//! | What can I run without writing a kernel? | [`workload`] |
//! | What is a program, a kernel, a launch? | [`program`] |
//! | What can a native kernel do besides the profiler's macros? | [`native`] |
//! | What really happened? | [`truth`] |
//! | How do I break something? | [`fault`] |
//! | Where do cores and banks lie? | [`arch`] |
//! | How do cycles, tiles' clocks and host time hang together? | [`clock`], [`host`] |
//! | What does a tile hold, and what does the host see of it? | [`tile`], [`dram`], [`noc`] |
//! | Which kernels exist natively and as object code? | [`kernel`] |
//! | Which object code is there, and how does a core run it? | [`machine`] |
//! | How is a RISC's pipeline timed? | [`riscv`] |

#![forbid(unsafe_code)]

pub mod arch;
pub mod chip;
pub mod clock;
pub mod config;
pub mod dram;
pub mod fault;
pub mod host;
pub mod kernel;
pub mod machine;
pub mod mesh;
pub mod mesh_access;
pub mod native;
pub mod noc;
#[cfg(test)]
mod prepared;
pub mod program;
pub mod random;
pub mod riscv;
pub mod tile;
pub mod truth;
pub mod workload;
