//! Rules about groups of ops with the same op code, and about ops that only rearrange tensors.

use super::duration;
use crate::{
    finding::{Basis, Cause, Finding, GainOf, Place, percent},
    op_code_group::{GroupBound, OpCodeGroup},
    parallel::busiest_share,
    reason::Reason,
    threshold::{
        DOMINANT_PART, GROUP_TIME, LAYOUT_TIME, LONGER_RISC, LONGEST_RISC, LONGEST_UNLESS,
        ROUND_TRIP_TIME,
    },
    ttnn_call::ttnn_call,
};
use recording::problem::counted;
use reports::perf::{LimitKind, OpCategory, OpReport, RowKind, Tensor};
use std::collections::{BTreeMap, BTreeSet};
use wire::Risc;

/// Maximum number of reasons and advice texts in one finding.
const NAMED_REASONS: usize = 4;

impl OpCodeGroup {
    fn place(&self) -> Place {
        Place { op: Some(self.op.clone()), row: self.rows.first().copied(), ..Place::default() }
    }

    /// Returns what the group's percentage is a share of.
    const fn whole(&self) -> &'static str {
        if self.is_of_known_time { "the known kernels' time" } else { "the kernels' time" }
    }

    fn ops(&self) -> String {
        let ops = match self.part_of {
            Some(all) => format!("{} of its {all} ops", self.op_count),
            None => counted(self.op_count as u64, "op", "ops"),
        };
        format!("{ops}, {}", duration(self.duration_ns))
    }

    /// Returns the time, in nanoseconds, that the group could save: the most that it could on any
    /// chip, since chips run at the same time.
    ///
    /// If the comparison with the group's best op is the only reason, it is the time saved if each
    /// op came as close to its minimum time as the best op. Otherwise, it is the time saved if the
    /// ops took only the minimum time that their shapes require.
    fn gain_ns(&self, limit_ns: f64) -> f64 {
        let to_limit = self.most_over_limit_ns.unwrap_or(self.duration_ns - limit_ns);
        match self.reasons.as_slice() {
            [Reason { gain_ns: Some(row_gain), .. }] => row_gain.min(to_limit),
            _ => to_limit,
        }
    }

    /// Returns which RISC outlasts the others, if its kernels take much longer than those of all
    /// others, or if nothing else is known of what limits the ops.
    fn longest_risc(&self) -> Option<String> {
        let riscs = [Risc::Brisc, Risc::Ncrisc, Risc::Trisc0, Risc::Trisc1, Risc::Trisc2];
        let known = riscs.iter().copied().zip(self.riscs_ns);
        let mut known: Vec<(Risc, f64)> =
            known.filter_map(|(risc, ns)| Some((risc, ns.filter(|ns| *ns > 0.0)?))).collect();
        known.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let [(longest, ns), others @ ..] = known.as_slice() else { return None };
        let (_, next_ns) = others.first()?;
        let times = ns / next_ns;
        let is_much_longer = times >= LONGEST_RISC.value;
        let is_longer = times >= LONGER_RISC.value;
        if !is_much_longer && (self.exact_limit_ns().is_some() || !is_longer) {
            return None;
        }
        let others = others.iter().map(|(risc, ns)| format!("{risc} {}", duration(*ns)));
        let others: Vec<String> = others.collect();
        // A RISC without a time may run longer, but not longer than the op.
        let is_longest =
            known.len() == riscs.len() || *ns * LONGEST_UNLESS.value >= self.duration_ns;
        let among = if is_longest { "" } else { "of the RISCs whose times are known, " };
        Some(format!("{among}{longest} runs longest, {}; {}", duration(*ns), others.join(", ")))
    }

    /// Returns which ops of one shape take most of the group's time, if they are a small part of its ops.
    fn dominant_part(&self) -> Option<String> {
        let longest =
            self.parts.iter().max_by(|one, other| one.duration_ns.total_cmp(&other.duration_ns))?;
        let share = percent(longest.duration_ns, self.duration_ns);
        let is_few = longest.op_count.saturating_mul(3) <= self.op_count;
        if !is_few || share < DOMINANT_PART.value {
            return None;
        }
        let rows: Vec<String> = longest.rows.iter().map(u64::to_string).collect();
        let of = format!("{} of its {} ops", longest.op_count, self.op_count);
        let (takes, rows) = match rows.as_slice() {
            [row] if longest.op_count == 1 => ("takes", format!("row {row}")),
            rows if rows.len() < longest.op_count => {
                ("of one shape take", format!("such as rows {}", rows.join(", ")))
            }
            rows => ("of one shape take", format!("rows {}", rows.join(", "))),
        };
        Some(format!(
            "{of} {takes} {share:.1} % of that ({}): {rows}",
            duration(longest.duration_ns)
        ))
    }

    /// Adds reasons, rows and advice to a finding.
    fn explain(&self, finding: &mut Finding) {
        // At more than half of a limit, the limit is the reason.
        let is_bound = matches!(
            self.bound,
            Some(GroupBound::Dram | GroupBound::Compute | GroupBound::Both | GroupBound::Noc)
        );
        let is_near = is_bound && !self.is_far_from_limit();
        let reasons = self.reasons.iter().filter(|reason| !is_near || reason.is_fidelity);
        let reasons = reasons.take(NAMED_REASONS);
        let facts = reasons.clone().map(|reason| reason.fact.clone());
        finding.why = self.dominant_part().into_iter().chain(facts).collect();
        finding.why.extend(self.longest_risc());
        finding.rows.clone_from(&self.rows);
        let advice: Vec<String> = reasons.map(|reason| lower_first(&reason.advice)).collect();
        if finding.advice.is_empty() {
            finding.advice = match advice.as_slice() {
                [] => "compare memory, sharding and cores of its rows in `kprof perf`".to_owned(),
                advice => advice.join("; "),
            };
        }
    }
}

