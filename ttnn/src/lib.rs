//! The door to a stock `ttnn`, as pip installs it: what its own calls read of a chip, as a mesh.
//!
//! Such a build has no device profiler. Kernels that are compiled with our header record all the
//! same, into lanes that lie in a tensor. The Python package copies control vectors and lanes by
//! launches of its own, and this crate makes a [`Mesh`](reader::mesh::Mesh) of the copies, so that
//! [`read_device_profiler`](reader::read_device_profiler) stays the one engine.
//!
//! # Map
//!
//! | question | module item |
//! |---|---|
//! | what is a chip whose memory was copied? | [`CopiedChip`], [`CopiedMesh`] |
//! | how is a session read part by part into a capture? | [`Session`] |
//! | which op was a launch? | [`launches`] |
//! | which ttnn would a program import? | [`package`] |
//! | how are its kernels compiled with our header? | [`tree`] |
//! | which simulator is its chip? | [`simulator`] |

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
#[cfg(unix)]
pub mod tree;

pub use mesh::{ChipError, CopiedChip, CopiedMesh, WorkerCore};
pub use session::{ClockReading, Session, SessionError};
