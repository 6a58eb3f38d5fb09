//! An identifier of a recording that does not depend on its file name.

use super::Trace;
use sha2::{Digest, Sha256};

impl Trace<'_> {
    /// Eight hexadecimal digits made of when the recording began: of the first cycle of each
    /// chip's records and of the host's time of the trace's origin, where it is known.
    ///
    /// It is the same however the trace is filtered and whatever was recorded later, and
    /// differs between recordings of one chip, whose counter goes on.
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
