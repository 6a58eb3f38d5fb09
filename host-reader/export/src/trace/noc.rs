//! NoC events of a trace, restricted to the events that a filter selects.

use analysis::noc_events::{
    KernelStarts, NocEventKind, NocTraces, ProgramTrace, TileMap, TraceObject, TraceOptions,
    Traffic,
};
use reader::{lane::LaneId, mesh::Noc0Coord, readout::Readout};
use recording::{DeviceClock, Recording, TraceFilter};
use std::collections::BTreeMap;
use wire::Risc;

/// NoC events of all chips.
#[derive(Clone, Debug, Default)]
pub struct TraceNoc {
    /// One element for each program, and for each replay of a program. Sorted by chip and program.
    pub programs: Vec<ProgramTrace>,
    /// Sentences about events that could not be used.
    pub notes: Vec<String>,
    /// Columns and rows of each chip's grid of tiles.
    grids: BTreeMap<u32, (u16, u16)>,
}

impl TraceNoc {
    pub(super) fn new(recording: &Recording) -> Self {
        let (readout, names) = (&recording.readout, recording.op_names());
        let traces = NocTraces::from_readout(
            readout,
            |chip_id, program| names.get(&(chip_id, program)).copied(),
            &TraceOptions::default(),
        );
        if traces.programs.is_empty() && traces.notes.count() == 0 {
            return Self::beside(recording);
        }
        let notes = traces.notes.sentences().chain(recording.noc_traces.sentence_of_log());
        Self { programs: traces.programs, notes: notes.collect(), grids: grids_of(readout) }
    }

    /// Collects the events of the NoC trace files in the folder of a device log. Called if the log
    /// itself contains no NoC events. The times of the files are aligned with the log.
    fn beside(recording: &Recording) -> Self {
        let readout = &recording.readout;
        if recording.noc_traces.unrepeated().is_empty() {
            return Self::default();
        }
        let (mut programs, mut counts) = recording.noc_events_beside();
        let starts = KernelStarts::from_readout(readout);
        for trace in &mut programs {
            counts.leave_out_without_time(starts.align(trace));
        }
        programs.retain(|trace| !trace.objects.is_empty());
        Self { programs, notes: counts.sentences().collect(), grids: grids_of(readout) }
    }

    /// Returns true if there are no events and no notes about events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.notes.is_empty()
    }

    /// Returns the columns and rows of a chip's grid of tiles, if the chip's architecture is known.
    #[must_use]
    pub fn grid(&self, chip_id: u32) -> Option<(u16, u16)> {
        self.grids.get(&chip_id).copied()
    }

    /// Returns the number of bytes moved between each pair of tiles, and the number moved over each
    /// link.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        Traffic::from_traces(&self.programs, |chip_id| self.grid(chip_id))
    }

    /// Returns the events of a chip, each with its program. The events are sorted by program, then
    /// by the core that recorded them.
    pub fn events(&self, chip_id: u32) -> impl Iterator<Item = (&ProgramTrace, &TraceObject)> {
        let programs = self.programs.iter().filter(move |program| program.chip_id == chip_id);
        let events = programs
            .flat_map(|program| program.objects.iter().map(move |object| (program, object)));
        events.filter(|(_, object)| object.zone.is_none())
    }

    /// Returns the lane that recorded an event; `None` if the event's RISC is unknown.
    pub(crate) fn lane_of(chip_id: u32, object: &TraceObject) -> Option<LaneId> {
        let core = Noc0Coord { x: object.sx, y: object.sy };
        Some(LaneId { chip_id, core, risc: Risc::from_label(&object.proc)? })
    }

    /// Removes the events that a filter does not select.
    pub(super) fn retain<'a>(
        &mut self,
        filter: &TraceFilter,
        clock: impl Fn(u32) -> Option<DeviceClock<'a>>,
    ) {
        for program in &mut self.programs {
            let chip_id = program.chip_id;
            let name = Some(program.op_name.as_str()).filter(|name| !name.is_empty());
            let is_op_wanted = filter.selects_op(program.program.base(), name);
            let clock = clock(chip_id);
            program.objects.retain(|object| {
                let lane = Self::lane_of(chip_id, object);
                let is_in_window = clock.is_none_or(|clock| {
                    let time_ns = clock.time_ns(object.timestamp);
                    filter.selects_time(time_ns, time_ns)
                });
                is_op_wanted && lane.is_some_and(|lane| filter.selects_lane(lane)) && is_in_window
            });
        }
        self.programs.retain(|program| program.objects.iter().any(|object| object.zone.is_none()));
    }
}

fn grids_of(readout: &Readout) -> BTreeMap<u32, (u16, u16)> {
    let devices = readout.devices.iter();
    let grids = devices.filter_map(|of| Some((of.chip.chip_id, TileMap::from_device(of)?.grid())));
    grids.collect()
}

/// Returns the kind of an event; `None` if its name is unknown.
pub(crate) fn kind_of(object: &TraceObject) -> Option<NocEventKind> {
    object.event_type.as_deref().and_then(NocEventKind::from_label)
}
