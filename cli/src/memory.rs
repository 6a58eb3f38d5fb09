//! Memory limit for the packed records of a log, and the temporary file for records beyond it.

use clap::Args;
use host_reader::packed_bytes::PackedMemory;
use std::{
    env, fs,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

/// Option of commands that read a log lane by lane.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MemoryArgs {
    /// Memory for packed records of a device log, such as 500M or 4G. Records beyond this limit go
    /// to a temporary file in TMPDIR, else in /var/tmp. Default: 16M, or a quarter of the machine's
    /// memory if that is less.
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemorySize>,
}

impl MemoryArgs {
    /// Returns the memory for packed records, with the chosen or default limit.
    pub(crate) fn packed(self) -> Arc<PackedMemory> {
        let limit_bytes = self.memory.map_or_else(default_bytes, |size| size.0);
        PackedMemory::new(limit_bytes, &temporary_folder())
    }
}

/// Returns a store that keeps all bytes in a temporary file.
#[cfg(feature = "parquet")]
pub(crate) fn temporary_file() -> Arc<PackedMemory> {
    PackedMemory::new(0, &temporary_folder())
}

/// A number of bytes, parsed from text such as 500M.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemorySize(u64);

impl FromStr for MemorySize {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected a number of bytes, or one with K, M, G or T, as in 500M";
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit = text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase();
        let shift = match unit.strip_suffix("IB").or(unit.strip_suffix('B')).unwrap_or(&unit) {
            "" if unit != "IB" => 0,
            "K" => 10,
            "M" => 20,
            "G" => 30,
            "T" => 40,
            _ => return Err(EXPECTED),
        };
        let number: u64 = digits.parse().map_err(|_| EXPECTED)?;
        number.checked_mul(1 << shift).map(Self).ok_or("expected at most 16 million T")
    }
}

/// Default limit in bytes, except on machines with little memory. A larger limit makes commands
/// hardly faster.
const DEFAULT_BYTES: u64 = 16 << 20;

/// Returns the default limit: [`DEFAULT_BYTES`], but at most a quarter of the memory of the machine
/// or container.
fn default_bytes() -> u64 {
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = limits.into_iter().filter_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        text.trim().parse::<u64>().ok()
    });
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    limits.chain(machine).map(|bytes| bytes / 4).chain([DEFAULT_BYTES]).min().unwrap_or_default()
}

/// Returns the machine's total memory in bytes from the text of `/proc/meminfo`.
fn total_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the folder for the temporary file. `/tmp` is often in memory, but `/var/tmp` is not.
fn temporary_folder() -> PathBuf {
    const ON_DISK: &str = "/var/tmp";
    match env::var_os("TMPDIR") {
        Some(folder) if !folder.is_empty() => folder.into(),
        _ if Path::new(ON_DISK).is_dir() => ON_DISK.into(),
        _ => env::temp_dir(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_with_a_unit_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("3k", 3 << 10),
            ("500M", 500 << 20),
            ("4G", 4 << 30),
            ("4GB", 4 << 30),
            ("4GiB", 4 << 30),
            ("2T", 2 << 40),
            ("7B", 7),
        ] {
            assert_eq!(text.parse(), Ok(MemorySize(bytes)), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "4X", "4iB", "99999999999T", "4 G "] {
            assert!(text.parse::<MemorySize>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_memory_of_a_machine_is_read_in_bytes() {
        let text = "MemFree:   1 kB\nMemTotal:       24689764 kB\nSwapTotal: 0 kB\n";
        assert_eq!(total_of(text), Some(24_689_764 << 10));
        assert_eq!(total_of("MemFree: 1 kB\n"), None);
    }
}
