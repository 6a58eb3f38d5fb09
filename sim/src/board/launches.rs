//! The launches of a worker core of a chip that a host drives.
//!
//! A launch begins when the host or its dispatcher writes GO to a core, and ends when BRISC writes
//! that it is done. The launch message tells which program and which kernels it is.

use crate::{
    lines::Meaning,
    machine::Devices,
    tile::Tile,
    tt_metal::{firmware::FirmwareSet, launch::LaunchMessage},
};
use std::{collections::HashMap, ops::Range, sync::Arc};

/// Follows the launches of one core.
#[derive(Debug)]
pub(super) struct CoreLaunches {
    pub(super) set: Arc<FirmwareSet>,
    open: Option<OpenLaunch>,
    /// True if BRISC has written that the launch is done.
    is_done: bool,
    /// Number of launches of each program.
    counts: HashMap<u32, u64>,
}

/// A launch that has begun.
#[derive(Debug)]
pub(super) struct OpenLaunch {
    /// Number of the launch of the program on this core, from 0.
    pub(super) index: u64,
    pub(super) message: LaunchMessage,
}

impl CoreLaunches {
    pub(super) fn new(set: Arc<FirmwareSet>) -> Self {
        Self { set, open: None, is_done: false, counts: HashMap::new() }
    }

    /// Returns true if a write of another tile or of the host is a signal to begin a launch.
    pub(super) fn is_go(&self, tile: &Tile, range: &Range<u64>) -> bool {
        self.set.is_go(tile, range)
    }

    /// Begins the launch that the message in L1 describes; returns false if it has no kernels.
    pub(super) fn begin(&mut self, tile: &Tile) -> bool {
        let message = self.set.message(tile);
        if message.kernels.iter().all(Option::is_none) {
            return false;
        }
        let count = self.counts.entry(message.run_host_id).or_default();
        let index = *count;
        *count += 1;
        self.open = Some(OpenLaunch { index, message });
        true
    }

    /// Follows a store of a RISC; it may end the launch.
    #[inline]
    pub(super) fn stored(&mut self, tile: &Tile, risc_index: usize, (address, value): (u64, u32)) {
        if risc_index == 0 && self.open.is_some() {
            let go = self.set.go_address(tile);
            let (_, done) = self.set.done_signal();
            let is_go = address == u64::from(go & !3);
            self.is_done |= is_go && (value >> (8 * (go & 3)) & 0xFF) == u32::from(done);
        }
    }

    /// Returns true if BRISC has ended the launch since it was taken last.
    pub(super) const fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns the launch that has begun; `None` if it was taken.
    pub(super) fn open(&self) -> Option<&OpenLaunch> {
        self.open.as_ref().filter(|_| !self.is_done)
    }

    /// Removes and returns the launch that has begun, and true if BRISC has ended it.
    pub(super) fn take(&mut self) -> Option<(OpenLaunch, bool)> {
        let is_done = std::mem::take(&mut self.is_done);
        self.open.take().map(|launch| (launch, is_done))
    }
}

/// Calls a function with the meaning of words on a core with the host's firmware.
pub(super) fn with_meaning<R>(
    (set, tile, devices): (&FirmwareSet, &Tile, &Devices),
    function: impl FnOnce(&Meaning<'_>) -> R,
) -> R {
    let mailboxes = set.mailboxes();
    function(&Meaning {
        arch: set.arch(),
        mailboxes: mailboxes.address..mailboxes.address + mailboxes.size_bytes,
        l1_bytes: tile.l1.size_bytes(),
        has_own_layout: false,
        register: &|address| devices.register_name(address),
    })
}
