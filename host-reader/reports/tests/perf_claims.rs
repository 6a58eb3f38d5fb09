//! What must hold of a perf report whatever rows lie between ops: rows of the host, ops of traces, chips
//! that no file names.

use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};
use reports::perf::{
    PerfOptions, PerfReport, RowKind, StackBy, TableOptions, read_ops_csv, write_table,
};
use std::fmt::Write;

/// Row of a generated ops CSV.
#[derive(Clone, Copy, Debug)]
enum Row {
    /// Kernel and gap before it, in nanoseconds.
    Device(u32, u32),
    /// Time that the host spent, in nanoseconds.
    Host(u32),
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let device = (1_000..200_000_u32, 0..3_000_000_u32);
    let device = device.prop_map(|(kernel, gap)| Row::Device(kernel, gap));
    let row = proptest::prop_oneof![device, (1_000..2_000_000_u32).prop_map(Row::Host)];
    prop::collection::vec(row, 0..12)
}

/// Returns an ops CSV. `host_type` is the type of ops on the host, and `trace` the id of a trace of all
/// ops of the device; the first op of a device has no gap before it.
fn csv_of(rows: &[Row], host_type: &str, trace: &str) -> String {
    let mut text = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,HOST START TS,HOST DURATION [ns],\
        OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns],METAL TRACE ID,\
        METAL TRACE REPLAY SESSION ID\n"
        .to_owned();
    for (start, row) in rows.iter().enumerate() {
        match row {
            Row::Device(kernel, gap) => writeln!(
                text,
                "Softmax,tt_dnn_device,0,wormhole_b0,{start},100,{gap},{kernel},{trace},{trace}"
            ),
            Row::Host(ns) => writeln!(text, "tilize,{host_type},,,{start},{ns},,,,"),
        }
        .unwrap();
    }
    text
}

fn report_of(text: &str) -> PerfReport {
    let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    PerfReport::new(vec![csv], &PerfOptions::default()).unwrap()
}

