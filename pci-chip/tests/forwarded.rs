//! Tests of a library that forwards all calls to another one: host and guests access the same chip.
//!
//! The other library is a second copy of this library, loaded from its file. Each session runs in
//! its own process, because the variables of the environment belong to a process.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use chip::{
    access::{ChipAccess as _, NocTile},
    mesh::WALL_CLOCK,
    shared::SharedChip,
};
use kprof_chip::{
    libttsim_clock, libttsim_exit, libttsim_init, libttsim_pci_config_rd32,
    libttsim_pci_mem_rd_bytes, libttsim_pci_mem_wr_bytes, libttsim_tile_rd_bytes,
};
use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A window of BAR 0, and tiles in the coordinates of host and guests.
///
/// The layouts are from tt-isa-documentation: window 166 of a Wormhole has 16 MiB and 12 address
/// bits, window 0 of a Blackhole has 2 MiB and 43 address bits.
struct Plan {
    offset: u64,
    config: u64,
    config_bytes: usize,
    window_bits: u32,
    address_bits: u32,
    /// The first two worker tiles of a row, on NoC 0 and on NoC 1.
    workers: [((u64, u64), NocTile); 2],
    /// The tile of a DRAM bank on NoC 0, the bank's address in this tile, and the tile on NoC 1.
    bank: ((u64, u64), u64, NocTile),
}

/// On a Wormhole, raw coordinates on NoC 1 count from the opposite corner, (9,11); bank 7
/// is the second one in the group of tile (5,9). On a Blackhole, guests use translated coordinates.
fn plan(arch: &str) -> Plan {
    if arch == "blackhole" {
        return Plan {
            offset: 0,
            config: 0x1FC0_0000,
            config_bytes: 12,
            window_bits: 21,
            address_bits: 43,
            workers: [((1, 2), NocTile { x: 1, y: 2 }), ((2, 2), NocTile { x: 2, y: 2 })],
            bank: ((17, 15), 0, NocTile { x: 17, y: 15 }),
        };
    }
    Plan {
        offset: 0x0B00_0000,
        config: 0x1FC0_0000 + 8 * 166,
        config_bytes: 8,
        window_bits: 24,
        address_bits: 12,
        workers: [((1, 1), NocTile { x: 8, y: 10 }), ((2, 1), NocTile { x: 7, y: 10 })],
        bank: ((5, 9), 1 << 30, NocTile { x: 4, y: 2 }),
    }
}

fn bar_0() -> u64 {
    let word = |offset| u64::from(libttsim_pci_config_rd32(0, offset));
    (word(0x10) & !0xF) | word(0x14) << 32
}

fn host_read(address: u64, length: u32) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    // SAFETY: `bytes` holds `length` bytes.
    unsafe { libttsim_pci_mem_rd_bytes(address, bytes.as_mut_ptr().cast(), length) };
    bytes
}

fn host_write(address: u64, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap();
    // SAFETY: `bytes` holds `length` bytes.
    unsafe { libttsim_pci_mem_wr_bytes(address, bytes.as_ptr().cast(), length) };
}

impl Plan {
    /// Maps the window to a tile, and returns the host's address for an address of the tile.
    fn aim(&self, tile: (u64, u64), address: u64) -> u64 {
        let coordinates = u128::from(tile.0) | u128::from(tile.1) << 6;
        let word = u128::from(address >> self.window_bits) | coordinates << self.address_bits;
        host_write(bar_0() + self.config, &word.to_le_bytes()[..self.config_bytes]);
        self.at(address)
    }

    fn at(&self, address: u64) -> u64 {
        bar_0() + self.offset + (address & ((1 << self.window_bits) - 1))
    }
}

