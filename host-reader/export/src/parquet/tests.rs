use super::*;
use crate::TraceHost;
use ::tables::Value;
use host_events::{HostColor, HostEvent, HostEventKind, HostRecording, HostSource, HostThread};
use reader::{
    lane::LaneId,
    ledger::{LossCause, LossKey, LossTotals},
    mesh::Noc0Coord,
    readout::Readout,
};
use recording::{Recording, TraceFilter, device_log::read_device_log};
use reports::report::BufferPeaks;
use std::{
    convert::Infallible,
    path::{Path, PathBuf},
};
use wire::Risc;

pub(super) const LOG: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
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
    let recording = Recording::from_readout(readout.clone());
    let trace = Trace::new(&recording, &TraceFilter::default());
    let key = RecordingKey { host: "a/b", recording: "rec 1" };
    write_as(folder, key, &trace, cancel)
}

fn write_as(
    folder: &Path,
    key: RecordingKey<'_>,
    trace: &Trace<'_>,
    cancel: &CancelFlag,
) -> Result<DatasetCounts, WriteError> {
    write_to(&folder.into(), key, trace, cancel, DeltaLogs::Continue)
}

fn write_to(
    dataset: &DatasetLocation,
    key: RecordingKey<'_>,
    trace: &Trace<'_>,
    cancel: &CancelFlag,
    logs: DeltaLogs,
) -> Result<DatasetCounts, WriteError> {
    let date = NaiveDate::from_ymd_opt(2026, 11, 25);
    let file = format!("{} {}", key.host, key.recording);
    let labels = DatasetLabels { date, run: "run 1".to_owned(), file, has_one_recording: true };
    let dataset = ParquetDataset::new(dataset, labels, cancel).unwrap();
    let mut dataset = dataset.with_delta_logs(logs);
    dataset.add(&AddedRecording { key, machine: None, trace, ops_csv: None, memory: None })?;
    dataset.finish()
}

/// Returns the files below a folder, with relative paths.
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
        DatasetCounts { files: 4, zones: 2, ops: 1, losses: 1, ..DatasetCounts::default() };
    assert_eq!(counts, expected);
    let file = "date=2026-11-25/run=run%201/a%2Fb%20rec%201~0.parquet";
    let expected = ["losses", "ops", "recordings", "zones"].map(|table| format!("{table}/{file}"));
    assert_eq!(files(folder.path()), expected);
    let lost =
        rows_of(&folder.path().join(format!("losses/{file}")), &["host", "chip_id", "zones"]);
    assert_eq!(lost, ["a/b|5|25"]);
}

/// Returns the cells of some columns in all rows of a file, as text.
pub(super) fn rows_of(path: &Path, names: &[&str]) -> Vec<String> {
    let dataset = DatasetLocation::from(path.parent().unwrap());
    let path = path.file_name().unwrap().to_str().unwrap();
    let file = read::TableFile::open(&dataset, path).unwrap();
    let columns: Vec<_> = names
        .iter()
        .map(|name| file.columns.iter().find(|column| column.name == *name).unwrap().clone())
        .collect();
    let mut rows = Vec::new();
    read::for_each_row(&dataset, path, &columns, |row| {
        rows.push(row.iter().map(shown_value).collect::<Vec<_>>().join("|"));
    })
    .unwrap();
    rows
}

fn shown_value(value: &Value<'_>) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Text(text) => text.to_string(),
        value => serde_json::to_string(value).unwrap(),
    }
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
    let labels = DatasetLabels { file: "file".to_owned(), ..DatasetLabels::default() };
    let refused =
        ParquetDataset::new(&Path::new("x").into(), labels, &CancelFlag::default()).err().unwrap();
    assert_eq!(refused.to_string(), "expected the name of a run, found an empty text");
}

