use super::{
    delta_file::encoded_path,
    delta_log::{Change, DeltaLog, DeltaLogs},
    delta_snapshot::Snapshot,
    location::DatasetLocation,
    tests::{LOG, add_to, log_of, rows_of},
};
use crate::{CancelFlag, compact};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

const PARTITION: &str = "date=2026-11-25/run=run%201";
/// Path of the partition's folder, as encoded in the URLs of a log.
const ENCODED: &str = "date=2026-11-25/run=run%25201";

/// Returns the commits of a table, each as a list of its actions.
fn commits(folder: &Path, table: &str) -> Vec<Vec<Value>> {
    let read = |version: u64| {
        let path = folder.join(format!("{table}/_delta_log/{version:020}.json"));
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    };
    (0..).map_while(read).collect()
}

/// Returns the paths and sizes of the files that a log has added and not removed. The protocol
/// defines these files as the files of the table.
fn table(folder: &Path, name: &str) -> BTreeMap<String, u64> {
    let mut live = BTreeMap::new();
    for action in commits(folder, name).into_iter().flatten() {
        if let Some(add) = action.get("add") {
            live.insert(add["path"].as_str().unwrap().to_owned(), add["size"].as_u64().unwrap());
        }
        if let Some(remove) = action.get("remove") {
            live.remove(remove["path"].as_str().unwrap());
        }
    }
    live
}

/// Returns the Parquet files of a table on disk, as paths in a log, with their sizes.
fn on_disk(folder: &Path, name: &str) -> BTreeMap<String, u64> {
    let partition = folder.join(name).join(PARTITION);
    let entries = std::fs::read_dir(partition).into_iter().flatten().flatten();
    entries
        .map(|entry| {
            let name = entry.file_name().to_str().unwrap().replace('%', "%25");
            (format!("{ENCODED}/{name}"), entry.metadata().unwrap().len())
        })
        .collect()
}

fn names(files: &BTreeMap<String, u64>) -> Vec<&str> {
    files.keys().map(|path| path.strip_prefix(ENCODED).unwrap()).collect()
}

fn add(folder: &Path, host: &str, cycles: u64, logs: DeltaLogs) {
    add_to(&folder.into(), host, log_of(cycles), logs).unwrap();
}

fn compact_all(folder: &Path, logs: DeltaLogs) {
    compact(&folder.into(), logs, &CancelFlag::default()).unwrap();
}

fn all_tables() -> Vec<&'static str> {
    let schemas = ::tables::schemas();
    let tables = schemas.iter().filter(|table| !table.partitions.is_empty());
    tables.map(|table| table.name).collect()
}

/// Returns the contents of all actions of one kind in a commit.
fn actions<'c>(commit: &'c [Value], kind: &str) -> Vec<&'c Value> {
    commit.iter().filter_map(|action| action.get(kind)).collect()
}

