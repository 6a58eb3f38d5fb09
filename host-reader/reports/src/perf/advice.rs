//! Advice on optimisation, about ops that ran on the host, gaps between ops, and each matmul.

use super::{
    fidelity::FidelityVerdict,
    model::{ShapeLimit, element_bytes},
    op::{Bound, OpReport, ProgramBlocks, RowKind},
    row::Tensor,
    spread::sum_of,
};

/// Gap before an op, in us, above which capturing a trace is worthwhile.
pub(super) const HIGH_GAP_US: f64 = 6.5;

/// Assumed gap in us between two ops of a trace.
const TRACED_GAP_US: f64 = 6.0;

/// Percentage of the peak FLOPs. A DRAM-bound matmul with a lower percentage could use a higher
/// math fidelity without becoming slower.
const IDLE_FLOPS_PERCENT: f64 = 40.0;

/// Advice that concerns several rows. Advice about a single matmul is stored in its row.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Advice {
    /// Ids of ops that ran on the host.
    pub host_op_ids: Vec<u64>,
    /// Ids of ops with a long gap before them.
    pub high_gap_ids: Vec<u64>,
    /// Ids of those ops in `high_gap_ids` that belong to a trace already.
    pub trace_gap_ids: Vec<u64>,
    /// Sum of the gaps before the ops in `trace_gap_ids`, in us.
    pub trace_gap_us: f64,
    /// Ids of those other ops in `high_gap_ids` whose calls built their programs, which a later call
    /// finds, or may have: the file does not say, and it is the first such call.
    pub build_gap_ids: Vec<u64>,
    /// Sum of the gaps before the ops in `build_gap_ids`, in us.
    pub build_gap_us: f64,
    /// True if the file says of all ops in `build_gap_ids` that their calls built their programs.
    #[serde(skip)]
    pub are_builds_known: bool,
    /// Time that capturing traces could save in the gaps before the rest of the ops in `high_gap_ids`,
    /// in us.
    pub gap_saving_us: f64,
    /// `gap_saving_us` as a percentage of the time of all rows.
    pub gap_saving_percent: Option<f64>,
}

impl Advice {
    /// Collects the advice from all rows.
    ///
    /// # Compatibility
    /// tt-perf-report 1.4.1 advises a trace for the ops of a trace, too, and for time in which programs
    /// were built.
    pub(super) fn new(rows: &[OpReport], is_upstream_exact: bool) -> Self {
        let host = rows.iter().filter(|row| row.kind == RowKind::Host);
        let high: Vec<_> = rows
            .iter()
            .filter(|row| row.op_to_op_gap_us.is_some_and(|gap| gap > HIGH_GAP_US))
            .collect();
        let (of_traces, others): (Vec<&OpReport>, Vec<&OpReport>) =
            high.iter().partition(|row| row.is_of_trace && !is_upstream_exact);
        let (builds, others): (Vec<&OpReport>, Vec<&OpReport>) =
            others.into_iter().partition(|row| {
                (is_built_before(row) || may_be_built_before(row)) && !is_upstream_exact
            });
        let gaps = |rows: &[&OpReport]| sum_of(rows.iter().filter_map(|row| row.op_to_op_gap_us));
        let savings = others.iter().filter_map(|row| row.op_to_op_gap_us);
        let gap_saving_us = sum_of(savings.map(|gap| gap - TRACED_GAP_US));
        let total = sum_of(rows.iter().filter_map(OpReport::total_us));
        Self {
            host_op_ids: host.map(|row| row.id).collect(),
            high_gap_ids: high.iter().map(|row| row.id).collect(),
            trace_gap_ids: of_traces.iter().map(|row| row.id).collect(),
            trace_gap_us: gaps(&of_traces),
            build_gap_ids: builds.iter().map(|row| row.id).collect(),
            build_gap_us: gaps(&builds),
            are_builds_known: builds.iter().all(|row| is_built_before(row)),
            gap_saving_us,
            gap_saving_percent: (total > 0.0).then(|| gap_saving_us / total * 100.0),
        }
    }
}

/// Part of a gap in which the host compiled kernels, from which on the gap is that of a build.
const MOSTLY_COMPILED: f64 = 0.5;

/// Returns true if the host built the op's program in the gap before it.
fn is_built_before(row: &OpReport) -> bool {
    let compiled = row.compile_duration_ns.zip(row.op_to_op_gap_us);
    row.is_cache_hit == Some(false)
        || compiled.is_some_and(|(ns, gap_us)| ns / 1000.0 >= gap_us * MOSTLY_COMPILED)
}

/// Gap before the first call of an op, in us, above which the host may have built its program: a compiler
/// takes much longer, and the dispatch of a known program less.
pub(super) const FIRST_CALL_US: f64 = 1000.0;

/// Returns true if the gap before an op may be the build of its program, of which the file says nothing.
fn may_be_built_before(row: &OpReport) -> bool {
    row.is_first_call
        && row.is_cache_hit.is_none()
        && row.op_to_op_gap_us.is_some_and(|gap_us| gap_us > FIRST_CALL_US)
}

