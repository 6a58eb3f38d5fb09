//! Columns of an ops report, and the text of its file.
//!
//! # Compatibility
//! `ops_perf_results.csv` of TT-Metal's release 0.81.1: fixed columns, tensors, further fixed
//! columns that include kernel sizes, hardware counters, host functions.

use super::{
    counters::{OpCounters, is_l1_client_title},
    csv_line::push_line,
    device_op::Cells,
    perf_report::QUASAR_KINDS,
};
use std::{
    borrow::{Borrow, Cow},
    collections::BTreeSet,
    sync::LazyLock,
};

pub(super) const LATENCY: &str = "OP TO OP LATENCY [ns]";
pub(super) const DATA_MOVEMENT_LATENCY: &str = "OP TO OP LATENCY BR/NRISC START [ns]";
pub(super) const KERNEL_DURATION: &str = "DEVICE KERNEL DURATION [ns]";
/// Column for the reason why figures of a row are empty. TT-Metal's report has no such column.
pub(super) const EMPTY_BECAUSE: &str = "EMPTY FIGURES BECAUSE";
/// Column that describes the traffic which is missing from the NoC figures. TT-Metal's report has
/// no such column.
pub(super) const NOC_FIGURES_LACK: &str = "NOC FIGURES LACK";
pub(super) const CHILD_CALL_SUFFIX: &str = "_TT_HOST_FUNC [ns]";
/// Column for the time that RISCs waited for the host to read, summed over all RISCs. TT-Metal's
/// report has no such column.
pub(super) const PROFILER_STALL: &str = "PROFILER STALL TOTAL [ns]";
/// Suffix of the headers of columns for peak memory use. The kind of memory precedes this suffix.
/// TT-Metal's report has no such columns.
pub(super) const BUFFER_PEAK_SUFFIX: &str = " BUFFER PEAK [B]";
/// Column with the path of the module that called an op, such as `Model.layers.0.attention`.
/// TT-Metal's report has no such columns as this and the next two.
pub(crate) const MODULE: &str = "MODULE";
/// Column with the function that called an op.
pub(crate) const CALL_FUNCTION: &str = "CALL FUNCTION";
/// Column with the file and the line of the call of an op, such as `model.py:12`.
pub(crate) const CALL_LOCATION: &str = "CALL LOCATION";
/// Columns that name the call of an op.
const CALL: [&str; 3] = [MODULE, CALL_FUNCTION, CALL_LOCATION];
/// Column with the part of the host's time in which an op made its program, without compiling kernels.
/// TT-Metal's report has no such columns as this and the next two.
pub(crate) const HOST_BUILD: &str = "HOST BUILD DURATION [ns]";
/// Column with the part of the host's time in which an op's program was sent to the chips.
pub(crate) const HOST_DISPATCH: &str = "HOST DISPATCH DURATION [ns]";
/// Column with the time that the dispatcher took for the commands of an op.
pub(crate) const DISPATCHER: &str = "DISPATCH TOTAL CQ CMD OP TIME [ns]";
/// Column with the time that the dispatcher waited for the workers before it started an op.
pub(crate) const DISPATCHER_WAIT: &str = "DISPATCH GO SEND WAIT TIME [ns]";
/// Column that says whether the program has cleared its cache of programs since the op before.
pub(crate) const CACHE_CLEARED: &str = "PROGRAM CACHE CLEARED";
/// Columns about the host's work for an op.
pub(super) const OF_HOST: [&str; 3] = [HOST_BUILD, HOST_DISPATCH, CACHE_CLEARED];
const KERNEL_SIZE_SUFFIX: &str = " MAX KERNEL SIZE [B]";

