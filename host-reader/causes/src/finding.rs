//! Findings: sentences about causes of slowness, each with a number, a location, the time that
//! could be saved, and advice.

use crate::{duration::duration, threshold::Threshold};
use reports::perf::OpReport;

reader::labelled! {
    /// Cause of slowness that a rule can find.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    #[non_exhaustive]
    pub enum Cause {
        /// The host does not send ops fast enough.
        Host = "host",
        /// The gaps before launches are long compared with the durations of the ops.
        Dispatch = "dispatch",
        /// Ops ran on the host.
        HostOps = "host ops",
        /// Calls built programs although they had some, because their arguments had changed.
        BuiltAgain = "built again",
        /// One core ends later than the others.
        Straggler = "straggler",
        /// One core has more work than the others.
        UnevenWork = "uneven work",
        /// One chip takes longer for the same op than the others.
        SlowChip = "slow chip",
        /// Many ops are very short.
        SmallOps = "small ops",
        /// The RISC that reads data limits the op's speed.
        Reader = "reader",
        /// The RISC that reads data often waits for its reads to finish before it starts the next
        /// ones.
        Latency = "latency",
        /// DRAM is at its peak bandwidth.
        Dram = "DRAM",
        /// Tensors of an op that DRAM limits would not fit into L1.
        FullL1 = "full L1",
        /// A link of the NoC is at its peak bandwidth.
        Noc = "NoC",
        /// Cores wait for a semaphore that another core signals.
        Semaphore = "semaphore",
        /// The matrix engine limits the op's speed, or another engine of the core that looks the
        /// same in the recording.
        Compute = "compute",
        /// The unpacker limits the op's speed.
        Unpack = "unpack",
        /// The packer limits the op's speed.
        Pack = "pack",
        /// The RISC that writes data limits the op's speed.
        Writer = "writer",
        /// A zone that the kernel's author named takes most of a RISC's time.
        KernelZone = "kernel zone",
        /// The kernels of one RISC take much longer than those of every other RISC.
        LongestRisc = "longest RISC",
        /// Within a launch, cores start long after the first one.
        StartSkew = "start skew",
        /// Reconfiguration and initialisation take time in each launch.
        Setup = "setup",
        /// The ops with one op code take much of the total time, and much longer than the minimum
        /// time for their shapes.
        OpGroup = "op group",
        /// Ops that only change the layout of tensors take time.
        Layout = "layout",
        /// Conversions of tensors are undone by the next op.
        RoundTrip = "round trip",
        /// Ops that communicate with other chips take time.
        Collective = "collective",
        /// In collective ops, chips wait for the chip that starts the op last.
        CollectiveSkew = "collective skew",
        /// Kernels are blocked, but the recording does not show which RISC blocks them.
        Wait = "wait",
        /// The recording itself takes time.
        Profiler = "profiler",
        /// Two stages work alternately instead of at the same time, because the buffer between them
        /// holds only one block of data.
        Turns = "turns",
        /// Several stages of the op (such as reading and computing) take about the same time.
        Balanced = "balanced",
    }
}

impl Cause {
    /// Returns true if the cause is that one stage limits the speed of an op. Rules derive such
    /// causes from records of waits.
    pub(crate) const fn is_of_stage(self) -> bool {
        matches!(
            self,
            Self::Reader
                | Self::Latency
                | Self::Semaphore
                | Self::Compute
                | Self::Unpack
                | Self::Pack
                | Self::Writer
                | Self::Turns
        )
    }
}

reader::labelled! {
    /// Time to which a gain is compared.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum GainOf {
        /// Time from a chip's first record to its last record.
        Recording = "the whole time",
        /// Kernel time of the ops in the finding.
        Ops = "these ops",
        /// Kernel time of all ops in the explanation.
        Kernels = "the kernels' time",
        /// Time of the steady part, including gaps.
        Steady = "the steady part",
        /// Time of the chip that runs the ops, which is done before another chip.
        Chip = "its chip's time",
    }
}

