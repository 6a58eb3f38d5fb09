//! Every kind of file, given to every command that takes one: either the command reads the file, or
//! its one sentence says what the file is, and each command named in the sentence reads it.

use crate::program::{kprof, program};
use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};
use tests::sizes::full_or;

/// Words for a file that no command reads; a sentence must contain them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Read by these commands of [`COMMANDS`]; others call it by the words.
    Read(&'static [&'static str], &'static str),
    /// Read by no command.
    Named(&'static str),
}

/// A file of a kind: its name, content and the expected answer.
struct Sample {
    name: String,
    content: Vec<u8>,
    answer: Answer,
}

/// Commands that take a file. `FILE` stands for it.
const COMMANDS: [(&str, &[&str]); 12] = [
    ("report", &["report", "FILE"]),
    ("report json", &["report", "FILE", "--json"]),
    ("explain", &["explain", "FILE"]),
    ("perf", &["perf", "FILE"]),
    ("noc", &["noc", "FILE"]),
    ("ops", &["ops", "FILE", "-o", "made"]),
    ("info", &["info", "FILE"]),
    ("check", &["check", "FILE"]),
    ("diff", &["diff", "FILE", "FILE"]),
    ("page", &["export", "FILE", "-o", "page.html"]),
    ("trace", &["export", "FILE", "-o", "trace.pftrace"]),
    ("log", &["export", "FILE", "-f", "device-log", "-o", "profile_log_device.csv"]),
];

const OF_CAPTURE: &[&str] = &[
    "report",
    "report json",
    "explain",
    "noc",
    "ops",
    "info",
    "check",
    "diff",
    "page",
    "trace",
    "log",
];
const OF_LOG: &[&str] =
    &["report", "report json", "explain", "noc", "ops", "diff", "page", "trace", "log"];
const OF_OPS: &[&str] = &["explain", "perf", "diff", "page"];

const LOG: &str = "\
ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
0,1,2,BRISC,7,100,0,1024,,,BRISC-KERNEL,ZONE_START,1,a.cc,
0,1,2,BRISC,7,160,0,1024,,,BRISC-KERNEL,ZONE_END,1,a.cc,
";

const OPS: &str = "\
OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,HOST START TS,DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],CORE COUNT,INPUT_0_MEMORY
Matmul,tt_dnn_device,1024,0,{},5,1600,1500,20,64,DEV_0_L1
Softmax,tt_dnn_device,2048,0,{},5,1600,1500,20,64,DEV_0_L1
";

const DEVICE_OPS: &str = "\
GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,OP NAME,CORE COUNT,DEVICE KERNEL DURATION [ns]
1024,0,wormhole_b0,Matmul,64,1500
";

const PROGRAMS: &str = "\
DEVICE ID,GLOBAL CALL COUNT,EXECUTION,CORE COUNT,DEVICE KERNEL START CYCLE,DEVICE KERNEL END CYCLE,DEVICE KERNEL DURATION [ns]
0,1024,0,64,1000,2350,1000
";

const NOC_TRACE: &str = r#"[
{"run_host_id":1024,"op_name":"A","proc":"BRISC","zone":"BRISC-KERNEL","zone_phase":"begin","sx":1,"sy":1,"timestamp":7},
{"run_host_id":1024,"op_name":"A","proc":"BRISC","noc":"NOC_0","vc":1,"sx":1,"sy":1,"dx":0,"dy":11,"num_bytes":2048,"type":"READ","timestamp":9}
]
"#;

fn repository_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn without_lines(text: &str, count: usize) -> String {
    text.split_inclusive('\n').skip(count).collect()
}

