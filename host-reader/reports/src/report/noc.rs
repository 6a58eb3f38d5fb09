//! Columns about the NoCs: modelled use of links, DRAM and Ethernet.
//!
//! # Compatibility
//! `process_ops_logs.py --analyze-noc-traces` of TT-Metal, which takes the values from tt-npe.
//! Headers, number of digits, and texts for controllers and Ethernet cores are the same.

use super::{
    device_op::{DeviceOp, DeviceOps},
    sheet::{EMPTY_BECAUSE, NOC_FIGURES_LACK},
    value::float_text,
};
use crate::problem::{ProblemLog, counted};
use analysis::noc_events::{
    NocChip, NocFigures, NocLanes, NocPrograms, NocTraces, ProgramTrace, TraceNotes, TraceOptions,
    read_json,
};
use rayon::prelude::*;
use reader::{lane::TraceReplay, readout::Readout};
use recording::noc_trace_files;
use std::{collections::BTreeMap, fmt, path::Path};

/// Message about how to record NoC events.
const HOW_TO_RECORD: &str = "expected NoC events, found none; tt-metal records them with TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1";

/// Chip, program, and trace replay.
type Key = (u64, u64, Option<(u64, u64)>);

/// NoC events of programs.
#[derive(Default)]
pub(super) struct NocInput {
    traces: BTreeMap<Key, Vec<ProgramTrace>>,
    /// Text that names the board. The board determines the number of DRAM controllers.
    topology: Vec<u8>,
    /// True if there are events in a layout of no known version of TT-Metal.
    is_unknown: bool,
    /// Number of noc_trace files that contain events; 0 if the events come from the device log.
    file_count: usize,
}

