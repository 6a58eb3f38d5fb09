//! Tests of `--lines` and `kprof lines`: planted slow lines are named first, with counts that follow
//! from the documented timing, and faulty input is one sentence.

use crate::program::{compiles, kernel_compiler, kprof};
use host_reader::{
    capture::{CaptureWriter, OpMetadata},
    tables::{LineRow, Lines, write_csv},
};
use serde_json::Value;
use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Output},
};
use wire::RunHostId;

/// A kernel with a slow line: its third.
pub(crate) const DIVIDE: &str = r#"
static inline __attribute__((always_inline)) unsigned divide(volatile unsigned* words, unsigned by) {
    return words[0] / by; // slow
}

extern "C" void kernel_main(const unsigned*, unsigned) {
    static volatile unsigned words[2];
    unsigned sum = 0;
    words[0] = 0x12345678;
    for (unsigned i = 0; i < 200; ++i) {
        sum += divide(words, i + 3);
        words[1] = sum;
    }
}
"#;

const NARROW_STORE: &str = r#"
extern "C" void kernel_main(const unsigned*, unsigned) {
    static volatile unsigned char bytes[64];
    for (unsigned i = 0; i < 200; ++i) {
        bytes[0] = i, bytes[16] = i, bytes[32] = i, bytes[48] = i; // slow
    }
}
"#;

const WAIT: &str = r#"
extern "C" void kernel_main(const unsigned*, unsigned) {
    volatile unsigned* clock = reinterpret_cast<volatile unsigned*>(0xFFB121F0u);
    static volatile unsigned word;
    const unsigned begin = *clock;
    while (*clock - begin < 5000) { // slow
    }
    for (unsigned i = 0; i < 20; ++i) {
        word = i;
    }
}
"#;

pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lines").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    assert!(kprof(&folder, &["sdk", "sdk"]).status.success());
    folder
}

/// Compiles a kernel for BRISC with debug information, or without; returns `None` after printing a
/// reason.
pub(crate) fn compile(folder: &Path, arch: &str, source: &str, has_lines: bool) -> Option<PathBuf> {
    let (file, elf) = (folder.join("slow.cpp"), folder.join("slow.elf"));
    fs::write(&file, source).unwrap();
    let mut command = kernel_compiler();
    command.arg("-T").arg(folder.join("sdk").join(arch).join("brisc.ld"));
    command.arg(if has_lines { "-g" } else { "-s" }).arg(&file).arg("-o").arg(&elf);
    compiles(&mut command).then_some(elf)
}

