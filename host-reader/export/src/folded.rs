//! Folded stacks: one line per stack of zones, with the cycles of the innermost alone; of the
//! host with its nanoseconds.
//!
//! ```text
//! device 0 wormhole_b0;1-2;BRISC;BRISC-FW;BRISC-KERNEL;Load 1234
//! host (ns);main 4711.1;EnqueueProgram 800
//! ```
//!
//! Runs of a lane are added up. Stacks count cycles as drawn, so that a lane's lines add up
//! to its outermost zones. Events, values and sums have no cycles and are left out. A loss
//! is a stack of 0 cycles.

use super::{
    NameId, Trace, TraceHostThread, TraceZones, host_names::HostNames, lane_writer::PlacedLane,
    lane_writer::write_lanes, words,
};
use std::{
    collections::HashMap,
    io::{self, Write},
};

/// Writes the stacks of every lane, then of every thread of the host.
pub(super) fn write(
    trace: &Trace<'_>,
    out: &mut dyn Write,
    on_lanes: &mut dyn FnMut(usize),
) -> io::Result<()> {
    let host_names = HostNames::new(trace);
    let of_chips = trace.names.as_slice().iter().map(|name| frame(&name.label));
    let of_host = host_names.sources.iter().map(|source| frame(&source.name));
    let frames: Vec<String> = of_chips.chain(of_host).collect();
    write_lanes(trace, out, on_lanes, |lane| folded_lane(&lane, &frames))?;
    for thread in &trace.host.threads {
        out.write_all(folded_thread(thread, &host_names, &frames).as_bytes())?;
    }
    Ok(())
}

/// A name as a frame: it holds neither the separator nor a line's end.
fn frame(name: &str) -> String {
    name.chars().map(|c| if c == ';' || c.is_control() { '_' } else { c }).collect()
}

fn folded_lane(placed: &PlacedLane<'_, '_>, frames: &[String]) -> Vec<u8> {
    let lane = placed.lane;
    let device = frame(&words::device_label(placed.device));
    let base = format!("{device};{};{}", words::core_label(lane), lane.id.risc);
    let stacks = Stacks::of_zones(&lane.zones, lane.zones.names().iter().copied());
    let mut text = stacks.text(&base, frames);
    for loss in &lane.losses {
        text.push_str(&format!("{base};[{}] 0\n", frame(&words::loss_label(loss))));
    }
    text.into_bytes()
}

fn folded_thread(thread: &TraceHostThread<'_>, names: &HostNames<'_>, frames: &[String]) -> String {
    let name =
        |index| thread.zone_event(index).map_or(NameId(0), |(_, source)| names.number(source));
    let base = format!("host (ns);{}", frame(&words::thread_label(thread)));
    Stacks::of_zones(&thread.zones, (0..thread.zones.len()).map(name)).text(&base, frames)
}

/// The stacks of a lane as a tree, in the order in which they were first seen.
#[derive(Default)]
struct Stacks {
    nodes: Vec<Node>,
    positions: HashMap<(Option<usize>, NameId), usize>,
}

struct Node {
    parent: Option<usize>,
    name: NameId,
    cycles: u64,
}

impl Stacks {
    fn of_zones(zones: &TraceZones, names: impl Iterator<Item = NameId>) -> Self {
        let mut stacks = Self::default();
        let mut around: Vec<usize> = Vec::new();
        let depths_and_names = zones.depths().iter().zip(names);
        for ((&depth, name), own) in depths_and_names.zip(zones.self_cycles()) {
            around.truncate(depth.into());
            let node = stacks.node(around.last().copied(), name);
            stacks.nodes[node].cycles += own;
            around.push(node);
        }
        stacks
    }

    fn node(&mut self, parent: Option<usize>, name: NameId) -> usize {
        *self.positions.entry((parent, name)).or_insert_with(|| {
            self.nodes.push(Node { parent, name, cycles: 0 });
            self.nodes.len() - 1
        })
    }

    /// A line for each stack that has cycles of its own.
    fn text(&self, base: &str, frames: &[String]) -> String {
        let lines = self.lines(frames).into_iter().filter(|&(_, cycles)| cycles > 0);
        lines.map(|(stack, cycles)| format!("{base}{stack} {cycles}\n")).collect()
    }

    /// Each stack, beginning with a separator, and its cycles.
    fn lines(&self, frames: &[String]) -> Vec<(String, u64)> {
        let mut lines: Vec<(String, u64)> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let around = node.parent.map_or("", |parent| &lines[parent].0);
            let frame = frames.get(node.name.index()).map_or("", String::as_str);
            lines.push((format!("{around};{frame}"), node.cycles));
        }
        lines
    }
}
