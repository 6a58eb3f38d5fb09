//! Hardware counters of ops as columns: 164 metrics, over all cores that reported.
//!
//! | question | open |
//! |---|---|
//! | what did one core's counters show? | [`reader`] |
//! | how is a metric computed? | [`formula`] |
//! | which metrics are there, and in which order? | [`metrics`] |
//!
//! # Compatibility
//! Rows with timer id 9090 of `profile_log_device.csv`, as upstream's release 0.81.1 writes
//! them and as its `tt_llk_perf` and `perf_counter_analysis.py` show them. Metrics of
//! Quasar's `L1_CLIENT_*` selections are not made.

mod formula;
mod metrics;
mod ports;
mod reader;

use super::{
    device_op::Cells,
    value::{Value, float_text},
};
use ::reader::mesh::Noc0Coord;
use metrics::{METRICS, Metric};
use reader::CounterReader;
use std::collections::BTreeMap;
use wire::Risc;

/// The timer id of rows of counters.
pub(super) const COUNTER_ID: u16 = 9090;

/// Counters whose mean over the whole grid is shown, with the title of that column.
const OF_GRID: [(&str, &str); 3] = [
    ("SFPU_COUNTER", "Avg SFPU util on full grid (%)"),
    ("FPU_COUNTER", "Avg FPU util on full grid (%)"),
    ("MATH_COUNTER", "Avg Math util on full grid (%)"),
];

/// The counters of one op, by the core and RISC that read them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OpCounters {
    readers: BTreeMap<(Noc0Coord, Risc), CounterReader>,
    /// Sum over all cores of each counter of [`OF_GRID`].
    of_grid: [Option<f64>; 3],
}

/// Inputs of the figures besides the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CounterScale {
    pub(super) is_blackhole: bool,
    /// Cores of the whole grid.
    pub(super) max_compute_cores: Option<u32>,
    /// How long the op's kernels took.
    pub(super) kernel_cycles: Option<u64>,
}

impl OpCounters {
    /// Adds the meta data of a row; `false` if it names no counter and value.
    pub(super) fn enter(&mut self, core: Noc0Coord, risc: Risc, metadata: &[u8]) -> bool {
        let Some((name, count, cycles)) = counter_of(metadata) else { return false };
        for ((counter, _), total) in OF_GRID.iter().zip(&mut self.of_grid) {
            if *counter == name {
                *total = Some(total.unwrap_or(0.0) + count);
            }
        }
        self.readers.entry((core, risc)).or_default().enter(name, count, cycles);
        true
    }

    /// Adds the counters of other cores.
    pub(super) fn join(&mut self, other: &Self) {
        self.readers.extend(other.readers.iter().map(|(key, reader)| (*key, reader.clone())));
        for (own, other) in self.of_grid.iter_mut().zip(other.of_grid) {
            *own = own.map_or(other, |own| Some(own + other.unwrap_or(0.0)));
        }
    }

    /// Adds the cells of all metrics that some core has the counters for.
    pub(super) fn enter_cells(&self, cells: &mut Cells, scale: CounterScale) {
        for metric in &METRICS {
            let of_reader = |reader| metric.value(reader, scale.is_blackhole);
            let values: Vec<f64> = self.readers.values().filter_map(of_reader).collect();
            enter_statistics(cells, metric, &values);
        }
    }

    /// Adds the means over the whole grid, cores without the op included.
    pub(super) fn enter_grid_cells(&self, cells: &mut Cells, scale: CounterScale) {
        let cores = scale.max_compute_cores.filter(|&cores| cores > 0);
        let (Some(cores), Some(cycles)) = (cores, scale.kernel_cycles.filter(|&c| c > 0)) else {
            return;
        };
        for ((_, title), total) in OF_GRID.into_iter().zip(self.of_grid) {
            #[expect(clippy::cast_precision_loss, reason = "a kernel takes less than 2^53 cycles")]
            let percent = total.map(|total| total / f64::from(cores) / cycles as f64 * 100.0);
            if let Some(percent) = percent {
                cells.insert(title.into(), float_text(percent));
            }
        }
    }
}