/// Location of a finding. A field with `None` does not restrict the location.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// Number of the chip.
    pub chip_id: Option<u32>,
    /// Name of the op, as reported by the host.
    pub op: Option<String>,
    /// Id of the program. The chip is part of the id.
    pub run_host_id: Option<u32>,
    /// Number of the launch among the launches of the program `run_host_id`, counted from 1.
    pub launch: Option<u64>,
    /// Core on the NoC-0 grid, as column and row.
    pub core: Option<(u16, u16)>,
    /// RISC of that core.
    pub risc: Option<&'static str>,
    /// Name of the zone.
    pub zone: Option<String>,
    /// Row of an ops CSV, numbered as in a spreadsheet.
    pub row: Option<u64>,
}

/// What a finding rests on: how many of which things were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Basis {
    /// Number of things that the finding's figure was computed from.
    pub count: u64,
    /// Number of things that there are.
    pub of: u64,
    /// What is counted, in the plural.
    pub what: &'static str,
}

impl Basis {
    pub(crate) fn launches(count: usize, of: usize) -> Self {
        Self { count: count as u64, of: of as u64, what: "launches" }
    }

    pub(crate) fn ops(count: usize, of: usize) -> Self {
        Self { count: count as u64, of: of as u64, what: "ops" }
    }
}

impl std::fmt::Display for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} {}", self.count, self.of, self.what)
    }
}

/// One cause as a sentence, with its evidence.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Finding {
    /// Cause.
    pub cause: Cause,
    /// Sentence that describes the cause and contains `figure`.
    pub sentence: String,
    /// Figure that has reached the threshold, in the threshold's unit.
    pub figure: f64,
    /// Name of the threshold that the figure has reached.
    pub threshold: &'static str,
    /// What the figure rests on.
    pub rests_on: Basis,
    /// Location of the cause.
    pub place: Place,
    /// Facts that support the sentence, one per element.
    pub why: Vec<String>,
    /// Rows of the ops CSV that the finding covers, sorted by descending time; empty if there is no
    /// CSV.
    pub rows: Vec<u64>,
    /// `place` and `rows` as text.
    #[serde(rename = "where")]
    pub location: String,
    /// Upper bound of the gain in nanoseconds; `None` if unknown.
    pub gain_at_most_ns: Option<f64>,
    /// Upper bound of the gain, in percent of the time that `gain_of` names.
    pub gain_at_most_percent: Option<f64>,
    /// Time to which the gain is compared.
    pub gain_of: GainOf,
    /// Upper bound of the gain in percent of all explained time, which is the steady part or, if
    /// there is none, the whole time. `None` if unknown, or if `gain_of` is already this time.
    pub gain_at_most_percent_of_all: Option<f64>,
    /// Position, counted from 1, of another finding in the list of findings: the finding whose gain
    /// completely includes this gain. `None` if there is no such finding.
    pub part_of: Option<usize>,
    /// Chips that run the ops of the finding; empty if it is of all chips, or if they are unknown.
    #[serde(skip)]
    pub(crate) chips: Vec<u32>,
    /// True if the gain comes only from ops that rearrange tensors.
    #[serde(skip)]
    pub(crate) is_in_layout: bool,
    /// Suggested change.
    pub advice: String,
}

/// Question about a recording that cannot be answered, because necessary records are missing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Untold {
    /// Unanswered question.
    pub question: &'static str,
    /// Reason why the answer is missing.
    pub reason: String,
    /// Recording mode that would provide the answer.
    pub record_with: &'static str,
}

impl Finding {
    /// Creates the finding of a cause whose figure has reached a threshold. The gain is left
    /// unknown.
    pub(crate) fn new(
        cause: Cause,
        (threshold, figure): (Threshold, f64),
        sentence: String,
        place: Place,
        advice: impl Into<String>,
        rests_on: Basis,
    ) -> Self {
        Self {
            cause,
            sentence,
            figure,
            threshold: threshold.name,
            rests_on,
            place,
            why: Vec::new(),
            rows: Vec::new(),
            location: String::new(),
            gain_at_most_ns: None,
            gain_at_most_percent: None,
            gain_of: GainOf::Ops,
            gain_at_most_percent_of_all: None,
            part_of: None,
            chips: Vec::new(),
            is_in_layout: false,
            advice: advice.into(),
        }
    }