/// Returns the files whose content is written here, with their answers.
fn written() -> Vec<(&'static str, Vec<u8>, Answer)> {
    use Answer::{Named, Read};
    let utf16 = |text: &str| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        b"\xFF\xFE".iter().copied().chain(units).collect::<Vec<u8>>()
    };
    let capture = fs::read(repository_file("tests/captures/kprof/v1.5.kprof")).unwrap();
    vec![
        ("run.kprof", capture, Read(OF_CAPTURE, "a capture")),
        ("log.csv", LOG.into(), Read(OF_LOG, "a device log")),
        ("ops.csv", OPS.into(), Read(OF_OPS, "an ops CSV")),
        ("device.csv", DEVICE_OPS.into(), Read(OF_OPS, "a table of the ops on a device")),
        ("programs.csv", PROGRAMS.into(), Read(OF_OPS, "an ops CSV")),
        ("events.json", NOC_TRACE.into(), Read(&["noc"], "a NoC trace of one op")),
        (
            "headless.csv",
            without_lines(LOG, 1).into(),
            Named("a device log without its first line"),
        ),
        (
            "rows.csv",
            without_lines(LOG, 2).into(),
            Named("lines of a device log without its first two lines"),
        ),
        (
            "renamed.csv",
            OPS.replacen("OP CODE", "OPERATION", 1).into(),
            Named("a table of ops without the column `OP CODE`"),
        ),
        ("semicolons.csv", OPS.replace(',', ";").into(), Named("not separated by commas")),
        (
            "tabs.csv",
            LOG.replace(',', "\t").replacen("ARCH: ", "ARCH ", 1).into(),
            Named("other text"),
        ),
        ("utf16.csv", utf16(OPS), Named("text in UTF-16")),
        ("t.tracy", b"tlZ\x04\x13^\0\0".to_vec(), Named("a recording of Tracy")),
        ("x.gz", b"\x1F\x8B\x08\0\0\0".to_vec(), Named("a file compressed by gzip")),
        ("x.zst", b"\x28\xB5\x2F\xFD\x04\0".to_vec(), Named("a file compressed by zstd")),
        ("x.zip", b"PK\x03\x04\x14\0".to_vec(), Named("a ZIP archive")),
        ("x.sqlite", b"SQLite format 3\0\x10".to_vec(), Named("an SQLite database")),
        ("k.elf", b"\x7FELF\x01\x01".to_vec(), Named("a program or kernel (ELF)")),
        ("t.parquet", b"PAR1\x15\0PAR1".to_vec(), Named("a Parquet file")),
        (
            "s.json",
            b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"}".to_vec(),
            Named("a profile for speedscope"),
        ),
        ("a.json", b"{\"a\": 1}".to_vec(), Named("another JSON file")),
        ("a.csv", b"a,b,c\n1,2,3\n".to_vec(), Named("another CSV")),
        ("a.txt", b"hello\nworld\n".to_vec(), Named("other text")),
        ("a.bin", b"\x01\0\x02\0\x03".to_vec(), Named("other bytes")),
        (
            "cores.csv",
            b"device ID,op2op ID,1; 1 [ns]\n0,7 -> 8,70\n".to_vec(),
            Named("the times between the ops of each core"),
        ),
        ("none.csv", Vec::new(), Named("an empty file")),
        (
            "cluster_descriptor.yaml",
            b"arch: {\n  0: wormhole_b0,\n}\nharvesting: {\n}\n".to_vec(),
            Named("a description of a cluster"),
        ),
    ]
}

/// Returns the files that kprof itself writes, made by kprof in the folder.
fn made(folder: &Path) -> Vec<(String, Vec<u8>, Answer)> {
    fs::create_dir(folder).unwrap();
    let run = |args: &[&str]| {
        let output = kprof(folder, args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        output.stdout
    };
    fs::write(folder.join("ops.csv"), OPS).unwrap();
    fs::copy(repository_file("tests/captures/kprof/v1.5.kprof"), folder.join("run.kprof")).unwrap();
    run(&["perf", "ops.csv", "--csv", "table.csv"]);
    run(&["ops", "run.kprof", "-o", "art"]);
    for name in ["t.json", "t.html", "t.pftrace"] {
        run(&["export", "run.kprof", "-o", name]);
    }
    let page = run(&["report", "run.kprof", "--json"]);
    fs::write(folder.join("report.json"), page).unwrap();
    let perf = "that tt-perf-report and `kprof perf --csv` write";
    let files = [
        ("table.csv", perf),
        ("table_stacked.csv", perf),
        ("table_stacked.svg", "a picture (SVG)"),
        (
            "art/.logs/tracy_ops_times.csv",
            "the host's zones in time, as Tracy's csvexport writes them",
        ),
        ("art/.logs/tracy_ops_data.csv", "the host's messages about ops"),
        ("art/.logs/zone_src_locations.log", "a list of the zones' names"),
        ("art/.logs/sync_device_info.csv", "samples of clocks"),
        ("t.json", "a trace for Chrome's and Perfetto's viewers"),
        ("t.html", "an HTML page"),
        ("t.pftrace", "other bytes"),
        ("report.json", "another JSON file"),
    ];
    files
        .into_iter()
        .map(|(path, words)| {
            let name = Path::new(path).file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(folder.join(path)).unwrap(), Answer::Named(words))
        })
        .collect()
}

/// Returns a text as other programs may have written it: lines that end in CR LF, a byte order mark,
/// comments above the titles, one more column.
fn variants(name: &str, content: &[u8]) -> Vec<(String, Vec<u8>)> {
    let Ok(text) = std::str::from_utf8(content) else { return Vec::new() };
    let is_table =
        name.ends_with(".csv") && !text.is_empty() && !name.starts_with("tracy_ops_data");
    if !is_table {
        return Vec::new();
    }
    let of = |what: &str, content: Vec<u8>| (format!("{what}-{name}"), content);
    let lines = || text.lines();
    let crlf: String = lines().flat_map(|line| [line, "\r\n"]).collect();
    vec![
        of("crlf", crlf.into()),
        of("bom", [b"\xEF\xBB\xBF", content].concat()),
        of("comments", [b"# host 7\n#\n", content].concat()),
    ]
}

