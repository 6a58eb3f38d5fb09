//! Filter that selects a part of a trace, and its syntax for users.

use reader::{lane::LaneId, mesh::Noc0Coord};
use std::str::FromStr;
use wildmatch::WildMatch;

/// Filter that selects a part of a trace. The default selects the whole trace.
///
/// # Syntax
/// A filter is a comma-separated list of terms `KEY=VALUE`. A value without a key belongs to the
/// previous key. The values of one key are alternatives. If there are several keys, all of them
/// must match. `KEY!=VALUE` excludes values. A comma in a name is written `\,`.
///
/// | key | value | example |
/// |---|---|---|
/// | `device` | number or range | `device=0`, `device=0..3` |
/// | `core` | NoC-0 x-y, or a rectangle of cores | `core=1-1`, `core=1-1..4-8` |
/// | `risc` | label, ignoring case; `*` and `?` are wildcards | `risc=BRISC,ncrisc`, `risc=trisc*` |
/// | `op` | number or range of programs, or a name | `op=3..9`, `op=Matmul*` |
/// | `zone` | name of a zone, event, value or sum | `zone=Load*`, `zone!=*-FW` |
/// | `signpost` | window from the host's first signpost with the first name to the next signpost with the second name | `signpost=start..stop`, `signpost=warm*..` |
/// | `time` | window since the start of the trace, in ns, us, ms or s | `time=10us..1.5ms`, `time=2ms..` |
///
/// Ranges include both ends; either end may be omitted. A zone is in a window if it overlaps the
/// window.
///
/// ```
/// use recording::TraceFilter;
/// let filter: TraceFilter = "op=3..9,zone=Load*,zone!=*Wait".parse()?;
/// assert!(filter.selects_op(9, None) && !filter.selects_op(10, None));
/// assert!(filter.selects_zone("LoadData") && !filter.selects_zone("LoadWait"));
/// let error = "core=1.1".parse::<TraceFilter>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "filter `core=1.1`: expected a core as x-y or a rectangle as x-y..x-y, found `1.1`"
/// );
/// # Ok::<(), recording::FilterError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceFilter {
    terms: Vec<Term>,
}

/// A syntax error in a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("filter `{term}`: expected {expected}, found `{found}`")]
pub struct FilterError {
    /// The invalid term.
    pub term: String,
    /// The expected syntax.
    pub expected: &'static str,
    /// The text found instead.
    pub found: String,
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    key: Key,
    is_exclusion: bool,
    value: Value,
}

reader::labelled! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Key {
        Device = "device",
        Core = "core",
        Risc = "risc",
        Op = "op",
        Zone = "zone",
        Signpost = "signpost",
        Time = "time",
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// Range of numbers: the first and the last.
    Numbers(u64, u64),
    /// Two opposite corners of a rectangle of cores.
    Cores(Noc0Coord, Noc0Coord),
    /// A name with wildcards.
    Name(WildMatch),
    /// Patterns for the names of the first and the last signpost. `None` in the first place is the
    /// beginning of the trace; in the second place, the end of the trace.
    Signposts(Option<WildMatch>, Option<WildMatch>),
}

impl TraceFilter {
    /// Returns true if the filter selects the whole trace.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns a filter that excludes the launches of a program. `base_id` is the program's id
    /// without the chip; see [`RunHostId::base`](wire::RunHostId::base).
    #[must_use]
    pub fn without_program(base_id: u32) -> Self {
        let value = Value::Numbers(base_id.into(), base_id.into());
        Self { terms: vec![Term { key: Key::Op, is_exclusion: true, value }] }
    }

    /// Adds the terms of another filter, as if both filters were joined by a comma.
    pub fn extend(&mut self, other: Self) {
        self.terms.extend(other.terms);
    }