#[test]
fn a_log_has_the_columns_and_the_files_of_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    add(folder, "a/b", 60, DeltaLogs::Create);
    let commits = commits(folder, "zones");
    let [commit] = &commits[..] else { panic!("{commits:?}") };
    let [protocol] = actions(commit, "protocol")[..] else { panic!("{commit:?}") };
    assert_eq!(*protocol, json!({"minReaderVersion": 1, "minWriterVersion": 2}));
    let [metadata] = actions(commit, "metaData")[..] else { panic!("{commit:?}") };
    assert_eq!(metadata["name"], "zones");
    assert_eq!(metadata["partitionColumns"], json!(["date", "run"]));
    assert_eq!(metadata["configuration"], json!({"kprof.schema": "1"}));
    assert_eq!(metadata["format"], json!({"provider": "parquet", "options": {}}));
    let id = metadata["id"].as_str().unwrap();
    assert_eq!((id.len(), id.as_bytes()[14]), (36, b'8'), "{id}");
    let schema: Value = serde_json::from_str(metadata["schemaString"].as_str().unwrap()).unwrap();
    let kinds = ["host", "chip_id", "start_cycle", "start_ns", "is_clipped", "date", "run"];
    assert_eq!(
        kinds.map(|name| {
            let fields = schema["fields"].as_array().unwrap();
            let field = fields.iter().find(|field| field["name"] == name).unwrap();
            assert_eq!(field["nullable"], true);
            field["type"].as_str().unwrap().to_owned()
        }),
        ["string", "long", "decimal(20,0)", "long", "boolean", "date", "string"]
    );
    let [added] = actions(commit, "add")[..] else { panic!("{commit:?}") };
    let file = folder.join("zones").join(PARTITION).join("a%2Fb%20rec~0.parquet");
    assert_eq!(added["path"], format!("{ENCODED}/a%252Fb%2520rec~0.parquet"));
    assert_eq!(added["partitionValues"], json!({"date": "2026-11-25", "run": "run 1"}));
    assert_eq!(added["size"], std::fs::metadata(file).unwrap().len());
    assert_eq!(added["dataChange"], true);
    let stats: Value = serde_json::from_str(added["stats"].as_str().unwrap()).unwrap();
    assert_eq!(stats["numRecords"], 2);
    let bounds = |name: &str| (stats["minValues"][name].clone(), stats["maxValues"][name].clone());
    assert_eq!(bounds("name"), (json!("BRISC-KERNEL"), json!("LOAD")));
    assert_eq!(bounds("duration_cycles"), (json!(40), json!(60)));
    assert_eq!(bounds("start_ns"), (json!(0), json!(10)));
    assert_eq!(bounds("core_y"), (json!(2), json!(2)));
    assert_eq!(bounds("is_clipped"), (Value::Null, Value::Null));
    assert_eq!(
        (&stats["nullCount"]["start_host_ns"], &stats["nullCount"]["host"]),
        (&json!(2), &json!(0))
    );
    // Every table has a log, even a table without rows, so that readers of the logs find all
    // tables.
    for name in all_tables() {
        assert_eq!(table(folder, name), on_disk(folder, name), "{name}");
    }
    assert_eq!(table(folder, "waits"), BTreeMap::new());
    assert_eq!(self::commits(folder, "waits").len(), 1);
}

#[test]
fn bounds_of_unsigned_numbers_are_not_those_of_signed_ones() {
    let folder = tempfile::tempdir().unwrap();
    let huge = "0,1,2,BRISC,9,120,18446744073709551615,1024,SIZE,TS_DATA\n\
                0,1,2,BRISC,9,121,3,1024,SIZE,TS_DATA\n";
    let text = LOG.to_owned() + huge;
    let readout = recording::device_log::read_device_log(text.as_bytes(), "log").unwrap();
    add_to(&folder.path().into(), "h", readout, DeltaLogs::Create).unwrap();
    let commits = commits(folder.path(), "markers");
    let stats = actions(&commits[0], "add")[0]["stats"].as_str().unwrap();
    let stats: Value = serde_json::from_str(stats).unwrap();
    assert_eq!(stats["minValues"]["value"], 3);
    assert_eq!(stats["maxValues"]["value"], u64::MAX);
}

#[test]
fn a_second_export_is_one_commit_that_replaces_the_files_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    add(folder, "a", 60, DeltaLogs::Create);
    add(folder, "b", 61, DeltaLogs::Continue);
    add(folder, "a", 70, DeltaLogs::Continue);
    let zones = commits(folder, "zones");
    assert_eq!(zones.len(), 3);
    let [info] = actions(&zones[2], "commitInfo")[..] else { panic!("{zones:?}") };
    assert_eq!(info["operation"], "WRITE");
    let path = |kind| actions(&zones[2], kind)[0]["path"].as_str().unwrap();
    assert_eq!(path("add"), format!("{ENCODED}/a%2520rec~1.parquet"));
    assert_eq!(path("remove"), format!("{ENCODED}/a%2520rec~0.parquet"));
    assert_eq!((actions(&zones[2], "add").len(), actions(&zones[2], "remove").len()), (1, 1));
    for name in all_tables() {
        assert_eq!(table(folder, name), on_disk(folder, name), "{name}");
    }
    assert_eq!(names(&table(folder, "zones")), ["/a%2520rec~1.parquet", "/b%2520rec~0.parquet"]);
}

