//! A simulated mesh of Tenstorrent chips that runs profiled kernels, and whose memory hosts can
//! read.
//!
//! The simulation is deterministic: the same seed gives the same words at the same addresses and
//! times on any machine. Each fact about real chips has a source; a comment says so if a value has
//! no source.
//!
//! # Map
//!
//! | question | module |
//! |---|---|
//! | Which chips can I have, and how do I ask for them? | [`config`] |
//! | How do I launch something and let time pass? | [`mesh`] |
//! | How can an external host drive a chip? | [`board`] |
//! | What can I run without writing a kernel? | [`workload`] |
//! | What is a program, a kernel, a launch? | [`program`] |
//! | What actually happened? | [`truth`] |
//! | How do I break something? | [`fault`] |
//! | Who sends launches to the cores? | [`dispatch`] |
//! | Where are cores and banks? | [`arch`], a separate crate |
//! | How are cycles, tiles' clocks and host time related? | [`clock`], [`host`] |
//! | What does a tile contain, and which of it can the host see? | [`tile`], [`dram`], [`noc`] |
//! | Which kernels are there, and what do they record? | [`kernel`] |
//! | Which object code is there, and how does a core run it? | [`machine`] |
//! | How is a RISC's pipeline timed? | [`riscv`] |
//! | Where do the cycles of a launch go in its code? | [`lines`] |
//! | Which memory does a launch use? | [`launch_memory`] |
//! | Which limits of chips are not modelled? | [`limits`] |
//!
//! # Example
//!
//! ```
//! use reader::{ProfilerOptions, init_device_profiler};
//! use sim::{
//!     config::MeshConfig,
//!     kernel::ObjectKernel,
//!     mesh::SimulatedMesh,
//!     program::{Emission, Launch, Program},
//! };
//! use std::sync::Arc;
//! use wire::Risc;
//!
//! // This kernel spins in a zone for as many cycles as its argument says.
//! let kernel = ObjectKernel::named("work").unwrap();
//! let program = Arc::new(Program::new("load").with_kernel(Risc::Ncrisc, Arc::new(kernel)));
//!
//! let mut mesh = SimulatedMesh::new(&MeshConfig::wormhole(1))?;
//! init_device_profiler(&mut mesh, &ProfilerOptions::default())?;
//! mesh.enqueue(0, Launch::new(&program, 1).with_args(&[500]))?;
//! mesh.run_to_completion();
//!
//! // On each of 64 cores: the firmware's zone on BRISC, and three zones on NCRISC.
//! assert_eq!(mesh.truth().total_emitted(), Emission::zones(64 * (1 + 3)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is simplified
//!
//! - A launch is simulated to its end once it begins. A host read still returns the words as they
//!   are at the simulated time of the read, but a host write during a launch affects only the next
//!   launch.
//! - The NoC's latencies depend on the distance and vary at random, and requests on one path stay
//!   in order. Packets queue for links, and requests for DRAM channels. A NoC read of a tile's L1 delays the loads and stores of
//!   that tile's RISCs.

#![forbid(unsafe_code)]

pub use reader::architecture as arch;
/// Lets modules that are shared with the system tests call this crate `sim`.
#[cfg(test)]
extern crate self as sim;

pub mod board;
pub mod chip;
pub mod clock;
pub mod config;
pub mod dispatch;
pub mod dram;
pub mod fault;
pub mod host;
mod host_memory;
pub mod kernel;
pub mod launch_memory;
pub mod limits;
pub mod lines;
pub mod machine;
pub mod mesh;
pub mod mesh_access;
pub mod modes;
mod network;
pub mod noc;
#[cfg(test)]
#[path = "../tests/unit/prepared.rs"]
mod prepared;
pub mod program;
#[cfg(test)]
#[path = "../../tests/src/pushed/mod.rs"]
pub mod pushed;
pub mod random;
pub mod riscv;
pub mod samples;
mod sparse_memory;
pub mod tile;
pub mod truth;
pub mod tt_metal;
pub mod unfinished;
pub mod workload;
