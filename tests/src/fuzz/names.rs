//! Checks of the readers of zone names, in logs and in ELF files.

use super::check_anomalies;
use host_reader::{
    names::ZoneTable,
    zone_names::{NameAge, ZoneNames, write_zone_log},
};
use std::collections::BTreeSet;

/// Reads bytes as a zone log.
///
/// # Panics
/// If there are more names than the bytes can hold, or if a written log reads back differently.
pub fn zone_log(data: &[u8]) {
    let (zones, added) = read_log(data);
    assert!(added <= data.len() / SHORTEST_TEXT_BYTES, "{added} names");
    check_written(&zones);
}

/// Reads bytes as a kernel's ELF.
///
/// # Panics
/// In the same cases as [`zone_log`]. Sections may overlap, so a byte may count once per section.
pub fn elf_names(data: &[u8]) {
    let mut names = ZoneNames::new();
    let added = names.add_elf("fuzz.elf", data).unwrap_or(0);
    let (zones, anomalies) = names.finish();
    check_anomalies(&anomalies);
    assert!(added <= data.len() * (1 + data.len() / SECTION_HEADER_BYTES), "{added} names");
    assert!(zones.places().count() <= added);
    check_written(&zones);
}

/// Length of the shortest zone text, `,,0,KERNEL_PROFILER`, in bytes.
const SHORTEST_TEXT_BYTES: usize = 19;
/// Size of a section header in a 32-bit ELF, in bytes.
const SECTION_HEADER_BYTES: usize = 40;

fn read_log(data: &[u8]) -> (ZoneTable, usize) {
    let mut names = ZoneNames::new();
    let added = names.add_log("fuzz.log", NameAge::AnyBuild, data);
    let added = added.unwrap_or_else(|error| panic!("reading memory failed: {error}"));
    let (zones, anomalies) = names.finish();
    check_anomalies(&anomalies);
    let place_count = zones.places().count();
    assert!(place_count <= added, "{place_count} places of {added} texts");
    (zones, added)
}

/// Checks that every zone is written or reported as omitted, and that the written zones are read
/// back.
fn check_written(zones: &ZoneTable) {
    let mut log = Vec::new();
    let report = write_zone_log(zones, &mut log);
    let report = report.unwrap_or_else(|error| panic!("writing to memory failed: {error}"));
    assert_eq!(report.written_count + report.left_out.len(), zones.places().count());
    let (again, _) = read_log(&log);
    let known: BTreeSet<_> = zones.places().collect();
    assert!(again.places().all(|place| known.contains(&place)), "a name that nobody gave");
    assert_eq!(again.places().count(), report.written_count, "names read back");
}
