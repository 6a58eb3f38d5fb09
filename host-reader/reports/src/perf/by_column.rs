//! Ops grouped by the cells of a column: by a compiler's location, by the module of the model that
//! called them, or by any other.

use super::{
    op::{OpReport, RowKind},
    passes::Passes,
    signposts::SIGNPOST,
};
use crate::report::MODULE;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};
use wire::RunHostId;

/// Figures of a group of device ops. The share of the peak FLOPs is the mean over the ops whose share
/// is known, weighted by device time.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ColumnGroup {
    /// Text of the ops' cells; `None` for the ops whose cell is blank. In a tree, a path, and the
    /// ops are those of this path and of all paths below.
    pub value: Option<Arc<str>>,
    /// Op code, if the group is the ops of this op code that belong to a path itself.
    pub op: Option<Arc<str>>,
    /// Number of groups of the tree that contain this one; 0 if the groups form no tree.
    pub depth: usize,
    /// Number of ops.
    pub op_count: u64,
    /// Sum of the ops' device times.
    pub device_time_us: f64,
    /// `device_time_us` as a percentage of the device time of all ops; `None` if that is 0.
    pub percent: Option<f64>,
    /// Number of ops without a device time. They are in no sum.
    pub untimed_count: u64,
    /// Mean device time of an iteration; `None` if none of the ops is part of an iteration.
    pub device_time_per_iteration_us: Option<f64>,
    /// Mean number of ops of an iteration; `None` if none of the ops is part of an iteration.
    pub ops_per_iteration: Option<f64>,
    /// Time that the host spent on the ops, each call once; `None` if it is known of none.
    pub host_time_us: Option<f64>,
    /// Number of ops whose host time is unknown. For replays of a trace the host calls no op.
    pub without_host_time_count: u64,
    /// Percentage of the peak FLOPs of the cores used; `None` if it is known of no op.
    pub flops_percent: Option<f64>,
    /// Number of ops without a percentage of the peak FLOPs.
    pub without_flops_count: u64,
    /// Percentage of the DRAM bandwidth over the time of all ops with a device time; `None` if the
    /// bytes of no op are known.
    pub dram_percent: Option<f64>,
    /// True if `dram_percent` is a lower bound, because not all bytes of all ops are known.
    pub is_dram_lower_bound: bool,
    /// Number of ops without a percentage of the DRAM bandwidth.
    pub without_dram_count: u64,
}

/// Device ops grouped by a column.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct OpsByColumn {
    /// Header of the column.
    pub column: Arc<str>,
    /// Number of complete iterations; `None` if they are unknown.
    pub iteration_count: Option<usize>,
    /// Why iterations are unknown, as a part of a sentence; `None` if they are known.
    pub no_iterations: Option<Arc<str>>,
    /// Number of device ops outside of the iterations, which no figure per iteration counts.
    pub outside_iterations_count: u64,
    /// Number of ops of the host, which are in no group.
    pub host_op_count: u64,
    /// All device ops.
    pub total: ColumnGroup,
    /// Groups, sorted by descending device time. The groups of a tree are in the order of the ops,
    /// each before the groups in it.
    pub groups: Vec<ColumnGroup>,
}

