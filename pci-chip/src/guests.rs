//! Access to the chip by other processes ("guests"), through a socket.

use super::{CHIP, lock, simulation::Simulation};
use chip::{
    access::{AccessFailure, ChipAccess, NocResult, NocTile},
    facts::ChipFacts,
    shared::{ChipServer, SOCKET_VARIABLE, ShareError, socket_path},
};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The socket server, if one was requested, and the number of guests waiting for access to the
/// chip.
pub(super) struct Guests {
    server: Mutex<Option<ChipServer>>,
    waiting_count: AtomicUsize,
}

impl Guests {
    pub(super) const fn new() -> Self {
        Self { server: Mutex::new(None), waiting_count: AtomicUsize::new(0) }
    }

    /// Serves the chip if the environment names a socket.
    pub(super) fn serve(&'static self, facts: &ChipFacts) -> Result<(), ShareError> {
        let Some(socket) = std::env::var_os(SOCKET_VARIABLE) else { return Ok(()) };
        let path = socket_path(&socket, std::process::id());
        *lock(&self.server) = Some(ChipServer::start(&path, facts, SimulatedChip(self))?);
        Ok(())
    }

    /// Removes the socket. Open connections stay open, but their requests fail because the chip is
    /// closed.
    pub(super) fn end(&self) {
        drop(lock(&self.server).take());
    }

    /// Blocks until every guest that waits for the chip has accessed it, but for no longer than
    /// [`PATIENCE`].
    ///
    /// Without this wait, a host that calls `libttsim_clock` in a loop would lock the chip again
    /// before a guest's thread wakes up.
    pub(super) fn let_pass(&self) {
        if self.waiting_count.load(Ordering::Acquire) == 0 {
            return;
        }
        let begun = Instant::now();
        while self.waiting_count.load(Ordering::Acquire) > 0 && begun.elapsed() < PATIENCE {
            thread::yield_now();
        }
    }

    fn with_chip<T>(&self, call: impl FnOnce(&mut Simulation) -> T) -> Result<T, AccessFailure> {
        self.waiting_count.fetch_add(1, Ordering::AcqRel);
        let mut chip = lock(&CHIP);
        self.waiting_count.fetch_sub(1, Ordering::AcqRel);
        let chip = chip.as_mut().ok_or_else(|| AccessFailure("the chip is closed".to_owned()))?;
        chip.clock(ACCESS_CYCLES);
        Ok(call(chip))
    }
}

/// Access to the chip for guests.
struct SimulatedChip(&'static Guests);

impl ChipAccess for SimulatedChip {
    fn noc_read(&self, noc: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult {
        let read = self.0.with_chip(|chip| chip.guest_read(noc, tile, address, bytes));
        read?.map_err(AccessFailure)
    }

    fn noc_write(&self, noc: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult {
        let written = self.0.with_chip(|chip| chip.guest_write(noc, tile, address, bytes));
        written?.map_err(AccessFailure)
    }

    fn standing(&self) -> Result<String, AccessFailure> {
        self.0.with_chip(Simulation::standing)?.map_err(AccessFailure)
    }

    fn write_tables(&self) -> NocResult {
        self.0.with_chip(Simulation::write_tables)
    }
}

/// Cycles by which the chip advances before each access of a guest. A guest that polls a word
/// therefore sees it change, even if the host does not advance the chip.
const ACCESS_CYCLES: u32 = 16;
/// Maximum time for which a call of the host waits for guests.
const PATIENCE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        libttsim_clock, libttsim_exit, libttsim_init, libttsim_tile_rd_bytes,
        libttsim_tile_wr_bytes,
    };
    use chip::shared::SharedChip;
    use sim::arch::Arch;

    /// Tests accesses to the worker with the coordinates (1,1) on NoC 0 of a Wormhole. On NoC 1,
    /// the coordinates of the same worker are (8,10).
    #[test]
    fn a_guest_accesses_the_tiles_that_the_host_accesses_while_cycles_pass() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("chip-{pid}");
        // SAFETY: this crate has no other test that uses the environment.
        unsafe { std::env::set_var(SOCKET_VARIABLE, &socket) };
        // SAFETY: as above.
        unsafe { std::env::set_var("KPROF_CHIP_ARCH", "wormhole_b0") };
        libttsim_init();
        let path = folder.path().join(format!("chip-{}", std::process::id()));
        let (chip, facts) = SharedChip::connect(&path).unwrap();
        assert_eq!((facts.arch, facts.dram_harvest_mask), (Arch::WormholeB0, 0));
        let tile = NocTile { x: 8, y: 10 };
        chip.noc_write(1, tile, 0x1000, &[1, 2, 3, 4]).unwrap();
        let mut word = [0_u8; 4];
        // SAFETY: the buffer has the length of the read.
        unsafe { libttsim_tile_rd_bytes(1, 1, 0x1000, word.as_mut_ptr().cast(), 4) };
        assert_eq!(word, [1, 2, 3, 4]);
        // SAFETY: the buffer has the length of the write.
        unsafe { libttsim_tile_wr_bytes(1, 1, 0x1002, [9_u8, 8].as_ptr().cast(), 2) };
        chip.noc_read(1, tile, 0x1000, &mut word).unwrap();
        assert_eq!(word, [1, 2, 9, 8]);

        // The host lets cycles pass without a pause, and the guest still gets its answers.
        let is_over = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    libttsim_clock(10);
                }
            });
            let begun = Instant::now();
            for _ in 0..1000 {
                chip.noc_read(1, tile, 0x1000, &mut word).unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        });
        let error = chip.noc_read(1, NocTile { x: 40, y: 1 }, 0, &mut word).unwrap_err();
        assert!(error.0.contains("no tile at (40,1)"), "{error}");
        libttsim_exit();
        let error = chip.noc_read(1, tile, 0x1000, &mut word).unwrap_err();
        assert_eq!(error.0, "the chip is closed");
        assert!(!path.exists());
    }
}
