//! Tenstorrent's ttsim as a second simulator for the programs of [`sim`].
//!
//! ttsim is a functional simulator of whole chips that Tenstorrent publishes. The user supplies it
//! as a library; no part of it belongs to this project. It stops at any operation that a chip would
//! not perform, so it checks firmware and kernels independently of our own simulator. It has no
//! timing: cycles read from it have no meaning.
//!
//! # Map
//!
//! | question | module |
//! |---|---|
//! | How is a library started, and how do I reach its tiles? | [`simulator`] |
//! | How does a host reader access the chip? | [`mesh`] |
//! | How do programs of [`sim`] run on the chip? | [`runner`] |
//! | What does the process that runs the library do? | [`child`] |
//! | How is a library called within this process? | [`library`], [`windows`] |
//!
//! # Compatibility
//! ttsim 1.10, as described in `docs/libttsim_api.md` and `docs/sim_error_handling.md` of its
//! repository.

#![deny(unsafe_code)]
#![cfg(unix)]

pub mod child;
mod ending;
pub mod library;
pub mod mesh;
mod protocol;
mod relays;
pub mod runner;
pub mod simulator;
pub mod windows;

pub use protocol::Tile;
pub use runner::TtsimMesh;
pub use simulator::{Simulator, TtsimError};