/// Runs a session; the tests start it in a separate process.
#[test]
#[ignore = "the other tests run it in a process of its own"]
fn session() {
    let plan = plan(&env::var("KPROF_CHIP_ARCH").unwrap());
    libttsim_init();
    let device = if plan.config_bytes == 12 { 0xB140 } else { 0x401E };
    assert_eq!(libttsim_pci_config_rd32(0, 0), device << 16 | 0x1E52);
    let path = PathBuf::from(env::var("KPROF_CHIP_SOCKET").unwrap());
    let (guest, facts) = SharedChip::connect(&path).unwrap();
    assert_eq!(facts.dram_harvest_mask, 0);
    let [(first, first_of_guest), (_, second_of_guest)] = plan.workers;

    // Host and guest see the same memory, and the host's window stays as the host has mapped it.
    let at = plan.aim(first, 0x1000);
    host_write(at, b"host");
    let mut word = [0; 4];
    guest.noc_read(1, first_of_guest, 0x1000, &mut word).unwrap();
    assert_eq!(&word, b"host");
    guest.noc_write(1, second_of_guest, 0x1000, b"next").unwrap();
    assert_eq!(host_read(at, 4), b"host", "the window maps the host's tile again");
    guest.noc_write(1, first_of_guest, 0x1002, b"ue").unwrap();
    assert_eq!(host_read(at, 4), b"houe");
    let (bank, start, bank_of_guest) = plan.bank;
    let bank_at = plan.aim(bank, start + 0x40);
    guest.noc_write(1, bank_of_guest, start + 0x40, b"bank").unwrap();
    assert_eq!(host_read(bank_at, 4), b"bank");
    // The configuration may be written in parts.
    let half = plan.config_bytes - 4;
    host_write(bar_0() + plan.config, &[0; 12][..half]);
    host_write(bar_0() + plan.config + half as u64, &[0; 4]);
    let at = plan.aim(first, 0x1000);
    assert_eq!(host_read(at, 4), b"houe");

    // Cycles pass with the host's clock, and with each access of a guest.
    let clock = || {
        let mut bytes = [0; 8];
        guest.noc_read(1, first_of_guest, WALL_CLOCK, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    };
    let before = clock();
    let between = clock();
    libttsim_clock(1000);
    assert!((1..1000).contains(&(between - before)), "{before} to {between}");
    assert!((1001..2000).contains(&(clock() - between)), "from {between}");
    let mut word = [0; 4];
    let [x, y] = [first.0, first.1].map(|part| u32::try_from(part).unwrap());
    // SAFETY: `word` holds four bytes.
    unsafe { libttsim_tile_rd_bytes(x, y, 0x1000, word.as_mut_ptr().cast(), 4) };
    assert_eq!(&word, b"houe", "calls that only some simulators have are forwarded, too");

    refusals(&guest, first_of_guest);
    libttsim_exit();
    let error = guest.noc_read(1, first_of_guest, 0x1000, &mut word).unwrap_err();
    assert_eq!(error.0, "the chip is closed");
    assert!(!path.exists());
}

/// Accesses at which another simulator could end the process.
fn refusals(guest: &SharedChip, worker: NocTile) {
    let refusal = |noc, tile, address, size: usize| {
        guest.noc_read(noc, tile, address, &mut vec![0; size]).unwrap_err().0
    };
    assert!(refusal(0, worker, 0, 4).contains("expected an access over NoC 1, found NoC 0"));
    assert!(refusal(1, NocTile { x: 60, y: 60 }, 0, 4).contains("no tile at (60,60) on NoC 1"));
    for (address, size) in
        [(0x20_0000, 4), (0x1F_0000, 0x8_0000), (WALL_CLOCK + 4, 8), (WALL_CLOCK, 2)]
    {
        let refusal = refusal(1, worker, address, size);
        assert!(refusal.contains("in no memory that guests may access"), "{address:#x}: {refusal}");
    }
}

fn run(arch: &str, library: &Path, socket: &Path) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "session", "--ignored", "--nocapture"]);
    command.env("KPROF_CHIP_ARCH", arch).env("KPROF_CHIP_LIBRARY", library);
    command.env("KPROF_CHIP_SOCKET", socket).output().unwrap()
}

#[test]
fn guests_access_a_chip_of_another_library_between_the_accesses_of_its_host() {
    let library = env::current_exe().unwrap().with_file_name("libkprof_chip.so");
    for arch in ["wormhole_b0", "blackhole"] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(arch, &library, &folder.path().join("chip"));
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arch}: {told}");
        let is_refusal = |line: &str| {
            line.strip_prefix("kprof simulator: ")
                .is_some_and(|said| !said.starts_with("Simulated times"))
        };
        assert!(!told.lines().any(is_refusal), "{arch}: {told}");
    }
}

#[test]
fn a_library_that_cannot_be_loaded_ends_the_host_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("none.so");
    let output = run("blackhole", &library, &folder.path().join("chip"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains(&format!("kprof simulator: {}: ", library.display())), "{told}");
}