fn table_of(report: &PerfReport) -> String {
    let options = TableOptions {
        is_coloured: false,
        min_percentage: 0.0,
        has_advice: true,
        summary: Some(StackBy::Op),
        has_iterations: true,
    };
    let mut out = Vec::new();
    write_table(report, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

proptest! {
    #[test]
    fn ops_on_the_host_take_no_gap_and_are_no_ops_of_a_device(rows in rows(), is_cpu in any::<bool>()) {
        let host_type = if is_cpu { "tt_dnn_cpu" } else { "python_fallback" };
        let report = report_of(&csv_of(&rows, host_type, ""));
        let gaps: Vec<f64> = rows
            .iter()
            .filter_map(|row| match row {
                Row::Device(_, gap) => Some(f64::from(*gap) / 1000.0),
                Row::Host(_) => None,
            })
            .skip(1)
            .collect();
        let ops: Vec<_> = report.rows.iter().filter(|row| row.is_device_op()).collect();
        let found: Vec<_> = ops.iter().skip(1).map(|row| row.op_to_op_gap_us.unwrap()).collect();
        prop_assert_eq!(&found, &gaps, "{:?}", rows);
        let total = report.totals.op_to_op_gap_us;
        prop_assert_eq!(total.is_some(), !gaps.is_empty());
        prop_assert!((total.unwrap_or(0.0) - gaps.iter().sum::<f64>()).abs() < 1e-6);
        let host: Vec<f64> = rows
            .iter()
            .filter_map(|row| match row {
                Row::Host(ns) => Some(f64::from(*ns) / 1000.0),
                Row::Device(..) => None,
            })
            .collect();
        prop_assert_eq!(report.totals.host_op_count, host.len() as u64);
        prop_assert_eq!(report.totals.device_op_count, (rows.len() - host.len()) as u64);
        prop_assert_eq!(report.totals.invalid_duration_count, 0);
        prop_assert!(!report.notes.iter().any(|note| note.contains("duration")), "{:?}", report.notes);
        let summary: f64 = report.stacked.iter().filter_map(|ops| ops.host_time_us).sum();
        prop_assert!((summary - host.iter().sum::<f64>()).abs() < 1e-6, "{:?}", report.stacked);
    }

    #[test]
    fn no_trace_is_advised_for_ops_of_a_trace(rows in rows()) {
        let advises = |trace: &str| table_of(&report_of(&csv_of(&rows, "python_fallback", trace)));
        prop_assert!(!advises("3").contains("A trace could save"), "{}", advises("3"));
        let long = rows.iter().filter(|row| matches!(row, Row::Device(..))).skip(1);
        let has_long = long.clone().any(|row| matches!(row, Row::Device(_, gap) if *gap > 6_500));
        prop_assert_eq!(advises("").contains("A trace could save"), has_long);
        prop_assert_eq!(advises("3").contains("come from a trace already"), has_long);
    }
}

/// 50 us before each of two replays, and 100 us before an op that is in no trace.
#[test]
fn gaps_before_replays_are_no_gain_of_a_trace() {
    let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,OP TO OP LATENCY [ns],\
        DEVICE KERNEL DURATION [ns],METAL TRACE ID,METAL TRACE REPLAY SESSION ID\n\
        Add,tt_dnn_device,0,wormhole_b0,0,1000,,\nAdd,tt_dnn_device,0,wormhole_b0,100000,1000,,\n\
        Add,tt_dnn_device,0,wormhole_b0,50000,1000,1,1\nAdd,tt_dnn_device,0,wormhole_b0,50000,1000,1,2\n";
    let report = report_of(text);
    assert_eq!((report.advice.gap_saving_us, report.advice.trace_gap_us), (94.0, 100.0));
    assert_eq!(
        (&report.advice.high_gap_ids[..], &report.advice.trace_gap_ids[..]),
        (&[3, 4, 5][..], &[4, 5][..])
    );
    let table = table_of(&report);
    let said = "A trace could save 94 μs (46.1 %) of them, without the 2 before ops of a trace, whose time \
                is 100 μs: replay without waiting";
    assert!(table.contains(said), "{table}");
}

/// 100 us before a call that built its program, and 50 us before one that found its own.
#[test]
fn gaps_before_calls_that_build_programs_are_no_gain_of_a_trace() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns],\
        PROGRAM CACHE HIT\n";
    let row = |gap: u32, hit: &str| format!("Add,tt_dnn_device,0,wormhole_b0,{gap},1000,{hit}\n");
    let both = report_of(&format!(
        "{titles}{}{}{}",
        row(0, "False"),
        row(100_000, "False"),
        row(50_000, "True")
    ));
    let advice = &both.advice;
    assert_eq!((advice.gap_saving_us, advice.build_gap_us), (44.0, 100.0));
    assert_eq!((&advice.high_gap_ids[..], &advice.build_gap_ids[..]), (&[3, 4][..], &[3][..]));
    let said = "A trace could save 44 μs (28.8 %) of them, without the 1 before calls that built programs, \
                whose time is 100 μs: call the ops once before";
    let table = table_of(&both);
    assert!(table.contains(said), "{table}");
    let first =
        table_of(&report_of(&format!("{titles}{}{}", row(0, "False"), row(100_000, "False"))));
    assert!(
        first.contains("The calls after them built their programs: call the ops once"),
        "{first}"
    );
    assert!(!first.contains("A trace could save"), "{first}");
    // Kernels were compiled for most of the gap.
    let titles = titles.replace("PROGRAM CACHE HIT", "CompileProgram_TT_HOST_FUNC [ns]");
    let compiled =
        |ns: &str| table_of(&report_of(&format!("{titles}{}{}", row(0, ""), row(100_000, ns))));
    assert!(!compiled("50000").contains("A trace could save"), "{}", compiled("50000"));
    assert!(compiled("49000").contains("A trace could save"), "{}", compiled("49000"));
}

#[test]
fn totals_of_no_known_value_are_blank() {
    let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\n\
        Softmax,tt_dnn_device,0,2000\nSoftmax,tt_dnn_device,0,3000\n";
    let report = report_of(text);
    assert_eq!((report.totals.device_time_us, report.totals.op_to_op_gap_us), (Some(5.0), None));
    let table = table_of(&report);
    let total = table.lines().find(|line| line.contains("device ops")).unwrap();
    assert!(total.contains("5 μs") && !total.contains("0 μs"), "{total}");
    let none =
        report_of("OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\nA,tt_dnn_device,0,\n");
    assert_eq!((none.totals.device_time_us, none.totals.op_to_op_gap_us), (None, None));
}

