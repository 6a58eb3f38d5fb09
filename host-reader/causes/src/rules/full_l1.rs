//! Rules about ops that L1 has no room for, by what memory held while they ran.

use super::groups::chips_of;
use crate::{
    explanation::Explanation,
    finding::{Basis, Cause, Finding, GainOf, Place, percent},
    l1_room::{GroupLaunches, contents, longest_groups, needs, room_of},
    op_code_group::{GroupBound, OpCodeGroup},
    ops_csv::busiest_ns,
    parallel::{busiest_share, measure_on_own_chip},
    threshold::{DRAM_REASON, L1_ROOM, REASON_TIME},
};
use analysis::words::grouped;
use memory::{L1Room, Maker, Usage};
use tables::MemoryRow;

impl Explanation {
    /// Adds what memory held during the ops: whether L1 has room for what the longest ops have in DRAM, and
    /// findings about those that a full L1 keeps at DRAM.
    ///
    /// ```
    /// use causes::Explanation;
    /// let mut explanation = Explanation::default();
    /// explanation.add_memory(&memory::Usage::default());
    /// assert_eq!(explanation, Explanation::default());
    /// ```
    pub fn add_memory(&mut self, usage: &Usage) {
        if usage.ops.is_empty() {
            return;
        }
        let longest = longest_groups(self, usage);
        let rooms = longest.iter().filter_map(|(group, launches)| room_of(group, launches));
        let rooms: Vec<_> = rooms.collect();
        let found = longest.iter().filter_map(|(group, launches)| full_l1(group, launches, usage));
        let mut found: Vec<Finding> = found.collect();
        let facts: Vec<(String, String)> = longest
            .iter()
            .filter_map(|(group, launches)| {
                Some((group.op.clone(), idle_cores(group, launches, usage)?))
            })
            .collect();
        let whole = match &self.steady {
            Some(steady) => (steady.total_ns, GainOf::Steady),
            None => (busiest_ns(&self.groups), GainOf::Kernels),
        };
        for finding in &mut found {
            finding.measure_against(whole);
            measure_on_own_chip(finding, &self.devices);
        }
        self.l1_rooms = rooms;
        for (op, fact) in facts {
            let own = self
                .findings
                .iter_mut()
                .find(|told| told.cause == Cause::OpGroup && told.place.op.as_ref() == Some(&op));
            own.into_iter().for_each(|told| told.why.push(fact.clone()));
        }
        if !found.is_empty() {
            self.findings.extend(found);
            self.no_cause = None;
            self.rank();
        }
    }
}

/// Finds an op code that DRAM limits, and whose tensors in DRAM would not fit into L1.
fn full_l1(group: &OpCodeGroup, launches: &GroupLaunches<'_>, usage: &Usage) -> Option<Finding> {
    let used_percent = group.dram_percent.filter(|of| *of >= DRAM_REASON.value)?;
    let (full_count, full_percent) = launches.share(|op| launches.is_full(op));
    let (op, room, has_room) = launches.least_room()?;
    if has_room || full_percent < REASON_TIME.value {
        return None;
    }
    let free_bytes = room.largest_free_bytes?;
    let at_least = if group.is_dram_lower_bound { "at least " } else { "" };
    let used = format!("{at_least}{used_percent:.0} % of the peak DRAM bandwidth");
    let used = match group.bound {
        Some(GroupBound::Dram | GroupBound::Both) => format!("is bound by DRAM, at {used}"),
        _ => format!("uses {used}"),
    };
    let sentence = format!(
        "L1 has no room for what {} has in DRAM in {full_count} of {} launches: {}, {} are free in one \
         piece. It {used}",
        group.op,
        launches.count(),
        needs(&room),
        grouped(free_bytes),
    );
    let place = Place {
        chip_id: Some(room.op.chip_id),
        op: Some(group.op.clone()),
        run_host_id: Some(room.op.run_host_id),
        ..Place::default()
    };
    let figure = (L1_ROOM, percent(free_bytes as f64, room.needed_bytes() as f64));
    let finding = Finding::new(
        Cause::FullL1,
        figure,
        sentence,
        place,
        advice(&room),
        Basis::launches(full_count, launches.count()),
    );
    // Without DRAM, the FLOPs remain.
    let flops_ns = group.flops_percent.map(|of| group.duration_ns * of.min(100.0) / 100.0);
    let gain_ns = flops_ns.map(|flops_ns| {
        let share = busiest_share(group.chips_ns.iter().copied());
        (group.duration_ns - flops_ns) * share * full_percent / 100.0
    });
    let mut finding = finding.with_gain(gain_ns, (group.duration_ns, GainOf::Kernels));
    finding.chips = chips_of([group]);
    finding.why = reasons(&room, &usage.makers(op), usage.outlived(op, "L1").first().copied());
    Some(finding)
}

