//! Tests of what exports show of the calls of ops: functions before zones, and modules over time.

use super::{ExportFormat, Recording, Trace, TraceFilter};
use host_events::OpMetadata;
use recording::{OpCalls, device_log::read_device_log};
use serde_json::Value;
use std::collections::BTreeMap;
use wire::RunHostId;

/// Calls of a model: each with its frames as `FUNCTION FILE LINE MODULE`, from the outermost one.
const CALLS: [(&str, &[&str]); 5] = [
    (
        "q of 0",
        &[
            "<module> /src/run.py 9 -",
            "M.forward /src/m.py 5 M",
            "Q.__call__ /src/m.py 20 M.layers.0.q",
        ],
    ),
    (
        "0",
        &["<module> /src/run.py 9 -", "M.forward /src/m.py 5 M", "L.run /src/m.py 14 M.layers.0"],
    ),
    (
        "q of 1",
        &[
            "<module> /src/run.py 9 -",
            "M.forward /src/m.py 5 M",
            "Q.__call__ /src/m.py 20 M.layers.1.q",
        ],
    ),
    ("none", &["<module> /src/run.py 11 -"]),
    ("other", &["N.forward <typed;> ? N"]),
];

fn frames(call: &[&str]) -> String {
    let frames = call.iter().map(|frame| {
        let [function, file, line, module] = frame.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{frame}")
        };
        let known = |text: &str| (text != "-").then(|| text.to_owned());
        serde_json::json!({
            "function": function, "file": file, "line": line.parse::<u32>().ok(),
            "module": known(module),
        })
    });
    serde_json::json!({ "frames": frames.collect::<Vec<_>>(), "left_out": 0 }).to_string()
}

/// Time of a kernel on a core that does not run it.
const NOT_THERE: (u64, u64) = (0, 0);

/// An op of the recording: program, name, call, and for each core the start and end of its kernel.
type CalledOp<'t> = (u32, Option<&'t str>, Option<&'t str>, &'t [(u64, u64)]);

