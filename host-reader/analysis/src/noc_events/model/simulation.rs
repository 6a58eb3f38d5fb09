//! Simulation in time steps. Transfers share links and tiles until all transfers have ended.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "cycles are bounded by the steps that are simulated"
)]

use super::{
    chip::NocChip,
    demand::{Demand, Path},
    gap::NocGap,
    workload::{Flow, Workload},
};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Length of a step in cycles.
pub(super) const STEP_CYCLES: u64 = 32;
/// Maximum number of links and endpoints of transfers, summed over all steps of a simulation. With
/// this limit, no trace takes longer than a few seconds.
const MOST_WORK: u64 = 1 << 29;
/// Maximum number of steps with moving bytes: 33 million cycles.
const MOST_STEPS: u64 = 1 << 20;
/// Last cycle that can be simulated. A trace of one hour stays below this limit.
const LAST_CYCLE: u64 = 1 << 43;

/// Results of a simulation: end of the last transfer, and link utilisation until then.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Latest end of the transfers that may start before the kernels end; `None` if there are none.
    pub(super) end_cycle: Option<u64>,
    /// Mean utilisation of all links until `end_cycle`, and the part due to multicasts, in percent.
    pub(super) utilisation_percent: [f64; 2],
}

/// Transfer in progress.
struct Live {
    index: usize,
    path: Path,
    /// Cycle at which the transfer began to move bytes.
    start: u64,
    /// End of the earlier transfer that this transfer waited for; `None` if it did not wait.
    waited_until: Option<u64>,
    remaining_bytes: u64,
}

/// Simulates a workload. If `is_congested`, transfers share links and tiles; otherwise each moves
/// as if it were alone.
///
/// # Errors
/// Returns [`NocGap::TooLong`] if the simulation takes too many steps.
pub(super) fn simulate(
    workload: &Workload,
    chip: &NocChip,
    is_congested: bool,
) -> Result<Outcome, NocGap> {
    let mut simulation = Simulation {
        workload,
        chip,
        demand: is_congested.then(|| Demand::new(chip)),
        ready: BinaryHeap::new(),
        live: Vec::new(),
        work: 0,
        step_count: 0,
        end_cycle: None,
        steps: Vec::new(),
    };
    for (index, flow) in workload.flows.iter().enumerate().filter(|(_, flow)| !flow.waits) {
        simulation.ready.push(Reverse(Ready { time: flow.start, index, waited_until: None }));
    }
    simulation.run()?;
    Ok(simulation.outcome())
}

/// Transfer that waits for no other transfer, with the earliest cycle at which it can start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ready {
    time: u64,
    index: usize,
    waited_until: Option<u64>,
}

struct Simulation<'workload> {
    workload: &'workload Workload,
    chip: &'workload NocChip,
    /// Demand of the transfers; `None` if each moves as if it were alone.
    demand: Option<Demand>,
    ready: BinaryHeap<Reverse<Ready>>,
    live: Vec<Live>,
    work: u64,
    step_count: u64,
    end_cycle: Option<u64>,
    /// For each step with transfers: the index of the step, and the link utilisation in percent,
    /// first due to all transfers and then due to multicasts only.
    steps: Vec<(u64, [f64; 2])>,
}

