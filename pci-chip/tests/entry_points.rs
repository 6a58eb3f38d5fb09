//! Tests that call the entry points as a host does. Each session runs in its own process, because
//! the library has one chip per process.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use kprof_chip::{
    libttsim_clock, libttsim_exit, libttsim_init, libttsim_pci_config_rd32,
    libttsim_pci_mem_rd_bytes, libttsim_pci_mem_wr_bytes,
};
use std::{
    env, fs,
    process::{Command, Output},
};

const ARCHITECTURES: [&str; 2] = ["wormhole_b0", "blackhole"];

fn read(address: u64, length: u32) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    // SAFETY: `bytes` holds `length` bytes.
    unsafe { libttsim_pci_mem_rd_bytes(address, bytes.as_mut_ptr().cast(), length) };
    bytes
}

fn write(address: u64, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap();
    // SAFETY: `bytes` holds `length` bytes.
    unsafe { libttsim_pci_mem_wr_bytes(address, bytes.as_ptr().cast(), length) };
}

/// Returns the address of BAR 0, found in the same way as by a host.
fn bar_0() -> u64 {
    let word = |offset| u64::from(libttsim_pci_config_rd32(0, offset));
    assert_eq!(word(0x10) & 0xF, 4, "64 bits wide");
    (word(0x10) & !0xF) | word(0x14) << 32
}

/// Points the first window of BAR 0 at a tile and an address range.
///
/// The layouts are from tt-isa-documentation. The first window has 1 MiB and 16 address bits on a
/// Wormhole, and 2 MiB and 43 address bits on a Blackhole.
fn aim(is_blackhole: bool, start: (u64, u64), end: (u64, u64), address: u64) {
    let (window_bits, address_bits) = if is_blackhole { (21, 43) } else { (20, 16) };
    let is_rectangle = u128::from(start != end);
    let coordinates = [end.0, end.1, start.0, start.1].into_iter().zip([0, 6, 12, 18]);
    let rest = coordinates.fold(0, |bits, (part, shift)| bits | u128::from(part) << shift);
    // Above the coordinates are the number of the NoC, here 0, and the flag for a rectangle.
    let rest = rest | is_rectangle << if is_blackhole { 26 } else { 25 };
    let word = u128::from(address >> window_bits) | rest << address_bits;
    let bytes = word.to_le_bytes();
    write(bar_0() + 0x1FC0_0000, &bytes[..if is_blackhole { 12 } else { 8 }]);
}

/// Returns the size of the first window in bytes.
const fn window_bytes(is_blackhole: bool) -> u64 {
    if is_blackhole { 2 << 20 } else { 1 << 20 }
}

/// Returns the first two worker tiles of a row, in the coordinates that a host uses.
fn workers(is_blackhole: bool) -> [(u64, u64); 2] {
    if is_blackhole { [(1, 2), (2, 2)] } else { [(18, 18), (19, 18)] }
}

/// Runs a session; the tests start it in a separate process.
#[test]
#[ignore = "the other tests run it in a process of its own"]
fn session() {
    let is_blackhole = env::var("KPROF_CHIP_ARCH").unwrap() == "blackhole";
    let part = env::var("SESSION_PART").unwrap();
    libttsim_init();
    match part.as_str() {
        "memory" => memory(is_blackhole),
        "program" => program(is_blackhole),
        part => panic!("{part}"),
    }
}

fn memory(is_blackhole: bool) {
    let device = if is_blackhole { 0xB140 } else { 0x401E };
    assert_eq!(libttsim_pci_config_rd32(0, 0), device << 16 | 0x1E52);
    assert_eq!(libttsim_pci_config_rd32(8, 0), u32::MAX, "there is one chip");
    let [first, second] = workers(is_blackhole);
    let bytes: Vec<u8> = (0..300_u32).map(|index| (index * 7 % 253) as u8).collect();
    aim(is_blackhole, first, first, 0);
    write(bar_0() + 0x1003, &bytes);
    assert_eq!(read(bar_0() + 0x1003, 300), bytes);
    aim(is_blackhole, second, second, 0);
    assert_eq!(read(bar_0() + 0x1003, 300), [0; 300], "another tile's memory");
    // Writes to both tiles at once.
    aim(is_blackhole, first, second, 0);
    write(bar_0() + 0x4_0000, &bytes[..64]);
    for tile in [first, second] {
        aim(is_blackhole, tile, tile, 0);
        assert_eq!(read(bar_0() + 0x4_0000, 64), bytes[..64]);
    }
    // Accesses to addresses without a tile, without a register, and outside the BARs.
    aim(is_blackhole, (60, 60), (60, 60), 0);
    assert_eq!(read(bar_0(), 4), [0xFF; 4]);
    let window = window_bytes(is_blackhole) - 1;
    aim(is_blackhole, first, first, 0xFFB1_F000);
    assert_eq!(read(bar_0() + (0xFFB1_F000 & window), 4), [0xFF; 4]);
    assert_eq!(read(0x10, 4), [0xFF; 4]);
    libttsim_exit();
}

