//! Advice on optimisation, about ops that ran on the host, gaps between ops, and each matmul.

use super::{
    fidelity::FidelityVerdict,
    op::{Bound, OpReport, ProgramBlocks, RowKind},
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
    /// Time that capturing traces could save in the gaps before the ops in `high_gap_ids`, in us.
    pub gap_saving_us: f64,
    /// `gap_saving_us` as a percentage of the time of all rows.
    pub gap_saving_percent: Option<f64>,
}

impl Advice {
    /// Collects the advice from all rows.
    pub(super) fn new(rows: &[OpReport]) -> Self {
        let host = rows.iter().filter(|row| row.kind == RowKind::Host);
        let high: Vec<_> = rows
            .iter()
            .filter(|row| row.op_to_op_gap_us.is_some_and(|gap| gap > HIGH_GAP_US))
            .collect();
        let savings = high.iter().filter_map(|row| row.op_to_op_gap_us);
        let gap_saving_us = sum_of(savings.map(|gap| gap - TRACED_GAP_US));
        let total = sum_of(rows.iter().filter_map(OpReport::total_us));
        Self {
            host_op_ids: host.map(|row| row.id).collect(),
            high_gap_ids: high.iter().map(|row| row.id).collect(),
            gap_saving_us,
            gap_saving_percent: (total > 0.0).then(|| gap_saving_us / total * 100.0),
        }
    }
}

/// Returns optimisation advice for a matmul; empty if there is none.
///
/// # Compatibility
/// tt-perf-report 1.4.1 gives advice on the same items under the same conditions, with other
/// wording.
pub(super) fn matmul_advice(row: &OpReport) -> Vec<String> {
    if row.is_active_unknown {
        let hint = "Pass --active-experts, so that the work of this sparse matmul is known";
        return vec![hint.to_owned()];
    }
    match row.bound {
        Some(Bound::Dram | Bound::Both) => dram_advice(row),
        Some(Bound::Flop) => flop_advice(row),
        Some(Bound::Slow) => slow_advice(row),
        Some(Bound::Host) | None => Vec::new(),
    }
}

fn dram_advice(row: &OpReport) -> Vec<String> {
    let mut items = Vec::new();
    if !row.is_dram_sharded && !row.raw_op_code.contains("SparseMatmul") {
        items.push(
            "Shard the weights over the DRAM banks and use the DRAM-sharded program config"
                .to_owned(),
        );
    }
    let is_idle = row.flops_percent.is_some_and(|percent| percent < IDLE_FLOPS_PERCENT);
    if is_idle {
        items.extend(fidelity_note(row, FidelityVerdict::TooLow));
    }
    items.extend(fidelity_note(row, FidelityVerdict::TooHigh));
    items
}

fn flop_advice(row: &OpReport) -> Vec<String> {
    let mut items = Vec::new();
    let cores = row.core_count.zip(row.available_core_count);
    if let Some((cores, available)) = cores.filter(|(cores, available)| cores < available)
        && !row.is_dram_sharded
    {
        items.push(format!("Use more cores: it runs on {cores} of {available}"));
    }
    items.extend(fidelity_note(row, FidelityVerdict::TooHigh));
    items
}

fn slow_advice(row: &OpReport) -> Vec<String> {
    let mut items = Vec::new();
    if let Some(memory) = row.input_0_memory.as_ref().filter(|memory| !memory.contains("L1")) {
        items.push(format!("Place input 0 in L1; it is in {memory}"));
    }
    if row.blocks != ProgramBlocks::default() || row.is_dram_sharded {
        items.extend(block_advice(row));
        items.extend(row.fidelity.and_then(|fidelity| fidelity.note).map(str::to_owned));
    } else {
        let item = "Give a program_config that sets in0_block_w, out_subblock_h and out_subblock_w";
        items.push(item.to_owned());
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
        let [inner, height, width] = [
            blocks.inner_block_tiles,
            blocks.output_subblock_height_tiles,
            blocks.output_subblock_width_tiles,
        ]
        .map(|tiles| tiles.map_or_else(|| "?".to_owned(), |tiles| tiles.to_string()));
        items.push(format!(
            "Blocks look good: in0_block_w {inner}, output subblocks {height} x {width}"
        ));
    }
    items
}

fn fidelity_note(row: &OpReport, verdict: FidelityVerdict) -> Option<String> {
    let fidelity = row.fidelity.filter(|fidelity| fidelity.verdict == verdict)?;
    fidelity.note.map(str::to_owned)
}
