//! Converts variables to settings, in TT-Metal's order.

use crate::environment::{
    problem::Problem,
    settings::Settings,
    variable::{
        ACCUMULATE, BUFFERS, COUNTERS, DISPATCH, FOLDER, FULL_OPS, FULL_READ_INTERVAL, Form, HOME,
        MID_RUN, MID_RUN_PUSH, NO_FILES, NO_TRACY, NOC_DEBUG, NOC_DEBUG_OLD, NOC_EVENTS,
        NOC_FOLDER, OP_RECORDS, POLL_INTERVAL, POST_PROCESS, PRINT_SERVER, PROFILER, STREAMING,
        SUM, SUPPORT_COUNT, SYNC, TRACE, TRACKING, VARIABLES, Variable, WATERMARK_MARGIN,
    },
};
use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};
use wire::dram::effective_support_count;

/// Settings, and problems of the variables that select them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The settings.
    pub settings: Settings,
    /// Problems, each displayed as one line.
    pub problems: Vec<Problem>,
}

/// Bits of the counter groups that are L1 banks.
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

/// Returns the folder of TT-Metal's logs and reports, given the values of variables.
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
        let is_on = match variable.form {
            Form::Switch => value.starts_with('1'),
            Form::Presence | Form::Number | Form::Text => true,
        };
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
        self.switch_on(name, &value);
    }

    /// Returns the problem of a variable that has no effect because the profiler is off when it is
    /// processed.
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

    fn switch_on(&mut self, name: &'static str, value: &str) {
        let settings = &mut self.settings;
        match name {
            PROFILER => settings.profiler = true,
            DISPATCH => settings.dispatch_cores = true,
            SYNC => settings.clock_sync = true,
            NOC_EVENTS => (settings.profiler, settings.noc_events) = (true, true),
            NOC_FOLDER if !value.is_empty() => {
                settings.noc_events_folder = Some(PathBuf::from(value))
            }
            COUNTERS => self.take_counters(value),
            BUFFERS => settings.buffer_usage = true,
            TRACE => settings.trace_only = true,
            TRACKING => settings.trace_tracking = true,
            MID_RUN => settings.mid_run_dump = true,
            POST_PROCESS => settings.post_process = true,
            SUM => settings.sums = true,
            ACCUMULATE => settings.accumulate = true,
            SUPPORT_COUNT => self.take_support_count(value),
            NO_FILES => settings.files = false,
            NO_TRACY => settings.tracy = false,
            NOC_DEBUG | NOC_DEBUG_OLD => {
                (settings.profiler, settings.noc_events) = (true, true);
                settings.non_dropping = true;
            }
            POLL_INTERVAL => {
                if let Some(ms) = self.milliseconds(name, value, "keeps 500") {
                    self.settings.poll_interval_ms = ms;
                }
            }
            FULL_READ_INTERVAL => {
                self.settings.full_read_interval_ms = self.milliseconds(name, value, KEEPS_ITS_OWN);
            }
            WATERMARK_MARGIN => {
                self.settings.watermark_margin_ms = self.milliseconds(name, value, KEEPS_ITS_OWN);
            }
            STREAMING => settings.streaming = true,
            OP_RECORDS => settings.op_records = true,
            FULL_OPS => settings.full_op_records = true,
            MID_RUN_PUSH => {
                let needed = "a runtime of 2024, the last that read it";
                self.problems.push(Problem::HasNoEffect { name: MID_RUN_PUSH, needed });
            }
            _ => {}
        }
    }

    /// Adds a problem if other characters follow the number in the value.
    fn note_cut_number(&mut self, name: &'static str, value: &str, taken: i64) {
        let rest = value.trim_start().trim_start_matches(['+', '-']);
        if !rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).is_empty() {
            self.problems.push(Problem::CutNumber { name, value: value.to_owned(), taken });
        }
    }

    fn take_counters(&mut self, value: &str) {
        let Some(mask) = leading_number(value) else {
            let consequence = "counts nothing";
            self.problems.push(no_number(COUNTERS, value, consequence));
            return;
        };
        self.note_cut_number(COUNTERS, value, mask);
        let Ok(mask) = u32::try_from(mask) else {
            let (value, expected) = (value.to_owned(), "groups 0 to 9 as bits");
            self.problems.push(Problem::OutOfRange { name: COUNTERS, value, expected });
            return;
        };
        let bank_count = (mask & L1_BANKS).count_ones();
        if bank_count > 1 {
            self.problems.push(Problem::SeveralL1Banks { mask, bank_count });
        }
        self.settings.counter_groups = mask;
        self.settings.profiler |= mask != 0;
    }

    fn take_support_count(&mut self, value: &str) {
        let Some(count) = leading_number(value) else {
            self.problems.push(no_number(SUPPORT_COUNT, value, "stops"));
            return;
        };
        self.note_cut_number(SUPPORT_COUNT, value, count);
        match u32::try_from(count) {
            Ok(count) if i32::try_from(count).is_ok() => {
                let raised = effective_support_count(count, self.settings.sums);
                if raised > count {
                    self.problems.push(Problem::SupportCountRaised { given: count, raised });
                }
                self.settings.program_support_count = Some(count);
            }
            _ => {
                let (value, expected) = (value.to_owned(), "0 to 2147483647 programs");
                self.problems.push(Problem::OutOfRange { name: SUPPORT_COUNT, value, expected });
            }
        }
    }

    /// Parses a time; adds a problem and returns `None` if the value is not a number.
    fn milliseconds(
        &mut self,
        name: &'static str,
        value: &str,
        consequence: &'static str,
    ) -> Option<u32> {
        let Some(number) = leading_number(value) else {
            self.problems.push(no_number(name, value, consequence));
            return None;
        };
        self.note_cut_number(name, value, number);
        let time = u32::try_from(number).ok();
        if time.is_none() {
            let (value, expected) = (value.to_owned(), "milliseconds");
            self.problems.push(Problem::OutOfRange { name, value, expected });
        }
        time
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
    let own = own_words(&upper);
    let distances = VARIABLES.iter().map(|variable| {
        let letters = strsim::damerau_levenshtein(&upper, variable.name);
        let words = strsim::damerau_levenshtein(&own, &own_words(variable.name));
        (letters, words, variable.name)
    });
    let is_near = distances.clone().any(|(letters, ..)| letters <= NEAR);
    let (.., nearest) =
        distances.min_by_key(|&(letters, words, _)| (letters.min(words), letters))?;
    (is_near || has_profiler).then(|| Problem::Misspelled { name: name.to_owned(), nearest })
}

