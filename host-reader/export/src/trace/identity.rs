//! Identifier of a recording that does not depend on its file name.

use super::Trace;
use sha2::{Digest, Sha256};

impl Trace<'_> {
    /// Returns eight hexadecimal digits that identify the recording by its start.
    ///
    /// The digits are a hash of the first cycle of each chip's records and, if known, of the host
    /// time of the trace's origin. The digits stay the same if a trace filter hides records, or if
    /// the recording goes on for longer. Recordings of the same chip have different identifiers,
    /// because the chip's cycle counter keeps running.
    #[must_use]
    pub fn recording_id(&self) -> String {
        let mut digest = Sha256::new();
        for device in &self.devices {
            digest.update(device.chip.chip_id.to_le_bytes());
            digest.update(device.clock.first_cycle().to_le_bytes());
        }
        let origin_ns = self.origin_host_ns.unwrap_or_default();
        digest.update(origin_ns.to_le_bytes());
        let [a, b, c, d, ..] = <[u8; 32]>::from(digest.finalize());
        format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
    }
}
