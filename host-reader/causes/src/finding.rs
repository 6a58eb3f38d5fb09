//! Findings: sentences with their figure, place, gain and advice.

use std::fmt::Write;

/// Cause of slowness that a rule found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// The host does not send ops fast enough.
    Host,
    /// Ops are short against the gap that every launch leaves.
    Dispatch,
    /// Ops ran on the host.
    HostOps,
    /// One core ends later than the others.
    Straggler,
    /// One core has more work than the others.
    UnevenWork,
    /// One chip takes longer for the same op than the others.
    SlowChip,
    /// Many ops are very short.
    SmallOps,
    /// The RISC that reads sets the pace.
    Reader,
    /// The RISC that reads waits for the latency of each read.
    Latency,
    /// The DRAM gives no more bytes.
    Dram,
    /// A link of the NoC carries no more bytes.
    Noc,
    /// Cores wait for a semaphore that another core signals.
    Semaphore,
    /// The matrix engine sets the pace, or one of the engines around it that nothing recorded tells
    /// apart from it.
    Compute,
    /// The unpacker sets the pace.
    Unpack,
    /// The packer sets the pace.
    Pack,
    /// The RISC that writes sets the pace.
    Writer,
    /// Reconfiguration and initialisation take time in each launch.
    Setup,
    /// Ops of one name take much of the time, far from their limit.
    OpGroup,
    /// Ops that only change the layout of tensors.
    Layout,
    /// Conversions of tensors that the next op undoes.
    RoundTrip,
    /// Ops that talk to other chips.
    Collective,
    /// Chips wait in collectives for the one that comes last.
    CollectiveSkew,
    /// Kernels are blocked, and nothing recorded tells by whom.
    Wait,
    /// Two stages take turns over a buffer that holds one block.
    Turns,
    /// No stage is slower than the next one by a margin.
    Balanced,
}

impl Cause {
    /// Returns true if it is that one stage of an op sets its pace, which waits tell.
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

    /// The name in tables and documents.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Dispatch => "dispatch",
            Self::HostOps => "host ops",
            Self::Straggler => "straggler",
            Self::UnevenWork => "uneven work",
            Self::SlowChip => "slow chip",
            Self::SmallOps => "small ops",
            Self::Reader => "reader",
            Self::Latency => "latency",
            Self::Dram => "DRAM",
            Self::Noc => "NoC",
            Self::Semaphore => "semaphore",
            Self::Compute => "compute",
            Self::Unpack => "unpack",
            Self::Pack => "pack",
            Self::Writer => "writer",
            Self::Setup => "setup",
            Self::OpGroup => "op group",
            Self::Layout => "layout",
            Self::RoundTrip => "round trip",
            Self::Collective => "collective",
            Self::CollectiveSkew => "collective skew",
            Self::Wait => "wait",
            Self::Turns => "turns",
            Self::Balanced => "balanced",
        }
    }
}

/// Time that a gain is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GainOf {
    /// From the first record of a chip to its last.
    Recording,
    /// Kernels of the ops that the finding is about.
    Ops,
    /// Kernels of all ops that the explanation is about.
    Kernels,
    /// The steady part, gaps included.
    Steady,
}

impl GainOf {
    /// The time in words, as in "at most 12 % of the kernels' time".
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Recording => "the whole time",
            Self::Ops => "these ops",
            Self::Kernels => "the kernels' time",
            Self::Steady => "the steady part",
        }
    }
}

/// Where a finding stands; empty fields say that it is about all.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// Number of the chip.
    pub chip_id: Option<u32>,
    /// Name of the op, as the host gave it.
    pub op: Option<String>,
    /// The program, encoded with its chip.
    pub run_host_id: Option<u32>,
    /// Launch of that program, from 1.
    pub launch: Option<u64>,
    /// Core on the NoC-0 grid, as column and row.
    pub core: Option<(u16, u16)>,
    /// The RISC.
    pub risc: Option<&'static str>,
    /// The zone.
    pub zone: Option<String>,
    /// Row of an ops CSV, as a spreadsheet counts.
    pub row: Option<u64>,
}

/// One sentence with its evidence.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Finding {
    /// The cause.
    pub cause: Cause,
    /// The sentence, with its figure.
    pub sentence: String,
    /// The figure that made the rule fire, in the unit of its threshold.
    pub figure: f64,
    /// Name of the threshold.
    pub threshold: &'static str,
    /// Where it stands.
    pub place: Place,
    /// Facts behind the sentence, as far as rows tell.
    pub why: Vec<String>,
    /// Rows of an ops CSV that it is about, those with most time first.
    pub rows: Vec<u64>,
    /// Time that could be gained at most, in nanoseconds; `None` if it cannot be told.
    pub gain_at_most_ns: Option<f64>,
    /// The same as a share.
    pub gain_at_most_percent: Option<f64>,
    /// Time that it is a share of.
    pub gain_of: GainOf,
    /// Advice.
    pub advice: String,
}

/// Question that a recording cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Untold {
    /// The question.
    pub question: &'static str,
    /// Reason why it has no answer.
    pub reason: String,
    /// How a recording is made that has it.
    pub record_with: &'static str,
}

impl Finding {
    /// Shows the gain as a share of another time.
    pub(crate) fn measure_against(&mut self, (whole_ns, of): (f64, GainOf)) {
        self.gain_at_most_percent = self.gain_at_most_ns.map(|ns| share(ns, whole_ns));
        self.gain_of = of;
    }
}

impl Place {
    /// The place in words; empty if it is everywhere.
    ///
    /// ```
    /// use causes::Place;
    /// let place = Place { chip_id: Some(0), core: Some((3, 4)), ..Place::default() };
    /// assert_eq!(place.to_string(), "chip 0, core (3,4)");
    /// ```
    fn text(&self) -> String {
        let mut text = String::new();
        let mut add = |part: String| {
            let comma = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{comma}{part}");
        };
        self.chip_id.into_iter().for_each(|chip| add(format!("chip {chip}")));
        match (&self.op, self.run_host_id) {
            (Some(op), _) => add(format!("op {op}")),
            (None, Some(id)) => add(format!("program {}", wire::RunHostId(id).base())),
            (None, None) => {}
        }
        self.launch.into_iter().for_each(|launch| add(format!("launch {launch}")));
        self.core.into_iter().for_each(|(x, y)| add(format!("core ({x},{y})")));
        self.risc.into_iter().for_each(|risc| add(risc.to_owned()));
        self.zone.iter().for_each(|zone| add(format!("zone {zone}")));
        self.row.into_iter().for_each(|row| add(format!("row {row}")));
        text
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

/// A part in percent of a whole; 0 of nothing.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole * 100.0 } else { 0.0 }
}
