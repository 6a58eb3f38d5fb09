//! Access to the chip of this host for a recorded program that streams its records.

use crate::failure::{Failure, failure};
use chip::{shared::SOCKET_VARIABLE, sockets::recorded_socket};
use std::{ffi::OsString, path::PathBuf};

/// The chip that this process serves. Dropping this value removes the socket.
#[derive(Debug)]
pub(super) struct ServedChip {
    /// Path at which the recorded program accesses the chip.
    pub(super) socket: PathBuf,
    #[cfg(feature = "chip")]
    _server: chip::shared::ChipServer,
}

/// Returns the value of [`SOCKET_VARIABLE`] for a program: the value in this process's environment
/// or, without one, a socket path of this process.
pub(super) fn socket_variable() -> OsString {
    std::env::var_os(SOCKET_VARIABLE)
        .unwrap_or_else(|| recorded_socket(std::process::id()).into_os_string())
}

#[cfg(feature = "chip")]
impl ServedChip {
    /// Opens the only chip of this host and serves it.
    ///
    /// Hosts with several chips are refused, because ttnn may number chips in another order than
    /// the driver.
    ///
    /// # Errors
    /// If the driver lists several chips or none, or if the chip or the socket cannot be opened.
    pub(super) fn start() -> Result<Self, Failure> {
        use crate::failure::OrFail as _;
        use chip::{
            driver,
            facts::ChipFacts,
            shared::{ChipServer, socket_path},
        };
        let found = driver::scan();
        if found.len() > 1 {
            return Err(failure!(
                "--stream needs a host with one chip, found {}, which ttnn and the driver may number \
                 differently; omit --stream, or hide the other chips from this host",
                found.len()
            ));
        }
        let opened = driver::open(found.first().copied()).or_fail()?.into_iter().next();
        let Some((chip, facts)) = opened else {
            return Err(failure!(
                "expected a Tenstorrent chip for --stream, found none; add --simulate"
            ));
        };
        let socket = socket_path(&socket_variable(), std::process::id());
        let facts = ChipFacts { chip_id: 0, ..facts };
        let server = ChipServer::start(&socket, &facts, chip).or_fail()?;
        Ok(Self { socket, _server: server })
    }
}

#[cfg(not(feature = "chip"))]
impl ServedChip {
    /// Reports that this build cannot access chips.
    ///
    /// # Errors
    /// Always.
    pub(super) fn start() -> Result<Self, Failure> {
        Err(failure!(
            "expected --simulate with --stream, because this kprof was built without access to chips; build one \
             with access: `cargo build -p kprof --features chip`"
        ))
    }
}
