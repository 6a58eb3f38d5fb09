//! Host records of a capture, converted to the form in which TT-Metal's host reports ops.

use super::{host_cells::KEYS_OF_HOST, sheet::fixed_column, value::Value};
use crate::problem::ProblemLog;
use host_events::{BufferUsage, HostEvent, HostEventKind, OpMetadata, TraceStep};
use recording::{
    CALL, Recording, SUB_DEVICE_MANAGER_ID, SUB_DEVICE_WORKER_CORES,
    host_ops::{HostLog, HostOp, HostTime, Signpost},
    trace_messages,
};
use std::{collections::BTreeMap, sync::Arc};
use wire::RunHostId;

/// Keys of the fields of an op's description that have their own columns and are parsed as JSON.
const STRUCTURES: [&str; 8] = [
    "attributes",
    "input_tensors",
    "optional_input_tensors",
    "output_tensors",
    "kernel_info",
    "performance_model",
    "op_hash",
    "program_cache_hit",
];

/// Returns the host log of a recording.
///
/// If the report has a column for a field of an op's description, the field's value is written to
/// this column. All other fields are added to the attributes. Signposts become rows. A zone whose
/// text is `id:` followed by an op's encoded id contains the host time of that op. Zones inside it
/// contain the times of the op's parts.
pub(super) fn host_log_of(recorded: &Recording, problems: &mut ProblemLog) -> HostLog {
    let ops = recorded.ops.iter().map(host_op).collect();
    let buffers = BufferUsage::from_host(&recorded.host);
    let mut log = HostLog { ops, buffers, ..HostLog::default() };
    if log.ops.is_empty() {
        return log;
    }
    let mut times = RecordedTimes { positions: log.positions(), ..RecordedTimes::default() };
    add_traces(&mut log, &times.positions, recorded);
    for recording in &recorded.host {
        for thread in &recording.threads {
            let nesting = times.nestings.remove(&(recording.process_id, thread.number));
            let mut nesting = nesting.unwrap_or_default();
            for event in &thread.events {
                let name = recording.name(event);
                match event.kind {
                    HostEventKind::Zone { end_ns, depth } => {
                        let zone = Zone { name, start_ns: event.time_ns, end_ns };
                        times.record(&mut nesting, &zone, depth, event.text.as_deref(), &mut log);
                    }
                    HostEventKind::Signpost => log.signposts.push(signpost(name, event)),
                    _ => {}
                }
            }
            times.nestings.insert((recording.process_id, thread.number), nesting);
        }
    }
    if times.unknown_count > 0 {
        let detail = format!("{} zones are of ops that it does not name", times.unknown_count);
        problems.add_to_file("the capture's host records", detail);
    }
    log
}

/// Adds the times of replays, and adds to each op the trace in which it was captured.
fn add_traces(log: &mut HostLog, positions: &BTreeMap<u64, usize>, recorded: &Recording) {
    for (time_ns, message) in trace_messages(&recorded.host) {
        let chip_and_trace = (message.chip_id, message.trace_id);
        match message.step {
            TraceStep::Replay => {
                log.replays.entry(chip_and_trace).or_default().push(time_ns);
            }
            TraceStep::EnqueueProgram(base_id) => {
                let ids = u32::try_from(base_id).ok().zip(u32::try_from(message.chip_id).ok());
                let id = ids.map(|(base_id, chip_id)| RunHostId::encode(base_id, chip_id));
                let position = id.and_then(|id| positions.get(&id.0.into()));
                if let Some(op) = position.and_then(|&position| log.ops.get_mut(position)) {
                    op.trace_id = Some(message.trace_id);
                }
            }
            TraceStep::Begin | TraceStep::End | TraceStep::Release => {}
        }
    }
}

fn signpost(name: &str, event: &HostEvent) -> Signpost {
    let message = event.text.as_deref().map_or_else(String::new, |text| format!("\n{text}"));
    Signpost { text: format!("TT_SIGNPOST: {name}{message}"), time_ns: event.time_ns }
}

struct Zone<'run> {
    name: &'run str,
    start_ns: u64,
    end_ns: u64,
}

