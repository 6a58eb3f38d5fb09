//! Rules about ops with modelled bytes and operations, for example from ops CSVs.

use super::{OpGroup, capital, duration, kernel_ns, rounded};
use crate::{
    barriers::BarrierUse,
    finding::{Basis, Cause, Finding, GainOf, Place, percent},
    noc_use::{NocUse, NocUses},
    op::OpCauses,
    parallel::busiest_share,
    threshold::{BARRIERS, DRAM, FLOPS, MODEL_TIME, NOC, Threshold},
    time_class::{TimeClass, WaitEvidence},
};
use analysis::noc_events::Link;

/// One op compared with the limits of its chip.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelFacts {
    /// Chip that ran the op; `None` if unknown.
    pub(crate) chip_id: Option<u32>,
    pub(crate) place: Place,
    pub(crate) duration_ns: f64,
    pub(crate) dram_percent: Option<f64>,
    pub(crate) flops_percent: Option<f64>,
    /// Number of times as long as the op computes with its math fidelity as with the lowest one; `None`
    /// if the fidelity is unknown.
    pub(crate) fidelity_phases: Option<f64>,
    /// Part of the cores on which the op could run that it uses; `None` if unknown.
    pub(crate) cores_part: Option<f64>,
}

impl ModelFacts {
    fn is_of_lowest_fidelity(&self) -> bool {
        self.fidelity_phases == Some(1.0)
    }

    fn has_all_cores(&self) -> bool {
        self.cores_part == Some(1.0)
    }

    /// Returns the minimum time of the op on all cores and with the lowest math fidelity, which the
    /// advice names, but not less than its DRAM traffic takes; `None` if it is unknown. An op that has both
    /// gains nothing.
    fn least_ns(&self) -> Option<f64> {
        if self.has_all_cores() && self.is_of_lowest_fidelity() {
            return Some(self.duration_ns);
        }
        let part_ns = |percent: f64| self.duration_ns * percent.min(100.0) / 100.0;
        let of_cores_ns = part_ns(self.flops_percent?) * self.cores_part? / self.fidelity_phases?;
        Some(self.dram_percent.map_or(of_cores_ns, |percent| of_cores_ns.max(part_ns(percent))))
    }
}

/// Returns what to try about ops that reach the peak FLOPs of their cores.
fn flops_advice(ops: &[ModelFacts]) -> String {
    let is_at_peak =
        |op: &&ModelFacts| op.flops_percent.is_some_and(|percent| percent >= FLOPS.value);
    let at_peak = || ops.iter().filter(is_at_peak);
    let can_add_cores = at_peak().any(|op| !op.has_all_cores());
    let can_lower = at_peak().any(|op| !op.is_of_lowest_fidelity());
    let advice = match (can_add_cores, can_lower) {
        (true, true) => "use more cores or a lower math fidelity",
        (true, false) => "use more cores; their math fidelity is the lowest",
        (false, true) => "use a lower math fidelity",
        (false, false) => {
            "give them less work: no option gives them more cores, and their math fidelity is the lowest"
        }
    };
    let lowest = at_peak().filter(|op| op.is_of_lowest_fidelity()).count();
    match lowest {
        lowest if can_lower && lowest > 0 => {
            format!("{advice}; {lowest} of {} have the lowest fidelity", at_peak().count())
        }
        _ => advice.to_owned(),
    }
}

/// Reports ops that come close to the peak DRAM bandwidth or the peak FLOP/s, if these ops take a
/// large part of the device time.
///
/// `told` are the findings about groups of ops. They say of which limit a group is close to, and give
/// its gain, so that the same ops are no second finding.
pub(crate) fn modelled(ops: &[ModelFacts], told: &[Finding]) -> Vec<Finding> {
    let is_told = |op: &ModelFacts| {
        let all = |of: &Finding| of.rests_on.count == of.rests_on.of;
        told.iter().any(|of| of.cause == Cause::OpGroup && of.place.op == op.place.op && all(of))
    };
    let told: Vec<bool> = ops.iter().map(is_told).collect();
    let device_ns: f64 = ops.iter().map(|op| op.duration_ns).sum();
    let dram = (
        "of the DRAM's bandwidth",
        "keep tensors in L1, use smaller element types, or shard over the banks",
    );
    let flops_advice = flops_advice(ops);
    let flops = ("of the peak FLOPs of their cores", &*flops_advice);
    let ops: Vec<(&ModelFacts, bool)> = ops.iter().zip(told).collect();
    let dram = at_limit(&ops, device_ns, (Cause::Dram, DRAM), |op| op.dram_percent, dram);
    let flops = at_limit(&ops, device_ns, (Cause::Compute, FLOPS), |op| op.flops_percent, flops);
    dram.into_iter().chain(flops).collect()
}