impl Simulation<'_> {
    fn run(&mut self) -> Result<(), NocGap> {
        let mut step = 0;
        loop {
            if self.live.is_empty() {
                let Some(Reverse(next)) = self.ready.peek() else { return Ok(()) };
                step = step.max(next.time.div_ceil(STEP_CYCLES).saturating_sub(1));
            }
            let is_too_long = self.work > MOST_WORK || self.step_count > MOST_STEPS;
            if step >= LAST_CYCLE / STEP_CYCLES || is_too_long {
                return Err(NocGap::TooLong);
            }
            let begin = step * STEP_CYCLES;
            self.begin(begin + STEP_CYCLES);
            self.share(step);
            self.advance(begin);
            step += 1;
        }
    }

    /// Starts the transfers that can move at cycle `end` or earlier.
    fn begin(&mut self, end: u64) {
        let mut begun = Vec::new();
        while let Some(Reverse(ready)) = self.ready.peek().filter(|next| next.0.time <= end) {
            begun.push(*ready);
            self.ready.pop();
        }
        let flows = &self.workload.flows;
        begun.sort_by_key(|of| (flows.get(of.index).map(|flow| flow.start), of.index));
        for ready in begun {
            if let Some(flow) = self.workload.flows.get(ready.index) {
                self.live.push(Live {
                    index: ready.index,
                    path: Path::new(flow, self.chip),
                    start: ready.time,
                    waited_until: ready.waited_until,
                    remaining_bytes: flow.byte_count,
                });
            }
        }
    }

    /// Sums the demand of the transfers in progress.
    fn share(&mut self, step: u64) {
        let begin = step * STEP_CYCLES;
        self.step_count += 1;
        self.work += self.live.iter().map(|live| live.path.len()).sum::<u64>() + 1;
        let Some(demand) = &mut self.demand else { return };
        demand.clear();
        for live in &self.live {
            let cycles = begin + STEP_CYCLES - live.start.max(begin);
            demand.add(&live.path, to_single(cycles) / to_single(STEP_CYCLES));
        }
        self.steps.push((step, demand.utilisation_percent()));
    }

    /// Moves bytes for one step, and removes transfers that have no bytes left.
    fn advance(&mut self, begin: u64) {
        let mut ended = Vec::new();
        let demand = self.demand.as_ref();
        self.live.retain_mut(|live| {
            let rate = demand.map_or(live.path.free_rate, |demand| demand.rate(&live.path));
            let moved = live.remaining_bytes.min(to_bytes(to_single(live.cycles(begin)) * rate));
            live.remaining_bytes -= moved;
            if live.remaining_bytes == 0 {
                let cycles = to_bytes((to_single(moved) / rate).ceil());
                ended.push((live.index, live.start.max(begin).saturating_add(cycles)));
            }
            live.remaining_bytes > 0
        });
        for (index, end) in ended {
            self.end(index, end);
        }
    }

    fn end(&mut self, index: usize, end: u64) {
        let Some(flow) = self.workload.flows.get(index) else { return };
        if self.workload.kernel_cycles.is_some_and(|cycles| flow.start <= cycles) {
            self.end_cycle = self.end_cycle.max(Some(end));
        }
        let Some(next) = flow.waited_for_by else { return };
        if let Some(&Flow { start, .. }) = self.workload.flows.get(next) {
            let time = start.max(end);
            self.ready.push(Reverse(Ready { time, index: next, waited_until: Some(end) }));
        }
    }

    fn outcome(&self) -> Outcome {
        let Some(end_cycle) = self.end_cycle else { return Outcome::default() };
        let last = end_cycle.div_ceil(STEP_CYCLES);
        let steps = self.steps.iter().take_while(|&&(step, _)| step <= last);
        let sums = steps.fold([0.0; 2], |[all, multicast], &(_, [step, multicast_step])| {
            [all + step, multicast + multicast_step]
        });
        let utilisation_percent = sums.map(|sum| sum / to_float(last + 1));
        Outcome { end_cycle: Some(end_cycle), utilisation_percent }
    }
}

impl Live {
    /// Returns the number of cycles in which bytes move in the step that begins at `begin`. If the
    /// transfer had to wait for one that ended in the previous step, the rest of the previous step
    /// is included.
    fn cycles(&self, begin: u64) -> u64 {
        let cycles = begin + STEP_CYCLES - self.start;
        let is_made_up = self.start < begin
            && self.waited_until.is_some_and(|end| end < begin && end + STEP_CYCLES >= begin);
        if is_made_up { cycles } else { cycles.min(STEP_CYCLES) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "steps and packets are small, and others rounded")]
const fn to_single(count: u64) -> f32 {
    count as f32
}

#[expect(clippy::cast_precision_loss, reason = "2^53 bytes or cycles are in no trace")]
const fn to_float(count: u64) -> f64 {
    count as f64
}

/// Rounds down to an integer. A value above the range becomes the largest integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounding down is meant, and products of rates and times are not negative"
)]
const fn to_bytes(float: f32) -> u64 {
    float as u64
}
