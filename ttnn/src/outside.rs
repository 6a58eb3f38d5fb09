//! Reads of a program's simulated chip from outside: without a launch, while one never ends.
//!
//! Kernels copy the records of a chip for ttnn, as long as launches end. The process that simulates a
//! chip can also be asked for its memory, which needs no launch.

use crate::{
    mesh::{CONTROL_BYTES, CONTROL_WORDS, CORE_VECTOR_WORDS, CopiedChip},
    session::SessionError,
};
use chip::{access::ChipAccess as _, mesh::ChipDevice, shared::SharedChip};
use reader::mesh::Device as _;
use std::path::PathBuf;

/// How the simulated chip of this program can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipLink {
    /// The socket at which the program's own process serves the simulated chip.
    pub socket: PathBuf,
    /// Address of the control vector in the L1 of each core. The marker vectors follow it.
    pub control_address: u64,
}

impl ChipLink {
    /// Copies the control vectors, the marker vectors and the lanes of a chip. Returns false if the
    /// socket serves another chip, as it does for the second of two.
    pub(crate) fn copy(&self, chip: &mut CopiedChip) -> Result<bool, SessionError> {
        let (access, facts) = SharedChip::connect(&self.socket)?;
        let mut description = chip.description().clone();
        if facts.chip_id != description.chip_id {
            return Ok(false);
        }
        let vectors = self.control_address.saturating_add(CONTROL_BYTES);
        for core in &mut description.cores {
            (core.control_address, core.vector_address) = (self.control_address, vectors);
        }
        let dram = description.dram;
        let mut device = ChipDevice::open_known(access, &facts, description)?;
        let places = chip.places().to_vec();
        let mut of_cores = |address: u64, count: usize| {
            let mut words = vec![0; places.len().saturating_mul(count)];
            for (&core, words) in places.iter().zip(words.chunks_exact_mut(count)) {
                device.read_l1(core, address, words)?;
            }
            Ok::<_, SessionError>(words)
        };
        let controls = of_cores(self.control_address, CONTROL_WORDS)?;
        let markers = of_cores(vectors, CORE_VECTOR_WORDS)?;
        let bank_words = usize::try_from(dram.region_bytes / 4).unwrap_or(usize::MAX);
        let mut lanes = Vec::new();
        for bank in 0..dram.bank_count {
            let mut words = vec![0; bank_words];
            device.read_dram(bank, dram.region_address, &mut words)?;
            lanes.append(&mut words);
        }
        chip.load_controls(&controls)?;
        chip.load_vectors(markers)?;
        chip.load_lanes(lanes)?;
        Ok(true)
    }

    /// Makes the chip's simulator write the tables that the program's environment requests.
    ///
    /// # Errors
    /// If nobody serves a chip at the socket.
    pub fn write_tables(&self) -> Result<(), SessionError> {
        let (access, _) = SharedChip::connect(&self.socket)?;
        access.write_tables().map_err(|failure| SessionError::Outside(failure.0))
    }
}