#[test]
fn a_dataset_without_logs_gets_them_of_all_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    add(folder, "a", 60, DeltaLogs::Continue);
    assert!(!folder.join("zones/_delta_log").exists());
    add(folder, "b", 60, DeltaLogs::Create);
    assert_eq!(names(&table(folder, "zones")), ["/a%2520rec~0.parquet", "/b%2520rec~0.parquet"]);
    assert_eq!(commits(folder, "zones").len(), 1);
    // The log already exists, so a third export only adds a commit to the log.
    add(folder, "c", 60, DeltaLogs::Create);
    assert_eq!(table(folder, "zones"), on_disk(folder, "zones"));
    assert_eq!(table(folder, "zones").len(), 3);
}

#[test]
fn a_compaction_changes_files_and_no_rows() {
    for create_at_compaction in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let logs = if create_at_compaction { DeltaLogs::Continue } else { DeltaLogs::Create };
        for host in ["a", "b", "c"] {
            add(folder, host, 60, logs);
        }
        compact_all(folder, DeltaLogs::Create);
        for name in all_tables() {
            assert_eq!(table(folder, name), on_disk(folder, name), "{name}");
        }
        assert_eq!(names(&table(folder, "zones")), ["/compacted-0.parquet"]);
        let commits = commits(folder, "zones");
        let last = commits.last().unwrap();
        if create_at_compaction {
            assert_eq!(commits.len(), 1);
        } else {
            assert_eq!(actions(last, "commitInfo")[0]["operation"], "OPTIMIZE");
            let changes = last.iter().filter_map(|action| {
                action.get("add").or(action.get("remove")).map(|file| &file["dataChange"])
            });
            assert_eq!(changes.collect::<Vec<_>>(), [&json!(false); 4]);
        }
        // A second compaction commits nothing.
        compact_all(folder, DeltaLogs::Create);
        assert_eq!(self::commits(folder, "zones").len(), commits.len());
    }
}

/// Files of an export that was killed after the files got their names but before the commit.
#[test]
fn an_export_that_was_killed_before_its_commit_is_not_in_the_log_and_is_cleared_away() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    add(folder, "a", 60, DeltaLogs::Create);
    let partition = folder.join("zones").join(PARTITION);
    let whole = table(folder, "zones");
    std::fs::copy(partition.join("a%20rec~0.parquet"), partition.join("a%20rec~1.parquet"))
        .unwrap();
    assert_eq!(table(folder, "zones"), whole);
    // Another export does not remove these files, because the process that wrote them may still be
    // running.
    add(folder, "b", 60, DeltaLogs::Create);
    assert!(partition.join("a%20rec~1.parquet").exists());
    assert_eq!(names(&table(folder, "zones")), ["/a%2520rec~0.parquet", "/b%2520rec~0.parquet"]);
    // The same export, run again, replaces both files.
    add(folder, "a", 70, DeltaLogs::Continue);
    assert_eq!(names(&table(folder, "zones")), ["/a%2520rec~2.parquet", "/b%2520rec~0.parquet"]);
    assert_eq!(table(folder, "zones"), on_disk(folder, "zones"));

    // A compaction removes the files left over.
    std::fs::copy(partition.join("a%20rec~2.parquet"), partition.join("a%20rec~3.parquet"))
        .unwrap();
    compact_all(folder, DeltaLogs::Continue);
    assert_eq!(names(&table(folder, "zones")), ["/compacted-0.parquet"]);
    assert_eq!(table(folder, "zones"), on_disk(folder, "zones"));
    let compacted = partition.join("compacted-0.parquet");
    assert_eq!(rows_of(&compacted, &["host"]), ["a", "a", "b", "b"]);
}