/// Splits the path of a module at its dots, except those inside of brackets.
///
/// ```
/// let parts: Vec<_> = reports::perf::module_parts("Model.layers.0[a.b].<Norm>").collect();
/// assert_eq!(parts, ["Model", "layers", "0[a.b]", "<Norm>"]);
/// ```
pub fn module_parts(path: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    path.split(move |letter| {
        match letter {
            '[' | '<' => depth = depth.saturating_add(1),
            ']' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '.' && depth == 0
    })
}

/// Groups the device ops of `rows` by the column with this exact header. The column must be one
/// whose cells were kept. The cells of the column `MODULE` are paths, so its groups form a tree.
///
/// ```
/// use reports::perf::{PerfOptions, PerfReport, ops_by_column, read_ops_csv};
/// let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],LOC
/// Matmul,tt_dnn_device,0,3000,model.py:7
/// Softmax,tt_dnn_device,0,1000,
/// ";
/// let csv = read_ops_csv(text.as_bytes(), "ops.csv")?;
/// let report = PerfReport::new(vec![csv], &PerfOptions::default())?;
/// let by = ops_by_column(&report.rows, "LOC");
/// assert_eq!(by.groups[0].value.as_deref(), Some("model.py:7"));
/// assert_eq!(by.groups[0].percent, Some(75.0));
/// assert_eq!((by.groups[1].value.as_deref(), by.groups[1].op_count), (None, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn ops_by_column(rows: &[OpReport], column: &str) -> OpsByColumn {
    let passes = match column {
        // Signposts that mark parts of a program, such as layers, make its parts look like iterations.
        SIGNPOST => Err(SIGNPOSTS_MARK_PARTS.to_owned()),
        _ => Passes::find(rows),
    };
    let (passes, no_iterations) = match passes {
        Ok(passes) => (Some(passes), None),
        Err(why) => (None, Some(why.into())),
    };
    let mut groups = Groups { is_tree: column == MODULE, ..Groups::default() };
    let mut total = Sums::default();
    let mut calls = BTreeSet::new();
    let ops = rows.iter().enumerate().filter(|(_, row)| row.kind == RowKind::Device);
    for (at, row) in ops {
        let is_repeated = passes.as_ref().is_some_and(|passes| passes.rows.contains(&at));
        let host = HostShare::of(row, &mut calls);
        total.add(row, is_repeated, host);
        groups.add(row, row.other(column), (is_repeated, host));
    }
    let iteration_count = passes.as_ref().map(|passes| passes.count);
    let all_us = total.device_time_us;
    let mut found = Vec::new();
    groups.into_figures(&mut |key, sums| {
        found.push(sums.figures(key, all_us, iteration_count));
    });
    if column != MODULE {
        found.sort_by(|one, other| other.device_time_us.total_cmp(&one.device_time_us));
    }
    OpsByColumn {
        column: column.into(),
        iteration_count,
        no_iterations,
        outside_iterations_count: passes.map_or(0, |passes| passes.left_out_count as u64),
        host_op_count: rows.iter().filter(|row| row.kind == RowKind::Host).count() as u64,
        total: total.figures(&Key::default(), all_us, iteration_count),
        groups: found,
    }
}

impl OpsByColumn {
    /// Returns the same groups for ops that are known to be one iteration: what repeats in them, such as
    /// equal layers, is no iteration.
    #[must_use]
    pub fn of_one_iteration(mut self) -> Self {
        self.iteration_count = None;
        self.no_iterations = Some("these ops are one iteration".into());
        self.outside_iterations_count = 0;
        for group in self.groups.iter_mut().chain([&mut self.total]) {
            (group.device_time_per_iteration_us, group.ops_per_iteration) = (None, None);
        }
        self
    }
}

/// Why groups by signpost have no iterations.
const SIGNPOSTS_MARK_PARTS: &str = "signposts may mark parts of an iteration";

/// What the host spent on the op of a row.
#[derive(Clone, Copy, Debug)]
enum HostShare {
    /// Time of the op's call in nanoseconds.
    Known(f64),
    /// The time is unknown, or the host calls no op, as for replays of a trace.
    Unknown,
    /// The row of another chip has the time of the same call.
    OfOtherRow,
}

/// File, start on the host's clock, and base id of a call.
type CallKey = (usize, u64, u32);

