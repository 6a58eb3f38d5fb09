//! Chrome's JSON trace. Each zone is an event of the type "complete"; a zone without a recorded end
//! is an instant event with the argument `open`. Each lane is a thread, and each row of ops is a
//! thread.
//!
//! Times are in microseconds with three decimals, so they are exact to the nanosecond. As
//! `tracy-import-chrome` requires, thread numbers are integers and source locations are in the
//! field `loc`.

use super::{
    ExportFormat, OnLanes, PointCategory, Trace, TraceHost, TraceHostMark, TraceItems, TraceLane,
    TraceOp, TracePlotPoint, TracePoint, TraceZone, ZoneEdge,
    flow::Arrows,
    format::{Sink, SinkWrite},
    json_event::JsonEvent,
    lane_writer::write_lanes,
    module_spans::{ModuleEvent, ModuleSpans},
    point_words::{Meaning, PointWords},
    trace::place::PlacedLane,
    words,
};
use analysis::ZoneTime;
use host_events::{HostEvent, HostSource};
use std::{
    collections::BTreeSet,
    io::{self, Write},
};

impl ExportFormat {
    /// Chrome's JSON format, for `chrome://tracing`, speedscope and other viewers.
    pub const CHROME: Self = Self(&Sink {
        name: "chrome",
        endings: &[".trace.json", ".chrome.json", ".json"],
        help: "Chrome's JSON, for chrome://tracing, speedscope and other viewers",
        is_binary: false,
        shows_causes: false,
        write: SinkWrite::Parts(write),
    });
}

/// Process number of the host. It is larger than any chip number.
const HOST_PID: u64 = 1_000_000;

/// Label of a chip whose times begin at its own first record. Viewers show it beside its name.
const OWN_CLOCK: &str = "starts at its first record: times do not compare with other chips";

/// Thread number of the first lane. Rows of ops have lower thread numbers.
const FIRST_LANE_THREAD: u64 = 1000;

/// Thread number of the modules whose ops are in row 0. Lanes have lower thread numbers.
const FIRST_MODULE_THREAD: u64 = 1_000_000;

/// Writes all ops, then all lanes.
fn write(items: TraceItems<'_, '_>, out: &mut dyn Write, on_lanes: OnLanes<'_>) -> io::Result<()> {
    let trace = items.trace();
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
    serde_json::to_writer(&mut *out, &other_data(trace))?;
    out.write_all(b",\"traceEvents\":[\n")?;
    let names = EncodedNames::new(trace);
    let arrows = Arrows::new(trace, 0);
    let meanings = PointWords::new(trace);
    for device_index in 0..trace.devices.len() {
        write_device(items, device_index, &arrows, out)?;
        if trace.has_modules {
            write_modules(items, device_index, out)?;
        }
    }
    write_lanes(items, out, on_lanes, |lane| lane_events(lane, &names, &arrows, &meanings))?;
    out.write_all(&host_events(&trace.host))?;
    // Every event but the last one ends with a comma. The last event closes the list.
    out.write_all(
        b"{\"ph\":\"M\",\"name\":\"kprof\",\"pid\":0,\"tid\":0,\"args\":{\"end\":true}}\n]}\n",
    )
}

/// Returns the trace-wide metadata: warnings with their counts, and the clock of each chip.
fn other_data(trace: &Trace<'_>) -> serde_json::Value {
    let doubts: serde_json::Map<_, _> =
        trace.doubts().into_iter().map(|(key, count)| (key, count.into())).collect();
    let clocks = trace.devices.iter().map(|device| words::clock_json(device, "device"));
    serde_json::json!({
        "exporter": concat!("kprof ", env!("CARGO_PKG_VERSION")),
        "origin_host_ns": trace.origin_host_ns,
        "clocks": clocks.collect::<Vec<_>>(),
        "doubts": doubts,
    })
}

/// Escaped JSON fragments shared by all events with the same name.
struct EncodedNames {
    zones: Vec<String>,
    /// Labels as JSON strings, with quotes.
    labels: Vec<String>,
}

impl EncodedNames {
    fn new(trace: &Trace<'_>) -> Self {
        let names = trace.names.as_slice();
        Self {
            zones: names
                .iter()
                .map(|name| {
                    let mut text = format!("\"name\":{},\"cat\":\"zone\"", quoted(&name.label));
                    if !name.file.is_empty() {
                        let place = format!("{}:{}", name.file, name.line);
                        text.push_str(&format!(",\"loc\":{}", quoted(&place)));
                    }
                    text
                })
                .collect(),
            labels: names.iter().map(|name| quoted(&name.label)).collect(),
        }
    }
}

/// Returns the text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Number of bytes after which the events of ops are written.
const OP_BYTES: usize = 1 << 16;

