//! A model's device log and its ops CSV, as a folder of TT-Metal holds both.

use std::{fmt::Write, path::Path};

/// Titles of a device log, with those of the chip before them.
const LOG_TITLES: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
    PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
    run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n";

/// Titles of an ops CSV before those of its tensors.
const OP_TITLES: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,CORE COUNT,\
    AVAILABLE WORKER CORE COUNT,DEVICE FW START CYCLE,DEVICE KERNEL DURATION [ns],\
    OP TO OP LATENCY [ns],ATTRIBUTES,MATH FIDELITY";

/// An op with its place in the device log.
#[derive(Clone, Copy, Debug)]
pub struct DescribedOp {
    /// Op code.
    pub code: &'static str,
    /// Number of the call.
    pub program: u64,
    /// First cycle of its firmware, which takes 10 cycles before the kernel and 10 after it.
    pub start_cycle: u64,
    /// Length of its kernel, of which a cycle is a nanosecond.
    pub kernel_ns: u64,
    /// Columns of its second input, which lies in DRAM, and of its output.
    pub columns: u64,
}

/// The ops of a model that runs twice: a matmul whose weights take 45 % of the DRAM's 288 GB/s in
/// its 100 us, and an addition.
#[must_use]
pub fn described_model() -> [DescribedOp; 4] {
    let matmul = DescribedOp {
        code: "Matmul",
        program: 1024,
        start_cycle: 50_000,
        kernel_ns: 100_000,
        columns: 202_500,
    };
    let add = DescribedOp {
        code: "BinaryNg",
        program: 2048,
        start_cycle: 152_020,
        kernel_ns: 20_000,
        columns: 32,
    };
    let again = [
        DescribedOp { program: 3072, start_cycle: 174_040, ..matmul },
        DescribedOp { program: 4096, start_cycle: 276_060, ..add },
    ];
    let [matmul_again, add_again] = again;
    [matmul, add, matmul_again, add_again]
}

/// The device log of ops on one core.
///
/// # Panics
/// Never: a text grows.
#[must_use]
pub fn device_log_of(ops: &[DescribedOp]) -> String {
    let mut log = LOG_TITLES.to_owned();
    for op in ops {
        let (start, program) = (op.start_cycle, op.program);
        let end = start + op.kernel_ns + 20;
        for (id, time, zone, kind) in [
            (7, start, "BRISC-FW", "ZONE_START"),
            (8, start + 10, "BRISC-KERNEL", "ZONE_START"),
            (8, end - 10, "BRISC-KERNEL", "ZONE_END"),
            (7, end, "BRISC-FW", "ZONE_END"),
        ] {
            writeln!(log, "0,1,2,BRISC,{id},{time},0,{program},,,{zone},{kind},1,/b.cc,").unwrap();
        }
    }
    log
}

/// Titles of a tensor's columns.
fn tensor_titles(name: &str) -> String {
    let sides = ["W", "Z", "Y", "X"].map(|side| format!("{name}_{side}_PAD[LOGICAL]"));
    format!("{},{name}_DATATYPE,{name}_MEMORY", sides.join(","))
}

/// Cells of a tensor of 32 rows.
fn tensor(columns: u64, memory: &str) -> String {
    format!("1[1],1[1],32[32],{columns}[{columns}],BFLOAT16,DEV_0_{memory}_INTERLEAVED")
}

/// The ops CSV of ops, with an op of the host before the last one of several.
///
/// # Panics
/// Never: a text grows.
#[must_use]
pub fn ops_csv_of(ops: &[DescribedOp]) -> String {
    let tensors = ["INPUT_0", "INPUT_1", "OUTPUT_0"].map(tensor_titles);
    let mut csv = format!("{OP_TITLES},{}\n", tensors.join(","));
    let column_count = csv.split(',').count();
    for (number, op) in (1..).zip(ops) {
        if number == ops.len() && number > 1 {
            let blanks = ",".repeat(column_count - 2);
            writeln!(csv, "(torch) sum,python_fallback{blanks}").unwrap();
        }
        let DescribedOp { code, program, start_cycle, kernel_ns, columns } = *op;
        writeln!(
            csv,
            "{code},tt_dnn_device,{program},0,wormhole_b0,64,64,{start_cycle},{kernel_ns},2000,{{}},\
             HiFi2,{},{},{}",
            tensor(32, "L1"),
            tensor(columns, "DRAM"),
            tensor(columns, "L1")
        )
        .unwrap();
    }
    csv
}

/// Writes the device log of ops into a folder of TT-Metal's logs.
///
/// # Panics
/// If it cannot be written.
pub fn write_device_log(folder: &Path, ops: &[DescribedOp]) {
    write(&folder.join(".logs/profile_log_device.csv"), &device_log_of(ops));
}

/// Writes the ops CSV of ops below the folder's reports.
///
/// # Panics
/// If it cannot be written.
pub fn write_ops_csv(folder: &Path, ops: &[DescribedOp]) {
    write(&folder.join("reports/today/ops_perf_results_today.csv"), &ops_csv_of(ops));
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
