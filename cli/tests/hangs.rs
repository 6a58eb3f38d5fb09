//! Kernels that hang: `kprof run` names the RISC, the line at which it stands, and what it waits for.

use crate::program::{compiles, kernel_compiler, kprof};
use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
};
use tests::sizes::full_or;

/// A kernel that hangs at the line of the mark that its name has in capitals. `AT` is a register or
/// address for which it waits, and `OTHER` one that it signals.
const SOURCE: &str = r#"#include "tools/profiler/kernel_profiler.hpp"

namespace {

volatile uint32_t& word(uint32_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

/// Returns a counter of a circular buffer.
constexpr uint32_t counter(uint32_t buffer) { return 0xFFB40000 + 0x1000 * buffer + RECEIVED; }

inline __attribute__((always_inline)) void wait_front(uint32_t buffer, uint32_t tiles) {
    while (static_cast<uint16_t>(word(counter(buffer))) < tiles) {  // BUFFER
    }
}

inline __attribute__((always_inline)) void push(uint32_t buffer) {
    word(counter(buffer)) = word(counter(buffer)) + 1;
}

}  // namespace

extern "C" void kernel_main(const volatile uint32_t* launch, uint32_t /* risc */) {
    DeviceZoneScopedN("WORK");
#if defined(PUSHES_ONE)
    push(AT);
#elif defined(WAITS_FOR_TWO)
    wait_front(AT, 2);  // CALL
#elif defined(WAITS_IN_CIRCLE)
    push(OTHER);
    for (uint32_t turn = 0; turn < 100; ++turn) {
        static_cast<void>(launch[3]);
    }
    wait_front(AT, 2);  // CALL
    push(OTHER);
#elif defined(LOSES_SEMAPHORE)
    while (word(AT) != 5) {  // SEMAPHORE
    }
#elif defined(BREAKS)
    asm volatile("ebreak");  // BREAK
    push(AT);
#elif defined(PUSHES_AND_BREAKS)
    push(AT);
    asm volatile("ebreak");  // PUSHED
    push(AT);
#elif defined(RUNS)
    uint32_t state = launch[3];
    while (state != launch[0] || state != 7) { state = state * 1664525 + 1013904223; }  // ENDLESS
#elif defined(RUNS_AND_STORES)
    volatile uint32_t* place = &word(0x80000);
    for (;;) {
        *place = *place + 1;  // STORES
    }
#elif defined(MISSES_WRITE)
    const uint32_t address = 0xFFB20000 + 0x10000 * AT + 0x204;
    const uint32_t before = word(address);
    while (word(address) != before + 1) {  // BARRIER
    }
#elif defined(WAITS_AND_RAISES)
    wait_front(AT, 1);  // CALL
    word(0x90000) = 1;
#elif defined(WAITS_AND_PUSHES)
    while (word(0x90000) != 1) {  // RAISED
    }
    push(AT);
#elif defined(MISSES_FLAG_AND_PUSHES)
    while (word(0x80040) == 0) {  // UNRAISED
    }
    push(AT);
#elif defined(MISSES_FLAG)
    while (word(AT) == 0) {  // FLAG
    }
#endif
}
"#;

/// Processors of a kernel: name, option of `kprof run`, and RISC.
pub(crate) const PROCESSORS: [(&str, &str, &str); 5] = [
    ("brisc", "--kernel", "BRISC"),
    ("ncrisc", "--kernel-ncrisc", "NCRISC"),
    ("trisc0", "--kernel-trisc0", "TRISC_0"),
    ("trisc1", "--kernel-trisc1", "TRISC_1"),
    ("trisc2", "--kernel-trisc2", "TRISC_2"),
];

/// What is known about a RISC that hangs.
#[derive(Clone, Copy, Debug)]
struct Expected {
    /// Index of the processor.
    processor: usize,
    /// Mark at the end of the line.
    mark: &'static str,
    state: &'static str,
    waits_for: Option<&'static str>,
    value: Option<u64>,
    /// RISCs that have signalled, by index; `None` if it is unknown.
    signalled_by: Option<&'static [usize]>,
    is_cause: bool,
}

/// Kernels by processor and definition, and the RISCs that hang.
struct Hang {
    kernels: Vec<(usize, &'static str, &'static str)>,
    hung: Vec<Expected>,
}

fn waits(processor: usize, mark: &'static str, object: &'static str, value: u64) -> Expected {
    let (state, waits_for) = ("waits", Some(object));
    let value = Some(value);
    Expected { processor, mark, state, waits_for, value, signalled_by: None, is_cause: true }
}

fn stands(processor: usize, mark: &'static str, state: &'static str) -> Expected {
    let (waits_for, value) = (None, None);
    Expected { processor, mark, state, waits_for, value, signalled_by: None, is_cause: true }
}

/// Hangs on one processor, with another one as its partner.
fn hangs(one: usize, other: usize) -> Vec<Hang> {
    let by: [&[usize]; 5] = [&[0], &[1], &[2], &[3], &[4]];
    let front =
        |object, by, at| Expected { signalled_by: Some(by), ..waits(at, "BUFFER", object, 1) };
    vec![
        // A push is missing.
        Hang {
            kernels: vec![(other, "PUSHES_ONE", "3"), (one, "WAITS_FOR_TWO", "3")],
            hung: vec![front("CB_WAIT 3", by[other], one)],
        },
        // A semaphore is lost.
        Hang {
            kernels: vec![(one, "LOSES_SEMAPHORE", "0x90000")],
            hung: vec![Expected {
                signalled_by: Some(&[]),
                ..waits(one, "SEMAPHORE", "SEM_WAIT 0x90000", 0)
            }],
        },
        // Each of two buffers waits for the other.
        Hang {
            kernels: vec![(one, "WAITS_IN_CIRCLE", "3"), (other, "WAITS_IN_CIRCLE", "4")],
            hung: vec![front("CB_WAIT 3", by[other], one), front("CB_WAIT 4", by[one], other)],
        },
        Hang { kernels: vec![(one, "BREAKS", "3")], hung: vec![stands(one, "BREAK", "stopped")] },
        // The one that has pushed before it broke hinders the other.
        Hang {
            kernels: vec![(one, "PUSHES_AND_BREAKS", "3"), (other, "WAITS_FOR_TWO", "3")],
            hung: vec![
                stands(one, "PUSHED", "stopped"),
                Expected { is_cause: false, ..front("CB_WAIT 3", by[one], other) },
            ],
        },
        Hang {
            kernels: vec![(one, "RUNS_AND_STORES", "3"), (other, "PUSHES_ONE", "3")],
            hung: vec![stands(one, "STORES", "runs")],
        },
        Hang { kernels: vec![(one, "RUNS", "3")], hung: vec![stands(one, "ENDLESS", "runs")] },
        // Nobody writes over the NoC.
        Hang {
            kernels: vec![(one, "MISSES_WRITE", "1")],
            hung: vec![waits(one, "BARRIER", "NOC_WRITE_BARRIER 1", 0)],
        },
        Hang {
            kernels: vec![(one, "MISSES_FLAG", "0x80040")],
            hung: vec![waits(one, "FLAG", "L1 0x80040", 0)],
        },
        // A buffer and a semaphore wait for each other. Nobody has signalled yet, but their code does.
        Hang {
            kernels: vec![(one, "WAITS_AND_RAISES", "3"), (other, "WAITS_AND_PUSHES", "3")],
            hung: vec![
                Expected { value: Some(0), ..front("CB_WAIT 3", &[], one) },
                Expected {
                    signalled_by: Some(&[]),
                    ..waits(other, "RAISED", "SEM_WAIT 0x90000", 0)
                },
            ],
        },
        // The one whose code would push waits for what nobody signals.
        Hang {
            kernels: vec![(one, "WAITS_FOR_TWO", "3"), (other, "MISSES_FLAG_AND_PUSHES", "3")],
            hung: vec![
                waits(other, "UNRAISED", "L1 0x80040", 0),
                Expected { value: Some(0), is_cause: false, ..front("CB_WAIT 3", &[], one) },
            ],
        },
    ]
}

struct Bench {
    folder: PathBuf,
    arch: &'static str,
}

impl Bench {
    fn new(name: &str, arch: &'static str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hangs").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        assert!(kprof(&folder, &["sdk", "sdk"]).status.success());
        fs::write(folder.join("hang.cpp"), SOURCE).unwrap();
        Self { folder, arch }
    }