impl HostShare {
    /// Returns what the host spent on a row that no earlier row of the same call in `calls` has.
    fn of(row: &OpReport, calls: &mut BTreeSet<CallKey>) -> Self {
        // The host spent its time on an op of a trace once, when the trace was captured.
        let Some(ns) = row.host_duration_ns.filter(|_| row.trace_session.is_none()) else {
            return Self::Unknown;
        };
        let id = row.program().map(|(_, id)| RunHostId(id).base());
        let call = row.host_start_ns.zip(id).map(|(ns, id)| (row.file, ns.to_bits(), id));
        match call {
            Some(call) if !calls.insert(call) => Self::OfOtherRow,
            _ => Self::Known(ns),
        }
    }
}

/// What a group is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Key {
    value: Option<Arc<str>>,
    op: Option<Arc<str>>,
    depth: usize,
}

/// Groups in the order of their first ops; those of a tree know the groups in them.
#[derive(Default)]
struct Groups {
    is_tree: bool,
    nodes: Vec<(Key, Sums, Vec<usize>)>,
    index: HashMap<Key, usize>,
    roots: Vec<usize>,
}

impl Groups {
    fn add(
        &mut self,
        row: &OpReport,
        value: Option<&Arc<str>>,
        (is_repeated, host): (bool, HostShare),
    ) {
        let mut parent = None;
        for key in self.keys(row, value) {
            let at = self.node(key, parent);
            if let Some((_, sums, _)) = self.nodes.get_mut(at) {
                sums.add(row, is_repeated, host);
            }
            parent = Some(at);
        }
    }

    /// Returns the keys of the groups that contain an op, from the outermost.
    fn keys(&self, row: &OpReport, value: Option<&Arc<str>>) -> Vec<Key> {
        if !self.is_tree {
            return vec![Key { value: value.cloned(), ..Key::default() }];
        }
        let mut keys = Vec::new();
        match value {
            None => keys.push(Key::default()),
            Some(path) => {
                let mut end = 0_usize;
                for (depth, part) in module_parts(path).enumerate() {
                    end = end.saturating_add(part.len());
                    let value = path.get(..end).map(Arc::from);
                    keys.push(Key { value, op: None, depth });
                    end = end.saturating_add(1);
                }
            }
        }
        let op = Some(Arc::clone(&row.raw_op_code));
        keys.push(Key { value: value.cloned(), op, depth: keys.len() });
        keys
    }

    fn node(&mut self, key: Key, parent: Option<usize>) -> usize {
        if let Some(&at) = self.index.get(&key) {
            return at;
        }
        let at = self.nodes.len();
        self.nodes.push((key.clone(), Sums::default(), Vec::new()));
        self.index.insert(key, at);
        match parent.and_then(|parent| self.nodes.get_mut(parent)) {
            Some((_, _, inner)) => inner.push(at),
            None => self.roots.push(at),
        }
        at
    }

    /// Calls `take` for each group, before the groups in it.
    fn into_figures(self, take: &mut dyn FnMut(&Key, &Sums)) {
        let mut open: Vec<usize> = self.roots.into_iter().rev().collect();
        while let Some(at) = open.pop() {
            let Some((key, sums, inner)) = self.nodes.get(at) else { continue };
            take(key, sums);
            open.extend(inner.iter().rev());
        }
    }
}

/// Sums over the ops of a group.
#[derive(Clone, Debug, Default)]
struct Sums {
    op_count: u64,
    device_time_us: f64,
    untimed_count: u64,
    repeated_count: u64,
    repeated_us: f64,
    host_us: Option<f64>,
    without_host_time_count: u64,
    flops: Weighted,
    dram: Weighted,
    has_unknown_bytes: bool,
}

/// Percentages weighted by device time.
#[derive(Clone, Copy, Debug, Default)]
struct Weighted {
    product: f64,
    device_time_us: f64,
    without_count: u64,
}

impl Weighted {
    fn add(&mut self, percent: Option<f64>, device_time_us: Option<f64>) {
        match percent.zip(device_time_us) {
            Some((percent, us)) => {
                self.product += percent * us;
                self.device_time_us += us;
            }
            None => self.without_count = self.without_count.saturating_add(1),
        }
    }

