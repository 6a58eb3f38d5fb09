//! Check whether a matmul's math fidelity fits its element types.

use super::{arch::MathFidelity, row::OpRow};

/// Verdict on a math fidelity for given element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FidelityVerdict {
    /// The fidelity uses all bits of the inputs.
    Sufficient,
    /// With this fidelity, the multiplier uses more bits than the result keeps.
    TooHigh,
    /// With this fidelity, the multiplier ignores low bits of the inputs.
    TooLow,
    /// The element types are integers, to which fidelity does not apply.
    NotApplicable,
    /// There is no rule for these element types.
    Unknown,
}

/// Verdict with a suggested change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FidelityAdvice {
    /// Verdict.
    pub verdict: FidelityVerdict,
    /// Suggested change, or a limitation of the verdict.
    pub note: Option<&'static str>,
    /// True if a fidelity lower than the op's would still use all mantissa bits of the element
    /// types.
    #[serde(skip)]
    pub is_excess: bool,
}

impl FidelityAdvice {
    const fn new(verdict: FidelityVerdict, note: Option<&'static str>) -> Self {
        Self { verdict, note, is_excess: false }
    }

    /// Returns the note, unless it advises a higher fidelity, with which an op is not faster.
    pub(super) fn note_on_speed(&self) -> Option<&'static str> {
        self.note.filter(|_| ![RAISE, RAISE_TF32, RAISE_2].contains(&self.note))
    }
}

/// Judges the fidelity of an op with two inputs.
///
/// # Compatibility
/// The verdicts are those of tt-perf-report 1.4.1. Its rule for input 0 contains only BFLOAT16, so
/// it considers HiFi4 and HiFi3 too high for FLOAT32. `is_excess` and the note describe the
/// behaviour of the chip instead.
#[must_use]
pub fn judge_fidelity(row: &OpRow) -> FidelityAdvice {
    FidelityAdvice { is_excess: sufficient_fidelity(row).is_some(), ..judge(row) }
}

/// Returns the element types of the op's two inputs and of its output.
fn datatypes(row: &OpRow) -> [Option<&str>; 3] {
    let [first, second] = &row.inputs;
    [first, second, &row.output].map(|tensor| tensor.datatype.as_deref())
}

fn judge(row: &OpRow) -> FidelityAdvice {
    let types = datatypes(row);
    if types.iter().flatten().any(|of| matches!(*of, "UINT8" | "UINT16" | "INT32" | "UINT32")) {
        let note = Some("Math fidelity does not apply to integers.");
        return FidelityAdvice::new(FidelityVerdict::NotApplicable, note);
    }
    let [Some(first), Some(second), Some(output)] = types.map(|datatype| mantissa_bits(datatype?))
    else {
        let note = Some("The element types have no known mantissa; fidelity is not judged.");
        return FidelityAdvice::new(FidelityVerdict::Unknown, note);
    };
    judge_bits(&row.math_fidelity, [first, second, output])
}