/// Columns before the tensors.
const FRONT: [&str; 35] = [
    "OP CODE",
    "OP TYPE",
    "GLOBAL CALL COUNT",
    "DEVICE ID",
    "DEVICE ARCH",
    "ATTRIBUTES",
    "MATH FIDELITY",
    "CORE COUNT",
    "AVAILABLE WORKER CORE COUNT",
    "SUB DEVICE ID",
    "PARALLELIZATION STRATEGY",
    "HOST START TS",
    "HOST END TS",
    "HOST DURATION [ns]",
    "DEVICE FW START CYCLE",
    "DEVICE FW END CYCLE",
    LATENCY,
    DATA_MOVEMENT_LATENCY,
    "DEVICE FW DURATION [ns]",
    KERNEL_DURATION,
    "DEVICE KERNEL DURATION DM START [ns]",
    "DEVICE KERNEL DURATION PER CORE MIN [ns]",
    "DEVICE KERNEL DURATION PER CORE MAX [ns]",
    "DEVICE KERNEL DURATION PER CORE AVG [ns]",
    "DEVICE KERNEL FIRST TO LAST START [ns]",
    "DEVICE BRISC KERNEL DURATION [ns]",
    "DEVICE NCRISC KERNEL DURATION [ns]",
    "DEVICE TRISC0 KERNEL DURATION [ns]",
    "DEVICE TRISC1 KERNEL DURATION [ns]",
    "DEVICE TRISC2 KERNEL DURATION [ns]",
    "DEVICE ERISC KERNEL DURATION [ns]",
    "DEVICE COMPUTE CB WAIT FRONT [ns]",
    "DEVICE COMPUTE CB RESERVE BACK [ns]",
    DISPATCHER,
    DISPATCHER_WAIT,
];

/// Columns between the tensors and the kernel sizes.
const MIDDLE: [&str; 8] = [
    "METAL TRACE ID",
    "METAL TRACE REPLAY SESSION ID",
    "COMPUTE KERNEL SOURCE",
    "COMPUTE KERNEL HASH",
    "DATA MOVEMENT KERNEL SOURCE",
    "DATA MOVEMENT KERNEL HASH",
    "PROGRAM HASH",
    "PROGRAM CACHE HIT",
];

/// Columns after the kernel sizes.
const BACK: [&str; 12] = [
    "PM IDEAL [ns]",
    "PM COMPUTE [ns]",
    "PM BANDWIDTH [ns]",
    "PM REQ I BW",
    "PM REQ O BW",
    "PM FPU UTIL (%)",
    "NOC UTIL (%)",
    "MULTICAST NOC UTIL (%)",
    "DRAM BW UTIL (%)",
    "DRAM BW UTIL PER CTRL (%)",
    "ETH BW UTIL (%)",
    "NPE CONG IMPACT (%)",
];

/// Fields of a tensor, in the order of their columns.
pub(super) const TENSOR_COLUMNS: [&str; 7] = [
    "W_PAD[LOGICAL]",
    "Z_PAD[LOGICAL]",
    "Y_PAD[LOGICAL]",
    "X_PAD[LOGICAL]",
    "LAYOUT",
    "DATATYPE",
    "MEMORY",
];

/// Returns the fixed column for a field of an op's description, if there is one.
pub(super) fn fixed_column(key: &str) -> Option<&'static str> {
    let title = key.replace('_', " ").to_uppercase();
    FRONT.into_iter().chain(MIDDLE).chain(BACK).chain(CALL).find(|&column| column == title)
}

/// Returns true if a column of a device perf report also exists in an ops report.
pub(super) fn is_device_column(title: &str) -> bool {
    let is_of_quasar = QUASAR_KINDS
        .iter()
        .any(|kind| [kind.kernel_duration, kind.firmware_duration].contains(&title));
    is_of_quasar
        || is_counter_title(title)
        || FRONT.contains(&title)
        || MIDDLE.contains(&title)
        || BACK.contains(&title)
}

/// Columns of other generations of TT-Metal's reports, and of its tables of the device alone.
const OF_OTHER_GENERATIONS: [&str; 8] = [
    "OP NAME",
    "CALL DEPTH",
    "EXECUTION",
    "DEVICE KERNEL START CYCLE",
    "DEVICE KERNEL END CYCLE",
    "COMPUTE KERNEL PATH",
    "DATA MOVEMENT KERNEL PATH",
    PROFILER_STALL,
];

