//! Start times of the first kernel of each program on each lane. They are used to shift the times
//! of a NoC trace to the clock of a recording.

use crate::noc_events::trace::ProgramTrace;
use reader::{
    lane::{Lane, LaneId, TraceReplay},
    mesh::Noc0Coord,
    names::ZoneTable,
    readout::Readout,
};
use std::collections::{BTreeMap, HashMap};
use wire::{PacketKind, Risc, RunHostId};

/// Trace replay, if the program was replayed, and the start time of the first kernel.
type Start = (Option<TraceReplay>, u64);

/// For each lane, the start of the first kernel of each program.
///
/// The times of a log are those of each tile's clock. The times of TT-Metal's NoC traces differ:
/// they are shifted and scaled to the clock of one chip or, in files of early TT-Metal releases,
/// counted from the first event.
#[derive(Clone, Debug, Default)]
pub struct KernelStarts {
    starts: BTreeMap<(LaneId, RunHostId), Vec<Start>>,
}

impl KernelStarts {
    /// Collects the kernel starts of a readout's lanes.
    #[must_use]
    pub fn from_readout(readout: &Readout) -> Self {
        let mut starts = Self::default();
        readout.lanes().for_each(|lane| starts.add(lane, &readout.zones));
        starts
    }

    fn add(&mut self, lane: &Lane, zones: &ZoneTable) {
        let mut kernels = HashMap::new();
        for (index, run) in lane.runs.iter().enumerate() {
            let records = lane.run_records(index);
            let heads = lane.heads.get(records.clone()).unwrap_or(&[]);
            let times = lane.times.get(records).unwrap_or(&[]);
            let start = heads.iter().zip(times).find(|(head, _)| {
                let zone = head.zone();
                let is_kernel =
                    kernels.entry(zone).or_insert_with(|| zones.name(zone).ends_with("-KERNEL"));
                head.kind() == PacketKind::ZoneStart && *is_kernel
            });
            let Some((_, &start)) = start else { continue };
            let program_starts = self.starts.entry((lane.id, run.program)).or_default();
            if program_starts.iter().all(|(replay, _)| *replay != run.trace) {
                program_starts.push((run.trace, start));
            }
        }
    }

    /// Shifts the times of a trace to the clocks of its lanes, so that each lane's first kernel
    /// starts at its recorded time. Returns the number of removed events.
    ///
    /// A lane without a recorded kernel start gets the shift of another lane of the trace. If no
    /// lane of the trace has a recorded kernel start, all events are removed.
    pub fn align(&self, trace: &mut ProgramTrace) -> u64 {
        let mut traced: BTreeMap<(Noc0Coord, Risc), u64> = BTreeMap::new();
        for object in trace.objects.iter().filter(|object| object.is_kernel_start()) {
            let Some(risc) = Risc::from_label(&object.proc) else { continue };
            let lane = (Noc0Coord { x: object.sx, y: object.sy }, risc);
            let start = traced.entry(lane).or_insert(object.timestamp);
            *start = object.timestamp.min(*start);
        }
        let shifts: BTreeMap<_, _> = traced
            .iter()
            .filter_map(|(&(core, risc), &trace_start)| {
                let lane = LaneId { chip_id: trace.chip_id, core, risc };
                let start = self.start(lane, trace.program, trace.trace)?;
                Some(((core, risc), start.wrapping_sub(trace_start)))
            })
            .collect();
        let Some(&otherwise) = shifts.values().next() else {
            let count = trace.event_count();
            trace.objects.clear();
            return count;
        };
        for object in &mut trace.objects {
            let core = Noc0Coord { x: object.sx, y: object.sy };
            let own = Risc::from_label(&object.proc).and_then(|risc| shifts.get(&(core, risc)));
            object.timestamp = object.timestamp.wrapping_add(*own.unwrap_or(&otherwise));
        }
        0
    }

    fn start(&self, lane: LaneId, program: RunHostId, replay: Option<TraceReplay>) -> Option<u64> {
        let starts = self.starts.get(&(lane, program))?;
        let same = starts.iter().find(|(of, _)| *of == replay);
        // Early versions of trace files and of logs do not contain replays.
        let start = same.or_else(|| {
            let is_unnamed = replay.is_none() || starts.iter().all(|(replay, _)| replay.is_none());
            starts.first().filter(|_| is_unnamed)
        });
        start.map(|(_, start)| *start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noc_events::read_json;

    fn starts(brisc_start: u64) -> KernelStarts {
        let lane = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 2 }, risc: Risc::Brisc };
        KernelStarts { starts: [((lane, RunHostId(1024)), vec![(None, brisc_start)])].into() }
    }

    fn trace(program: u32) -> ProgramTrace {
        let objects = [
            zone_begin("BRISC", 10),
            read_event("BRISC", 12),
            read_event("BRISC", 90),
            zone_begin("BRISC", 95),
            zone_begin("NCRISC", 20),
            read_event("NCRISC", 21),
        ];
        let text = format!("[{}]", objects.join(","));
        let objects = read_json(text.as_bytes()).objects;
        let program = RunHostId(program);
        ProgramTrace { chip_id: 0, program, trace: None, op_name: String::new(), objects }
    }

    fn read_event(risc: &str, time: u64) -> String {
        format!(r#"{{"proc":"{risc}","sx":1,"sy":2,"timestamp":{time},"type":"READ"}}"#)
    }

    fn zone_begin(risc: &str, time: u64) -> String {
        format!(
            r#"{{"proc":"{risc}","sx":1,"sy":2,"timestamp":{time},"zone":"{risc}-KERNEL","zone_phase":"begin"}}"#
        )
    }

    fn times(trace: &ProgramTrace) -> Vec<u64> {
        trace.objects.iter().map(|object| object.timestamp).collect()
    }

    #[test]
    fn times_are_shifted_so_that_the_first_kernels_begin_together() {
        let mut later = trace(1024);
        assert_eq!(starts(1_010).align(&mut later), 0);
        // The recording has no kernel of the NCRISC, so the NCRISC gets the BRISC's shift of 1,000.
        assert_eq!(times(&later), [1_010, 1_012, 1_090, 1_095, 1_020, 1_021]);
        let mut earlier = trace(1024);
        assert_eq!(starts(3).align(&mut earlier), 0);
        assert_eq!(times(&earlier), [3, 5, 83, 88, 13, 14]);
    }

    #[test]
    fn events_without_a_kernel_in_the_recording_have_no_time() {
        let mut other = trace(2048);
        assert_eq!(starts(1_010).align(&mut other), 3);
        assert!(other.objects.is_empty());
    }
}
