//! What must hold of a report whatever the rows lack: durations, bytes, a device of their own.

use super::{
    CsvOptions, LimitKind, PerfOptions, PerfReport, StackBy, TableOptions, ops_by_column,
    read_ops_csv, read_ops_csv_with, write_ops_csv, write_stacked_csv, write_table,
};
use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, proptest};

const TITLES: &str = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,MATH FIDELITY,CORE COUNT,\
    AVAILABLE WORKER CORE COUNT,DEVICE KERNEL DURATION [ns],\
    INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],\
    INPUT_0_DATATYPE,INPUT_0_MEMORY,\
    INPUT_1_W_PAD[LOGICAL],INPUT_1_Z_PAD[LOGICAL],INPUT_1_Y_PAD[LOGICAL],INPUT_1_X_PAD[LOGICAL],\
    INPUT_1_DATATYPE,INPUT_1_MEMORY,\
    OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],\
    OUTPUT_0_X_PAD[LOGICAL],OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";

/// An op in a Wormhole: its name and device, its duration as text, and its three tensors.
fn row(name: &str, device: u32, duration: &str, tensors: [&str; 3]) -> String {
    let tensors = tensors.join(",");
    format!("{name},tt_dnn_device,{device},wormhole_b0,HiFi2,64,64,{duration},{tensors}\n")
}

const ABSENT: &str = ",,,,,";
const IN_DRAM: &str = "1,1,2048,4608,BFLOAT16,DEV_0_DRAM_INTERLEAVED";
const IN_L1: &str = "1,1,2048,4608,BFLOAT16,DEV_0_L1_HEIGHT_SHARDED";

/// Ops with what is known of their DRAM bytes: 32 x 2048 by 2048 x 2048, a move into L1, an op of
/// which only a part is modelled, and one without a model.
const OPS: [(&str, [&str; 3], LimitKind); 4] = [
    (
        "MatmulDeviceOperation",
        [
            "1,1,32,2048,BFLOAT16,DEV_0_DRAM_INTERLEAVED",
            "1,1,2048,2048,BFLOAT16,DEV_0_DRAM_INTERLEAVED",
            "1,1,32,2048,BFLOAT16,DEV_0_DRAM_INTERLEAVED",
        ],
        LimitKind::Exact,
    ),
    ("InterleavedToShardedDeviceOperation", [IN_DRAM, ABSENT, IN_L1], LimitKind::Exact),
    (
        "UpdateCacheDeviceOperation",
        [IN_DRAM, "1,1,32,4608,BFLOAT16,DEV_0_L1_INTERLEAVED", IN_DRAM],
        LimitKind::LowerBound,
    ),
    ("OpOfTomorrow", [IN_DRAM, ABSENT, IN_DRAM], LimitKind::Unknown),
];

fn read(rows: &str, options: &PerfOptions) -> PerfReport {
    let csv = read_ops_csv((TITLES.to_owned() + rows).as_bytes(), "ops.csv").unwrap();
    PerfReport::new(vec![csv], options).unwrap()
}