/// If the first export of a recording was killed just before its commit, all its files exist. A
/// compaction adds these files to the log.
#[test]
fn files_that_no_log_knows_are_added_by_a_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    add(folder, "a", 60, DeltaLogs::Create);
    let partition = folder.join("zones").join(PARTITION);
    std::fs::copy(partition.join("a%20rec~0.parquet"), partition.join("x%20rec~0.parquet"))
        .unwrap();
    compact_all(folder, DeltaLogs::Continue);
    let compacted = partition.join("compacted-0.parquet");
    assert_eq!(rows_of(&compacted, &["host"]), ["a", "a", "a", "a"]);
    assert_eq!(table(folder, "zones"), on_disk(folder, "zones"));
}

#[test]
fn a_compaction_that_was_killed_is_finished_by_the_next_one() {
    // The compaction was killed either before or after its commit.
    for is_committed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for host in ["a", "b"] {
            add(folder, host, 60, DeltaLogs::Create);
        }
        let partition = folder.join("zones").join(PARTITION);
        let sources = ["a%20rec~0.parquet", "b%20rec~0.parquet"].map(|name| partition.join(name));
        let bytes = sources.clone().map(|path| std::fs::read(path).unwrap());
        let before = table(folder, "zones");
        let commit = folder.join("zones/_delta_log/00000000000000000002.json");
        compact_all(folder, DeltaLogs::Continue);
        assert!(commit.exists());
        for (path, bytes) in sources.iter().zip(bytes) {
            std::fs::write(path, bytes).unwrap();
        }
        if !is_committed {
            std::fs::remove_file(&commit).unwrap();
            assert_eq!(table(folder, "zones"), before);
        }
        compact_all(folder, DeltaLogs::Continue);
        assert_eq!(names(&table(folder, "zones")), ["/compacted-0.parquet"], "{is_committed}");
        assert_eq!(table(folder, "zones"), on_disk(folder, "zones"));
        assert!(commit.exists());
    }
}

#[test]
fn exports_at_the_same_time_are_all_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    add(folder, "first", 60, DeltaLogs::Create);
    const EXPORTS: usize = 12;
    std::thread::scope(|scope| {
        for number in 0..EXPORTS {
            scope.spawn(move || add(folder, &format!("h{number}"), 60, DeltaLogs::Create));
        }
    });
    for name in ["zones", "ops", "recordings"] {
        assert_eq!(commits(folder, name).len(), 1 + EXPORTS, "{name}");
        assert_eq!(table(folder, name).len(), 1 + EXPORTS, "{name}");
    }
    for name in all_tables() {
        assert_eq!(table(folder, name), on_disk(folder, name), "{name}");
    }
}

/// Writes a commit as another program would.
fn write_commit(folder: &Path, version: u64, actions: &[Value]) {
    let text: String = actions.iter().map(|action| format!("{action}\n")).collect();
    let path = folder.join(format!("zones/_delta_log/{version:020}.json"));
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_commit_made_meanwhile_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    add(folder, "a", 60, DeltaLogs::Create);
    add(folder, "b", 60, DeltaLogs::Create);
    let dataset = DatasetLocation::from(folder);
    let log = DeltaLog::new(&dataset, "zones");
    let snapshot = log.snapshot().unwrap();
    // Another program adds a column and removes a file.
    let before = commits(folder, "zones");
    let mut metadata = actions(&before[0], "metaData")[0].clone();
    let mut schema: Value =
        serde_json::from_str(metadata["schemaString"].as_str().unwrap()).unwrap();
    let note = json!({"name": "note", "type": "string", "nullable": true, "metadata": {}});
    schema["fields"].as_array_mut().unwrap().push(note);
    metadata["schemaString"] = schema.to_string().into();
    let second = format!("{ENCODED}/b%2520rec~0.parquet");
    let remove = json!({"remove": {"path": second, "dataChange": true}});
    let nothing = json!({"txn": {"appId": "x", "version": 1}});
    write_commit(folder, 2, &[json!({ "metaData": metadata }), remove, nothing]);
    let [first, second] =
        ["a", "b"].map(|host| format!("zones/{PARTITION}/{host}%20rec~0.parquet"));
    log.replace(snapshot, &[], &[first, second], Change::Write).unwrap();
    let commits = commits(folder, "zones");
    assert_eq!(commits.len(), 4);
    assert!(actions(&commits[3], "metaData").is_empty());
    let [removed] = actions(&commits[3], "remove")[..] else { panic!("{commits:?}") };
    assert_eq!(removed["path"], format!("{ENCODED}/a%2520rec~0.parquet"));
}