/// Converts the first letter of a text to lower case, unless the text begins with a name such as
/// `HiFi2`.
fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let is_name =
        text.split(' ').next().is_some_and(|word| word.chars().skip(1).any(char::is_uppercase));
    if is_name {
        return text.to_owned();
    }
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Reports groups with a large part of the kernel time, if they are much slower than their shapes
/// allow, run on few cores, or have an unknown minimum time.
///
/// If all ops of a group together are closer to their limit, those of one shape may be far from it.
///
/// Collectives are left out: their time is that of links and of waiting for other chips, about which
/// a group's shapes, cores and fidelity say nothing.
pub(crate) fn op_groups(groups: &[OpCodeGroup]) -> Vec<Finding> {
    let is_collective =
        |group: &OpCodeGroup| OpCategory::from_op_code(&group.op) == OpCategory::Ccl;
    let others = groups.iter().filter(|group| !group.is_layout && !is_collective(group));
    let is_large = |group: &&OpCodeGroup| group.percent >= GROUP_TIME.value;
    let found = others.filter(is_large).flat_map(|group| {
        let of_group = op_group(group);
        let parts = group.parts.iter().filter(is_large);
        // A mean over all shapes hides one that is far from its limit.
        let parts = parts.filter(|part| match of_group {
            Some(_) => !group.is_far_from_limit() && part.is_far_from_limit(),
            None => true,
        });
        let of_parts = parts.filter_map(op_group).collect::<Vec<_>>();
        of_group.into_iter().chain(of_parts)
    });
    found.collect()
}

fn op_group(group: &OpCodeGroup) -> Option<Finding> {
    if group.is_close_to_limit() {
        return None;
    }
    let (bound, gain_ns) = match (group.exact_limit_ns(), group.transfers_limit_ns()) {
        (Some(limit_ns), _) => (far_from(group, limit_ns), Some(group.gain_ns(limit_ns))),
        // The gain is an upper bound, so a lower bound of the limit is enough for it.
        (None, Some(limit_ns)) => {
            let used = used_peaks(group).join(" and ");
            let known = match group.has_least_flops {
                true => format!(
                    "what is modelled of it takes {} at the peaks of the whole chip, and its limit is not known",
                    duration(limit_ns)
                ),
                false => "only its transfers with DRAM are modelled, so its limit is not known"
                    .to_owned(),
            };
            (format!("at {used}; {known}"), Some(group.gain_ns(limit_ns)))
        }
        (None, None) if group.idle_cores_ns > 0.0 => {
            let longest = group.few_cores().map_or_else(String::new, |(cores, available)| {
                format!(", the longest on {cores} of {available} cores")
            });
            (format!("in part on few cores{longest}"), Some(group.most_idle_cores_ns))
        }
        (None, None) => (without_limit(group), None),
    };
    let sentence = format!(
        "{} takes {:.1} % of {} ({}) {bound}",
        group.op,
        group.percent,
        group.whole(),
        group.ops()
    );
    let figure = (GROUP_TIME, group.percent);
    let finding = Finding::new(
        Cause::OpGroup,
        figure,
        sentence,
        group.place(),
        "",
        Basis::ops(group.op_count, group.part_of.unwrap_or(group.op_count)),
    );
    let mut finding = finding.with_gain(gain_ns, (group.duration_ns, GainOf::Kernels));
    finding.chips = chips_of([group]);
    group.explain(&mut finding);
    Some(finding)
}

/// Returns the chips that run the ops of groups; empty if one is unknown.
pub(super) fn chips_of<'a>(groups: impl IntoIterator<Item = &'a OpCodeGroup>) -> Vec<u32> {
    let chips = groups.into_iter().flat_map(|group| group.chips_ns.iter().map(|(chip, _)| *chip));
    let chips: Option<BTreeSet<u32>> = chips.collect();
    chips.unwrap_or_default().into_iter().collect()
}

/// Returns a text about a group whose minimum time is not known.
fn without_limit(group: &OpCodeGroup) -> String {
    if group.refuted_model_count > 0 {
        return format!(
            "and its limit is not known: for {} of {} the model exceeds a peak rate of the chip, so it \
             is wrong",
            group.refuted_model_count,
            counted(group.op_count as u64, "op", "ops"),
        );
    }
    match (group.dram_percent, group.dram_at_most_percent, group.limit_kind) {
        (least, Some(most), _) => {
            let [least, most] = [least.unwrap_or(0.0), most].map(|percent| format!("{percent:.0}"));
            let range = if least == most { least } else { format!("{least} to {most}") };
            format!(
                "and its limit is not known: it uses {range} % of the peak DRAM bandwidth, depending on how \
                 much of its tensors it reads and writes"
            )
        }
        (_, None, LimitKind::LowerBound) => {
            "and its limit is not known: only a part of its work is modelled".to_owned()
        }
        (_, None, _) => "and its limit is not modelled".to_owned(),
    }
}

