//! What an ops CSV says about the dispatcher of a chip.

use super::duration;
use crate::{middle::median, row_slots::is_dispatcher_gap};
use recording::problem::counted;
use reports::perf::OpReport;

/// Times of a chip's dispatcher, and gaps in which the chip waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Dispatcher {
    /// Number of gaps that are longer than a launch although the host had called the op before.
    pub(crate) gap_count: usize,
    /// Number of ops whose gap is known.
    of_count: usize,
    /// Number of ops with both of the times below.
    timed_count: usize,
    /// Median time for the commands of an op, in ns.
    command_ns: Option<f64>,
    /// Median time that the dispatcher waits for the workers before it starts an op, in ns.
    wait_ns: Option<f64>,
}

impl Dispatcher {
    pub(crate) fn of_rows<'a>(rows: impl Iterator<Item = &'a OpReport> + Clone) -> Self {
        let timed = rows.clone().filter_map(|row| {
            let sending = row.sending;
            sending.dispatcher_ns.zip(sending.dispatcher_wait_ns)
        });
        let (commands, waits): (Vec<f64>, Vec<f64>) = timed.unzip();
        Self {
            gap_count: rows.clone().filter(|row| is_dispatcher_gap(row)).count(),
            of_count: rows.filter(|row| row.op_to_op_gap_us.is_some()).count(),
            timed_count: commands.len(),
            command_ns: median(commands),
            wait_ns: median(waits),
        }
    }

    /// Returns what is known, in sentences.
    pub(super) fn facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        if self.gap_count > 0 {
            facts.push(format!(
                "the host had called the op before the gap in {} of {}: there the chip waited for its dispatcher, \
                 not for the host",
                self.gap_count,
                counted(self.of_count as u64, "gap", "gaps")
            ));
        }
        if let Some((command_ns, wait_ns)) = self.command_ns.zip(self.wait_ns) {
            let behind = if wait_ns < command_ns {
                "; it is behind the workers where it hardly waits for them"
            } else {
                ""
            };
            facts.push(format!(
                "the dispatcher takes {} for the commands of an op and waits {} for the workers before it starts \
                 one, medians of {}{behind}",
                duration(command_ns),
                duration(wait_ns),
                counted(self.timed_count as u64, "op", "ops")
            ));
        }
        facts
    }
}