#[test]
fn a_file_with_a_new_column_adds_it_to_the_table() {
    use super::{cells::FileColumn, rows::RowFile};
    use ::tables::ColumnKind::{Text, Unsigned64};
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    add(folder, "a", 60, DeltaLogs::Create);
    let write = |name: &str, kind| {
        let file = folder.join("zones").join(PARTITION).join(name);
        let column = FileColumn { name: "later".to_owned(), kind, is_optional: true };
        let out = std::fs::File::create(file).unwrap();
        let mut file = RowFile::new(out, "zones", &[column], &[], Vec::new()).unwrap();
        file.cells[0].push(::tables::Value::Null).unwrap();
        file.added(1).unwrap();
        file.finish().unwrap();
        format!("zones/{PARTITION}/{name}")
    };
    let dataset = DatasetLocation::from(folder);
    let log = DeltaLog::new(&dataset, "zones");
    let later = write("later~0.parquet", Unsigned64);
    log.replace(log.snapshot().unwrap(), &[later], &[], Change::Write).unwrap();
    let commits = commits(folder, "zones");
    let [metadata] = actions(&commits[1], "metaData")[..] else { panic!("{commits:?}") };
    let schema: Value = serde_json::from_str(metadata["schemaString"].as_str().unwrap()).unwrap();
    let last = schema["fields"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["name"], &last["type"]), (&json!("later"), &json!("decimal(20,0)")));
    assert_eq!(metadata["id"], actions(&commits[0], "metaData")[0]["id"]);

    let other = write("other~0.parquet", Text);
    let error = log.replace(log.snapshot().unwrap(), &[other], &[], Change::Write).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("column `later`") && error.contains("decimal(20,0)"), "{error}");
}

#[test]
fn files_that_another_program_replaced_stay_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    add(folder, "a", 60, DeltaLogs::Create);
    add(folder, "b", 60, DeltaLogs::Create);
    // Commits a file and removes two from the log, like Spark's OPTIMIZE, which keeps the replaced
    // files on disk.
    let partition = folder.join("zones").join(PARTITION);
    std::fs::copy(partition.join("a%20rec~0.parquet"), partition.join("part-0-x.parquet")).unwrap();
    let size = std::fs::metadata(partition.join("part-0-x.parquet")).unwrap().len();
    let remove = |host| json!({"remove": {"path": format!("{ENCODED}/{host}%2520rec~0.parquet"), "size": 1}});
    let add = json!({"add": {"path": format!("{ENCODED}/part-0-x.parquet"), "size": size}});
    write_commit(folder, 2, &[add, remove("a"), remove("b")]);
    compact_all(folder, DeltaLogs::Continue);
    assert_eq!(names(&table(folder, "zones")), ["/part-0-x.parquet"]);
    assert_eq!(table(folder, "zones"), on_disk(folder, "zones"));
}

