//! Arguments of an op that differ between two calls, from the texts of the attributes.

use std::{collections::BTreeMap, fmt};

/// Maximum number of nested values that are compared part by part.
const DEEPEST: usize = 16;

/// An argument that differs between two calls of an op.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ArgumentChange {
    /// Name of the argument. The part of a value that differs follows a dot, as in
    /// `memory_config.buffer_type`.
    pub name: String,
    /// Value in the earlier call; `None` if it has no such argument.
    pub before: Option<String>,
    /// Value in the later call; `None` if it has no such argument.
    pub after: Option<String>,
}

impl ArgumentChange {
    pub(super) fn new(name: &str, before: Option<String>, after: Option<String>) -> Self {
        Self { name: name.to_owned(), before, after }
    }
}

impl fmt::Display for ArgumentChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] =
            [&self.before, &self.after].map(|value| value.as_deref().unwrap_or("not given"));
        write!(out, "{}: {before} -> {after}", self.name)
    }
}

/// Splits the text of attributes into names and values; `None` if it has another form, or a name twice.
///
/// # Compatibility
/// In ops CSVs the text is `{'name': 'value'; 'other': value}`, in descriptions of the host
/// `{"name": "value", "other": value}`.
pub(crate) fn attribute_parts(text: &str) -> Option<Parts<'_>> {
    parts_of(inside(text, ['{', '}']), ':')
}

/// Returns the arguments that differ between two texts of attributes.
pub(crate) fn argument_changes(before: &str, after: &str) -> Vec<ArgumentChange> {
    let mut changes = Vec::new();
    if before != after {
        let [one, other] = [before, after].map(attribute_parts);
        match one.zip(other) {
            Some((one, other)) => compare_parts("", &one, &other, 0, &mut changes),
            None => {
                let [before, after] = [before, after].map(|text| Some(text.to_owned()));
                changes.push(ArgumentChange::new("attributes", before, after));
            }
        }
    }
    changes
}

/// Named parts of a value, in the order of their names.
pub(crate) type Parts<'text> = BTreeMap<&'text str, &'text str>;

fn compare_parts(
    outer: &str,
    before: &Parts<'_>,
    after: &Parts<'_>,
    depth: usize,
    changes: &mut Vec<ArgumentChange>,
) {
    let mut names: Vec<&str> = before.keys().chain(after.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let [one, other] = [before, after].map(|parts| parts.get(name).copied());
        if one == other {
            continue;
        }
        let name = if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") };
        let inner = one.zip(other).filter(|_| depth < DEEPEST).and_then(|(one, other)| {
            let [(one_kind, one), (other_kind, other)] = [structure(one)?, structure(other)?];
            (one_kind == other_kind).then_some((one, other))
        });
        match inner {
            Some((one, other)) => {
                compare_parts(&name, &one, &other, depth.saturating_add(1), changes);
            }
            None => {
                let text = |value: Option<&str>| value.map(str::to_owned);
                changes.push(ArgumentChange::new(&name, text(one), text(other)));
            }
        }
    }
}

/// Splits a value such as `Kind(part=1;other=2)` into its kind and its parts; `None` if it has another
/// form.
fn structure(value: &str) -> Option<(&str, Parts<'_>)> {
    let (kind, rest) = value.split_once('(')?;
    let parts = parts_of(rest.strip_suffix(')')?, '=')?;
    Some((kind, parts))
}

/// Returns the text inside of brackets, or the whole text if it has none.
fn inside(text: &str, [open, close]: [char; 2]) -> &str {
    let text = text.trim();
    text.strip_prefix(open).and_then(|text| text.strip_suffix(close)).unwrap_or(text)
}

/// Splits parts, each a name, the separator, and a value; `None` if a part has no name,
/// or the name of another part.
fn parts_of(text: &str, separator: char) -> Option<Parts<'_>> {
    let mut parts = Parts::new();
    for part in split(text, &[';', ',']) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        let (name, value) = match split(part, &[separator]).first() {
            Some(name) if name.len() < part.len() => {
                (*name, part.get(name.len().checked_add(separator.len_utf8())?..)?)
            }
            _ => return None,
        };
        if parts.insert(unquoted(name), unquoted(value)).is_some() {
            return None;
        }
    }
    Some(parts)
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let quoted = ['\'', '"']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)));
    quoted.unwrap_or(text)
}

