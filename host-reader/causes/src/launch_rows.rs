//! Rows about ops, each joined to the launch that it describes. The rows come from the ops CSV in
//! the recording's folder, or from a report about the ops that the host described.

use crate::{
    explanation::Explanation,
    finding::{Place, Untold},
};
use analysis::Launch;
use host_events::OpMetadata;
use recording::{Recording, problem::counted};
use reports::perf::{OpReport, OpsCsv, PerfReport, ProgramBuilds, RowKind, read_ops_csv_with};
use std::{
    collections::{BTreeMap, VecDeque},
    fs::File,
    path::Path,
    sync::Arc,
};

/// Question that stays unanswered if no rows describe the launches.
const WHAT_OPS_ARE: &str = "names of the ops, and how far they are from the limits of their shapes";

/// Rows about ops, and the launches that they describe.
#[derive(Debug, Default)]
pub(crate) struct LaunchRows {
    /// Rows in the order of the report, including host ops.
    pub(crate) rows: Vec<OpReport>,
    /// For each row, the index of its launch among all launches; `None` if the row describes no
    /// launch.
    launch_of_row: Vec<Option<usize>>,
    row_of_launch: BTreeMap<usize, usize>,
    /// Calls of the rows' ops, and the programs that they built.
    pub(crate) builds: ProgramBuilds,
    /// True if the rows were read from a file.
    pub(crate) is_of_file: bool,
    /// Sentence about the file that describes the launches.
    pub(crate) described_by: Option<String>,
    /// Question that the ops CSV leaves unanswered.
    pub(crate) untold: Option<Untold>,
    /// Header of the column by which ops are to be grouped; `None` if the rows have no such column.
    pub(crate) by: Option<Arc<str>>,
}

impl LaunchRows {
    /// Returns the rows of the report on the ops that the host described. If there is no such
    /// report, returns the rows of the ops CSV in the recording's folder. `by` is a column to keep.
    pub(crate) fn from_recording(
        recording: &Recording,
        launches: &[Launch],
        (report, by): (Option<PerfReport>, Option<&str>),
    ) -> Self {
        if let Some(report) = report {
            let title = by.and_then(|by| report.column(by));
            let launch_of_row = Join::new(launches).join_rows(&report.rows);
            return Self { by: title, ..Self::new(report.rows, launch_of_row, report.builds) };
        }
        match &recording.ops_csv {
            Some(path) if !launches.is_empty() => Self::from_file(path, launches, by),
            _ => Self::default(),
        }
    }

    fn new(rows: Vec<OpReport>, launch_of_row: Vec<Option<usize>>, builds: ProgramBuilds) -> Self {
        let pairs = launch_of_row.iter().enumerate();
        let row_of_launch = pairs.filter_map(|(row, launch)| Some(((*launch)?, row))).collect();
        Self { rows, launch_of_row, row_of_launch, builds, ..Self::default() }
    }

