//! Folded stacks: one line per stack of zones, with the self time of the innermost zone. The unit
//! is cycles on chips, and nanoseconds on the host.
//!
//! ```text
//! device 0 wormhole_b0;1-2;BRISC;BRISC-FW;BRISC-KERNEL;Load 1234
//! host (ns);main 4711.1;EnqueueProgram 800
//! ```
//!
//! All runs of a lane are summed. Zones count as recorded, also those that other formats draw
//! shorter, and a filter that hides a zone does not add its cycles to the zone around it. Events,
//! values and sums have no cycles and are left out.
//!
//! A zone without a recorded end has no cycles: the stack of 0 cycles `Load;[open 2]` counts such
//! zones. The frame `[unknown]` holds the cycles from their start to the end of the zone around
//! them, since nobody knows which of both was running.
//!
//! The losses of a lane, and losses and possible losses of the whole trace, also appear as stacks
//! of 0 cycles.
//!
//! The profile of whole chips also sums over cores: `device 0 wormhole_b0;BRISC;BRISC-FW 64`. That of
//! calls has the functions of the program that called an op, and the op, before the RISC:
//!
//! ```text
//! device 0 wormhole_b0;<module> at run.py:9;Model.forward [Model] at model.py:12;Matmul;BRISC;BRISC-FW 64
//! ```

use super::{
    ExportFormat, OnLanes, Trace, TraceHostThread, TraceItems, TraceZone,
    called_ops::CalledOps,
    format::{Sink, SinkWrite},
    host_names::HostNames,
    lane_writer::for_each_lane,
    stacks::Stacks,
    trace::place::PlacedLane,
};
use crate::words;
use std::{
    collections::BTreeMap,
    io::{self, Write},
};
use wire::Risc;

impl ExportFormat {
    /// Folded stacks with the self cycles of each stack's innermost zone, for flame graphs.
    pub const FOLDED: Self = Self(&Sink {
        name: "folded",
        endings: &[".folded", ".collapsed", ".folded.txt"],
        help: "folded stacks, for flame graphs",
        is_binary: false,
        shows_causes: false,
        write: SinkWrite::Parts(write),
    });

    /// Folded stacks of each RISC, summed over all cores of a chip.
    pub const FOLDED_CHIP: Self = Self(&Sink {
        name: "folded-chip",
        endings: &[".chip.folded"],
        help: "folded stacks summed over the cores of each chip",
        is_binary: false,
        shows_causes: false,
        write: SinkWrite::Parts(write_chips),
    });

    /// Folded stacks from the functions of the program that called an op to the zones of its kernels,
    /// summed over all cores of a chip.
    pub const FOLDED_CALLS: Self = Self(&Sink {
        name: "folded-calls",
        endings: &[".calls.folded"],
        help: "folded stacks from the program's functions and ops to zones, summed over the cores of each chip",
        is_binary: false,
        shows_causes: false,
        write: SinkWrite::Parts(write_calls),
    });
}

/// Writes the stacks of every lane, then of every host thread.
fn write(items: TraceItems<'_, '_>, out: &mut dyn Write, on_lanes: OnLanes<'_>) -> io::Result<()> {
    let trace = items.trace();
    let device_frames = trace.names.as_slice().iter().map(|name| frame(&name.label));
    let host_names = HostNames::new(trace);
    let host_frames = host_names.sources.iter().map(|source| frame(&source.name));
    let frames: Vec<String> = device_frames.chain(host_frames).collect();
    // The lane whose parts are being added: its index, and its stacks.
    let mut open: Option<(usize, LaneStacks)> = None;
    for_each_lane(items, on_lanes, LaneStacks::new, |place, part| {
        match &mut open {
            Some((index, lane)) if *index == place.index => lane.add(part),
            _ => {
                if let Some((_, lane)) = open.replace((place.index, part)) {
                    out.write_all(lane.text(&frames).as_bytes())?;
                }
            }
        }
        Ok(())
    })?;
    if let Some((_, lane)) = open {
        out.write_all(lane.text(&frames).as_bytes())?;
    }
    for thread in &trace.host.threads {
        out.write_all(folded_thread(thread, &host_names, &frames).as_bytes())?;
    }
    // The losses of single lanes have been written with the stacks of these lanes.
    out.write_all(doubts_of(trace, |key| !key.starts_with("lost_")).as_bytes())
}

/// Returns the frame of each name of a trace.
fn frames_of(trace: &Trace<'_>) -> Vec<String> {
    trace.names.as_slice().iter().map(|name| frame(&name.label)).collect()
}

/// Writes the stacks of each RISC type of each chip, summed over all cores.
fn write_chips(
    items: TraceItems<'_, '_>,
    out: &mut dyn Write,
    on_lanes: OnLanes<'_>,
) -> io::Result<()> {
    let trace = items.trace();
    let frames = frames_of(trace);
    let mut chips: BTreeMap<(usize, Risc), Stacks> = BTreeMap::new();
    let stacks_of = |placed: &PlacedLane<'_, '_>| {
        (placed.lane.id.risc, Stacks::from_zones(&placed.lane.zones, |zone| zone.name))
    };
    for_each_lane(items, on_lanes, stacks_of, |place, (risc, stacks)| {
        chips.entry((place.device_index, risc)).or_default().merge(stacks);
        Ok(())
    })?;
    for ((device_index, risc), stacks) in chips {
        let label = frame(&words::device_label(&trace.devices[device_index]));
        let base = format!("{label};{risc}");
        out.write_all(text_of(&stacks, &base, &frames).as_bytes())?;
    }
    out.write_all(doubts_of(trace, |_| true).as_bytes())
}

