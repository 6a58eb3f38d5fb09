//! Time that cores spend at NoC barriers, derived from NoC events.

use crate::{finding::percent, threshold::SMALL_TRANSFER, timeline::merged};
use analysis::noc_events::{NocEventKind, ProgramTrace, TraceObject};
use recording::problem::counted;
use std::collections::BTreeMap;
use wire::Risc;

/// Barriers of one core, summed over all launches of a program. The core is the one that spent the
/// most time at barriers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BarrierUse {
    /// Core on the NoC-0 grid, as column and row.
    pub(crate) core: (u16, u16),
    /// Time during which at least one RISC of the core waits at a barrier, as a percentage of the
    /// program's kernel time.
    pub(crate) percent: f64,
    pub(crate) barrier_count: u64,
    /// Number of transfers with a known size.
    pub(crate) transfer_count: u64,
    pub(crate) byte_count: u64,
    /// The RISCs and kinds of barriers with most of the time; those of the longest come first.
    pub(crate) parts: [Option<BarrierPart>; MOST_PARTS],
}

/// Most parts of a core's time at barriers: both kinds of both data-movement RISCs.
const MOST_PARTS: usize = 4;

/// Time of one RISC at barriers of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BarrierPart {
    pub(crate) risc: Risc,
    /// True for barriers that wait for reads; the others wait for writes.
    pub(crate) is_read: bool,
    /// Percentage of the program's kernel time.
    pub(crate) percent: f64,
}

/// Barrier waits and transfers of one core.
#[derive(Default)]
struct CoreBarriers<'a> {
    waits: Vec<(u64, u64)>,
    /// Cycles by RISC and by the kind of the event that ends the barrier.
    by_kind: BTreeMap<(&'a str, NocEventKind), u64>,
    transfer_count: u64,
    byte_count: u64,
    /// For each RISC that is at a barrier, the kind of the event that ends the barrier, and the
    /// cycle at which the barrier began.
    open: BTreeMap<&'a str, (NocEventKind, u64)>,
}

impl<'a> CoreBarriers<'a> {
    fn add(&mut self, object: &'a TraceObject) {
        let Some(kind) = object.event_type.as_deref().and_then(NocEventKind::from_label) else {
            return;
        };
        if let Some(end) = kind.end_of_wait() {
            self.open.insert(&object.proc, (end, object.timestamp));
        } else if let Some((end, start)) = self.open.get(object.proc.as_str()).copied()
            && end == kind
        {
            self.open.remove(object.proc.as_str());
            self.waits.push((start, object.timestamp.max(start)));
            let cycles = self.by_kind.entry((&object.proc, kind)).or_default();
            *cycles = cycles.saturating_add(object.timestamp.saturating_sub(start));
        }
        if let Some(bytes) = object.num_bytes.filter(|bytes| *bytes > 0) {
            self.transfer_count = self.transfer_count.saturating_add(1);
            self.byte_count = self.byte_count.saturating_add(bytes);
        }
    }
}

/// Returns true if a trace has barriers, whether or not the length of its kernels is known.
pub(crate) fn has_barriers(trace: &ProgramTrace) -> bool {
    let kinds = trace.objects.iter().filter_map(|object| object.event_type.as_deref());
    kinds.filter_map(NocEventKind::from_label).any(|kind| kind.end_of_wait().is_some())
}

impl CoreBarriers<'_> {
    /// Returns the RISCs and kinds with most of the time in barriers, in percent of `cycles`.
    fn parts(&self, cycles: f64) -> [Option<BarrierPart>; MOST_PARTS] {
        let parts = self.by_kind.iter().filter_map(|((proc, end), waited)| {
            Some(BarrierPart {
                risc: Risc::from_label(proc)?,
                is_read: *end == NocEventKind::ReadBarrierEnd,
                percent: percent(*waited as f64, cycles),
            })
        });
        let mut parts: Vec<BarrierPart> = parts.filter(|part| part.percent > 0.0).collect();
        parts.sort_by(|one, other| other.percent.total_cmp(&one.percent));
        let mut longest = parts.into_iter();
        [(); MOST_PARTS].map(|()| longest.next())
    }
}

impl BarrierUse {
    /// Returns the barriers in the traces of one program; `None` if no barrier has both a start and
    /// an end. `cycles` is the total length of the program's kernels.
    pub(crate) fn from_traces(traces: &[ProgramTrace], cycles: f64) -> Option<Self> {
        let mut cores: BTreeMap<(u16, u16), CoreBarriers<'_>> = BTreeMap::new();
        for object in traces.iter().flat_map(|trace| &trace.objects) {
            cores.entry((object.sx, object.sy)).or_default().add(object);
        }
        let uses = cores.into_iter().filter(|(_, of)| !of.waits.is_empty()).map(|(core, of)| {
            let barrier_count = of.waits.len() as u64;
            let parts = of.parts(cycles);
            // Overlapping barriers of two RISCs count once.
            let waits = merged(of.waits).into_iter().map(|(start, end)| end.saturating_sub(start));
            let waited = waits.fold(0, u64::saturating_add) as f64;
            Self {
                core,
                percent: percent(waited, cycles),
                barrier_count,
                transfer_count: of.transfer_count,
                byte_count: of.byte_count,
                parts,
            }
        });
        uses.max_by(|one, other| one.percent.total_cmp(&other.percent))
    }

