//! Colours of a report's cells.

use super::{
    OpReport,
    advice::HIGH_GAP_US,
    fidelity::FidelityVerdict,
    op::{Bound, RowKind},
};

/// Colours of 256-colour terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Grey = 8,
    Red = 9,
    Green = 10,
    Yellow = 11,
    Blue = 12,
    Magenta = 13,
    Cyan = 14,
    White = 15,
    Orange = 208,
}

impl Colour {
    /// Wraps a text in the escape codes of the colour.
    pub(super) fn paint(self, text: &str) -> String {
        format!("\u{1b}[38;5;{}m{text}\u{1b}[0m", self as u8)
    }
}

/// Function that returns the colour of one column's cell, given the whole row.
pub(super) type Paint = fn(&OpReport) -> Option<Colour>;

/// Returns the colour of a cell in a row.
///
/// # Compatibility
/// The colours are those of tt-perf-report 1.4.1.
pub(super) fn cell_colour(row: &OpReport, paint: Paint, min_percentage: f64) -> Option<Colour> {
    // A row with a small share of the time is completely grey.
    let is_minor = row.total_percent.is_some_and(|percent| percent < min_percentage);
    if is_minor && row.kind != RowKind::Host { Some(Colour::Grey) } else { paint(row) }
}

/// Returns the colour of an op's name.
pub(super) fn op_colour(op_code: &str) -> Colour {
    const COLOURS: [(&str, Colour); 12] = [
        ("(torch)", Colour::Red),
        ("Matmul", Colour::Magenta),
        ("OptimizedConvNew", Colour::Orange),
        ("Conv2d", Colour::Orange),
        ("LayerNorm", Colour::Cyan),
        ("AllGather", Colour::Cyan),
        ("AllReduce", Colour::Cyan),
        ("ScaledDotProductAttentionDecode", Colour::Blue),
        ("ScaledDotProductAttentionGQADecode", Colour::Blue),
        ("NlpCreateHeadsDeviceOperation", Colour::Blue),
        ("NLPConcatHeadsDecodeDeviceOperation", Colour::Blue),
        ("UpdateCache", Colour::Blue),
    ];
    let found = COLOURS.iter().find(|(part, _)| op_code.contains(part));
    found.map_or(Colour::White, |&(_, colour)| colour)
}

pub(super) const fn bound_colour(row: &OpReport) -> Option<Colour> {
    match row.bound {
        Some(Bound::Dram | Bound::Flop) => Some(Colour::Green),
        Some(Bound::Slow) => Some(Colour::Yellow),
        Some(Bound::Host) => Some(Colour::Red),
        Some(Bound::Both) | None => None,
    }
}

pub(super) fn gap_colour(row: &OpReport) -> Option<Colour> {
    row.op_to_op_gap_us.filter(|&gap| gap > HIGH_GAP_US).map(|_| Colour::Red)
}

pub(super) fn cores_colour(row: &OpReport) -> Option<Colour> {
    const FEW: u64 = 10;
    let Some(cores) = row.core_count else { return Some(Colour::Grey) };
    if row.is_dram_sharded {
        return Some(Colour::Green);
    }
    let available = row.available_core_count?;
    if cores < FEW && cores.saturating_mul(2) < available {
        Some(Colour::Red)
    } else {
        (cores == available).then_some(Colour::Green)
    }
}

pub(super) fn dram_colour(row: &OpReport) -> Option<Colour> {
    match row.bound? {
        Bound::Dram => Some(Colour::Green),
        Bound::Slow if row.dram_percent > row.flops_percent => Some(Colour::Yellow),
        _ => None,
    }
}

pub(super) fn flops_colour(row: &OpReport) -> Option<Colour> {
    match row.bound? {
        Bound::Flop => Some(Colour::Green),
        Bound::Slow if row.dram_percent <= row.flops_percent => Some(Colour::Yellow),
        _ => None,
    }
}

pub(super) fn fidelity_colour(row: &OpReport) -> Option<Colour> {
    let is_judged = row.is_matmul() || row.raw_op_code.contains("OptimizedConvNew");
    let fidelity = row.fidelity.filter(|_| is_judged)?;
    Some(match fidelity.verdict {
        FidelityVerdict::Sufficient => Colour::Green,
        FidelityVerdict::TooHigh => Colour::Red,
        FidelityVerdict::TooLow => Colour::Cyan,
        FidelityVerdict::NotApplicable | FidelityVerdict::Unknown => Colour::White,
    })
}
