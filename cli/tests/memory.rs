//! Tests of `--memory`. Logs whose packed records are in a temporary file give the same output, in
//! memory that does not grow with the log.

use crate::program::program;
use captures::{log_of_json, log_path};
use std::{
    fs,
    io::{BufWriter, Write},
    path::Path,
    process::{Child, Output, Stdio},
    time::Duration,
};
use tests::sizes::{full_or, is_full};

const HEADER: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
";

const RISCS: [(&str, &str); 5] = [
    ("BRISC", "BRISC"),
    ("NCRISC", "NCRISC"),
    ("TRISC_0", "TRISC"),
    ("TRISC_1", "TRISC"),
    ("TRISC_2", "TRISC"),
];

/// A log of ops that each have a firmware zone and a kernel zone on some lanes.
#[derive(Clone, Copy)]
struct Log {
    op_count: u64,
    /// Number of cores, with five RISCs each.
    core_count: u64,
}

impl Log {
    const fn of_chip(op_count: u64) -> Self {
        Self { op_count, core_count: 64 }
    }

    /// Returns a log with few rows per op, so that the memory for ops is large compared with the
    /// memory for rows.
    #[cfg(target_os = "linux")]
    const fn of_core(op_count: u64) -> Self {
        Self { op_count, core_count: 1 }
    }

    #[cfg(target_os = "linux")]
    const fn row_count(self) -> u64 {
        self.op_count * self.core_count * 5 * 4
    }

    /// Writes the log lane by lane, as tt-metal does, with irregular times. Every hundredth op runs
    /// for longer than 65,536 cycles, and has a value and a text.
    fn write(self, out: &mut impl Write) -> std::io::Result<()> {
        out.write_all(HEADER.as_bytes())?;
        for core in 0..self.core_count {
            let (x, y) = (1 + core % 8, 1 + core / 8);
            for (risc_number, (risc, zone)) in (0..).zip(RISCS) {
                let mut time = 10_000_000_000 + core * 7 + risc_number * 11;
                for op in 1..=self.op_count {
                    let mixed = op.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                    let start = time + mixed % 90;
                    let is_long = op % 100 == 0;
                    let cycles = 4_000 + mixed % 14_000 + if is_long { 100_000 } else { 0 } + core;
                    let ends = [("FW", start, cycles + 80), ("KERNEL", start + 50, cycles)];
                    let [(_, firmware, firmware_cycles), (_, kernel, kernel_cycles)] = ends;
                    for (part, kind, time) in [
                        ("FW", "ZONE_START", firmware),
                        ("KERNEL", "ZONE_START", kernel),
                        ("KERNEL", "ZONE_END", kernel + kernel_cycles),
                        ("FW", "ZONE_END", firmware + firmware_cycles),
                    ] {
                        let (id, program) = (part.len() * 100, op << 10);
                        writeln!(
                            out,
                            "0,{x},{y},{risc},{id},{time},0,{program},,,{zone}-{part},{kind},12,/k.cc,"
                        )?;
                    }
                    if is_long && risc_number == 0 {
                        let (time, program) = (kernel + 5, op << 10);
                        writeln!(
                            out,
                            "0,{x},{y},{risc},9,{time},{mixed},{program},,,note,TS_DATA,13,/k.cc,text {op}"
                        )?;
                    }
                    time = firmware + firmware_cycles + 20_000 + mixed % 5_000;
                }
            }
        }
        Ok(())
    }
}

fn log_of(op_count: u64) -> Vec<u8> {
    let mut text = Vec::new();
    Log::of_chip(op_count).write(&mut text).unwrap();
    text
}

/// Returns the log with every seventh line truncated, every eleventh line removed, and the
/// remaining lines in another order.
fn damaged(log: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(log).unwrap();
    let (header, lines): (Vec<_>, Vec<_>) =
        text.lines().enumerate().partition(|(number, _)| *number < 2);
    let mut kept: Vec<String> = lines
        .iter()
        .filter(|(number, _)| number % 11 != 0)
        .map(|(number, line)| match number % 7 {
            0 => line.chars().take(line.len() / 2).collect(),
            _ => (*line).to_owned(),
        })
        .collect();
    kept.sort_by_key(|line| line.len().wrapping_mul(2_654_435_761) % 97);
    let lines = header.into_iter().map(|(_, line)| line.to_owned()).chain(kept);
    lines.map(|line| line + "\n").collect::<String>().into_bytes()
}

