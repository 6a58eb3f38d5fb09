//! Durations of ops, from the rows of an ops CSV or the launches of a readout.

use super::measured::{Measured, MeasuredKind, Measurements};
use crate::perf::{OpReport, PerfReport, Repetitions, shortest_period};
use analysis::{Op, Span, ops_of};
use host_events::OpMetadata;
use reader::readout::Readout;
use std::collections::BTreeMap;
use wire::RunHostId;

impl Measurements {
    /// The ops of an ops CSV. Repetitions are iterations of the model; with `pools`, or
    /// where rows do not repeat, all ops of one name and source.
    #[must_use]
    pub fn of_report(report: &PerfReport, pools: bool) -> Self {
        let mut measurements = Self::default();
        let repetitions = if pools {
            Repetitions::by_program(&report.rows)
        } else {
            Repetitions::find(&report.rows)
        };
        for rows in &repetitions.ops {
            let members: Vec<&OpReport> =
                rows.iter().filter_map(|&at| report.rows.get(at)).collect();
            let Some(first) = members.first() else { continue };
            let times: Vec<f64> = members.iter().filter_map(|row| row.device_time_us).collect();
            measurements
                .skip("ops without a duration", members.len().saturating_sub(times.len()) as u64);
            measurements.add(Measured {
                kind: MeasuredKind::Op,
                place: place(first.device),
                name: first.raw_op_code.clone(),
                source: first.source.clone(),
                durations_ns: times.into_iter().map(|us| us * 1000.0).collect(),
            });
        }
        let cut = repetitions.left_out_count as u64;
        measurements.skip("ops in iterations that are cut or differ", cut);
        measurements.skip("ops of the host", report.totals.host_op_count);
        measurements.skip("lines of the file", report.skipped_line_count);
        measurements
    }

    /// Adds the ops of a readout. Repetitions are the passes of a sequence of ops that runs
    /// again and again, else the launches of one program; `ops` names the programs, as far
    /// as the host knew them.
    pub fn add_ops(&mut self, readout: &Readout, ops: &[OpMetadata]) {
        let named: BTreeMap<(u32, RunHostId), &OpMetadata> =
            ops.iter().map(|op| ((op.chip_id, op.run_host_id), op)).collect();
        let mut launches: BTreeMap<u32, Vec<Launched>> = BTreeMap::new();
        for op in ops_of(readout) {
            let id = RunHostId(op.run_host_id);
            let (name, source) = named.get(&(op.chip_id, id)).map_or_else(
                || (format!("program {}", id.base()), String::new()),
                |op| words(op, id),
            );
            launches.entry(op.chip_id).or_default().push(Launched { op, name, source });
        }
        for (chip_id, launches) in launches {
            let clock = clock_mhz(readout, chip_id);
            for repetitions in self.repetitions_of(&launches) {
                self.add_launches(chip_id, clock, &repetitions);
            }
        }
    }

    /// The launches of a chip, those together that repeat one another.
    fn repetitions_of<'a>(&mut self, launches: &'a [Launched]) -> Vec<Vec<&'a Launched>> {
        let identities: Vec<_> = launches.iter().map(|one| (&one.name, &one.source)).collect();
        let period = shortest_period(&identities);
        let pass_count = launches.len().checked_div(period).unwrap_or(0);
        if pass_count < 2 {
            let mut programs: BTreeMap<u32, Vec<&Launched>> = BTreeMap::new();
            for launched in launches {
                programs.entry(launched.op.run_host_id).or_default().push(launched);
            }
            return programs.into_values().collect();
        }
        let passes = launches.chunks_exact(period);
        self.skip("ops in iterations that are cut or differ", passes.remainder().len() as u64);
        let of_position =
            |position| launches.iter().skip(position).step_by(period).take(pass_count).collect();
        (0..period).map(of_position).collect()
    }

    fn add_launches(&mut self, chip_id: u32, clock_mhz: f64, launches: &[&Launched]) {
        let Some(first) = launches.first() else { return };
        let spans: Vec<_> = launches.iter().filter_map(|launched| launched.op.kernel).collect();
        self.skip(
            "ops without a known duration",
            launches.len().saturating_sub(spans.len()) as u64,
        );
        let duration_ns = |span: &Span| span.duration_cycles as f64 * 1000.0 / clock_mhz;
        self.add(Measured {
            kind: MeasuredKind::Op,
            place: place(Some(chip_id.into())),
            name: first.name.clone(),
            source: first.source.clone(),
            durations_ns: spans.iter().map(duration_ns).collect(),
        });
    }
}

/// A launch and what is known of its program.
struct Launched {
    op: Op,
    name: String,
    source: String,
}

/// The clock of a chip; 1000 MHz if it is unknown, so that cycles are compared.
pub(super) fn clock_mhz(readout: &Readout, chip_id: u32) -> f64 {
    let chips = readout.devices.iter().map(|device| &device.chip);
    let clock = chips.filter(|chip| chip.chip_id == chip_id).map(|chip| chip.aiclk_mhz).next();
    f64::from(clock.filter(|&mhz| mhz > 0).unwrap_or(1000))
}

fn place(device: Option<u64>) -> String {
    device.map_or_else(|| "no device".to_owned(), |device| format!("device {device}"))
}

/// Name and, of all other keys, the source.
fn words(op: &OpMetadata, id: RunHostId) -> (String, String) {
    let name = op.value(OpMetadata::NAME);
    let name = name.map_or_else(|| format!("program {}", id.base()), str::to_owned);
    let others = op.fields.iter().filter(|(key, _)| key != OpMetadata::NAME);
    let source: Vec<_> = others.map(|(key, value)| format!("{key}={value}")).collect();
    (name, source.join(" "))
}
