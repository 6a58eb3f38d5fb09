//! Header of an ops CSV: the index of each column, and the format version.

use crate::{
    problem::{Position, ProblemLog, quoted},
    report::is_known_column,
};
use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

/// Suffix of the headers of shape columns in ops CSVs since September 2025.
const PADDED: &str = "_PAD[LOGICAL]";

/// Header of the column with the kernel durations of ops.
pub(super) const KERNEL_DURATION: &str = "DEVICE KERNEL DURATION [ns]";

/// Header of the column with the times between ops.
pub(super) const LATENCY: &str = "OP TO OP LATENCY [ns]";

/// Column of a file with the kernel durations of ops.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelColumn {
    /// The file has no such column.
    #[default]
    Missing,
    /// The file has a column with this title, which is not read: its words are those of the expected
    /// title, and its unit or spelling differs.
    OtherTitle(Arc<str>),
    /// The file has the column.
    Known,
}

/// Columns that a complete report needs, each with the effect if the column is missing.
const WANTED: [(&str, &str); 9] = [
    ("OP TYPE", "signposts and device ops cannot be told from other rows"),
    ("DEVICE ID", "devices are blank, and not merged"),
    ("GLOBAL CALL COUNT", "left blank"),
    ("ATTRIBUTES", "program configurations are unknown"),
    ("HOST START TS", "rows stay in the order of the file"),
    (KERNEL_DURATION, "device times are blank"),
    (LATENCY, "gaps are those of the cycles of firmware, or blank"),
    ("CORE COUNT", "cores are blank, and matmuls have no FLOPs %"),
    (INPUT_MEMORY, "the summary cannot tell where input 0 lies"),
];

/// Columns needed in tables of the device alone.
const WANTED_OF_DEVICE: &[(&str, &str)] = &[
    (OP_NAME, "ops have the names of their programs"),
    (KERNEL_DURATION, "device times are blank"),
    ("CORE COUNT", "cores are blank"),
];

/// Header of the column with the names of ops in a table of the device alone.
pub(super) const OP_NAME: &str = "OP NAME";

/// Columns needed in files from the streaming profiler, which contain no data from the host.
const WANTED_OF_STREAMING: &[(&str, &str)] = &[
    ("OP CODE", "ops have the names of their programs"),
    (KERNEL_DURATION, "device times are blank"),
    ("CORE COUNT", "cores are blank"),
];

reader::labelled! {
    /// Format versions of the ops CSV.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    pub enum OpsCsvFormat {
        /// Programs without names, as written by the streaming profiler of TT-Metal 0.81.
        #[serde(rename = "streaming")]
        Streaming = "streaming",
        /// Launches on the device alone, as in `cpp_device_perf_report.csv` or in a report that was
        /// made from a device log without its host.
        #[serde(rename = "device")]
        Device = "device",
        /// Plain shape columns.
        #[serde(rename = "v1")]
        V1 = "v1",
        /// Shapes as `physical[logical]`.
        #[serde(rename = "v2")]
        V2 = "v2",
        /// With columns for the architecture and the worker cores.
        #[serde(rename = "v2.1")]
        V2_1 = "v2.1",
    }
}

impl OpsCsvFormat {
    /// Returns the format of a table with these titles; `None` if it is no table of ops.
    ///
    /// ```
    /// use reports::perf::OpsCsvFormat;
    /// let format = OpsCsvFormat::from_titles(["OP CODE", "DEVICE ARCH"]);
    /// assert_eq!(format, Some(OpsCsvFormat::V2_1));
    /// assert_eq!(OpsCsvFormat::from_titles(["OPCODE", "DEVICE ARCH"]), None);
    /// ```
    pub fn from_titles<'title>(titles: impl IntoIterator<Item = &'title str>) -> Option<Self> {
        let titles = Titles::new(&titles.into_iter().collect());
        titles.are_of_ops().then_some(titles.format)
    }
}

/// Header of a column, with the column's index in a file.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) title: String,
    /// Index of the column; `None` if the file has no such column.
    pub(super) at: Option<usize>,
}

/// A column whose cells are kept as texts.
#[derive(Clone, Debug)]
pub(super) struct KeptColumn {
    pub(super) title: Arc<str>,
    pub(super) at: usize,
}

