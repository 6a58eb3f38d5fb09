use super::*;
use device_log::read_device_log;
use reader::{
    lane::LaneId,
    ledger::{LossCause, LossKey, LossTotals},
    mesh::Noc0Coord,
    readout::Readout,
};
use recording::{Recording, TraceFilter};
use wire::Risc;

/// The page that explains the dataset to people.
const PAGE: &str = include_str!("../../../../docs/parquet.md");

#[test]
fn the_page_shows_every_column_with_its_type_and_meaning() {
    for table in DATASET_TABLES {
        let mut shown = format!(
            "## `{}`: {}\n\n| column | type | meaning |\n|---|---|---|\n",
            table.name, table.row
        );
        for column in table.columns {
            let may_be_null = if column.is_optional { ", may be null" } else { "" };
            let kind = column.kind.sql_label();
            shown += &format!("| `{}` | {kind}{may_be_null} | {} |\n", column.name, column.meaning);
        }
        assert!(PAGE.contains(&shown), "docs/parquet.md lacks or differs from:\n{shown}");
    }
}

const LOG: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
0,1,2,BRISC,8,110,0,1024,LOAD,ZONE_START
0,1,2,BRISC,8,150,0,1024,LOAD,ZONE_END
0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
";

fn write(
    folder: &Path,
    readout: &Readout,
    cancel: &CancelFlag,
) -> Result<DatasetCounts, WriteError> {
    let recording = Recording::of_readout(readout.clone());
    let trace = Trace::new(&recording, &TraceFilter::default());
    ParquetDataset::new(folder, "a/b", "run 1").unwrap().write(&trace, cancel, &mut |_| ())
}

/// Files below a folder, from there.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn odd_names_become_names_of_files_and_losses_of_absent_chips_are_there() {
    let mut readout = read_device_log(LOG.as_bytes(), "log").unwrap();
    let core = Noc0Coord { x: 1, y: 1 };
    let lane = LaneId { chip_id: 5, core, risc: Risc::Brisc };
    let key = LossKey { lane, cause: LossCause::L1Full, program: None };
    readout.losses.record(key, LossTotals { zones: 25, ..LossTotals::default() });
    let folder = tempfile::tempdir().unwrap();
    let counts = write(folder.path(), &readout, &CancelFlag::default()).unwrap();
    let expected =
        DatasetCounts { files: 10, zones: 2, ops: 1, losses: 1, ..DatasetCounts::default() };
    assert_eq!(counts, expected);
    assert_eq!(
        files(folder.path()),
        [
            "buffers/host=a%2Fb/run%201.parquet",
            "counters/host=a%2Fb/device=0/run%201.parquet",
            "host_events/host=a%2Fb/run%201.parquet",
            "host_zones/host=a%2Fb/run%201.parquet",
            "losses/host=a%2Fb/device=0/run%201.parquet",
            "losses/host=a%2Fb/device=5/run%201.parquet",
            "markers/host=a%2Fb/device=0/run%201.parquet",
            "noc_events/host=a%2Fb/device=0/run%201.parquet",
            "ops/host=a%2Fb/device=0/run%201.parquet",
            "zones/host=a%2Fb/device=0/run%201.parquet",
        ]
    );
}

#[test]
fn a_writing_that_is_called_off_leaves_neither_files_nor_folders() {
    let readout = read_device_log(LOG.as_bytes(), "log").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancelFlag::default();
    cancel.cancel();
    let error = write(&folder.path().join("dataset"), &readout, &cancel).unwrap_err();
    assert!(matches!(error, WriteError::Cancelled { .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn names_that_are_empty_are_refused() {
    let refused = ParquetDataset::new(Path::new("x"), "host", "").unwrap_err().to_string();
    assert_eq!(refused, "expected the name of a recording, found an empty text");
}