/// Splits a text at separators outside of brackets and quotes. `::` of C++ names is no separator.
fn split<'text>(text: &'text str, separators: &[char]) -> Vec<&'text str> {
    let (mut depth, mut quote, mut start) = (0_usize, None, 0_usize);
    let mut found = Vec::new();
    let mut previous = ' ';
    for (at, letter) in text.char_indices() {
        let before = std::mem::replace(&mut previous, letter);
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth = depth.saturating_add(1),
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 && separators.contains(&letter) => {
                let rest = text.get(at..).unwrap_or_default();
                if letter != ':' || !(rest.starts_with("::") || before == ':') {
                    found.push(text.get(start..at).unwrap_or_default());
                    start = at.saturating_add(letter.len_utf8());
                }
            }
            (None, _) => {}
        }
    }
    found.push(text.get(start..).unwrap_or_default());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(before: &str, after: &str) -> Vec<String> {
        argument_changes(before, after).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn attributes_of_both_forms_are_split() {
        let csv = "{'k': '32'; 'dim': -1; 'config': 'C(a=1;b=(2;3))'; 'last': true}";
        let expected = [("config", "C(a=1;b=(2;3))"), ("dim", "-1"), ("k", "32"), ("last", "true")];
        let parts = |text| attribute_parts(text).map(|parts| parts.into_iter().collect::<Vec<_>>());
        assert_eq!(parts(csv).unwrap(), expected);
        assert_eq!(parts(r#"{"k": "32", "dim": -1}"#).unwrap(), [("dim", "-1"), ("k", "32")]);
        assert_eq!(parts("{}"), Some(vec![]));
        for odd in ["{'k", "{'k'", "no attributes", "{'k' 32}"] {
            assert_eq!(parts(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_part_of_a_value_that_differs_is_named() {
        let config = |kind: &str, layout: &str| {
            format!(
                "{{'memory_config': 'MemoryConfig(memory_layout=TensorMemoryLayout::{layout};\
                 buffer_type=BufferType::{kind};shard_spec=std::nullopt)'; 'fused': 'true'}}"
            )
        };
        let one = config("DRAM", "INTERLEAVED");
        assert_eq!(texts(&one, &one), [""; 0]);
        assert_eq!(
            texts(&one, &config("L1", "INTERLEAVED")),
            ["memory_config.buffer_type: BufferType::DRAM -> BufferType::L1"]
        );
        assert_eq!(
            texts(&config("L1", "HEIGHT_SHARDED"), &config("L1", "INTERLEAVED")),
            ["memory_config.memory_layout: TensorMemoryLayout::HEIGHT_SHARDED -> \
              TensorMemoryLayout::INTERLEAVED"]
        );
    }

    #[test]
    fn an_argument_that_only_one_call_has_is_named_whole() {
        assert_eq!(
            texts(
                "{'operation': 'ttnn.add'}",
                "{'operation': 'ttnn.add'; 'dtype': 'DataType.FLOAT32'}"
            ),
            ["dtype: not given -> DataType.FLOAT32"]
        );
        assert_eq!(
            texts("{'grid': 'C(x=1; y=1)'}", "{'grid': 'std::nullopt'}"),
            ["grid: C(x=1; y=1) -> std::nullopt"]
        );
        assert_eq!(texts("{'grid': 'C(x=1; y=1)'}", "{'grid': 'C(x=8; y=1)'}"), ["grid.x: 1 -> 8"]);
        assert_eq!(texts("{'a': 1; 'b': (1;2)}", "{'b': (1;3); 'a': 1}"), ["b: (1;2) -> (1;3)"]);
    }

    #[test]
    fn texts_of_another_form_differ_as_a_whole() {
        assert_eq!(texts("none", "{'a': 1}"), ["attributes: none -> {'a': 1}"]);
        assert_eq!(texts("{'a': 'x;y", "{'a': 1}"), ["attributes: {'a': 'x;y -> {'a': 1}"]);
        let twice = texts("{'a': 1; 'a': 2}", "{'a': 3; 'a': 2}");
        assert_eq!(twice, ["attributes: {'a': 1; 'a': 2} -> {'a': 3; 'a': 2}"]);
    }

    #[test]
    fn separators_inside_of_quotes_and_brackets_separate_nothing() {
        assert_eq!(
            split("a; (b; c); 'd; e'; [f; g]", &[';']),
            ["a", " (b; c)", " 'd; e'", " [f; g]"]
        );
        assert_eq!(split("a::b: c", &[':']), ["a::b", " c"]);
    }
}
