//! Counters of one launch, and statistics of metrics over the cores that reported counters.

use crate::counters::{
    CounterArch,
    metrics::{Metric, is_l1_client_title, l1_client_metric, metrics},
    reader::CounterReader,
    sample::Sample,
};
use crate::peak::MOST_PERCENT;
use reader::mesh::Noc0Coord;
use std::collections::{BTreeMap, BTreeSet};
use wire::Risc;

/// Counters that are averaged over the whole grid, each with the header of its column.
const GRID_COUNTERS: [(&str, &str); 3] = [
    ("SFPU_COUNTER", "Avg SFPU util on full grid (%)"),
    ("FPU_COUNTER", "Avg FPU util on full grid (%)"),
    ("MATH_COUNTER", "Avg Math util on full grid (%)"),
];

/// Counters of one launch, by core and counting unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpCounters {
    readers: BTreeMap<(Noc0Coord, Unit), CounterReader>,
    /// Sum over all cores of each counter of [`GRID_COUNTERS`].
    grid_sums: [Option<u128>; 3],
    /// Duration of the launch's kernels; `None` if unknown.
    kernel_cycles: Option<u64>,
    /// Cores on which kernels of the launch ran, but none that computes.
    without_compute: BTreeSet<Noc0Coord>,
}

/// Counters that counted for more than this many times the kernels of their launch counted at another
/// time. Counters that are read in repetitions of a workload belong to launches of other lengths.
const MOST_OF_KERNEL: f64 = 2.0;

/// Cycles that counters may count beyond [`MOST_OF_KERNEL`]: they are started and read by firmware.
const AROUND_KERNEL_CYCLES: f64 = 10_000.0;

/// Part of the kernels below which a share of cycles says little about the launch.
const LEAST_OF_KERNEL: f64 = 0.1;

/// Unit whose counters are evaluated together: a whole core, with one unit for each RISC that read
/// counters, or one of the four parts of a Quasar core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Risc(Risc),
    Neo(u8),
}

impl Unit {
    /// Returns the unit of a reading.
    ///
    /// On Quasar, DM 0 reads the counters of all four parts. It stores the records of a part in the
    /// buffers of the part's four TRISCs, in any buffer that has room.
    const fn new(risc: Risc, neo: Option<u8>) -> Self {
        match neo {
            Some(neo) if risc.is_quasar() => Self::Neo(neo),
            _ => Self::Risc(risc),
        }
    }
}

/// Inputs of the metrics and grid means, other than the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CounterScale {
    /// Architecture; `None` if unknown. Some L1 ports serve other units on Blackhole than on
    /// Wormhole, and each core of a Quasar has four parts that count separately.
    pub arch: Option<CounterArch>,
    /// Number of cores in the whole grid.
    pub max_compute_cores: Option<u32>,
    /// Kernel duration of the launch in cycles.
    pub kernel_cycles: Option<u64>,
}

/// Statistics of a metric over the cores that reported the counters of the metric.
///
/// ```
/// use analysis::counters::{MetricDoubt, OpCounters, Sample};
/// use reader::mesh::Noc0Coord;
/// let mut counters = OpCounters::default();
/// // FPU and SFPU together were busy for 60 cycles, the math pipe for 90.
/// for (name, count) in [("FPU_COUNTER", 50), ("SFPU_COUNTER", 10), ("MATH_COUNTER", 90)] {
///     let sample = Sample { name: name.into(), neo: None, count, cycles: Some(100) };
///     counters.add(Noc0Coord { x: 1, y: 2 }, wire::Risc::Brisc, sample);
/// }
/// let overlap = counters.summaries(false).find(|one| one.metric.label() == "FPU SFPU Overlap");
/// let overlap = overlap.unwrap();
/// assert_eq!((overlap.core_count, overlap.statistics), (0, None));
/// assert_eq!(overlap.doubt, Some(MetricDoubt::Contradiction));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricSummary {
    /// Metric.
    pub metric: &'static Metric,
    /// Number of cores, or parts of cores, with a value.
    pub core_count: usize,
    /// Statistics over these cores; `None` if there are none.
    pub statistics: Option<MetricStatistics>,
    /// Reason to doubt the statistics.
    pub doubt: Option<MetricDoubt>,
    /// Statistics as TT-Metal computes them: an impossible value is clamped, and counts.
    pub clamped: MetricStatistics,
}