    /// Returns the keys of the filter's terms that are not in `known`.
    #[must_use]
    pub fn keys_besides(&self, known: &[&str]) -> Vec<&'static str> {
        let keys = self.terms.iter().map(|term| term.key.label());
        keys.filter(|key| !known.contains(key)).collect()
    }

    /// Returns true if the terms for devices select this chip.
    #[must_use]
    pub fn selects_device(&self, chip_id: u32) -> bool {
        self.selects(Key::Device, |value| value.has_number(chip_id.into()))
    }

    /// Returns true if the terms for devices, cores and RISCs select this lane.
    #[must_use]
    pub fn selects_lane(&self, lane: LaneId) -> bool {
        let label = lane.risc.label();
        let joined = label.replace('_', "");
        self.selects_device(lane.chip_id)
            && self.selects(Key::Core, |value| value.has_core(lane.core))
            && self.selects(Key::Risc, |value| value.has_name(label) || value.has_name(&joined))
    }

    /// Returns true if the terms for ops select an op.
    ///
    /// `base_id` is the program's id without the chip; see
    /// [`RunHostId::base`](wire::RunHostId::base). It is 0 if there is no program.
    #[must_use]
    pub fn selects_op(&self, base_id: u32, name: Option<&str>) -> bool {
        self.selects(Key::Op, |value| {
            value.has_number(base_id.into()) || name.is_some_and(|name| value.has_name(name))
        })
    }

    /// Returns true if the terms for zones select zones, events, values and sums with this name.
    #[must_use]
    pub fn selects_zone(&self, name: &str) -> bool {
        self.selects(Key::Zone, |value| value.has_name(name))
    }

    /// Returns true if the terms for time select a time range. The limits of the range are in
    /// nanoseconds since the trace's origin.
    #[must_use]
    pub fn selects_time(&self, start_ns: u64, end_ns: u64) -> bool {
        self.selects(Key::Time, |value| {
            matches!(*value, Value::Numbers(first, last) if start_ns <= last && end_ns >= first)
        })
    }

    /// Returns the filter with its signposts replaced by windows of time.
    ///
    /// `signposts` contains the time, in nanoseconds since the trace's origin, and the name of each
    /// signpost, in time order. If no signpost matches one of a window's names, the window is
    /// empty.
    #[must_use]
    pub fn resolved(&self, signposts: &[(u64, &str)]) -> Self {
        Self {
            terms: self
                .terms
                .iter()
                .map(|term| match &term.value {
                    Value::Signposts(first, last) => {
                        let (from, to) = window(signposts, first.as_ref(), last.as_ref());
                        Term { key: Key::Time, value: Value::Numbers(from, to), ..term.clone() }
                    }
                    _ => term.clone(),
                })
                .collect(),
        }
    }

    /// Returns the signpost names of the filter that do not match any known signpost.
    pub fn unknown_signposts<'a>(
        &self,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Vec<String> {
        let names = self.terms.iter().filter_map(|term| match &term.value {
            Value::Signposts(first, last) => Some([first, last]),
            _ => None,
        });
        let patterns = names.flatten().flatten();
        patterns
            .filter(|pattern| !known.clone().any(|name| pattern.matches(name)))
            .map(ToString::to_string)
            .collect()
    }

    fn selects(&self, key: Key, holds: impl Fn(&Value) -> bool) -> bool {
        let terms = self.terms.iter().filter(|term| term.key == key);
        let mut included = terms.clone().filter(|term| !term.is_exclusion).peekable();
        let is_included = included.peek().is_none() || included.any(|term| holds(&term.value));
        is_included && !terms.clone().any(|term| term.is_exclusion && holds(&term.value))
    }
}

/// Returns the window from the first signpost that matches `first` to the next signpost that
/// matches `last`.
fn window(
    signposts: &[(u64, &str)],
    first: Option<&WildMatch>,
    last: Option<&WildMatch>,
) -> (u64, u64) {
    const NOTHING: (u64, u64) = (u64::MAX, 0);
    let position = |from: usize, pattern: &WildMatch| {
        let mut named = signposts.iter().enumerate().skip(from);
        named.find(|(_, (_, name))| pattern.matches(name)).map(|(position, _)| position)
    };
    let begin = first.map(|pattern| position(0, pattern));
    let Some(begin) = begin.map_or(Some(None), |found| found.map(Some)) else { return NOTHING };
    let end =
        last.map(|pattern| position(begin.map_or(0, |begin| begin.saturating_add(1)), pattern));
    let Some(end) = end.map_or(Some(None), |found| found.map(Some)) else { return NOTHING };
    let [begin, end] = [begin, end].map(|position| Some(signposts.get(position?)?.0));
    (begin.unwrap_or(0), end.unwrap_or(u64::MAX))
}

/// Returns true if `at` is between two numbers, inclusive. The two numbers can be in any order.
fn is_between(one: u16, other: u16, at: u16) -> bool {
    (one.min(other)..=one.max(other)).contains(&at)
}

impl Value {
    fn has_number(&self, number: u64) -> bool {
        matches!(*self, Self::Numbers(first, last) if (first..=last).contains(&number))
    }

    fn has_core(&self, core: Noc0Coord) -> bool {
        let Self::Cores(one, other) = *self else { return false };
        is_between(one.x, other.x, core.x) && is_between(one.y, other.y, core.y)
    }

    fn has_name(&self, name: &str) -> bool {
        matches!(self, Self::Name(pattern) if pattern.matches(name))
    }
}