/// Rows of a file of 2023: cycles of firmware, no gaps, no device numbers, no name of the chip.
fn old_rows(cores: u64, ghz: f64) -> String {
    let mut text = "OP CODE,OP TYPE,CORE COUNT,DEVICE FW START CYCLE,DEVICE FW END CYCLE,\
        DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns]\n"
        .to_owned();
    // Each op of 10 us begins 25 us after the end of the one before.
    for number in 0..3_u32 {
        let start = 1e6 + f64::from(number) * 35e3 * ghz;
        let end = start + 10e3 * ghz;
        writeln!(text, "Softmax,tt_dnn_device,{cores},{start:.0},{end:.0},10000,9000").unwrap();
        text += "Tensor_to_host,tt_dnn_cpu,-,-,-,-,-\n";
    }
    text
}

#[test]
fn gaps_are_those_of_the_cycles_where_no_column_has_them() {
    let report = report_of(&old_rows(64, 1.0));
    let gaps = report.rows.iter().filter(|row| row.is_device_op());
    let gaps: Vec<_> = gaps.map(|row| (row.op_to_op_gap_us, row.is_gap_unknown)).collect();
    assert_eq!(gaps, [(None, false), (Some(25.0), false), (Some(25.0), false)]);
    assert_eq!(report.totals.op_to_op_gap_us, Some(50.0));
    assert!(report.notes.iter().any(|note| note.starts_with("Gaps: from the cycles")));
    let unknown = report_of(&old_rows(64, 1.0).replacen(",10000,9000", ",,9000", 1));
    assert_eq!(unknown.totals.op_to_op_gap_us, Some(50.0), "the clock of a later row is enough");
}

#[test]
fn no_chip_is_guessed_that_the_cores_of_an_op_contradict() {
    let facts = |cores: u64, ghz: f64| report_of(&old_rows(cores, ghz)).chip;
    let name = |cores: u64, ghz: f64| facts(cores, ghz).arch.map(|arch| arch.name);
    assert_eq!(name(64, 1.0).as_deref(), Some("wormhole"));
    assert_eq!(name(72, 1.0).as_deref(), Some("wormhole"));
    assert_eq!(name(130, 1.35).as_deref(), Some("blackhole"));
    let grayskull = facts(88, 1.2);
    assert_eq!((grayskull.arch, grayskull.guess, grayskull.worker_core_count), (None, None, None));
    assert_eq!(
        grayskull.contradiction.as_deref(),
        Some("88 cores are more than a wormhole has, which its clock of 1.20 GHz suggests")
    );
    assert_eq!(name(150, 1.35), None);
    for (cores, ghz) in [(64, 1.0), (72, 1.0), (88, 1.2), (130, 1.35), (150, 1.35)] {
        for row in report_of(&old_rows(cores, ghz)).rows {
            let counts = row.core_count.zip(row.available_core_count);
            assert!(counts.is_none_or(|(used, available)| used <= available), "{row:?}");
        }
    }
    // Without a clock, only the cores tell.
    let text =
        |cores: u64| format!("OP CODE,CORE COUNT,DEVICE KERNEL DURATION [ns]\nA,{cores},9\n");
    let of_cores = |cores| report_of(&text(cores)).chip;
    assert_eq!(of_cores(80).arch.unwrap().name, "wormhole");
    let larger = of_cores(130);
    assert_eq!(
        larger.guess.as_deref(),
        Some("blackhole, since 130 cores are more than a wormhole has")
    );
    assert_eq!(of_cores(141).arch, None);
}

#[test]
fn each_op_on_the_host_keeps_its_name_in_the_summary() {
    let text = "OP CODE,OP TYPE,DEVICE ID,HOST DURATION [ns],DEVICE KERNEL DURATION [ns]\n\
        Softmax,tt_dnn_device,0,5,2000\n(torch) ttnn.to_torch,python_fallback,,1500000,\n\
        (torch) ttnn.from_torch,python_fallback,,500000,\n(torch) ttnn.to_torch,python_fallback,,100000,\n";
    let report = report_of(text);
    let found: Vec<_> = report
        .stacked
        .iter()
        .map(|ops| (ops.op_code.as_str(), ops.op_count, ops.host_time_us))
        .collect();
    assert_eq!(
        found,
        [
            ("Softmax", 1, None),
            ("(torch) ttnn.to_torch", 2, Some(1600.0)),
            ("(torch) ttnn.from_torch", 1, Some(500.0)),
        ]
    );
    let kinds: Vec<_> = report.rows.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [RowKind::Device, RowKind::Host, RowKind::Host, RowKind::Host]);
}