#[test]
fn logs_that_cannot_be_continued_are_refused_before_a_file_appears() {
    let refusal = |change: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        add(folder.path(), "a", 60, DeltaLogs::Create);
        change(&folder.path().join("zones/_delta_log"));
        let refused = add_to(&folder.path().into(), "b", log_of(60), DeltaLogs::Continue);
        for name in ["zones", "ops", "recordings"] {
            assert_eq!(names(&on_disk(folder.path(), name)), ["/a%2520rec~0.parquet"]);
        }
        refused.unwrap_err().to_string()
    };
    let with = |line: Value| {
        refusal(&|log| {
            std::fs::write(log.join("00000000000000000001.json"), line.to_string()).unwrap()
        })
    };
    let error = with(json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}}));
    assert!(error.contains("writer version 2, found 3 and 7"), "{error}");
    let error = with(json!({"metaData": {"configuration": {"delta.appendOnly": "true"}}}));
    assert!(error.contains("delta.appendOnly"), "{error}");
    let error = with(json!({"metaData": 7}));
    assert!(error.contains("schemaString"), "{error}");
    let error = with(json!({"add": {"path": "x"}}));
    assert!(error.contains("size of zones/x"), "{error}");
    let error = with(json!([1]));
    assert!(error.contains("line 1") && error.contains("00001.json"), "{error}");
    let error = refusal(&|log| {
        let zero = log.join("00000000000000000000.json");
        std::fs::rename(zero, log.join("00000000000000000004.json")).unwrap();
    });
    assert!(error.contains("commit 0") && error.contains("checkpoints"), "{error}");
}

#[test]
fn paths_are_those_of_urls() {
    let path = "zones/date=2026-11-25/run=a%2Fb/\u{e4} +~0.parquet";
    let encoded = "date=2026-11-25/run=a%252Fb/%C3%A4%20%2B~0.parquet";
    assert_eq!(encoded_path("zones", path), encoded);
    let mut snapshot = Snapshot::default();
    let line = json!({"add": {"path": encoded, "size": 3}}).to_string();
    snapshot.add("zones", line.as_bytes()).unwrap();
    let elsewhere = json!({"add": {"path": "s3://other/x%20y", "size": 4}}).to_string();
    snapshot.add("zones", elsewhere.as_bytes()).unwrap();
    let expected = [(path.to_owned(), 3), ("s3://other/x%20y".to_owned(), 4)];
    assert_eq!(snapshot.live, BTreeMap::from(expected));
}

/// Makes the same checks as for a folder, with an in-memory object store.
#[cfg(feature = "object-store")]
#[test]
fn a_dataset_of_objects_is_written_compacted_and_read() {
    let new_store = || DatasetLocation::Objects(crate::ObjectPlace::in_memory());
    let store = new_store();
    for (host, cycles) in [("a", 60), ("b", 61), ("a", 62)] {
        add_to(&store, host, log_of(cycles), DeltaLogs::Create).unwrap();
    }
    let live = |name: &'static str| {
        let log = DeltaLog::new(&store, name);
        let live = log.snapshot().unwrap().live;
        assert_eq!(live, log.files().unwrap(), "{name}");
        live.into_keys().collect::<Vec<_>>()
    };
    let zones = ["a%20rec~1", "b%20rec~0"].map(|name| format!("zones/{PARTITION}/{name}.parquet"));
    assert_eq!(live("zones"), zones);
    let counts = compact(&store, DeltaLogs::Continue, &CancelFlag::default()).unwrap();
    assert_eq!((counts.files_before, counts.files), (6, 3));
    assert_eq!(live("zones"), [format!("zones/{PARTITION}/compacted-0.parquet")]);
    assert!(store.has_files("zones").unwrap() && !store.has_files("waits").unwrap());
    assert!(crate::is_dataset(&store).unwrap() && !crate::is_dataset(&new_store()).unwrap());
    let mut recordings = crate::read_recordings(&store).unwrap();
    crate::read_ops(&store, &mut recordings).unwrap();
    let found: Vec<_> =
        recordings.iter().map(|found| (&*found.host, found.ops[0].duration_ns)).collect();
    assert_eq!(found, [("a", Some(62)), ("b", Some(61))]);
    let refused = add_to(&store, "a", log_of(1), DeltaLogs::Continue).unwrap_err().to_string();
    assert!(refused.contains("memory://test/data set/recordings/"), "{refused}");
}
