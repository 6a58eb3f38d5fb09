//! Explanation of ops CSVs: gaps, ops on the host, and modelled limits.

use crate::{
    explanation::{Explanation, SCHEMA_VERSION},
    finding::{Place, Untold},
    rules::{self, GapFacts, ModelFacts},
    threshold::{LAUNCH_GAP, TRACED_GAP},
    time_class::{ClassTimes, TimeClass, TimeSplit},
    timeline::DeviceTime,
};
use reports::perf::{OpCategory, OpReport, PerfReport, RowKind};
use std::collections::BTreeMap;

impl Explanation {
    /// Explains ops CSVs, reported on with each device on its own.
    ///
    /// ```
    /// use causes::{Cause, Explanation};
    /// use reports::perf::{PerfOptions, PerfReport, read_ops_csv};
    /// let mut text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n".to_owned();
    /// for _ in 0..5 {
    ///     text.push_str("Softmax,tt_dnn_device,0,10000,90000\n");
    /// }
    /// let csv = read_ops_csv(text.as_bytes(), "ops.csv")?;
    /// let options = PerfOptions { merges_devices: false, ..PerfOptions::default() };
    /// let explanation = Explanation::of_perf_report(&PerfReport::new(vec![csv], &options)?);
    /// assert_eq!(explanation.findings[0].cause, Cause::Host);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_perf_report(report: &PerfReport) -> Self {
        let mut explanation = Self { schema_version: SCHEMA_VERSION, ..Self::default() };
        explanation.devices = devices(report);
        let facts = gap_facts(report);
        let found = [
            rules::host(&facts),
            rules::dispatch(&facts),
            rules::small_ops(&facts),
            rules::host_ops(&facts),
        ];
        explanation.findings = found.into_iter().flatten().collect();
        explanation.untold = untold(report);
        explanation.add_modelled(&model_facts(report, |row| Place {
            op: Some(row.raw_op_code.clone()),
            row: Some(row.id),
            ..Place::default()
        }));
        explanation
    }
}

/// The ops of a report against the limits of their chip, those of unknown length left out.
pub(crate) fn model_facts(
    report: &PerfReport,
    place: impl Fn(&OpReport) -> Place,
) -> Vec<ModelFacts> {
    let rows = report.rows.iter().filter(|row| row.kind == RowKind::Device);
    rows.filter_map(|row| {
        Some(ModelFacts {
            place: place(row),
            duration_ns: row.device_time_us? * 1000.0,
            dram_percent: row.dram_percent,
            flops_percent: row.flops_percent,
        })
    })
    .collect()
}

/// Key of a device: rows without a number are one of their own.
fn device_of(row: &OpReport) -> u32 {
    row.device.and_then(|device| u32::try_from(device).ok()).unwrap_or(0)
}

fn gap_facts(report: &PerfReport) -> GapFacts {
    let mut facts = GapFacts::default();
    let mut walls: BTreeMap<u32, f64> = BTreeMap::new();
    for row in &report.rows {
        match row.kind {
            RowKind::Device => {
                let wall = walls.entry(device_of(row)).or_default();
                *wall += row.total_us().unwrap_or(0.0) * 1000.0;
                let Some(duration) = row.device_time_us.map(|us| us * 1000.0) else { continue };
                facts.durations_ns.push(duration);
                if let Some(gap) = row.op_to_op_gap_us.filter(|gap| *gap > 0.0) {
                    facts.gaps_ns.push((gap * 1000.0, duration));
                }
            }
            RowKind::Host => facts.host_ops.push(None),
            RowKind::Signpost => {}
        }
    }
    facts.chip_count = walls.len().max(1);
    facts.wall_ns = walls.into_values().fold(0.0, f64::max);
    facts
}

/// Time of each device: kernels by category, gaps as launches and a late host.
fn devices(report: &PerfReport) -> Vec<DeviceTime> {
    let mut by_device: BTreeMap<u32, (ClassTimes, u64, f64)> = BTreeMap::new();
    for row in report.rows.iter().filter(|row| row.kind == RowKind::Device) {
        let (times, count, kernels) = by_device.entry(device_of(row)).or_default();
        *count = count.saturating_add(1);
        let kernel = row.device_time_us.unwrap_or(0.0) * 1000.0;
        *kernels += kernel;
        times.add(class_of(row.category), kernel);
        let gap = row.op_to_op_gap_us.unwrap_or(0.0) * 1000.0;
        if gap <= LAUNCH_GAP.value * 1000.0 {
            times.add(TimeClass::Dispatch, gap);
        } else {
            times.add(TimeClass::Dispatch, TRACED_GAP.value * 1000.0);
            times.add(TimeClass::HostLate, gap - TRACED_GAP.value * 1000.0);
        }
    }
    let device = |(chip_id, (times, op_count, kernels)): (u32, (ClassTimes, u64, f64))| {
        let whole = |ns: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let whole = ns.round() as u64;
            whole
        };
        let total = whole(times.total());
        DeviceTime {
            chip_id,
            window: (0, total),
            op_count,
            // A cycle of 1000 MHz is a nanosecond.
            time: TimeSplit::new(&times, total, 1000),
            busy_ns: None,
            kernel_sum_ns: Some(whole(kernels)),
        }
    };
    by_device.into_iter().map(device).collect()
}

const fn class_of(category: Option<OpCategory>) -> TimeClass {
    match category {
        Some(OpCategory::Compute) => TimeClass::Compute,
        Some(OpCategory::Ccl) => TimeClass::Collective,
        Some(OpCategory::TensorManipulation | OpCategory::DataMovement) => TimeClass::DataMovement,
        Some(OpCategory::Host | OpCategory::Other) | None => TimeClass::Unknown,
    }
}

fn untold(report: &PerfReport) -> Vec<Untold> {
    let mut untold = vec![Untold {
        question: "who waits for whom, and which core sets the length of an op",
        reason: "an ops CSV has one figure for each op".to_owned(),
        record_with: "the device log or capture that it was made of",
    }];
    let invalid = report.totals.invalid_duration_count;
    if invalid > 0 {
        untold.push(Untold {
            question: "how long every op took",
            reason: format!("{invalid} ops have no usable duration"),
            record_with: "more room for markers, or a read after fewer programs",
        });
    }
    untold
}