/// BRISC stores a count to 0x8000, then reads an address without a register.
///
/// `lui a0, 8; addi a1, zero, 42; sw a1, 0(a0); addi a1, a1, 1; sw a1, 4(a0); lui a2, 0xFFB1F;
/// lw a3, 0(a2)`.
const CODE: [u32; 7] =
    [0x0000_8537, 0x02A0_0593, 0x00B5_2023, 0x0015_8593, 0x00B5_2223, 0xFFB1_F637, 0x0006_2683];

fn program(is_blackhole: bool) {
    let [tile, _] = workers(is_blackhole);
    aim(is_blackhole, tile, tile, 0);
    let code: Vec<u8> = CODE.iter().flat_map(|word| word.to_le_bytes()).collect();
    write(bar_0(), &code);
    libttsim_clock(1000);
    assert_eq!(read(bar_0() + 0x8000, 4), [0; 4], "a RISC in reset does nothing");
    aim(is_blackhole, tile, tile, 0xFFB1_21B0);
    let window = window_bytes(is_blackhole) - 1;
    // All RISCs except BRISC stay in reset.
    write(bar_0() + (0xFFB1_21B0 & window), &0x4_7000_u32.to_le_bytes());
    libttsim_clock(1000);
    aim(is_blackhole, tile, tile, 0);
    assert_eq!(read(bar_0() + 0x8000, 8), [42, 0, 0, 0, 43, 0, 0, 0]);
    // The host does not call libttsim_exit; the end of the process writes the stores nevertheless.
}

fn run(arch: &str, part: &str, stores: Option<&std::path::Path>) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "session", "--ignored", "--nocapture"]);
    command.env("KPROF_CHIP_ARCH", arch).env("SESSION_PART", part);
    if let Some(path) = stores {
        command.env("KPROF_CHIP_STORES", path).env("KPROF_CHIP_STORE_RANGE", "0x8000-0x8008");
    }
    command.output().unwrap()
}

#[test]
fn windows_reach_memories_and_refuse_what_is_not_there() {
    for arch in ARCHITECTURES {
        let output = run(arch, "memory", None);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arch}: {told}");
        let sentences: Vec<_> =
            told.lines().filter(|line| line.starts_with("kprof simulator: a read")).collect();
        let expected = ["no tile at (60,60)", "no register at", "no BAR answers"];
        assert_eq!(sentences.len(), expected.len(), "{arch}: {told}");
        for (sentence, expected) in sentences.iter().zip(expected) {
            assert!(sentence.contains(expected), "{arch}: {sentence}");
        }
    }
}

#[test]
fn a_program_runs_its_stores_are_kept_and_its_stop_is_told() {
    for arch in ARCHITECTURES {
        let path = env::temp_dir().join(format!("kprof-stores-{arch}-{}.csv", std::process::id()));
        let output = run(arch, "program", Some(&path));
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arch}: {told}");
        assert!(told.contains("BRISC of core"), "{arch}: {told}");
        assert!(told.contains("pc 0x18") && told.contains("0xffb1f000"), "{arch}: {told}");
        let text = fs::read_to_string(&path).unwrap();
        let _ = fs::remove_file(&path);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows[0], ["x", "y", "risc", "time_cycles", "address", "value"]);
        let tile = if arch == "blackhole" { ["1", "2"] } else { ["1", "1"] };
        let found: Vec<_> =
            rows[1..].iter().map(|row| (row[..3].to_vec(), row[4], row[5])).collect();
        let brisc_fields = [tile[0], tile[1], "0"].to_vec();
        let expected = [(brisc_fields.clone(), "32768", "42"), (brisc_fields, "32772", "43")];
        assert_eq!(found, expected, "{arch}");
        let time = |row: &Vec<&str>| row[3].parse::<u64>().unwrap();
        assert!(time(&rows[2]) > time(&rows[1]), "{arch}: {text}");
    }
}