    /// Returns true if the mean size of the transfers is small.
    pub(crate) fn has_small_transfers(&self) -> bool {
        let mean = self.byte_count.checked_div(self.transfer_count);
        mean.is_some_and(|bytes| (bytes as f64) < SMALL_TRANSFER.value)
    }

    /// Returns at which barriers of which RISCs the core waits, as in `write barriers of BRISC`. Where there
    /// are several, each has its share, since they may overlap.
    pub(crate) fn whose(&self) -> String {
        let name = |of: &BarrierPart| {
            let kind = if of.is_read { "read" } else { "write" };
            format!("{kind} barriers of {}", of.risc.label())
        };
        let parts: Vec<&BarrierPart> = self.parts.iter().flatten().collect();
        match parts.as_slice() {
            [] => "barriers of a RISC without a known name".to_owned(),
            [only] => name(only),
            parts => {
                let parts = parts.iter().map(|of| format!("{} {:.0} %", name(of), of.percent));
                parts.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Returns a text about the transfers between barriers.
    pub(crate) fn transfers(&self) -> String {
        let transfers = counted(self.transfer_count, "transfer", "transfers");
        let size = match self.byte_count.checked_div(self.transfer_count) {
            Some(bytes) => format!(" of {bytes} bytes on average"),
            None => String::new(),
        };
        let barriers = counted(self.barrier_count, "barrier", "barriers");
        format!("{transfers}{size} and {barriers}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::noc_events::read_json;

    fn event(proc: &str, x: u16, kind: &str, time: u64, bytes: u64) -> String {
        format!(
            "{{\"proc\": \"{proc}\", \"noc\": \"NOC_0\", \"sx\": {x}, \"sy\": 1, \"dx\": 5, \"dy\": 1, \
             \"num_bytes\": {bytes}, \"type\": \"{kind}\", \"timestamp\": {time}}}"
        )
    }

    fn found(events: &[String], cycles: f64) -> Option<BarrierUse> {
        let objects = read_json(format!("[{}]", events.join(",")).as_bytes()).objects;
        assert_eq!(objects.len(), events.len());
        let trace = ProgramTrace {
            chip_id: 0,
            program: wire::RunHostId(1024),
            trace: None,
            op_name: String::new(),
            objects,
        };
        BarrierUse::from_traces(&[trace], cycles)
    }

    #[test]
    fn barriers_of_a_core_count_once_if_two_riscs_wait_at_once() {
        let events = [
            event("NCRISC", 1, "READ", 0, 4096),
            event("NCRISC", 1, "READ_BARRIER_START", 10, 0),
            event("BRISC", 1, "WRITE_", 20, 2048),
            event("BRISC", 1, "WRITE_BARRIER_START", 30, 0),
            event("NCRISC", 1, "READ_BARRIER_END", 40, 0),
            event("BRISC", 1, "WRITE_BARRIER_END", 60, 0),
            event("NCRISC", 2, "READ_BARRIER_START", 0, 0),
            event("NCRISC", 2, "READ_BARRIER_END", 45, 0),
        ];
        // Core (1,1) is at a barrier from 10 to 60.
        let of = found(&events, 200.0).unwrap();
        assert_eq!((of.core, of.percent), ((1, 1), 25.0));
        assert_eq!(of.transfers(), "2 transfers of 3072 bytes on average and 2 barriers");
        // NCRISC from 10 to 40, BRISC from 30 to 60, each 30 of 200.
        let mut whose: Vec<String> = of.whose().split(", ").map(str::to_owned).collect();
        whose.sort();
        assert_eq!(whose, ["read barriers of NCRISC 15 %", "write barriers of BRISC 15 %"]);
    }

    #[test]
    fn the_only_kind_of_barrier_is_named_with_its_risc() {
        let of = |risc, kind| {
            let [start, end] = ["START", "END"].map(|end| format!("{kind}_BARRIER_{end}"));
            let events = [event(risc, 1, &start, 10, 0), event(risc, 1, &end, 60, 0)];
            found(&events, 100.0).unwrap().whose()
        };
        assert_eq!(of("BRISC", "WRITE"), "write barriers of BRISC");
        assert_eq!(of("NCRISC", "READ"), "read barriers of NCRISC");
    }

    #[test]
    fn transfers_are_small_below_half_a_tile() {
        let mean = |transfer_count, byte_count| {
            let of = BarrierUse {
                core: (1, 1),
                percent: 50.0,
                barrier_count: 1,
                transfer_count,
                byte_count,
                parts: [None; MOST_PARTS],
            };
            of.has_small_transfers()
        };
        assert_eq!([mean(16, 16 * 1023), mean(16, 16 * 1024), mean(0, 0)], [true, false, false]);
    }

    #[test]
    fn a_barrier_without_an_end_is_no_time() {
        let start = event("NCRISC", 1, "READ_BARRIER_START", 10, 0);
        let other = event("NCRISC", 1, "WRITE_BARRIER_END", 30, 0);
        assert_eq!(found(&[start, other], 100.0), None);
    }
}