/// Returns a text about the percentages of the chip's peak rates that a group reaches, and about
/// the group's minimum time `limit_ns`.
fn far_from(group: &OpCodeGroup, limit_ns: f64) -> String {
    let used = used_peaks(group);
    let bound = match group.bound {
        Some(GroupBound::Compute) => "bound by the FLOPs of these cores",
        Some(GroupBound::Dram) => "bound by DRAM",
        Some(GroupBound::Both) => "bound by both",
        Some(GroupBound::Noc) => "bound by a link of the NoC",
        Some(GroupBound::Neither) | None if used.len() > 2 => "bound by none of them",
        Some(GroupBound::Neither) | None if used.len() > 1 => "bound by neither",
        Some(GroupBound::Neither) | None => "not bound by it",
    };
    let times = group.duration_ns / limit_ns;
    let times = if times < 10.0 { format!("{times:.1}") } else { format!("{times:.0}") };
    format!(
        "at {}: {bound}; at the peaks of the whole chip it would take {}, {times} times less",
        used.join(" and "),
        duration(limit_ns)
    )
}

/// Returns texts about the shares of the chip's peak rates that a group reaches.
fn used_peaks(group: &OpCodeGroup) -> Vec<String> {
    let flops = group
        .flops_percent
        .map(|percent| format!("{percent:.0} % of the peak FLOPs of the cores that it uses"));
    let dram = group.dram_percent.map(|percent| {
        let least = if group.is_dram_lower_bound { "at least " } else { "" };
        format!("{least}{percent:.0} % of the peak DRAM bandwidth")
    });
    let noc = group.noc_percent.map(|percent| {
        let least = if group.is_noc_lower_bound { "at least " } else { "" };
        format!("{least}{percent:.0} % of the peak of the busiest NoC link")
    });
    flops.into_iter().chain(dram).chain(noc).collect()
}

/// Maximum number of layout changes that one sentence names.
const LAYOUT_NAMES: usize = 3;

/// Reports layout changes, if together they take a large part of the kernel time.
fn layout(groups: &[OpCodeGroup]) -> Option<Finding> {
    let kernels_ns: f64 = groups.iter().map(|group| group.duration_ns).sum();
    let changes: Vec<_> = groups.iter().filter(|group| group.is_layout).collect();
    let first = changes.first()?;
    let ns: f64 = changes.iter().map(|group| group.duration_ns).sum();
    let time_percent = percent(ns, kernels_ns);
    if time_percent < LAYOUT_TIME.value {
        return None;
    }
    let count: usize = changes.iter().map(|group| group.op_count).sum();
    let names: Vec<String> = changes
        .iter()
        .take(LAYOUT_NAMES)
        .map(|group| format!("{} {:.1} %", group.op, group.percent))
        .collect();
    let ops = counted(count as u64, "op", "ops");
    let sentence = format!(
        "Rearranging tensors takes {time_percent:.1} % of {} ({ops}, {}): {}",
        first.whole(),
        duration(ns),
        names.join(", ")
    );
    let advice = layout_advice(&changes);
    let figure = (LAYOUT_TIME, time_percent);
    let finding = Finding::new(
        Cause::Layout,
        figure,
        sentence,
        first.place(),
        advice,
        Basis::ops(count, groups.iter().map(|group| group.op_count).sum()),
    );
    let chips = changes.iter().flat_map(|group| group.chips_ns.iter().copied());
    let finding = finding.with_gain(ns, (kernels_ns, GainOf::Kernels));
    let mut finding = finding.with_part_of_gain(busiest_share(chips));
    finding.chips = chips_of(changes.iter().copied());
    first.explain(&mut finding);
    let calls = changes.iter().take(LAYOUT_NAMES).filter_map(|group| call_of(&group.op));
    let facts = finding.why.iter().map(|fact| format!("{}: {fact}", first.op));
    finding.why = calls.chain(facts).collect();
    if let Some(reason) = first.reasons.iter().find(|reason| reason.is_few_cores) {
        finding.advice = format!("{}; {}", finding.advice, reason.advice);
    }
    Some(finding)
}

/// Returns advice on how to avoid layout changes. `changes` must be sorted by descending time.
///
/// # Compatibility
/// ttnn's `Op2dSliceConfig` has the field `num_slices` and the type `L1_FULL`, which does not
/// slice.
fn layout_advice(changes: &[&OpCodeGroup]) -> String {
    let from_torch = if changes.iter().any(|group| group.op.starts_with("Tilize")) {
        " (ttnn.from_torch with layout=ttnn.TILE_LAYOUT for inputs)"
    } else {
        ""
    };
    let layouts = format!("produce each tensor in the layout that the next op takes{from_torch}");
    let weights = "convert weights once, before the first iteration";
    let slices = "let ttnn.conv2d cut its input into fewer slices (slice_config with a smaller \
                  num_slices), or into none if it fits into L1 (L1_FULL)";
    // The convolution itself makes these changes, so advice about weights would not help.
    let mut named = changes.iter().take(LAYOUT_NAMES);
    if named.any(|of| of.op.starts_with("PaddedSlice") || of.op.starts_with("SliceWrite")) {
        format!("{slices}; {layouts}")
    } else {
        format!("{layouts}; {weights}")
    }
}

