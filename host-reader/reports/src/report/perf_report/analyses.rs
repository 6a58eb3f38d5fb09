//! Definitions of the durations in a device perf report.

use crate::report::value::Value;
use wire::{PacketKind, Risc};

/// Filter for the markers that begin or end an analysis. An empty list matches all markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MarkerFilter {
    riscs: Vec<String>,
    kinds: Vec<String>,
    /// Substrings. The zone's name must contain at least one of them.
    keywords: Vec<String>,
}

impl MarkerFilter {
    pub(super) fn matches(&self, risc: Risc, kind: PacketKind, name: &str) -> bool {
        let is_any_of =
            |list: &[String], text: &str| list.is_empty() || list.iter().any(|t| t == text);
        let has_keyword = || self.keywords.iter().any(|keyword| name.contains(keyword.as_str()));
        is_any_of(&self.riscs, risc.label())
            && is_any_of(&self.kinds, kind.label())
            && (self.keywords.is_empty() || has_keyword())
    }
}

/// Duration in a program, from the first marker that matches one filter to the last marker that
/// matches another.
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
/// The default is TT-Metal's list. Other lists are read from the JSON format that TT-Metal's host
/// reads.
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
    let filter = |key: &str| {
        let config = value.get(key);
        let list = |key| config.and_then(|config| config.get(key)).map_or_else(Vec::new, texts);
        MarkerFilter {
            riscs: list("risc"),
            kinds: list("marker_type"),
            keywords: list("marker_name_keywords"),
        }
    };
    Ok(Analysis { title, cycle_titles, start: filter("start_config"), end: filter("end_config") })
}

/// Parses one text or a list of texts.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(list) => list.iter().map(Value::cell).collect(),
        one => vec![one.cell()],
    }
}

impl Default for ProgramAnalyses {
    fn default() -> Self {
        let aggregate = &["TENSIX_RISC_AGG"][..];
        let (start, end) = ("ZONE_START", "ZONE_END");
        let all = |title, cycles, riscs, keywords| {
            built_in(title, cycles, (riscs, start, keywords), (riscs, end, keywords))
        };
        let kernel = &["-KERNEL"][..];
        let movers: Vec<_> = Risc::ALL.into_iter().filter(|risc| risc.moves_data()).collect();
        let movers: Vec<_> = movers.into_iter().map(Risc::label).collect();
        let moving = &["BRISC-KERNEL", "NCRISC-KERNEL", "ERISC-KERNEL", "DM-KERNEL"][..];
        let shown = |what: &str| Some([format!("{what} START CYCLE"), format!("{what} END CYCLE")]);
        let mut analyses = vec![
            all("DEVICE TRACE FIRMWARE DURATION [ns]", None, aggregate, &["-FW"]),
            all("DEVICE TRACE KERNEL DURATION [ns]", None, aggregate, kernel),
            built_in(
                "DEVICE KERNEL FIRST TO LAST START [ns]",
                None,
                (&[], start, kernel),
                (&[], start, kernel),
            ),
            all("DEVICE FW DURATION [ns]", shown("DEVICE FW"), &[], &["-FW"]),
            all("DEVICE KERNEL DURATION [ns]", shown("DEVICE KERNEL"), &[], kernel),
            built_in(
                "DEVICE KERNEL DURATION DM START [ns]",
                shown("DEVICE KERNEL DM"),
                (&movers[..], start, moving),
                (&[], end, kernel),
            ),
        ];
        analyses.extend(OF_RISCS.iter().map(|(title, risc, zone)| all(title, None, risc, zone)));
        let kinds = &QUASAR_KINDS;
        analyses.extend(kinds.iter().map(|kind| {
            all(
                kind.kernel_duration,
                Some(kind.kernel_cycles.map(str::to_owned)),
                &[],
                kind.kernel_zones,
            )
        }));
        analyses.extend(
            kinds.iter().map(|kind| all(kind.firmware_duration, None, &[], kind.firmware_zones)),
        );
        Self(analyses)
    }
}

/// Columns for one kind of Quasar processor, and the processor's zones.
pub(in crate::report) struct QuasarKind {
    pub(in crate::report) kernel_duration: &'static str,
    /// Headers of the first and last cycle of the kernels.
    pub(in crate::report) kernel_cycles: [&'static str; 2],
    pub(in crate::report) firmware_duration: &'static str,
    pub(in crate::report) latency: &'static str,
    /// Substrings of the zone names.
    kernel_zones: &'static [&'static str],
    firmware_zones: &'static [&'static str],
}

/// Columns for data movement and compute.
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
        kernel_zones: &["DM-KERNEL"],
        firmware_zones: &["DM-FW"],
    },
    QuasarKind {
        kernel_duration: "DEVICE QUASAR_NEO_TRISC KERNEL DURATION [ns]",
        kernel_cycles: [
            "DEVICE QUASAR_NEO_TRISC KERNEL START CYCLE",
            "DEVICE QUASAR_NEO_TRISC KERNEL END CYCLE",
        ],
        firmware_duration: "DEVICE TRISC FW DURATION [ns]",
        latency: "OP TO OP TRISC LATENCY [ns]",
        kernel_zones: &["TRISC-KERNEL"],
        firmware_zones: &["TRISC-FW"],
    },
];

/// Header, RISC and zone of the analyses of a single RISC.
const OF_RISCS: [(&str, &[&str], &[&str]); 6] = [
    ("DEVICE BRISC KERNEL DURATION [ns]", &["BRISC"], &["BRISC-KERNEL"]),
    ("DEVICE NCRISC KERNEL DURATION [ns]", &["NCRISC"], &["NCRISC-KERNEL"]),
    ("DEVICE TRISC0 KERNEL DURATION [ns]", &["TRISC_0"], &["TRISC-KERNEL"]),
    ("DEVICE TRISC1 KERNEL DURATION [ns]", &["TRISC_1"], &["TRISC-KERNEL"]),
    ("DEVICE TRISC2 KERNEL DURATION [ns]", &["TRISC_2"], &["TRISC-KERNEL"]),
    ("DEVICE ERISC KERNEL DURATION [ns]", &["ERISC"], &["ERISC-KERNEL"]),
];

type BuiltInFilter<'a> = (&'a [&'a str], &'a str, &'a [&'a str]);

fn built_in(
    title: &str,
    cycle_titles: Option<[String; 2]>,
    start: BuiltInFilter<'_>,
    end: BuiltInFilter<'_>,
) -> Analysis {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let filter = |(riscs, kind, keywords): BuiltInFilter<'_>| MarkerFilter {
        riscs: owned(riscs),
        kinds: owned(&[kind]),
        keywords: owned(keywords),
    };
    Analysis { title: title.to_owned(), cycle_titles, start: filter(start), end: filter(end) }
}