/// Records ops on a chip of 1 GHz, whose cycles are nanoseconds.
fn recording(ops: &[CalledOp<'_>]) -> Recording {
    let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,trace id,trace id counter,zone name,type,source line,source file,meta data
"
    .to_owned();
    for core in 0..2 {
        for (program, .., spans) in ops {
            let Some((start, end)) = spans.get(core).filter(|span| **span != NOT_THERE) else {
                continue;
            };
            let id = program << 10;
            for (time, kind, zone) in [
                (*start, "ZONE_START", "BRISC-KERNEL"),
                (start + 10, "ZONE_START", "Load"),
                (start + 30, "ZONE_END", "Load"),
                (*end, "ZONE_END", "BRISC-KERNEL"),
            ] {
                let timer = if zone == "Load" { 9 } else { 8 };
                let x = core + 1;
                log +=
                    &format!("0,{x},2,BRISC,{timer},{time},0,{id},,,{zone},{kind},10,/k/a.cc,\n");
            }
        }
    }
    let calls: BTreeMap<_, _> = CALLS.into_iter().collect();
    let metadata = ops.iter().map(|(program, name, call, _)| {
        let call =
            call.map(|call| [("call", call.to_owned()), ("call_frames", frames(calls[call]))]);
        let name = name.map(|name| ("name", name.to_owned()));
        let fields = name.into_iter().chain(call.into_iter().flatten());
        let fields = fields.map(|(key, value)| (key.to_owned(), value)).collect();
        OpMetadata { chip_id: 0, run_host_id: RunHostId(program << 10), fields }
    });
    let mut ops: Vec<_> = metadata.collect();
    let calls = OpCalls::take_from(&mut ops);
    let readout = read_device_log(log.as_bytes(), "test").unwrap();
    Recording { ops, calls, ..Recording::from_readout(readout) }
}

fn exported(recording: &Recording, format: ExportFormat) -> String {
    let trace = Trace::new(recording, &TraceFilter::default());
    let mut out = Vec::new();
    format.write(&trace, &mut out, &mut |_| {}).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn folded_stacks_go_from_the_functions_of_the_program_to_the_zones() {
    let recording = recording(&[
        (1, Some("Matmul"), Some("q of 0"), &[(100, 200), (100, 210)]),
        (2, Some("Matmul"), Some("q of 0"), &[(300, 400)]),
        (3, Some("Add"), Some("0"), &[(500, 600)]),
        (4, Some("Matmul"), Some("q of 1"), &[(700, 800)]),
        (5, None, Some("other"), &[(900, 1000)]),
        (6, Some("Copy"), None, &[(1100, 1200)]),
    ]);
    let model = "device 0 wormhole_b0;<module> at run.py:9;M.forward [M] at m.py:5";
    let expected = format!(
        "\
{model};Q.__call__ [M.layers.0.q] at m.py:20;Matmul;BRISC;BRISC-KERNEL 250
{model};Q.__call__ [M.layers.0.q] at m.py:20;Matmul;BRISC;BRISC-KERNEL;Load 60
{model};L.run [M.layers.0] at m.py:14;Add;BRISC;BRISC-KERNEL 80
{model};L.run [M.layers.0] at m.py:14;Add;BRISC;BRISC-KERNEL;Load 20
{model};Q.__call__ [M.layers.1.q] at m.py:20;Matmul;BRISC;BRISC-KERNEL 80
{model};Q.__call__ [M.layers.1.q] at m.py:20;Matmul;BRISC;BRISC-KERNEL;Load 20
device 0 wormhole_b0;N.forward [N] at <typed_>;program 5;BRISC;BRISC-KERNEL 80
device 0 wormhole_b0;N.forward [N] at <typed_>;program 5;BRISC;BRISC-KERNEL;Load 20
device 0 wormhole_b0;[call unknown];Copy;BRISC;BRISC-KERNEL 80
device 0 wormhole_b0;[call unknown];Copy;BRISC;BRISC-KERNEL;Load 20
[losses unknown] 0
"
    );
    assert_eq!(exported(&recording, ExportFormat::FOLDED_CALLS), expected);
}

#[test]
fn folded_stacks_of_a_recording_without_calls_begin_with_the_op() {
    let folded = exported(
        &recording(&[(1, Some("Add"), None, &[(100, 200)]), (2, None, None, &[(300, 400)])]),
        ExportFormat::FOLDED_CALLS,
    );
    let expected = "\
device 0 wormhole_b0;Add;BRISC;BRISC-KERNEL 80
device 0 wormhole_b0;Add;BRISC;BRISC-KERNEL;Load 20
device 0 wormhole_b0;program 2;BRISC;BRISC-KERNEL 80
device 0 wormhole_b0;program 2;BRISC;BRISC-KERNEL;Load 20
[losses unknown] 0
";
    assert_eq!(folded, expected);
}

/// The slices of each thread of modules: depth, name, path, start and end in nanoseconds.
type Slices = BTreeMap<String, Vec<(usize, String, String, u64, u64)>>;

/// Reads the threads of modules in a Chrome trace, by the events in the file's order.
fn modules(json: &str) -> Slices {
    let json: Value = serde_json::from_str(json).unwrap();
    let events: Vec<_> = json["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["tid"].as_u64() >= Some(1_000_000))
        .collect();
    let ns = |event: &Value, key: &str| -> u64 {
        format!("{:.0}", event[key].as_f64().unwrap() * 1000.0).parse().unwrap()
    };
    let mut threads: BTreeMap<u64, String> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut found = Slices::new();
    for event in events {
        let tid = event["tid"].as_u64().unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if event["name"] == "thread_name" {
            threads.insert(tid, text(&event["args"]["name"]));
        }
        if event["ph"] == "M" {
            continue;
        }
        let (slices, open) =
            (found.entry(threads[&tid].clone()).or_default(), open.entry(tid).or_default());
        let at = ns(event, "ts");
        match event["ph"].as_str().unwrap() {
            "E" => slices[open.pop().unwrap()].4 = at,
            phase => {
                let slice =
                    (open.len(), text(&event["name"]), text(&event["args"]["module"]), at, 0);
                slices.push(slice);
                match phase {
                    "X" => slices.last_mut().unwrap().4 = at + ns(event, "dur"),
                    _ => open.push(slices.len() - 1),
                }
            }
        }
    }
    assert!(open.values().all(Vec::is_empty), "{open:?}");
    found
}

#[test]
fn modules_span_their_consecutive_ops_and_no_op_of_another() {
    let recording = recording(&[
        (1, Some("Matmul"), Some("q of 0"), &[(100, 200)]),
        (2, Some("Matmul"), Some("q of 0"), &[(210, 300)]),
        (3, Some("Add"), Some("0"), &[(300, 400)]),
        (4, Some("Matmul"), Some("q of 1"), &[(410, 500)]),
        (5, Some("Copy"), Some("none"), &[(510, 600)]),
        (6, Some("Matmul"), Some("q of 1"), &[(610, 700)]),
        (7, Some("Neg"), Some("other"), &[(710, 800)]),
        (8, Some("Exp"), None, &[(810, 900)]),
    ]);
    // The trace begins at cycle 100.
    let expected = [
        (0, "M", "M", 0, 400),
        (1, "layers", "M.layers", 0, 400),
        (2, "0", "M.layers.0", 0, 300),
        (3, "q", "M.layers.0.q", 0, 200),
        (4, "Matmul 1", "", 0, 100),
        (4, "Matmul 2", "", 110, 200),
        (3, "Add 3", "", 200, 300),
        (2, "1", "M.layers.1", 310, 400),
        (3, "q", "M.layers.1.q", 310, 400),
        (4, "Matmul 4", "", 310, 400),
        (0, "M", "M", 510, 600),
        (1, "layers", "M.layers", 510, 600),
        (2, "1", "M.layers.1", 510, 600),
        (3, "q", "M.layers.1.q", 510, 600),
        (4, "Matmul 6", "", 510, 600),
        (0, "N", "N", 610, 700),
        (1, "Neg 7", "", 610, 700),
    ];
    let found = modules(&exported(&recording, ExportFormat::CHROME));
    assert_eq!(found.keys().collect::<Vec<_>>(), ["modules"]);
    let found: Vec<_> = found["modules"]
        .iter()
        .map(|(depth, name, path, start, end)| (*depth, &**name, &**path, *start, *end))
        .collect();
    assert_eq!(found, expected);
}

/// Ops that run at the same time are in different rows, and so are their modules. An op of another
/// module ends the spans of all rows, and one of the same module none.
#[test]
fn modules_of_ops_that_overlap_are_in_rows_of_their_own() {
    let recording = recording(&[
        (1, Some("A"), Some("q of 0"), &[(100, 300)]),
        (2, Some("B"), Some("q of 0"), &[NOT_THERE, (150, 250)]),
        (3, Some("C"), Some("q of 0"), &[(300, 400)]),
        (4, Some("D"), Some("other"), &[NOT_THERE, (350, 500)]),
        (5, Some("E"), Some("q of 0"), &[(400, 450)]),
    ]);
    let found = modules(&exported(&recording, ExportFormat::CHROME));
    let of = |row: &str, depth: usize| -> Vec<(&str, u64, u64)> {
        let slices = found[row].iter().filter(|slice| slice.0 == depth);
        slices.map(|(_, name, _, start, end)| (&**name, *start, *end)).collect()
    };
    // The op of another module starts at 250, while C runs.
    assert_eq!(of("modules", 0), [("M", 0, 300), ("M", 300, 350)]);
    assert_eq!(of("modules", 4), [("A 1", 0, 200), ("C 3", 200, 300), ("E 5", 300, 350)]);
    assert_eq!(of("modules, row 2", 0), [("M", 50, 150), ("N", 250, 400)]);
    assert_eq!(of("modules, row 2", 1), [("layers", 50, 150), ("D 4", 250, 400)]);
}

#[test]
fn traces_of_recordings_without_modules_have_no_rows_for_them() {
    let recording = recording(&[(1, Some("Add"), Some("none"), &[(100, 200)])]);
    assert!(modules(&exported(&recording, ExportFormat::CHROME)).is_empty());
}

#[test]
fn the_page_has_the_call_of_each_op() {
    let recording = recording(&[
        (1, Some("Matmul"), Some("q of 0"), &[(100, 200)]),
        (2, Some("Add"), Some("none"), &[(300, 400)]),
        (3, Some("Neg"), None, &[(500, 600)]),
    ]);
    let page = exported(&recording, ExportFormat::HTML);
    let facts = page.split_once("<script type=\"application/json\" id=\"facts\">").unwrap().1;
    let facts: Value = serde_json::from_str(facts.split_once("</script>").unwrap().0).unwrap();
    let columns =
        ["module", "call_function", "call_location"].map(|name| facts["ops"][name].clone());
    let expected = [
        serde_json::json!(["M.layers.0.q", null, null]),
        serde_json::json!(["Q.__call__", "<module>", null]),
        serde_json::json!(["/src/m.py:20", "/src/run.py:11", null]),
    ];
    assert_eq!(columns, expected);
}