/// Returns a fact with the ttnn call that launches an op; `None` if the call is unknown.
fn call_of(op: &str) -> Option<String> {
    ttnn_call(op).map(|call| format!("{op} comes from {call}"))
}

/// Reports layout changes, and conversions that the next op undoes.
///
/// If both are reported, the finding about conversions states which percentage of the conversions'
/// time the finding about layout changes also counts.
pub(crate) fn conversions(groups: &[OpCodeGroup], rows: &[OpReport]) -> Vec<Finding> {
    let kernels_ns = groups.iter().map(|group| group.duration_ns).sum();
    let whole = groups.first().map_or("the kernels' time", OpCodeGroup::whole);
    let layout = layout(groups);
    let trips = trips(rows);
    let mut undone =
        round_trips(&trips, whole, (kernels_ns, groups.iter().map(|group| group.op_count).sum()));
    if let Some(undone) = undone.as_mut().filter(|_| layout.is_some()) {
        match shared_with_layout(&trips, |row| {
            groups.iter().any(|group| group.is_layout && group.op == *row.raw_op_code)
        }) {
            percent if percent >= 99.95 => undone.is_in_layout = true,
            percent if percent > 0.0 => undone.why.push(format!(
                "{percent:.0} % of this time also counts as rearranging tensors: the two gains do \
                 not add up"
            )),
            _ => {}
        }
    }
    layout.into_iter().chain(undone).collect()
}

