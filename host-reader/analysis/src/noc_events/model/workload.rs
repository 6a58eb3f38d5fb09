//! Transfers of a program, with their start times and the transfers that they wait for.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "times are counted from the first record, and transfers are in memory"
)]

use super::{chip::NocChip, gap::NocGap};
use crate::noc_events::{
    payload::Noc,
    route::{Direction, Grid, Rectangle, multicast_route, route},
    trace::ProgramTrace,
    traffic_sums::saturated_bytes,
    transfer::{Target, TrafficEvent, TransferState},
};
use reader::mesh::Noc0Coord;
use std::collections::BTreeMap;
use wire::noc_event::NocEventKind;

/// Destination of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sink {
    Tile(Noc0Coord),
    /// Worker tiles of a rectangle.
    Rectangle(Rectangle),
}

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flow {
    pub(super) noc: Noc,
    pub(super) from: Noc0Coord,
    pub(super) sink: Sink,
    pub(super) byte_count: u64,
    /// Earliest cycle at which the transfer can move, counted from the program's first record.
    pub(super) start: u64,
    /// True if the transfer waits for another one.
    pub(super) waits: bool,
    /// Index of the transfer that waits for this one.
    pub(super) waited_for_by: Option<usize>,
}

impl Flow {
    /// Returns the links on the route of the bytes, each once.
    pub(super) fn links(&self, grid: Grid) -> Vec<(Noc0Coord, Direction)> {
        match self.sink {
            Sink::Tile(to) => route(self.noc, self.from, to, grid),
            // Multicasts without a route are not in the workload.
            Sink::Rectangle(tiles) => {
                multicast_route(self.noc, self.from, tiles, grid).unwrap_or_default()
            }
        }
    }
}

/// Transfers of one program on one chip.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Workload {
    /// Transfers, in time order for each core.
    pub(super) flows: Vec<Flow>,
    /// Cycles from the first record to the end of the kernels; `None` if the difference is not
    /// positive.
    pub(super) kernel_cycles: Option<u64>,
    /// Reasons why figures are unknown.
    pub(super) gaps: Vec<NocGap>,
    /// Number of transfers of kinds that no figure includes.
    pub(super) ignored_count: u64,
    /// Number of transfers with the maximum size that an event can hold. They may be larger.
    pub(super) saturated_count: u64,
}

/// Cycles subtracted from the time of the last record to get the end of the kernels: the minimum
/// time from a kernel's last event to the record of its end.
const CYCLES_AFTER_LAST_EVENT: u64 = 20;

impl Workload {
    pub(super) fn from_trace(trace: &ProgramTrace, chip: &NocChip) -> Self {
        // In early versions of trace files, the profiler's own zones name no processor.
        let kernel_objects = trace.objects.iter().filter(|object| !object.proc.is_empty());
        let times = kernel_objects.map(|object| object.timestamp);
        let (first, last) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        let mut found = Found {
            chip,
            first,
            saturated_bytes: saturated_bytes(std::slice::from_ref(trace)),
            counts: GapCounts::default(),
            workload: Self::default(),
        };
        let mut states: BTreeMap<(Noc0Coord, &str, Option<&str>), TransferState> = BTreeMap::new();
        for object in trace.objects.iter().filter(|object| object.zone.is_none()) {
            let kind = object.event_type.as_deref().and_then(NocEventKind::from_label);
            let Some(kind) = kind else { continue };
            found.counts.fabric += u64::from(kind.is_fabric());
            let core = Noc0Coord { x: object.sx, y: object.sy };
            let state = states.entry((core, &object.proc, object.noc.as_deref())).or_default();
            if let Some(transfer) = state.take(&TrafficEvent::from_object(kind, object)) {
                found.add(&transfer);
            }
        }
        let Found { counts, mut workload, .. } = found;
        workload.kernel_cycles =
            (last - first).checked_sub(CYCLES_AFTER_LAST_EVENT).filter(|&cycles| cycles > 0);
        workload.gaps = counts.gaps();
        workload.queue_up(chip.grid());
        workload
    }