    /// Compiles a kernel; returns `None` after printing a reason.
    fn compile(&self, processor: usize, definitions: &[String], debug: &str) -> Option<String> {
        let (processor, _, risc) = PROCESSORS[processor];
        let mut command = kernel_compiler();
        command.args(["-DCOMPILE_FOR_BRISC", "-DPROFILE_KERNEL=1", debug]);
        let is_blackhole = self.arch == "blackhole";
        command.arg(if is_blackhole { "-DARCH_BLACKHOLE" } else { "-DARCH_WORMHOLE" });
        command.arg(if is_blackhole { "-DRECEIVED=0x28" } else { "-DRECEIVED=0x10" });
        command.args(definitions);
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        command.arg("-I").arg(repository.join("kernel-profiler/include"));
        let script = self.folder.join("sdk").join(self.arch).join(format!("{processor}.ld"));
        let elf = format!("{risc}.elf");
        command.arg("-T").arg(script).arg("hang.cpp").arg("-o").arg(&elf);
        compiles(command.current_dir(&self.folder)).then_some(elf)
    }

    /// Runs the kernels of a hang on one core, and returns the options of the command.
    fn arguments(&self, hang: &Hang, debug: &str) -> Option<Vec<String>> {
        let mut args: Vec<String> =
            ["run", "--arch", self.arch, "--grid", "1x1", "-o", "out"].map(str::to_owned).to_vec();
        args.extend(["--cycle-limit", "30000"].map(str::to_owned));
        for (processor, definition, at) in &hang.kernels {
            let other = if *at == "3" { "4" } else { "3" };
            let definitions =
                [format!("-D{definition}"), format!("-DAT={at}"), format!("-DOTHER={other}")];
            let elf = self.compile(*processor, &definitions, debug)?;
            args.extend([PROCESSORS[*processor].1.to_owned(), elf]);
        }
        Some(args)
    }