/// Finished zones whose parent zone has not finished yet, by depth.
type Nesting<'run> = BTreeMap<u16, Vec<Zone<'run>>>;

#[derive(Default)]
struct RecordedTimes<'run> {
    positions: BTreeMap<u64, usize>,
    /// Finished zones by process and thread.
    nestings: BTreeMap<(u32, u64), Nesting<'run>>,
    unknown_count: u64,
}

impl<'run> RecordedTimes<'run> {
    /// Adds a finished zone. The zones inside it must have been added before.
    fn record(
        &mut self,
        nesting: &mut Nesting<'run>,
        zone: &Zone<'run>,
        depth: u16,
        text: Option<&str>,
        log: &mut HostLog,
    ) {
        let mut within = nesting.split_off(&depth.saturating_add(1));
        if depth > 0 {
            let &Zone { name, start_ns, end_ns } = zone;
            nesting.entry(depth).or_default().push(Zone { name, start_ns, end_ns });
        }
        let Some(id) = text.and_then(|text| text.strip_prefix("id:")?.trim().parse().ok()) else {
            return;
        };
        let position = self.positions.get(&id);
        let Some(op) = position.and_then(|&position| log.ops.get_mut(position)) else {
            self.unknown_count = self.unknown_count.saturating_add(1);
            return;
        };
        let duration = |zone: &Zone<'_>| zone.end_ns.saturating_sub(zone.start_ns);
        op.time = Some(HostTime { start_ns: zone.start_ns, duration_ns: duration(zone) });
        let children = within.remove(&depth.saturating_add(1)).unwrap_or_default();
        for child in children.iter().filter(|child| child.start_ns >= zone.start_ns) {
            let total = op.child_calls_ns.entry(child.name.to_owned()).or_default();
            *total = total.saturating_add(duration(child));
        }
    }
}

fn host_op(op: &OpMetadata) -> HostOp {
    let mut fields = vec![
        ("op_type".to_owned(), Value::Text("tt_dnn_device".into())),
        ("device_id".to_owned(), Value::Unsigned(op.chip_id.into())),
    ];
    let mut attributes = Vec::new();
    for (key, text) in op.fields.iter() {
        let key = if key == OpMetadata::NAME { "op_code" } else { key };
        if STRUCTURES.contains(&key) || KEYS_OF_HOST.contains(&key) {
            let value = serde_json::from_str(text);
            fields.push((key.to_owned(), value.unwrap_or_else(|_| Value::Text(text.clone()))));
        } else if fixed_column(key).is_some() {
            fields.push((key.to_owned(), Value::Text(text.clone())));
        } else if !OWN_KEYS.contains(&key) {
            attributes.push((key.to_owned(), Value::Text(text.clone())));
        }
    }
    if !attributes.is_empty() {
        let known = fields.iter_mut().rev().find(|(key, _)| key == "attributes");
        match known.map(|(_, value)| value) {
            Some(Value::Object(known)) => known.append(&mut attributes),
            _ => fields.push(("attributes".to_owned(), Value::Object(attributes))),
        }
    }
    let number = |key| op.value(key).and_then(|text| text.parse().ok());
    let time = number(START)
        .map(|start_ns| HostTime { start_ns, duration_ns: number(DURATION).unwrap_or(0) });
    HostOp {
        id: op.run_host_id.0.into(),
        description: Arc::new(Value::Object(fields)),
        is_cache_hit: None,
        device_id: Some(op.chip_id.into()),
        trace_id: None,
        message_ns: 0,
        time,
        child_calls_ns: number(COMPILE)
            .map(|ns| (COMPILE_PROGRAM.to_owned(), ns))
            .into_iter()
            .collect(),
        line: 0,
    }
}

/// Keys that are neither attributes of an op nor columns.
const OWN_KEYS: [&str; 6] =
    [START, DURATION, COMPILE, SUB_DEVICE_MANAGER_ID, SUB_DEVICE_WORKER_CORES, CALL];

const START: &str = "host_start_ns";
const DURATION: &str = "host_duration_ns";
const COMPILE: &str = "host_compile_ns";
/// TT-Metal's function that compiles the kernels of a program.
const COMPILE_PROGRAM: &str = "CompileProgram";