fn run(temporary: &Path, args: &[&str]) -> Output {
    program().args(args).env("TMPDIR", temporary).output().unwrap()
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Returns three limits of memory at full size, and one of them in a plain run, which tries each limit
/// with each command on some logs.
fn limits(place: usize) -> Vec<&'static str> {
    let limits = ["0", "700", "20K"];
    if is_full() { limits.to_vec() } else { vec![limits[place % limits.len()]] }
}

#[test]
fn records_in_a_temporary_file_give_the_same_output() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let mut logs = ["blackhole-noc-256", "wormhole-counters-elw", "wormhole-noc-4096"]
        .map(|log| fs::read(log_path(log)).unwrap())
        .to_vec();
    logs.extend([log_of_json().into_bytes(), log_of(30)]);
    let broken: Vec<_> = logs.iter().map(|log| damaged(log)).collect();
    logs.extend(broken);
    for (number, log) in logs.iter().enumerate() {
        let path = folder.path().join(format!("{number}.csv"));
        fs::write(&path, log).unwrap();
        let path = path.to_str().unwrap();
        let commands = [
            &["report"][..],
            &["report", "--json"],
            &["explain", "--json"],
            &["noc"],
            &["diff", path],
            &["export", "-o", "-", "-f", "perfetto"],
            &["export", "-o", "-", "-f", "folded"],
        ];
        for (place, command) in (number..).zip(commands) {
            let args = [command, &[path]].concat();
            let whole = run(temporary.path(), &args);
            // Logs without NoC events have no traffic.
            let is_empty = command == ["noc"] && whole.status.code() == Some(1);
            assert_eq!(whole.stdout.is_empty(), is_empty, "{args:?}: {whole:?}");
            for memory in limits(place) {
                let args = [&args[..], &["--memory", memory]].concat();
                let mut limited = run(temporary.path(), &args);
                // An export or a comparison of a log with NoC events says that it has no limit.
                let said = String::from_utf8(limited.stderr).unwrap();
                let notes = said.split_inclusive('\n');
                let others = notes.filter(|note| !note.ends_with(": --memory is no limit\n"));
                limited.stderr = others.collect::<String>().into_bytes();
                assert!(limited.stderr == said.as_bytes() || ["diff", "export"].contains(&args[0]));
                assert_eq!(limited, whole, "{args:?}");
            }
        }
        let whole = ops_reports(temporary.path(), path, "4G");
        for memory in limits(number) {
            assert_eq!(ops_reports(temporary.path(), path, memory), whole, "{path} in {memory}");
        }
    }
    assert_eq!(entries(temporary.path()), 0);
}

/// Returns the reports that `ops` writes about a log.
fn ops_reports(temporary: &Path, log: &str, memory: &str) -> [String; 3] {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let args = ["ops", log, "--no-copies", "--perf-report", "-o", folder, "--memory", memory];
    let output = run(temporary, &args);
    assert!(output.status.success(), "{output:?}");
    let reports = ["reports/ops_perf_results", "reports/per_core_op_to_op_times"];
    let [ops, cores] = reports.map(|name| format!("{name}.csv"));
    [ops, cores, ".logs/cpp_device_perf_report.csv".to_owned()]
        .map(|name| fs::read_to_string(out.path().join(name)).unwrap())
}