/// Returns the lowest fidelity that uses all mantissa bits of the element types; `None` if the op's
/// fidelity is not higher than that.
///
/// # Compatibility
/// Fidelity phases in the ISA documentation (`SrcASrcB.md`), with input 0 in SrcB and input 1 in
/// SrcA. LoFi multiplies 5 bits of input 1 and 7 bits of input 0, including the leading ones. HiFi2
/// adds the remaining bits of input 1, and HiFi4 adds the remaining bits of input 0. BFLOAT8_B has
/// 7 bits and BFLOAT4_B has 3. BFLOAT16 has 8 bits, so only HiFi4 multiplies all bits of input 0.
/// FLOAT32 is truncated to TF32 with 11 bits, so HiFi2 leaves out 4 bits of input 0. If the output
/// has only 3 bits, leaving out bits of input 0 does not matter.
pub(super) fn sufficient_fidelity(row: &OpRow) -> Option<MathFidelity> {
    let [first, second, output] = datatypes(row).map(|datatype| mantissa_bits(datatype?));
    let (first, second, output) = (first?, second?, output?);
    let is_first_cut = first > 7 && output > 3;
    let lowest = if second <= 4 && first <= 7 { MathFidelity::LoFi } else { MathFidelity::HiFi2 };
    let own = MathFidelity::from_name(&row.math_fidelity)?;
    (!is_first_cut && lowest < own).then_some(lowest)
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

/// Notes that advise a higher fidelity, which is more exact and never faster.
const RAISE: Option<&str> = Some("Use HiFi4 to keep all bits of the inputs.");
const RAISE_TF32: Option<&str> = Some("HiFi4 multiplies 4 more bits of input 0.");
const RAISE_2: Option<&str> = Some("Use HiFi2 to keep all bits of the inputs.");

fn judge_bits(fidelity: &str, [first, second, output]: [u32; 3]) -> FidelityAdvice {
    use FidelityVerdict::{Sufficient, TooHigh, TooLow};
    const FULL: Option<&str> = Some("HiFi2 keeps most of the bits at twice the speed.");
    const LOWER_2: Option<&str> = Some("HiFi2 multiplies all bits of these inputs, and is faster.");
    const LOWER_3: Option<&str> = Some("HiFi2 keeps more bits than the output has, and is faster.");
    const LOWER_LO: Option<&str> = Some("LoFi multiplies all bits of these inputs, and is faster.");
    const TF32: Option<&str> = Some(
        "HiFi2 leaves out the last 4 of 11 bits of input 0 (FLOAT32 is multiplied as TF32): it is twice \
         as fast as HiFi4, where that is exact enough.",
    );
    const TRY_LO: Option<&str> = Some("LoFi may do, and is twice as fast.");
    let columns = if first == 8 && output >= 7 {
        [(Sufficient, FULL), (TooLow, RAISE), (TooLow, RAISE), (TooLow, RAISE)]
    } else if first == 23 && second >= 7 && output >= 7 {
        [(TooHigh, TF32), (TooHigh, TF32), (Sufficient, RAISE_TF32), (TooLow, RAISE_TF32)]
    } else if first == 23 && second == 3 {
        [(TooHigh, TF32), (TooHigh, TF32), (TooHigh, RAISE_TF32), (Sufficient, RAISE_TF32)]
    } else if (first == 8 || second >= 7) && output == 3 {
        [(TooHigh, LOWER_3), (TooHigh, LOWER_3), (Sufficient, TRY_LO), (TooLow, RAISE_2)]
    } else if second >= 7 && output >= 7 {
        [(TooHigh, LOWER_2), (TooHigh, LOWER_2), (Sufficient, None), (TooLow, RAISE_2)]
    } else if second == 3 {
        [(TooHigh, LOWER_LO), (TooHigh, LOWER_LO), (TooHigh, LOWER_LO), (Sufficient, None)]
    } else {
        return FidelityAdvice::new(FidelityVerdict::Unknown, None);
    };
    let column = ["HiFi4", "HiFi3", "HiFi2", "LoFi"].iter().position(|&name| name == fidelity);
    match column.and_then(|column| columns.get(column)) {
        Some(&(verdict, note)) => FidelityAdvice::new(verdict, note),
        None => FidelityAdvice::new(FidelityVerdict::Unknown, None),
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
    fn a_fidelity_is_in_excess_if_a_lower_one_multiplies_all_bits() {
        let lower = |fidelity: &str, types: [&str; 3]| {
            let [first, second, output] = types
                .map(|datatype| Tensor { datatype: Some(datatype.into()), ..Tensor::default() });
            let math_fidelity = fidelity.into();
            let row = OpRow { math_fidelity, inputs: [first, second], output, ..OpRow::default() };
            assert_eq!(judge_fidelity(&row).is_excess, sufficient_fidelity(&row).is_some());
            sufficient_fidelity(&row)
        };
        let [lofi, hifi2] = ["LoFi", "HiFi2"].map(MathFidelity::from_name);
        let (f32, b16, b8, b4) = ("FLOAT32", "BFLOAT16", "BFLOAT8_B", "BFLOAT4_B");
        assert_eq!(lower("HiFi4", [f32, f32, f32]), None, "TF32 has 11 bits");
        assert_eq!(lower("HiFi4", [b16, b8, b16]), None, "8 bits of input 0");
        assert_eq!(lower("HiFi4", [b8, b16, b16]), hifi2);
        assert_eq!(lower("HiFi3", [b8, b8, b8]), hifi2);
        assert_eq!(lower("HiFi2", [b8, b8, b8]), None, "not lower");
        assert_eq!(lower("HiFi2", [b8, b4, b16]), lofi);
        assert_eq!(lower("HiFi4", [b16, b8, b4]), hifi2, "the output has 3 bits");
        assert_eq!(lower("HiFi4", ["UINT16", b8, b4]), None);
    }

    #[test]
    fn integers_and_unknown_types_are_not_judged() {
        assert_eq!(verdict("HiFi4", ["UINT32", "BFLOAT16", "BFLOAT16"]), NotApplicable);
        assert_eq!(verdict("HiFi4", ["FP8", "BFLOAT16", "BFLOAT16"]), Unknown);
        assert_eq!(verdict("odd", ["BFLOAT16"; 3]), Unknown);
    }
}
