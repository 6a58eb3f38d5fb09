//! Support for an unmodified `ttnn` installed by pip. Chip memory is read with calls of ttnn, and
//! this crate presents the copies as a mesh for the reader.
//!
//! A `ttnn` from pip has no profiler of kernels. Kernels that are compiled with kprof's header still
//! record. Their records go to lanes, one for each RISC. A tensor provides the memory of the lanes.
//! The Python package launches kernels that copy control vectors and lanes. This crate presents the
//! copies as a [`Mesh`](reader::mesh::Mesh), so
//! [`read_device_profiler`](reader::read_device_profiler) can read the copies like any other mesh.
//!
//! # Map
//!
//! | question | module item |
//! |---|---|
//! | what represents a chip whose memory was copied? | [`CopiedChip`], [`CopiedMesh`] |
//! | how do several reads of a session become one capture? | [`Session`] |
//! | how are the records of a launch read that never ends? | [`ChipLink`], [`Session::read_from_outside`] |
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
mod outside;
pub mod package;
mod session;
#[cfg(unix)]
pub mod simulator;
mod streamed;
#[cfg(unix)]
pub mod tree;

pub use mesh::{ChipError, CopiedChip, CopiedMesh, WorkerCore};
pub use outside::ChipLink;
pub use session::{ClockReading, Session, SessionError};
pub use streamed::StreamLink;
