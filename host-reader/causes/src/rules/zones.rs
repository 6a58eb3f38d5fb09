//! Rules about zones in kernels, and about the RISC that runs longest.

use super::{OpGroup, duration, kernel_ns};
use crate::{
    awaited::Awaited,
    finding::{Basis, Cause, Finding, GainOf, Place, percent},
    kernel_zone::{KernelZone, largest_zones},
    op::OpCauses,
    threshold::{GROUP_TIME, KERNEL_ZONE, LONGEST_RISC, STRAGGLER},
    time_class::WaitEvidence,
};
use reader::names::ZoneTable;
use std::collections::BTreeSet;
use wire::RunHostId;

/// Returns true if a group takes enough of the kernels' time for a sentence.
pub(super) fn is_large(group: &OpGroup<'_>, kernels_ns: f64) -> bool {
    percent(group.kernel_ns(), kernels_ns) >= GROUP_TIME.value
}

/// Reports the zone that takes most of a RISC's kernels.
pub(super) fn kernel_zone(
    group: &OpGroup<'_>,
    kernels_ns: f64,
    zones: &ZoneTable,
) -> Option<Finding> {
    let (op, zone) =
        group.longest(|op| op.kernel_zone.as_ref()).filter(|_| is_large(group, kernels_ns))?;
    let name = zones.label(zone.zone).into_owned();
    let whose = match zone.role {
        Some(role) => format!("the {role}'s time ({})", zone.risc),
        None => format!("the time of {}", zone.risc),
    };
    let awaited = zone.awaited;
    let is = match (awaited, zone.is_lower_bound) {
        (Some(_), true) => "is a wait and at least",
        (Some(_), false) => "is a wait and",
        (None, true) => "is at least",
        (None, false) => "is",
    };
    let sentence = format!(
        "{} {is} {:.0} % of {whose} in {}, on {} of {} cores",
        zone.label(zones),
        zone.percent,
        group.label,
        zone.core_count,
        zone.kernel_core_count
    );
    let place = Place {
        chip_id: Some(op.chip_id),
        launch: Some(op.launch),
        risc: Some(zone.risc.label()),
        zone: Some(name),
        ..group.place()
    };
    let advice = match awaited {
        Some(Awaited::Data) => {
            "nothing inside a wait can be shortened: look at the RISC that fills this buffer, which is late"
        }
        Some(Awaited::Room) => {
            "nothing inside a wait can be shortened: look at the RISC that empties this buffer, which is \
             late, or give the buffer more room"
        }
        None => {
            "shorten what the zone contains, or put zones into it to see which part takes the time"
        }
    };
    let basis = Basis::launches(1, group.ops.len());
    let figure = (KERNEL_ZONE, zone.percent);
    let finding = Finding::new(Cause::KernelZone, figure, sentence, place, advice, basis);
    let others = || op.zones.iter().filter(|of| of.risc != zone.risc);
    let blocked = others().filter_map(|of| blocked(of, zones));
    let also = largest_zones(&op.zones, &op.riscs_ns);
    let also = also.iter().filter(|of| of.risc != zone.risc && of.awaited.is_none());
    let also = also
        .map(|of| format!("{} is {:.0} % of the time of {}", of.label(zones), of.percent, of.risc));
    let why = uneven_cores(zone, op).into_iter().chain(also).chain(blocked).collect();
    Some(Finding { why, ..finding })
}

/// Returns a fact about the cores of a zone, if the longest is much longer in it than their mean: kernels that
/// wait for each other end at the same time, however unlike their work.
fn uneven_cores(zone: &KernelZone, op: &OpCauses) -> Option<String> {
    let (least, most, core) = zone.core_cycles;
    let mean = zone.cycles as f64 / zone.core_count as f64;
    if (most as f64) < mean * STRAGGLER.value {
        return None;
    }
    let cycles = op.kernel?.duration_cycles;
    let ns = kernel_ns(op) / std::num::NonZeroU64::new(cycles)?.get() as f64;
    let [least, mean, most] = [least as f64, mean, most as f64].map(|cycles| duration(cycles * ns));
    let core = format!("({},{})", core.x, core.y);
    Some(format!(
        "its cores are in it for {least} to {most}, {mean} in the mean; longest on core {core}"
    ))
}

/// Returns a fact about a RISC that stands in a wait at a circular buffer for most of its time; `None` for
/// another zone.
fn blocked(zone: &KernelZone, zones: &ZoneTable) -> Option<String> {
    let name = zones.label(zone.zone);
    let what = match zone.awaited.filter(|_| zone.percent >= KERNEL_ZONE.value)? {
        Awaited::Data => "data",
        Awaited::Room => "room",
    };
    Some(format!("{} waits for {what} {:.0} % of its time, in {name}", zone.risc, zone.percent))
}

