//! Use of the NoC's links by programs whose NoC events were recorded.

use crate::{
    barriers::{BarrierUse, has_barriers},
    finding::percent,
    threshold::NOC,
};
use analysis::{
    Launch, MOST_PERCENT,
    noc_events::{
        Link, NocLanes, NocPrograms, OutsideReason, ProgramLanes, ProgramTrace, TileMap,
        TraceFileCounts, TraceFiles, TraceNotes, TraceOptions, Traffic,
    },
};
use reader::{lane::TraceReplay, readout::Readout};
use recording::{Recording, problem::counted};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::PathBuf,
};
use wire::RunHostId;

/// Use of the busiest link by one program during its kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NocUse {
    pub(crate) link: Link,
    /// Use in percent of the link's peak.
    pub(crate) percent: f64,
    /// True if more bytes may have passed over the link than the recording shows.
    ///
    /// The reasons are multicasts, transfers to unknown tiles, sizes above the maximum that an
    /// event can hold, and lost records.
    pub(crate) is_lower_bound: bool,
    /// Barriers of the core that spends the most time at barriers; `None` if no barrier is known.
    pub(crate) barriers: Option<BarrierUse>,
}

impl NocUse {
    /// Returns true if the known bytes alone reach the peak bandwidth of the busiest link.
    pub(crate) fn is_at_peak(&self) -> bool {
        self.percent >= NOC.value
    }
}

/// Use of the NoC by chip and program. Programs without NoC events or with an unknown length are
/// missing.
pub(crate) type NocUses = BTreeMap<(u32, u32), NocUse>;

/// What the NoC events of a recording show.
#[derive(Debug, Default)]
pub(crate) struct NocEvidence {
    pub(crate) uses: NocUses,
    /// True if the recording has NoC events, also if no use follows from them.
    pub(crate) has_events: bool,
    /// What the events tell of waits at barriers.
    pub(crate) barriers: BarrierRecords,
    /// Sentences about events that could not be read.
    pub(crate) unread: Vec<String>,
    /// Sentences about the source of the events, and about programs whose use is unknown.
    pub(crate) sentences: Option<String>,
}

/// What a recording's NoC events tell of waits at barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BarrierRecords {
    /// There are no barriers in the events, or no events.
    #[default]
    None,
    /// There are barriers.
    Some,
    /// The events could not be read.
    Unread,
}

impl NocEvidence {
    /// Returns the NoC use of all programs of a recording.
    pub(crate) fn new(recording: &Recording, launches: &[Launch], has_own_events: bool) -> Self {
        let (readout, files) = (&recording.readout, &recording.noc_traces);
        let paths = files.unrepeated();
        let (mut found, mut sentences) = match paths {
            _ if has_own_events => (uses_of_readout(readout, launches), Vec::new()),
            [] => (FoundUses::default(), Vec::new()),
            paths => {
                let (found, counts) = uses_of_files(readout, launches, paths);
                (found, counts.sentences().collect())
            }
        };
        if sentences.is_empty() {
            sentences.extend(files.sentence_of_log());
        }
        sentences.extend(leave_out_impossible(&mut found.uses));
        Self {
            uses: found.uses,
            barriers: found.barriers,
            unread: found.unread,
            has_events: has_own_events || !paths.is_empty(),
            sentences: (!sentences.is_empty()).then(|| sentences.join(". ")),
        }
    }
}

/// Uses of all programs, and what the events tell beside them.
#[derive(Debug, Default)]
struct FoundUses {
    uses: NocUses,
    barriers: BarrierRecords,
    unread: Vec<String>,
}

/// Removes uses above the peak of a link, and returns a sentence about them. The routes or the lengths
/// of such programs are not those of the model.
fn leave_out_impossible(uses: &mut NocUses) -> Option<String> {
    let all = uses.len();
    uses.retain(|_, of| of.percent <= MOST_PERCENT);
    for of in uses.values_mut() {
        of.barriers = of.barriers.filter(|barriers| barriers.percent <= MOST_PERCENT);
    }
    let left_out = all.saturating_sub(uses.len());
    (left_out > 0).then(|| {
        format!(
            "The use of NoC links is unknown for {left_out} of {}: more bytes than a link carries in \
             the time of the kernels",
            counted(all as u64, "program", "programs")
        )
    })
}

fn uses_of_readout(readout: &Readout, launches: &[Launch]) -> FoundUses {
    let lanes = NocLanes::from_readout(readout);
    let programs = NocPrograms::new(&lanes, readout, &TraceOptions::default());
    let mut notes = TraceNotes::default();
    if programs.is_unknown() {
        // The notes are complete before the first of no traces.
        programs.traces(|_, _| None, &mut notes).for_each(drop);
        let unread = notes.sentences().collect();
        return FoundUses { unread, barriers: BarrierRecords::Unread, ..FoundUses::default() };
    }
    if programs.is_empty() {
        return FoundUses::default();
    }
    let cycles = kernel_cycles(launches);
    let mut barriers = BarrierRecords::None;
    let traces = programs
        .traces(|_, _| None, &mut notes)
        .inspect(|trace| note_barriers(trace, &mut barriers));
    let mut uses = uses_of(traces, &chips_of(readout), &cycles);
    let is_partial = readout.losses.has_failures() || notes.count() > 0;
    uses.values_mut().for_each(|of| of.is_lower_bound |= is_partial);
    FoundUses { uses, barriers, unread: Vec::new() }
}