/// Returns true if DRAM explains a finding: the finding is about a stage that moves data, and one
/// of the op's launches is at the DRAM's peak.
pub(crate) fn follows_from_dram(finding: &Finding, ops: &[ModelFacts]) -> bool {
    let moves_data = matches!(finding.cause, Cause::Reader | Cause::Latency | Cause::Writer);
    let own = &finding.place;
    let mut at_peak =
        ops.iter().filter(|op| op.dram_percent.is_some_and(|percent| percent >= DRAM.value));
    moves_data
        && at_peak.any(|ModelFacts { place, .. }| match (&own.op, &place.op) {
            (Some(one), Some(other)) => one == other,
            _ => place.run_host_id.is_some() && own.run_host_id == place.run_host_id,
        })
}

/// Reports launches of a group whose programs use a NoC link at its peak, if they take a large part
/// of the kernel time.
pub(crate) fn noc(group: &OpGroup<'_>, uses: &NocUses, kernels_ns: f64) -> Option<Finding> {
    let bound = group.ops.iter().filter_map(|op| {
        let noc_use = uses.get(&(op.chip_id, op.run_host_id))?;
        noc_use.is_at_peak().then_some((*noc_use, kernel_ns(op)))
    });
    noc_bound(
        (group.place(), group.ops.len()),
        &group.label,
        &bound.collect::<Vec<_>>(),
        kernels_ns,
    )
}

/// Returns the finding about launches that use a link at its peak. Each use is paired with the time
/// of its launch.
fn noc_bound(
    (place, count): (Place, usize),
    label: &str,
    bound: &[(NocUse, f64)],
    kernels_ns: f64,
) -> Option<Finding> {
    let ns: f64 = bound.iter().map(|(_, ns)| ns).sum();
    let time_percent = percent(ns, kernels_ns);
    let (busiest, _) =
        bound.iter().max_by(|(one, _), (other, _)| one.percent.total_cmp(&other.percent))?;
    if time_percent < MODEL_TIME.value {
        return None;
    }
    // All launches of a program have the program's mean use.
    let free_ns: f64 =
        bound.iter().map(|(of, ns)| ns * (1.0 - of.percent.min(100.0) / 100.0)).sum();
    let used = percent(ns - free_ns, ns);
    let least = if bound.iter().any(|(of, _)| of.is_lower_bound) { "at least " } else { "" };
    let Link { noc, tile, direction, .. } = busiest.link;
    let sentence = format!(
        "{} uses {least}{used:.0} % of the capacity of a NoC link and takes {time_percent:.0} % of the \
         device time ({}): the busiest leaves tile ({},{}) to the {} on {}",
        capital(label),
        duration(ns),
        tile.x,
        tile.y,
        direction.label(),
        noc.label(),
    );
    let advice = "spread transfers over both NoCs and more links, multicast what several cores read, or \
                  keep data nearer to the cores that use it";
    let finding = Finding::new(
        Cause::Noc,
        (NOC, used),
        sentence,
        place,
        advice,
        Basis::launches(bound.len(), count),
    );
    Some(finding.with_gain(free_ns, (ns, GainOf::Ops)))
}

/// Reports ops that spend their time at NoC barriers while none of their kernels computes.
pub(crate) fn barriers(group: &OpGroup<'_>, uses: &NocUses, kernels_ns: f64) -> Option<Finding> {
    // Records of waits would give more detail.
    let without_waits = group.ops.iter().filter(|op| op.time.waits == WaitEvidence::None);
    let waiting: Vec<_> = without_waits
        .filter_map(|op| {
            let noc_use = uses.get(&(op.chip_id, op.run_host_id))?;
            let launch = AtBarriers {
                barriers: noc_use.barriers?,
                link_percent: noc_use.percent,
                compute_percent: compute_percent(op),
                ns: kernel_ns(op),
            };
            (!noc_use.is_at_peak() && launch.alone_percent() > 0.0).then_some((op, launch))
        })
        .collect();
    let (longest, of_longest) =
        waiting.iter().max_by(|(_, one), (_, other)| one.ns.total_cmp(&other.ns))?;
    let launches: Vec<_> = waiting.iter().map(|(_, launch)| *launch).collect();
    let place = Place {
        launch: Some(longest.launch),
        chip_id: Some(longest.chip_id),
        core: Some(of_longest.barriers.core),
        ..group.place()
    };
    barrier_bound((place, group.ops.len()), &group.label, &launches, kernels_ns)
}