    fn mean(&self) -> Option<f64> {
        self.share_of(self.device_time_us)
    }

    /// Returns the share of the peak over this time, in which the ops without a share count as 0.
    fn share_of(&self, device_time_us: f64) -> Option<f64> {
        (self.device_time_us > 0.0).then(|| self.product / device_time_us)
    }
}

impl Sums {
    fn add(&mut self, row: &OpReport, is_repeated: bool, host: HostShare) {
        self.op_count = self.op_count.saturating_add(1);
        match row.device_time_us {
            Some(us) => self.device_time_us += us,
            None => self.untimed_count = self.untimed_count.saturating_add(1),
        }
        if is_repeated {
            self.repeated_count = self.repeated_count.saturating_add(1);
            self.repeated_us += row.device_time_us.unwrap_or(0.0);
        }
        match host {
            HostShare::Known(ns) => self.host_us = Some(self.host_us.unwrap_or(0.0) + ns / 1000.0),
            HostShare::Unknown => {
                self.without_host_time_count = self.without_host_time_count.saturating_add(1);
            }
            HostShare::OfOtherRow => {}
        }
        self.flops.add(row.flops_percent, row.device_time_us);
        self.dram.add(row.dram_percent, row.device_time_us);
        self.has_unknown_bytes |= row.device_time_us.is_some() && row.is_dram_lower_bound();
    }