/// Index of each column by its header.
#[derive(Clone, Debug)]
pub(super) struct Titles {
    index: HashMap<String, usize>,
    /// Headers in the order of the file, each once.
    all: Vec<Arc<str>>,
    /// Number of columns.
    pub(super) count: usize,
    pub(super) format: OpsCsvFormat,
}

impl Titles {
    /// Reads a header. If several columns have the same name, the first one is used. A former title is
    /// replaced by the present one, unless the file has that, too.
    pub(super) fn new(record: &csv::StringRecord) -> Self {
        let own: HashSet<&str> = record.iter().map(str::trim).collect();
        let mut index = HashMap::new();
        let mut all = Vec::new();
        for (at, title) in record.iter().enumerate() {
            let title = title.trim();
            let present = present_title(title).filter(|title| !own.contains(title.as_str()));
            let title = present.unwrap_or_else(|| title.to_owned());
            if let Entry::Vacant(entry) = index.entry(title) {
                all.push(entry.key().as_str().into());
                entry.insert(at);
            }
        }
        let format = format_of(&index);
        Self { index, all, count: record.len(), format }
    }

    /// Returns the headers in the order of the file.
    pub(super) fn all(&self) -> &[Arc<str>] {
        &self.all
    }

    /// Returns the columns whose cells are kept as texts: those that no report of TT-Metal has, and
    /// the one that is asked for.
    pub(super) fn kept(&self, asked: Option<&str>) -> Vec<KeptColumn> {
        let asked = asked.and_then(|asked| find_title(&self.all, asked));
        let kept = self.all.iter().filter(|title| {
            let is_own = !title.is_empty() && !is_known_column(title);
            is_own || asked.as_ref().is_some_and(|asked| asked == *title)
        });
        kept.filter_map(|title| {
            Some(KeptColumn { title: Arc::clone(title), at: self.index(title)? })
        })
        .collect()
    }

    /// Returns the columns of hardware counters that say how much of an op's time the matrix engine worked, or
    /// a thread stood still, on the op's cores.
    ///
    /// # Compatibility
    /// `PERF_COUNTER_CSV_HEADERS` of TT-Metal's `process_ops_logs.py`. The use of the matrix engine has no mean
    /// of the op's cores, only one of the whole grid.
    pub(super) fn counters(&self) -> Vec<KeptColumn> {
        let is_told = |title: &&Arc<str>| {
            let name = title.strip_suffix(" Avg (%)");
            let is_wait =
                name.is_some_and(|name| ["Stall", "Wait"].iter().any(|of| name.contains(of)));
            is_wait || ***title == *FPU_MEDIAN
        };
        let told = self.all.iter().filter(is_told);
        told.filter_map(|title| {
            Some(KeptColumn { title: Arc::clone(title), at: self.index(title)? })
        })
        .collect()
    }

    pub(super) fn index(&self, title: &str) -> Option<usize> {
        self.index.get(title).copied()
    }

    /// Returns a header with the words of `title` and another unit or spelling.
    fn alike(&self, title: &str) -> Option<Arc<str>> {
        let wanted = words(title);
        self.all.iter().find(|of| ***of != *title && words(of) == wanted).cloned()
    }

    /// Returns the column with the kernel durations of ops.
    pub(super) fn kernel_column(&self) -> KernelColumn {
        match (self.index(KERNEL_DURATION), self.alike(KERNEL_DURATION)) {
            (Some(_), _) => KernelColumn::Known,
            (None, Some(title)) => KernelColumn::OtherTitle(title),
            (None, None) => KernelColumn::Missing,
        }
    }

    /// Returns true if the header belongs to a table of ops.
    pub(super) fn are_of_ops(&self) -> bool {
        self.index.contains_key("OP CODE") || self.has_only_device_data()
    }

    /// Returns true if the table has no data from the host.
    pub(super) const fn has_only_device_data(&self) -> bool {
        matches!(self.format, OpsCsvFormat::Streaming | OpsCsvFormat::Device)
    }

    /// Returns the column with this header. The result is valid for all rows of the file.
    pub(super) fn column(&self, title: &str) -> Column {
        Column { title: title.to_owned(), at: self.index(title) }
    }

    /// Returns the header of the column with the size of one dimension of a tensor. Other columns do
    /// not tell which header a file has: scripts add and remove columns.
    pub(super) fn shape_title(&self, tensor: &str, side: &str) -> String {
        let plain = format!("{tensor}_{side}");
        let padded = format!("{plain}{PADDED}");
        if self.index.contains_key(&padded) { padded } else { plain }
    }

