//! Names of signposts: whether two of them mark two iterations, or two parts of one.

/// Beginnings of words that count repetitions of a program, such as in `iteration 3`. Other words, such as
/// `layer`, number the parts of a model.
const REPETITIONS: &[&str] = &[
    "attempt", "batch", "bench", "call", "chunk", "clip", "compil", "cycle", "decod", "denois",
    "episode", "epoch", "eval", "exec", "forward", "frame", "generat", "image", "img", "infer",
    "iter", "job", "launch", "loop", "measur", "pass", "perf", "prefill", "prompt", "quer",
    "repeat", "repetit", "replay", "req", "round", "run", "sample", "sentence", "seq", "session",
    "shot", "step", "timestep", "tok", "train", "trial", "try", "turn", "update", "user", "utter",
    "video", "warm", "window",
];

/// Whole words that do.
const SHORT_REPETITIONS: [&str; 3] = ["i", "it", "t"];

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
        !word.is_empty() && !counts_repetitions(&word)
    })
}

/// Beginnings of words that name parts of models, though they begin as words for repetitions do.
const PARTS: [&str; 6] = ["decoder", "executor", "generator", "sampler", "sequential", "updater"];

/// Returns true if the number behind a word in lower case counts repetitions of a program.
fn counts_repetitions(word: &str) -> bool {
    let is_any = |starts: &[&str]| starts.iter().any(|start| word.starts_with(start));
    SHORT_REPETITIONS.contains(&word) || is_any(REPETITIONS) && !is_any(&PARTS)
}

/// Returns a name without the numbers that count repetitions, such as `iter_#_start` of `iter_0_start`;
/// `None` if there is no such number.
pub(crate) fn series(name: &str) -> Option<String> {
    let mut series = String::new();
    let mut is_counted = false;
    for (text, number) in pieces(name) {
        let is_count = !number.is_empty() && counts_repetitions(&last_word(text).to_lowercase());
        is_counted |= is_count;
        series.push_str(text);
        series.push_str(if is_count { "#" } else { number });
    }
    is_counted.then_some(series)
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
            ("decoder_0", "decoder_1"),
            ("expert_0", "expert_1"),
            ("stage 1", "stage 2"),
        ] {
            assert!(are_parts(one, other), "{one}, {other}");
        }
        for (one, other) in [
            ("layer00", "layer00"),
            ("Iteration 0", "Iteration 1"),
            ("request_0", "request_1"),
            ("user=0", "user=31"),
            ("it 7", "it 8"),
            ("run-3", "run-4"),
            ("iter1/layer 1", "iter2/layer 1"),
            ("warmup", "start"),
            ("1", "2"),
            ("layer 1", "head 1"),
        ] {
            assert!(!are_parts(one, other), "{one}, {other}");
        }
    }

    #[test]
    fn signposts_of_a_series_differ_in_the_number_that_counts_repetitions() {
        for (name, expected) in [
            ("iter_0_start", Some("iter_#_start")),
            ("Iteration 12", Some("Iteration #")),
            ("iter 3 layer 7", Some("iter # layer 7")),
            ("layer_7", None),
            ("decoder_7", None),
            ("start", None),
            ("7", None),
        ] {
            assert_eq!(series(name).as_deref(), expected, "{name}");
        }
    }
}
