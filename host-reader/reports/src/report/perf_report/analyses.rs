//! Definitions of the durations in a device perf report.

use crate::report::value::Value;
use std::sync::LazyLock;
use wire::{PacketKind, Risc};

/// Filter for the markers that begin or end an analysis. An empty list matches all markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MarkerFilter {
    riscs: Vec<String>,
    kinds: Vec<String>,
    /// Texts of which the zone's name must contain at least one. If there are none, any name
    /// matches.
    keywords: Vec<String>,
}

impl MarkerFilter {
    pub(super) fn matches(&self, risc: Risc, kind: PacketKind, name: &str) -> bool {
        let labels = [(&self.riscs, risc.label()), (&self.kinds, kind.label())];
        labels.iter().all(|(list, label)| list.is_empty() || list.iter().any(|of| of == label))
            && (self.keywords.is_empty()
                || self.keywords.iter().any(|keyword| name.contains(keyword.as_str())))
    }
}

/// Duration in a program, from the first marker that matches the `start` filter to the last marker
/// that matches the `end` filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Analysis {
    /// Header of the duration's column.
    pub(super) title: String,
    /// Headers of the columns for the first and the last cycle, if these columns are shown.
    pub(super) cycle_titles: Option<[String; 2]>,
    pub(super) start: MarkerFilter,
    pub(super) end: MarkerFilter,
}

/// Durations in a device perf report, in the order of their columns.
///
/// The default is TT-Metal's list, in `analyses.json` next to this file. Other lists are read from
/// JSON in the format of TT-Metal's host.
///
/// ```
/// use reports::report::ProgramAnalyses;
/// let analyses = ProgramAnalyses::from_json(r#"[{
///     "type": "PROGRAM_FIRST_TO_LAST_MARKER", "dimension": "PROGRAM",
///     "results_config": {"analysis_name": "LOAD [ns]"},
///     "start_config": {"risc": ["BRISC", "NCRISC"], "marker_name_keywords": ["load"]},
///     "end_config": {"marker_type": "ZONE_END", "marker_name_keywords": ["load"]}
/// }]"#)?;
/// assert_eq!(analyses.titles().collect::<Vec<_>>(), ["LOAD [ns]"]);
/// assert!(ProgramAnalyses::default().titles().any(|title| title == "DEVICE FW DURATION [ns]"));
/// # Ok::<(), reports::report::AnalysesError>(())
/// ```
///
/// # Compatibility
/// `cpp_device_analyses.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramAnalyses(pub(super) Vec<Analysis>);

/// Error in a list of analyses.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysesError {
    /// The text is not JSON.
    #[error("expected a JSON list of analyses: {0}")]
    Json(#[from] serde_json::Error),
    /// The JSON is not a list of analyses.
    #[error("analysis {number}: expected {expected}, found {found}")]
    Form {
        /// Number of the analysis, from 1.
        number: usize,
        /// Description of the expected JSON.
        expected: &'static str,
        /// JSON found instead.
        found: String,
    },
}

const FIRST_TO_LAST: &str = "PROGRAM_FIRST_TO_LAST_MARKER";

impl ProgramAnalyses {
    /// Reads the JSON format that TT-Metal's host reads.
    ///
    /// # Errors
    /// Returns an error if the text is not a list of analyses whose types and dimensions TT-Metal
    /// supports.
    pub fn from_json(text: &str) -> Result<Self, AnalysesError> {
        let value: Value = serde_json::from_str(text)?;
        let Value::List(list) = &value else {
            return Err(form(1, "a list of analyses", &value));
        };
        let analyses = (1..).zip(list).map(|(number, value)| analysis(number, value));
        analyses.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the headers of all columns, including the columns for cycles.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|analysis| {
            let cycles = analysis.cycle_titles.iter().flatten();
            std::iter::once(&analysis.title).chain(cycles).map(String::as_str)
        })
    }

    /// Returns the index of the duration with this header.
    pub(in crate::report) fn position(&self, title: &str) -> Option<usize> {
        self.0.iter().position(|analysis| analysis.title == title)
    }
}

fn form(number: usize, expected: &'static str, found: &Value) -> AnalysesError {
    AnalysesError::Form { number, expected, found: format!("`{}`", found.cell()) }
}