/// Returns the cells of a row after the column `host`, as text. Missing cells are `-`.
fn shown<T: Table>(row: &T::Row<'_>) -> String {
    let columns = T::COLUMNS.iter().filter(|column| column.schema.name != "host");
    let cells: Vec<String> = columns.map(|column| shown_value(&column.value(row))).collect();
    cells.join("|")
}

const RUN: RecordingKey<'static> = RecordingKey { host: "node", recording: "run" };

fn host_rows<T: HostTable>(host: &TraceHost<'_>, peaks: &BufferPeaks) -> Vec<String> {
    let mut rows = Vec::new();
    let host = HostRows { host, peaks, recording: RUN };
    let Ok(()) = T::for_each_row::<Infallible>(host, |row| {
        rows.push(shown::<T>(row));
        Ok(())
    });
    rows
}

fn device_rows<T: DeviceTable>(trace: &Trace<'_>) -> Vec<String> {
    let mut rows = Vec::new();
    let device = DeviceRows { trace, device: &trace.devices[0], first_op: 0, recording: RUN };
    let Ok(()) = T::for_each_row::<Infallible>(device, |row| {
        rows.push(shown::<T>(row));
        Ok(())
    });
    rows
}

#[test]
fn tables_of_the_host_are_there_without_a_file() {
    let event = |source, time_ns, kind, text: Option<&str>, rgb: Option<u32>| HostEvent {
        source,
        time_ns,
        kind,
        text: text.map(Into::into),
        color: rgb.and_then(HostColor::from_rgb),
    };
    let zone = |end_ns, depth| HostEventKind::Zone { end_ns, depth };
    let thread = |number, name: &str, events| HostThread {
        number,
        name: name.to_owned(),
        events,
        ..HostThread::default()
    };
    let main_events = vec![
        event(1, 120, zone(150, 1), None, Some(0x00_FF00)),
        event(0, 100, zone(200, 0), Some("id:7"), None),
        event(4, 160, HostEventKind::Message, Some("half"), Some(0xFF_0000)),
        event(2, 170, HostEventKind::Signpost, None, None),
    ];
    let other_events = vec![
        event(3, 200, HostEventKind::FrameMark, None, None),
        event(5, 110, HostEventKind::Plot { value: 4096.0 }, Some("0x1f000"), None),
        event(5, 180, HostEventKind::Plot { value: 1024.0 }, None, None),
    ];
    let host = HostRecording {
        process_id: u32::MAX,
        sources: vec![
            HostSource::new("outer", "run", "a.py", 3),
            HostSource::new("inner", "", "", 0),
            HostSource::new("warm", "", "", 0),
            HostSource::new("token", "", "", 0),
            HostSource::new("", "run", "a.py", 5),
            HostSource::new("Device 1 L1", "", "", 0),
        ],
        threads: vec![thread(1, "main", main_events), thread(2, "", other_events)],
        ..HostRecording::default()
    };
    let recording = Recording { host: vec![host], ..Recording::from_readout(Readout::default()) };
    let host = TraceHost::from_recording(&recording);
    // The recording has no clock samples that relate the host's clock to the chips, so the first
    // event is at 0.
    assert_eq!(
        host_rows::<HostZones>(&host, &BufferPeaks::default()),
        [
            "run|4294967295|1|main|outer|run|a.py|3|0|0|100|70|100|id:7|false|-",
            "run|4294967295|1|main|inner|-|-|-|1|20|30|30|120|-|false|#00ff00",
        ]
    );
    assert_eq!(
        host_rows::<HostEvents>(&host, &BufferPeaks::default()),
        [
            "run|4294967295|1|main|message|-|run|a.py|5|60|160|-|half|#ff0000",
            "run|4294967295|1|main|signpost|warm|-|-|-|70|170|-|-|-",
            "run|4294967295|2|-|frame|token|-|-|-|100|200|-|-|-",
            "run|-|-|-|plot|Device 1 L1|-|-|-|10|110|4096.0|-|-",
            "run|-|-|-|plot|Device 1 L1|-|-|-|80|180|1024.0|-|-",
        ]
    );
    assert_eq!(
        host_rows::<Buffers>(&host, &BufferPeaks::default()),
        ["run|1|L1|10|110|4096|4096|126976", "run|1|L1|80|180|-3072|1024|-"]
    );
    let empty = Recording::from_readout(Readout::default());
    let empty = TraceHost::from_recording(&empty);
    assert!(host_rows::<HostEvents>(&empty, &BufferPeaks::default()).is_empty());
}

