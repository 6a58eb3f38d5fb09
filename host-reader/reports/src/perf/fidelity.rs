//! Checks whether a matmul's math fidelity fits its element types.

use super::{arch::MathFidelity, row::OpRow};

/// Relation of a math fidelity to the element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FidelityVerdict {
    /// The fidelity uses all bits of the inputs.
    Sufficient,
    /// The fidelity multiplies bits that the result does not keep.
    TooHigh,
    /// The fidelity drops bits of the inputs.
    TooLow,
    /// The element types are integers, which have no fidelity.
    NotApplicable,
    /// There is no rule for these types.
    Unknown,
}

/// A verdict with a suggested change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FidelityAdvice {
    /// Verdict.
    pub verdict: FidelityVerdict,
    /// Suggested change, or a restriction of the verdict.
    pub note: Option<&'static str>,
}

/// Judges the fidelity of an op with two inputs.
///
/// # Compatibility
/// tt-perf-report 1.4.1: the same verdicts.
#[must_use]
pub fn judge_fidelity(row: &OpRow) -> FidelityAdvice {
    judge(row, &row.math_fidelity)
}

/// Judges a fidelity for the element types of an op.
fn judge(row: &OpRow, fidelity: &str) -> FidelityAdvice {
    let [first, second] = &row.inputs;
    let types = [first, second, &row.output].map(|tensor| tensor.datatype.as_deref());
    let is_integer =
        |datatype: &Option<&str>| matches!(datatype, Some("UINT8" | "UINT16" | "INT32" | "UINT32"));
    if types.iter().any(is_integer) {
        let note = Some("Math fidelity does not apply to integers.");
        return FidelityAdvice { verdict: FidelityVerdict::NotApplicable, note };
    }
    let [Some(first), Some(second), Some(output)] = types.map(|datatype| mantissa_bits(datatype?))
    else {
        let note = Some("The element types have no known mantissa; fidelity is not judged.");
        return FidelityAdvice { verdict: FidelityVerdict::Unknown, note };
    };
    judge_bits(fidelity, [first, second, output])
}

/// Returns the lowest fidelity that keeps the bits of an op's element types, if the op's is higher.
pub(super) fn sufficient_fidelity(row: &OpRow) -> Option<MathFidelity> {
    if judge_fidelity(row).verdict != FidelityVerdict::TooHigh {
        return None;
    }
    ["LoFi", "HiFi2", "HiFi3"].into_iter().find_map(|name| {
        let is_enough = judge(row, name).verdict == FidelityVerdict::Sufficient;
        MathFidelity::from_name(name).filter(|_| is_enough)
    })
}

fn mantissa_bits(datatype: &str) -> Option<u32> {
    Some(match datatype {
        "FLOAT32" => 23,
        "BFLOAT16" => 8,
        "BFLOAT8_B" => 7,
        "BFLOAT4_B" => 3,
        _ => return None,
    })
}

fn judge_bits(fidelity: &str, [first, second, output]: [u32; 3]) -> FidelityAdvice {
    use FidelityVerdict::{Sufficient, TooHigh, TooLow};
    const FULL: Option<&str> = Some("HiFi2 keeps most of the bits at twice the speed.");
    const RAISE: Option<&str> = Some("Use HiFi4 to keep all bits of the inputs.");
    const LOWER_2: Option<&str> = Some("HiFi2 keeps all bits that the output has, and is faster.");
    const LOWER_LO: Option<&str> = Some("LoFi keeps all bits of the weights, and is faster.");
    const TRY_LO: Option<&str> = Some("LoFi may do, and is twice as fast.");
    const RAISE_2: Option<&str> = Some("Use HiFi2 to keep all bits of the inputs.");
    let columns = if first == 8 && output >= 7 {
        [(Sufficient, FULL), (TooLow, RAISE), (TooLow, RAISE), (TooLow, RAISE)]
    } else if first == 8 && output == 3 {
        [(TooHigh, LOWER_2), (TooHigh, LOWER_2), (Sufficient, TRY_LO), (TooLow, RAISE_2)]
    } else if second >= 7 && output >= 7 {
        [(TooHigh, LOWER_2), (TooHigh, LOWER_2), (Sufficient, None), (TooLow, RAISE_2)]
    } else if second >= 7 && output == 3 {
        [(TooHigh, LOWER_2), (TooHigh, LOWER_2), (Sufficient, TRY_LO), (TooLow, RAISE_2)]
    } else if second == 3 {
        [(TooHigh, LOWER_LO), (TooHigh, LOWER_LO), (TooHigh, LOWER_LO), (Sufficient, None)]
    } else {
        return FidelityAdvice { verdict: FidelityVerdict::Unknown, note: None };
    };
    let column = ["HiFi4", "HiFi3", "HiFi2", "LoFi"].iter().position(|&name| name == fidelity);
    match column.and_then(|column| columns.get(column)) {
        Some(&(verdict, note)) => FidelityAdvice { verdict, note },
        None => FidelityAdvice { verdict: FidelityVerdict::Unknown, note: None },
    }
}

#[cfg(test)]
mod tests {
    use super::{FidelityVerdict::*, *};
    use crate::perf::row::Tensor;

    fn verdict(fidelity: &str, types: [&str; 3]) -> FidelityVerdict {
        let [first, second, output] =
            types.map(|datatype| Tensor { datatype: Some(datatype.into()), ..Tensor::default() });
        let math_fidelity = fidelity.into();
        let row = OpRow { math_fidelity, inputs: [first, second], output, ..OpRow::default() };
        judge_fidelity(&row).verdict
    }

    #[test]
    fn every_rule_gives_its_four_verdicts() {
        let (f32, b16, b8, b4) = ("FLOAT32", "BFLOAT16", "BFLOAT8_B", "BFLOAT4_B");
        let rules = [
            ([b16, b16, b16], [Sufficient, TooLow, TooLow, TooLow]),
            ([b16, b8, b4], [TooHigh, TooHigh, Sufficient, TooLow]),
            ([b8, b8, b16], [TooHigh, TooHigh, Sufficient, TooLow]),
            ([b8, b8, b4], [TooHigh, TooHigh, Sufficient, TooLow]),
            ([b8, b4, b16], [TooHigh, TooHigh, TooHigh, Sufficient]),
            ([f32, f32, f32], [TooHigh, TooHigh, Sufficient, TooLow]),
        ];
        for (types, verdicts) in rules {
            for (fidelity, expected) in ["HiFi4", "HiFi3", "HiFi2", "LoFi"].iter().zip(verdicts) {
                assert_eq!(verdict(fidelity, types), expected, "{fidelity} {types:?}");
            }
        }
    }

    #[test]
    fn integers_and_unknown_types_are_not_judged() {
        assert_eq!(verdict("HiFi4", ["UINT32", "BFLOAT16", "BFLOAT16"]), NotApplicable);
        assert_eq!(verdict("HiFi4", ["FP8", "BFLOAT16", "BFLOAT16"]), Unknown);
        assert_eq!(verdict("odd", ["BFLOAT16"; 3]), Unknown);
    }
}
