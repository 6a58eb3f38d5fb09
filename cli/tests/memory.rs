//! `--memory`: logs whose packed records are in a temporary file give the same output, in memory
//! that does not grow with them.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod program;

use captures::{log_of_json, log_path};
use program::program;
use std::{
    fs,
    io::Write,
    path::Path,
    process::{Child, Output, Stdio},
    time::Duration,
};

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

/// Rows of a log for each op: a firmware zone and a kernel zone on five RISCs of 64 cores.
const ROWS_PER_OP: u64 = 64 * 5 * 4;

/// Writes a log of `op_count` ops lane by lane, as tt-metal does, with irregular times. Every
/// hundredth op runs for longer than 65,536 cycles, and has a value and a text.
fn write_log(op_count: u64, out: &mut impl Write) -> std::io::Result<()> {
    out.write_all(HEADER.as_bytes())?;
    for core in 0..64_u64 {
        let (x, y) = (1 + core % 8, 1 + core / 8);
        for (risc_number, (risc, zone)) in (0..).zip(RISCS) {
            let mut time = 10_000_000_000 + core * 7 + risc_number * 11;
            for op in 1..=op_count {
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

fn log_of(op_count: u64) -> Vec<u8> {
    let mut text = Vec::new();
    write_log(op_count, &mut text).unwrap();
    text
}

/// The log with every seventh line cut, every eleventh gone, and the rest in another order.
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
        for command in [&["report"][..], &["report", "--json"], &["explain", "--json"], &["noc"]] {
            let args = [command, &[path]].concat();
            let whole = run(temporary.path(), &args);
            // Logs without NoC events have no traffic.
            let is_empty = command == ["noc"] && whole.status.code() == Some(1);
            assert_eq!(whole.stdout.is_empty(), is_empty, "{args:?}: {whole:?}");
            for memory in ["0", "700", "20K"] {
                let args = [&args[..], &["--memory", memory]].concat();
                assert_eq!(run(temporary.path(), &args), whole, "{args:?}");
            }
        }
        let whole = ops_reports(temporary.path(), path, "4G");
        for memory in ["0", "700", "20K"] {
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
        // Nothing needs a file if all records are in memory.
        assert_ne!(run(&missing, &[command, log]).status.code(), Some(2));
    }
    let output = run(&missing, &["report", log, "--memory", "much"]);
    assert_eq!(output.status.code(), Some(2));
}

const REPORT: [&str; 3] = ["report", "-", "--json"];

/// Begins a command on standard input.
fn begun(temporary: &Path, command_args: &[&str], memory: &str) -> Child {
    let mut command = program();
    command.args(command_args).args(["--memory", memory]).env("TMPDIR", temporary);
    // With several threads, blocks of the log wait for each other, some more and some less.
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
        // Blocks of the first copy are packed by now, since the pipe holds less than the second.
        if kill {
            child.kill().unwrap();
        }
        drop(input);
        assert_eq!(child.wait().unwrap().success(), !kill);
        assert!(run(temporary.path(), &["report", "--help"]).status.success());
        assert_eq!(entries(temporary.path()), 0);
    }
}

/// Returns the most memory that a command on a generated log takes, in KiB.
fn peak_kib(op_count: u64, command_args: &[&str], memory: &str) -> u64 {
    let temporary = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut child = begun(temporary.path(), command_args, memory);
    let mut input = std::io::BufWriter::with_capacity(1 << 20, child.stdin.take().unwrap());
    let feeder = std::thread::spawn(move || write_log(op_count, &mut input).unwrap());
    let peak = peak_of(child);
    feeder.join().unwrap();
    peak
}

/// Returns the most memory that a command takes, in KiB.
fn peak_of(mut child: Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    peak
}

/// Ops of the longer log; `.ci/full` takes as many as fill 15 million rows.
const OPS_VARIABLE: &str = "KPROF_MEMORY_OPS";

#[test]
#[cfg(target_os = "linux")]
fn a_report_of_eight_times_the_rows_takes_the_same_memory() {
    let chosen = std::env::var(OPS_VARIABLE).ok().map(|count| count.parse::<u64>().unwrap());
    let long = chosen.unwrap_or(640);
    let peaks_kib = [long / 8, long].map(|op_count| peak_kib(op_count, &REPORT, "1M"));
    let [short_kib, long_kib] = peaks_kib;
    println!("{} rows: {peaks_kib:?} KiB", long * ROWS_PER_OP);
    assert!(short_kib > 4_000, "{short_kib} KiB are less than a program takes");
    // An op takes less than 200 bytes packed, and its records in the lane that is unpacked twice as
    // much again; its packed records take more than 3 KiB. Counts of durations stop growing.
    assert!(long_kib < short_kib + 6_000 + long / 2, "{peaks_kib:?} KiB");
    let unlimited_kib = peak_kib(long, &REPORT, "64G");
    assert!(unlimited_kib > long_kib + 3 * long, "{unlimited_kib} KiB, {peaks_kib:?} with a limit");
    println!("without a limit: {unlimited_kib} KiB");
}

#[test]
#[cfg(target_os = "linux")]
fn ops_of_eight_times_the_rows_take_hardly_more_memory() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let log = folder.path().join("profile_log_device.csv");
    let peak_kib = |op_count: u64, memory: &str| {
        fs::write(&log, log_of(op_count)).unwrap();
        let out = folder.path().join("out");
        let args = ["ops", log.to_str().unwrap(), "--no-copies", "-o", out.to_str().unwrap()];
        peak_of(begun(folder.path(), &args, memory))
    };
    let long = 640;
    let (short_kib, long_kib) = (peak_kib(long / 8, "1M"), peak_kib(long, "1M"));
    println!("{} rows: {short_kib} and {long_kib} KiB", long * ROWS_PER_OP);
    // The rows of the reports on an op take about 1 KiB; its packed records more than 3 KiB.
    assert!(long_kib < short_kib + 6_000 + 2 * long, "{short_kib} and {long_kib} KiB");
    let unlimited_kib = peak_kib(long, "64G");
    assert!(unlimited_kib > long_kib + 3 * long, "{unlimited_kib} KiB, {long_kib} with a limit");
}

#[test]
#[cfg(all(target_os = "linux", feature = "parquet"))]
fn a_merge_of_a_longer_log_takes_hardly_more_memory() {
    let chosen = std::env::var(OPS_VARIABLE).ok().map(|count| count.parse::<u64>().unwrap());
    let long = chosen.unwrap_or(800);
    // Each has more zones than a row group of the dataset.
    let short = long.min(1_600) / 4;
    let folder = tempfile::tempdir().unwrap();
    let peaks_kib = [short, long].map(|op_count| {
        let output = folder.path().join(op_count.to_string());
        let peak = peak_kib(op_count, &["merge", "host=-", "-o", output.to_str().unwrap()], "1M");
        fs::remove_dir_all(output).unwrap();
        peak
    });
    let [short_kib, long_kib] = peaks_kib;
    println!("{} rows: {peaks_kib:?} KiB", long * ROWS_PER_OP);
    // Records of an op take more than 80 KiB unpacked; its figures and rows of reports stay.
    assert!(long_kib < short_kib + 12 * (long - short), "{peaks_kib:?} KiB");
    assert!(long_kib < 150_000, "{long_kib} KiB");
}
