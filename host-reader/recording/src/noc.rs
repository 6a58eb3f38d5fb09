//! NoC events in TT-Metal's trace files next to a log.

use crate::Recording;
use analysis::noc_events::{ProgramLanes, ProgramTrace, TraceFileCounts, TraceFiles};

impl Recording {
    /// Reads the NoC events of the trace files next to a log that has no NoC events itself: those of
    /// the programs that the recording has. A program that the host named has the host's name.
    ///
    /// Also returns the numbers of used events and of everything that was left out.
    #[must_use]
    pub fn noc_events_beside(&self) -> (Vec<ProgramTrace>, TraceFileCounts) {
        let mut counts = TraceFileCounts::default();
        let paths = self.noc_traces.unrepeated();
        if paths.is_empty() {
            return (Vec::new(), counts);
        }
        let (names, lanes) = (self.op_names(), ProgramLanes::from_readout(&self.readout));
        let mut traces: Vec<_> = TraceFiles::new(paths, &lanes).traces(&mut counts).collect();
        for trace in &mut traces {
            let name = names.get(&(trace.chip_id, trace.program)).filter(|name| !name.is_empty());
            if let Some(name) = name {
                (*name).clone_into(&mut trace.op_name);
            }
        }
        (traces, counts)
    }
}