    /// Adds a problem for each missing column.
    pub(super) fn check(&self, file: &str, line: u64, problems: &mut ProblemLog) {
        let wanted = match self.format {
            OpsCsvFormat::Streaming => WANTED_OF_STREAMING,
            OpsCsvFormat::Device => WANTED_OF_DEVICE,
            OpsCsvFormat::V1 | OpsCsvFormat::V2 | OpsCsvFormat::V2_1 => &WANTED,
        };
        for &(column, effect) in wanted {
            let early = (column == INPUT_MEMORY).then_some(EARLY_INPUT_MEMORY);
            let has = |title: &str| self.index.contains_key(title);
            if !has(column) && !early.is_some_and(has) {
                let place = Position { file, line, column };
                let found = self.alike(column).map_or("none".to_owned(), |found| quoted(&found));
                problems.add_deviation(place, "a column of this title", &found, effect);
            }
        }
    }
}

const FPU_MEDIAN: &str = "FPU Util Median (%)";

const INPUT_MEMORY: &str = "INPUT_0_MEMORY";

/// Column of the memory in reports of early 2024.
const EARLY_INPUT_MEMORY: &str = "INPUT_0_STORAGE_TYPE";

/// Former titles of columns, each with the present one.
///
/// # Compatibility
/// `process_ops_logs.py` of TT-Metal: the titles of performance models until early 2024, and those of
/// traces from November 2024 on (TT-Metal #14430).
const FORMER_TITLES: [(&str, &str); 5] = [
    ("TRACE ID", "METAL TRACE ID"),
    ("TRACE RUNTIME ID", "METAL TRACE REPLAY SESSION ID"),
    ("PM IDEAL NS", "PM IDEAL [ns]"),
    ("PM COMPUTE NS", "PM COMPUTE [ns]"),
    ("PM BANDWIDTH NS", "PM BANDWIDTH [ns]"),
];

/// Former ends of the titles of a tensor's columns, each with the present one.
///
/// # Compatibility
/// `process_ops_logs.py` of 2023, and reports of early 2024 (TT-Metal #6689).
const FORMER_ENDS: [(&str, &str); 2] = [("DATA TYPE", "DATATYPE"), ("DTYPE", "DATATYPE")];

/// Returns the present title of a column that TT-Metal has renamed; `None` for other titles.
fn present_title(title: &str) -> Option<String> {
    if let Some((_, present)) = FORMER_TITLES.iter().find(|(former, _)| *former == title) {
        return Some((*present).to_owned());
    }
    let rest = title.strip_prefix("INPUT_").or_else(|| title.strip_prefix("OUTPUT_"))?;
    let (number, end) = rest.split_once('_')?;
    number.parse::<u32>().ok()?;
    let (_, present) = FORMER_ENDS.iter().find(|(former, _)| *former == end)?;
    Some(format!("{}{present}", title.strip_suffix(end)?))
}

/// Units of time at the end of headers.
const UNITS: [&str; 5] = ["S", "MS", "US", "\u{b5}S", "NS"];

/// Returns the words of a header in upper case, without its unit.
fn words(title: &str) -> Vec<String> {
    let title = title.to_uppercase();
    let words = title.split(|of: char| !of.is_alphanumeric() && of != '\u{b5}');
    let mut words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    words.pop_if(|last| UNITS.contains(&last.as_str()));
    words
}

/// Prefix of the headers of columns that name the call of an op.
const CALL: &str = "CALL ";

/// Returns the header that a user means by `asked`: it may be in lower case, with underscores, and
/// without the prefix of columns that name the call of an op.
pub(super) fn find_title(titles: &[Arc<str>], asked: &str) -> Option<Arc<str>> {
    let plain = |title: &str| title.trim().to_uppercase().replace(['_', '-'], " ");
    let wanted = plain(asked);
    let exact = titles.iter().find(|title| ***title == *asked.trim());
    let same = || titles.iter().find(|title| plain(title) == wanted);
    let of_call = || {
        titles
            .iter()
            .find(|title| plain(title).strip_prefix(CALL).is_some_and(|rest| rest == wanted))
    };
    let former = || present_title(asked.trim()).and_then(|present| find_title(titles, &present));
    exact.or_else(same).or_else(of_call).cloned().or_else(former)
}