impl FromStr for TraceFilter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut filter = Self::default();
        let mut key = None;
        for piece in split_terms(text) {
            let (found, value) = split_key(&piece)?;
            key = found.or(key);
            let Some((key, is_exclusion)) = key else {
                return Err(error(&piece, TERM, &piece));
            };
            let value =
                Value::parse(key, value).map_err(|expected| error(&piece, expected, value))?;
            filter.terms.push(Term { key, is_exclusion, value });
        }
        if filter.is_empty() { Err(error(text, TERM, text)) } else { Ok(filter) }
    }
}

const TERM: &str =
    "KEY=VALUE or KEY!=VALUE with device, core, risc, op, zone, signpost or time as the key";
const RANGE: &str = "a number or a range such as 3..9, 3.. or ..9";
const CORE: &str = "a core as x-y or a rectangle as x-y..x-y";
const SIGNPOSTS: &str = "names of signposts such as start..stop, start.. or ..stop";
const WINDOW: &str = "a window of time such as 10us..1.5ms, 2ms.. or ..1s";

fn error(term: &str, expected: &'static str, found: &str) -> FilterError {
    FilterError { term: term.to_owned(), expected, found: found.to_owned() }
}

/// Splits a text at commas; `\,` stands for a comma.
fn split_terms(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.next_if_eq(&',').is_some() => push(&mut terms, ','),
            ',' => terms.push(String::new()),
            other => push(&mut terms, other),
        }
    }
    terms.retain(|term| !term.trim().is_empty());
    terms
}

fn push(terms: &mut [String], character: char) {
    if let Some(last) = terms.last_mut() {
        last.push(character);
    }
}

/// The key of a term, and a flag that is true if the term excludes values.
type KeyPart = (Key, bool);

/// Splits a term into its key, if the term has one, and its value.
fn split_key(piece: &str) -> Result<(Option<KeyPart>, &str), FilterError> {
    let Some((name, value)) = piece.split_once('=') else { return Ok((None, piece.trim())) };
    let (name, is_exclusion) = match name.strip_suffix('!') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let Some(key) = Key::ALL.into_iter().find(|key| name.trim().eq_ignore_ascii_case(key.label()))
    else {
        return Err(error(piece, TERM, name));
    };
    Ok((Some((key, is_exclusion)), value.trim()))
}

impl Value {
    fn parse(key: Key, text: &str) -> Result<Self, &'static str> {
        match key {
            Key::Device => numbers(text, |number| number.parse().ok()).ok_or(RANGE),
            Key::Core => cores(text).ok_or(CORE),
            Key::Risc => Ok(Self::Name(WildMatch::new_case_insensitive(text))),
            Key::Op => {
                let range = numbers(text, |number| number.parse().ok());
                Ok(range.unwrap_or_else(|| Self::Name(WildMatch::new(text))))
            }
            Key::Zone => Ok(Self::Name(WildMatch::new(text))),
            Key::Signpost => signposts(text).ok_or(SIGNPOSTS),
            Key::Time if !text.contains("..") => Err(WINDOW),
            Key::Time => numbers(text, nanoseconds).ok_or(WINDOW),
        }
    }
}

fn numbers(text: &str, parse: impl Fn(&str) -> Option<u64>) -> Option<Value> {
    let Some((first, last)) = text.split_once("..") else {
        let only = parse(text)?;
        return Some(Value::Numbers(only, only));
    };
    let from = if first.is_empty() { 0 } else { parse(first)? };
    let to = if last.is_empty() { u64::MAX } else { parse(last)? };
    (from <= to && text.len() > "..".len()).then_some(Value::Numbers(from, to))
}

fn signposts(text: &str) -> Option<Value> {
    let (first, last) = text.split_once("..")?;
    let [first, last] =
        [first.trim(), last.trim()].map(|name| (!name.is_empty()).then(|| WildMatch::new(name)));
    (first.is_some() || last.is_some()).then_some(Value::Signposts(first, last))
}

fn cores(text: &str) -> Option<Value> {
    match text.split_once("..") {
        Some((one, other)) => Some(Value::Cores(core(one)?, core(other)?)),
        None => core(text).map(|only| Value::Cores(only, only)),
    }
}

/// Parses a coordinate such as `1-2`.
fn core(text: &str) -> Option<Noc0Coord> {
    let (x, y) = text.split_once('-')?;
    Some(Noc0Coord { x: x.parse().ok()?, y: y.parse().ok()? })
}