impl NocInput {
    /// Reads the noc_trace files in a folder of logs.
    pub(super) fn from_folder(logs: &Path, problems: &mut ProblemLog) -> Self {
        let mut input = Self { topology: topology_of(logs), ..Self::default() };
        for path in noc_trace_files(logs) {
            let file = path.display().to_string();
            let text = match std::fs::read(&path) {
                Ok(text) => text,
                Err(error) => {
                    problems.add_to_file(&file, format!("cannot be read: {error}"));
                    continue;
                }
            };
            let read = read_json(&text);
            for problem in &read.problems {
                problems.add_to_file(&file, problem.to_string());
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let programs = ProgramTrace::from_objects(read.objects, &name);
            input.file_count = input.file_count.saturating_add(usize::from(!programs.is_empty()));
            input.add(programs);
        }
        input
    }

    /// Collects the NoC events of a readout's lanes.
    pub(super) fn from_lanes(
        readout: &Readout,
        lanes: &NocLanes,
        file: &str,
        problems: &mut ProblemLog,
    ) -> Self {
        let programs = NocPrograms::new(lanes, readout, &TraceOptions::default());
        let mut notes = TraceNotes::default();
        let mut input = Self::default();
        input.add(programs.traces(|_, _| None, &mut notes).collect());
        for sentence in notes.sentences() {
            problems.add_to_file(file, sentence);
        }
        input.is_unknown = programs.is_unknown();
        if input.is_empty() && !input.is_unknown {
            problems.add_to_file(file, HOW_TO_RECORD);
        }
        input
    }

    /// Reads the board's name from a file next to the logs.
    pub(super) fn with_board_of(self, logs: Option<&Path>) -> Self {
        Self { topology: logs.map(topology_of).unwrap_or_default(), ..self }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    fn add(&mut self, traces: Vec<ProgramTrace>) {
        for trace in traces {
            let replay = trace.trace.map(|TraceReplay { trace_id, counter }| (trace_id, counter));
            let key = (trace.chip_id.into(), trace.program.0.into(), replay);
            self.traces.entry(key).or_default().push(trace);
        }
    }

    /// Adds the cells of all ops, and the reason for empty cells. TT-Metal's own report has no
    /// column for the reason, so exact reports leave it out.
    ///
    /// Returns a sentence that names the source of the NoC figures; `None` if there are no NoC
    /// events.
    pub(super) fn add_cells(&self, ops: &mut DeviceOps, is_exact: bool) -> Option<String> {
        if self.is_empty() && !self.is_unknown {
            return None;
        }
        let mut launch_counts: BTreeMap<Key, usize> = BTreeMap::new();
        for op in ops.values().flatten() {
            let count = launch_counts.entry(key_of(op)).or_default();
            *count = count.saturating_add(1);
        }
        let filled = ops.par_iter_mut().flat_map(|(_, ops)| ops).filter_map(|op| {
            let launch_count = launch_counts.get(&key_of(op)).copied().unwrap_or(0);
            match self.figures(op, launch_count) {
                Ok(figures) => {
                    add_figures(op, &figures, is_exact);
                    Some(())
                }
                Err(reason) => {
                    add_reason(op, &reason, is_exact);
                    None
                }
            }
        });
        let filled_count = filled.count();
        Some(self.sentence(filled_count, launch_counts.into_values().sum()))
    }

    /// Returns a sentence about the source of the figures and the number of launches that have
    /// them.
    fn sentence(&self, filled_count: usize, launch_count: usize) -> String {
        let source = match self.file_count {
            0 => "the recorded NoC events".to_owned(),
            count => {
                let files = counted(count as u64, "noc_trace file", "noc_trace files");
                format!("{files} next to the log")
            }
        };
        let launches = counted(launch_count as u64, "launch", "launches");
        format!("NoC columns: from {source}, for {filled_count} of {launches}")
    }

    fn figures(&self, op: &DeviceOp, launch_count: usize) -> Result<NocFigures, String> {
        if let Some(doubt) = op.doubt {
            return Err(doubt.label().to_owned());
        }
        let traces = self.traces.get(&key_of(op)).map_or(&[][..], Vec::as_slice);
        let trace = match (traces, launch_count) {
            ([], _) if self.is_unknown => {
                return Err("the layout of the NoC events is unknown".to_owned());
            }
            ([], _) => return Err("no NoC events".to_owned()),
            ([trace], 1) => trace,
            ([_], _) => return Err("several launches have the same id".to_owned()),
            _ => return Err("several NoC traces have the same id".to_owned()),
        };
        let arch = op.cells.get("DEVICE ARCH").map_or("", String::as_str);
        let chip = NocChip::from_arch(arch);
        let chip = chip.ok_or_else(|| "the speeds of the chip's NoCs are unknown".to_owned())?;
        Ok(NocFigures::from_trace(trace, &chip.with_topology(&self.topology)))
    }
}

fn key_of(op: &DeviceOp) -> Key {
    (op.device_id, op.run_host_id, op.trace_id.zip(op.session_id))
}

/// Reads the file with the name of the board from the folder of the NoC traces. Returns an empty
/// text if the file is missing.
fn topology_of(logs: &Path) -> Vec<u8> {
    std::fs::read(logs.join(NocTraces::TOPOLOGY_FILE)).unwrap_or_default()
}

fn add_figures(op: &mut DeviceOp, figures: &NocFigures, is_exact: bool) {
    for (column, percent, digits) in [
        ("NOC UTIL (%)", figures.link_percent, 1),
        ("MULTICAST NOC UTIL (%)", figures.multicast_link_percent, 1),
        ("DRAM BW UTIL (%)", figures.dram_percent, 1),
        ("NPE CONG IMPACT (%)", figures.congestion_percent, 2),
    ] {
        if let Some(percent) = percent {
            op.set(column, rounded(percent, digits));
        }
    }
    if let Some(controllers) = &figures.dram_controller_percent {
        let text = listed(controllers, |number| format!("c{number}"));
        op.set("DRAM BW UTIL PER CTRL (%)", text);
    }
    if let Some(cores) = &figures.ethernet_percent {
        let device_id = op.device_id;
        let by_row: BTreeMap<_, _> =
            cores.iter().map(|(core, &percent)| ((core.y, core.x), percent)).collect();
        let text = listed(&by_row, |(row, column)| format!("({device_id},{row},{column})"));
        op.set("ETH BW UTIL (%)", text);
    }
    if let Some(missing) = figures.missing_bytes().filter(|_| !is_exact && figures.has_any()) {
        op.set(NOC_FIGURES_LACK, missing);
    }
    if !figures.gaps.is_empty() {
        let reasons: Vec<_> = figures.gaps.iter().map(ToString::to_string).collect();
        add_reason(op, &reasons.join(", "), is_exact);
    }
}

/// Formats a percentage with the digits that Python would print. The number is rounded by
/// formatting it as text, which is as exact as Python's rounding.
fn rounded(percent: f64, digits: usize) -> String {
    float_text(format!("{percent:.digits$}").parse().unwrap_or(percent))
}

/// Lists names with their percentages; `-` if there are none.
fn listed<K>(percentages: &BTreeMap<K, f64>, name: impl Fn(&K) -> String) -> String {
    let texts = percentages.iter().map(|(key, percent)| format!("{}:{percent:.1}%", name(key)));
    let text = texts.collect::<Vec<_>>().join(" ");
    if text.is_empty() { "-".to_owned() } else { text }
}

fn add_reason(op: &mut DeviceOp, reason: &impl fmt::Display, is_exact: bool) {
    if is_exact {
        return;
    }
    let others = op.cells.get(EMPTY_BECAUSE).map(|others| format!("{others}; "));
    op.set(EMPTY_BECAUSE, format!("{}NoC figures: {reason}", others.unwrap_or_default()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Doubt;

    const TRACE: &str = r#"[
        {"proc": "BRISC", "sx": 1, "sy": 1, "timestamp": 9000, "zone": "BRISC-KERNEL",
         "zone_phase": "ZONE_START"},
        {"proc": "BRISC", "sx": 1, "sy": 1, "timestamp": 9000, "type": "READ", "noc": "NOC_0",
         "dx": 0, "dy": 0, "num_bytes": 2360},
        {"proc": "BRISC", "sx": 1, "sy": 1, "timestamp": 9000, "type": "WRITE_", "noc": "NOC_0",
         "dx": 9, "dy": 6, "num_bytes": 1250},
        {"proc": "BRISC", "sx": 1, "sy": 1, "timestamp": 10020, "zone": "BRISC-KERNEL",
         "zone_phase": "ZONE_END"}
    ]"#;

    fn op(run_host_id: u64) -> DeviceOp {
        let mut op = DeviceOp { run_host_id, ..DeviceOp::default() };
        op.set("DEVICE ARCH", "wormhole_b0");
        op
    }

    fn input(names: &[&str]) -> NocInput {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::write(folder.path().join(name), TRACE).unwrap();
        }
        NocInput::from_folder(folder.path(), &mut ProblemLog::default())
    }

    fn cells(input: &NocInput, ops: Vec<DeviceOp>, column: &str) -> Vec<String> {
        let mut ops = DeviceOps::from([(0, ops)]);
        let _ = input.add_cells(&mut ops, false);
        let ops = ops.into_values().flatten();
        ops.map(|op| op.cells.get(column).cloned().unwrap_or_default()).collect()
    }

    #[test]
    fn cells_have_upstreams_digits() {
        let input = input(&["noc_trace_dev0_ID1024.json"]);
        for (column, expected) in [
            // One of the six controllers is used at 10 %.
            ("DRAM BW UTIL (%)", "1.7"),
            ("DRAM BW UTIL PER CTRL (%)", "c0:10.0%"),
            ("ETH BW UTIL (%)", "(0,6,9):10.0%"),
            ("MULTICAST NOC UTIL (%)", "0.0"),
            ("NPE CONG IMPACT (%)", "0.0"),
            (EMPTY_BECAUSE, ""),
        ] {
            assert_eq!(cells(&input, vec![op(1024)], column), [expected], "{column}");
        }
        assert_eq!((rounded(7.162, 1), rounded(58.645, 2)), ("7.2".into(), "58.65".into()));
    }

    #[test]
    fn figures_say_which_bytes_they_lack() {
        let write = r#"{"proc": "BRISC", "sx": 1, "sy": 1, "timestamp": 9500, "noc": "NOC_0",
            "type": "WRITE_INLINE", "dx": 0, "dy": 0, "num_bytes": 32},"#;
        let large = TRACE.replace("1250", "8160").replacen('[', &format!("[{write}"), 1);
        let of = |trace: &str, is_exact| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("noc_trace_dev0_ID1024.json"), trace).unwrap();
            let input = NocInput::from_folder(folder.path(), &mut ProblemLog::default());
            let mut ops = DeviceOps::from([(0, vec![op(1024)])]);
            let _ = input.add_cells(&mut ops, is_exact);
            ops[&0][0].cells.get(NOC_FIGURES_LACK).cloned()
        };
        let expected =
            "1 inline write or write under a transaction id; more bytes of 1 large transfer";
        assert_eq!(of(&large, false).as_deref(), Some(expected));
        assert_eq!(of(&large, true), None);
        assert_eq!(of(TRACE, false), None);
    }

    #[test]
    fn figures_are_of_one_launch() {
        let input = input(&["noc_trace_dev0_ID1024.json", "noc_trace_dev0_ID2048_merged.json"]);
        let of = |ops| cells(&input, ops, EMPTY_BECAUSE);
        assert_eq!(of(vec![op(1024), op(2048)]), ["", "NoC figures: no NoC events"]);
        let twice = "NoC figures: several launches have the same id";
        assert_eq!(of(vec![op(1024), op(1024)]), [twice, twice]);
        let replayed = DeviceOp { trace_id: Some(1), session_id: Some(2), ..op(1024) };
        assert_eq!(of(vec![replayed]), ["NoC figures: no NoC events"]);
        let mut doubted = DeviceOp { doubt: Some(Doubt::LostRecords), ..op(1024) };
        doubted.set(EMPTY_BECAUSE, "durations: lost");
        let reason = format!("durations: lost; NoC figures: {}", Doubt::LostRecords.label());
        assert_eq!(of(vec![doubted]), [reason]);
    }

    #[test]
    fn an_unknown_layout_of_the_events_is_the_reason_for_empty_figures() {
        let unknown = NocInput { is_unknown: true, ..NocInput::default() };
        let reason = "NoC figures: the layout of the NoC events is unknown";
        assert_eq!(cells(&unknown, vec![op(1024)], EMPTY_BECAUSE), [reason]);
        assert_eq!(cells(&unknown, vec![op(1024)], "NOC UTIL (%)"), [""]);
    }

    #[test]
    fn the_source_of_the_figures_is_told() {
        let told = |input: &NocInput| {
            let ops = vec![op(1024), op(2048)];
            input.add_cells(&mut DeviceOps::from([(0, ops)]), false)
        };
        let files = input(&["noc_trace_dev0_ID1024.json", "noc_trace_dev0_ID3072.json"]);
        let expected = "NoC columns: from 2 noc_trace files next to the log, for 1 of 2 launches";
        assert_eq!(told(&files).as_deref(), Some(expected));
        assert_eq!(told(&NocInput::default()), None);
        let log = NocInput { file_count: 0, ..files };
        assert!(told(&log).unwrap().starts_with("NoC columns: from the recorded NoC events,"));
    }

    #[test]
    fn replays_have_traces_of_their_own() {
        let input = input(&["noc_trace_dev0_ID1024_traceID4294967298.json"]);
        let of = |trace_id, session_id| DeviceOp {
            trace_id: Some(trace_id),
            session_id: Some(session_id),
            ..op(1024)
        };
        let found = cells(&input, vec![of(1, 2), of(1, 3)], "DRAM BW UTIL (%)");
        assert_eq!(found, ["1.7", ""]);
    }
}
