//! Tenstorrent's ttsim as a second simulator for the programs of [`sim`].
//!
//! ttsim is Tenstorrent's functional simulator of whole chips. The user supplies ttsim as a
//! library; no part of ttsim belongs to this project. ttsim stops at any operation that is not
//! valid on a chip. A run on ttsim is therefore a check of firmware and kernels that is independent
//! of our own simulator. ttsim does not simulate timing: cycle counts from ttsim have no meaning.
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