fn table(report: &PerfReport) -> String {
    let options = TableOptions {
        is_coloured: false,
        min_percentage: 0.0,
        has_advice: false,
        summary: Some(StackBy::Memory),
        has_iterations: false,
    };
    let mut out = Vec::new();
    write_table(report, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Returns the line of a table that has a text, split into cells.
fn cells<'a>(table: &'a str, text: &str) -> Vec<&'a str> {
    let line = table.lines().find(|line| line.contains(text)).unwrap();
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// Ops, each with a kind and whether it has a duration.
fn generated() -> impl Strategy<Value = Vec<(usize, bool)>> {
    prop::collection::vec((0..OPS.len(), proptest::prelude::any::<bool>()), 1..12)
}

/// A time in which no model exceeds its peak.
const LONG_NS: u32 = 400_000;

fn rows_of(ops: &[(usize, bool)]) -> String {
    let rows = ops.iter().enumerate().map(|(at, &(kind, is_timed))| {
        let (name, tensors, _) = OPS[kind];
        let at = u32::try_from(at).unwrap();
        let duration = if is_timed { (LONG_NS + 1000 * at).to_string() } else { String::new() };
        row(name, 0, &duration, tensors)
    });
    rows.collect()
}

proptest! {
    #[test]
    fn sums_are_of_known_times_and_bounds_are_marked(ops in generated()) {
        let report = read(&rows_of(&ops), &PerfOptions::default());
        // Without a duration, matrix products are not modelled.
        for (row, (kind, _)) in report.rows.iter().zip(&ops).filter(|(_, (_, is_timed))| *is_timed) {
            prop_assert_eq!(row.dram_kind, OPS[*kind].2, "{}", row.raw_op_code);
        }
        for group in &report.stacked {
            let of_group = |kind: usize| group.op_code.starts_with(OPS[kind].0);
            let own: Vec<_> = ops.iter().filter(|(kind, _)| of_group(*kind)).collect();
            let timed = own.iter().filter(|(_, is_timed)| *is_timed).count();
            prop_assert_eq!(group.op_count, own.len() as u64);
            prop_assert_eq!(group.untimed_count, (own.len() - timed) as u64);
            prop_assert_eq!(group.device_time_us.is_some(), timed > 0, "{:?}", group);
            prop_assert_eq!(group.total_percent.is_some(), timed > 0, "{:?}", group);
        }
        let is_bound = ops.iter().any(|&(kind, is_timed)| is_timed && kind > 1);
        prop_assert_eq!(report.totals.is_dram_lower_bound, is_bound);
        let by = ops_by_column(&report.rows, "MATH FIDELITY").total;
        prop_assert_eq!(by.is_dram_lower_bound, is_bound);
        if let Some(percent) = report.totals.dram_percent {
            prop_assert!((percent - by.dram_percent.unwrap()).abs() < 1e-9);
            let shown = table(&report);
            let total = shown.lines().find(|line| line.contains(" device ops, ")).unwrap();
            prop_assert_eq!(total.matches(">= ").count(), if is_bound { 2 } else { 0 }, "{}", total);
        }
        let timed = ops.iter().filter(|(_, is_timed)| *is_timed).count();
        let of_which = match timed {
            _ if timed == ops.len() => String::new(),
            0 => "of which none has a duration, ".to_owned(),
            1 => "of which 1 has a duration, ".to_owned(),
            _ => format!("of which {timed} have a duration, "),
        };
        let counts = format!(" {} device ops, {of_which}0 host ops, 0 signposts", ops.len());
        prop_assert!(table(&report).contains(&counts), "{counts}");
    }

    /// tt-perf-report knows no lower bounds and shows 0 for what it does not know.
    #[test]
    fn exact_tables_have_no_marks(ops in generated()) {
        let options = PerfOptions { is_upstream_exact: true, ..PerfOptions::default() };
        let report = read(&rows_of(&ops), &options);
        let shown = table(&report);
        let tables = shown.split_once("Performance report").unwrap().1;
        for mark in [">=", "of which", "without", "mean of", "model:"] {
            prop_assert!(!tables.contains(mark), "{}", tables);
        }
        let untimed = report.stacked.iter().filter(|group| group.device_time_us.is_none()).count();
        prop_assert_eq!(tables.matches(" 0.00 μs").count(), untimed, "{}", tables);
        let mut csv = Vec::new();
        write_stacked_csv(&report, StackBy::Memory, &mut csv).unwrap();
        prop_assert!(!String::from_utf8(csv).unwrap().contains("Ops Without Duration"));
    }
}

#[test]
fn a_group_counts_the_ops_of_its_sum_and_names_the_others() {
    let (name, tensors, _) = OPS[1];
    let mut rows: String =
        ["200000", "", "", "100000"].map(|duration| row(name, 0, duration, tensors)).concat();
    rows += &row("OpOfTomorrow", 0, "", [IN_DRAM, ABSENT, IN_DRAM]);
    let report = read(&rows, &PerfOptions::default());
    let shown = table(&report);
    let (_, summary) = shown.split_once("Summary").unwrap();
    let known = cells(summary, name);
    assert_eq!(known[2..4], ["300.00 μs", "4, of which 2 have a duration"], "{summary}");
    let unknown = cells(summary, "OpOfTomorrow");
    assert_eq!(unknown[1], "1 without a duration", "neither share nor time: {summary}");
    let mut csv = Vec::new();
    write_stacked_csv(&report, StackBy::Op, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].ends_with(",Ops Without Duration"), "{csv}");
    assert!(lines[1].starts_with("100.00,InterleavedTo") && lines[1].ends_with(",2"), "{csv}");
    assert!(lines[2].starts_with(",OpOfTomorrow") && lines[2].ends_with(",1"), "{csv}");
}

/// 2048 x 4608 elements at 288 GB/s: the shares that the ops' own times give.
#[test]
fn moves_have_the_dram_share_of_their_tensors() {
    let move_of = |datatype: &str, ns: &str| {
        let input = format!("1,1,2048,4608,{datatype},DEV_0_DRAM_INTERLEAVED");
        row("InterleavedToShardedDeviceOperation", 0, ns, [&input, ABSENT, IN_L1])
    };
    let rows = move_of("FLOAT32", "140000")
        + &move_of("BFLOAT16", "76000")
        + &move_of("BFLOAT8_B", "52000")
        + &move_of("BFLOAT4_B", "43000");
    let report = read(&rows, &PerfOptions::default());
    let elements = 2048.0 * 4608.0;
    let bytes = [4.0, 2.0, 1.0625, 0.5625].map(|of_one: f64| elements * of_one);
    let times_ns = [140_000.0, 76_000.0, 52_000.0, 43_000.0];
    for ((row, bytes), ns) in report.rows.iter().zip(bytes).zip(times_ns) {
        assert!((row.dram_percent.unwrap() - bytes / ns / 2.88).abs() < 1e-9, "{row:?}");
        assert!((row.dram_gb_per_s.unwrap() - bytes / ns).abs() < 1e-9, "{row:?}");
    }
    let shown = table(&report);
    let shares: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("GB/s"))
        .map(|line| cells(line, "GB/s"))
        .map(|cells| *cells.iter().rfind(|cell| cell.ends_with('%')).unwrap())
        .collect();
    assert_eq!(shares, ["93.6 %", "86.2 %", "67.0 %", "42.9 %", "80.3 %"], "{shown}");
    let exact = PerfOptions { is_upstream_exact: true, ..PerfOptions::default() };
    assert!(read(&rows, &exact).rows.iter().all(|row| row.dram_percent.is_none()));
}

