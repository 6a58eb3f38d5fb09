//! Names of signposts: whether two of them mark two iterations, or two parts of one.

/// Beginnings of words that count repetitions of a program, such as in `iteration 3`.
const REPETITIONS: [&str; 24] = [
    "batch", "bench", "compil", "decod", "epoch", "exec", "forward", "frame", "generat", "infer",
    "iter", "loop", "measur", "pass", "perf", "prefill", "repeat", "replay", "round", "run",
    "sample", "step", "token", "warm",
];

/// Returns true if the names differ only in numbers, and if one of these does not count repetitions:
/// `layer00` and `layer01` are parts of a model, `iteration 0` and `iteration 1` are not.
pub(crate) fn are_parts(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(pieces);
    if one.len() != other.len() || one.iter().zip(&other).any(|(one, other)| one.0 != other.0) {
        return false;
    }
    let numbers = one.iter().zip(&other).filter(|(one, other)| one.1 != other.1);
    numbers.map(|(one, _)| last_word(one.0)).any(|word| {
        let word = word.to_lowercase();
        !word.is_empty() && !REPETITIONS.iter().any(|start| word.starts_with(start))
    })
}

/// Splits a name into texts, each with the number that follows it.
fn pieces(name: &str) -> Vec<(&str, &str)> {
    let mut rest = name;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let text = rest.find(|of: char| of.is_ascii_digit()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(text);
        let number = after.find(|of: char| !of.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(number);
        pieces.push((text, number));
        rest = after;
    }
    pieces
}

/// Returns the last word of a text; empty if there is none.
fn last_word(text: &str) -> &str {
    let words = text.split(|of: char| !of.is_alphabetic());
    words.rev().find(|word| !word.is_empty()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_layers_are_parts_and_numbers_of_iterations_are_not() {
        for (one, other) in [
            ("ZS layer00/attn", "ZS layer02/attn"),
            ("Block 1", "Block 2"),
            ("iter 1 layer 1", "iter 1 layer 2"),
        ] {
            assert!(are_parts(one, other), "{one}, {other}");
        }
        for (one, other) in [
            ("layer00", "layer00"),
            ("Iteration 0", "Iteration 1"),
            ("run-3", "run-4"),
            ("iter1/layer 1", "iter2/layer 1"),
            ("warmup", "start"),
            ("1", "2"),
            ("layer 1", "head 1"),
        ] {
            assert!(!are_parts(one, other), "{one}, {other}");
        }
    }
}