/// Writes the names and the ops of a chip.
fn write_device(
    items: TraceItems<'_, '_>,
    device_index: usize,
    arrows: &Arrows,
    out: &mut dyn Write,
) -> io::Result<()> {
    let trace = items.trace();
    let device = &trace.devices[device_index];
    let mut text = Vec::new();
    let pid = device.chip.chip_id.into();
    let label = words::device_label_on_axis(trace, device);
    JsonEvent::metadata(&mut text, "process_name", pid, 0).name(&label);
    if words::has_own_clock(trace, device) {
        JsonEvent::metadata(&mut text, "process_labels", pid, 0).labels(OWN_CLOCK);
    }
    for row in 0..items.row_count(device_index) {
        name_thread(&mut text, pid, row.into(), &words::row_label(row));
    }
    let mut arrow_ids = arrows.of_ops(items, device_index);
    for (number, op) in (0..).zip(items.ops(device_index)) {
        op_event(&mut text, pid, &op);
        for id in arrow_ids(number, &op) {
            JsonEvent::flow(&mut text, 's', id, pid, op.row.into(), op.start_ns);
        }
        if text.len() >= OP_BYTES {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)
}

/// Writes the modules that called the ops of a chip, as threads below the rows of the ops.
fn write_modules(
    items: TraceItems<'_, '_>,
    device_index: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let pid = items.trace().devices[device_index].chip.chip_id.into();
    let mut text = Vec::new();
    let mut named = BTreeSet::new();
    let mut spans = ModuleSpans::default();
    for op in items.ops(device_index) {
        spans.add(&op, &mut |event| module_event(&mut text, pid, event, &mut named));
        if text.len() >= OP_BYTES {
            out.write_all(&text)?;
            text.clear();
        }
    }
    spans.finish(&mut |event| module_event(&mut text, pid, event, &mut named));
    out.write_all(&text)
}

/// Writes what happens in a row of modules. `named` has the rows whose threads have a name.
fn module_event(
    text: &mut Vec<u8>,
    pid: u64,
    event: ModuleEvent<'_, '_>,
    named: &mut BTreeSet<u32>,
) {
    let tid = |row: u32| FIRST_MODULE_THREAD + u64::from(row);
    match event {
        ModuleEvent::Begin(span) => {
            let tid = tid(span.row);
            if named.insert(span.row) {
                let name = words::module_row_label(span.row);
                JsonEvent::metadata(text, "thread_name", pid, tid).name(&name);
                let index = span.row.into();
                JsonEvent::metadata(text, "thread_sort_index", pid, tid).sort_index(index);
            }
            let mut event = JsonEvent::slice_begin(text, pid, tid, span.start_ns);
            event.name_and_category(span.name, "module");
            event.text("module", span.path);
            event.end();
        }
        ModuleEvent::Op(op) => {
            let mut event = JsonEvent::complete(text, pid, tid(op.row), op.start_ns, op.end_ns);
            event.name_and_category(&op.label(), "op of module");
            event.number("run_host_id", op.figures.run_host_id.into());
            event.end();
        }
        ModuleEvent::End(span, end_ns) => {
            JsonEvent::slice_end(text, pid, tid(span.row), end_ns);
        }
    }
}

fn name_thread(text: &mut Vec<u8>, pid: u64, tid: u64, name: &str) {
    JsonEvent::metadata(text, "thread_name", pid, tid).name(name);
    JsonEvent::metadata(text, "thread_sort_index", pid, tid).sort_index(tid);
}

fn op_event(text: &mut Vec<u8>, pid: u64, op: &TraceOp<'_>) {
    let mut event = JsonEvent::complete(text, pid, op.row.into(), op.start_ns, op.end_ns);
    event.name_and_category(&op.label(), "op");
    op.for_each_argument(|key, value| event.value(key, value));
    for (key, value) in op.metadata.iter().flat_map(|metadata| metadata.fields.iter()) {
        event.text(key, value);
    }
    event.end();
}

fn lane_events(
    placed: &PlacedLane<'_, '_>,
    names: &EncodedNames,
    arrows: &Arrows,
    meanings: &PointWords<'_>,
) -> Vec<u8> {
    let lane = placed.lane;
    let (pid, tid) =
        (placed.device.chip.chip_id.into(), FIRST_LANE_THREAD + placed.place.lane_index as u64);
    let mut text = Vec::with_capacity(lane.zones.len() * 170 + lane.points.len() * 120 + 300);
    if placed.is_first {
        name_thread(&mut text, pid, tid, &words::lane_label(lane));
    }
    let begins = lane.zones.edges().filter_map(|edge| match edge {
        ZoneEdge::Begin(index) => lane.zones.get(index),
        ZoneEdge::End(_) => None,
    });
    for zone in begins {
        zone_event(&mut text, (pid, tid), lane, zone, &names.zones[zone.name.index()]);
    }
    for &run in arrows.arrow_runs(placed) {
        if let Some(kernel) = lane.kernel(run) {
            let id = arrows.id_of(placed, run);
            JsonEvent::flow(&mut text, 'f', id, pid, tid, kernel.start_ns);
        }
    }
    for point in &lane.points {
        let meaning = meanings.meaning(lane.id, point);
        let label = &names.labels[point.name.index()];
        point_event(&mut text, (pid, tid), point, (label, meaning.as_ref()));
    }
    for loss in &lane.losses {
        let mut event = JsonEvent::instant(&mut text, pid, tid, loss.time_ns);
        event.name_and_category(&words::loss_label(loss), "loss");
        for (kind, count) in loss.totals.counts() {
            event.number(kind.label(), count);
        }
        words::launches(&loss.totals).for_each(|(name, number)| event.number(name, number));
        if loss.totals.is_lower_bound {
            event.flag("is_lower_bound");
        }
        if let Some(program) = loss.program {
            event.number("run_host_id", program.0.into());
        }
        event.end();
    }
    text
}

fn host_events(host: &TraceHost<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    if host.is_empty() {
        return text;
    }
    JsonEvent::metadata(&mut text, "process_name", HOST_PID, 0).name("host");
    for (tid, thread) in (1..).zip(&host.threads) {
        name_thread(&mut text, HOST_PID, tid, &words::thread_label(thread));
        for (zone, event, source) in thread.zone_events() {
            let slice = JsonEvent::complete(&mut text, HOST_PID, tid, zone.start_ns, zone.end_ns);
            host_event(slice, (&source.name, "host"), source, event);
        }
        for TraceHostMark { event, source, time_ns } in &thread.marks {
            let (category, name) = words::mark_label(event, source);
            let instant = JsonEvent::instant(&mut text, HOST_PID, tid, *time_ns);
            host_event(instant, (&name, category), source, event);
        }
    }
    for plot in &host.plots {
        for &TracePlotPoint { time_ns, value, .. } in &plot.points {
            JsonEvent::counter(&mut text, HOST_PID, time_ns, plot.name, value);
        }
    }
    text
}

fn host_event(
    mut event: JsonEvent<'_>,
    (name, category): (&str, &'static str),
    source: &HostSource,
    recorded: &HostEvent,
) {
    event.name_and_category(name, category);
    if !source.file.is_empty() {
        event.text("source", &format!("{}:{}", source.file, source.line));
    }
    if let Some(text) = &recorded.text {
        event.text("text", text);
    }
    if let Some(color) = recorded.color {
        event.text("color", &color.to_string());
    }
    event.end();
}

fn zone_event(
    text: &mut Vec<u8>,
    (pid, tid): (u64, u64),
    lane: &TraceLane<'_>,
    zone: &TraceZone,
    encoded_name: &str,
) {
    // A zone without an end has no duration: viewers would add up an invented one.
    let mut event = match zone.time() {
        ZoneTime::Whole { .. } => JsonEvent::complete(text, pid, tid, zone.start_ns, zone.end_ns),
        ZoneTime::Open { .. } => JsonEvent::instant(text, pid, tid, zone.start_ns),
    };
    event.push(encoded_name);
    event.number("start_cycle", zone.start_cycle);
    if let ZoneTime::Whole { duration_cycles, .. } = zone.time() {
        event.number("duration_cycles", duration_cycles);
    }
    if let Some(program) = lane.program(zone.run) {
        event.number("run_host_id", program.0.into());
    }
    if zone.has_synthetic_end {
        event.flag("open");
    }
    if zone.is_clipped {
        event.flag("clipped");
    }
    event.end();
}

fn point_event(
    text: &mut Vec<u8>,
    (pid, tid): (u64, u64),
    point: &TracePoint<'_>,
    (encoded_label, meaning): (&str, Option<&Meaning<'_>>),
) {
    let mut event = JsonEvent::instant(text, pid, tid, point.time_ns);
    let category = point.category();
    match meaning {
        Some(meaning) => event.name_and_category(&meaning.label(), category.label()),
        None => {
            event.push("\"name\":");
            event.push(encoded_label);
            event.category(category.label());
        }
    }
    event.number("cycle", point.cycle);
    let keys = match category {
        PointCategory::Sum => ["duration_cycles", ""],
        _ => ["value", "second_value"],
    };
    for (key, &value) in keys.iter().zip(point.values) {
        event.number(key, value);
    }
    for (name, value) in meaning.map(Meaning::arguments).unwrap_or_default() {
        event.value(name, &value);
    }
    if let Some(text) = point.text {
        event.text("text", text);
    }
    event.end();
}