    /// Returns the table of the RISCs that hang.
    fn standing(&self, hang: &Hang) -> Option<Vec<Value>> {
        let mut args = self.arguments(hang, "-g")?;
        args.push("--json".to_owned());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = kprof(&self.folder, &args);
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        Some(document["standing"].as_array().unwrap().clone())
    }
}

fn line_of(mark: &str) -> usize {
    let ending = format!("// {mark}");
    1 + SOURCE.lines().position(|line| line.ends_with(&ending)).unwrap()
}

fn label(processor: usize) -> &'static str {
    PROCESSORS[processor].2
}

/// Checks the rows of a hang.
fn check(rows: &[Value], hang: &Hang, case: &str) {
    for expected in &hang.hung {
        let risc = label(expected.processor);
        let row = rows.iter().find(|row| row["risc"] == risc).unwrap();
        let found = |key: &str| row[key].clone();
        assert_eq!(found("state"), expected.state, "{case}: {row}");
        // The compiler counts parts of a loop to the line before it, where a RISC that runs may stand.
        let line = line_of(expected.mark);
        let is_there =
            found("line") == line || expected.state == "runs" && found("line") == line - 1;
        assert!(is_there, "{case}, line {line}: {row}");
        assert!(found("file").as_str().unwrap().ends_with("hang.cpp"), "{case}: {row}");
        assert_eq!(found("code"), "kernel", "{case}: {row}");
        assert_eq!(found("waits_for"), Value::from(expected.waits_for), "{case}: {row}");
        assert_eq!(found("polled_value"), Value::from(expected.value), "{case}: {row}");
        assert_eq!(found("is_cause"), expected.is_cause, "{case}: {row}");
        let is_moving = match expected.state {
            "stopped" => Value::Null,
            _ => true.into(),
        };
        assert_eq!(found("is_moving"), is_moving, "{case}: {row}");
        let by = expected
            .signalled_by
            .map(|riscs| riscs.iter().map(|&risc| label(risc)).collect::<Vec<_>>().join(", "));
        assert_eq!(found("signalled_by"), Value::from(by), "{case}: {row}");
        assert_eq!(found("zone_name"), "WORK", "{case}: {row}");
        assert!(found("zone_start_cycle").as_u64().unwrap() > 0, "{case}: {row}");
        if expected.mark == "BUFFER" {
            let function = found("function");
            assert!(function.as_str().unwrap().contains("wait_front"), "{case}: {row}");
            let outer = found("inlined_into");
            let call = outer.as_str().unwrap();
            let is_call = |line: usize| call.ends_with(&format!("hang.cpp:{line}"));
            let calls = SOURCE.lines().enumerate().filter(|(_, line)| line.ends_with("// CALL"));
            assert!(calls.map(|(at, _)| at + 1).any(is_call), "{case}: {row}");
        }
        let partners: Vec<_> = hang.hung.iter().filter(|other| other.is_cause).collect();
        let circle = match (partners.as_slice(), expected.is_cause) {
            ([one, other], true) => {
                let (one, other) = match one.processor == expected.processor {
                    true => (one, other),
                    false => (other, one),
                };
                let [one, other] = [one, other].map(|of| label(of.processor));
                Value::from(format!("{one} -> {other} -> {one}"))
            }
            _ => Value::Null,
        };
        assert_eq!(found("circle"), circle, "{case}: {row}");
    }
    // Nothing else is blamed.
    for row in rows {
        let risc = row["risc"].as_str().unwrap();
        if hang.hung.iter().any(|expected| label(expected.processor) == risc) {
            continue;
        }
        assert_eq!(row["is_cause"], false, "{case}: {row}");
        assert!(["ended", "waits"].contains(&row["state"].as_str().unwrap()), "{case}: {row}");
        if row["state"] == "waits" {
            assert_eq!((risc, &row["code"]), ("BRISC", &"firmware".into()), "{case}: {row}");
            let waits_for = row["waits_for"].as_str().unwrap();
            let hung: Vec<_> = hang.hung.iter().map(|of| label(of.processor)).collect();
            assert!(hung.iter().any(|risc| waits_for.starts_with(risc)), "{case}: {row}");
        }
    }
    // Causes come first.
    let order = rows.iter().map(|row| row["is_cause"] != true);
    assert!(order.is_sorted(), "{case}: {rows:?}");
}