    /// Sets the upper bound of the gain, and the time to which the gain is compared.
    pub(crate) fn with_gain(
        mut self,
        at_most_ns: impl Into<Option<f64>>,
        whole: (f64, GainOf),
    ) -> Self {
        self.gain_at_most_ns = at_most_ns.into();
        self.measure_against(whole);
        self
    }

    /// Returns the gain as text: the time that could be saved, and this time as a percentage of
    /// other times. `all` names the time that the explanation covers.
    pub(crate) fn gain_text(&self, all: GainOf) -> String {
        let Some((ns, percent)) = self.gain_at_most_ns.zip(self.gain_at_most_percent) else {
            return match self.cause {
                Cause::Profiler => "nothing in the program: recording takes this time".to_owned(),
                _ => "not known".to_owned(),
            };
        };
        let all_percent = self.gain_at_most_percent_of_all.map_or_else(String::new, |percent| {
            let percent = match percent {
                0.0 => "0.0".to_owned(),
                small if small < 0.1 => "less than 0.1".to_owned(),
                percent => format!("{percent:.1}"),
            };
            format!("; {percent} % of {}", all.label())
        });
        let part = self.part_of.map_or_else(String::new, |number| format!(" (part of {number})"));
        format!(
            "at most {}{part}, {percent:.1} % of {}{all_percent}",
            duration(ns),
            self.gain_of.label()
        )
    }

    /// Lowers the upper bound of the gain to a part of it, without changing which percentage of the
    /// compared time it is: that time is taken to shrink with it.
    pub(crate) fn with_part_of_gain(mut self, part: f64) -> Self {
        self.gain_at_most_ns = self.gain_at_most_ns.map(|ns| ns * part);
        self
    }

    /// Lowers the upper bound of the gain.
    pub(crate) fn limit_gain(&mut self, at_most_ns: f64) {
        if let Some(ns) = self.gain_at_most_ns.filter(|ns| *ns > at_most_ns) {
            self.gain_at_most_percent =
                self.gain_at_most_percent.map(|percent| percent * at_most_ns / ns);
            self.gain_at_most_ns = Some(at_most_ns);
        }
    }

    /// Changes the time to which the gain is compared.
    pub(crate) fn measure_against(&mut self, (whole_ns, of): (f64, GainOf)) {
        self.gain_at_most_percent = self.gain_at_most_ns.map(|ns| percent(ns, whole_ns));
        self.gain_of = of;
    }
}

impl Place {
    /// Returns the location of a row of an ops CSV.
    pub(crate) fn from_row(row: &OpReport) -> Self {
        Self { op: Some(row.raw_op_code.to_string()), row: Some(row.id), ..Self::default() }
    }

    /// Formats the location; empty if no field is set. If `self.row` is the first of several
    /// `rows`, the text lists all of these rows.
    ///
    /// ```
    /// use causes::Place;
    /// let place = Place { chip_id: Some(0), core: Some((3, 4)), ..Place::default() };
    /// assert_eq!(place.to_string(), "chip 0, core (3,4)");
    /// ```
    pub(crate) fn text(&self, rows: &[u64]) -> String {
        let op = self.op.as_ref().map(|op| format!("op {op}"));
        // Launches are counted by program, and several programs may run the same op.
        let is_needed = op.is_none() || self.launch.is_some();
        let program = self.run_host_id.filter(|_| is_needed);
        let program = program.map(|id| format!("program {}", wire::RunHostId(id).base()));
        let row = match rows {
            [first, _, ..] if self.row == Some(*first) => {
                let numbers: Vec<String> = rows.iter().map(u64::to_string).collect();
                Some(format!("rows {}", numbers.join(", ")))
            }
            _ => self.row.map(|row| format!("row {row}")),
        };
        let parts = [
            self.chip_id.map(|chip| format!("chip {chip}")),
            op,
            program,
            self.launch.map(|launch| format!("launch {launch}")),
            self.core.map(|(x, y)| format!("core ({x},{y})")),
            self.risc.map(str::to_owned),
            self.zone.as_ref().map(|zone| format!("zone {zone}")),
            row,
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(&[]))
    }
}

/// Returns `part` in percent of `whole`; 0 if the whole is 0.
pub(crate) fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole * 100.0 } else { 0.0 }
}