/// Statistics of the values of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricStatistics {
    /// Smallest value.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Largest value.
    pub max: f64,
    /// Mean.
    pub mean: f64,
}

reader::labelled! {
    /// Reason to doubt a metric.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum MetricDoubt {
        /// The counter counted for more cycles than there were, by more than 5 %.
        TooMany = "more than 100 % of the cycles, so a counter or its cycles are wrong",
        /// A counter of the metric counted for more cycles than there were, by more than 5 %.
        DoubtfulCounter = "one of its counters counted for more than 100 % of the cycles",
        /// The counters of at least one core contradict each other, so that the core has no value.
        Contradiction = "its counters contradict each other on cores that are left out",
        /// The counters of at least one core counted for much longer than the launch's kernels ran, so
        /// that the core has no value.
        OtherTime = "its counters counted for far longer than the kernels ran on cores that are left out",
        /// The counters of at least one core counted for less than a tenth of the kernels' time, so that the
        /// core has no value.
        ShortTime = "its counters counted for less than a tenth of the kernels' time on cores that are left out",
        /// On at least one core ran no kernel that computes, so that the core has no value of its engines:
        /// such kernels start and stop the counters.
        NoCompute = "no kernel that computes ran on cores that are left out",
    }
}

/// Mean utilisation of a unit over the whole grid, in percent. The value of a core that did not run
/// the launch is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridMean {
    /// Header of the mean's column.
    pub title: &'static str,
    /// Mean in percent.
    pub percent: f64,
}

impl MetricDoubt {
    /// Returns true if counters did not count while the launch's kernels computed.
    #[must_use]
    pub const fn is_of_time(self) -> bool {
        matches!(self, Self::OtherTime | Self::ShortTime | Self::NoCompute)
    }
}

impl MetricSummary {
    /// Names of the statistics, in the order of their columns.
    pub const STATISTICS: [&str; 4] = ["Min", "Median", "Max", "Avg"];

    /// Returns the statistics of the cores that have a value; `None` if no core read the counters.
    fn new(metric: &'static Metric, counters: &OpCounters, is_blackhole: bool) -> Option<Self> {
        let (mut values, mut possible) = (Vec::new(), Vec::new());
        let (mut uses_doubtful, mut left_out) = (false, None::<MetricDoubt>);
        for ((core, _), reader) in &counters.readers {
            let Some(value) = metric.value(reader, is_blackhole) else { continue };
            values.push(value);
            uses_doubtful |= metric.uses_doubtful_counter(reader);
            let doubt = counters.time_doubt(metric, *core, reader);
            let doubt = doubt
                .or_else(|| metric.is_contradiction(reader).then_some(MetricDoubt::Contradiction));
            match doubt {
                // The latest of the doubts says most.
                Some(_) => left_out = left_out.max(doubt),
                None => possible.push(value),
            }
        }
        let clamped = MetricStatistics::from_values(&values)?;
        let statistics = MetricStatistics::from_values(&possible);
        let doubt = if left_out.is_some() {
            left_out
        } else if metric.is_share_of_cycles() && clamped.max > MOST_PERCENT {
            Some(MetricDoubt::TooMany)
        } else {
            uses_doubtful.then_some(MetricDoubt::DoubtfulCounter)
        };
        Some(Self { metric, core_count: possible.len(), statistics, doubt, clamped })
    }
}

impl MetricStatistics {
    /// Returns the statistics in the order of [`MetricSummary::STATISTICS`].
    #[must_use]
    pub const fn values(&self) -> [f64; 4] {
        [self.min, self.median, self.max, self.mean]
    }

    /// Returns the statistics of the values; `None` if there are no values.
    fn from_values(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let last = sorted.len().saturating_sub(1);
        let [low, high] =
            [last / 2, sorted.len() / 2].map(|at| sorted.get(at).copied().unwrap_or(max));
        let median = f64::midpoint(low, high);
        #[expect(clippy::cast_precision_loss, reason = "there are few cores")]
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Self { min, median, max, mean })
    }
}

