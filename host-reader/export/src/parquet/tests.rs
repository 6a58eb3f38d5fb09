use super::{rows::file_columns, *};
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
use std::convert::Infallible;
use wire::Risc;

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
        DatasetCounts { files: 14, zones: 2, ops: 1, losses: 1, ..DatasetCounts::default() };
    assert_eq!(counts, expected);
    assert_eq!(
        files(folder.path()),
        [
            "buffers/host=a%2Fb/run%201.parquet",
            "counters/host=a%2Fb/chip_id=0/run%201.parquet",
            "host_events/host=a%2Fb/run%201.parquet",
            "host_zones/host=a%2Fb/run%201.parquet",
            "losses/host=a%2Fb/chip_id=0/run%201.parquet",
            "losses/host=a%2Fb/chip_id=5/run%201.parquet",
            "markers/host=a%2Fb/chip_id=0/run%201.parquet",
            "noc_events/host=a%2Fb/chip_id=0/run%201.parquet",
            "op_buffers/host=a%2Fb/run%201.parquet",
            "ops/host=a%2Fb/chip_id=0/run%201.parquet",
            "profiler_time/host=a%2Fb/chip_id=0/run%201.parquet",
            "wait_sums/host=a%2Fb/chip_id=0/run%201.parquet",
            "waits/host=a%2Fb/chip_id=0/run%201.parquet",
            "zones/host=a%2Fb/chip_id=0/run%201.parquet",
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

/// The cells of a row, as text; missing ones are `-`.
fn shown<T: Table>(row: &T::Row<'_>) -> String {
    let cells = file_columns::<T>().map(|column| match column.value(row) {
        Value::Null => "-".to_owned(),
        Value::Text(text) => text.into_owned(),
        value => serde_json::to_string(&value).unwrap(),
    });
    cells.collect::<Vec<_>>().join("|")
}

fn host_rows<T: HostTable>(host: &TraceHost<'_>, peaks: &BufferPeaks) -> Vec<String> {
    let mut rows = Vec::new();
    let host = HostRows { host, peaks, recording: "run" };
    let Ok(()) = T::for_each_row::<Infallible>(host, |row| {
        rows.push(shown::<T>(row));
        Ok(())
    });
    rows
}

fn device_rows<T: DeviceTable>(trace: &Trace<'_>) -> Vec<String> {
    let mut rows = Vec::new();
    let device = DeviceRows { trace, device: &trace.devices[0], recording: "run" };
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
    let of_main = vec![
        event(1, 120, zone(150, 1), None, Some(0x00_FF00)),
        event(0, 100, zone(200, 0), Some("id:7"), None),
        event(4, 160, HostEventKind::Message, Some("half"), Some(0xFF_0000)),
        event(2, 170, HostEventKind::Signpost, None, None),
    ];
    let of_other = vec![
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
        threads: vec![thread(1, "main", of_main), thread(2, "", of_other)],
        ..HostRecording::default()
    };
    let recording = Recording { host: vec![host], ..Recording::of_readout(Readout::default()) };
    let host = TraceHost::of_recording(&recording);
    // Nothing relates the clocks, so that the first event is at 0.
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
    let empty = Recording::of_readout(Readout::default());
    let empty = TraceHost::of_recording(&empty);
    assert!(host_rows::<HostEvents>(&empty, &BufferPeaks::default()).is_empty());
}

#[test]
fn waits_in_tt_metals_zones_have_the_keys_within_them() {
    // At cycle 400 one wait ends and the next begins; the last one has no end.
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
    let recording = Recording::of_readout(read_device_log(log.as_bytes(), "log").unwrap());
    let trace = Trace::new(&recording, &TraceFilter::default());
    assert_eq!(
        device_rows::<Waits>(&trace),
        [
            "run|1|2|BRISC|0|1024|CB_WAIT|circular buffer|7|200|200|200|400|-|-|false",
            "run|1|2|BRISC|0|1024|CB_WAIT|circular buffer|7|400|4|600|8|-|-|false",
            "run|1|2|BRISC|0|1024|SEM_WAIT|semaphore|589824|500|40|800|80|-|-|false",
        ]
    );
    assert_eq!(
        device_rows::<WaitSums>(&trace),
        [
            "run|1|2|BRISC|0|1024|CB_WAIT|circular buffer|7|2|204|false|false",
            "run|1|2|BRISC|0|1024|SEM_WAIT|semaphore|589824|1|40|false|false",
        ]
    );
    assert_eq!(
        device_rows::<ProfilerTime>(&trace),
        ["run|1|2|BRISC|wait for the host|1|30|30", "run|1|2|NCRISC|wait for the host|2|71|70",]
    );
    let waits = analysis::wait_statistics(&recording.readout);
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

/// The cells of a column in all rows of a chip's table; missing ones are `-`.
fn column_of_log<T: DeviceTable>(log: &str, title: &str) -> Vec<String> {
    let recording = Recording::of_readout(read_device_log(log.as_bytes(), "log").unwrap());
    let trace = Trace::new(&recording, &TraceFilter::default());
    let rows = DeviceRows { trace: &trace, device: &trace.devices[0], recording: "r" };
    let at = file_columns::<T>().position(|column| column.schema.name == title).unwrap();
    let mut cells = Vec::new();
    let written = T::for_each_row(rows, |row| {
        let value = file_columns::<T>().nth(at).unwrap().value(row);
        cells.push(match value {
            Value::Text(text) => text.into_owned(),
            _ => "-".to_owned(),
        });
        Ok::<_, Infallible>(())
    });
    written.unwrap();
    cells
}

#[test]
fn meta_data_of_a_log_are_those_of_their_zones_and_points() {
    // Two zones of one name start together.
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
