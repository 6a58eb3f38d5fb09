//! tt-metal's own firmware on simulated cores: the files, the data layouts, and the writes that the
//! host makes to boot a core and to launch kernels.
//!
//! | question | module |
//! |---|---|
//! | where does a release put its mailboxes, and what is in them? | [`reader::firmware_elf`] |
//! | which files belong together, for which chip? | [`firmware`] |
//! | what does a host write to boot a core? | [`boot`] |
//! | what does a host write to launch kernels? | [`launch`] |
//! | which memory does a launch use? | `memory` |
//!
//! Everything here is derived from the files; there is no table of releases or of their addresses.
//! These modules only create the writes. [`crate::mesh`] (with
//! [`crate::config::MeshConfig::with_firmware`]) or another simulator applies the writes to a core.

pub mod boot;
pub mod firmware;
pub mod launch;
mod memory;

/// A host write to a core's L1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostWrite {
    /// First address, a multiple of four.
    pub address: u32,
    /// The bytes to write; their number is a multiple of four.
    pub bytes: Vec<u8>,
}

impl HostWrite {
    /// Returns the bytes as words.
    #[must_use]
    pub fn words(&self) -> Vec<u32> {
        let words = self.bytes.chunks_exact(4);
        words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
    }
}