#[test]
fn waits_in_tt_metals_zones_have_the_keys_within_them() {
    // At cycle 400 one wait ends and the next begins; the last wait has no end.
    let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
0,1,2,BRISC,8,200,0,1024,SYNC-CB-WAIT,ZONE_START
0,1,2,BRISC,9,210,7,1024,SYNC-CB-WAIT-KEY,TS_DATA
0,1,2,BRISC,8,400,0,1024,SYNC-CB-WAIT,ZONE_END
0,1,2,BRISC,8,400,0,1024,SYNC-CB-WAIT,ZONE_START
0,1,2,BRISC,9,402,7,1024,SYNC-CB-WAIT-KEY,TS_DATA
0,1,2,BRISC,8,404,0,1024,SYNC-CB-WAIT,ZONE_END
0,1,2,BRISC,10,500,0,1024,SYNC-SEM-WAIT,ZONE_START
0,1,2,BRISC,11,510,589824,1024,SYNC-SEM-WAIT-KEY,TS_DATA
0,1,2,BRISC,10,540,0,1024,SYNC-SEM-WAIT,ZONE_END
0,1,2,BRISC,12,560,0,1024,PROFILER-DRAM-STALL,ZONE_START
0,1,2,BRISC,12,590,0,1024,PROFILER-DRAM-STALL,ZONE_END
0,1,2,BRISC,7,600,0,1024,BRISC-KERNEL,ZONE_END
0,1,2,NCRISC,7,600,0,1024,NCRISC-KERNEL,ZONE_START
0,1,2,NCRISC,12,610,0,1024,PROFILER-DRAM-STALL,ZONE_START
0,1,2,NCRISC,12,680,0,1024,PROFILER-DRAM-STALL,ZONE_END
0,1,2,NCRISC,12,681,0,1024,PROFILER-DRAM-STALL,ZONE_START
0,1,2,NCRISC,12,682,0,1024,PROFILER-DRAM-STALL,ZONE_END
0,1,2,NCRISC,10,690,0,1024,SYNC-SEM-WAIT,ZONE_START
0,1,2,NCRISC,11,691,589824,1024,SYNC-SEM-WAIT-KEY,TS_DATA
0,1,2,NCRISC,7,700,0,1024,NCRISC-KERNEL,ZONE_END
";
    let recording = Recording::from_readout(read_device_log(log.as_bytes(), "log").unwrap());
    let trace = Trace::new(&recording, &TraceFilter::default());
    assert_eq!(
        device_rows::<Waits>(&trace),
        [
            "run|0|1|2|BRISC|0|1024|CB_WAIT|circular buffer|7|200|200|200|400|-|-|false",
            "run|0|1|2|BRISC|0|1024|CB_WAIT|circular buffer|7|400|4|600|8|-|-|false",
            "run|0|1|2|BRISC|0|1024|SEM_WAIT|semaphore|589824|500|40|800|80|-|-|false",
        ]
    );
    assert_eq!(
        device_rows::<WaitSums>(&trace),
        [
            "run|0|1|2|BRISC|0|1024|CB_WAIT|circular buffer|7|2|204|false|false",
            "run|0|1|2|BRISC|0|1024|SEM_WAIT|semaphore|589824|1|40|false|false",
        ]
    );
    assert_eq!(
        device_rows::<ProfilerTime>(&trace),
        ["run|0|1|2|BRISC|wait for the host|1|30|30", "run|0|1|2|NCRISC|wait for the host|2|71|70",]
    );
    let waits = analysis::Report::new(&recording.readout).waits;
    let row = |of: &analysis::WaitStatistics| {
        (of.risc.label(), of.key, of.count, of.core_count, of.total_ns, of.median_cycles, of.max_ns)
    };
    assert_eq!(
        waits.iter().map(row).collect::<Vec<_>>(),
        [
            ("BRISC", 7, 2, 1, Some(408), Some(102), Some(400)),
            ("BRISC", 589_824, 1, 1, Some(80), Some(40), Some(80)),
        ]
    );
}

