//! Support for a stock `ttnn` installed by pip: presents chip memory, which ttnn's own calls read,
//! as a mesh for the reader.
//!
//! Such a build has no device profiler. Kernels that are compiled with kprof's header still record;
//! their records go to lanes (one for each RISC), which are stored in a tensor. The Python package
//! launches kernels that copy control vectors and lanes. This crate presents the copies as a
//! [`Mesh`](reader::mesh::Mesh), so [`read_device_profiler`](reader::read_device_profiler) can read
//! them like any other mesh.
//!
//! # Map
//!
//! | question | module item |
//! |---|---|
//! | what represents a chip whose memory was copied? | [`CopiedChip`], [`CopiedMesh`] |
//! | how do several reads of a session become one capture? | [`Session`] |
//! | how are the rings of streaming cores read? | [`StreamLink`], [`Session::stream_chip`] |
//! | which op does a launch belong to? | [`launches`] |
//! | which ttnn would a program import? | [`package`] |
//! | how are a program's kernels compiled with kprof's header? | [`tree`] |
//! | which simulator replaces a chip? | [`simulator`] |

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "words come from a chip"
    )
)]

pub mod launches;
mod mesh;
pub mod package;
mod session;
#[cfg(unix)]
pub mod simulator;
mod streamed;
#[cfg(unix)]
pub mod tree;

pub use mesh::{ChipError, CopiedChip, CopiedMesh, WorkerCore};
pub use session::{ClockReading, Session, SessionError};
pub use streamed::StreamLink;
