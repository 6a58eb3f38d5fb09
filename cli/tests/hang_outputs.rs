//! What each output says of a kernel that has hung or crashed: kept, lost and unknown records are those
//! that the kernel has made, and its open zone is named, whether its records stay in L1 or stream.
//!
//! The numbers are counted from the kernel's code and from the rules of docs/streaming.md.

use crate::{
    hangs::PROCESSORS,
    losses_alike::assert_alike,
    program::{compiles, kernel_compiler, kprof},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
};
use tests::sizes::full_or;

/// A kernel that records and then goes wrong, in a zone or between zones, and a kernel that ends.
const SOURCE: &str = r#"#include "tools/profiler/kernel_profiler.hpp"

namespace {

volatile uint32_t& word(uint32_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

inline __attribute__((always_inline)) void go_wrong(uint32_t state) {
#if defined(CRASHES)
    asm volatile("ebreak");
#elif defined(LOADS_NOWHERE)
    const uint32_t value = word(0x01000000);
    asm volatile("" ::"r"(value));
#elif defined(RUNS)
    while (state != 7) {
        state = state * 4 + 1;
        asm volatile("" : "+r"(state));
    }
#elif defined(MISSES_SEMAPHORE)
    while (word(0x90000) != 5) {}
#elif defined(MISSES_TILE)
    while (static_cast<uint16_t>(word(0xFFB43000 + RECEIVED)) < 1) {}
#elif defined(MISSES_WRITE)
    const uint32_t before = word(0xFFB30204);
    while (word(0xFFB30204) != before + 1) {}
#endif
}

}  // namespace

extern "C" void kernel_main(const volatile uint32_t* launch, uint32_t) {
#if defined(ENDS)
    for (uint32_t pass = 0; pass < 3; ++pass) { DeviceZoneScopedN("SOUND"); }
#else
    {
        DeviceZoneScopedN("OUTER");
        for (uint32_t pass = 0; pass < PASSES; ++pass) {
            DeviceZoneScopedN("DONE");
            DeviceTimestampedData("VALUE", pass);
            DeviceRecordEvent(7);
        }
#if defined(NESTED)
        DeviceZoneScopedN("INNER");
        go_wrong(launch[3]);
#endif
    }
    go_wrong(launch[3]);
#endif
}
"#;

const KINDS: [&str; 6] =
    ["CRASHES", "LOADS_NOWHERE", "RUNS", "MISSES_SEMAPHORE", "MISSES_TILE", "MISSES_WRITE"];

/// Number of passes of a kernel's loop.
const PASSES: u64 = 5;
/// Cells of a chunk, which a RISC publishes together.
const CHUNK_CELLS: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    arch: &'static str,
    kind: &'static str,
    /// Index of the processor.
    processor: usize,
    is_nested: bool,
    is_streaming: bool,
}

impl Case {
    /// Returns one of 60 combinations of chip, processor and kind, in a zone and between zones, with
    /// and without a stream.
    fn number(number: usize) -> Self {
        Self {
            arch: ["wormhole_b0", "blackhole"][number % 2],
            processor: number / 2 % 5,
            kind: KINDS[number / 10 % 6],
            is_nested: (number / 2 + number / 10).is_multiple_of(2),
            is_streaming: (number / 4 + number / 10) % 2 == 1,
        }
    }

    fn label(self) -> &'static str {
        PROCESSORS[self.processor].2
    }

    /// Returns a processor on which a kernel ends.
    const fn sound(self) -> usize {
        (self.processor + 2) % 5
    }
}

/// Numbers of records by kind and name.
type Counts = BTreeMap<(&'static str, &'static str), u64>;

/// Returns what the kernel that goes wrong has recorded, without its open zones.
fn recorded(case: Case) -> Vec<(&'static str, &'static str, u64)> {
    let pass = [("data", "VALUE", 2), ("events", "7", 1), ("zones", "DONE", 1)];
    let mut cells: Vec<_> = (0..PASSES).flat_map(|_| pass).collect();
    if !case.is_nested {
        cells.push(("zones", "OUTER", 1));
    }
    cells
}

/// Returns the numbers of records that are kept of the kernel that goes wrong.
///
/// From L1, all are. Of a stream, those of published chunks are: a RISC publishes a chunk with the first
/// record that no longer fits. The first chunk begins with the two cells of the launch.
fn kept(case: Case) -> Counts {
    let (mut counts, mut open, mut used) = (Counts::new(), Vec::new(), 2);
    for (list, name, cells) in recorded(case) {
        if case.is_streaming && used + cells > CHUNK_CELLS {
            open.drain(..).for_each(|key| *counts.entry(key).or_default() += 1);
            used = 0;
        }
        used += cells;
        open.push((list, name));
    }
    if !case.is_streaming {
        open.drain(..).for_each(|key| *counts.entry(key).or_default() += 1);
    }
    counts
}

struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hang-outputs");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        assert!(kprof(&folder, &["sdk", "sdk"]).status.success());
        assert!(kprof(&folder, &["sdk", "--stream", "sdk-stream"]).status.success());
        fs::write(folder.join("hang.cpp"), SOURCE).unwrap();
        Self { folder }
    }

    /// Compiles a kernel; returns `None` after printing a reason.
    fn compile(&self, case: Case, processor: usize, definitions: &[&str]) -> Option<String> {
        let mut command = kernel_compiler();
        command.args(["-DCOMPILE_FOR_BRISC", "-DPROFILE_KERNEL=1", "-g"]);
        command.arg(format!("-DPASSES={PASSES}"));
        command.args(definitions.iter().map(|name| format!("-D{name}")));
        command.args(case.is_streaming.then_some("-DKERNEL_PROFILER_STREAM"));
        let (arch, received) = match case.arch {
            "blackhole" => ("-DARCH_BLACKHOLE", "-DRECEIVED=0x28"),
            _ => ("-DARCH_WORMHOLE", "-DRECEIVED=0x10"),
        };
        command.args([arch, received]);
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        command.arg("-I").arg(repository.join("kernel-profiler/include"));
        let scripts = if case.is_streaming { "sdk-stream" } else { "sdk" };
        let (name, _, risc) = PROCESSORS[processor];
        let script = self.folder.join(scripts).join(case.arch).join(format!("{name}.ld"));
        let elf = format!("{risc}.elf");
        command.arg("-T").arg(script).arg("hang.cpp").arg("-o").arg(&elf);
        compiles(command.current_dir(&self.folder)).then_some(elf)
    }

    /// Runs a case into a capture; returns the JSON document and the messages.
    fn run(&self, case: Case) -> Option<(Value, String)> {
        let mut definitions = vec![case.kind];
        definitions.extend(case.is_nested.then_some("NESTED"));
        let elf = self.compile(case, case.processor, &definitions)?;
        let sound = self.compile(case, case.sound(), &["ENDS"])?;
        let _ = fs::remove_file(self.folder.join("hang.kprof"));
        let mut args = vec!["capture", "--arch", case.arch, "--grid", "1x1", "-o", "hang.kprof"];
        args.extend(["--cycle-limit", "50000", "--rows", "0"]);
        args.extend([PROCESSORS[case.processor].1, &elf, PROCESSORS[case.sound()].1, &sound]);
        args.extend(case.is_streaming.then_some("--stream"));
        let said = kprof(&self.folder, &args);
        args.push("--json");
        fs::remove_file(self.folder.join("hang.kprof")).unwrap();
        let output = kprof(&self.folder, &args);
        let messages = String::from_utf8(said.stderr).unwrap();
        assert_eq!((said.status.code(), output.status.code()), (Some(2), Some(2)), "{messages}");
        Some((serde_json::from_slice(&output.stdout).unwrap(), messages))
    }

    fn report(&self) -> Value {
        let output = kprof(&self.folder, &["report", "hang.kprof", "--json", "--rows", "0"]);
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Returns the numbers of records of kernels by kind and name.
fn counts_of(document: &Value) -> BTreeMap<(String, String), u64> {
    let mut counts = BTreeMap::new();
    for list in ["zones", "data", "events"] {
        for row in document[list].as_array().unwrap() {
            let name = match &row["name"] {
                Value::String(name) if !name.is_empty() => name.clone(),
                _ => row["marker_id"].to_string(),
            };
            let is_launch = name.ends_with("-FW") || name.ends_with("-KERNEL");
            let count = row["count"].as_u64().unwrap();
            if !is_launch && count > 0 {
                *counts.entry((list.to_owned(), name)).or_default() += count;
            }
        }
    }
    counts
}

/// Checks the losses, the kept records and the open zones in a JSON document.
fn check(document: &Value, case: Case) {
    let mut expected: BTreeMap<_, _> = kept(case)
        .into_iter()
        .map(|((list, name), count)| ((list.to_owned(), name.to_owned()), count))
        .collect();
    // BRISC's firmware waits for the other RISC before it publishes the end of the launch.
    if !(case.is_streaming && case.sound() == 0) {
        expected.insert(("zones".to_owned(), "SOUND".to_owned()), 3);
    }
    assert_eq!(counts_of(document), expected, "{case:?}");
    let (lost, unfinished) = (&document["lost"], &document["unfinished"]);
    let open: BTreeMap<&str, u64> = unfinished["open_zones"]
        .as_array()
        .unwrap()
        .iter()
        .map(|zone| (zone["name"].as_str().unwrap(), zone["risc_count"].as_u64().unwrap()))
        .collect();
    if case.is_streaming {
        assert_eq!(lost["is_lower_bound"], true, "{case:?}: {lost}");
        assert!(lost["records"].is_null(), "{case:?}: {lost}");
        assert!(open.is_empty(), "{case:?}: {open:?}");
        let unknown = unfinished["unknown_count"].as_u64().unwrap();
        assert!((1..=2).contains(&unknown), "{case:?}: {unfinished}");
        return;
    }
    assert_eq!((&lost["records"], &lost["is_lower_bound"]), (&0.into(), &false.into()), "{case:?}");
    assert_eq!(unfinished["unknown_count"], 0, "{case:?}");
    let label = case.label();
    let kernel =
        if label.starts_with("TRISC") { "TRISC-KERNEL" } else { &format!("{label}-KERNEL") };
    let innermost = if case.is_nested { "INNER" } else { kernel };
    let mut named = BTreeMap::from([(innermost, 1)]);
    if case.processor != 0 {
        // BRISC's firmware waits for the RISC that does not end.
        named.insert("BRISC-FW", 1);
    }
    assert_eq!(open, named, "{case:?}");
}

/// Checks where the RISC stands: it is named with its line and, if it is known, its open zone.
fn check_standing(document: &Value, messages: &str, case: Case) {
    let rows = document["standing"].as_array().unwrap();
    let row = rows.iter().find(|row| row["risc"] == case.label()).unwrap();
    assert_eq!(row["is_cause"], true, "{case:?}: {row}");
    let chain = format!("{} {}", row["file"], row["inlined_into"]);
    assert!(chain.contains("hang.cpp"), "{case:?}: {row}");
    let state = match case.kind {
        "CRASHES" | "LOADS_NOWHERE" => "stopped",
        "RUNS" => "runs",
        _ => "waits",
    };
    assert_eq!(row["state"], state, "{case:?}: {row}");
    let zone = &row["zone_name"];
    match (case.is_streaming, case.is_nested) {
        (true, _) => assert!(zone.is_null(), "{case:?}: {row}"),
        (false, true) => assert_eq!(zone, "INNER", "{case:?}: {row}"),
        (false, false) => assert!(zone.as_str().unwrap().ends_with("-KERNEL"), "{case:?}: {row}"),
    }
    let line = messages.lines().find(|line| line.starts_with(&format!("  {} ", case.label())));
    let line = line.unwrap_or_else(|| panic!("{case:?}: {messages}"));
    match zone.as_str() {
        Some(zone) => assert!(line.contains(&format!("; zone {zone} open since cycle ")), "{line}"),
        None => assert!(line.contains("; its open zones are unknown"), "{line}"),
    }
}

#[test]
fn every_output_of_a_hung_kernel_has_what_it_recorded_and_names_its_zone() {
    let bench = Bench::new();
    let mut seen = BTreeSet::new();
    // In a plain run, some of the 60 cases with each kind and processor.
    for number in (0..60).step_by(full_or(1, 7)) {
        let case = Case::number(number);
        let Some((document, messages)) = bench.run(case) else { return };
        println!("{number}: {case:?}");
        check(&document, case);
        check_standing(&document, &messages, case);
        let report = bench.report();
        check(&report, case);
        for key in ["lost", "losses", "unfinished", "zones", "data", "events"] {
            assert_eq!(report[key], document[key], "{case:?}: {key}");
        }
        assert_alike(&bench.folder, "hang.kprof");
        seen.insert(case);
    }
    let kinds: BTreeSet<_> = seen.iter().map(|case| case.kind).collect();
    assert_eq!(kinds, BTreeSet::from(KINDS));
    let processors: BTreeSet<_> = seen.iter().map(|case| case.processor).collect();
    assert_eq!(processors.len(), PROCESSORS.len());
    let forms: BTreeSet<_> =
        seen.iter().map(|case| (case.arch, case.is_nested, case.is_streaming)).collect();
    assert_eq!((seen.len(), forms.len()), full_or((60, 8), (9, 7)), "{forms:?}");
}