/// Returns optimisation advice for a matmul; empty if there is none.
///
/// # Compatibility
/// With `is_upstream_exact`, on the same items under the same conditions as tt-perf-report 1.4.1, with
/// other wording. Otherwise also what `kprof explain` says of the op, and nothing that another row of the
/// same matmul has without being faster.
pub(super) fn matmul_advice(row: &OpReport, is_upstream_exact: bool) -> Vec<String> {
    if row.is_active_unknown {
        let hint = "Pass --active-experts, so that the work of this sparse matmul is known";
        return vec![hint.to_owned()];
    }
    let mut items = match row.bound {
        Some(Bound::Dram | Bound::Both) => dram_advice(row, is_upstream_exact),
        Some(Bound::Flop) => flop_advice(row),
        Some(Bound::Slow) => slow_advice(row, is_upstream_exact),
        None if !is_upstream_exact => config_advice(row),
        Some(Bound::Host) | None => Vec::new(),
    };
    if !is_upstream_exact {
        let cores = few_cores(row).filter(|_| !row.is_dram_sharded);
        // Ops that FLOPs limit have this advice already, and what DRAM alone limits gains nothing from cores.
        let may_gain =
            !matches!(row.bound, Some(Bound::Flop | Bound::Dram)) && !row.tried.more_cores;
        if let Some((cores, available)) = cores.filter(|_| may_gain) {
            items.insert(0, format!("Use more cores: it runs on {cores} of {available}"));
        }
        let excess = row.fidelity.filter(|fidelity| fidelity.is_excess);
        // At a lower fidelity, or on more cores, the op is no longer at its limit.
        let is_far = excess.is_some() || is_far_from_limit(row);
        if is_far && matches!(row.bound, Some(Bound::Dram | Bound::Flop | Bound::Both)) {
            items.extend(input_advice(row));
            items
                .extend(config_advice(row).into_iter().filter(|item| !item.starts_with(LOOK_GOOD)));
        }
        let note = excess.map(|fidelity| fidelity.note.unwrap_or("Use a lower math fidelity"));
        items.extend(note.filter(|note| !items.iter().any(|item| item == note)).map(str::to_owned));
        if items.is_empty() && matches!(row.bound, Some(Bound::Flop | Bound::Both)) {
            items.extend(lower_fidelity_advice(row));
        }
    }
    items
}

/// Returns true if the op takes at least twice the minimum time of its shape.
fn is_far_from_limit(row: &OpReport) -> bool {
    let limit_us = row.limit.as_ref().and_then(ShapeLimit::us);
    limit_us.zip(row.device_time_us).is_some_and(|(limit, time)| time >= limit * 2.0)
}

/// Part of the available cores below which an op runs on few cores.
const FEW_CORES: f64 = 0.5;

/// Returns the numbers of used and of available cores; `None` unless the op runs on few of them.
fn few_cores(row: &OpReport) -> Option<(u64, u64)> {
    let (cores, available) = row.core_count.zip(row.available_core_count)?;
    let is_few = cores > 0 && (cores as f64) < available as f64 * FEW_CORES;
    is_few.then_some((cores, available))
}

/// Returns advice on the configuration of a matmul, which needs no model of it.
fn config_advice(row: &OpReport) -> Vec<String> {
    if row.raw_op_code.contains("MinimalMatmul") {
        let item = "Set other block sizes in its config (MinimalMatmulConfig: M_block_size, \
                    K_block_size, N_block_size, subblock_h, subblock_w)";
        let blocks = (row.blocks != ProgramBlocks::default()).then(|| block_advice(row));
        return std::iter::once(item.to_owned()).chain(blocks.into_iter().flatten()).collect();
    }
    if row.blocks != ProgramBlocks::default() || row.is_dram_sharded {
        block_advice(row)
    } else {
        program_config_advice(row, false).into_iter().collect()
    }
}

/// Returns advice on an op without a program configuration. Without attributes, nothing is known of that.
fn program_config_advice(row: &OpReport, is_upstream_exact: bool) -> Option<String> {
    let item = "Give a program_config that sets in0_block_w, out_subblock_h and out_subblock_w";
    let is_known = is_upstream_exact || row.recorded.has_attributes();
    (is_known && !row.tried.program_config).then(|| item.to_owned())
}

/// Returns the advice that is left for an op at the FLOPs of its fidelity; `None` if there is no lower one, or if
/// the fidelity is unknown.
fn lower_fidelity_advice(row: &OpReport) -> Option<String> {
    let fidelity = row.recorded.fidelity.as_deref().filter(|of| of.starts_with("HiFi"))?;
    Some(format!(
        "Its FLOPs at {fidelity} are the limit: a lower math fidelity is faster, where its loss of accuracy is \
         acceptable"
    ))
}

