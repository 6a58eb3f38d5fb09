//! Converts variables to settings, in TT-Metal's order.

use crate::environment::{
    problem::Problem,
    settings::Settings,
    variable::{
        ACCUMULATE, COUNTERS, DISPATCH, FOLDER, FULL_READ_INTERVAL, Form, HOME, MID_RUN,
        MID_RUN_PUSH, NOC_DEBUG, NOC_DEBUG_OLD, NOC_EVENTS, NOC_FOLDER, POLL_INTERVAL,
        PRINT_SERVER, PROFILER, STREAMING, SUPPORT_COUNT, TRACE, VARIABLES, Variable,
        WATERMARK_MARGIN,
    },
};
use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};
use wire::dram::effective_support_count;

/// Settings, and the problems found in the variables that select the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The settings.
    pub settings: Settings,
    /// Problems, each displayed as one line.
    pub problems: Vec<Problem>,
}

/// Bits of the counter mask that select banks of L1 counters. A run can use only one of these
/// banks.
const L1_BANKS: u32 = 0b11_1101_1000;

impl Environment {
    /// Reads the variables of this process.
    #[must_use]
    pub fn from_process() -> Self {
        let mut environment = Self::from_variables(
            std::env::vars_os().map(|(name, value)| (lossy_text(name), lossy_text(value))),
        );
        // Paths may contain invalid Unicode.
        environment.settings.artifacts = artifacts_folder(|name| std::env::var_os(name));
        environment
    }

    /// Reads variables from pairs of name and value.
    ///
    /// ```
    /// use host_reader::environment::Environment;
    /// let environment = Environment::from_variables([
    ///     ("TT_METAL_DEVICE_PROFILER", "1"),
    ///     ("TT_METAL_PROFILER_MIDRUN_DUMP", "1"),
    /// ]);
    /// assert!(environment.settings.profiler && !environment.settings.mid_run_dump);
    /// let line = "TT_METAL_PROFILER_MIDRUN_DUMP is not known; did you mean \
    ///             TT_METAL_PROFILER_MID_RUN_DUMP?";
    /// assert_eq!(environment.problems[0].to_string(), line);
    /// ```
    pub fn from_variables<N: Into<String>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let mut parser = Parser { values: variables.collect(), ..Parser::default() };
        VARIABLES.iter().for_each(|variable| parser.take(variable));
        parser.settings.artifacts =
            artifacts_folder(|name| parser.values.get(name).map(OsString::from));
        parser.find_contradictions();
        parser.find_misspellings();
        Self { settings: parser.settings, problems: parser.problems }
    }
}

fn lossy_text(text: OsString) -> String {
    text.to_string_lossy().into_owned()
}

/// Returns the folder of TT-Metal's logs and reports. `value` returns the value of an environment
/// variable.
///
/// The folder is `TT_METAL_PROFILER_DIR`, else `generated/profiler` in `TT_METAL_HOME`, else
/// `generated/profiler` in the working directory.
///
/// ```
/// use host_reader::environment::artifacts_folder;
/// let folder = artifacts_folder(|name| (name == "TT_METAL_HOME").then(|| "/tt".into()));
/// assert_eq!(folder.to_str(), Some("/tt/generated/profiler"));
/// ```
pub fn artifacts_folder(value: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let [folder, home] =
        [FOLDER, HOME].map(|name| value(name).filter(|value| !value.is_empty()).map(PathBuf::from));
    folder.unwrap_or_else(|| home.unwrap_or_default().join("generated/profiler"))
}

#[derive(Default)]
struct Parser {
    values: BTreeMap<String, String>,
    settings: Settings,
    problems: Vec<Problem>,
}

impl Parser {
    fn take(&mut self, variable: &Variable) {
        let name = variable.name;
        let Some(value) = self.values.get(name).cloned() else { return };
        let is_on = !matches!(variable.form, Form::Switch { .. }) || value.starts_with('1');
        if !is_on {
            if !matches!(value.to_lowercase().as_str(), "" | "0" | "false" | "off" | "no") {
                self.problems.push(Problem::NotOn { name, value });
            }
            return;
        }
        if variable.needs_profiler && !self.settings.profiler {
            self.problems.push(self.without_profiler(name));
            return;
        }
        self.apply(variable, &value);
    }