fn analysis(number: usize, value: &Value) -> Result<Analysis, AnalysesError> {
    let text = |object: &Value, key: &str| object.get(key).map(Value::cell);
    let is = |key: &str, expected: &str| text(value, key).is_none_or(|found| found == expected);
    if !is("type", FIRST_TO_LAST) || !is("dimension", "PROGRAM") {
        return Err(form(number, "type PROGRAM_FIRST_TO_LAST_MARKER of dimension PROGRAM", value));
    }
    let results = value.get("results_config");
    let title = results.and_then(|results| text(results, "analysis_name"));
    let title = title.ok_or_else(|| form(number, "results_config with an analysis_name", value))?;
    let cycle_titles = results.and_then(|results| {
        let is_shown = results.get("display_start_and_end_timestamps") == Some(&Value::Bool(true));
        let titles =
            ["start_timestamp_header", "end_timestamp_header"].map(|key| text(results, key));
        let [Some(start), Some(end)] = titles else { return None };
        is_shown.then_some([start, end])
    });
    let [start, end] = ["start_config", "end_config"].map(|key| {
        let config = value.get(key);
        let [riscs, kinds, keywords] = ["risc", "marker_type", "marker_name_keywords"]
            .map(|key| config.and_then(|config| config.get(key)).map_or_else(Vec::new, texts));
        MarkerFilter { riscs, kinds, keywords }
    });
    Ok(Analysis { title, cycle_titles, start, end })
}

/// Parses one text or a list of texts.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(list) => list.iter().map(Value::cell).collect(),
        one => vec![one.cell()],
    }
}

/// Analyses of TT-Metal's device perf report.
static BUILT_IN: LazyLock<ProgramAnalyses> = LazyLock::new(|| {
    // A test looks up every title, so it detects any error in the file.
    let built_in = ProgramAnalyses::from_json(include_str!("analyses.json"));
    built_in.unwrap_or(ProgramAnalyses(Vec::new()))
});

impl Default for ProgramAnalyses {
    fn default() -> Self {
        BUILT_IN.clone()
    }
}

/// Headers of the columns for one kind of Quasar processor: data movement or compute.
pub(in crate::report) struct QuasarKind {
    pub(in crate::report) kernel_duration: &'static str,
    /// Headers of the first and last cycle of the kernels.
    pub(in crate::report) kernel_cycles: [&'static str; 2],
    pub(in crate::report) firmware_duration: &'static str,
    pub(in crate::report) latency: &'static str,
}

/// Columns for data-movement processors and for compute processors.
///
/// # Compatibility
/// `cpp_device_analyses.json` and `process_ops_logs.py` of release 0.81.1. The firmware zone of DM
/// 0 is `DM0-FW`, which matches none of the keywords in these files.
pub(in crate::report) const QUASAR_KINDS: [QuasarKind; 2] = [
    QuasarKind {
        kernel_duration: "DEVICE QUASAR_DM KERNEL DURATION [ns]",
        kernel_cycles: ["DEVICE QUASAR_DM KERNEL START CYCLE", "DEVICE QUASAR_DM KERNEL END CYCLE"],
        firmware_duration: "DEVICE DM FW DURATION [ns]",
        latency: "OP TO OP DM LATENCY [ns]",
    },
    QuasarKind {
        kernel_duration: "DEVICE QUASAR_NEO_TRISC KERNEL DURATION [ns]",
        kernel_cycles: [
            "DEVICE QUASAR_NEO_TRISC KERNEL START CYCLE",
            "DEVICE QUASAR_NEO_TRISC KERNEL END CYCLE",
        ],
        firmware_duration: "DEVICE TRISC FW DURATION [ns]",
        latency: "OP TO OP TRISC LATENCY [ns]",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_analyses_have_the_columns_of_tt_metals_report() {
        let analyses = ProgramAnalyses::default();
        assert_eq!((analyses.0.len(), analyses.titles().count()), (16, 26));
        for kind in QUASAR_KINDS {
            let kernel = &analyses.0[analyses.position(kind.kernel_duration).unwrap()];
            assert_eq!(kernel.cycle_titles, Some(kind.kernel_cycles.map(str::to_owned)));
            assert!(analyses.position(kind.firmware_duration).is_some());
        }
        for risc in Risc::ALL.into_iter().filter(|risc| risc.moves_data()) {
            let moving = &analyses.0[5].start;
            assert!(moving.matches(risc, PacketKind::ZoneStart, "DM-KERNEL"), "{risc}");
            assert!(!moving.matches(risc, PacketKind::ZoneEnd, "DM-KERNEL"), "{risc}");
        }
    }
}