#[test]
fn of_every_hang_the_risc_and_the_line_are_named() {
    let mut count = 0;
    for arch in ["wormhole_b0", "blackhole"] {
        let bench = Bench::new(arch, arch);
        // In a plain run, each kind of hang is on other processors.
        for one in 0..full_or(5, 2) {
            for (kind, hang) in hangs(one, (one + 2) % 5).iter().enumerate() {
                let case = format!("{arch}, hang {kind} on {}", label(one));
                let Some(rows) = bench.standing(hang) else { return };
                check(&rows, hang, &case);
                count += 1;
            }
        }
    }
    println!("{count} hangs");
}

#[test]
fn a_hang_is_told_in_one_line_for_each_risc() {
    let bench = Bench::new("text", "wormhole_b0");
    let hang = &hangs(1, 3)[0];
    let [waits, call] = ["BUFFER", "CALL"].map(|mark| format!("/hang.cpp:{}", line_of(mark)));
    for (debug, places) in [
        ("-g", vec!["wait_front at …/", &*waits, " < kernel_main at …/", &*call]),
        ("-g0", vec!["in kernel_main (pc 0x"]),
        ("-s", vec!["in an unknown function (pc 0x"]),
    ] {
        let Some(args) = bench.arguments(hang, debug) else { return };
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = kprof(&bench.folder, &args);
        let text = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| line.ends_with("did not end")).unwrap();
        assert!(lines[at].starts_with("kprof: chip 0, core ("), "{text}");
        let line = lines[at + 1];
        assert!(line.starts_with("  NCRISC waits for CB_WAIT 3 (cause) in "), "{text}");
        assert!(places.iter().all(|place| line.contains(place)), "{places:?}: {text}");
        assert!(line.contains("; value 1; signalled by TRISC_1 in this launch"), "{text}");
        assert!(line.contains("; zone WORK open since cycle "), "{text}");
        assert!(lines.contains(&"  TRISC_1: its kernel has ended"), "{text}");
        assert!(lines.contains(&"  BRISC: its firmware waits for NCRISC"), "{text}");
        let has_sentence = lines.iter().any(|line| line.contains("compile it with -g"));
        assert_eq!(has_sentence, debug != "-g", "{text}");
    }
}