    /// Makes transfers wait for earlier ones.
    ///
    /// Transfers that leave a tile by the same link are in one queue. A NoC has two virtual
    /// channels for requests, so each transfer waits for the one two places ahead of it in the
    /// queue.
    fn queue_up(&mut self, grid: Grid) {
        let mut queues: BTreeMap<(Noc, Noc0Coord, Option<Direction>), Vec<usize>> = BTreeMap::new();
        for (index, flow) in self.flows.iter().enumerate() {
            let first = flow.links(grid).first().map(|&(_, direction)| direction);
            queues.entry((flow.noc, flow.from, first)).or_default().push(index);
        }
        for queue in queues.values_mut() {
            queue.sort_by_key(|&index| self.flows.get(index).map(|flow| flow.start));
            for (&first, &later) in queue.iter().zip(queue.iter().skip(VIRTUAL_CHANNELS)) {
                if let Some(flow) = self.flows.get_mut(first) {
                    flow.waited_for_by = Some(later);
                }
                if let Some(flow) = self.flows.get_mut(later) {
                    flow.waits = true;
                }
            }
        }
    }
}

const VIRTUAL_CHANNELS: usize = 2;

/// Numbers of transfers that cannot be modelled, by reason.
#[derive(Default)]
struct GapCounts {
    unknown_way: u64,
    unknown_size: u64,
    around_edge: u64,
    fabric: u64,
}

impl GapCounts {
    fn gaps(&self) -> Vec<NocGap> {
        let gaps = [
            (self.unknown_way, NocGap::UnknownWay as fn(u64) -> NocGap),
            (self.unknown_size, NocGap::UnknownSize),
            (self.around_edge, NocGap::AroundEdge),
            (self.fabric, NocGap::Fabric),
        ];
        let gaps = gaps.into_iter().filter(|&(count, _)| count > 0);
        gaps.map(|(count, gap)| gap(count)).collect()
    }
}

struct Found<'trace> {
    chip: &'trace NocChip,
    /// Time of the first record.
    first: u64,
    /// Maximum size that an event can hold. A transfer of this size may be larger.
    saturated_bytes: u64,
    counts: GapCounts,
    workload: Workload,
}

impl Found<'_> {
    fn add(&mut self, transfer: &TrafficEvent) {
        if !is_modelled(transfer.kind) {
            self.workload.ignored_count += 1;
            return;
        }
        let is_stated = !transfer.takes_state();
        if transfer.byte_count == 0 {
            self.counts.unknown_size += u64::from(!is_stated);
            return;
        }
        let Some((from, sink)) = self.ends(transfer) else { return };
        let latency = match sink {
            Sink::Tile(to) if transfer.kind.is_read() => self.chip.read_cycles(from, to),
            Sink::Tile(to) => self.chip.write_cycles(transfer.noc, from, to),
            Sink::Rectangle(_) => {
                let (columns, rows) = self.chip.grid();
                let corner = Noc0Coord { x: columns - 1, y: rows - 1 };
                self.chip.write_cycles(transfer.noc, from, corner)
            }
        };
        self.workload.saturated_count += u64::from(transfer.byte_count == self.saturated_bytes);
        self.workload.flows.push(Flow {
            noc: transfer.noc,
            from,
            sink,
            byte_count: transfer.byte_count,
            start: (transfer.time - self.first).saturating_add(latency),
            waits: false,
            waited_for_by: None,
        });
    }

    /// Returns the source tile and the destination of the bytes. If either is unknown, adds the
    /// transfer to the counts of those that cannot be modelled, and returns `None`.
    fn ends(&mut self, transfer: &TrafficEvent) -> Option<(Noc0Coord, Sink)> {
        let &TrafficEvent { kind, noc, core, target, .. } = transfer;
        let is_known = noc != Noc::Undefined && self.chip.is_on_grid(core);
        match target {
            Target::Tile(tile) if is_known && self.chip.is_on_grid(tile) => {
                let is_read = kind.is_read();
                let (from, to) = if is_read { (tile, core) } else { (core, tile) };
                Some((from, Sink::Tile(to)))
            }
            Target::Rectangle(tiles)
                if is_known
                    && self.chip.is_on_grid(tiles.first)
                    && self.chip.is_on_grid(tiles.last) =>
            {
                if tiles.lines(noc).is_none() {
                    self.counts.around_edge += 1;
                    return None;
                }
                Some((core, Sink::Rectangle(tiles)))
            }
            _ => {
                self.counts.unknown_way += 1;
                None
            }
        }
    }
}

/// Returns true if the figures include events of this kind.
///
/// # Compatibility
/// The events that tt-npe takes from a trace, `npeWorkloadIngest.cpp`.
const fn is_modelled(kind: NocEventKind) -> bool {
    matches!(
        kind,
        NocEventKind::Read
            | NocEventKind::ReadWithState
            | NocEventKind::ReadWithStateAndTrid
            | NocEventKind::ReadDramShardedWithState
            | NocEventKind::Write
            | NocEventKind::WriteMulticast
            | NocEventKind::WriteWithState
    )
}
