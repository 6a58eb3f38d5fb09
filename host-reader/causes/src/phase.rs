//! Phases: signpost pairs and host zones as a tree, with the ops inside each phase.

use crate::{
    op::OpCauses,
    time_class::{ClassTimes, TimeSplit},
    timeline::{merged, whole_window, window_times},
};
use analysis::Launch;
use host_events::{HostEventKind, HostRecording};
use recording::{DeviceClock, Recording, clocks_of};
use reports::perf::signpost_half;
use std::collections::BTreeMap;

/// Origin of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseOrigin {
    /// Two signposts whose names differ only in `start` and `end`.
    SignpostPair,
    /// A zone of the host.
    HostZone,
}

/// Phase of a program: all intervals with the same name and the same parent.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Phase {
    /// Names of the phases from the outermost one to this one.
    pub path: Vec<String>,
    /// Origin of the phase.
    pub origin: PhaseOrigin,
    /// Number of intervals that form the phase.
    pub count: u64,
    /// Total length of the intervals on the host in nanoseconds.
    pub host_ns: u64,
    /// Number of launches that began in the phase, on all chips.
    pub op_count: u64,
    /// Time on each chip, summed over the intervals. In each interval, the time runs from the start
    /// of the first launch to the end of the last launch.
    pub devices: Vec<PhaseTime>,
    /// Kernel lengths in nanoseconds, summed over ops and chips. The sum is not an elapsed time.
    pub kernel_sum_over_devices_ns: u64,
}

/// Time of a phase on one chip.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PhaseTime {
    /// Number of the chip.
    pub chip_id: u32,
    /// Time by class.
    pub time: TimeSplit,
}

/// Maximum depth of host zones that become phases. Deeper zones are too detailed for phases; traces
/// show them.
const MAX_ZONE_DEPTH: u16 = 3;
const MAX_PHASES: usize = 256;

/// One interval on the host's clock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stretch {
    start_ns: u64,
    /// End of the interval, reversed so that an outer interval sorts before an inner interval with
    /// the same start.
    end_ns: std::cmp::Reverse<u64>,
    name: String,
    origin: PhaseOrigin,
}

/// Finds the phases of a recording, with parents before their children. The list is empty if the
/// host's clock was not recorded.
pub(crate) fn phases_of(recording: &Recording, ops: &[(&OpCauses, &Launch)]) -> Vec<Phase> {
    if recording.host.is_empty() {
        return Vec::new();
    }
    let (clocks, origin_ns) = clocks_of(recording);
    let Some(origin_ns) = origin_ns.and_then(|origin| u64::try_from(origin).ok()) else {
        return Vec::new();
    };
    let mut stretches: Vec<Stretch> =
        recording.host.iter().flat_map(|host| stretches_of(host, origin_ns)).collect();
    stretches.sort();
    let chips: Vec<Chip<'_>> = recording
        .readout
        .devices
        .iter()
        .zip(clocks)
        .map(|(device, clock)| Chip::new((device.chip.chip_id, device.chip.aiclk_mhz), clock, ops))
        .collect();
    let mut tree: BTreeMap<Vec<String>, Sum> = BTreeMap::new();
    let mut around: Vec<(u64, String)> = Vec::new();
    for stretch in stretches {
        while around.last().is_some_and(|(end, _)| *end < stretch.end_ns.0) {
            around.pop();
        }
        around.push((stretch.end_ns.0, stretch.name.clone()));
        let path: Vec<String> = around.iter().map(|(_, name)| name.clone()).collect();
        if tree.len() < MAX_PHASES || tree.contains_key(&path) {
            tree.entry(path).or_insert_with(|| Sum::new(stretch.origin)).add(&stretch, &chips);
        }
    }
    tree.into_iter().map(|(path, sum)| sum.phase(path, &chips)).collect()
}

fn stretches_of(host: &HostRecording, origin_ns: u64) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    for thread in &host.threads {
        let mut open: Vec<(String, u64)> = Vec::new();
        let mut events: Vec<_> = thread.events.iter().collect();
        events.sort_by_key(|event| event.time_ns);
        for event in events {
            let start_ns = event.time_ns.saturating_sub(origin_ns);
            let mut add = |name: String, start_ns: u64, end_ns: u64, origin| {
                stretches.push(Stretch {
                    start_ns,
                    end_ns: std::cmp::Reverse(end_ns),
                    name,
                    origin,
                });
            };
            match event.kind {
                HostEventKind::Zone { end_ns, depth } if depth < MAX_ZONE_DEPTH => {
                    let end_ns = end_ns.saturating_sub(origin_ns);
                    add(host.name(event).to_owned(), start_ns, end_ns, PhaseOrigin::HostZone);
                }
                HostEventKind::Signpost => match signpost_half(host.name(event)) {
                    Some((name, true)) => open.push((name, start_ns)),
                    Some((name, false)) => {
                        if let Some(at) = open.iter().rposition(|(of, _)| *of == name) {
                            let (name, from) = open.remove(at);
                            add(name, from, start_ns, PhaseOrigin::SignpostPair);
                        }
                    }
                    None => {}
                },
                _ => {}
            }
        }
    }
    stretches
}