pub(crate) fn run(folder: &Path, arch: &str) -> Output {
    let args = ["run", "--arch", arch, "--kernel", "slow.elf", "--grid", "2x2"];
    let output = kprof(folder, &[&args[..], &["--lines", "-o", "out"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn rows(folder: &Path) -> Vec<Value> {
    let output = kprof(folder, &["lines", "out", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["lines"].as_array().unwrap().clone()
}

fn sum(rows: &[Value], column: &str, is_chosen: impl Fn(&Value) -> bool) -> u64 {
    let chosen = rows.iter().filter(|row| is_chosen(row));
    chosen.map(|row| row[column].as_u64().unwrap()).sum()
}

/// Cores of the grid.
const CORES: u64 = 4;

#[test]
fn planted_slow_lines_are_named_first_with_their_reason() {
    // A division of 29 bits takes 33 cycles on both chips, and each store of a byte to L1 blocks the
    // port for 5 cycles.
    let plants = [
        ("divide", DIVIDE, "arithmetic_cycles", 200 * 32),
        ("store", NARROW_STORE, "store_cycles", 0),
        ("wait", WAIT, "register_load_cycles", 0),
    ];
    for arch in ["wormhole_b0", "blackhole"] {
        for (name, source, column, exact) in plants {
            let folder = folder(&format!("{name}-{arch}"));
            if compile(&folder, arch, source, true).is_none() {
                return;
            }
            run(&folder, arch);
            let rows = rows(&folder);
            let slow: Vec<u64> = (1..)
                .zip(source.lines())
                .filter(|(_, line)| line.contains("// slow"))
                .map(|(number, _)| number)
                .collect();
            let is_slow =
                |row: &Value| row["line"].as_u64().is_some_and(|line| slow.contains(&line));
            let all = sum(&rows, "total_cycles", |row| row["code"] == "kernel");
            let planted = sum(&rows, "total_cycles", is_slow);
            assert!(planted * 2 > all, "{name} on {arch}: {planted} of {all}");
            let reason = sum(&rows, column, is_slow);
            assert!(reason * 3 > planted, "{name} on {arch}: {reason} of {planted}");
            if exact > 0 {
                assert_eq!(reason, exact * CORES, "{name} on {arch}");
            }
            let text = kprof(&folder, &["lines", "out"]);
            let text = String::from_utf8(text.stdout).unwrap();
            let first = text.lines().skip_while(|line| !line.starts_with("Lines")).nth(2).unwrap();
            assert!(slow.iter().any(|line| first.contains(&format!("slow.cpp:{line} "))), "{text}");
            check_explanation(&folder, &slow, (planted, all));
        }
    }
}

/// `kprof explain` names one of the slow lines, with its share of the kernel's cycles, until a run
/// without lines has replaced the recording.
fn check_explanation(folder: &Path, slow: &[u64], (planted, all): (u64, u64)) {
    let explained = || -> Value {
        let done = kprof(folder, &["explain", "out", "--json"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let found = explained();
    let line = &found["lines"][0];
    assert!(slow.contains(&line["line"].as_u64().unwrap()), "{line}");
    assert!(line["cycles"].as_u64().unwrap() <= planted, "{line}");
    assert!(
        line["percent"].as_f64().unwrap() <= planted as f64 * 100.0 / all as f64 + 0.1,
        "{line}"
    );
    assert_eq!((&line["risc"], &line["core_count"]), (&"BRISC".into(), &CORES.into()));
    let sentence = line["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("BRISC in ") && sentence.contains("slow.cpp:"), "{sentence}");
    let text = String::from_utf8(kprof(folder, &["explain", "out"]).stdout).unwrap();
    assert!(text.contains(sentence), "{text}");
    let again =
        kprof(folder, &["run", "--workload", "matmul", "--ops", "1", "--grid", "1x1", "-o", "out"]);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert!(explained()["lines"].is_null(), "lines of the earlier run");
}

#[test]
fn a_waiting_loop_waits_for_the_clock_as_long_as_it_says() {
    for arch in ["wormhole_b0", "blackhole"] {
        let folder = folder(&format!("clock-{arch}"));
        if compile(&folder, arch, WAIT, true).is_none() {
            return;
        }
        run(&folder, arch);
        let rows = rows(&folder);
        let is_wait = |row: &Value| row["code"] == "kernel" && row["waits_for"] == "wall clock";
        let waited = sum(&rows, "total_cycles", is_wait);
        assert!((CORES * 4950..=CORES * 5020).contains(&waited), "{arch}: {waited}");
    }
}

/// The cycles of a RISC's kernel are those of its zone, up to the few instructions around it.
#[test]
fn lines_of_a_kernel_sum_to_the_time_that_its_zone_recorded() {
    for arch in ["wormhole_b0", "blackhole"] {
        let folder = folder(&format!("zone-{arch}"));
        if compile(&folder, arch, DIVIDE, true).is_none() {
            return;
        }
        let args = ["run", "--arch", arch, "--kernel", "slow.elf", "--grid", "2x2", "--json"];
        let output = kprof(&folder, &[&args[..], &["--lines=cores", "-o", "out"]].concat());
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let zones = document["zones"].as_array().unwrap();
        let zone = zones.iter().find(|zone| zone["name"] == "BRISC-KERNEL").unwrap();
        let recorded = zone["total_cycles"].as_u64().unwrap();
        let rows = rows(&folder);
        let counted = sum(&rows, "total_cycles", |row| row["code"] == "kernel");
        let around = recorded - counted;
        assert!(around < CORES * 100, "{arch}: zone {recorded}, lines {counted}");
        let mut cores: Vec<_> =
            rows.iter().map(|row| (row["core_x"].as_u64(), row["core_y"].as_u64())).collect();
        cores.sort_unstable();
        cores.dedup();
        assert_eq!(cores.len() as u64, CORES, "{cores:?}");
    }
}

#[test]
fn files_for_other_viewers_have_all_cycles() {
    let folder = folder("viewers");
    if compile(&folder, "wormhole_b0", DIVIDE, true).is_none() {
        return;
    }
    run(&folder, "wormhole_b0");
    let all = sum(&rows(&folder), "total_cycles", |_| true);
    assert!(kprof(&folder, &["lines", "out", "-o", "a.folded"]).status.success());
    let folded = fs::read_to_string(folder.join("a.folded")).unwrap();
    let cycles: u64 =
        folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(cycles, all);
    assert!(
        folded.contains(
            "device 0;slow;BRISC;slow.elf;kernel_main at slow.cpp:11;divide at slow.cpp:3 "
        )
    );
    assert!(kprof(&folder, &["lines", "out", "-o", "a.pb.gz"]).status.success());
    let Ok(top) = Command::new("go")
        .args(["tool", "pprof", "-top", "-lines", "-sample_index=cycles"])
        .arg(folder.join("a.pb.gz"))
        .env("HOME", &folder)
        .output()
    else {
        eprintln!("skipped: go is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&top.stdout).into_owned();
    assert!(top.status.success(), "{}", String::from_utf8_lossy(&top.stderr));
    let first = text.lines().find(|line| line.contains('%') && line.contains("slow.cpp")).unwrap();
    assert!(first.contains("divide") && first.contains("slow.cpp:3"), "{text}");
}

#[test]
fn sources_are_annotated_and_what_is_missing_is_said() {
    let folder = folder("sources");
    if compile(&folder, "wormhole_b0", DIVIDE, true).is_none() {
        return;
    }
    run(&folder, "wormhole_b0");
    let text = |args: &[&str]| {
        let output = kprof(&folder, args);
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let source = text(&["lines", "out", "--source"]);
    assert!(source.lines().any(|line| line.contains("3      return words[0] / by; // slow")));
    fs::create_dir(folder.join("moved")).unwrap();
    fs::rename(folder.join("slow.cpp"), folder.join("moved/slow.cpp")).unwrap();
    let missing = text(&["lines", "out", "--source"]);
    assert!(missing.contains("name its folder with --source-dir FROM=TO"), "{missing}");
    let map = format!("{}={}", folder.display(), folder.join("moved").display());
    assert_eq!(text(&["lines", "out", "--source", "--source-dir", &map]), source);
    let risc = text(&["lines", "out", "--risc", "NOC"]);
    assert!(risc.contains("expected the RISC `NOC`, found BRISC"), "{risc}");
    fs::write(folder.join("other.csv"), "a,b\n").unwrap();
    let other = text(&["lines", "other.csv"]);
    assert!(other.contains("found no column `chip_id`"), "{other}");
    let none = text(&["lines", "nowhere"]);
    assert!(none.contains("run the kernels with `kprof run --lines`"), "{none}");
}

#[test]
fn a_stripped_kernel_has_addresses_and_a_sentence() {
    let folder = folder("stripped");
    if compile(&folder, "wormhole_b0", DIVIDE, false).is_none() {
        return;
    }
    let output = run(&folder, "wormhole_b0");
    let notes = String::from_utf8(output.stderr).unwrap();
    let wanted = "slow.elf has neither debug information nor symbols";
    assert_eq!(notes.matches(wanted).count(), 1, "{notes}");
    let kernel = || -> Vec<Value> {
        rows(&folder).into_iter().filter(|row| row["code"] == "kernel").collect()
    };
    let stripped = kernel();
    assert!(stripped.len() > 10);
    assert!(stripped.iter().all(|row| row["file"].is_null() && row["function"].is_null()));
    // Debug information changes no instruction and no cycle.
    compile(&folder, "wormhole_b0", DIVIDE, true).unwrap();
    run(&folder, "wormhole_b0");
    let executed = |rows: &[Value]| -> Vec<[Value; 4]> {
        let columns = ["address", "instruction", "instructions", "total_cycles"];
        rows.iter().map(|row| columns.map(|column| row[column].clone())).collect()
    };
    let full = kernel();
    assert_eq!(executed(&full), executed(&stripped));
    assert!(full.iter().all(|row| row["file"].is_string() && row["function"].is_string()));
}

/// A division that became a shift, below a new line: the line keeps its partner, and the change is
/// that of the arithmetic cycles, which the chips' timing gives.
#[test]
fn lines_of_two_builds_are_compared() {
    let folder = folder("builds");
    let faster = DIVIDE.replace("words[0] / by; // slow", "words[0] >> by; // quick");
    let faster = faster.replace("static inline", "// A comment more.\nstatic inline");
    for (name, source) in [("a", DIVIDE), ("b", faster.as_str())] {
        if compile(&folder, "wormhole_b0", source, true).is_none() {
            return;
        }
        run(&folder, "wormhole_b0");
        fs::rename(folder.join("out"), folder.join(name)).unwrap();
    }
    let of = |name: &str| -> Vec<Value> {
        let output = kprof(&folder, &["lines", name, "--json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["lines"].as_array().unwrap().clone()
    };
    let (a, b) = (of("a"), of("b"));
    let texts: Vec<_> = a.iter().filter(|row| row["line"] == 3).collect();
    assert!(!texts.is_empty());
    let text = "    return words[0] / by; // slow";
    assert!(texts.iter().all(|row| row["source_text"] == text), "{texts:?}");
    let output = kprof(&folder, &["diff", "a", "b", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lines = &document["lines"];
    let kernel = |row: &Value| row["code"] != "firmware";
    assert_eq!(lines["a_cycles"], sum(&a, "total_cycles", kernel) as f64);
    assert_eq!(lines["b_cycles"], sum(&b, "total_cycles", kernel) as f64);
    assert_eq!(lines["is_per_launch"], false);
    let first = &lines["changes"][0];
    assert_eq!((&first["a"]["line"], &first["b"]["line"]), (&3.into(), &4.into()));
    let divide = |rows: &[Value], line: u64| {
        let is_it = |row: &Value| row["line"] == line && row["function"] == "divide";
        sum(rows, "total_cycles", is_it)
    };
    let (before, change) = (divide(&a, 3), divide(&b, 4));
    assert_eq!(first["change_cycles"], change as f64 - before as f64);
    // A division of 29 bits takes 32 cycles more than a shift, 200 times on each core.
    let saved = before - change;
    assert!(saved >= 200 * 31 * CORES, "{saved}");
    let text = String::from_utf8(kprof(&folder, &["diff", "a", "b"]).stdout).unwrap();
    let table = text.lines().skip_while(|line| !line.starts_with("Lines of source")).nth(3);
    let table = table.unwrap();
    assert!(table.contains("slow.cpp:3") && table.contains("slow.cpp:4"), "{text}");
    assert!(table.ends_with("return words[0] >> by; // quick"), "{text}");
    fs::remove_file(folder.join("b/.logs/kprof_lines.csv")).unwrap();
    let text = String::from_utf8(kprof(&folder, &["diff", "a", "b"]).stdout).unwrap();
    assert!(
        text.contains("Lines of source are not compared: only A was recorded with --lines"),
        "{text}"
    );
    assert!(!text.contains("slow.cpp:3 "), "{text}");
}

/// Frames of a call as a capture has them.
fn call(name: &str, function: &str, line: u32, module: &str) -> [(String, String); 2] {
    let frames = serde_json::json!({ "left_out": 3, "frames": [
        { "file": "/src/run.py", "line": 9, "function": "main", "module": null },
        { "file": "/src/model.py", "line": line, "function": function, "module": module },
    ]});
    [("call".to_owned(), name.to_owned()), ("call_frames".to_owned(), frames.to_string())]
}

/// Writes a capture with calls, and its table of lines: 10 cycles of program 1, 20 of program 2, and 40 of
/// program 3, which has two calls.
fn called_lines(folder: &Path) {
    let op = |program: u32, call: [(String, String); 2]| OpMetadata {
        run_host_id: RunHostId(program << 10),
        fields: call.into(),
        ..OpMetadata::default()
    };
    let ops = vec![
        op(1, call("a", "Layer.run", 5, "M.0")),
        op(2, call("b", "Layer.run", 5, "M.1")),
        op(3, call("a", "Layer.run", 5, "M.0")),
        op(3, call("b", "Layer.run", 5, "M.1")),
    ];
    let mut writer = CaptureWriter::create(folder.join("a.kprof")).unwrap();
    writer.append(&ops).unwrap();
    writer.finish().unwrap();
    let row = |program: u32, cycles| LineRow {
        run_host_id: program << 10,
        op: Some("Add".to_owned()),
        risc: "BRISC".to_owned(),
        code: "kernel".to_owned(),
        function: Some("kernel_main".to_owned()),
        file: Some("/k/add.cpp".to_owned()),
        line: Some(7),
        cycles: [cycles, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ..LineRow::default()
    };
    let table = File::create(folder.join("a.lines.csv")).unwrap();
    write_csv::<Lines>(&[row(1, 10), row(2, 20), row(3, 40)], table).unwrap();
}

#[test]
fn stacks_begin_with_the_functions_that_called_the_op() {
    let folder = tempfile::tempdir().unwrap();
    called_lines(folder.path());
    let written = kprof(folder.path(), &["lines", "a.kprof", "-o", "a.folded"]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let expected = "\
device 0;[3 outer functions left out];main at run.py:9;Layer.run [M.0] at model.py:5;Add;BRISC;unknown code;kernel_main at add.cpp:7 10
device 0;[3 outer functions left out];main at run.py:9;Layer.run [M.1] at model.py:5;Add;BRISC;unknown code;kernel_main at add.cpp:7 20
device 0;[call unknown];Add;BRISC;unknown code;kernel_main at add.cpp:7 40
";
    assert_eq!(fs::read_to_string(folder.path().join("a.folded")).unwrap(), expected);
    // The table alone has no calls.
    let written = kprof(folder.path(), &["lines", "a.lines.csv", "-o", "b.folded"]);
    assert!(written.status.success());
    let expected = "device 0;Add;BRISC;unknown code;kernel_main at add.cpp:7 70\n";
    assert_eq!(fs::read_to_string(folder.path().join("b.folded")).unwrap(), expected);
}

#[test]
fn lines_are_those_of_a_module() {
    let folder = tempfile::tempdir().unwrap();
    called_lines(folder.path());
    let said = |args: &[&str]| {
        let done = kprof(folder.path(), args);
        String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap()
    };
    let table = said(&["lines", "a.kprof"]);
    let modules = table.split_once("\nModules, each with the line that takes most\n").unwrap().1;
    let cells = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let found: Vec<String> =
        modules.lines().map(cells).filter(|line| line.contains(" % ")).collect();
    let line = "100.0 % BRISC add.cpp:7 kernel_main issue 100.0 %";
    let expected = ["40 57.1 % (module unknown)", "20 28.6 % M.1", "10 14.3 % M.0"];
    assert_eq!(found, expected.map(|module| format!("{module} {line}")), "{table}");
    assert!(!said(&["lines", "a.lines.csv"]).contains("Modules"));
    for (module, cycles) in [("M", 30), ("M.1", 20)] {
        let rows = said(&["lines", "a.kprof", "--module", module, "--json"]);
        let rows: Value = serde_json::from_str(&rows).unwrap();
        assert_eq!(sum(rows["lines"].as_array().unwrap(), "total_cycles", |_| true), cycles);
    }
    // A part of a name is no module.
    for other in ["M.", "N"] {
        let sentence = format!("expected the module `{other}`, found M.0, M.1");
        let found = said(&["lines", "a.kprof", "--module", other]);
        assert!(found.contains(&sentence), "{found}");
    }
    let none = said(&["lines", "a.lines.csv", "--module", "M"]);
    assert!(none.contains("INPUT must be the recording"), "{none}");
}