/// Parses a time such as `1.5ms`, exactly to the nanosecond. A time without a unit is in
/// nanoseconds.
fn nanoseconds(text: &str) -> Option<u64> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let decimals = match unit {
        "" | "ns" => 0,
        "us" => 3,
        "ms" => 6,
        "s" => 9,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction:0<decimals$}");
    let is_exact = fraction.len() <= decimals && !whole.is_empty();
    if is_exact { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Risc;

    fn filter(text: &str) -> TraceFilter {
        text.parse().unwrap()
    }

    fn lane(chip_id: u32, x: u16, y: u16, risc: Risc) -> LaneId {
        LaneId { chip_id, core: Noc0Coord { x, y }, risc }
    }

    #[test]
    fn values_of_one_key_widen_and_other_keys_narrow() {
        let filter = filter("device=0,core=1-1,3-4..2-3,risc=brisc,trisc*");
        assert!(filter.selects_lane(lane(0, 1, 1, Risc::Brisc)));
        assert!(filter.selects_lane(lane(0, 2, 4, Risc::Trisc2)));
        assert!(!filter.selects_lane(lane(0, 2, 4, Risc::Ncrisc)));
        assert!(!filter.selects_lane(lane(1, 1, 1, Risc::Brisc)));
        assert!(!filter.selects_lane(lane(0, 1, 2, Risc::Brisc)));
    }

    #[test]
    fn a_risc_may_be_named_without_its_underscore() {
        assert!(filter("risc=TRISC1").selects_lane(lane(0, 1, 1, Risc::Trisc1)));
        assert!(filter("risc=trisc_1").selects_lane(lane(0, 1, 1, Risc::Trisc1)));
    }

    #[test]
    fn ops_are_chosen_by_number_and_by_name() {
        let filter = filter("op=3..5,9..,Mat*");
        let chosen: Vec<u32> = (0..12).filter(|&op| filter.selects_op(op, None)).collect();
        assert_eq!(chosen, [3, 4, 5, 9, 10, 11]);
        assert!(filter.selects_op(1, Some("Matmul")) && !filter.selects_op(1, Some("Softmax")));
    }

    #[test]
    fn a_window_takes_what_touches_it() {
        let filter = filter("time=1.5us..2us");
        let chosen = |start, end| filter.selects_time(start, end);
        assert!(chosen(0, 1500) && chosen(2000, 9000) && chosen(0, 9000));
        assert!(!chosen(0, 1499) && !chosen(2001, 9000));
    }

    #[test]
    fn signposts_are_windows_from_the_first_of_one_name_to_the_next_of_the_other() {
        let set = [(10, "start"), (20, "iteration"), (30, "stop"), (40, "start"), (50, "stop")];
        let chosen = |text: &str| {
            let filter = filter(text).resolved(&set);
            (0..60_u64).filter(|&ns| filter.selects_time(ns, ns)).collect::<Vec<_>>()
        };
        assert_eq!(chosen("signpost=start..stop"), (10..=30).collect::<Vec<_>>());
        assert_eq!(chosen("signpost=start..start"), (10..=40).collect::<Vec<_>>());
        assert_eq!(chosen("signpost=iter*.."), (20..60).collect::<Vec<_>>());
        assert_eq!(chosen("signpost=..iteration"), (0..=20).collect::<Vec<_>>());
        assert_eq!(chosen("signpost=absent.."), Vec::<u64>::new());
        assert_eq!(chosen("signpost!=..iteration,time=..25"), (21..=25).collect::<Vec<_>>());
        let unknown = filter("signpost=start..absent").unknown_signposts(["start"].into_iter());
        assert_eq!(unknown, ["absent"]);
    }

    #[test]
    fn a_name_may_hold_a_comma() {
        let filter = filter(r"zone=copy a\,b,zone=x");
        assert!(filter.selects_zone("copy a,b") && filter.selects_zone("x"));
        assert!(!filter.selects_zone("copy a"));
    }

    #[test]
    fn wrong_words_are_refused_with_what_was_expected() {
        for (text, sentence) in [
            ("", "filter ``: expected KEY=VALUE or KEY!=VALUE with device"),
            ("BRISC", "filter `BRISC`: expected KEY=VALUE"),
            ("chip=0", "found `chip`"),
            ("device=0,core=1", "filter `core=1`: expected a core as x-y"),
            ("device=9..3", "expected a number or a range such as 3..9"),
            ("device=..", "expected a number or a range"),
            ("time=5us", "expected a window of time such as 10us..1.5ms"),
            ("time=1.5..2", "expected a window of time"),
            ("time=1h..", "expected a window of time"),
        ] {
            let error = text.parse::<TraceFilter>().unwrap_err().to_string();
            assert!(error.contains(sentence), "{text}: {error}");
        }
    }
}
