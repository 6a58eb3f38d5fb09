//! Tests all firmware files of the `ttnn` package. Without the variable `KPROF_TTNN`, no files are
//! tested.

#![cfg(feature = "firmware-elf")]
#![expect(clippy::unwrap_used, reason = "a panic is the report")]

use reader::{
    architecture::Arch,
    firmware_elf::{debug_info::DebugInfo, profiler::ProfilerMemory, tables::TableSizes},
};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

/// Returns the folders of the package's 64 sets of firmware files; no folders if `KPROF_TTNN` is
/// not set.
///
/// In a CI run, `KPROF_TTNN` must be set.
fn sets() -> Vec<PathBuf> {
    let Some(package) = env::var_os("KPROF_TTNN") else {
        assert!(env::var_os("CI").is_none(), "KPROF_TTNN must name the package in CI");
        return Vec::new();
    };
    let sets = fs::read_dir(Path::new(&package).join("tt_metal/pre-compiled")).unwrap();
    sets.map(|set| set.unwrap().path()).collect()
}

fn file(set: &Path, processor: &str) -> Vec<u8> {
    fs::read(set.join(processor).join(format!("{processor}.elf"))).unwrap()
}

/// For each architecture and processor: address of the control vector, size of the profiler member
/// in bytes, number of processors, and number of sets.
///
/// The sizes equal `sizeof(profiler_msg_t)` with 5, 2 and 1 processors. Two sources confirm the
/// addresses on Wormhole: a loader that boots these files on Tenstorrent's simulator, and the
/// mailbox bases in `dev_mem_map.h`.
const EXPECTED: [(&str, &str, u64, u64, u64, usize); 17] = [
    ("blackhole", "active_erisc", 0xA10, 4352, 2, 36),
    ("blackhole", "brisc", 0xBE0, 10_496, 5, 36),
    ("blackhole", "drisc", 0x890, 2304, 1, 36),
    ("blackhole", "idle_erisc", 0xA10, 4352, 2, 36),
    ("blackhole", "ncrisc", 0xBE0, 10_496, 5, 36),
    ("blackhole", "subordinate_active_erisc", 0xA10, 4352, 2, 36),
    ("blackhole", "subordinate_idle_erisc", 0xA10, 4352, 2, 36),
    ("blackhole", "trisc0", 0xBE0, 10_496, 5, 36),
    ("blackhole", "trisc1", 0xBE0, 10_496, 5, 36),
    ("blackhole", "trisc2", 0xBE0, 10_496, 5, 36),
    ("wormhole", "brisc", 0xB10, 10_496, 5, 28),
    ("wormhole", "erisc", 0x3_E520, 2304, 1, 28),
    ("wormhole", "idle_erisc", 0x27D0, 2304, 1, 28),
    ("wormhole", "ncrisc", 0xB10, 10_496, 5, 28),
    ("wormhole", "trisc0", 0xB10, 10_496, 5, 28),
    ("wormhole", "trisc1", 0xB10, 10_496, 5, 28),
    ("wormhole", "trisc2", 0xB10, 10_496, 5, 28),
];

#[test]
fn every_processor_of_all_sets_tells_where_its_profiler_lies() {
    let sets = sets();
    if sets.is_empty() {
        return;
    }
    assert_eq!(sets.len(), 64);
    let mut found = BTreeMap::new();
    for set in &sets {
        let chip = if set.join("drisc").is_dir() { "blackhole" } else { "wormhole" };
        for folder in fs::read_dir(set).unwrap() {
            let name = folder.unwrap().file_name().into_string().unwrap();
            let info = DebugInfo::parse(&file(set, &name)).unwrap();
            let memory = ProfilerMemory::from_debug_info(&info).unwrap();
            assert_eq!(memory.control_bytes, 4 * 64);
            assert_eq!(memory.vector_bytes, 4 * 512);
            assert_eq!(memory.vector_address(), memory.control_address + 256);
            assert_eq!(memory.end(), memory.control_address + memory.size_bytes);
            let shape = (memory.control_address, memory.size_bytes, memory.processor_count());
            *found.entry((chip.to_owned(), name, shape)).or_insert(0) += 1;
        }
    }
    let expected = EXPECTED.map(|(chip, name, address, size_bytes, processors, count)| {
        ((chip.to_owned(), name.to_owned(), (address, size_bytes, processors)), count)
    });
    assert_eq!(found, BTreeMap::from(expected));
}

#[test]
fn tables_of_every_set_tell_its_chip() {
    for set in sets() {
        let sizes = TableSizes::from_file(&file(&set, "brisc")).unwrap();
        let is_blackhole = set.join("drisc").is_dir();
        let arch = if is_blackhole { Arch::Blackhole } else { Arch::WormholeB0 };
        assert_eq!(sizes.arch(), Some(arch));
        let banks: &[usize] = if is_blackhole { &[7, 8] } else { &[12] };
        assert!(banks.contains(&sizes.dram_bank_count), "{sizes:?}");
    }
}

#[test]
fn a_file_without_mailboxes_names_what_is_missing() {
    let Some(set) = sets().into_iter().next() else { return };
    // The firmware file of TRISC1 lacks the tables that BRISC's firmware has.
    let error = TableSizes::from_file(&file(&set, "trisc1")).unwrap_err();
    assert!(error.to_string().contains("no symbol `dram_bank_to_noc_xy`"), "{error}");
}