/// Columns that together occur only in the streaming profiler's table.
///
/// # Compatibility
/// `streaming_profiler_ops_csv.cpp` of TT-Metal 0.81.
const STREAMING: [&str; 4] =
    ["DEVICE ID", "GLOBAL CALL COUNT", "EXECUTION", "DEVICE KERNEL START CYCLE"];

/// Columns that together occur in every table of the device alone.
///
/// # Compatibility
/// `cpp_device_perf_report.csv` of `profiler.cpp`, and `process_ops_logs.py` without a host's logs.
const DEVICE: [&str; 2] = ["GLOBAL CALL COUNT", "DEVICE ARCH"];

fn format_of(index: &HashMap<String, usize>) -> OpsCsvFormat {
    let has_all = |titles: &[&str]| titles.iter().all(|&title| index.contains_key(title));
    let has_names = index.contains_key("OP CODE");
    if has_all(&STREAMING) && !has_names {
        OpsCsvFormat::Streaming
    } else if has_all(&DEVICE) && !has_names {
        OpsCsvFormat::Device
    } else if index.contains_key("DEVICE ARCH") || index.contains_key("AVAILABLE WORKER CORE COUNT")
    {
        OpsCsvFormat::V2_1
    } else if index.keys().any(|title| title.contains(PADDED)) {
        OpsCsvFormat::V2
    } else {
        OpsCsvFormat::V1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each wanted column is named where it has another unit or spelling, and a column with other words
    /// is not taken for it.
    #[test]
    fn columns_under_another_title_are_named() {
        let spelled: [fn(&str) -> String; 4] = [
            |title| title.replace("[ns]", "[us]").replace("CORE COUNT", "Core count"),
            str::to_lowercase,
            |title| title.replace(" [ns]", "").replace(' ', "_"),
            |title| title.to_lowercase().replace([' ', '['], "_").replace(']', ""),
        ];
        for (wanted, _) in WANTED {
            for other in
                spelled.map(|spelled| spelled(wanted)).into_iter().filter(|of| of != wanted)
            {
                let titles = Titles::new(
                    &["OP CODE", "DEVICE KERNEL DURATION DM START [ns]", &other].as_slice().into(),
                );
                let mut problems = ProblemLog::default();
                titles.check("a.csv", 1, &mut problems);
                let texts: Vec<String> = problems.kept().iter().map(ToString::to_string).collect();
                let named: Vec<&String> =
                    texts.iter().filter(|of| !of.contains("found none")).collect();
                let expected =
                    format!("column {wanted}: expected a column of this title, found `{other}`");
                assert!(named.len() == 1 && named[0].contains(&expected), "{other}: {texts:#?}");
                let kernel = match wanted == KERNEL_DURATION {
                    true => KernelColumn::OtherTitle(other.into()),
                    false => KernelColumn::Missing,
                };
                assert_eq!(titles.kernel_column(), kernel);
            }
        }
        let both = ["DEVICE KERNEL DURATION [us]", KERNEL_DURATION];
        assert_eq!(Titles::new(&both.as_slice().into()).kernel_column(), KernelColumn::Known);
    }

    /// A column is the same one under each title that it has had, for each rule that reads it.
    #[test]
    fn former_titles_are_the_present_ones() {
        let pairs = [
            ("TRACE ID", "METAL TRACE ID"),
            ("TRACE RUNTIME ID", "METAL TRACE REPLAY SESSION ID"),
            ("PM COMPUTE NS", "PM COMPUTE [ns]"),
            ("INPUT_0_DTYPE", "INPUT_0_DATATYPE"),
            ("OUTPUT_1_DATA TYPE", "OUTPUT_1_DATATYPE"),
        ];
        for (former, present) in pairs {
            let old = Titles::new(&["OP CODE", former].as_slice().into());
            assert_eq!((old.index(present), old.kept(None).len()), (Some(1), 0), "{former}");
            assert_eq!(find_title(old.all(), former).as_deref(), Some(present));
            // A file with both has two columns.
            let both = Titles::new(&[former, "OP CODE", present].as_slice().into());
            assert_eq!((both.index(former), both.index(present)), (Some(0), Some(2)));
        }
        let own = Titles::new(&["OP CODE", "MY TRACE ID", "INPUT_x_DTYPE"].as_slice().into());
        assert_eq!(own.kept(None).len(), 2, "columns of a user");
    }
}
