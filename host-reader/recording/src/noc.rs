//! NoC events in TT-Metal's trace files next to a log.

use crate::Recording;
use analysis::noc_events::{ProgramLanes, ProgramTrace, TraceFileCounts, TraceFiles};

impl Recording {
    /// Reads the NoC events of the trace files next to a log, for the programs that the recording
    /// contains.
    ///
    /// If the log itself has NoC events, no file is read. If the host gave a program a name, the
    /// result contains this name.
    ///
    /// Also returns the number of used events, and counts of everything that was omitted.
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
