//! The process-wide recorder that the macros use.

use super::HostRecorder;
use std::sync::OnceLock;

static INSTALLED: OnceLock<HostRecorder> = OnceLock::new();

/// Error: another recorder is already installed, and stays installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected no installed recorder, found one; take records from that")]
pub struct AlreadyInstalled;

impl HostRecorder {
    /// Makes the macros record into this recorder until the process exits.
    ///
    /// # Errors
    /// If a recorder is installed already.
    pub fn install(&self) -> Result<(), AlreadyInstalled> {
        INSTALLED.set(self.clone()).map_err(|_| AlreadyInstalled)
    }
}

/// Returns the recorder that the macros record into, if one is installed.
#[must_use]
pub fn installed() -> Option<&'static HostRecorder> {
    INSTALLED.get()
}