/// Returns the percentage of the conversions' time that is also counted as time of layout changes.
fn shared_with_layout(trips: &[Trip<'_>], is_layout: impl Fn(&OpReport) -> bool) -> f64 {
    let ops = trips.iter().flat_map(|trip| trip.ops);
    let shared: f64 = ops.clone().filter(|row| is_layout(row)).map(row_ns).sum();
    percent(shared, ops.map(row_ns).sum())
}

pub(super) fn row_ns(row: &OpReport) -> f64 {
    row.device_time_us.unwrap_or(0.0) * 1000.0
}

/// Reports conversions that the next op undoes.
fn round_trips(
    trips: &[Trip<'_>],
    whole: &str,
    (kernels_ns, op_count): (f64, usize),
) -> Option<Finding> {
    let ns: f64 = trips.iter().map(|trip| trip.ns).sum();
    let share = busiest_share(trips.iter().map(|trip| (trip.ops[0].chip_id(), trip.ns)));
    let time_percent = percent(ns, kernels_ns);
    let longest = trips.iter().max_by(|one, other| one.ns.total_cmp(&other.ns))?;
    if time_percent < ROUND_TRIP_TIME.value {
        return None;
    }
    let around = trips.iter().filter(|trip| trip.is_around_host).count();
    let host = match around {
        0 => String::new(),
        count if count == trips.len() => ", all around ops on the host".to_owned(),
        count => format!(", {count} of them around ops on the host"),
    };
    let pairs = counted(trips.len() as u64, "pair", "pairs");
    let sentence = format!(
        "Conversions that the next op undoes take {time_percent:.1} % of {whole} ({pairs}, \
         {}), such as {} and {}{host}",
        duration(ns),
        longest.ops[0].raw_op_code,
        longest.ops[1].raw_op_code,
    );
    let advice = if around > 0 {
        "replace what the host does in between with an op on the device, and omit both conversions"
    } else {
        "omit both conversions"
    };
    let place = Place::from_row(longest.ops[0]);
    let figure = (ROUND_TRIP_TIME, time_percent);
    let pairs = trips.len().saturating_mul(2);
    let basis = Basis::ops(pairs, op_count);
    let finding = Finding::new(Cause::RoundTrip, figure, sentence, place, advice, basis);
    Some(Finding {
        rows: longest.ops.map(|row| row.id).to_vec(),
        why: longest.ops.iter().filter_map(|row| call_of(&row.raw_op_code)).collect(),
        ..finding.with_gain(ns, (kernels_ns, GainOf::Kernels)).with_part_of_gain(share)
    })
}

/// An op and the next op on its chip, if the next op undoes the first one.
struct Trip<'a> {
    ops: [&'a OpReport; 2],
    ns: f64,
    is_around_host: bool,
}

fn trips(rows: &[OpReport]) -> Vec<Trip<'_>> {
    let mut trips = Vec::new();
    // For each chip, the last op, which the next op may undo. The flag is true if a host op has run
    // since the last op.
    let mut last: BTreeMap<Option<u64>, (&OpReport, bool)> = BTreeMap::new();
    for row in rows {
        match row.kind {
            RowKind::Signpost => {}
            RowKind::Host => {
                last.values_mut().for_each(|(_, is_around_host)| *is_around_host = true)
            }
            RowKind::Device => {
                let before = last.insert(row.device, (row, false));
                let Some((first, is_around_host)) = before else { continue };
                if undoes(first, row) {
                    let ns = row_ns(first) + row_ns(row);
                    trips.push(Trip { ops: [first, row], ns, is_around_host });
                    last.remove(&row.device);
                }
            }
        }
    }
    trips
}

/// Returns true if both ops only move or convert one tensor, and the second op's output is the first
/// op's input again.
///
/// Equal shapes are not enough: a slice or a concatenation changes which elements there are, and a
/// permutation their order.
fn undoes(first: &OpReport, second: &OpReport) -> bool {
    let ops = [first, second];
    let has_one_input =
        |row: &OpReport| row.source.split(' ').filter(|of| !of.is_empty()).count() == 2;
    if !ops.into_iter().all(|row| has_one_input(row) && converts(&row.raw_op_code)) {
        return false;
    }
    let [[input, _, output], [second_input, _, result]] = ops.map(|row| &row.recorded.tensors);
    let is_inverse_layout =
        [("Tilize", "Untilize"), ("Untilize", "Tilize")].iter().any(|(one, other)| {
            first.raw_op_code.starts_with(one) && second.raw_op_code.starts_with(other)
        });
    let permutations = ops.map(|row| {
        let is_permutation = PERMUTATIONS.iter().any(|word| is_named(&row.raw_op_code, word));
        is_permutation.then(|| permutation(&row.recorded.attributes))
    });
    let is_order_kept = match permutations {
        [None, None] => true,
        [Some(Some(one)), Some(Some(other))] => {
            other.iter().enumerate().all(|(to, &from)| one.get(from) == Some(&to))
        }
        _ => false,
    };
    let is_changed = input != output || is_inverse_layout || permutations[0].is_some();
    is_same(input, result) && is_same(output, second_input) && is_order_kept && is_changed
}

/// Ops that move a tensor or change its layout, type or shape, and keep all of its elements.
const CONVERSIONS: [&str; 10] = [
    "tilize",
    "interleavedtosharded",
    "shardedtointerleaved",
    "reshard",
    "move",
    "copy",
    "clone",
    "typecast",
    "reshape",
    "assign",
];

/// Ops that change the order of the elements.
const PERMUTATIONS: [&str; 2] = ["transpose", "permute"];

/// Parts of ops that also do something else.
const MORE_THAN_CONVERSIONS: [&str; 3] = ["halo", "concat", "slice"];

/// Returns true if the name of an op contains a word, whatever its case, and with or without `_`.
fn is_named(op_code: &str, word: &str) -> bool {
    op_code.to_ascii_lowercase().replace('_', "").contains(word)
}

fn converts(op_code: &str) -> bool {
    CONVERSIONS.iter().chain(&PERMUTATIONS).any(|word| is_named(op_code, word))
        && !MORE_THAN_CONVERSIONS.iter().any(|word| is_named(op_code, word))
}

/// Returns true if two tensors have the same elements, type, place and, as far as it is recorded,
/// layout.
fn is_same(one: &Tensor, other: &Tensor) -> bool {
    let is_same_layout =
        one.layout.is_none() || other.layout.is_none() || one.layout == other.layout;
    one.sides == other.sides
        && one.logical_sides == other.logical_sides
        && one.datatype == other.datatype
        && one.memory == other.memory
        && is_same_layout
}

/// Returns for each side of the output of a permutation which side of the input it is; `None` if the
/// attributes do not say it.
///
/// # Compatibility
/// ttnn's attribute `dims` of a permutation, such as `SmallVector([2; 1; 0; 3])`, and `dim` of a
/// transposition, such as `TransposeOpDim::WH`, with the sides N, C, H and W.
fn permutation(attributes: &str) -> Option<[usize; 4]> {
    const SIDES: &str = "NCHW";
    if let Some((_, rest)) = attributes.split_once("TransposeOpDim::") {
        let mut swapped = rest.chars().take(2).map(|side| SIDES.find(side));
        let (one, other) = (swapped.next()??, swapped.next()??);
        let mut order = [0, 1, 2, 3];
        order.swap(one, other);
        return Some(order);
    }
    let (_, rest) = attributes.split_once("'dims':")?;
    let (_, rest) = rest.split_once('[')?;
    let (list, _) = rest.split_once(']')?;
    let sides: Result<Vec<usize>, _> =
        list.split([';', ',']).map(|side| side.trim().parse::<usize>()).collect();
    sides.ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_ops_of_one_shape_that_take_most_of_their_kind_are_named() {
        let part = |op_count, duration_ns, rows: &[u64]| OpCodeGroup {
            op_count,
            duration_ns,
            rows: rows.to_vec(),
            ..OpCodeGroup::default()
        };
        let told = |parts: &[OpCodeGroup]| {
            let op_count = parts.iter().map(|part| part.op_count).sum();
            let duration_ns = parts.iter().map(|part| part.duration_ns).sum();
            let parts = parts.to_vec();
            OpCodeGroup { op_count, duration_ns, parts, ..OpCodeGroup::default() }.dominant_part()
        };
        let others = part(9, 2e6, &[3, 4, 5]);
        assert_eq!(
            told(&[others.clone(), part(1, 38e6, &[126])]).as_deref(),
            Some("1 of its 10 ops takes 95.0 % of that (38.0 ms): row 126")
        );
        assert_eq!(
            told(&[others.clone(), part(4, 38e6, &[7, 8, 9])]).as_deref(),
            Some(
                "4 of its 13 ops of one shape take 95.0 % of that (38.0 ms): such as rows 7, 8, 9"
            )
        );
        assert_eq!(told(&[others.clone(), part(5, 38e6, &[7, 8, 9])]), None, "more than a third");
        assert_eq!(told(&[others, part(1, 5e6, &[126])]), None, "71 %");
        assert_eq!(told(&[]), None);
    }

    fn group(op: &str, duration_ns: f64, percent: f64) -> OpCodeGroup {
        OpCodeGroup {
            op: op.into(),
            op_count: 2,
            duration_ns,
            percent,
            rows: vec![4, 9],
            ..OpCodeGroup::default()
        }
    }

    fn limited(duration_ns: f64, percent: f64, limit_ns: f64) -> OpCodeGroup {
        OpCodeGroup {
            limit_ns: Some(limit_ns),
            limit_kind: LimitKind::Exact,
            flops_percent: Some(3.0),
            dram_percent: Some(25.0),
            bound: Some(GroupBound::Neither),
            ..group("Matmul", duration_ns, percent)
        }
    }

    #[test]
    fn a_group_far_from_its_limit_is_told_with_what_it_could_gain() {
        let found = op_groups(&[limited(6e6, 60.0, 1.5e6), group("Add", 4e6, 40.0)]);
        assert_eq!(
            found[0].sentence,
            "Matmul takes 60.0 % of the kernels' time (2 ops, 6.0 ms) at 3 % of the peak FLOPs of the \
             cores that it uses and 25 % of the peak DRAM bandwidth: bound by neither; at the peaks of \
             the whole chip it would take 1.5 ms, 4.0 times less"
        );
        assert_eq!((found[0].gain_at_most_ns, &*found[0].rows), (Some(4.5e6), &[4, 9][..]));
        assert_eq!((found[1].gain_at_most_ns, found.len()), (None, 2), "no model, no gain");
        assert_eq!(op_groups(&[limited(6e6, 60.0, 4.9e6)]), [], "at 82 % of its limit");
        let near = op_groups(&[limited(6e6, 60.0, 4.0e6)]);
        assert_eq!(near[0].gain_at_most_ns, Some(2e6), "at 67 % of its limit");
        assert_eq!(op_groups(&[limited(0.9e6, 9.0, 1.0)]), [], "below a tenth");
    }

    /// One op on 8 of 130 cores of a Blackhole, whose only tensor takes 65,536 ns at 512 GB/s.
    fn on_few_cores(op: &str, ns: u64) -> Option<(Option<f64>, String)> {
        use crate::Explanation;
        use reports::perf::{PerfReport, read_ops_csv};
        let text = format!(
            "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,AVAILABLE WORKER CORE COUNT,\
             DEVICE KERNEL DURATION [ns],INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],\
             INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY,OUTPUT_0_W_PAD[LOGICAL],\
             OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],OUTPUT_0_X_PAD[LOGICAL],OUTPUT_0_LAYOUT,\
             OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n\
             {op},tt_dnn_device,0,blackhole,8,130,{ns},1,1,4096,4096,TILE,BFLOAT16,DEV_0_DRAM_INTERLEAVED,\
             1,1,4096,4096,TILE,BFLOAT16,DEV_0_L1_INTERLEAVED\n"
        );
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
        let explanation = Explanation::from_perf_report(&report);
        let mut found = explanation.findings.into_iter();
        let few = found.find(|finding| finding.sentence.contains("few cores"))?;
        Some((few.gain_at_most_ns, few.why.join("\n")))
    }

    #[test]
    fn more_cores_gain_no_more_than_dram_leaves() {
        let generic = |ns| on_few_cores("GenericOpDeviceOperation", ns);
        let (gain_ns, why) = generic(178_573).unwrap();
        assert!((gain_ns.unwrap() - (178_573.0 - 65_536.0)).abs() < 1.0, "{gain_ns:?}");
        let remains = "to move each tensor once takes 66 us at the peak of DRAM, which remains";
        assert!(why.contains(remains), "{why}");
        // 98 and 109 % of the peak: DRAM may be the limit, whatever the cores.
        assert_eq!(generic(66_800), None);
        assert_eq!(generic(60_125), None);
        // 1,311 %: the op reads a part of its tensor.
        let (gain_ns, why) = generic(5_000).unwrap();
        assert!((gain_ns.unwrap() - 5_000.0 * 122.0 / 130.0).abs() < 1.0, "{gain_ns:?}");
        assert!(!why.contains("remains"), "{why}");
        // The model of an op that is faster than the chip is wrong, and says nothing of its cores.
        assert_eq!(on_few_cores("UnaryDeviceOperation", 60_125), None);
    }

    #[test]
    fn a_fidelity_above_the_types_is_told_of_ops_that_compute_all_the_time() {
        let reason = Reason {
            fact: "HiFi4".into(),
            advice: "use LoFi".into(),
            is_fidelity: true,
            ..Reason::default()
        };
        let high = |bound| OpCodeGroup {
            bound: Some(bound),
            reasons: vec![reason.clone()],
            ..limited(6e6, 60.0, 5.0e6)
        };
        let found = op_groups(&[high(GroupBound::Compute)]);
        assert!(found[0].sentence.ends_with(
            "bound by the FLOPs of these cores; at the peaks of the whole chip it would take 5.0 \
                     ms, 1.2 times less"
        ));
        assert_eq!(
            (found[0].advice.as_str(), &*found[0].why),
            ("use LoFi", &["HiFi4".to_owned()][..])
        );
        assert_eq!(op_groups(&[high(GroupBound::Neither)]), []);
    }

    #[test]
    fn the_gain_of_a_better_row_ends_at_its_speed() {
        let row_gain = Reason { gain_ns: Some(3e6), ..Reason::default() };
        let gain = |reasons: &[&Reason]| {
            let reasons = reasons.iter().map(|reason| (*reason).clone()).collect();
            let group = OpCodeGroup { reasons, ..limited(6e6, 60.0, 1.5e6) };
            op_groups(&[group])[0].gain_at_most_ns
        };
        assert_eq!(gain(&[&row_gain]), Some(3e6));
        let other = Reason { advice: "use more cores".into(), ..Reason::default() };
        assert_eq!(gain(&[&other, &row_gain]), Some(4.5e6), "more than one change");
    }

    #[test]
    fn few_cores_are_a_gain_without_a_model() {
        let one = OpCodeGroup {
            idle_cores_ns: 3e6,
            most_idle_cores_ns: 3e6,
            core_count: Some(1),
            available_core_count: Some(64),
            ..group("Softmax", 4e6, 100.0)
        };
        let [finding] = &op_groups(&[one])[..] else { panic!() };
        assert_eq!(finding.gain_at_most_ns, Some(3e6));
        assert!(finding.sentence.contains("1 of 64"), "{}", finding.sentence);
    }

    #[test]
    fn layout_changes_count_as_a_sum() {
        let change = |op, ns, percent| OpCodeGroup { is_layout: true, ..group(op, ns, percent) };
        let groups = [
            group("Matmul", 8e6, 80.0),
            change("Permute", 1.5e6, 15.0),
            change("Tilize", 0.5e6, 5.0),
        ];
        let finding = layout(&groups).unwrap();
        assert_eq!(
            finding.sentence,
            "Rearranging tensors takes 20.0 % of the kernels' time (4 ops, 2.0 ms): Permute 15.0 %, \
             Tilize 5.0 %"
        );
        assert_eq!(finding.gain_at_most_ns, Some(2e6));
        assert_eq!(layout(&[group("Matmul", 9.1e6, 91.0), change("Permute", 0.9e6, 9.0)]), None);
        assert_eq!(layout(&groups[..1]), None);
    }

    #[test]
    fn slices_of_a_convolution_and_tiles_of_inputs_have_their_own_advice() {
        let advice = |ops: &[&str]| {
            let groups: Vec<_> = ops.iter().map(|op| group(op, 1e6, 10.0)).collect();
            layout_advice(&groups.iter().collect::<Vec<_>>())
        };
        let plain = "produce each tensor in the layout that the next op takes; convert weights once, \
                     before the first iteration";
        assert_eq!(advice(&["Permute"]), plain);
        assert!(advice(&["Permute", "Tilize"]).contains("layout=ttnn.TILE_LAYOUT"));
        let sliced = advice(&["PaddedSliceDeviceOperation", "Permute"]);
        assert!(sliced.starts_with("let ttnn.conv2d cut its input into fewer slices"), "{sliced}");
        assert!(sliced.ends_with("that the next op takes"), "{sliced}");
        assert!(advice(&["Permute", "Pad", "SliceWrite"]).contains("num_slices"));
        assert_eq!(advice(&["Permute", "Pad", "Copy", "SliceWrite"]), plain, "not named");
    }

    #[test]
    fn conversions_that_are_layout_changes_say_that_gains_do_not_add_up() {
        let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],INPUT_0_W,INPUT_0_Z,\
                      INPUT_0_Y,INPUT_0_X,INPUT_0_DATATYPE,INPUT_0_MEMORY,OUTPUT_0_W,OUTPUT_0_Z,\
                      OUTPUT_0_Y,OUTPUT_0_X,OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";
        let tensor = |memory: &str| format!("1,1,32,32,BFLOAT16,DEV_0_{memory}");
        let row = |op: &str, ns: u64, from: &str, to: &str| {
            format!("{op},tt_dnn_device,0,{ns},{},{}\n", tensor(from), tensor(to))
        };
        let told = |second: &str, from: &str, middle: &str| {
            let text = [
                titles.to_owned(),
                row("Tilize", 3000, from, middle),
                row(second, 1000, middle, from),
                row("Matmul", 6000, from, from),
            ];
            let csv = reports::perf::read_ops_csv(text.concat().as_bytes(), "ops.csv").unwrap();
            let options = crate::Explanation::report_options();
            let rows = reports::perf::PerfReport::new(vec![csv], &options).unwrap().rows;
            conversions(&crate::op_code_group::op_code_groups(&rows, &Default::default()), &rows)
        };
        let [layout, undone] = &told("Untilize", "DRAM_INTERLEAVED", "DRAM_INTERLEAVED")[..] else {
            panic!()
        };
        assert_eq!((layout.gain_at_most_ns, undone.gain_at_most_ns), (Some(4e3), Some(4e3)));
        assert!(undone.is_in_layout, "{undone:?}");
        assert_eq!(layout.why[0], "Tilize comes from ttnn.to_layout(x, ttnn.TILE_LAYOUT)");
        // Moving a tensor to another memory is not a layout change.
        let [_, undone] = &told("ShardedToInterleaved", "DRAM_INTERLEAVED", "L1_BLOCK_SHARDED")[..]
        else {
            panic!()
        };
        assert!(!undone.is_in_layout, "{undone:?}");
        assert!(
            undone.why.last().unwrap().starts_with("75 % of this time also counts as"),
            "{undone:?}"
        );
    }

    /// Rows of public reports: a slice and a concatenation around a rotation, a slice behind a transposition
    /// that gives the shape again, and pairs that are undone.
    #[test]
    fn only_conversions_of_all_elements_are_undone() {
        let titles = "OP CODE,OP TYPE,DEVICE ID,ATTRIBUTES,DEVICE KERNEL DURATION [ns],INPUT_0_W,INPUT_0_Z,\
                      INPUT_0_Y,INPUT_0_X,INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY,OUTPUT_0_W,\
                      OUTPUT_0_Z,OUTPUT_0_Y,OUTPUT_0_X,OUTPUT_0_LAYOUT,OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";
        let tensor = |sides: &str, layout: &str| {
            format!("{},{layout},BFLOAT16,DEV_0_DRAM_INTERLEAVED", sides.replace('x', ","))
        };
        let is_undone = |rows: [(&str, &str, &str, &str); 2]| {
            let rows = rows.map(|(op, attributes, from, to)| {
                let [from, to] = [from, to].map(|of| match of.strip_suffix(" rows") {
                    Some(sides) => tensor(sides, "ROW_MAJOR"),
                    None => tensor(of, "TILE"),
                });
                format!("{op},tt_dnn_device,0,{attributes},3000,{from},{to}\n")
            });
            let text = titles.to_owned() + &rows.concat();
            let csv = reports::perf::read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
            let options = crate::Explanation::report_options();
            let rows = reports::perf::PerfReport::new(vec![csv], &options).unwrap().rows;
            !trips(&rows).is_empty()
        };
        let (whole, half) = ("1x1x32x128", "1x1x32x64");
        assert!(!is_undone([("Slice", "", whole, half), ("Concat", "", half, whole)]));
        let turned = "1x32x32x128";
        let swap = "{'dim': 'TransposeOpDim::HC'}";
        assert!(!is_undone([("Transpose", swap, whole, turned), ("Slice", "", turned, whole)]));
        assert!(is_undone([
            ("Transpose", swap, whole, turned),
            ("Transpose", swap, turned, whole)
        ]));
        let other = "{'dim': 'TransposeOpDim::WH'}";
        assert!(!is_undone([
            ("Transpose", swap, whole, turned),
            ("Transpose", other, turned, whole)
        ]));
        assert!(!is_undone([("Transpose", swap, whole, turned), ("Reshape", "", turned, whole)]));
        // A rotation of three sides is undone by the rotation in the other direction.
        let [left, right] = ["[0; 2; 3; 1]", "[0; 3; 1; 2]"]
            .map(|dims| format!("{{'dims': 'SmallVector({dims})'}}"));
        let rotated = "1x32x128x1";
        assert!(is_undone([
            ("Permute", &left, whole, rotated),
            ("Permute", &right, rotated, whole)
        ]));
        assert!(!is_undone([
            ("Permute", &left, whole, rotated),
            ("Permute", &left, rotated, whole)
        ]));
        assert!(!is_undone([("Permute", "", whole, rotated), ("Permute", "", rotated, whole)]));
        assert!(is_undone([("Reshape", "", whole, half), ("ReshapeView", "", half, whole)]));
        // Padding and its removal, and the layout that comes back or does not.
        let rows = "1x1x30x128 rows";
        let padded = "1x1x32x128";
        let tilize = ("TilizeWithValPadding", "", rows, padded);
        assert!(is_undone([tilize, ("UntilizeWithUnpadding", "", padded, rows)]));
        let whole_rows = "1x1x32x128 rows";
        assert!(is_undone([
            ("Tilize", "", whole_rows, whole),
            ("Untilize", "", whole, whole_rows)
        ]));
        assert!(!is_undone([("Tilize", "", whole_rows, whole), ("Copy", "", whole, whole)]));
    }

    #[test]
    fn names_keep_their_first_letter() {
        assert_eq!(lower_first("HiFi2 keeps"), "HiFi2 keeps");
        assert_eq!(lower_first("Use more"), "use more");
    }
}