/// The first of three iterations compiles before each op.
#[test]
fn gaps_of_iterations_are_told_without_the_one_that_compiles() {
    let mut text =
        "OP CODE,OP TYPE,DEVICE ID,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]\n".to_owned();
    for gap in [5_500_000, 1_500, 1_700] {
        for op in ["Softmax", "Matmul"] {
            writeln!(text, "{op},tt_dnn_device,0,{gap},9000").unwrap();
        }
    }
    let report = report_of(&text);
    let [softmax, matmul] = &report.iterations.ops[..] else { panic!("{:?}", report.iterations) };
    assert_eq!((matmul.first_gap_us, matmul.later_gaps_us.median), (Some(5_500.0), 1.6));
    assert_eq!((softmax.first_gap_us, softmax.later_gaps_us.count), (None, 2));
    let table = table_of(&report);
    let line = table.lines().rfind(|line| line.contains("Matmul")).unwrap();
    let cells: Vec<_> = line.split_whitespace().collect();
    assert_eq!(cells[cells.len() - 2..], ["5,500.00", "1.60"], "{table}");
}

/// A decode whose query and output are in L1: how much of the cache it reads depends on its positions.
#[test]
fn a_lower_bound_of_no_byte_is_no_figure() {
    let tensor = |of: &str| {
        let sides = ["W", "Z", "Y", "X"].map(|side| format!("{of}_{side}_PAD[LOGICAL]"));
        format!("{},{of}_DATATYPE,{of}_MEMORY", sides.join(","))
    };
    let in_l1 = "1,32,32,128,BFLOAT16,DEV_0_L1_HEIGHT_SHARDED";
    let cache = "1024,8,32,128,BFLOAT8_B,DEV_0_DRAM_INTERLEAVED";
    let tensors = ["INPUT_0", "INPUT_1", "INPUT_2", "OUTPUT_0"].map(tensor).join(",");
    let report = report_of(&format!(
        "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,DEVICE KERNEL DURATION [ns],{tensors}\n\
         SdpaDecodeDeviceOperation,tt_dnn_device,0,wormhole_b0,300000,{in_l1},{cache},{cache},{in_l1}\n"
    ));
    let [row] = &report.rows[..] else { panic!("{report:?}") };
    assert_eq!((row.dram_percent, row.dram_gb_per_s, row.dram_bytes), (None, None, None));
    let limit = row.limit.unwrap();
    assert_eq!((limit.us(), limit.dram_us), (None, None));
    // Both caches, of 1,088 bytes a tile.
    let most_us = f64::from(1024 * 8 * 32 * 128) * 1088.0 / 1024.0 * 2.0 / 288e3;
    assert!((limit.dram_at_most_us.unwrap() - most_us).abs() < 1e-9, "{limit:?}");
    assert!(!table_of(&report).contains(">= 0"), "{}", table_of(&report));
}

/// Each op belongs to the innermost range of signposts: the groups are those of the ranges.
#[test]
fn ops_are_grouped_by_the_signposts_before_them() {
    let mut text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\n".to_owned();
    text += "Embedding,tt_dnn_device,0,5000\n";
    for layer in 0..2 {
        for (part, kernel_ns) in [("attn", 300_000), ("mlp", 120_000)] {
            let range = format!("layer{layer}/{part}");
            writeln!(text, "ZS {range},signpost,,\nMatmul,tt_dnn_device,0,{kernel_ns}").unwrap();
            writeln!(text, "Add,tt_dnn_device,0,1000\nZE {range},signpost,,").unwrap();
        }
    }
    let report = report_of(&text);
    let column = report.column("signpost").unwrap();
    let by = reports::perf::ops_by_column(&report.rows, &column);
    let groups: Vec<_> = by
        .groups
        .iter()
        .map(|group| (group.value.as_deref(), group.op_count, group.device_time_us))
        .collect();
    let expected = [
        (Some("layer0/attn"), 2, 301.0),
        (Some("layer1/attn"), 2, 301.0),
        (Some("layer0/mlp"), 2, 121.0),
        (Some("layer1/mlp"), 2, 121.0),
        (None, 1, 5.0),
    ];
    assert_eq!((&groups[..], by.iteration_count), (&expected[..], None));
    // Without signposts there is no such column.
    assert_eq!(report_of("OP CODE,OP TYPE\nAdd,tt_dnn_device\n").column("signpost"), None);
}