/// Writes the stacks of each call, op and RISC type of each chip, summed over all cores.
fn write_calls(
    items: TraceItems<'_, '_>,
    out: &mut dyn Write,
    on_lanes: OnLanes<'_>,
) -> io::Result<()> {
    let trace = items.trace();
    let frames = frames_of(trace);
    let chips: Vec<_> =
        (0..trace.devices.len()).map(|index| CalledOps::new(items, index)).collect();
    let stacks_of = |placed: &PlacedLane<'_, '_>| {
        let lane = placed.lane;
        let group = |zone: &TraceZone| chips[placed.place.device_index].group(lane.op(zone.run));
        (lane.id.risc, Stacks::by_root(&lane.zones, |zone| zone.name, group))
    };
    let mut sums: BTreeMap<(usize, Option<u32>, Risc), Stacks> = BTreeMap::new();
    for_each_lane(items, on_lanes, stacks_of, |place, (risc, groups)| {
        for (group, stacks) in groups {
            sums.entry((place.device_index, group, risc)).or_default().merge(stacks);
        }
        Ok(())
    })?;
    for ((device_index, group, risc), stacks) in sums {
        let label = words::device_label(&trace.devices[device_index]);
        let risc = risc.to_string();
        let called = chips[device_index].frames(group);
        let base = std::iter::once(&*label).chain(called).chain([&*risc]).map(frame);
        let base = base.collect::<Vec<_>>().join(";");
        out.write_all(text_of(&stacks, &base, &frames).as_bytes())?;
    }
    out.write_all(doubts_of(trace, |_| true).as_bytes())
}

/// Returns the warnings about the whole trace, each as a stack of 0 cycles: `[lost zones 25] 0`.
///
/// Why losses are unknown is a sentence, which is no name of a stack: `[losses unknown] 0`.
fn doubts_of(trace: &Trace<'_>, is_wanted: impl Fn(&str) -> bool) -> String {
    let doubts = trace.doubts().into_iter().filter(|(key, _)| is_wanted(key));
    let stacks = doubts.map(|(key, count)| match key.starts_with(words::LOSSES_UNKNOWN) {
        true => "[losses unknown] 0\n".to_owned(),
        false => format!("[{} {count}] 0\n", key.replace('_', " ")),
    });
    let mut stacks: Vec<String> = stacks.collect();
    // Several sources may not count their losses.
    stacks.dedup();
    stacks.concat()
}

/// Returns a name as a frame of a stack. The separator `;` and control characters are replaced by
/// `_`.
fn frame(name: &str) -> String {
    name.chars().map(|c| if c == ';' || c.is_control() { '_' } else { c }).collect()
}

/// Stacks and losses of a lane, or of its parts so far.
struct LaneStacks {
    /// Frames of the chip, the core and the RISC.
    base: String,
    stacks: Stacks,
    losses: Option<String>,
}

impl LaneStacks {
    fn new(placed: &PlacedLane<'_, '_>) -> Self {
        let lane = placed.lane;
        let device = frame(&words::device_label(placed.device));
        Self {
            base: format!("{device};{};{}", words::core_label(lane), lane.id.risc),
            stacks: Stacks::from_zones(&lane.zones, |zone| zone.name),
            losses: words::losses_label(lane),
        }
    }

    /// Adds the next part of the lane. The losses of a lane are in its last part.
    fn add(&mut self, part: Self) {
        self.stacks.merge(part.stacks);
        self.losses = part.losses;
    }

    fn text(&self, frames: &[String]) -> String {
        let Self { base, stacks, losses } = self;
        let mut text = text_of(stacks, base, frames);
        if let Some(losses) = losses {
            text.push_str(&format!("{base};[{}] 0\n", frame(losses)));
        }
        text
    }
}

fn folded_thread(thread: &TraceHostThread<'_>, names: &HostNames<'_>, frames: &[String]) -> String {
    let base = format!("host (ns);{}", frame(&words::thread_label(thread)));
    let stacks = Stacks::from_zones(&thread.zones, |zone| names.zone_name(thread, zone));
    text_of(&stacks, &base, frames)
}

/// Returns one line for each stack with self cycles, with open zones, or with unknown cycles.
fn text_of(stacks: &Stacks, base: &str, frames: &[String]) -> String {
    let mut text = String::new();
    for stack in stacks.stacks() {
        let mut place = base.to_owned();
        for name in stack.names {
            place.push(';');
            place.push_str(frames.get(name.index()).map_or("", String::as_str));
        }
        if stack.self_cycles > 0 {
            text.push_str(&format!("{place} {}\n", stack.self_cycles));
        }
        if stack.unknown_cycles > 0 {
            text.push_str(&format!("{place};[unknown] {}\n", stack.unknown_cycles));
        }
        if stack.open_count > 0 {
            text.push_str(&format!("{place};[open {}] 0\n", stack.open_count));
        }
    }
    text
}