/// Returns the time in which kernels that compute run, in percent of the time of all kernels.
fn compute_percent(op: &OpCauses) -> f64 {
    let ns = kernel_ns(op);
    match op.time.class_ns(TimeClass::Compute).filter(|_| ns > 0.0) {
        Some(compute_ns) => percent(compute_ns, ns).min(100.0),
        None => op.time.percent(TimeClass::Compute),
    }
}

/// A launch that waits at NoC barriers.
#[derive(Clone, Copy, Debug)]
struct AtBarriers {
    barriers: BarrierUse,
    /// Use of the busiest link in percent of its peak.
    link_percent: f64,
    /// Time in which kernels that compute run, in percent of the kernels' time.
    compute_percent: f64,
    /// Time of the kernels.
    ns: f64,
}

impl AtBarriers {
    /// Returns the least time at barriers in which no kernel computes, in percent of the kernels' time: a
    /// barrier beside kernels that compute may cost nothing.
    const fn alone_percent(&self) -> f64 {
        (self.barriers.percent - self.compute_percent).max(0.0)
    }
}

/// Returns the finding about launches that wait at NoC barriers.
fn barrier_bound(
    (place, count): (Place, usize),
    label: &str,
    launches: &[AtBarriers],
    kernels_ns: f64,
) -> Option<Finding> {
    let ns: f64 = launches.iter().map(|of| of.ns).sum();
    let part_of = |percent: fn(&AtBarriers) -> f64| {
        launches.iter().map(|of| of.ns * percent(of) / 100.0).sum::<f64>()
    };
    let alone_ns = part_of(AtBarriers::alone_percent);
    let waited = percent(part_of(|of| of.barriers.percent), ns);
    let compute = percent(part_of(|of| of.compute_percent), ns);
    let alone = percent(alone_ns, ns);
    let most = launches
        .iter()
        .max_by(|one, other| one.barriers.percent.total_cmp(&other.barriers.percent))?;
    if alone < BARRIERS.value || percent(ns, kernels_ns) < MODEL_TIME.value {
        return None;
    }
    // The gain is at most the time in which the busiest link is unused.
    let free_ns: f64 =
        launches.iter().map(|of| of.ns * (1.0 - of.link_percent.min(100.0) / 100.0)).sum();
    let sentence = format!(
        "{} waits at NoC barriers for {waited:.0} % of its {} ({}): {}; the busiest link carries only {} % \
         of its peak",
        capital(label),
        duration(ns),
        most.barriers.whose(),
        most.barriers.transfers(),
        rounded(most.link_percent),
    );
    let several = "send several transfers before each barrier, and let the reader fetch the next block \
                  while the writer sends the last one (buffers of at least two blocks)";
    let advice = if most.barriers.has_small_transfers() {
        format!("send fewer, larger transfers where the data allows it, then {several}")
    } else {
        several.to_owned()
    };
    let finding = Finding::new(
        Cause::Latency,
        (BARRIERS, alone),
        sentence,
        place,
        advice,
        Basis::launches(launches.len(), count),
    );
    let computes = (compute > 0.0)
        .then(|| format!("kernels that compute run for {} % of its time", rounded(compute)));
    let finding = Finding { why: computes.into_iter().collect(), ..finding };
    Some(finding.with_gain(alone_ns.min(free_ns), (ns, GainOf::Ops)))
}

/// Returns true if a NoC link explains a finding: the finding is about a stage that moves data, and
/// `noc_findings` has a finding about the same op.
pub(crate) fn follows_from_noc(finding: &Finding, noc_findings: &[Finding]) -> bool {
    let moves_data = matches!(finding.cause, Cause::Reader | Cause::Latency | Cause::Writer);
    let Place { op, run_host_id, .. } = &finding.place;
    moves_data
        && noc_findings
            .iter()
            .any(|Finding { place, .. }| place.op == *op && place.run_host_id == *run_host_id)
}