/// Returns advice on a matmul that DRAM limits.
///
/// tt-perf-report advises DRAM-sharded weights and a higher fidelity whatever the shape. The former help only
/// where the weights are most of what is read, and the latter makes no op faster.
fn dram_advice(row: &OpReport, is_upstream_exact: bool) -> Vec<String> {
    let mut items = Vec::new();
    let can_shard = !row.is_dram_sharded && !row.raw_op_code.contains("SparseMatmul");
    if can_shard && (is_upstream_exact || is_mostly_weights(row)) {
        items.push(
            "Shard the weights over the DRAM banks and use the DRAM-sharded program config"
                .to_owned(),
        );
    }
    let is_idle = row.flops_percent.is_some_and(|percent| percent < IDLE_FLOPS_PERCENT);
    if is_idle && is_upstream_exact {
        items.extend(fidelity_note(row, FidelityVerdict::TooLow));
    }
    items.extend(fidelity_note(row, FidelityVerdict::TooHigh));
    if !is_upstream_exact && can_shard && items.is_empty() {
        items.extend(input_advice(row));
    }
    items
}

/// Most rows of a matmul for which DRAM-sharded weights are advised: four tiles.
///
/// # Compatibility
/// TT-Metal's DRAM-sharded matmul keeps all rows of input 0 on each core, as in decoding one token for each of
/// 32 users.
const MOST_SHARDED_ROWS: u64 = 128;

/// Returns true if the weights are more than half of the bytes of the inputs and the output, and the matmul
/// has few rows; false if this is unknown.
fn is_mostly_weights(row: &OpReport) -> bool {
    let [input, weights, output] = &row.recorded.tensors;
    let bytes = |tensor: &Tensor| {
        let datatype = tensor.datatype.as_deref()?;
        Some(tensor.element_count()? as f64 * element_bytes(datatype, false))
    };
    let rows = || output.element_count()?.checked_div(output.sides.last().copied().flatten()?);
    let parts = bytes(input).zip(bytes(weights)).zip(bytes(output)).zip(rows());
    parts.is_some_and(|(((input, weights), output), rows)| {
        weights > input + output && rows <= MOST_SHARDED_ROWS
    })
}

fn flop_advice(row: &OpReport) -> Vec<String> {
    let mut items = Vec::new();
    let cores = row.core_count.zip(row.available_core_count);
    if let Some((cores, available)) = cores.filter(|(cores, available)| cores < available)
        && !row.is_dram_sharded
        && !row.tried.more_cores
    {
        items.push(format!("Use more cores: it runs on {cores} of {available}"));
    }
    items.extend(fidelity_note(row, FidelityVerdict::TooHigh));
    items
}

/// Returns advice on the memory of the first input.
fn input_advice(row: &OpReport) -> Option<String> {
    let memory = row.input_0_memory.as_ref().filter(|memory| !memory.contains("L1"))?;
    if row.tried.input_0_in_l1 {
        return None;
    }
    Some(format!("Place input 0 in L1; it is in {memory}"))
}

/// Beginning of the text about blocks of which nothing is to be changed.
const LOOK_GOOD: &str = "Blocks look good";

fn slow_advice(row: &OpReport, is_upstream_exact: bool) -> Vec<String> {
    let mut items: Vec<String> = input_advice(row).into_iter().collect();
    if !is_upstream_exact && row.raw_op_code.contains("MinimalMatmul") {
        items.extend(config_advice(row));
    } else if row.blocks != ProgramBlocks::default() || row.is_dram_sharded {
        items.extend(block_advice(row));
        let note = row.fidelity.and_then(|fidelity| match is_upstream_exact {
            true => fidelity.note,
            false => fidelity.note_on_speed(),
        });
        items.extend(note.map(str::to_owned));
    } else {
        items.extend(program_config_advice(row, is_upstream_exact));
    }
    items
}

/// Returns advice based on the block sizes.
fn block_advice(row: &OpReport) -> Vec<String> {
    let blocks = row.blocks;
    let subblock = blocks.output_subblock_height_tiles.zip(blocks.output_subblock_width_tiles);
    let mut items = Vec::new();
    match blocks.inner_block_tiles {
        Some(width) if width >= 2 => {}
        Some(width) => items.push(format!("Raise in0_block_w to 2 or more; it is {width}")),
        None => items.push("in0_block_w is not known; it should be 2 or more".to_owned()),
    }
    if !row.is_dram_sharded {
        match subblock {
            Some((height, width)) if height.saturating_mul(width) >= 2 => {}
            Some((height, width)) => items.push(format!(
                "Make output subblocks of 2 tiles or more; they are {height} x {width}"
            )),
            None => items.push(
                "Sizes of output subblocks are not known; 2 tiles or more do well".to_owned(),
            ),
        }
    }
    if items.is_empty() {
        let inner = blocks.inner_block_tiles.map(|width| format!("in0_block_w {width}"));
        let subblock =
            subblock.map(|(height, width)| format!("output subblocks {height} x {width}"));
        let known: Vec<String> = inner.into_iter().chain(subblock).collect();
        items.push(format!("{LOOK_GOOD}: {}", known.join(", ")));
    }
    items
}

fn fidelity_note(row: &OpReport, verdict: FidelityVerdict) -> Option<String> {
    let fidelity = row.fidelity.filter(|fidelity| fidelity.verdict == verdict)?;
    fidelity.note.map(str::to_owned)
}