fn note_barriers(trace: &ProgramTrace, barriers: &mut BarrierRecords) {
    if *barriers == BarrierRecords::None && has_barriers(trace) {
        *barriers = BarrierRecords::Some;
    }
}

/// Returns the NoC use of the programs whose events are in files next to the log.
fn uses_of_files(
    readout: &Readout,
    launches: &[Launch],
    paths: &[PathBuf],
) -> (FoundUses, TraceFileCounts) {
    let mut programs = ProgramLanes::default();
    let mut launch_counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for Launch { op, runs, .. } in launches {
        let replay = op.trace_id.zip(op.trace_replay);
        let replay = replay.map(|(trace_id, counter)| TraceReplay { trace_id, counter });
        let program = RunHostId(op.run_host_id);
        runs.iter().for_each(|run| programs.add(run.lane, program, replay));
        let count = launch_counts.entry((op.chip_id, op.run_host_id)).or_default();
        *count = count.saturating_add(1);
    }
    let mut counts = TraceFileCounts::default();
    let mut kernels: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let files = TraceFiles::new(paths, &programs);
    let mut barriers = BarrierRecords::None;
    let traces = files.traces(&mut counts).inspect(|trace| {
        note_barriers(trace, &mut barriers);
        let count = kernels.entry((trace.chip_id, trace.program.0)).or_default();
        *count = count.saturating_add(trace.kernel_count());
    });
    let mut uses = uses_of(traces, &chips_of(readout), &kernel_cycles(launches));
    let is_partial = readout.losses.has_failures() || counts.left_out_count() > 0;
    uses.retain(|program, of| {
        let [traced, launched] = [&kernels, &launch_counts].map(|of| of.get(program).copied());
        // If some traced launches are missing in the log, the length of the traced launches is
        // unknown.
        let is_known = traced.unwrap_or(0) <= launched.unwrap_or(0);
        of.is_lower_bound |= is_partial || traced < launched;
        is_known
    });
    (FoundUses { uses, barriers, unread: Vec::new() }, counts)
}

fn chips_of(readout: &Readout) -> BTreeMap<u32, Chip> {
    let devices = readout.devices.iter();
    let chips = devices.filter_map(|device| {
        let chip = &device.chip;
        let grid = TileMap::unharvested(&chip.arch)?.grid();
        Some((chip.chip_id, Chip { grid, link_bytes: link_bytes(&chip.arch)? }))
    });
    chips.collect()
}

/// Size of a chip's grid, and capacity of its links.
struct Chip {
    /// Columns and rows of the chip's tiles.
    grid: (u16, u16),
    /// Bytes that a link carries per cycle.
    link_bytes: f64,
}

/// Returns the bytes that a link carries per cycle: one flit.
///
/// # Compatibility
/// Tenstorrent's ISA documentation: flits have 256 bits on Wormhole and 512 bits on Blackhole.
fn link_bytes(arch: &str) -> Option<f64> {
    match arch {
        arch if arch.starts_with("wormhole") => Some(32.0),
        arch if arch.starts_with("blackhole") => Some(64.0),
        _ => None,
    }
}

/// Sums the kernel cycles of each program. A program with a launch of unknown length has no entry.
fn kernel_cycles(launches: &[Launch]) -> BTreeMap<(u32, u32), u64> {
    let mut cycles: BTreeMap<(u32, u32), Option<u64>> = BTreeMap::new();
    for Launch { op, .. } in launches {
        let sum = cycles.entry((op.chip_id, op.run_host_id)).or_insert(Some(0));
        *sum = sum.zip(op.kernel).map(|(sum, kernel)| sum.saturating_add(kernel.duration_cycles));
    }
    cycles.into_iter().filter_map(|(program, cycles)| Some((program, cycles?))).collect()
}