/// Launches of one chip, sorted by start. The starts are in nanoseconds of the host's clock.
struct Chip<'a> {
    chip_id: u32,
    aiclk_mhz: u32,
    ops: Vec<(u64, &'a OpCauses, &'a Launch)>,
}

impl<'a> Chip<'a> {
    fn new(
        (chip_id, aiclk_mhz): (u32, u32),
        clock: DeviceClock<'_>,
        ops: &[(&'a OpCauses, &'a Launch)],
    ) -> Self {
        let own = ops.iter().filter(|(op, _)| op.chip_id == chip_id);
        let mut ops: Vec<_> =
            own.map(|&(op, launch)| (clock.time_ns(op.window.0), op, launch)).collect();
        ops.sort_by_key(|(start, ..)| *start);
        Self { chip_id, aiclk_mhz, ops }
    }

    fn within(&self, from_ns: u64, to_ns: u64) -> &[(u64, &'a OpCauses, &'a Launch)] {
        let first = self.ops.partition_point(|(start, ..)| *start < from_ns);
        let end = self.ops.partition_point(|(start, ..)| *start < to_ns);
        self.ops.get(first..end.max(first)).unwrap_or(&[])
    }
}

/// Sums over the intervals of one phase.
struct Sum {
    origin: PhaseOrigin,
    host: Vec<(u64, u64)>,
    op_count: u64,
    kernel_ns: u64,
    /// Times by class, and total cycles, of each chip.
    times: BTreeMap<u32, (ClassTimes, u64)>,
}

impl Sum {
    const fn new(origin: PhaseOrigin) -> Self {
        Self { origin, host: Vec::new(), op_count: 0, kernel_ns: 0, times: BTreeMap::new() }
    }

    fn add(&mut self, stretch: &Stretch, chips: &[Chip<'_>]) {
        self.host.push((stretch.start_ns, stretch.end_ns.0));
        for chip in chips {
            let ops = chip.within(stretch.start_ns, stretch.end_ns.0);
            let ops: Vec<_> = ops.iter().map(|&(_, op, launch)| (op, launch)).collect();
            let Some(window) = whole_window(&ops) else { continue };
            self.op_count = self.op_count.saturating_add(ops.len() as u64);
            let kernels = ops.iter().filter_map(|(op, _)| op.kernel?.duration_ns);
            self.kernel_ns = kernels.fold(self.kernel_ns, u64::saturating_add);
            let (times, cycles) = self.times.entry(chip.chip_id).or_default();
            let inside = window_times(&ops, window, chip.aiclk_mhz);
            times.add_all(&inside, 1.0);
            times.waits = times.waits.max(inside.waits);
            *cycles = cycles.saturating_add(window.1.saturating_sub(window.0));
        }
    }

    fn phase(self, path: Vec<String>, chips: &[Chip<'_>]) -> Phase {
        let count = self.host.len() as u64;
        let host = merged(self.host).into_iter().map(|(start, end)| end.saturating_sub(start));
        let devices = self.times.into_iter().map(|(chip_id, (times, cycles))| {
            let chip = chips.iter().find(|chip| chip.chip_id == chip_id);
            let aiclk_mhz = chip.map_or(0, |chip| chip.aiclk_mhz);
            PhaseTime { chip_id, time: TimeSplit::new(&times, cycles, aiclk_mhz) }
        });
        Phase {
            path,
            origin: self.origin,
            count,
            host_ns: host.fold(0, u64::saturating_add),
            op_count: self.op_count,
            devices: devices.collect(),
            kernel_sum_over_devices_ns: self.kernel_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use reports::perf::signpost_half;

    #[test]
    fn signposts_are_paired_by_the_rest_of_their_names() {
        for (name, expected) in [
            ("prefill-start", Some(("prefill", true))),
            ("Decode Begin", Some(("Decode", true))),
            ("prefill_end", Some(("prefill", false))),
            ("layer:stop", Some(("layer", false))),
            ("start", Some(("phase", true))),
            ("iteration 3", None),
        ] {
            let expected = expected.map(|(name, opens): (&str, bool)| (name.to_owned(), opens));
            assert_eq!(signpost_half(name), expected, "{name}");
        }
    }
}