#[test]
fn a_folder_that_takes_no_temporary_file_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (log, missing) = (folder.path().join("log.csv"), folder.path().join("none"));
    fs::write(&log, log_of(3)).unwrap();
    let log = log.to_str().unwrap();
    for command in ["report", "explain", "noc", "ops"] {
        let output = run(&missing, &[command, log, "--memory", "0"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = format!(
            "kprof: {log}: expected room for a temporary file in {}, where records beyond --memory \
             are kept, found: there is no folder {0}; free some, name another folder by TMPDIR, or \
             raise --memory\n",
            missing.display()
        );
        assert_eq!(said, expected);
        // No temporary file is needed if all records are in memory.
        assert_ne!(run(&missing, &[command, log]).status.code(), Some(2));
    }
    let output = run(&missing, &["report", log, "--memory", "much"]);
    assert_eq!(output.status.code(), Some(2));
}

const REPORT: [&str; 3] = ["report", "-", "--json"];

/// Starts a command that reads a log from standard input.
fn begun(temporary: &Path, command_args: &[&str], memory: &str) -> Child {
    let mut command = program();
    command.args(command_args).args(["--memory", memory]).env("TMPDIR", temporary);
    // With several threads, the number of log blocks in memory at the same time would vary.
    command.env("RAYON_NUM_THREADS", "1").env("MALLOC_ARENA_MAX", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn a_kill_leaves_no_temporary_file() {
    let temporary = tempfile::tempdir().unwrap();
    let log = log_of(20);
    for kill in [false, true] {
        let mut child = begun(temporary.path(), &REPORT, "0");
        let mut input = child.stdin.take().unwrap();
        input.write_all(&log).unwrap();
        input.write_all(&log).unwrap();
        // Blocks of the first copy are packed by now, because the pipe holds less than the second
        // copy.
        if kill {
            child.kill().unwrap();
        }
        drop(input);
        assert_eq!(child.wait().unwrap().success(), !kill);
        assert!(run(temporary.path(), &["report", "--help"]).status.success());
        assert_eq!(entries(temporary.path()), 0);
    }
}

/// Returns the peak memory of a command that reads a generated log, in KiB.
#[cfg(target_os = "linux")]
fn peak_kib(log: Log, command_args: &[&str], memory: &str) -> u64 {
    let temporary = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut child = begun(temporary.path(), command_args, memory);
    let mut input = BufWriter::with_capacity(1 << 20, child.stdin.take().unwrap());
    let feeder = std::thread::spawn(move || log.write(&mut input).unwrap());
    let peak = peak_of(child);
    feeder.join().unwrap();
    peak
}

/// Returns the peak anonymous memory of a command, in KiB.
///
/// Pages of mapped files do not count: the program's own file, and a mapped log. The number of
/// these pages in memory differs from run to run.
#[cfg(target_os = "linux")]
fn peak_of(mut child: Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    peak
}

/// Returns the peak memory of `kprof merge` for a generated log, in KiB.
#[cfg(all(target_os = "linux", feature = "parquet"))]
fn merge_peak_kib(log: Log) -> u64 {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let output = folder.path().join("out");
    peak_kib(log, &["merge", "host=-", "-o", output.to_str().unwrap()], "1M")
}

/// Returns the number of ops in the longer log: `KPROF_MEMORY_OPS`, or `default`. `.ci/full` sets a
/// number of ops with 15 million rows.
#[cfg(target_os = "linux")]
fn op_count_or(default: u64) -> u64 {
    let chosen = std::env::var("KPROF_MEMORY_OPS").ok();
    chosen.map_or(default, |count| count.parse().unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn a_report_takes_less_than_half_a_kilobyte_for_each_op() {
    let logs = [4_000, full_or(28_000, 16_000)].map(Log::of_core);
    let peaks_kib @ [short_kib, long_kib] = logs.map(|log| peak_kib(log, &REPORT, "1M"));
    println!("{} rows: {peaks_kib:?} KiB", logs[1].row_count());
    assert!(short_kib > 4_000, "{short_kib} KiB are less than a program takes");
    let more_ops = logs[1].op_count - logs[0].op_count;
    assert!(long_kib < short_kib + more_ops / 2, "{peaks_kib:?} KiB");
}

#[test]
#[cfg(target_os = "linux")]
fn the_rows_of_a_report_take_memory_only_without_a_limit() {
    let long = Log::of_chip(op_count_or(640));
    let short = Log::of_chip(long.op_count / 8);
    let peaks_kib @ [short_kib, long_kib] = [short, long].map(|log| peak_kib(log, &REPORT, "1M"));
    println!("{} rows: {peaks_kib:?} KiB", long.row_count());
    // The table of duration counts stops growing, so it does not depend on the number of rows.
    assert!(long_kib < short_kib + 3_000 + long.op_count / 2, "{peaks_kib:?} KiB");
    // The packed records of an op take more than 3 KiB.
    let unlimited_kib = peak_kib(long, &REPORT, "64G");
    println!("without a limit: {unlimited_kib} KiB");
    assert!(unlimited_kib > long_kib + 2 * long.op_count, "{unlimited_kib} KiB, {peaks_kib:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn exports_and_comparisons_of_eight_times_the_rows_take_hardly_more_memory() {
    let long = Log::of_chip(op_count_or(full_or(640, 320)));
    let short = Log::of_chip(long.op_count / 8);
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("short.csv");
    short.write(&mut fs::File::create(&path).map(BufWriter::new).unwrap()).unwrap();
    for args in [
        &["export", "-", "-o", "-", "-f", "folded"][..],
        &["export", "-", "-o", "-", "-f", "folded-chip"],
        &["export", "-", "-o", "-", "-f", "chrome"],
        &["diff", path.to_str().unwrap(), "-"],
    ] {
        let peaks_kib @ [short_kib, long_kib] = [short, long].map(|log| peak_kib(log, args, "1M"));
        println!("{args:?}, {} rows: {peaks_kib:?} KiB", long.row_count());
        // The records of an op take about 100 KiB in memory. An op takes less than 1 KiB, and each
        // of its zones about as much in a comparison.
        assert!(long_kib < short_kib + 4_000 + 6 * long.op_count, "{args:?}: {peaks_kib:?} KiB");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn ops_of_eight_times_the_rows_take_hardly_more_memory() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("profile_log_device.csv");
    let write = |log: Log| {
        log.write(&mut fs::File::create(&path).map(BufWriter::new).unwrap()).unwrap();
    };
    let peak_kib = |memory: &str| {
        let out = folder.path().join("out");
        let args = ["ops", path.to_str().unwrap(), "--no-copies", "-o", out.to_str().unwrap()];
        peak_of(begun(folder.path(), &args, memory))
    };
    let long = Log::of_chip(640);
    let short = Log::of_chip(long.op_count / 8);
    write(short);
    let short_kib = peak_kib("1M");
    write(long);
    let long_kib = peak_kib("1M");
    println!("{} rows: {short_kib} and {long_kib} KiB", long.row_count());
    // For each op, the rows of the reports take about 1 KiB, and the packed records take more than
    // 3 KiB.
    assert!(long_kib < short_kib + 3_000 + 2 * long.op_count, "{short_kib} and {long_kib} KiB");
    let unlimited_kib = peak_kib("64G");
    let least_kib = long_kib + 2 * long.op_count;
    assert!(unlimited_kib > least_kib, "{unlimited_kib} KiB, {long_kib} with a limit");
}

#[test]
#[cfg(all(target_os = "linux", feature = "parquet"))]
fn the_memory_of_a_merge_does_not_grow_with_the_rows() {
    let long = Log::of_chip(op_count_or(800));
    // Both logs have more zones than fit into a row group of the dataset.
    let short = Log::of_chip(long.op_count.min(1_600) / 4);
    // The packed records of an op take more than 3 KiB. Until the ops fill a row group, an op takes
    // more than 1 KiB in the row group and in the ops report.
    let more_ops = long.op_count - short.op_count;
    let [short_kib, long_kib] = merge_peaks_kib([short, long], 3_000 + more_ops * 5 / 3);
    println!("{} rows: {short_kib} and {long_kib} KiB", long.row_count());
    assert!(long_kib < 150_000, "{long_kib} KiB");
}

#[test]
#[cfg(all(target_os = "linux", feature = "parquet"))]
fn a_merge_keeps_no_op_unpacked() {
    let logs = [8_000, 24_000].map(Log::of_core);
    // An unpacked op takes more than 1 KiB. The ops of neither log fill a row group. An op takes
    // 0.5 KiB in the row group, and 0.2 KiB in the ops report.
    let more_ops = logs[1].op_count - logs[0].op_count;
    let peaks_kib = merge_peaks_kib(logs, more_ops * 7 / 5);
    println!("{} rows: {peaks_kib:?} KiB", logs[1].row_count());
}

/// Returns the peak memory of merging a short log and of merging a long log, in KiB. Fails if the
/// long log takes `more_kib` more than the short log.
///
/// The memory is sampled every few milliseconds. On a busy machine, the samples may miss the peak
/// of the short merge, so that merge is measured up to three times.
#[cfg(all(target_os = "linux", feature = "parquet"))]
fn merge_peaks_kib([short, long]: [Log; 2], more_kib: u64) -> [u64; 2] {
    let long_kib = merge_peak_kib(long);
    let mut short_kib = 0;
    for _ in 0..3 {
        short_kib = merge_peak_kib(short).max(short_kib);
        if long_kib < short_kib + more_kib {
            return [short_kib, long_kib];
        }
    }
    panic!("{long_kib} KiB instead of at most {more_kib} KiB more than {short_kib} KiB")
}