/// Name, count, and the cycles that it was counted over.
fn counter_of(metadata: &[u8]) -> Option<(String, f64, f64)> {
    let text = String::from_utf8_lossy(metadata).replace(';', ",").replace('\'', "\"");
    let value: Value = serde_json::from_str(&text).ok()?;
    let Some(Value::Text(name)) = value.get("counter type") else { return None };
    let number = |key| value.get(key).and_then(Value::float);
    Some((name.clone(), number("value")?, number("ref cnt").unwrap_or(0.0)))
}

fn enter_statistics(cells: &mut Cells, metric: &Metric, values: &[f64]) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else { return };
    let last = sorted.len().saturating_sub(1);
    let [low, high] = [last / 2, sorted.len() / 2].map(|at| sorted.get(at).copied().unwrap_or(max));
    let median = f64::midpoint(low, high);
    #[expect(clippy::cast_precision_loss, reason = "there are few cores")]
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    for (statistic, number) in STATISTICS.into_iter().zip([min, median, max, mean]) {
        cells.insert(metric.title(statistic).into(), float_text(number));
    }
}

const STATISTICS: [&str; 4] = ["Min", "Median", "Max", "Avg"];

/// All columns that there can be, in order.
pub(super) fn counter_titles() -> impl Iterator<Item = String> {
    let of_metric = |metric: &'static Metric| STATISTICS.map(|statistic| metric.title(statistic));
    METRICS.iter().flat_map(of_metric).chain(OF_GRID.map(|(_, title)| title.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORES: [Noc0Coord; 2] = [Noc0Coord { x: 1, y: 2 }, Noc0Coord { x: 2, y: 2 }];

    fn counters(values: &[(Noc0Coord, &str, u64)]) -> OpCounters {
        let mut counters = OpCounters::default();
        for (core, name, value) in values {
            let metadata =
                format!("{{\"counter type\":\"{name}\";\"ref cnt\":200;\"value\":{value}}}");
            assert!(counters.enter(*core, Risc::Brisc, metadata.as_bytes()));
        }
        counters
    }

    #[test]
    fn statistics_are_over_the_cores_that_reported() {
        let counters = counters(&[(CORES[0], "FPU_COUNTER", 50), (CORES[1], "FPU_COUNTER", 100)]);
        let mut cells = Cells::new();
        let scale = CounterScale {
            max_compute_cores: Some(3),
            kernel_cycles: Some(400),
            ..Default::default()
        };
        counters.enter_cells(&mut cells, scale);
        counters.enter_grid_cells(&mut cells, scale);
        let cell = |title: &str| cells.get(title).map(String::as_str);
        assert_eq!(cell("FPU Util Min (%)"), Some("25.0"));
        assert_eq!(cell("FPU Util Median (%)"), Some("37.5"));
        assert_eq!(cell("FPU Util Max (%)"), Some("50.0"));
        assert_eq!(cell("Avg FPU util on full grid (%)"), Some("12.5"));
        assert_eq!(cells.len(), 5);
    }

    #[test]
    fn there_are_as_many_columns_as_upstream_has() {
        let titles: Vec<_> = counter_titles().collect();
        assert_eq!(titles.len(), 659);
        assert_eq!(titles.iter().filter(|title| title.ends_with("(ratio)")).count(), 15 * 4);
        assert_eq!(titles.iter().collect::<std::collections::BTreeSet<_>>().len(), 659);
    }

    #[test]
    fn meta_data_without_a_counter_is_refused() {
        let mut counters = OpCounters::default();
        for metadata in ["", "{}", "{\"counter type\":7;\"value\":1}", "{\"counter type\":\"A\"}"] {
            assert!(!counters.enter(CORES[0], Risc::Brisc, metadata.as_bytes()), "{metadata}");
        }
    }
}