#[cfg(test)]
mod tests {
    use super::*;
    use host_events::{HostRecorder, HostRecorderOptions, HostSource};
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn fields_without_a_column_become_attributes() {
        let fields = [("name", "Matmul"), ("math_fidelity", "HiFi2"), ("tile", "32x32")];
        let op = OpMetadata {
            chip_id: 1,
            run_host_id: RunHostId::encode(2, 1),
            fields: fields.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        };
        let host = Recording { ops: vec![op], ..Recording::default() };
        let log = host_log_of(&host, &mut ProblemLog::default());
        let cell = |key: &str| log.ops[0].description.get(key).unwrap().cell();
        assert_eq!((cell("op_code"), cell("math_fidelity")), ("Matmul".into(), "HiFi2".into()));
        assert_eq!(cell("attributes"), "{'tile': '32x32'}");
    }

    #[test]
    fn messages_of_traces_name_the_traces_of_ops_and_time_their_replays() {
        let recorder = HostRecorder::new(HostRecorderOptions {
            clock: Some(Arc::new({
                let time = AtomicU64::new(100);
                move || time.fetch_add(10, Ordering::Relaxed)
            })),
            ..HostRecorderOptions::default()
        });
        for message in ["ENQUEUE_PROGRAM: 1, 7, 2", "END: 1, 7", "REPLAY: 1, 7", "REPLAY: 1, 7"] {
            recorder.message(&MODEL, format!("`TT_METAL_TRACE_{message}`"));
        }
        let op = |program| OpMetadata {
            chip_id: 1,
            run_host_id: RunHostId::encode(program, 1),
            ..OpMetadata::default()
        };
        let host = vec![recorder.take()];
        let recording = Recording { ops: vec![op(1), op(2)], host, ..Recording::default() };
        let log = host_log_of(&recording, &mut ProblemLog::default());
        assert_eq!(log.ops.iter().map(|op| op.trace_id).collect::<Vec<_>>(), [None, Some(7)]);
        let replays = &log.replays[&(1, 7)];
        assert_eq!((replays.len(), replays[1] - replays[0]), (2, 10));
    }

    #[test]
    fn zones_of_ops_are_their_host_times_and_signposts_are_kept() {
        let recorder = HostRecorder::new(HostRecorderOptions {
            clock: Some(Arc::new({
                let time = AtomicU64::new(100);
                move || time.fetch_add(10, Ordering::Relaxed)
            })),
            ..HostRecorderOptions::default()
        });
        recorder.signpost("start", Some("of it"), None);
        let op = OpMetadata { run_host_id: RunHostId(1024), ..OpMetadata::default() };
        let outer = recorder.zone(&MODEL);
        for _ in 0..2 {
            let mut zone = recorder.zone(&ENQUEUE);
            zone.text("id:1024");
            for _ in 0..2 {
                let compile = recorder.zone(&COMPILE);
                drop(recorder.zone(&MODEL));
                drop(compile);
            }
        }
        let first = recorder.take();
        recorder.zone(&ENQUEUE).text("id:9");
        drop(outer);
        let recordings = [first, recorder.take()];
        let host = Recording { ops: vec![op], host: recordings.into(), ..Recording::default() };
        let mut problems = ProblemLog::default();
        let log = host_log_of(&host, &mut problems);
        // The clock advances by 10 at each start and each end.
        let time = HostTime { start_ns: 220, duration_ns: 90 };
        assert_eq!(log.ops[0].time, Some(time));
        let calls: Vec<_> = log.ops[0].child_calls_ns.iter().collect();
        assert_eq!(calls, [(&"Compile".to_owned(), &120)]);
        assert_eq!(log.signposts[0].text, "TT_SIGNPOST: start\nof it");
        assert_eq!(log.signposts[0].time_ns, 100);
        assert!(problems.kept()[0].to_string().contains("1 zones are of ops"), "{problems:?}");
    }

    static MODEL: HostSource = HostSource::new("Model", "tests", "recorded.rs", 1);
    static ENQUEUE: HostSource = HostSource::new("Enqueue", "tests", "recorded.rs", 2);
    static COMPILE: HostSource = HostSource::new("Compile", "tests", "recorded.rs", 3);
}