/// Returns the words of a name, sorted and without `TT`, `METAL`, `DEVICE` and `PROFILER`. People
/// confuse these common words and the order of words, but remember the other words.
fn own_words(name: &str) -> String {
    let mut words: Vec<&str> = name
        .split('_')
        .filter(|word| !["TT", "METAL", "DEVICE", "PROFILER"].contains(word))
        .collect();
    words.sort_unstable();
    words.join("_")
}

/// Description of how TT-Metal handles a time that is not a number.
const KEEPS_ITS_OWN: &str = "keeps its default";

/// Maximum edit distance for a misspelled name that does not contain the word `PROFILER`.
const NEAR: usize = 3;

/// Prefix of the variables that only affect TT-Metal's streaming profiler.
const STREAMING_OPTIONS: &str = "TT_METAL_STREAMING_PROFILER_";

fn is_known(name: &str) -> bool {
    VARIABLES.iter().any(|variable| variable.name == name)
        || name.starts_with(STREAMING_OPTIONS)
        || name == PRINT_SERVER
}

fn no_number(name: &'static str, value: &str, consequence: &'static str) -> Problem {
    Problem::NoNumber { name, value: value.to_owned(), consequence }
}

/// Returns the number at the start of a value, parsed as in C; `None` if there is none.
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
