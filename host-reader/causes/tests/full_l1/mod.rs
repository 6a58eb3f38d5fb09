//! Ops that DRAM limits, with memories whose sizes are known: whether L1 has room for their tensors.

use causes::{Cause, Explanation, Threshold, Window};
use host_events::OpMetadata;
use memory::{CallPlace, CallPlaces, RecordedOp, Usage};
use recording::{Recording, device_log::read_device_log};
use tables::MemoryRow;
use wire::RunHostId;

/// Bytes that a Wormhole's DRAM moves in a nanosecond, from tt-perf-report.
const PEAK: f64 = 288.0;
/// Length of each launch in nanoseconds.
const LENGTH: u64 = 10_000;
/// Name of the ops.
const NAME: &str = "BinaryNgDeviceOperation";

/// Describes an op with an input in DRAM of `columns` columns of 32 rows, as the host does.
fn described(base: u32, columns: u64) -> OpMetadata {
    let tensor = |x: u64, memory: &str| {
        format!(
            "{{\"shape\": {{\"W\": 1, \"Z\": 1, \"Y\": 32, \"X\": {x}}}, \"layout\": \"TILE\", \
             \"dtype\": \"BFLOAT16\", \"storage_type\": {{\"device_id\": 0, \"memory_config\": \
             {{\"buffer_type\": \"{memory}\", \"memory_layout\": \"INTERLEAVED\"}}}}}}"
        )
    };
    let fields = [
        (OpMetadata::NAME, NAME.to_owned()),
        ("input_tensors", format!("[{}, {}]", tensor(columns, "DRAM"), tensor(32, "L1"))),
        ("output_tensors", format!("[{}]", tensor(columns, "L1"))),
    ];
    OpMetadata {
        chip_id: 0,
        run_host_id: RunHostId::encode(base, 0),
        fields: fields.map(|(key, text)| (key.to_owned(), text)).into(),
    }
}

/// Returns a recording of three launches on 8 of 64 cores whose inputs take `share` of the DRAM's peak.
#[expect(clippy::cast_possible_truncation, reason = "a few million")]
fn recording(share: f64) -> Recording {
    let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
        PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, \
        trace id, trace id counter, zone name, type, source line, source file, meta data\n"
        .to_owned();
    for base in 1..=3_u64 {
        let start = 1000 + base * 2 * LENGTH;
        for x in [1, 2, 3, 4, 6, 7, 8, 9] {
            for (time, zone, kind) in [
                (start - 20, "FW", "START"),
                (start, "KERNEL", "START"),
                (start + LENGTH, "KERNEL", "END"),
                (start + LENGTH + 20, "FW", "END"),
            ] {
                let (id, marker) = (base << 10, zone.len());
                log += &format!(
                    "0,{x},1,BRISC,{marker},{time},0,{id},,,BRISC-{zone},ZONE_{kind},1,/b.cc,\n"
                );
            }
        }
    }
    let readout = read_device_log(log.as_bytes(), "log").unwrap();
    let columns = (share * PEAK * LENGTH as f64 / 64.0).round() as u64;
    let ops = (1..=3).map(|base| described(base, columns)).collect();
    Recording { ops, ..Recording::from_readout(readout) }
}

/// Bytes of L1, of which the first 100,000 are reserved.
const L1: u64 = 1_000_000;

/// When the tensor in L1 is allocated, and which launches have the one in DRAM.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    /// Before the second launch, the only one that has it. All launches have the one in DRAM.
    InUse,
    /// Before the first launch, the only one that has it and the only one that has none in DRAM.
    Outlived,
}

/// Returns the memory of the three launches: a tensor of 300,000 bytes is at the end of L1, and one in DRAM would
/// take `dram_tiles` tiles on two banks of L1.
fn usage_of(case: Case, dram_tiles: u64, circular_buffer_bytes: u64) -> Usage {
    usage_with(case, dram_tiles, Some(circular_buffer_bytes))
}

fn usage_with(case: Case, dram_tiles: u64, circular_buffer_bytes: Option<u64>) -> Usage {
    let layout = format!(
        r#""layout": {{"l1_bytes": {L1}, "l1_reserved_bytes": 100000, "l1_banks": 2,
        "dram_bank_bytes": 5000000, "dram_banks": 2}},"#
    );
    let content = format!("[32, {}] BFLOAT16 TILE", 32 * dram_tiles);
    let dram = r#"{"a": ["DRAM", 0, 64, null]}"#.to_owned();
    let used = format!(r#"{{"u": ["DRAM", 0, "{content}"]}}"#);
    let in_l1 = r#"{"a": ["L1", 700000, 300000, "ttnn.full"]},
        {"u": ["L1", 700000, "[5] UINT8 TILE"]}"#
        .to_owned();
    let events = match case {
        Case::InUse => [[dram, used.clone()], [in_l1, used.clone()], [used.clone(), used]],
        Case::Outlived => [[in_l1, dram], [used.clone(), used.clone()], [used.clone(), used]],
    };
    let ops = (1..).zip(events).map(|(base, events)| RecordedOp {
        run_host_id: RunHostId::encode(base, 0).0,
        name: Some(NAME.to_owned()),
        buffers: Some(format!(
            r#"{{"mesh": 1, {} "calls": ["c"], "events": [{}]}}"#,
            if base == 1 { &layout } else { "" },
            events.join(", ")
        )),
        ..RecordedOp::default()
    });
    let launches = (1..=3).filter_map(|base| {
        Some(MemoryRow {
            run_host_id: RunHostId::encode(base, 0).0,
            layout: Some(0),
            memory: "L1".to_owned(),
            cores: Some("1-1:4-1 6-1:9-1".to_owned()),
            core_count: Some(8),
            kind: MemoryRow::CIRCULAR_BUFFER.to_owned(),
            start: 100_000,
            size_bytes: circular_buffer_bytes?,
            ..MemoryRow::default()
        })
    });
    let (module, location) = (Some("Model.mlp".to_owned()), Some("model.py:12".to_owned()));
    let places: CallPlaces = [("c".to_owned(), CallPlace { module, location })].into();
    Usage::new(ops.collect(), launches.collect(), &places)
}

