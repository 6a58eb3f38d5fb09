//! Starts and ends of kernels on each core, in packed form. Data that exceeds the memory limit is
//! stored in a temporary file.

use reader::{
    from_lanes::{FromLanes, LanesContext},
    lane::{Lane, LaneId},
    mesh::Noc0Coord,
    packed_bytes::{PackedBytes, PackedMemory},
    packed_numbers::{fold_sign, push, unfold_sign},
    readout::Readout,
    role::RoleTable,
};
use std::{collections::BTreeMap, sync::Arc};
use wire::{PacketKind, Risc};

/// RISCs whose kernels may count as the first kernel of a launch.
const FIRST_RISCS: [Risc; 2] = [Risc::Brisc, Risc::Ncrisc];

/// Kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkKind {
    /// Start of a launch on a core.
    Launch,
    /// Start of a kernel of BRISC or NCRISC.
    Start,
    /// End of any kernel.
    End,
}

/// Point in time on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) time: u64,
    pub(super) program: u64,
    pub(super) kind: MarkKind,
}

impl Mark {
    pub(super) const fn launch(time: u64) -> Self {
        Self { time, program: 0, kind: MarkKind::Launch }
    }

    pub(super) const fn start(time: u64, program: u64) -> Self {
        Self { time, program, kind: MarkKind::Start }
    }

    pub(super) const fn end(time: u64, program: u64) -> Self {
        Self { time, program, kind: MarkKind::End }
    }
}

/// Marks of the lanes of one core.
#[derive(Debug, Default)]
pub(super) struct PackedMarks(Vec<PackedBytes>);

impl PackedMarks {
    /// Packs and stores the marks of another lane. Marks with equal times keep their order.
    pub(super) fn add(&mut self, mut marks: Vec<Mark>, memory: &Arc<PackedMemory>) {
        marks.sort_by_key(|mark| mark.time);
        let mut bytes = Vec::new();
        let (mut time, mut program) = (0, 0);
        for mark in marks {
            push(&mut bytes, mark.kind as u64);
            push(&mut bytes, mark.time.wrapping_sub(time));
            push(&mut bytes, fold_sign(mark.program.wrapping_sub(program).cast_signed()));
            (time, program) = (mark.time, mark.program);
        }
        bytes.shrink_to_fit();
        self.0.push(memory.keep(bytes));
    }

    /// Unpacks the marks of all lanes, sorted by time. Marks with equal times are in the order of
    /// lanes.
    pub(super) fn iter(&self) -> impl Iterator<Item = Mark> {
        let mut lanes: Vec<_> =
            self.0.iter().map(|bytes| marks_of_lane(bytes).peekable()).collect();
        std::iter::from_fn(move || {
            let times = lanes.iter_mut().enumerate();
            let times = times.filter_map(|(index, lane)| Some((lane.peek()?.time, index)));
            let (_, index) = times.min()?;
            lanes.get_mut(index)?.next()
        })
    }
}

/// Unpacks the marks of one lane, in the order of time.
fn marks_of_lane(bytes: &PackedBytes) -> impl Iterator<Item = Mark> {
    let mut window = bytes.window();
    let (mut time, mut program) = (0_u64, 0_u64);
    std::iter::from_fn(move || {
        let [kind, later, change] = window.numbers()?;
        time = time.wrapping_add(later);
        program = program.wrapping_add_signed(unfold_sign(change));
        let kind = match kind {
            0 => MarkKind::Launch,
            1 => MarkKind::Start,
            _ => MarkKind::End,
        };
        Some(Mark { time, program, kind })
    })
}

/// Starts and ends of kernels, collected lane by lane.
#[derive(Debug, Default)]
pub(super) struct KernelMarks(Vec<(LaneId, PackedMarks)>);

/// Data needed to find the marks of any lane.
pub(super) struct MarkContext {
    roles: RoleTable,
    memory: Arc<PackedMemory>,
}

impl LanesContext<'_> for MarkContext {
    fn new(readout: &Readout, memory: &Arc<PackedMemory>) -> Self {
        let roles = RoleTable::from_names(&readout.zones);
        Self { roles, memory: Arc::clone(memory) }
    }
}

impl FromLanes for KernelMarks {
    type Context<'readout> = MarkContext;

    fn add(&mut self, context: &MarkContext, lane: &Lane) {
        let mut marks = PackedMarks::default();
        marks.add(lane_marks(lane, &context.roles), &context.memory);
        self.0.push((lane.id, marks));
    }
}

impl KernelMarks {
    /// Merges the marks that each thread has collected, and returns the marks of each core by chip
    /// and core.
    pub(super) fn by_core(parts: Vec<Self>) -> BTreeMap<u32, BTreeMap<Noc0Coord, PackedMarks>> {
        let mut lanes: Vec<_> = parts.into_iter().flat_map(|part| part.0).collect();
        lanes.sort_by_key(|(lane, _)| *lane);
        let mut chips: BTreeMap<_, BTreeMap<_, PackedMarks>> = BTreeMap::new();
        for (LaneId { chip_id, core, .. }, marks) in lanes {
            chips.entry(chip_id).or_default().entry(core).or_default().0.extend(marks.0);
        }
        chips
    }
}

fn lane_marks(lane: &Lane, roles: &RoleTable) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (index, run) in lane.runs.iter().enumerate() {
        let program = u64::from(run.program.0);
        for record in lane.run_records(index) {
            let (Some(head), Some(&time)) = (lane.heads.get(record), lane.times.get(record)) else {
                break;
            };
            let kind = head.kind();
            if !matches!(kind, PacketKind::ZoneStart | PacketKind::ZoneEnd) {
                continue;
            }
            let role = roles.role(head.zone());
            let is_start = kind == PacketKind::ZoneStart;
            if role.is_kernel() {
                if !is_start {
                    marks.push(Mark::end(time, program));
                } else if FIRST_RISCS.contains(&lane.id.risc) {
                    marks.push(Mark::start(time, program));
                }
            } else if is_start && lane.id.risc == Risc::Brisc && role.is_firmware() {
                marks.push(Mark::launch(time));
            }
        }
    }
    marks
}