/// Returns the finding about the ops that come close to one peak rate of the chip, if these ops
/// take a large part of the device time.
///
/// `of` returns the percentage of the peak rate that an op reaches.
fn at_limit(
    ops: &[(&ModelFacts, bool)],
    device_ns: f64,
    (cause, limit): (Cause, Threshold),
    of: fn(&ModelFacts) -> Option<f64>,
    (what, advice): (&str, &str),
) -> Option<Finding> {
    let bound: Vec<_> = ops
        .iter()
        .filter(|(_, is_told)| !is_told)
        .filter_map(|(op, _)| Some((*op, of(op).filter(|percent| *percent >= limit.value)?)))
        .collect();
    let ns: f64 = bound.iter().map(|(op, _)| op.duration_ns).sum();
    let share = busiest_share(bound.iter().map(|(op, _)| (op.chip_id, op.duration_ns)));
    let weighed: f64 = bound.iter().map(|(op, percent)| op.duration_ns * percent).sum();
    let (longest, _) = bound
        .iter()
        .max_by(|(one, _), (other, _)| one.duration_ns.total_cmp(&other.duration_ns))?;
    let time_percent = percent(ns, device_ns);
    if time_percent < MODEL_TIME.value {
        return None;
    }
    let percent = weighed / ns;
    let gain_ns = match cause {
        // More cores and a lower fidelity move the peak of the cores in use.
        Cause::Compute => {
            bound.iter().map(|(op, _)| Some(op.duration_ns - op.least_ns()?)).sum::<Option<f64>>()
        }
        // Ops at a limit can gain at most the part of the peak that they do not use.
        _ => Some(ns * (1.0 - percent.min(100.0) / 100.0)),
    };
    let ops_count = ops.len();
    let (ops, uses, takes) = match bound.len() {
        1 => ("op", "uses", "takes"),
        _ => ("ops", "use", "take"),
    };
    let sentence = format!(
        "{} {ops} {uses} {percent:.0} % {what} and {takes} {time_percent:.0} % of the device time ({})",
        bound.len(),
        duration(ns)
    );
    let finding = Finding::new(
        cause,
        (limit, percent),
        sentence,
        longest.place.clone(),
        advice,
        Basis::ops(bound.len(), ops_count),
    );
    Some(finding.with_gain(gain_ns, (device_ns, GainOf::Ops)).with_part_of_gain(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barriers::BarrierPart;
    use analysis::noc_events::{Direction, Noc};
    use reader::mesh::Noc0Coord;

    #[test]
    fn a_lower_fidelity_gains_no_more_than_dram_allows() {
        let op = |dram_percent, flops_percent| ModelFacts {
            duration_ns: 1000.0,
            dram_percent,
            flops_percent: Some(flops_percent),
            fidelity_phases: Some(2.0),
            cores_part: Some(1.0),
            ..ModelFacts::default()
        };
        assert_eq!(op(Some(60.0), 80.0).least_ns(), Some(600.0));
        assert_eq!(op(Some(30.0), 80.0).least_ns(), Some(400.0));
        assert_eq!(op(None, 80.0).least_ns(), Some(400.0));
        let lowest = ModelFacts { fidelity_phases: Some(1.0), ..op(None, 80.0) };
        assert_eq!(lowest.least_ns(), Some(1000.0), "neither cores nor a lower fidelity are left");
        let advice = flops_advice(&[op(None, 80.0), lowest]);
        assert_eq!(advice, "use a lower math fidelity; 1 of 2 have the lowest fidelity");
    }

    #[test]
    fn what_an_op_has_already_is_no_advice() {
        let advice = |is_of_lowest_fidelity: bool, has_all_cores: bool| {
            let flops_percent = Some(90.0);
            let fidelity_phases = Some(if is_of_lowest_fidelity { 1.0 } else { 2.0 });
            let cores_part = has_all_cores.then_some(1.0);
            flops_advice(&[
                ModelFacts { flops_percent, fidelity_phases, cores_part, ..Default::default() },
                // Not at its peak.
                ModelFacts { flops_percent: Some(1.0), ..Default::default() },
            ])
        };
        assert_eq!(advice(false, false), "use more cores or a lower math fidelity");
        assert_eq!(advice(true, false), "use more cores; their math fidelity is the lowest");
        assert_eq!(advice(false, true), "use a lower math fidelity");
        assert!(advice(true, true).starts_with("give them less work"));
    }

    fn op(duration_ns: f64, dram: Option<f64>, flops: Option<f64>) -> ModelFacts {
        ModelFacts {
            chip_id: Some(0),
            place: Place { op: Some("Matmul".into()), row: Some(7), ..Place::default() },
            duration_ns,
            dram_percent: dram,
            flops_percent: flops,
            ..ModelFacts::default()
        }
    }

    #[test]
    fn ops_at_the_peak_of_dram_are_told_if_they_take_time() {
        let found = modelled(&[op(600.0, Some(90.0), Some(10.0)), op(400.0, None, None)], &[]);
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((finding.cause, finding.place.row), (Cause::Dram, Some(7)));
        assert!((finding.gain_at_most_ns.unwrap() - 60.0).abs() < 1e-9);
        let little = [op(200.0, Some(90.0), None), op(800.0, Some(79.0), None)];
        assert_eq!(modelled(&little, &[]), []);
    }

    #[test]
    fn ops_at_the_peak_of_compute_are_told() {
        let found = modelled(&[op(600.0, Some(10.0), Some(70.0))], &[]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cause, Cause::Compute);
        // Cores and fidelity are unknown, so nobody knows what more of them would gain.
        assert_eq!(found[0].gain_at_most_ns, None);
    }

    #[test]
    fn more_cores_and_a_lower_fidelity_gain_more_than_the_rest_of_the_peak() {
        let at_peak = ModelFacts {
            fidelity_phases: Some(2.0),
            cores_part: Some(0.25),
            ..op(800.0, Some(10.0), Some(75.0))
        };
        // 600 ns at the peak of a quarter of the cores and of HiFi2 are 75 ns at that of all and LoFi, and
        // its DRAM traffic takes 80 ns.
        let [finding] = modelled(std::slice::from_ref(&at_peak), &[]).try_into().unwrap();
        assert!((finding.gain_at_most_ns.unwrap() - 720.0).abs() < 1e-9, "{finding:?}");
        // A finding about all ops of the name has this advice and its gain already.
        let of_group =
            |basis| Finding { cause: Cause::OpGroup, rests_on: basis, ..finding.clone() };
        assert_eq!(modelled(std::slice::from_ref(&at_peak), &[of_group(Basis::ops(1, 1))]), []);
        assert_eq!(modelled(&[at_peak], &[of_group(Basis::ops(1, 2))]).len(), 1);
    }

    #[test]
    fn ops_that_fill_a_link_of_the_noc_are_told_if_they_take_time() {
        let tile = Noc0Coord { x: 1, y: 2 };
        let link = Link { chip_id: 0, noc: Noc::Noc0, tile, direction: Direction::East };
        let noc_use = |percent| NocUse { link, percent, is_lower_bound: false, barriers: None };
        let place = || Place { op: Some("Matmul".into()), ..Place::default() };
        let told =
            |uses: &[(NocUse, f64)]| noc_bound((place(), uses.len()), "Matmul", uses, 1000.0);
        // The link is used for 90 % of 200 ns and 70 % of 100 ns, so it is free for 50 ns.
        let finding = told(&[(noc_use(90.0), 200.0), (noc_use(70.0), 100.0)]).unwrap();
        assert_eq!(
            finding.sentence,
            "Matmul uses 83 % of the capacity of a NoC link and takes 30 % of the device time (300 \
             ns): the busiest leaves tile (1,2) to the east on NOC_0"
        );
        assert!((finding.gain_at_most_ns.unwrap() - 50.0).abs() < 1e-9);
        assert_eq!(told(&[(noc_use(90.0), 299.0)]), None, "little time");
        assert_eq!(told(&[]), None);
        let partial = NocUse { is_lower_bound: true, ..noc_use(80.0) };
        assert!(told(&[(partial, 300.0)]).unwrap().sentence.contains("uses at least 80 %"));
        let reader = |op: &str| Finding {
            cause: Cause::Reader,
            place: Place { op: Some(op.into()), ..Place::default() },
            ..finding.clone()
        };
        let noc_findings = [finding.clone()];
        assert!(follows_from_noc(&reader("Matmul"), &noc_findings));
        assert!(!follows_from_noc(&reader("Add"), &noc_findings));
        assert!(!follows_from_noc(&finding, &noc_findings), "itself");
    }

    #[test]
    fn launches_at_barriers_are_told_unless_their_link_needs_the_time() {
        let launch = |percent, link_percent, ns| AtBarriers {
            barriers: barriers_of_brisc(percent),
            link_percent,
            compute_percent: 0.0,
            ns,
        };
        let told = |launches: &[AtBarriers]| {
            barrier_bound((Place::default(), launches.len()), "program 7", launches, 10_000.0)
        };
        let finding = told(&[launch(80.0, 20.0, 3_000.0), launch(40.0, 10.0, 1_000.0)]).unwrap();
        assert_eq!(
            finding.sentence,
            "Program 7 waits at NoC barriers for 70 % of its 4.0 us (write barriers of BRISC): 16 transfers \
             of 4096 bytes on average and 16 barriers; the busiest link carries only 20 % of its peak"
        );
        assert_eq!((finding.cause, finding.gain_at_most_ns), (Cause::Latency, Some(2_800.0)));
        assert_eq!(finding.why, [""; 0], "no kernel computes");
        // A link used at 60 % leaves 40 % of the time.
        let finding = told(&[launch(90.0, 60.0, 4_000.0)]).unwrap();
        assert!((finding.gain_at_most_ns.unwrap() - 1_600.0).abs() < 1e-9);
        assert_eq!(told(&[launch(49.9, 20.0, 4_000.0)]), None, "too little at barriers");
        assert_eq!(told(&[launch(80.0, 20.0, 2_999.0)]), None, "too little of the kernels");
    }

    fn barriers_of_brisc(percent: f64) -> BarrierUse {
        let part = BarrierPart { risc: wire::Risc::Brisc, is_read: false, percent };
        BarrierUse {
            core: (1, 2),
            percent,
            barrier_count: 16,
            transfer_count: 16,
            byte_count: 16 * 4096,
            parts: [Some(part), None, None, None],
        }
    }

    #[test]
    fn kernels_that_compute_hide_at_most_their_own_time_at_barriers() {
        let told = |barriers, compute_percent| {
            let launch = AtBarriers {
                barriers: barriers_of_brisc(barriers),
                link_percent: 20.0,
                compute_percent,
                ns: 4_000.0,
            };
            barrier_bound((Place::default(), 1), "program 7", &[launch], 4_000.0)
        };
        // Blank kernels of 3.2 % hide no more than that: 75.8 % of 4,000 ns are left.
        let finding = told(79.0, 3.2).unwrap();
        assert!(finding.sentence.contains("for 79 % of its 4.0 us"), "{}", finding.sentence);
        assert_eq!(finding.why, ["kernels that compute run for 3.2 % of its time"]);
        assert!((finding.gain_at_most_ns.unwrap() - 3_032.0).abs() < 1e-6);
        // At 29 % exactly the threshold of 50 % is left.
        assert!(told(79.0, 29.0).is_some() && told(79.0, 29.1).is_none());
        assert_eq!(told(79.0, 100.0), None, "all of it may be beside kernels that compute");
    }

    #[test]
    fn a_stage_that_moves_data_follows_from_the_dram_of_its_own_op_alone() {
        let finding = |cause, op: &str| Finding {
            cause,
            place: Place { op: Some(op.to_owned()), ..Place::default() },
            ..modelled(&[op_at_peak()], &[]).remove(0)
        };
        let ops = [op_at_peak()];
        for cause in [Cause::Reader, Cause::Latency, Cause::Writer] {
            assert!(follows_from_dram(&finding(cause, "Matmul"), &ops), "{cause:?}");
            assert!(!follows_from_dram(&finding(cause, "Add"), &ops), "{cause:?}");
        }
        assert!(!follows_from_dram(&finding(Cause::Compute, "Matmul"), &ops));
        let below = [op(600.0, Some(79.9), None)];
        assert!(!follows_from_dram(&finding(Cause::Reader, "Matmul"), &below));
        // Ops without names are the same op if their programs are the same.
        let program = |id| Place { run_host_id: Some(id), ..Place::default() };
        let unnamed = [ModelFacts { place: program(2048), ..op_at_peak() }];
        let program_finding = |id| Finding { place: program(id), ..finding(Cause::Reader, "") };
        assert!(follows_from_dram(&program_finding(2048), &unnamed));
        assert!(!follows_from_dram(&program_finding(1024), &unnamed));
    }

    fn op_at_peak() -> ModelFacts {
        op(600.0, Some(90.0), None)
    }
}