    /// Returns the problem to report for the variable `name`, which has no effect because the
    /// profiler is still off when TT-Metal processes this variable.
    fn without_profiler(&self, name: &'static str) -> Problem {
        let is_on =
            |name: &&str| self.values.get(*name).is_some_and(|value| value.starts_with('1'));
        let later = [NOC_EVENTS, NOC_DEBUG, NOC_DEBUG_OLD].into_iter().find(is_on);
        let later = later.or_else(|| {
            let mask = self.values.get(COUNTERS).and_then(|value| leading_number(value));
            mask.is_some_and(|mask| mask != 0).then_some(COUNTERS)
        });
        match later {
            Some(switched_by) => Problem::TakenTooEarly { name, switched_by },
            None => Problem::NeedsProfiler { name },
        }
    }

    fn apply(&mut self, Variable { name, form, .. }: &Variable, value: &str) {
        let settings = &mut self.settings;
        match form {
            Form::Switch { flag, turns } => *flag(settings) = *turns,
            Form::Presence(flag) => *flag(settings) = true,
            Form::Other => self.take_value(name, value),
        }
        let settings = &mut self.settings;
        settings.noc_events |= settings.non_dropping;
        settings.profiler |= settings.noc_events || settings.counter_groups != 0;
    }

    /// Applies a variable whose value is a number or a text.
    fn take_value(&mut self, name: &'static str, value: &str) {
        const MS: (u32, &str) = (u32::MAX, "milliseconds");
        let own = "keeps its default";
        match name {
            NOC_FOLDER if !value.is_empty() => {
                self.settings.noc_events_folder = Some(PathBuf::from(value));
            }
            COUNTERS => self.take_counters(value),
            SUPPORT_COUNT => self.take_support_count(value),
            POLL_INTERVAL => {
                if let Some(ms) = self.number(name, value, MS, "keeps 500") {
                    self.settings.poll_interval_ms = ms;
                }
            }
            FULL_READ_INTERVAL => {
                self.settings.full_read_interval_ms = self.number(name, value, MS, own);
            }
            WATERMARK_MARGIN => {
                self.settings.watermark_margin_ms = self.number(name, value, MS, own);
            }
            MID_RUN_PUSH => {
                let needed = "a runtime of 2024, the last that read it";
                self.problems.push(Problem::HasNoEffect { name: MID_RUN_PUSH, needed });
            }
            _ => {}
        }
    }

    fn take_counters(&mut self, value: &str) {
        let range = (u32::MAX, "groups 0 to 9 as bits");
        let Some(mask) = self.number(COUNTERS, value, range, "counts nothing") else { return };
        let bank_count = (mask & L1_BANKS).count_ones();
        if bank_count > 1 {
            self.problems.push(Problem::SeveralL1Banks { mask, bank_count });
        }
        self.settings.counter_groups = mask;
    }

    fn take_support_count(&mut self, value: &str) {
        let range = (i32::MAX.unsigned_abs(), "0 to 2147483647 programs");
        let Some(given) = self.number(SUPPORT_COUNT, value, range, "stops") else { return };
        let raised = effective_support_count(given, self.settings.sums);
        if raised > given {
            self.problems.push(Problem::SupportCountRaised { given, raised });
        }
        self.settings.program_support_count = Some(given);
    }

    /// Parses a number. Adds a problem if the value is not a number, has other text after the
    /// number, or is not in the range from 0 to `most`.
    ///
    /// `expected` describes valid numbers, and `consequence` describes TT-Metal's reaction to a
    /// value that is not a number.
    fn number(
        &mut self,
        name: &'static str,
        value: &str,
        (most, expected): (u32, &'static str),
        consequence: &'static str,
    ) -> Option<u32> {
        let owned = value.to_owned();
        let Some(taken) = leading_number(value) else {
            self.problems.push(Problem::NoNumber { name, value: owned, consequence });
            return None;
        };
        let rest = value.trim_start().trim_start_matches(['+', '-']);
        if !rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).is_empty() {
            self.problems.push(Problem::CutNumber { name, value: owned.clone(), taken });
        }
        let number = u32::try_from(taken).ok().filter(|number| *number <= most);
        if number.is_none() {
            self.problems.push(Problem::OutOfRange { name, value: owned, expected });
        }
        number
    }