/// Makes one finding of those about one zone of one RISC in several programs without a name: they run the same
/// kernel, or kernels that share the zone. The finding with the largest share is kept.
pub(super) fn join_programs(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<(Finding, Vec<(u32, f64)>)> = Vec::new();
    for mut finding in findings {
        let is_alike = |of: &Finding| {
            let has_no_name = finding.cause == Cause::KernelZone && finding.place.op.is_none();
            let key = |of: &Finding| {
                (of.cause, of.place.op.clone(), of.place.risc, of.place.zone.clone())
            };
            has_no_name && key(of) == key(&finding)
        };
        let Some((known, others)) = kept.iter_mut().find(|(of, _)| is_alike(of)) else {
            kept.push((finding, Vec::new()));
            continue;
        };
        if finding.figure > known.figure {
            std::mem::swap(&mut finding, known);
        }
        others.extend(finding.place.run_host_id.map(|id| (RunHostId(id).base(), finding.figure)));
        known.rests_on.count = known.rests_on.count.saturating_add(finding.rests_on.count);
        known.rests_on.of = known.rests_on.of.saturating_add(finding.rests_on.of);
    }
    kept.into_iter().map(|(finding, others)| with_programs(finding, others)).collect()
}

/// Adds the shares that the same zone has in other programs.
fn with_programs(mut finding: Finding, mut others: Vec<(u32, f64)>) -> Finding {
    others.sort_by_key(|(program, _)| *program);
    let shares = others.iter().map(|(_, share)| *share);
    if let Some((least, most)) = shares.clone().reduce(f64::min).zip(shares.reduce(f64::max)) {
        let [least, most] = [least, most].map(|share| format!("{share:.0}"));
        let share = if least == most { least } else { format!("{least} to {most}") };
        let programs: Vec<String> = others.iter().map(|(program, _)| program.to_string()).collect();
        let programs = match programs.split_last() {
            Some((last, [])) => format!("program {last}"),
            Some((last, first)) => format!("programs {} and {last}", first.join(", ")),
            None => return finding,
        };
        finding.why.push(format!("the same zone is {share} % of it in {programs}"));
    }
    finding
}

/// Reports the RISC whose kernels take much longer than those of every other RISC, if waits do not
/// show which stage sets the pace.
pub(super) fn longest_risc(group: &OpGroup<'_>, kernels_ns: f64) -> Option<Finding> {
    let known: Vec<_> = group
        .ops
        .iter()
        .filter(|op| op.time.waits == WaitEvidence::None)
        .filter_map(|op| {
            let mut riscs = op.riscs_ns.clone();
            riscs.sort_by(|(_, one), (_, other)| other.total_cmp(one));
            let &[longest, next, ..] = &*riscs else { return None };
            Some((*op, longest, next))
        })
        .collect();
    let (first, (risc, _), _) = known.first()?;
    let is_always = known.iter().all(|(_, (longest, _), _)| longest == risc);
    let [time_ns, next_ns] = [
        known.iter().map(|(_, (_, ns), _)| ns).sum::<f64>(),
        known.iter().map(|(.., (_, ns))| ns).sum(),
    ];
    let times = if next_ns > 0.0 { time_ns / next_ns } else { return None };
    if !is_always || times < LONGEST_RISC.value || !is_large(group, kernels_ns) {
        return None;
    }
    let others: BTreeSet<&str> = known.iter().map(|(.., (next, _))| next.label()).collect();
    let others: Vec<&str> = others.into_iter().collect();
    let sentence = format!(
        "{risc} sets the length of {}: its kernels take {}, {times:.1} times those of the next longest \
         ({})",
        group.label,
        duration(time_ns),
        others.join(", "),
    );
    let place = Place {
        chip_id: Some(first.chip_id),
        launch: Some(first.launch),
        risc: Some(risc.label()),
        ..group.place()
    };
    let advice = format!(
        "give work of {risc} to other RISCs, or put zones into its kernel to see which part takes the time"
    );
    let basis = Basis::launches(known.len(), group.ops.len());
    let figure = (LONGEST_RISC, times);
    let finding = Finding::new(Cause::LongestRisc, figure, sentence, place, advice, basis);
    let whole_ns: f64 = known.iter().map(|(op, ..)| kernel_ns(op)).sum();
    Some(finding.with_gain(time_ns - next_ns, (whole_ns, GainOf::Ops)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_of_several_programs_is_one_finding() {
        let finding = |op: Option<&str>, program: u32, zone: &str, percent: f64| {
            let place = Place {
                op: op.map(str::to_owned),
                run_host_id: Some(program << 10),
                risc: Some("BRISC"),
                zone: Some(zone.to_owned()),
                ..Place::default()
            };
            let sentence = format!("{zone} is {percent} % in program {program}");
            let basis = Basis::launches(1, 2);
            Finding::new(Cause::KernelZone, (KERNEL_ZONE, percent), sentence, place, "", basis)
        };
        let found = join_programs(vec![
            finding(None, 1, "READ", 60.0),
            finding(None, 2, "WRITE", 55.0),
            finding(None, 3, "READ", 80.0),
            finding(Some("Add"), 4, "READ", 70.0),
            finding(None, 5, "READ", 50.0),
            finding(Some("Mul"), 6, "READ", 70.0),
        ]);
        let told: Vec<_> = found.iter().map(|of| (of.sentence.as_str(), of.why.len())).collect();
        let expected = [
            ("READ is 80 % in program 3", 1),
            ("WRITE is 55 % in program 2", 0),
            ("READ is 70 % in program 4", 0),
            ("READ is 70 % in program 6", 0),
        ];
        assert_eq!(told, expected);
        assert_eq!(found[0].why, ["the same zone is 50 to 60 % of it in programs 1 and 5"]);
        assert_eq!(found[0].rests_on, Basis::launches(3, 6));
    }
}