#[test]
fn peaks_of_buffers_are_rows_by_op_and_memory() {
    use host_events::BufferPool;
    use reports::report::OpPeaks;
    let pool = |kind| BufferPool { device_id: 3, kind };
    let op = |run_host_id, name: Option<&str>, peaks| OpPeaks {
        device_id: 3,
        run_host_id,
        name: name.map(Into::into),
        peaks,
    };
    let ops = vec![
        op(1027, Some("Matmul"), vec![(pool("DRAM"), 1 << 33), (pool("L1"), 2048)]),
        op(1 << 40, None, vec![(pool("L1"), 0)]),
        op(3075, Some("Add"), Vec::new()),
    ];
    let peaks = BufferPeaks { pools: Vec::new(), ops };
    assert_eq!(
        host_rows::<OpBuffers>(&TraceHost::default(), &peaks),
        ["run|3|1027|Matmul|DRAM|8589934592", "run|3|1027|Matmul|L1|2048", "run|3|-|-|L1|0",]
    );
}

/// Returns the readout of a host on which a chip ran a kernel of `cycles` cycles.
pub(super) fn log_of(cycles: u64) -> Readout {
    let text = LOG.replace(",160,", &format!(",{},", 100 + cycles));
    read_device_log(text.as_bytes(), "log").unwrap()
}

fn add(folder: &Path, host: &str, readout: Readout) -> Result<DatasetCounts, WriteError> {
    add_to(&folder.into(), host, readout, DeltaLogs::Continue)
}

/// Adds a recording of a host to a dataset.
pub(super) fn add_to(
    dataset: &DatasetLocation,
    host: &str,
    readout: Readout,
    logs: DeltaLogs,
) -> Result<DatasetCounts, WriteError> {
    let recording = Recording::from_readout(readout);
    let trace = Trace::new(&recording, &TraceFilter::default());
    let key = RecordingKey { host, recording: "rec" };
    write_to(dataset, key, &trace, &CancelFlag::default(), logs)
}

#[test]
fn many_short_files_become_one_with_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut expected, mut lost) = (Vec::new(), Vec::new());
    for host in 0..40_u64 {
        let mut readout = log_of(100 + host);
        if host % 3 == 0 {
            let core = Noc0Coord { x: 1, y: 1 };
            let lane = LaneId { chip_id: 0, core, risc: Risc::Brisc };
            let key = LossKey { lane, cause: LossCause::L1Full, program: None };
            readout.losses.record(key, LossTotals { zones: host + 1, ..LossTotals::default() });
            lost.push(format!("host{host:02}|{}", host + 1));
        }
        let host_name = format!("host{host:02}");
        add(folder, &host_name, readout).unwrap();
        expected.push(format!("{host_name}|BRISC-KERNEL|{}|{}", 100 + host, 60 + host));
        expected.push(format!("{host_name}|LOAD|40|40"));
    }
    let counts = compact(&folder.into(), DeltaLogs::Continue, &CancelFlag::default()).unwrap();
    assert_eq!((counts.files_before, counts.files), (40 * 3 + 14, 4));
    assert_eq!(counts.rewritten_rows, 40 * (2 + 1 + 1) + 14);
    assert!(counts.bytes < counts.bytes_before, "{counts:?}");
    let partition = "date=2026-11-25/run=run%201/compacted-0.parquet";
    let file = |table: &str| folder.join(table).join(partition);
    let zones = ["host", "name", "duration_cycles", "self_cycles"];
    assert_eq!(rows_of(&file("zones"), &zones), expected);
    assert_eq!(rows_of(&file("losses"), &["host", "zones"]), lost);

    // A second compaction has no effect.
    let again = compact(&folder.into(), DeltaLogs::Continue, &CancelFlag::default()).unwrap();
    assert_eq!((again.files_before, again.files, again.rewritten_rows), (4, 4, 0));

    // The same recording is refused, because its rows would exist twice. Another recording is
    // added.
    let refused = add(folder, "host07", log_of(1)).unwrap_err().to_string();
    assert!(
        refused.contains("`rec` of host `host07`") && refused.contains("kprof compact"),
        "{refused}"
    );
    assert_eq!(files(folder).len(), 4);
    add(folder, "host99", log_of(1)).unwrap();
    let counts = compact(&folder.into(), DeltaLogs::Continue, &CancelFlag::default()).unwrap();
    assert_eq!((counts.files_before, counts.files), (7, 4));
    expected.push("host99|BRISC-KERNEL|1|1".to_owned());
    let found =
        rows_of(&folder.join("zones/date=2026-11-25/run=run%201/compacted-1.parquet"), &zones);
    assert_eq!(found.len(), 82);
    assert_eq!(found[..80], expected[..80]);
}