    /// Reads the rows of an ops CSV. Returns no rows if the CSV belongs to another run.
    fn from_file(path: &Path, launches: &[Launch], by: Option<&str>) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ((rows, builds), by) = match open(path, &name, by) {
            Ok(found) => found,
            Err(reason) => return Self::without_file(reason),
        };
        let join = Join { others: BTreeMap::new(), ..Join::new(launches) };
        let launch_of_row = join.join_rows(&rows);
        let joined = Self { is_of_file: true, ..Self::new(rows, launch_of_row, builds) };
        let (described, all) = (joined.row_of_launch.len(), launches.len());
        let row_count = joined.rows.iter().filter(|row| row.kind == RowKind::Device).count();
        if described == 0 {
            return Self::without_file(match row_count {
                0 => format!("{name} has no rows of ops that ran on a chip"),
                _ => format!("no op of {name} starts with a launch: it is from another run"),
            });
        }
        let rest = match row_count.saturating_sub(described) {
            0 => String::new(),
            count => {
                let ops = counted(count as u64, "more op in it has", "more ops in it have");
                format!("; {ops} no launch here")
            }
        };
        let untold = (described < all).then(|| Untold {
            question: WHAT_OPS_ARE,
            reason: format!(
                "{} of {all} launches are not in {name}",
                all.saturating_sub(described)
            ),
            record_with: "an ops CSV that was made from the whole device log",
        });
        let described_by =
            format!("{name} describes the ops of {described} of {all} launches{rest}.");
        Self { untold, described_by: Some(described_by), by, ..joined }
    }

    /// Returns an empty list of rows, with the reason why no ops CSV describes the launches.
    fn without_file(reason: String) -> Self {
        let record_with = "an ops CSV that was made from the device log next to it";
        let untold = Some(Untold { question: WHAT_OPS_ARE, reason, record_with });
        Self { untold, ..Self::default() }
    }

    /// Returns the row that describes a launch.
    pub(crate) fn row(&self, launch: usize) -> Option<&OpReport> {
        self.rows.get(*self.row_of_launch.get(&launch)?)
    }

    /// Returns the rows of the selected launches and of the host ops between them.
    pub(crate) fn reports(&self, is_own: impl Fn(usize) -> bool) -> Vec<OpReport> {
        let own: Vec<bool> =
            self.launch_of_row.iter().map(|launch| launch.is_some_and(&is_own)).collect();
        let [first, last] = [own.iter().position(|own| *own), own.iter().rposition(|own| *own)];
        let Some((first, last)) = first.zip(last) else { return Vec::new() };
        let rows = self.rows.iter().zip(own).enumerate();
        let between = rows.filter(|(index, _)| (first..=last).contains(index));
        let kept = between.filter(|(_, (row, own))| *own || row.kind == RowKind::Host);
        kept.map(|(_, (row, _))| row.clone()).collect()
    }

    /// Returns the location of the launch that a row describes.
    pub(crate) fn place(&self, row: &OpReport) -> Place {
        let (chip_id, run_host_id) = row.program().unzip();
        Place {
            chip_id,
            op: Some(row.raw_op_code.to_string()).filter(|name| !name.is_empty()),
            run_host_id,
            row: Some(row.id).filter(|_| self.is_of_file),
            ..Place::default()
        }
    }
}

/// Returns true if the host's metadata of at least one op includes the op's input tensors.
pub(crate) fn are_described(ops: &[OpMetadata]) -> bool {
    ops.iter().any(|op| op.value("input_tensors").is_some())
}

/// Rows of a report, and the programs that their calls built.
type RowsAndBuilds = (Vec<OpReport>, ProgramBuilds);

fn rows_of(csv: OpsCsv) -> Option<RowsAndBuilds> {
    let report = PerfReport::new(vec![csv], &Explanation::report_options()).ok();
    report.map(|report| (report.rows, report.builds))
}

/// Rows of a file, and the header of the column that is asked for.
type RowsAndColumn = (RowsAndBuilds, Option<Arc<str>>);

fn open(path: &Path, name: &str, by: Option<&str>) -> Result<RowsAndColumn, String> {
    let file = File::open(path).map_err(|error| format!("{name} cannot be read ({error})"))?;
    let csv = read_ops_csv_with(file, name, by);
    let csv = csv.map_err(|error| format!("it cannot be used: {error}"))?;
    let title = by.and_then(|by| csv.column(by));
    Ok((rows_of(csv).unwrap_or_default(), title))
}

/// Lookup table of the launches to which no row has been joined yet.
#[derive(Default)]
struct Join {
    /// Launches by chip and firmware start cycle. No two runs of a chip have the same start cycle.
    starts: BTreeMap<(u32, u64), usize>,
    /// For each program, its launches with an unknown firmware start, in time order.
    others: BTreeMap<(u32, u32), VecDeque<usize>>,
}

impl Join {
    fn new(launches: &[Launch]) -> Self {
        let mut join = Self::default();
        for (index, Launch { op, .. }) in launches.iter().enumerate() {
            if let Some(firmware) = op.firmware {
                join.starts.entry((op.chip_id, firmware.start_cycle)).or_insert(index);
            } else {
                join.others.entry((op.chip_id, op.run_host_id)).or_default().push_back(index);
            }
        }
        join
    }

    /// Removes and returns the launch that a row describes.
    fn take(&mut self, row: &OpReport) -> Option<usize> {
        match row.firmware_start_cycle {
            _ if row.kind != RowKind::Device => None,
            Some(start) => self.starts.remove(&(row.chip_id()?, start)),
            None => self.others.get_mut(&row.program()?)?.pop_front(),
        }
    }

    /// Returns the index of each row's launch.
    fn join_rows(mut self, rows: &[OpReport]) -> Vec<Option<usize>> {
        rows.iter().map(|row| self.take(row)).collect()
    }
}
