//! Rules about cores that start late.

use super::{OpGroup, duration, kernel_ns, zones::is_large};
use crate::{
    finding::{Basis, Cause, Finding, GainOf, Place, percent},
    late_starts::{LATE_STARTS, start_skew_of},
    op_code_group::most_of_one_chip,
    threshold::{START_SKEW, START_SKEW_TIME},
};
use recording::problem::counted;
use reports::perf::{OpReport, RowKind};
use std::collections::BTreeMap;

/// Reports cores that start late within each launch.
pub(super) fn start_skew(group: &OpGroup<'_>, kernels_ns: f64) -> Option<Finding> {
    let known: Vec<_> = group
        .ops
        .iter()
        .filter_map(|op| Some((*op, op.start_skew_ns?)))
        .filter(|(op, _)| kernel_ns(op) > 0.0)
        .collect();
    let skew_ns: f64 = known.iter().map(|(_, skew)| skew).sum();
    let time_ns: f64 = known.iter().map(|(op, _)| kernel_ns(op)).sum();
    let share = percent(skew_ns, time_ns);
    if share < START_SKEW.value || !is_large(group, kernels_ns) {
        return None;
    }
    let (longest, most) = known.iter().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let sentence = format!(
        "Cores of {} start up to {} apart: from the first start to the last are {share:.0} % of the \
         kernels' time",
        group.label,
        duration(*most),
    );
    let place =
        Place { chip_id: Some(longest.chip_id), launch: Some(longest.launch), ..group.place() };
    let advice = LATE_STARTS;
    let basis = Basis::launches(known.len(), group.ops.len());
    let finding =
        Finding::new(Cause::StartSkew, (START_SKEW, share), sentence, place, advice, basis);
    Some(finding.with_gain(skew_ns, (time_ns, GainOf::Ops)))
}

/// Maximum number of op codes that the sentence about all rows names.
const MOST_NAMES: usize = 3;

/// Reports that the cores of the ops in an ops CSV start late, over all ops together: what a short op
/// loses to it is little, what hundreds of them lose is not.
pub(crate) fn start_skew_of_rows(rows: &[OpReport]) -> Option<Finding> {
    let ops = || rows.iter().filter(|row| row.kind == RowKind::Device);
    let known: Vec<_> = ops().filter_map(|row| Some((row, start_skew_of(row)?))).collect();
    let skew_ns: f64 = known.iter().map(|(_, (skew, _))| skew).sum();
    let kernels_ns: f64 = ops().filter_map(|row| row.device_time_us).sum::<f64>() * 1000.0;
    let share = percent(skew_ns, kernels_ns);
    if share < START_SKEW_TIME.value {
        return None;
    }
    let mut by_name: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (row, (skew, ns)) in &known {
        let (skews, times) = by_name.entry(&row.raw_op_code).or_default();
        (*skews, *times) = (*skews + skew, *times + ns);
    }
    let mut by_name: Vec<_> = by_name.into_iter().collect();
    by_name.sort_by(|(_, (one, _)), (_, (other, _))| other.total_cmp(one));
    let names = by_name.iter().take(MOST_NAMES);
    let names = names.map(|(name, (skew, ns))| format!("{name} {:.0} %", percent(*skew, *ns)));
    let mut longest = known.clone();
    longest.sort_by(|(_, (one, _)), (_, (other, _))| other.total_cmp(one));
    let (first, _) = longest.first()?;
    let sentence = format!(
        "From the start of an op's first core to that of its last are {share:.1} % of the kernels' time \
         ({}, {}); of their own time {}",
        counted(known.len() as u64, "op", "ops"),
        duration(skew_ns),
        names.collect::<Vec<_>>().join(", "),
    );
    let most_ns = most_of_one_chip(known.iter().map(|(row, (skew, _))| (row.chip_id(), *skew)));
    let finding = Finding::new(
        Cause::StartSkew,
        (START_SKEW_TIME, share),
        sentence,
        Place::from_row(first),
        LATE_STARTS,
        Basis::ops(known.len(), ops().count()),
    );
    let rows = longest.iter().take(3).map(|(row, _)| row.id).collect();
    Some(Finding { rows, ..finding.with_gain(most_ns, (kernels_ns, GainOf::Kernels)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Explanation;
    use reports::perf::{PerfReport, read_ops_csv};

    fn findings(rows: &[(&str, u64, u64)]) -> Vec<Finding> {
        let mut text =
            "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,DEVICE KERNEL DURATION [ns],\
                        DEVICE KERNEL FIRST TO LAST START [ns]\n"
                .to_owned();
        for (name, ns, skew) in rows {
            text += &format!("{name},tt_dnn_device,0,wormhole_b0,64,{ns},{skew}\n");
        }
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
        let found = Explanation::from_perf_report(&report).findings;
        found.into_iter().filter(|finding| finding.cause == Cause::StartSkew).collect()
    }

    /// As in tt-metal pull request 20985: each op loses little, all together a fifth.
    #[test]
    fn late_starts_of_all_ops_are_summed() {
        let rows = [
            ("MatmulDeviceOperation", 40_000, 3_600),
            ("RotaryEmbedding", 8_000, 3_900),
            ("LayerNorm", 12_000, 2_500),
            // A start after the op's end is no start of the op.
            ("Reshape", 1_000, 2_000),
        ];
        let found = findings(&rows);
        let [finding] = found.as_slice() else { panic!("{found:#?}") };
        // 10,000 of 61,000 ns.
        assert_eq!(
            finding.sentence,
            "From the start of an op's first core to that of its last are 16.4 % of the kernels' time \
             (3 ops, 10 us); of their own time RotaryEmbedding 49 %, MatmulDeviceOperation 9 %, \
             LayerNorm 21 %"
        );
        assert_eq!(finding.rests_on, Basis::ops(3, 4));
        assert_eq!(finding.rows, [3, 2, 4]);
        assert!((finding.gain_at_most_ns.unwrap() - 10_000.0).abs() < 1e-6);
        let little = rows.map(|(name, ns, skew)| (name, ns, skew / 2));
        assert!(findings(&little).is_empty());
    }
}