/// Returns what fills L1, and whether it would have room without tensors that no later op has.
fn reasons(
    room: &L1Room<'_>,
    makers: &[Maker],
    outlived: Option<&memory::Lifetime>,
) -> Vec<String> {
    let alone = room.too_large().map(|tensor| {
        let bytes = grouped(tensor.bank_bytes);
        format!("{} does not fit even alone, with {bytes} bytes of each bank", tensor.content)
    });
    let called = |owner: Option<&str>, place: &memory::CallPlace| {
        let place = if place.is_unknown() { String::new() } else { format!(" at {place}") };
        format!("{}{place}", owner.unwrap_or("an unknown call"))
    };
    let of_call = |maker: &&Maker| {
        maker.memory == "L1" && [MemoryRow::TENSOR, MemoryRow::BUFFER].contains(&maker.kind)
    };
    let largest = makers.iter().find(of_call).map(|maker| {
        let bytes = grouped(maker.bytes);
        format!(
            "of the tensors, {bytes} bytes are of {}",
            called(maker.owner.as_deref(), &maker.place)
        )
    });
    let if_freed = room.largest_free_if_freed_bytes.map(|free| {
        let fit = match room.has_room_if_freed() {
            Some(true) => ", in which they would fit",
            Some(false) => ", in which they would not fit either",
            None => "",
        };
        let such_as = outlived.map_or_else(String::new, |one| {
            let content = one.content.as_deref().unwrap_or("a buffer");
            format!(", such as {content} of {}", called(one.owner.as_deref(), &one.place))
        });
        format!(
            "without the tensors that no later op has{such_as}, {} bytes were free in one piece{fit}",
            grouped(free)
        )
    });
    let filled = Some(format!("L1 holds {} bytes on its fullest core", contents(room)));
    [alone, filled, largest, if_freed].into_iter().flatten().collect()
}

fn advice(room: &L1Room<'_>) -> &'static str {
    match room.has_room_if_freed() {
        Some(true) => {
            "free the tensors that no later op has (ttnn.deallocate), then keep these in L1 \
             (memory_config=ttnn.L1_MEMORY_CONFIG)"
        }
        _ => {
            "make room in L1: smaller element types, shards, or circular buffers; or split the op, so \
             that a part of its tensors fits"
        }
    }
}

/// Returns whether the circular buffers of an op code that runs on few cores would fit on the cores that it
/// leaves idle. `None` if it runs on many, or if the use of L1 is unknown.
fn idle_cores(group: &OpCodeGroup, launches: &GroupLaunches<'_>, usage: &Usage) -> Option<String> {
    group.few_cores()?;
    let known = |op: usize| usage.idle_core_room(op);
    let (known_count, _) = launches.share(|op| known(op).is_some());
    let (full_count, _) =
        launches.share(|op| known(op).is_some_and(|(needed, free)| needed > free));
    let (needed, free) = launches.least_idle_room()?;
    let [needed, free] = [needed, free].map(grouped);
    Some(if full_count > 0 {
        format!(
            "in {full_count} of {known_count} launches, its circular buffers would not fit on the cores that \
             it leaves idle: they take up to {needed} bytes, where {free} are free in one piece"
        )
    } else {
        format!(
            "L1 is not why it leaves cores idle: its circular buffers would fit there in all of {known_count} \
             launches with a known use of L1; they take {needed} bytes, where {free} are free in one piece"
        )
    })
}
