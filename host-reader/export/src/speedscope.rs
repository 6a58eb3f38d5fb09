//! JSON for speedscope.
//!
//! Each chip has one sampled profile by RISC and zone, in cycles. After the chips, each lane and
//! each host thread has one evented profile, in nanoseconds.
//!
//! This format cannot show events, values and sums, nor messages and plots of the host. The field
//! `name` of the file states how many of these items are left out. The name of a lane's profile
//! states the losses of the lane.
//!
//! # Compatibility
//! `file-format-schema.json` of the npm package `speedscope`.

use super::{
    NameId, OnLanes, Trace, TraceDevice, TraceHostThread, TraceName, TraceZone, TraceZones,
    ZoneEdge,
    host_names::HostNames,
    lane_writer::{PlacedLane, write_lanes},
    stacks::chip_stacks,
    words,
};
use host_events::HostSource;
use serde::Serialize;
use std::io::{self, Write};

/// Writes the profiles of every lane, then of every host thread.
pub(super) fn write(
    trace: &Trace<'_>,
    out: &mut dyn Write,
    on_lanes: OnLanes<'_>,
) -> io::Result<()> {
    let host_names = HostNames::new(trace);
    let device_frames = trace.names.as_slice().iter().map(Frame::from_name);
    let host_frames = host_names.sources.iter().map(|source| Frame::from_host(source));
    let risc_frames =
        trace.risc_kinds().map(|risc| Frame { name: risc.label(), file: "", line: None });
    let first_risc = trace.names.as_slice().len() + host_names.sources.len();
    let head = Head {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: concat!("kprof ", env!("CARGO_PKG_VERSION")),
        name: title(trace),
        shared: Shared { frames: device_frames.chain(host_frames).chain(risc_frames).collect() },
    };
    let head = serde_json::to_string(&head)?;
    out.write_all(head.strip_suffix('}').unwrap_or(&head).as_bytes())?;
    out.write_all(b",\"profiles\":[\n")?;
    let end_ns = trace.end_ns();
    for (position, device) in trace.devices.iter().enumerate() {
        out.write_all(&chip_profile(device, position, first_risc)?)?;
    }
    let chip_count = trace.devices.len();
    write_lanes(trace, out, on_lanes, |lane| lane_profile(&lane, chip_count, end_ns))?;
    for (position, thread) in (chip_count + trace.lane_count()..).zip(&trace.host.threads) {
        out.write_all(&thread_profile(thread, position, &host_names, end_ns))?;
    }
    out.write_all(b"]}\n")
}

#[derive(Serialize)]
struct Head<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    shared: Shared<'a>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

impl<'a> Frame<'a> {
    fn from_name(name: &'a TraceName<'_>) -> Self {
        let line = (name.line > 0).then_some(name.line);
        Self { name: &name.label, file: name.file, line }
    }

    fn from_host(source: &'a HostSource) -> Self {
        let line = (source.line > 0).then_some(source.line);
        Self { name: &source.name, file: &source.file, line }
    }
}

fn title(trace: &Trace<'_>) -> String {
    let doubts = trace.doubts();
    let counted =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let mut parts = vec![counted(trace.lane_count(), "lane")];
    let point_count = trace.point_count();
    if point_count > 0 {
        parts.push(format!("{point_count} events, values and sums not shown"));
    }
    if !trace.host.is_empty() {
        parts.push(format!("{} of the host", counted(trace.host.threads.len(), "thread")));
    }
    let host_point_count = trace.host.point_count();
    if host_point_count > 0 {
        parts.push(format!("{host_point_count} messages and points of plots of it not shown"));
    }
    parts.extend(doubts.iter().map(|(key, count)| format!("{} {count}", key.replace('_', " "))));
    parts.join(", ")
}

/// Cycles of all cores of a chip, by RISC and stack of zones.
#[derive(Serialize)]
struct ChipProfile {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

fn chip_profile(
    device: &TraceDevice<'_>,
    position: usize,
    first_risc: usize,
) -> io::Result<Vec<u8>> {
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    for (risc, stacks) in chip_stacks(device) {
        for (stack, cycles) in stacks.with_cycles() {
            let zones = stack.into_iter().map(NameId::index);
            samples.push(std::iter::once(first_risc + risc as usize).chain(zones).collect());
            weights.push(cycles);
        }
    }
    let profile = ChipProfile {
        r#type: "sampled",
        name: format!("{}, cycles of all cores by RISC and zone", words::device_label(device)),
        unit: "none",
        start: 0,
        end: weights.iter().fold(0_u64, |sum, cycles| sum.saturating_add(*cycles)),
        samples,
        weights,
    };
    let mut text = if position > 0 { b",\n".to_vec() } else { Vec::new() };
    serde_json::to_writer(&mut text, &profile)?;
    Ok(text)
}

fn lane_profile(placed: &PlacedLane<'_, '_>, chip_count: usize, end_ns: u64) -> Vec<u8> {
    let zones = &placed.lane.zones;
    profile(&name(placed), chip_count + placed.place.index, zones, |zone| zone.name, end_ns)
}

fn thread_profile(
    thread: &TraceHostThread<'_>,
    position: usize,
    names: &HostNames<'_>,
    end_ns: u64,
) -> Vec<u8> {
    let name = format!("host {}", words::thread_label(thread));
    profile(&name, position, &thread.zones, |zone| names.zone_name(thread, zone), end_ns)
}

/// Encodes a profile. `position` is the number of profiles before it in the file. `frame` returns
/// the frame of each zone.
fn profile(
    name: &str,
    position: usize,
    zones: &TraceZones,
    frame: impl Fn(&TraceZone) -> NameId,
    end_ns: u64,
) -> Vec<u8> {
    let mut text = Vec::with_capacity(zones.len() * 70 + 200);
    if position > 0 {
        text.extend_from_slice(b",\n");
    }
    text.extend_from_slice(b"{\"type\":\"evented\",\"name\":");
    text.extend_from_slice(serde_json::Value::from(name).to_string().as_bytes());
    text.extend_from_slice(b",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
    let mut number = itoa::Buffer::new();
    text.extend_from_slice(number.format(end_ns).as_bytes());
    text.extend_from_slice(b",\"events\":[");
    for (position, (at, edge)) in zones.timed_edges().enumerate() {
        let (kind, zone) = match edge {
            ZoneEdge::Begin(index) => ("O", &zones[index]),
            ZoneEdge::End(index) => ("C", &zones[index]),
        };
        text.extend_from_slice(if position > 0 { &b",{"[..] } else { &b"{"[..] });
        text.extend_from_slice(b"\"type\":\"");
        text.extend_from_slice(kind.as_bytes());
        text.extend_from_slice(b"\",\"frame\":");
        text.extend_from_slice(number.format(frame(zone).0).as_bytes());
        text.extend_from_slice(b",\"at\":");
        text.extend_from_slice(number.format(at).as_bytes());
        text.push(b'}');
    }
    text.extend_from_slice(b"]}");
    text
}

fn name(placed: &PlacedLane<'_, '_>) -> String {
    let lane = placed.lane;
    let mut name = format!("device {} {}", placed.device.chip.chip_id, words::lane_label(lane));
    if let Some(losses) = words::losses_label(lane) {
        name.push_str(&format!(", {losses}"));
    }
    name
}