#[test]
fn a_compaction_that_was_interrupted_leaves_no_row_twice() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for host in ["a", "b", "c"] {
        add(folder, host, log_of(7)).unwrap();
    }
    let before: Vec<(PathBuf, Vec<u8>)> = files(folder)
        .into_iter()
        .map(|file| (folder.join(&file), std::fs::read(folder.join(&file)).unwrap()))
        .collect();
    compact(&folder.into(), DeltaLogs::Continue, &CancelFlag::default()).unwrap();
    // Restores the source files, as if the compaction had been interrupted before removing them.
    for (path, bytes) in &before {
        std::fs::write(path, bytes).unwrap();
    }
    let counts = compact(&folder.into(), DeltaLogs::Continue, &CancelFlag::default()).unwrap();
    assert_eq!((counts.files, counts.rewritten_rows), (3, 0));
    let partition = folder.join("zones/date=2026-11-25/run=run%201");
    let zones = partition.join("compacted-0.parquet");
    assert_eq!(rows_of(&zones, &["host"]), ["a", "a", "b", "b", "c", "c"]);

    // The file of `b` gets the name of `a`'s removed source file. The file is not removed, because
    // its checksum differs.
    let own = partition.join("a%20rec~0.parquet");
    let (_, other_bytes) =
        before.iter().find(|(path, _)| *path == partition.join("b%20rec~0.parquet")).unwrap();
    std::fs::write(&own, other_bytes).unwrap();
    compact(&folder.into(), DeltaLogs::Continue, &CancelFlag::default()).unwrap();
    let all = files(&partition);
    let [all] = &all[..] else { panic!("{all:?}") };
    assert_eq!(rows_of(&partition.join(all), &["host"]).len(), 8);
}

