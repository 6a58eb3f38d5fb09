//! A generated folder like those that TT-Metal writes: the device log and the ops CSV of the same
//! ops.

use std::{fmt::Write, path::Path};

/// The two header lines of a device log: chip data and column titles.
const LOG_TITLES: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
    PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
    run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n";

/// Titles of an ops CSV, up to the columns of tensors.
const OP_TITLES: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,CORE COUNT,\
    AVAILABLE WORKER CORE COUNT,DEVICE FW START CYCLE,DEVICE KERNEL DURATION [ns],\
    OP TO OP LATENCY [ns],ATTRIBUTES,MATH FIDELITY";

/// An op, as described in the device log and in the ops CSV.
#[derive(Clone, Copy, Debug)]
pub struct DescribedOp {
    /// Op code.
    pub code: &'static str,
    /// Call number of the op, which is the program id in the device log.
    pub program: u64,
    /// First cycle of the op's firmware zone. The firmware takes 10 cycles before the kernel and 10
    /// cycles after the kernel.
    pub start_cycle: u64,
    /// Duration of the op's kernel in ns. A cycle takes 1 ns.
    pub kernel_ns: u64,
    /// Number of columns of the output and of the second input. The second input is in DRAM.
    pub columns: u64,
}

/// Returns two iterations of a model of two ops: a matmul and an addition.
///
/// The matmul takes 100 us. Reading its weights in this time takes 45 % of the DRAM bandwidth of
/// 288 GB/s.
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

/// Returns the device log of ops that ran on one core.
///
/// # Panics
/// Never: writing to a string cannot fail.
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

/// Returns the titles of a tensor's columns.
fn tensor_titles(name: &str) -> String {
    let sides = ["W", "Z", "Y", "X"].map(|side| format!("{name}_{side}_PAD[LOGICAL]"));
    format!("{},{name}_DATATYPE,{name}_MEMORY", sides.join(","))
}

/// Returns the cells of a tensor of 32 rows.
fn tensor(columns: u64, memory: &str) -> String {
    format!("1[1],1[1],32[32],{columns}[{columns}],BFLOAT16,DEV_0_{memory}_INTERLEAVED")
}

/// Returns an ops CSV with these ops. If there are several ops, an op of the host precedes the last
/// one.
///
/// # Panics
/// Never: writing to a string cannot fail.
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

/// Writes the device log of ops to the subfolder `.logs` of a folder.
///
/// # Panics
/// If the log cannot be written.
pub fn write_device_log(folder: &Path, ops: &[DescribedOp]) {
    write(&folder.join(".logs/profile_log_device.csv"), &device_log_of(ops));
}

/// Writes the ops CSV of ops below the subfolder `reports` of a folder.
///
/// # Panics
/// If the ops CSV cannot be written.
pub fn write_ops_csv(folder: &Path, ops: &[DescribedOp]) {
    write(&folder.join("reports/today/ops_perf_results_today.csv"), &ops_csv_of(ops));
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