/// Returns the NoC use of each program. All traces of a program must be consecutive.
fn uses_of(
    traces: impl IntoIterator<Item = ProgramTrace>,
    chips: &BTreeMap<u32, Chip>,
    cycles: &BTreeMap<(u32, u32), u64>,
) -> NocUses {
    let keyed = traces.into_iter().map(|trace| ((trace.chip_id, trace.program.0), trace));
    let mut traces = keyed.peekable();
    let mut uses = NocUses::new();
    while let Some((program, first)) = traces.next() {
        let mut program_traces = vec![first];
        while let Some((_, trace)) = traces.next_if(|(other, _)| *other == program) {
            program_traces.push(trace);
        }
        let chip = chips.get(&program.0).zip(cycles.get(&program));
        let noc_use = chip.and_then(|(chip, &cycles)| noc_use(&program_traces, chip, cycles));
        match (noc_use, uses.entry(program)) {
            (Some(noc_use), Entry::Vacant(unknown)) => {
                unknown.insert(noc_use);
            }
            // Further events of this program come from another file.
            (Some(noc_use), Entry::Occupied(mut known)) => {
                let known = known.get_mut();
                let more = if noc_use.percent > known.percent { noc_use } else { *known };
                *known = NocUse { is_lower_bound: true, barriers: None, ..more };
            }
            (None, _) => {}
        }
    }
    uses
}

/// Returns the use of a chip's links by one program whose kernels took `cycles`.
fn noc_use(traces: &[ProgramTrace], chip: &Chip, cycles: u64) -> Option<NocUse> {
    let traffic = Traffic::from_traces(traces, |_| Some(chip.grid));
    let busiest = traffic.links.iter().max_by_key(|load| load.byte_count)?;
    let [bytes, cycles] = [busiest.byte_count, cycles].map(|of| of as f64);
    let noc_use = NocUse {
        link: busiest.link,
        percent: percent(bytes, cycles * chip.link_bytes),
        is_lower_bound: is_lower_bound(&traffic),
        barriers: BarrierUse::from_traces(traces, cycles),
    };
    (cycles > 0.0).then_some(noc_use)
}

fn is_lower_bound(traffic: &Traffic) -> bool {
    let is_cut = traffic.activities.iter().any(|activity| activity.is_lower_bound());
    // Fabric packets also use links of the chip, on their way to its Ethernet cores.
    let is_sent_on = traffic.outside.iter().any(|of| matches!(of.reason, OutsideReason::OtherChip));
    let is_elsewhere = traffic.multicast_count > 0 || traffic.unplaced_count > 0 || is_sent_on;
    is_elsewhere || traffic.unknown_count > 0 || is_cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::noc_events::read_json;

    /// Builds a trace of writes over NoC 0 from tile (1,1) to tiles in the same row. Each element
    /// of `writes` has the x coordinate of the target tile and the number of bytes.
    fn trace(program: u32, writes: &[(u16, u64)]) -> ProgramTrace {
        let events: Vec<String> = writes
            .iter()
            .map(|(x, bytes)| {
                format!(
                    "{{\"proc\": \"BRISC\", \"noc\": \"NOC_0\", \"sx\": 1, \"sy\": 1, \"dx\": {x}, \
                     \"dy\": 1, \"num_bytes\": {bytes}, \"type\": \"WRITE_\", \"timestamp\": 5}}"
                )
            })
            .collect();
        let objects = read_json(format!("[{}]", events.join(",")).as_bytes()).objects;
        assert_eq!(objects.len(), writes.len());
        ProgramTrace {
            chip_id: 0,
            program: wire::RunHostId(program),
            trace: None,
            op_name: String::new(),
            objects,
        }
    }

    fn uses(traces: Vec<ProgramTrace>, cycles: &[(u32, u64)]) -> NocUses {
        let chips = [(0, Chip { grid: (10, 12), link_bytes: 32.0 })].into();
        let cycles = cycles.iter().map(|(program, cycles)| ((0, *program), *cycles)).collect();
        uses_of(traces, &chips, &cycles)
    }

    #[test]
    fn the_busiest_link_carries_what_all_routes_over_it_do() {
        // Eastward from (1,1): 4,096 bytes to (2,1) and 2,048 to (3,1) share the first link.
        let found = uses(vec![trace(1024, &[(2, 4096), (3, 2048)])], &[(1024, 256)]);
        let of = found[&(0, 1024)];
        assert_eq!((of.percent, of.is_lower_bound, of.is_at_peak()), (75.0, false, true));
        assert_eq!((of.link.tile.x, of.link.tile.y), (1, 1));
        // The launches of one program are merged. Each launch has half of the bytes.
        let found =
            uses(vec![trace(1024, &[(2, 4096)]), trace(1024, &[(2, 4096)])], &[(1024, 512)]);
        assert_eq!(found[&(0, 1024)].percent, 50.0);
        assert!(!found[&(0, 1024)].is_at_peak());
    }

    #[test]
    fn what_is_not_known_is_no_use() {
        assert_eq!(uses(vec![trace(1024, &[(2, 4096)])], &[]), NocUses::new(), "no length");
        assert_eq!(uses(vec![trace(1024, &[(2, 4096)])], &[(1024, 0)]), NocUses::new());
        assert_eq!(uses(vec![trace(1024, &[])], &[(1024, 256)]), NocUses::new(), "no transfer");
        // A transfer with the maximum size that an event can hold may have been larger.
        assert!(uses(vec![trace(1024, &[(2, 8160)])], &[(1024, 256)])[&(0, 1024)].is_lower_bound);
    }
}