impl OpCounters {
    /// Returns true if no counter was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    /// Adds a reading. The reading replaces an earlier reading of the same counter of the same
    /// unit. A reading over 0 cycles is ignored, because the counter was never started.
    pub fn add(&mut self, core: Noc0Coord, risc: Risc, sample: Sample) {
        if sample.cycles == Some(0) {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "upstream computes in floats")]
        let (count, cycles) = (sample.count as f64, sample.cycles.unwrap_or(0) as f64);
        for ((counter, _), total) in GRID_COUNTERS.iter().zip(&mut self.grid_sums) {
            if *counter == sample.name {
                *total = Some(total.unwrap_or(0).saturating_add(sample.count.into()));
            }
        }
        let reader = self.readers.entry((core, Unit::new(risc, sample.neo))).or_default();
        reader.record(sample.name.into_owned(), count, cycles);
    }

    /// Sets the duration of the launch's kernels, with which the cycles of the counters are compared.
    pub const fn set_kernel_cycles(&mut self, cycles: Option<u64>) {
        self.kernel_cycles = cycles;
    }

    /// Notes that kernels of the launch ran on a core, but none that computes: engines of the core have no
    /// metrics then.
    pub fn note_no_compute(&mut self, core: Noc0Coord) {
        self.without_compute.insert(core);
    }

    /// Notes that no kernel of the launch computes, on any core.
    ///
    /// ```
    /// use analysis::counters::{MetricDoubt, OpCounters, Sample};
    /// use reader::mesh::Noc0Coord;
    /// let mut counters = OpCounters::default();
    /// let sample = Sample { name: "FPU_COUNTER".into(), neo: None, count: 0, cycles: Some(261) };
    /// counters.add(Noc0Coord { x: 1, y: 2 }, wire::Risc::Brisc, sample);
    /// assert_eq!(counters.summaries(false).next().unwrap().statistics.unwrap().mean, 0.0);
    /// counters.note_no_compute_anywhere();
    /// let found = counters.summaries(false).next().unwrap();
    /// assert_eq!((found.statistics, found.doubt), (None, Some(MetricDoubt::NoCompute)));
    /// ```
    pub fn note_no_compute_anywhere(&mut self) {
        self.without_compute.extend(self.readers.keys().map(|(core, _)| *core));
    }

    /// Returns why the counters of a core say nothing about the launch's engines or its time; `None` if
    /// they do, or if this is unknown.
    fn time_doubt(
        &self,
        metric: &Metric,
        core: Noc0Coord,
        reader: &CounterReader,
    ) -> Option<MetricDoubt> {
        if metric.is_of_engines() && self.without_compute.contains(&core) {
            return Some(MetricDoubt::NoCompute);
        }
        #[expect(clippy::cast_precision_loss, reason = "a kernel takes less than 2^53 cycles")]
        let kernel =
            self.kernel_cycles.map(|cycles| cycles as f64).filter(|cycles| *cycles > 0.0)?;
        match metric.most_cycles(reader) {
            cycles if cycles <= 0.0 => None,
            cycles if cycles < kernel * LEAST_OF_KERNEL => Some(MetricDoubt::ShortTime),
            cycles if cycles > kernel * MOST_OF_KERNEL + AROUND_KERNEL_CYCLES => {
                Some(MetricDoubt::OtherTime)
            }
            _ => None,
        }
    }

    /// Adds the counters read by other RISCs. The records of one part of a core may be spread over
    /// the buffers of several RISCs.
    pub fn join(&mut self, other: &Self) {
        for (key, reader) in &other.readers {
            self.readers.entry(*key).or_default().join(reader);
        }
        for (own, other) in self.grid_sums.iter_mut().zip(other.grid_sums) {
            *own = own.map_or(other, |own| Some(own.saturating_add(other.unwrap_or(0))));
        }
        self.without_compute.extend(&other.without_compute);
    }

    /// Returns the statistics of each metric whose counters were read on at least one core.
    ///
    /// The metrics are in the order of their columns. Metrics of Quasar's L1 clients follow, sorted
    /// by name.
    pub fn summaries(&self, is_blackhole: bool) -> impl Iterator<Item = MetricSummary> + '_ {
        let names = self.readers.values().flat_map(CounterReader::names);
        let clients: BTreeSet<&str> = names.filter(|name| is_l1_client_title(name)).collect();
        let clients = clients.into_iter().filter_map(l1_client_metric);
        metrics()
            .iter()
            .chain(clients)
            .filter_map(move |metric| MetricSummary::new(metric, self, is_blackhole))
    }

    /// Returns the means over the whole grid. A mean is left out if its counter was not read, or if
    /// `scale` lacks an input of the mean.
    pub fn grid_means(&self, scale: CounterScale) -> impl Iterator<Item = GridMean> + '_ {
        let units = scale.arch.map_or(1, CounterArch::unit_count);
        let cores = scale.max_compute_cores.filter(|&cores| cores > 0);
        let cores = cores.map(|cores| f64::from(cores) * f64::from(units));
        let cycles = scale.kernel_cycles.filter(|&cycles| cycles > 0);
        GRID_COUNTERS.into_iter().zip(self.grid_sums).filter_map(move |((_, title), total)| {
            #[expect(clippy::cast_precision_loss, reason = "a kernel takes less than 2^53 cycles")]
            let percent = total? as f64 / cores? / cycles? as f64 * 100.0;
            Some(GridMean { title, percent })
        })
    }

    /// Returns the headers of all possible columns, in order, without the columns of Quasar's L1
    /// clients. Those columns come last, sorted by [name](is_l1_client_title).
    ///
    /// # Compatibility
    /// `ops_perf_results.csv`.
    pub fn titles() -> impl Iterator<Item = String> {
        metrics()
            .iter()
            .flat_map(|metric| MetricSummary::STATISTICS.map(|name| metric.title(name)))
            .chain(GRID_COUNTERS.map(|(_, title)| title.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORES: [Noc0Coord; 2] = [Noc0Coord { x: 1, y: 2 }, Noc0Coord { x: 2, y: 2 }];

    fn sample(name: &'static str, neo: u8, count: u64) -> Sample {
        Sample { name: name.into(), neo: Some(neo), count, cycles: Some(200) }
    }

    fn values_of(summary: &MetricSummary) -> [f64; 4] {
        assert_eq!((summary.doubt, Some(summary.clamped)), (None, summary.statistics));
        summary.clamped.values()
    }

    #[test]
    fn contradictory_cores_are_left_out_and_doubt_passes_on() {
        let mut counters = OpCounters::default();
        // FPU and SFPU are both busy for 20 of 200 cycles on the first core; on the second core, the
        // math pipe is busy for longer than both together, and for more than all cycles.
        for (core, counts) in CORES.into_iter().zip([[60, 40, 80], [100, 20, 225]]) {
            let names = ["FPU_COUNTER", "SFPU_COUNTER", "MATH_COUNTER"];
            for (name, count) in names.into_iter().zip(counts) {
                counters.add(core, Risc::Brisc, sample(name, 0, count));
            }
        }
        for (core, count) in CORES.into_iter().zip([100, 200]) {
            counters.add(core, Risc::Brisc, sample("UNPACK0_BUSY_THREAD0", 0, count));
        }
        let found = |label: &str| {
            let found = counters.summaries(false).find(|one| one.metric.label() == label).unwrap();
            (found.core_count, found.statistics.map(|of| of.values()), found.doubt)
        };
        let doubt = MetricDoubt::Contradiction;
        assert_eq!(found("FPU SFPU Overlap"), (1, Some([10.0; 4]), Some(doubt)));
        let clamped = counters.summaries(false).find(|one| one.doubt == Some(doubt)).unwrap();
        assert_eq!(clamped.clamped.values(), [0.0, 5.0, 10.0, 5.0]);
        let expected = Some([40.0, 76.25, 112.5, 76.25]);
        assert_eq!(found("MATH Util"), (2, expected, Some(MetricDoubt::TooMany)));
        assert_eq!(found("FPU Util"), (2, Some([30.0, 40.0, 50.0, 40.0]), None));
        let expected = Some([0.8, 0.9625, 1.125, 0.9625]);
        let doubt = MetricDoubt::DoubtfulCounter;
        assert_eq!(found("Compute-to-Unpack Ratio"), (2, expected, Some(doubt)));
    }

    #[test]
    fn counters_of_another_time_than_the_launch_give_no_share_of_it() {
        let mut counters = OpCounters::default();
        let sample = |cycles| Sample { cycles: Some(cycles), ..sample("FPU_COUNTER", 0, 50) };
        counters.add(CORES[0], Risc::Brisc, sample(20_000));
        counters.add(CORES[1], Risc::Brisc, sample(2_282_460_476));
        let found = |counters: &OpCounters| {
            let found = counters.summaries(false).next().unwrap();
            (found.core_count, found.statistics.map(|of| of.max), found.doubt)
        };
        assert_eq!(found(&counters), (2, Some(0.25), None), "the launch is not known");
        counters.set_kernel_cycles(Some(30_000));
        assert_eq!(found(&counters), (1, Some(0.25), Some(MetricDoubt::OtherTime)));
        counters.set_kernel_cycles(Some(2_000_000_000));
        // 50 of 2,282,460,476 cycles on the other core, in percent.
        let other = 5_000.0 / 2_282_460_476.0;
        assert_eq!(found(&counters), (1, Some(other), Some(MetricDoubt::ShortTime)));
    }

    #[test]
    fn a_core_without_a_kernel_that_computes_has_no_metric_of_its_engines() {
        let mut counters = OpCounters::default();
        for (core, count) in CORES.into_iter().zip([50, 0]) {
            for name in ["FPU_COUNTER", "THREAD_STALLS_0", "L1_0_NOC_RING0_OUTGOING_0"] {
                counters.add(core, Risc::Brisc, sample(name, 0, count));
            }
        }
        counters.set_kernel_cycles(Some(200));
        counters.note_no_compute(CORES[1]);
        let found = |label| {
            let found = counters.summaries(false).find(|one| one.metric.label() == label).unwrap();
            (found.core_count, found.statistics.map(|of| of.min), found.doubt)
        };
        // 50 of 200 cycles on the first core, and not a mean with the second.
        let engines = (1, Some(25.0), Some(MetricDoubt::NoCompute));
        assert_eq!([found("FPU Util"), found("Thread 0 Stall Rate")], [engines; 2]);
        let noc =
            counters.summaries(false).filter(|one| one.metric.label().starts_with("NOC Ring 0"));
        let noc: Vec<_> = noc.map(|one| (one.core_count, one.doubt)).collect();
        assert!(!noc.is_empty() && noc.iter().all(|of| *of == (2, None)), "{noc:?}");
    }

    #[test]
    fn statistics_are_over_the_cores_that_reported() {
        let mut counters = OpCounters::default();
        counters.add(CORES[0], Risc::Brisc, sample("FPU_COUNTER", 0, 50));
        counters.add(CORES[1], Risc::Brisc, sample("FPU_COUNTER", 0, 100));
        let summaries: Vec<_> = counters.summaries(false).collect();
        assert_eq!(summaries.len(), 1);
        assert_eq!(summaries[0].metric.title("Min"), "FPU Util Min (%)");
        assert_eq!(
            (summaries[0].core_count, values_of(&summaries[0])),
            (2, [25.0, 37.5, 50.0, 37.5])
        );
        let scale = CounterScale {
            max_compute_cores: Some(3),
            kernel_cycles: Some(400),
            ..Default::default()
        };
        let means: Vec<_> = counters.grid_means(scale).collect();
        assert_eq!(means, [GridMean { title: "Avg FPU util on full grid (%)", percent: 12.5 }]);
        assert_eq!(counters.grid_means(CounterScale::default()).count(), 0);
    }

    #[test]
    fn parts_of_a_core_are_read_apart() {
        let mut counters = OpCounters::default();
        for neo in 0..4 {
            let risc = Risc::QuasarNeo0Trisc0;
            counters.add(CORES[0], risc, sample("FPU_COUNTER", neo, 20 * u64::from(neo)));
        }
        let summary = counters.summaries(false).next().unwrap();
        assert_eq!((summary.core_count, values_of(&summary)), (4, [0.0, 15.0, 30.0, 15.0]));
        // 120 counts in 600 cycles of 2 cores with 4 parts each: 120 / (600 x 8).
        let scale = CounterScale {
            arch: Some(CounterArch::Quasar),
            max_compute_cores: Some(2),
            kernel_cycles: Some(600),
        };
        let means: Vec<_> = counters.grid_means(scale).map(|mean| mean.percent).collect();
        assert_eq!(means, [2.5]);
    }

    #[test]
    fn records_of_a_part_are_one_whichever_trisc_had_room_for_them() {
        let mut counters = OpCounters::default();
        for (risc, name, count) in [
            (Risc::QuasarNeo2Trisc0, "FPU_COUNTER", 30),
            (Risc::QuasarNeo2Trisc1, "SFPU_COUNTER", 60),
            (Risc::QuasarNeo2Trisc3, "MATH_COUNTER", 80),
        ] {
            counters.add(CORES[0], risc, sample(name, 2, count));
        }
        // FPU and SFPU were both busy for 10 of 200 cycles.
        let overlap =
            counters.summaries(false).find(|one| one.metric.label() == "FPU SFPU Overlap");
        assert_eq!(overlap.map(|one| (one.core_count, values_of(&one)[3])), Some((1, 5.0)));
        // Joining the lanes one after the other, as for a readout, gives the same result.
        let mut joined = OpCounters::default();
        for (risc, name, count) in [
            (Risc::QuasarNeo2Trisc0, "FPU_COUNTER", 30),
            (Risc::QuasarNeo2Trisc1, "SFPU_COUNTER", 60),
            (Risc::QuasarNeo2Trisc3, "MATH_COUNTER", 80),
        ] {
            let mut lane_counters = OpCounters::default();
            lane_counters.add(CORES[0], risc, sample(name, 2, count));
            joined.join(&lane_counters);
        }
        assert_eq!(joined, counters);
        // On a Tensix core, each RISC that reads counters is one unit. The bits next to the counter
        // number are ignored.
        let mut counters = OpCounters::default();
        counters.add(CORES[0], Risc::Brisc, sample("FPU_COUNTER", 1, 50));
        counters.add(CORES[0], Risc::Brisc, sample("SFPU_COUNTER", 2, 50));
        assert!(counters.summaries(false).all(|one| one.core_count == 1));
    }

    #[test]
    fn l1_clients_have_a_rate_or_a_mean_of_requests_under_way() {
        let mut counters = OpCounters::default();
        for (neo, count) in [(0, 50), (1, 100)] {
            let risc = Risc::QuasarNeo0Trisc0;
            for name in [
                "L1_CLIENT_UNPACK0_IF0_LANE0_PENDING_REQS_CARRY",
                "L1_CLIENT_PACK0_IF1_LANE3_PENDING_REQS_CARRY",
                "L1_CLIENT_PACK1_IF0_LANE3_PENDING_REQS_CARRY",
                "L1_CLIENT_THCON_ORDER_FIFO_ACTIVE",
                "L1_CLIENT_INVALID_8",
            ] {
                counters.add(CORES[0], risc, sample(name, neo, count));
            }
            counters.add(CORES[0], risc, sample("FPU_COUNTER", neo, count));
        }
        let title = |one: &MetricSummary| (one.metric.title("Avg"), values_of(one)[3]);
        let found: Vec<_> = counters.summaries(false).map(|one| title(&one)).collect();
        // On average 0.375 counts per cycle, times 64, or times 128 for packer 0.
        let expected = [
            ("FPU Util Avg (%)", 37.5),
            ("L1_CLIENT_PACK0_IF1_LANE3_PENDING_REQS_CARRY Mean Outstanding Avg (ratio)", 48.0),
            ("L1_CLIENT_PACK1_IF0_LANE3_PENDING_REQS_CARRY Mean Outstanding Avg (ratio)", 24.0),
            ("L1_CLIENT_THCON_ORDER_FIFO_ACTIVE Rate Avg (%)", 37.5),
            ("L1_CLIENT_UNPACK0_IF0_LANE0_PENDING_REQS_CARRY Mean Outstanding Avg (ratio)", 24.0),
        ];
        assert_eq!(found, expected.map(|(title, mean)| (title.to_owned(), mean)));
    }

    #[test]
    fn there_are_as_many_columns_as_upstream_has() {
        let titles: Vec<_> = OpCounters::titles().collect();
        assert_eq!(titles.len(), 659);
        assert_eq!(titles.iter().filter(|title| title.ends_with("(ratio)")).count(), 15 * 4);
        assert_eq!(titles.iter().collect::<BTreeSet<_>>().len(), 659);
    }
}