/// Files of a later version have an additional column, and files of an earlier version lack a
/// column.
#[test]
fn columns_that_some_files_lack_are_null_there() {
    use cells::FileColumn;
    let folder = tempfile::tempdir().unwrap();
    let partition = folder.path().join("zones/date=2026-11-25/run=r");
    std::fs::create_dir_all(&partition).unwrap();
    let column =
        |name: &str, kind, is_optional| FileColumn { name: name.to_owned(), kind, is_optional };
    use ::tables::ColumnKind::{Flag, Text, Unsigned64};
    let write = |name: &str, columns: &[FileColumn], values: Vec<Value<'_>>| {
        let out = std::fs::File::create(partition.join(name)).unwrap();
        let mut file = rows::RowFile::new(out, "zones", columns, &[], Vec::new()).unwrap();
        for (cells, value) in file.cells.iter_mut().zip(values) {
            cells.push(value).unwrap();
        }
        file.added(1).unwrap();
        file.finish().unwrap();
    };
    let old = [column("host", Text, false), column("cycles", Unsigned64, false)];
    let new = [
        column("host", Text, false),
        column("cycles", Unsigned64, true),
        column("is_new", Flag, false),
    ];
    write("a~r.parquet", &old, vec![Value::Text("a".into()), Value::Unsigned64(u64::MAX)]);
    write("b~r.parquet", &new, vec![Value::Text("b".into()), Value::Null, Value::Flag(true)]);
    compact(&folder.path().into(), DeltaLogs::Continue, &CancelFlag::default()).unwrap();
    let rows = rows_of(&partition.join("compacted-0.parquet"), &["host", "cycles", "is_new"]);
    assert_eq!(rows, [format!("a|{}|-", u64::MAX), "b|-|true".to_owned()]);

    let other = [column("host", Text, false), column("cycles", Text, false)];
    write("c~r.parquet", &other, vec![Value::Text("c".into()), Value::Text("many".into())]);
    let refused = compact(&folder.path().into(), DeltaLogs::Continue, &CancelFlag::default())
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("`cycles` is VARCHAR here") || refused.contains("VARCHAR in"),
        "{refused}"
    );
    assert_eq!(files(folder.path()).len(), 2, "nothing is lost");
    let none = compact(&partition.into(), DeltaLogs::Continue, &CancelFlag::default())
        .unwrap_err()
        .to_string();
    assert!(none.contains("expected a dataset"), "{none}");
}

/// Returns the cells of a column in all rows of a chip's table. Missing cells are `-`.
fn column_of_log<T: DeviceTable>(log: &str, title: &str) -> Vec<String> {
    let recording = Recording::from_readout(read_device_log(log.as_bytes(), "log").unwrap());
    let trace = Trace::new(&recording, &TraceFilter::default());
    let rows = DeviceRows { trace: &trace, device: &trace.devices[0], first_op: 0, recording: RUN };
    let column = T::column(title).unwrap();
    let mut cells = Vec::new();
    let Ok(()) = T::for_each_row::<Infallible>(rows, |row| {
        cells.push(shown_value(&column.value(row)));
        Ok(())
    });
    cells
}

#[test]
fn meta_data_of_a_log_are_those_of_their_zones_and_points() {
    // Two zones with the same name start at the same cycle.
    let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type,source line,source file,meta data
0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START,1,k.cc,
0,1,2,BRISC,8,110,0,1024,LOAD,ZONE_START,2,k.cc,{'workers_runtime_id': 5}
0,1,2,BRISC,9,120,7,1024,SIZE,TS_DATA,3,k.cc,{'a': 1; 'b': 2}
0,1,2,BRISC,9,121,8,1024,SIZE,TS_DATA,3,k.cc,
0,1,2,BRISC,8,150,0,1024,LOAD,ZONE_END,2,k.cc,{'cmd': 'x'}
0,1,2,BRISC,8,151,0,1024,LOAD,ZONE_START,2,k.cc,one
0,1,2,BRISC,8,151,0,1024,LOAD,ZONE_START,2,k.cc,other
0,1,2,BRISC,8,152,0,1024,LOAD,ZONE_END,2,k.cc,
0,1,2,BRISC,8,153,0,1024,LOAD,ZONE_END,2,k.cc,
0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END,1,k.cc,last
";
    let both = "one | other";
    assert_eq!(
        column_of_log::<Zones>(log, "meta_data"),
        ["-", "{'workers_runtime_id': 5}", both, both]
    );
    assert_eq!(column_of_log::<Zones>(log, "end_meta_data"), ["last", "{'cmd': 'x'}", "-", "-"]);
    assert_eq!(column_of_log::<Markers>(log, "text"), ["{'a': 1; 'b': 2}", "-"]);
}