    fn figures(&self, key: &Key, all_us: f64, iteration_count: Option<usize>) -> ColumnGroup {
        let iteration_count = iteration_count.filter(|_| self.repeated_count > 0);
        let per_iteration = |sum: f64| iteration_count.map(|count| sum / count as f64);
        ColumnGroup {
            value: key.value.clone(),
            op: key.op.clone(),
            depth: key.depth,
            op_count: self.op_count,
            device_time_us: self.device_time_us,
            percent: (all_us > 0.0).then(|| self.device_time_us / all_us * 100.0),
            untimed_count: self.untimed_count,
            device_time_per_iteration_us: per_iteration(self.repeated_us),
            ops_per_iteration: per_iteration(self.repeated_count as f64),
            host_time_us: self.host_us,
            without_host_time_count: self.without_host_time_count,
            flops_percent: self.flops.mean(),
            without_flops_count: self.flops.without_count,
            dram_percent: self.dram.share_of(self.device_time_us),
            is_dram_lower_bound: self.has_unknown_bytes,
            without_dram_count: self.dram.without_count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::{PerfOptions, PerfReport, read_ops_csv_with};

    fn by(text: &str, column: &str) -> OpsByColumn {
        let csv = read_ops_csv_with(text.as_bytes(), "ops.csv", Some(column)).unwrap();
        let title = csv.column(column).unwrap();
        let report = PerfReport::new(vec![csv], &PerfOptions::default()).unwrap();
        ops_by_column(&report.rows, &title)
    }

    const MODEL: &str = "OP CODE,OP TYPE,DEVICE ID,HOST DURATION [ns],DEVICE KERNEL DURATION [ns],MODULE\n\
        Embed,tt_dnn_device,0,100,700,\n\
        Matmul,tt_dnn_device,0,200,2000,M.layers.0.q\n\
        Matmul,tt_dnn_device,0,300,3000,M.layers.0.q\n\
        Add,tt_dnn_device,0,,400,M.layers.0\n\
        Matmul,tt_dnn_device,0,500,,M.layers.1.q\n\
        (torch) x,python_fallback,,5,,\n";

    /// Device time in ns, number of ops, number of untimed ops, host time in ns, and number of ops
    /// without a host time, of each group of the tree.
    #[test]
    fn modules_form_a_tree_whose_sums_are_those_of_the_ops() {
        let by = by(MODEL, "module");
        let figures = |group: &ColumnGroup| {
            let ns = (group.device_time_us * 1000.0).round();
            let host_ns = group.host_time_us.map(|us| (us * 1000.0).round());
            (ns, group.op_count, group.untimed_count, host_ns, group.without_host_time_count)
        };
        let rows: Vec<_> = by
            .groups
            .iter()
            .map(|group| {
                let name = group.op.as_ref().or(group.value.as_ref()).map_or("-", |name| name);
                (group.depth, name, figures(group))
            })
            .collect();
        let expected = [
            (0, "-", (700.0, 1, 0, Some(100.0), 0)),
            (1, "Embed", (700.0, 1, 0, Some(100.0), 0)),
            (0, "M", (5400.0, 4, 1, Some(1000.0), 1)),
            (1, "M.layers", (5400.0, 4, 1, Some(1000.0), 1)),
            (2, "M.layers.0", (5400.0, 3, 0, Some(500.0), 1)),
            (3, "M.layers.0.q", (5000.0, 2, 0, Some(500.0), 0)),
            (4, "Matmul", (5000.0, 2, 0, Some(500.0), 0)),
            (3, "Add", (400.0, 1, 0, None, 1)),
            (2, "M.layers.1", (0.0, 1, 1, Some(500.0), 0)),
            (3, "M.layers.1.q", (0.0, 1, 1, Some(500.0), 0)),
            (4, "Matmul", (0.0, 1, 1, Some(500.0), 0)),
        ];
        assert_eq!(rows, expected);
        assert_eq!(figures(&by.total), (6100.0, 5, 1, Some(1100.0), 1));
        assert_eq!((by.host_op_count, by.iteration_count), (1, None));
    }

    #[test]
    fn other_columns_are_flat_and_the_longest_group_comes_first() {
        let by = by(MODEL, "op_code");
        let groups: Vec<_> =
            by.groups.iter().map(|group| (group.value.as_deref(), group.op_count)).collect();
        assert_eq!(groups, [(Some("Matmul"), 3), (Some("Embed"), 1), (Some("Add"), 1)]);
        assert!((by.groups[0].percent.unwrap() - 5000.0 / 61.0).abs() < 1e-9);
    }

    #[test]
    fn the_host_s_time_of_a_call_on_two_chips_counts_once() {
        let text = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,HOST START TS,HOST DURATION [ns],\
            DEVICE KERNEL DURATION [ns],MODULE\n\
            Add,tt_dnn_device,1024,0,50,500000,700,M\nAdd,tt_dnn_device,1025,1,50,500000,800,M\n\
            Add,tt_dnn_device,2048,0,90,250000,700,M\nAdd,tt_dnn_device,2049,1,95,125000,800,M\n";
        let csv = read_ops_csv_with(text.as_bytes(), "ops.csv", None).unwrap();
        let options = PerfOptions { is_by_device: true, ..PerfOptions::default() };
        let by = ops_by_column(&PerfReport::new(vec![csv], &options).unwrap().rows, "MODULE");
        // The second op was called once for each chip.
        let host = (by.total.host_time_us, by.total.without_host_time_count, by.total.op_count);
        assert_eq!(host, (Some(875.0), 0, 4));
        assert_eq!(by.groups[0].host_time_us, Some(875.0));
    }

    #[test]
    fn layers_are_no_iterations_of_the_model() {
        let mut text = MODEL.lines().next().unwrap().to_owned() + "\n";
        for iteration in 1..=3_u32 {
            for layer in 0..2 {
                text += &format!("Matmul,tt_dnn_device,0,1,{},M.{layer}.q\n", 1000 * iteration);
            }
        }
        let by = by(&text, "MODULE");
        assert_eq!(by.iteration_count, Some(3));
        let layer = by.groups.iter().find(|group| group.value.as_deref() == Some("M.1")).unwrap();
        assert_eq!((layer.op_count, layer.ops_per_iteration), (3, Some(1.0)));
        assert_eq!(layer.device_time_per_iteration_us, Some(2.0));
    }

    /// The first pass of `a` to `d` lacks `a`, an op of no pass follows the second, and the fourth is cut.
    #[test]
    fn iterations_are_told_though_some_are_cut_and_other_ops_run() {
        let mut text = MODEL.lines().next().unwrap().to_owned() + "\n";
        let mut add = |ops: &str, ns: u32| {
            for op in ops.chars() {
                text += &format!("Op,tt_dnn_device,0,1,{ns},M.{op}\n");
            }
        };
        for (ops, ns) in [
            ("bcd", 1000),
            ("abcd", 2000),
            ("x", 500),
            ("abcd", 4000),
            ("ab", 8000),
            ("abcd", 3000),
        ] {
            add(ops, ns);
        }
        let by = by(&text, "MODULE");
        assert_eq!((by.iteration_count, by.no_iterations.as_deref()), (Some(3), None));
        assert_eq!((by.outside_iterations_count, by.total.op_count), (6, 18));
        let group = |path: &str| {
            by.groups.iter().find(|group| group.value.as_deref() == Some(path)).unwrap()
        };
        let of =
            |path: &str| (group(path).device_time_per_iteration_us, group(path).ops_per_iteration);
        assert_eq!(of("M"), (Some(12.0), Some(4.0)));
        assert_eq!((of("M.a"), of("M.x")), ((Some(3.0), Some(1.0)), (None, None)));
    }

    #[test]
    fn why_iterations_are_unknown_is_told() {
        let title = MODEL.lines().next().unwrap();
        let of = |ops: &str, column: &str| {
            let rows = ops.chars().map(|op| {
                let ns = if op == 'w' { 9000 } else { 1000 };
                format!("Op,tt_dnn_device,0,1,{ns},M.{op}\n")
            });
            by(&format!("{title}\n{}", rows.collect::<String>()), column)
        };
        let found = of("abc", "MODULE");
        assert_eq!(
            found.no_iterations.as_deref(),
            Some("no sequence of ops repeats in these rows")
        );
        let found = of("wabcabc", "MODULE");
        let expected =
            "2 repetitions of 3 ops have 40.0 % of the device time and 3 of 4 kinds of ops";
        assert_eq!((found.iteration_count, found.no_iterations.as_deref()), (None, Some(expected)));
        // A loop of one op is no pass.
        let found = of("abbbbc", "MODULE");
        let expected =
            "4 repetitions of 1 op have 66.7 % of the device time and 1 of 3 kinds of ops";
        assert_eq!((found.iteration_count, found.no_iterations.as_deref()), (None, Some(expected)));
        // Without modules, nothing tells layers from passes.
        let rows = "A,tt_dnn_device,0,1,5,\nB,tt_dnn_device,0,1,5,\nC,tt_dnn_device,0,1,5,\nB,tt_dnn_device,0,1,5,\nC,tt_dnn_device,0,1,5,\nD,tt_dnn_device,0,1,5,\n";
        let found = by(&format!("{title}\n{rows}"), "OP CODE");
        assert_eq!(
            found.no_iterations.as_deref(),
            Some("no sequence of ops repeats in these rows")
        );
    }

    #[test]
    fn a_column_that_some_files_lack_is_blank_there() {
        let text =
            "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],LOC\nA,tt_dnn_device,0,5,x\n";
        let other = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\nB,tt_dnn_device,0,7\n";
        let files =
            [text, other].map(|text| read_ops_csv_with(text.as_bytes(), "a.csv", None).unwrap());
        let options = PerfOptions { is_by_device: true, ..PerfOptions::default() };
        let report = PerfReport::new(files.into(), &options).unwrap();
        let by = ops_by_column(&report.rows, "LOC");
        let groups: Vec<_> =
            by.groups.iter().map(|group| (group.value.as_deref(), group.op_count)).collect();
        assert_eq!(groups, [(None, 1), (Some("x"), 1)]);
    }
}
