//! Tables of the ops on a device, without data from a host.

use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, proptest};
use reports::perf::{OpsCsvFormat, read_ops_csv};

/// Columns of `cpp_device_perf_report.csv` that a report uses, and two that it does not.
const TITLES: [&str; 9] = [
    "GLOBAL CALL COUNT",
    "DEVICE ARCH",
    "DEVICE ID",
    "OP NAME",
    "CORE COUNT",
    "DEVICE FW START CYCLE",
    "DEVICE KERNEL DURATION [ns]",
    "OP TO OP LATENCY [ns]",
    "A COLUMN OF A LATER VERSION",
];

fn cells(op: u64) -> [String; 9] {
    [
        (op * 1024).to_string(),
        "wormhole_b0".to_owned(),
        "0".to_owned(),
        if op.is_multiple_of(4) { String::new() } else { format!("Op{op}") },
        "64".to_owned(),
        (op * 100_000).to_string(),
        (op * 10).to_string(),
        "500".to_owned(),
        "of no known kind".to_owned(),
    ]
}

proptest! {
    #[test]
    fn whole_rows_are_read_wherever_the_file_ends(
        count in 1_u64..12,
        order in Just((0..TITLES.len()).collect::<Vec<_>>()).prop_shuffle(),
        comments in prop::collection::vec("#[ -~]{0,30}", 0..3),
        end_percent in 0_usize..=100,
        is_cut in any::<bool>(),
    ) {
        let line = |cells: &[String]| {
            let cells = order.iter().map(|&at| cells[at].as_str());
            format!("{}\n", cells.collect::<Vec<_>>().join(","))
        };
        let head: String = comments.iter().map(|comment| format!("{comment}\n")).collect();
        let head = head + &line(&TITLES.map(str::to_owned));
        let rows: String = (1..=count).map(|op| line(&cells(op))).collect();
        let end = if is_cut { rows.len() * end_percent / 100 } else { rows.len() };
        let whole = rows[..end].matches('\n').count();
        let csv = read_ops_csv(format!("{head}{}", &rows[..end]).as_bytes(), "a.csv").unwrap();
        prop_assert_eq!(csv.format, OpsCsvFormat::Device);
        prop_assert!(csv.rows.len() == whole || csv.rows.len() == whole + 1);
        let first_line = comments.len() as u64 + 2;
        for row in csv.rows.iter().filter(|row| row.line < first_line + whole as u64) {
            let op = row.line - first_line + 1;
            let name = if op.is_multiple_of(4) {
                format!("program {op}")
            } else {
                format!("Op{op}")
            };
            prop_assert_eq!(&*row.op_code, name);
            prop_assert!(row.is_device_op());
            let duration_ns = row.kernel_duration_ns.map(|ns| ns.to_string());
            prop_assert_eq!(duration_ns, Some((op * 10).to_string()));
            prop_assert_eq!(row.core_count, Some(64));
        }
    }
}
