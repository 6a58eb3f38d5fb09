//! Checks zone ids in logs of real chips: the id in a line is the hash of the text in the same
//! line.

#![allow(clippy::unwrap_used, reason = "a panic is how a test reports")]

use host_reader::{
    lane::ZoneIndex,
    names::ZoneSource,
    zone_names::{NameAge, ZoneNames, write_zone_log},
};
use std::{collections::BTreeSet, path::PathBuf};

const CAPTURES: [&str; 5] = [
    "blackhole-noc-256",
    "blackhole-noc-4096",
    "wormhole-counters-elw",
    "wormhole-noc-256",
    "wormhole-noc-4096",
];

/// Returns the id and source location of each zone in a device log.
fn zones_of(capture: &str) -> BTreeSet<(u16, ZoneSource)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("captures/mesham-tt-sim");
    let log = std::fs::read_to_string(folder.join(capture).join("profile_log_device.csv")).unwrap();
    let zone = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let (name, file) = (fields[10].to_owned(), fields[13].to_owned());
        let line = fields[12].trim().parse().unwrap();
        (!name.is_empty()).then(|| (fields[4].parse().unwrap(), ZoneSource { name, file, line }))
    };
    log.lines().skip(2).filter_map(zone).collect()
}

#[test]
fn ids_of_silicon_captures_are_hashes_of_their_texts() {
    let mut checked = 0;
    for capture in CAPTURES {
        for (id, source) in zones_of(capture) {
            assert_eq!(source.id().0, id, "{capture}: {}", source.text());
            checked += 1;
        }
    }
    assert_eq!(checked, 22);
}

#[test]
fn a_log_of_the_captured_zones_names_every_captured_id() {
    for capture in CAPTURES {
        let zones = zones_of(capture);
        let line = |(_, source): &(u16, ZoneSource)| {
            let ZoneSource { file, line, .. } = source;
            format!("{file}:{line}:9: note: '#pragma message: {}'\n", source.text())
        };
        let log: String = zones.iter().map(line).collect();
        let mut names = ZoneNames::new();
        names.add_log(capture, NameAge::AnyBuild, log.as_bytes()).unwrap();
        let (table, anomalies) = names.finish();
        assert_eq!(anomalies.anomaly_count(), 0);
        for (id, source) in &zones {
            assert_eq!(table.sources(ZoneIndex(u32::from(*id))), std::slice::from_ref(source));
        }
        let report = write_zone_log(&table, &mut Vec::new()).unwrap();
        assert_eq!((report.written_count, report.left_out.len()), (zones.len(), 0));
    }
}