fn samples(folder: &Path) -> Vec<Sample> {
    let written =
        written().into_iter().map(|(name, content, answer)| (name.to_owned(), content, answer));
    let mut samples = Vec::new();
    for (name, content, answer) in written.chain(made(folder)) {
        for (name, content) in variants(&name, &content) {
            samples.push(Sample { name, content, answer });
        }
        samples.push(Sample { name, content, answer });
    }
    samples
}

fn with_file(args: &[&str], name: &str) -> Vec<String> {
    args.iter().map(|arg| arg.replace("FILE", name)).collect()
}

fn run(folder: &Path, args: &[String]) -> Output {
    program().args(args).current_dir(folder).output().unwrap()
}

/// Returns the commands about the file that a sentence names in back quotes.
fn advised(sentence: &str, name: &str) -> Vec<Vec<String>> {
    let quoted = sentence.split('`').skip(1).step_by(2);
    let commands = quoted.filter_map(|text| text.strip_prefix("kprof "));
    let about = commands.filter(|text| text.split(' ').any(|word| word == name));
    about.map(|text| text.split(' ').map(str::to_owned).collect()).collect()
}

#[test]
fn each_kind_is_read_or_named_with_commands_that_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let samples = samples(&folder.path().join("made-before")).into_iter();
    let mut advices = BTreeSet::new();
    for (number, Sample { name, content, answer }) in samples.enumerate() {
        let place = folder.path().join(number.to_string());
        fs::create_dir(&place).unwrap();
        fs::write(place.join(&name), content).unwrap();
        let (readers, words) = match answer {
            Answer::Read(readers, words) => (readers, words),
            Answer::Named(words) => (&[][..], words),
        };
        for (at, (command, args)) in COMMANDS.into_iter().enumerate() {
            // A plain run tries each variant with some commands.
            if name.contains('-') && !(at + number).is_multiple_of(full_or(1, 4)) {
                continue;
            }
            let args = with_file(args, &name);
            let output = run(&place, &args);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            if readers.contains(&command) {
                // No NoC events, and a comparison of equal files, are answers too.
                assert!(matches!(output.status.code(), Some(0 | 1)), "{args:?}: {told}");
                continue;
            }
            assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
            assert_eq!(told.lines().count(), 1, "{args:?}: {told}");
            assert!(told.contains(words), "{args:?}, not {words}: {told}");
            let commands = advised(&told, &name);
            assert_eq!(commands.is_empty(), readers.is_empty(), "{args:?}: {told}");
            advices.extend(commands.into_iter().map(|args| (number, name.clone(), args)));
        }
    }
    assert!(advices.len() > 12, "{advices:?}");
    for (number, name, args) in advices {
        let output = run(&folder.path().join(number.to_string()), &args);
        assert!(output.status.success(), "{name}: {args:?}: {output:?}");
    }
}

#[test]
fn a_stream_is_named_like_a_file() {
    for (args, content, sentence) in [
        (["report", "-"], OPS, "found an ops CSV, standard input; write it to a file: "),
        (["explain", "-"], "a,b\n1,2\n", "found another CSV, standard input; name the profile_log"),
        (
            ["perf", "-"],
            LOG,
            "found a device log, standard input; write it to a file: `kprof report",
        ),
        (["perf", "-"], "", "found an empty file, standard input; name the ops_perf_results*.csv"),
    ] {
        let mut child = program()
            .args(args)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(sentence), "{args:?}: {told}");
    }
}

#[test]
fn a_folder_is_sent_to_a_command_only_if_that_command_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("empty")).unwrap();
    fs::create_dir_all(folder.path().join("logs/.logs")).unwrap();
    fs::write(folder.path().join("logs/.logs/profile_log_device.csv"), LOG).unwrap();
    let told = |args: &[&str]| {
        let output = kprof(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let sentence = told(&["perf", "logs"]);
    assert_eq!(advised(&sentence, "logs"), [["ops", "logs"]], "{sentence}");
    assert!(kprof(folder.path(), &["ops", "logs"]).status.success());
    let sentence = told(&["perf", "empty"]);
    assert!(sentence.contains("found the folder empty with neither"), "{sentence}");
    assert_eq!(advised(&sentence, "empty"), Vec::<Vec<String>>::new(), "{sentence}");
}