#[test]
fn a_share_over_its_peak_is_shown_as_the_peak_with_the_models_figure() {
    let (name, tensors, _) = OPS[0];
    // 8,650,752 bytes at 288 GB/s take 30.04 us.
    let report = read(&row(name, 0, "30000", tensors), &PerfOptions::default());
    let shown = table(&report);
    let marked = cells(&shown, "MatmulDeviceOperation 32 x");
    assert!(marked.contains(&"100.0 % (model: 100.1 %)"), "{shown}");
    let note = "Warning: MatmulDeviceOperation: the model comes to more than 100 % of a peak rate";
    assert!(report.notes.iter().any(|of| of.starts_with(note)), "{:?}", report.notes);
    let within = read(&row(name, 0, "31000", tensors), &PerfOptions::default());
    assert!(!within.notes.iter().any(|of| of.contains("more than 100 %")), "{:?}", within.notes);
}

#[test]
fn a_mean_of_devices_names_none_of_them() {
    let tensors = [IN_L1, ABSENT, IN_L1];
    let rows: String = (0..3)
        .map(|device| row("AllReduceAsync", device, &(40_000 + 1000 * device).to_string(), tensors))
        .chain((0..3).map(|device| row("Softmax", device, &(900 + device).to_string(), tensors)))
        .collect();
    let report = read(&rows, &PerfOptions::default());
    let shown = table(&report);
    assert!(cells(&shown, "AllReduceAsync").contains(&"mean of 3"), "{shown}");
    assert!(cells(&shown, "Softmax").contains(&"2"), "the slowest device: {shown}");
    let devices = |is_upstream_exact: bool| {
        let mut csv = Vec::new();
        let options = CsvOptions { is_upstream_exact, ..CsvOptions::default() };
        write_ops_csv(&report, options, &mut csv).unwrap();
        let mut reader = csv::Reader::from_reader(&*csv);
        reader.records().map(|record| record.unwrap()[4].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(devices(false), ["", "2"]);
    assert_eq!(devices(true), ["0", "2"]);
}

#[test]
fn notes_name_the_ops_that_they_are_about() {
    let untimed = |names: &[&str]| {
        let rows = names.iter().map(|name| row(name, 0, "", [IN_DRAM, ABSENT, IN_DRAM]));
        let report = read(&rows.collect::<String>(), &PerfOptions::default());
        let notes = report.notes.into_iter();
        notes.filter(|note| note.contains("duration")).collect::<Vec<_>>()
    };
    assert_eq!(untimed(&["Slice"]), ["Warning: Slice: no usable duration; it is in no sum"]);
    let many = "Warning: 7 device ops: no usable duration; they are in no sum (Slice (2 times), \
                Permute, Softmax (2 times) and 2 others)";
    assert_eq!(
        untimed(&["Slice", "Permute", "Slice", "Softmax", "Softmax", "Concat", "Tilize"]),
        [many]
    );
}

#[test]
fn ops_at_the_same_time_are_told_with_their_elapsed_time() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,AVAILABLE WORKER CORE COUNT,\
        DEVICE FW START CYCLE,DEVICE FW END CYCLE,DEVICE FW DURATION [ns],\
        DEVICE KERNEL DURATION [ns]\n";
    let said = |rows: &str| {
        let csv =
            read_ops_csv_with((titles.to_owned() + rows).as_bytes(), "ops.csv", None).unwrap();
        let report = PerfReport::new(vec![csv], &PerfOptions::default()).unwrap();
        table(&report).lines().find(|line| line.contains("same time")).map(str::to_owned)
    };
    let beside = "Matmul,tt_dnn_device,0,wormhole_b0,48,1000000,1120600,120600,120000\n\
        AllGather,tt_dnn_device,0,wormhole_b0,16,1000000,1080600,80600,80000\n";
    let expected = "2 of 2 ops of device 0 ran at the same time as another, as their cycles show: they \
        took 121 μs from the first start to the last end, and 200 μs if each is counted in full, as in \
        the sums of times here.";
    assert_eq!(said(beside).as_deref(), Some(expected));
    let after = beside.replace("1000000,1080600", "1200000,1280600");
    assert_eq!(said(&after), None, "their cycles show that they did not");
    let unknown = beside.replace("1000000,1080600", ",");
    assert!(said(&unknown).unwrap().contains("may have run at the same time"));
}