    fn find_contradictions(&mut self) {
        let settings = &self.settings;
        let mut found = Vec::new();
        if settings.profiler && self.values.contains_key(PRINT_SERVER) {
            found.push(Problem::PrintServer);
        }
        for (is_set, one, other, reason) in [
            (
                settings.mid_run_dump && settings.trace_only,
                MID_RUN,
                TRACE,
                "an envelope is whole only when its trace has run",
            ),
            (
                settings.mid_run_dump && settings.dispatch_cores,
                MID_RUN,
                DISPATCH,
                "dispatch cores run until the end, so their zones are open in between",
            ),
            (
                settings.accumulate && settings.trace_only,
                ACCUMULATE,
                TRACE,
                "one keeps every launch, the other the envelopes of traces alone",
            ),
            (
                settings.accumulate && settings.dispatch_cores,
                ACCUMULATE,
                DISPATCH,
                "launches of dispatch cores do not end, so that theirs are never pushed",
            ),
            (
                settings.streaming && settings.profiler,
                STREAMING,
                PROFILER,
                "both write into the same L1; unset one",
            ),
        ] {
            if is_set {
                found.push(Problem::Contradiction { one, other, reason });
            }
        }
        for (has_no_effect, name, needed) in [
            (!settings.noc_events, NOC_FOLDER, NOC_EVENTS),
            (!settings.non_dropping, POLL_INTERVAL, NOC_DEBUG),
            (!settings.non_dropping, FULL_READ_INTERVAL, NOC_DEBUG),
            (!settings.non_dropping, WATERMARK_MARGIN, NOC_DEBUG),
        ] {
            if has_no_effect && self.values.contains_key(name) {
                found.push(Problem::HasNoEffect { name, needed });
            }
        }
        let interval_ms = settings.poll_interval_ms;
        if let Some(margin_ms) = settings
            .watermark_margin_ms
            .filter(|margin_ms| settings.non_dropping && *margin_ms <= interval_ms)
        {
            found.push(Problem::MarginTooSmall { margin_ms, interval_ms });
        }
        self.problems.extend(found);
    }

    /// Adds a problem for each name that nearly matches a known variable.
    fn find_misspellings(&mut self) {
        let unknown = self.values.keys().filter(|name| !is_known(name));
        let found: Vec<_> = unknown.filter_map(|name| misspelling(name)).collect();
        self.problems.extend(found);
    }
}

/// Returns a problem if a name nearly matches a known variable.
fn misspelling(name: &str) -> Option<Problem> {
    let upper = name.to_uppercase();
    let has_profiler = upper.starts_with("TT") && upper.contains("PROFIL");
    let letters_to = |variable: &Variable| strsim::damerau_levenshtein(&upper, variable.name);
    let letter_count = upper.chars().count();
    let is_near = |variable: &Variable| {
        variable.name.len().abs_diff(letter_count) <= NEAR && letters_to(variable) <= NEAR
    };
    if !has_profiler && !VARIABLES.iter().any(is_near) {
        return None;
    }
    let own = own_words(&upper);
    let distance = |variable: &&Variable| {
        let letters = letters_to(variable);
        let words = strsim::damerau_levenshtein(&own, &own_words(variable.name));
        (letters.min(words), letters)
    };
    let nearest = VARIABLES.iter().min_by_key(distance)?.name;
    Some(Problem::Misspelled { name: name.to_owned(), nearest })
}

/// Returns the words of a name, sorted and without `TT`, `METAL`, `DEVICE` and `PROFILER`.
///
/// Users often mix up these common words or change the order of the words, but they remember the
/// other words.
fn own_words(name: &str) -> String {
    let mut words: Vec<&str> = name
        .split('_')
        .filter(|word| !["TT", "METAL", "DEVICE", "PROFILER"].contains(word))
        .collect();
    words.sort_unstable();
    words.join("_")
}

/// Maximum edit distance from a known name at which an unknown name counts as misspelled. Names
/// that begin with `TT` and contain `PROFIL` count as misspelled at any distance.
const NEAR: usize = 3;

/// Prefix of the variables that only affect TT-Metal's streaming profiler.
const STREAMING_OPTIONS: &str = "TT_METAL_STREAMING_PROFILER_";

fn is_known(name: &str) -> bool {
    VARIABLES.iter().any(|variable| variable.name == name)
        || name.starts_with(STREAMING_OPTIONS)
        || name == PRINT_SERVER
}

/// Returns the number at the start of a value, parsed as in C; `None` if the value does not start
/// with a number.
fn leading_number(value: &str) -> Option<i64> {
    let value = value.trim_start();
    let (sign, digits) = match value.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, value.strip_prefix('+').unwrap_or(value)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let digits = digits.get(..end).filter(|digits| !digits.is_empty())?;
    // A number that does not fit 64 bits is out of range for every variable.
    Some(digits.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(sign))
}

#[cfg(test)]
mod tests;