/// Returns true if TT-Metal or this library gives a column of this title to reports on ops. Other
/// columns are of the user's own tools, except those that name the call of an op.
pub(crate) fn is_known_column(title: &str) -> bool {
    const SUFFIXES: [&str; 3] = [CHILD_CALL_SUFFIX, BUFFER_PEAK_SUFFIX, KERNEL_SIZE_SUFFIX];
    let of_tensor = ["INPUT_", "OUTPUT_"].iter().find_map(|which| title.strip_prefix(which));
    let number = of_tensor.and_then(|rest| rest.split_once('_')).map(|(number, _)| number);
    is_device_column(title)
        || OF_OTHER_GENERATIONS.contains(&title)
        || [EMPTY_BECAUSE, NOC_FIGURES_LACK].contains(&title)
        || OF_HOST.contains(&title)
        || SUFFIXES.iter().any(|suffix| title.ends_with(suffix))
        || number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Returns true if a column is about a hardware counter.
pub(super) fn is_counter_title(title: &str) -> bool {
    static OF_COUNTERS: LazyLock<BTreeSet<String>> =
        LazyLock::new(|| OpCounters::titles().collect());
    is_l1_client_title(title) || OF_COUNTERS.contains(title)
}

/// Returns the columns that replace this column in the report of a Quasar; empty if the column is
/// left out there.
fn quasar_columns(title: &'static str) -> Vec<&'static str> {
    match title {
        "DEVICE BRISC KERNEL DURATION [ns]" => {
            QUASAR_KINDS.map(|kind| kind.kernel_duration).to_vec()
        }
        "DEVICE FW DURATION [ns]" => QUASAR_KINDS.map(|kind| kind.firmware_duration).to_vec(),
        LATENCY => QUASAR_KINDS.map(|kind| kind.latency).to_vec(),
        DATA_MOVEMENT_LATENCY
        | "DEVICE NCRISC KERNEL DURATION [ns]"
        | "DEVICE TRISC0 KERNEL DURATION [ns]"
        | "DEVICE TRISC1 KERNEL DURATION [ns]"
        | "DEVICE TRISC2 KERNEL DURATION [ns]"
        | "DEVICE ERISC KERNEL DURATION [ns]" => Vec::new(),
        _ => vec![title],
    }
}

/// Selection of the columns in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    /// All fixed columns, and those other columns that have a value in at least one row.
    All,
    /// Only columns that have a value in at least one row.
    Filled,
}

/// Formats the whole file. The file of a Quasar has additional columns.
///
/// `rows` is called twice, once for the titles and once for the cells, so rows need not be stored.
pub(super) fn sheet_csv<R: Borrow<Cells>, I: Iterator<Item = R>>(
    rows: impl Fn() -> I,
    columns: Columns,
    is_quasar: bool,
    line_end: &str,
) -> String {
    let titles = titles_of(rows(), columns, is_quasar);
    let mut out = String::new();
    push_line(&mut out, &titles, line_end);
    for row in rows() {
        let row = row.borrow();
        let cells = titles.iter().map(|title| row.get(title.as_str()).map_or("", String::as_str));
        push_line(&mut out, cells, line_end);
    }
    out
}

fn titles_of<R: Borrow<Cells>>(
    rows: impl Iterator<Item = R>,
    columns: Columns,
    is_quasar: bool,
) -> Vec<String> {
    let mut found: BTreeSet<Cow<'static, str>> = BTreeSet::new();
    for row in rows {
        for title in row.borrow().keys() {
            if !found.contains(title) {
                found.insert(title.clone());
            }
        }
    }
    let filled: BTreeSet<&str> = found.iter().map(AsRef::as_ref).collect();
    let owned = |titles: &[&'static str]| -> Vec<String> {
        let wanted = titles.iter().filter(|t| columns == Columns::All || filled.contains(*t));
        wanted.map(|&title| title.to_owned()).collect()
    };
    let mut titles = match is_quasar {
        true => owned(&FRONT.into_iter().flat_map(quasar_columns).collect::<Vec<_>>()),
        false => owned(&FRONT),
    };
    titles.extend(tensor_titles(&filled, "INPUT"));
    titles.extend(tensor_titles(&filled, "OUTPUT"));
    titles.extend(owned(&MIDDLE));
    let mut sizes: Vec<_> = filled.iter().filter(|t| t.ends_with(KERNEL_SIZE_SUFFIX)).collect();
    sizes.sort_by_key(|title| kernel_size_order(title));
    titles.extend(sizes.into_iter().map(|&title| title.to_owned()));
    titles.extend(owned(&BACK));
    titles.extend(OpCounters::titles().filter(|title| filled.contains(title.as_str())));
    let clients = filled.iter().filter(|title| is_l1_client_title(title));
    titles.extend(clients.map(|&title| title.to_owned()));
    let calls = filled.iter().filter(|title| title.ends_with(CHILD_CALL_SUFFIX));
    titles.extend(calls.map(|&title| title.to_owned()));
    let peaks = filled.iter().filter(|title| title.ends_with(BUFFER_PEAK_SUFFIX));
    titles.extend(peaks.map(|&title| title.to_owned()));
    titles.extend(filled.get(PROFILER_STALL).map(|&title| title.to_owned()));
    let others = [EMPTY_BECAUSE, NOC_FIGURES_LACK].into_iter().chain(OF_HOST).chain(CALL);
    let others = others.filter_map(|one| filled.get(one));
    titles.extend(others.map(|&title| title.to_owned()));
    titles
}

/// Returns the columns for all tensors. The number of tensors is that of the row with the most
/// tensors.
fn tensor_titles(filled: &BTreeSet<&str>, which: &str) -> Vec<String> {
    let titles = (0..).map(|number| tensor_title(which, number, TENSOR_COLUMNS[0]));
    let count = titles.take_while(|title| filled.contains(title.as_str())).count();
    let numbers = 0..count;
    numbers.flat_map(|n| TENSOR_COLUMNS.map(|column| tensor_title(which, n, column))).collect()
}

/// Returns the header of one field of a tensor.
pub(super) fn tensor_title(which: &str, number: usize, column: &str) -> String {
    format!("{which}_{number}_{column}")
}

/// Returns the sort key for kernel sizes: class of processor, then its number.
fn kernel_size_order(title: &str) -> (usize, u64, String) {
    const CLASSES: [&str; 4] = ["TENSIX DM", "TENSIX COMPUTE", "ACTIVE ETH DM", "IDLE ETH DM"];
    let processor = title.strip_suffix(KERNEL_SIZE_SUFFIX).unwrap_or(title);
    let (class, number) = processor.rsplit_once(' ').unwrap_or((processor, ""));
    let rank = CLASSES.iter().position(|&known| known == class).unwrap_or(CLASSES.len());
    (rank, number.parse().unwrap_or(u64::MAX), title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_sizes_stand_by_class_and_number() {
        let mut row = Cells::new();
        for kernel in ["IDLE ETH DM 0", "TENSIX DM 10", "TENSIX COMPUTE 0", "TENSIX DM 2"] {
            row.insert(format!("{kernel}{KERNEL_SIZE_SUFFIX}").into(), "1".into());
        }
        let titles = titles_of([row].iter(), Columns::Filled, false);
        let classes: Vec<_> = titles.iter().map(|t| t.replace(KERNEL_SIZE_SUFFIX, "")).collect();
        assert_eq!(classes, ["TENSIX DM 2", "TENSIX DM 10", "TENSIX COMPUTE 0", "IDLE ETH DM 0"]);
    }
}