fn usage(dram_tiles: u64, circular_buffer_bytes: u64) -> Usage {
    usage_of(Case::InUse, dram_tiles, circular_buffer_bytes)
}

fn explained(share: f64, usage: &Usage) -> Explanation {
    let recording = recording(share);
    let mut explanation = Explanation::from_recording_window(&recording, Window::All);
    explanation.add_memory(usage);
    explanation
}

/// Tiles of 2,048 bytes, half of them on each bank: 350,208 bytes.
const TILES: u64 = 342;

#[test]
fn a_full_l1_is_why_an_op_is_at_dram() {
    // Free are 600,000 bytes in the first launch, then 300,000 in front of the tensor.
    let explanation = explained(0.9, &usage(TILES, 300_000));
    let found: Vec<_> =
        explanation.findings.iter().filter(|of| of.cause == Cause::FullL1).collect();
    let [found] = found[..] else { panic!("{:#?}", explanation.findings) };
    assert_eq!(
        found.sentence,
        "L1 has no room for what BinaryNgDeviceOperation has in DRAM in 2 of 3 launches: 1 tensor in DRAM, [32, \
         10944] BFLOAT16 TILE, would take 350,208 bytes of each L1 bank, 300,000 are free in one piece. It is \
         bound by DRAM, at 90 % of the peak DRAM bandwidth"
    );
    assert_eq!(
        found.why,
        [
            "[32, 10944] BFLOAT16 TILE does not fit even alone, with 350,208 bytes of each bank",
            "L1 holds circular buffers 300,000, tensors 300,000, tt-metal 100,000 of 1,000,000 bytes on its \
             fullest core",
            "of the tensors, 300,000 bytes are of ttnn.full at model.py:12, Model.mlp",
        ]
    );
    assert_eq!((found.rests_on.count, found.rests_on.of), (2, 3));
    let room = 300_000.0 / 350_208.0 * 100.0;
    assert!((found.figure - room).abs() < 1e-9, "{}", found.figure);
    assert_eq!(Threshold::named(found.threshold).unwrap().value, 100.0);
    assert!(found.advice.starts_with("make room in L1"), "{}", found.advice);
    let [room] = &explanation.l1_rooms[..] else { panic!("{:#?}", explanation.l1_rooms) };
    assert_eq!((room.full_launch_count, room.launch_count, room.has_room), (2, 3, false));
}

#[test]
fn what_no_later_op_has_makes_room_if_it_is_freed() {
    for (tiles, fits, advice) in [
        (TILES, ", in which they would fit", "free the tensors"),
        (700, ", in which they would not fit either", "make room"),
    ] {
        let explanation = explained(0.9, &usage_of(Case::Outlived, tiles, 300_000));
        let found = explanation.findings.iter().find(|of| of.cause == Cause::FullL1).unwrap();
        // 300,000 bytes between circular buffers and the tensor, which itself has as many.
        let fact = format!(
            "without the tensors that no later op has, such as [5] UINT8 TILE of ttnn.full at model.py:12, \
             Model.mlp, 600,000 bytes were free in one piece{fits}"
        );
        assert_eq!(found.why.last(), Some(&fact));
        assert!(found.advice.starts_with(advice), "{}", found.advice);
        assert_eq!(explanation.l1_rooms[0].largest_free_if_freed_bytes, Some(600_000));
    }
}

#[test]
fn nothing_is_said_of_a_full_l1_where_it_is_not_known_to_cost_time() {
    let has_it = |share, usage: &Usage| {
        let found = explained(share, usage).findings;
        found.iter().any(|of| of.cause == Cause::FullL1)
    };
    assert!(has_it(0.9, &usage(TILES, 300_000)));
    // The tensor fits into 300,000 bytes: 292 tiles are 299,008 bytes of each bank.
    assert!(!has_it(0.9, &usage(292, 300_000)));
    assert!(has_it(0.9, &usage(294, 300_000)));
    // DRAM is in use for less than half of its peak.
    assert!(!has_it(0.4, &usage(TILES, 300_000)));
    // Without launch messages, nothing is known of free bytes.
    assert!(!has_it(0.9, &usage_with(Case::InUse, TILES, None)));
    assert!(!has_it(0.9, &Usage::default()));
}

#[test]
fn an_op_on_few_cores_is_told_whether_its_buffers_would_fit_on_others() {
    let fact = |usage: &Usage| {
        let found = explained(0.05, usage).findings;
        let op = found.into_iter().find(|of| of.cause == Cause::OpGroup).unwrap();
        op.why.into_iter().find(|fact| fact.contains("leaves"))
    };
    assert_eq!(fact(&Usage::default()), None);
    assert_eq!(
        fact(&usage(2, 250_000)).unwrap(),
        "L1 is not why it leaves cores idle: its circular buffers would fit there in all of 3 launches with a \
         known use of L1; they take 250,000 bytes, where 600,000 are free in one piece"
    );
}
