//! The recorder of the process, which the macros record into.

use super::HostRecorder;
use std::sync::OnceLock;

static INSTALLED: OnceLock<HostRecorder> = OnceLock::new();

/// There is an installed recorder already; it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected no installed recorder, found one; take records from that")]
pub struct AlreadyInstalled;

impl HostRecorder {
    /// Makes the macros record into this recorder, for as long as the process runs.
    ///
    /// # Errors
    /// If there is one already.
    pub fn install(&self) -> Result<(), AlreadyInstalled> {
        INSTALLED.set(self.clone()).map_err(|_| AlreadyInstalled)
    }
}

/// The recorder that the macros record into, if one is installed.
#[must_use]
pub fn installed() -> Option<&'static HostRecorder> {
    INSTALLED.get()
}
