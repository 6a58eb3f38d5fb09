//! State of one client: loaded recordings, and handles of answers with more rows.

use super::{
    arguments::{
        Call, DiffArguments, DiffPart, ExplainArguments, LinesArguments, LoadArguments,
        LossesArguments, MoreArguments, ProvenanceArguments, RecordingsArguments, RunArguments,
    },
    by, causes, changes, counters, lines,
    loaded::{Figures, Loaded, Lost, Part},
    losses, memory, noc, ops, path, programs, provenance,
    root::Root,
    table::{Table, shortened, table},
    zones,
};
use crate::failure::{Failure, failure};
use host_reader::{diff::Diff, ledger::known_count};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Maximum number of recordings in memory. Loading another one removes the oldest.
const MAX_RECORDINGS: usize = 8;

/// Maximum number of valid handles.
const MAX_HANDLES: usize = 1024;

/// Maximum number of bytes for a path or title in an answer.
const HEAD_TEXT_BYTES: usize = 240;

/// State of one client.
pub(super) struct Session {
    root: Root,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    recordings: BTreeMap<u64, Arc<Loaded>>,
    loaded_count: u64,
    handles: VecDeque<(u64, Call, usize)>,
    handle_count: u64,
    /// The last comparison, kept in case the client requests further pages of it.
    diff: Option<(DiffArguments, Arc<Diff>)>,
}

impl Session {
    /// Creates the state of a client that has no recordings yet and may read the folder `root`.
    pub(super) fn new(root: Root) -> Self {
        Self { root, state: Mutex::default() }
    }

    /// Loads a recording and returns its name, such as `r1`. The caller must have checked that the
    /// client may read `path`.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub(super) fn load(&self, path: &Path) -> Result<String, Failure> {
        let loaded = Arc::new(Loaded::open(path)?);
        let mut state = self.state();
        state.loaded_count = state.loaded_count.saturating_add(1);
        let number = state.loaded_count;
        state.recordings.insert(number, loaded);
        while state.recordings.len() > MAX_RECORDINGS {
            state.recordings.pop_first();
        }
        Ok(name_of(number))
    }

    /// Answers a call of a known tool with one JSON text of bounded size.
    ///
    /// # Errors
    /// If the arguments are invalid or the requested data does not exist. The error is one
    /// sentence.
    pub(super) fn answer(&self, call: Call) -> Result<String, Failure> {
        match call.tool.as_str() {
            "load" => {
                let LoadArguments { path } = call.parsed()?;
                let recording = self.load(&self.root.resolve(Path::new(&path))?)?;
                let arguments = Map::from_iter([("recording".to_owned(), recording.into())]);
                self.page(Call { tool: "recordings".to_owned(), arguments }, 0)
            }
            "more" => {
                let MoreArguments { handle } = call.parsed()?;
                let (call, from) = self.state().continuation(&handle)?;
                self.page(call, from)
            }
            _ => self.page(call, 0),
        }
    }

    fn page(&self, call: Call, from: usize) -> Result<String, Failure> {
        match call.tool.as_str() {
            "recordings" => {
                let listed = self.state().listed(&call.parsed()?)?;
                Ok(self.finish(call, &Map::new(), &recordings_table(&listed), from))
            }
            "diff" => {
                let arguments: DiffArguments = call.parsed()?;
                let (head, diff) = self.compared(&arguments)?;
                let sides = self.state().sides(&arguments)?;
                let table =
                    changes::table(&diff, &arguments, sides.each_ref().map(|side| &**side))?;
                Ok(self.finish(call, &head, &table, from))
            }
            "ops" => {
                let asked = call.parsed()?;
                self.page_of_part(call, from, |part| ops::table(&part.figures, &asked))
            }
            "zones" => {
                let asked = call.parsed()?;
                self.page_of_part(call, from, |part| zones::table(&part.figures, &asked))
            }
            "by" => {
                let asked = call.parsed()?;
                self.page_of_part(call, from, |part| by::table(part, &asked))
            }
            "noc" => {
                let asked = call.parsed()?;
                self.page_of_part(call, from, |part| noc::table(&part.figures, &asked))
            }
            "counters" => {
                let asked = call.parsed()?;
                self.page_of_part(call, from, |part| counters::table(&part.figures, &asked))
            }
            "lines" => {
                let asked: LinesArguments = call.parsed()?;
                let (name, loaded) = self.chosen(asked.recording.as_deref())?;
                let mut call = call;
                call.arguments.insert("recording".to_owned(), name.clone().into());
                let mut head = Map::new();
                head.insert("recording".to_owned(), name.into());
                head.insert("lost".to_owned(), json!(lost_records(&loaded)));
                Ok(self.finish(call, &head, &lines::table(&loaded, &asked)?, from))
            }
            "memory" => {
                let asked = call.parsed()?;
                self.page_of_part(call, from, |part| memory::table(&part.figures, &asked))
            }
            "programs" => {
                let asked = call.parsed()?;
                self.page_of_part(call, from, |part| programs::table(part, &asked))
            }
            "provenance" => {
                let ProvenanceArguments { .. } = call.parsed()?;
                self.page_of_loaded(call, from, |loaded, part| Ok(provenance::table(loaded, part)))
            }
            "explain" => {
                let ExplainArguments { part: asked, .. } = call.parsed()?;
                self.page_of_part(call, from, |part| Ok(causes::table(&part.explanation, asked)))
            }
            "critical_path" => {
                let asked = call.parsed()?;
                self.page_of_part(call, from, |part| path::table(&part.explanation.ops, &asked))
            }
            _ => {
                let LossesArguments { part: asked, .. } = call.parsed()?;
                self.page_of_part(call, from, |part| Ok(losses::table(&part.figures, asked)))
            }
        }
    }

    /// Returns a page about the run that the arguments `recording` and `run` choose. The name of the
    /// recording is stored in the call, so that a handle refers to the same recording even if others
    /// are loaded later.
    fn page_of_part(
        &self,
        call: Call,
        from: usize,
        table: impl FnOnce(&Part) -> Result<Table<'_>, Failure>,
    ) -> Result<String, Failure> {
        self.page_of_loaded(call, from, |_, part| table(part))
    }

    /// Like [`Self::page_of_part`], for tables that also need the whole recording.
    fn page_of_loaded(
        &self,
        mut call: Call,
        from: usize,
        table: impl for<'l> FnOnce(&'l Loaded, &'l Part) -> Result<Table<'l>, Failure>,
    ) -> Result<String, Failure> {
        let RunArguments { recording, run } = call.parsed()?;
        let (name, loaded) = self.chosen(recording.as_deref())?;
        call.arguments.insert("recording".to_owned(), name.clone().into());
        let (number, part) = loaded.part(run)?;
        let mut head = Map::new();
        head.insert("recording".to_owned(), name.into());
        head.insert("run".to_owned(), number.into());
        head.insert("lost".to_owned(), json!(part.lost()));
        let table = table(&loaded, part)?;
        Ok(self.finish(call, &head, &table, from))
    }

    /// Returns the recording of a name, or the newest one, with its name.
    fn chosen(&self, name: Option<&str>) -> Result<(String, Arc<Loaded>), Failure> {
        match name {
            Some(name) => Ok((name.to_owned(), self.state().recording(name)?)),
            None => self.state().newest(),
        }
    }

    /// Returns the comparison of two recordings, with the losses of both.
    fn compared(
        &self,
        arguments: &DiffArguments,
    ) -> Result<(Map<String, Value>, Arc<Diff>), Failure> {
        let ([a, b], known) = {
            let state = self.state();
            let known = state.diff.as_ref().map(|(of, diff)| (of.clone(), Arc::clone(diff)));
            (state.sides(arguments)?, known)
        };
        let part = DiffPart::default();
        let key = DiffArguments { part, column: None, ..arguments.clone() };
        let diff = match known.filter(|(of, _)| *of == key) {
            Some((_, diff)) => diff,
            None => {
                let diff = Arc::new(changes::compare(&a, &b, arguments.confidence)?);
                self.state().diff = Some((key, Arc::clone(&diff)));
                diff
            }
        };
        let mut head = Map::new();
        head.insert("a".to_owned(), arguments.a.clone().into());
        head.insert("b".to_owned(), arguments.b.clone().into());
        head.insert("lost".to_owned(), json!({ "a": lost_records(&a), "b": lost_records(&b) }));
        Ok((head, diff))
    }

    fn finish(
        &self,
        call: Call,
        head: &Map<String, Value>,
        table: &Table<'_>,
        from: usize,
    ) -> String {
        let handle = {
            let mut state = self.state();
            state.handle_count = state.handle_count.saturating_add(1);
            state.handle_count
        };
        let page = table.page(head, from, &format!("h{handle}"));
        if let Some(next) = page.next {
            let mut state = self.state();
            state.handles.push_back((handle, call, next));
            while state.handles.len() > MAX_HANDLES {
                state.handles.pop_front();
            }
        }
        page.text
    }

    /// Returns the locked state. A lock poisoned by a panic is accepted, because no tool leaves a
    /// partial change.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lost_records(loaded: &Loaded) -> Lost {
    Lost::together(loaded.parts.iter().map(Part::lost))
}

impl State {
    fn recording(&self, name: &str) -> Result<Arc<Loaded>, Failure> {
        let number = name.strip_prefix('r').and_then(|digits| digits.parse().ok());
        let found = number.and_then(|number: u64| self.recordings.get(&number));
        found.cloned().ok_or_else(|| self.no_recording(&format!("`{}`", short(name))))
    }

    /// Returns the two recordings that a comparison names.
    fn sides(&self, arguments: &DiffArguments) -> Result<[Arc<Loaded>; 2], Failure> {
        Ok([self.recording(&arguments.a)?, self.recording(&arguments.b)?])
    }

    fn newest(&self) -> Result<(String, Arc<Loaded>), Failure> {
        let newest = self.recordings.last_key_value();
        let newest = newest.map(|(number, loaded)| (name_of(*number), Arc::clone(loaded)));
        newest.ok_or_else(|| self.no_recording("none"))
    }

    fn no_recording(&self, found: &str) -> Failure {
        let names: Vec<_> = self.recordings.keys().map(|number| name_of(*number)).collect();
        let expected = match names.is_empty() {
            true => "a loaded recording".to_owned(),
            false => format!("one of the loaded recordings {}", names.join(", ")),
        };
        failure!("expected {expected}, found {found}; load a path first")
    }

    fn listed(&self, of: &RecordingsArguments) -> Result<Vec<(String, Arc<Loaded>)>, Failure> {
        if let Some(name) = &of.recording {
            return Ok(vec![(name.clone(), self.recording(name)?)]);
        }
        let all = self.recordings.iter();
        Ok(all.map(|(number, loaded)| (name_of(*number), Arc::clone(loaded))).collect())
    }

    fn continuation(&self, handle: &str) -> Result<(Call, usize), Failure> {
        let number = handle.strip_prefix('h').and_then(|digits| digits.parse::<u64>().ok());
        let found = self.handles.iter().find(|(of, ..)| Some(*of) == number);
        found.map(|(_, call, from)| (call.clone(), *from)).ok_or_else(|| {
            failure!(
                "expected a handle from the field more of one of the last {MAX_HANDLES} answers, \
                 found `{}`; call the tool again",
                short(handle)
            )
        })
    }
}

impl Lost {
    /// Returns the total losses of several runs.
    fn together(runs: impl Iterator<Item = Self>) -> Self {
        let mut runs: Vec<Self> = runs.collect();
        if runs.len() == 1 {
            return runs.remove(0);
        }
        let known = runs.iter().filter_map(|lost| lost.records);
        let records = known.fold(0, u64::saturating_add);
        let omitted: Option<Vec<u64>> = runs.iter().map(|lost| lost.omitted_records).collect();
        let omitted_records = omitted.map(|counts| counts.into_iter().sum());
        let running: Option<Vec<u64>> = runs.iter().map(|lost| lost.unfinished_runs).collect();
        let unfinished_runs = running.map(|counts| counts.into_iter().sum());
        let is_lower_bound = runs.iter().any(|lost| lost.is_lower_bound);
        let records = known_count(records, is_lower_bound);
        let text = "all runs together; recordings shows those of each run".to_owned();
        Self { records, omitted_records, is_lower_bound, unfinished_runs, text }
    }
}

fn name_of(number: u64) -> String {
    format!("r{number}")
}

fn short(text: &str) -> String {
    shortened(text, HEAD_TEXT_BYTES).unwrap_or_else(|| text.to_owned())
}

/// Returns the kind of a part, its number of ops, and its number of zones; an ops CSV has no zones.
fn contents(part: &Part) -> (&'static str, usize, Option<u64>) {
    match &part.figures {
        Figures::OpsCsv(report) => ("ops CSV", report.rows.len(), None),
        Figures::Run(figures) => {
            let kept = figures.report.summary.kept;
            let zones = kept.zones.saturating_add(kept.open_zones);
            ("records", figures.report.ops.len(), Some(zones))
        }
    }
}

fn recordings_table(listed: &[(String, Arc<Loaded>)]) -> Table<'_> {
    let runs = listed.iter().flat_map(|(name, loaded)| {
        (1_usize..).zip(&loaded.parts).map(move |(run, part)| (name, loaded, run, part))
    });
    table!(runs, |(name, loaded, run, part)| {
        let (kind, ops, zones) = contents(part);
        let lost = part.lost();
        "recording" => name,
        "path" => short(&loaded.path),
        "run" => run,
        "title" => short(&part.title),
        "kind" => kind,
        "ops" => ops,
        "zones" or "an ops CSV has no zones" => zones,
        "problems" => loaded.problem_count,
        "lost_records" or "nobody counted them: see lost" => lost.records,
        "lost" => lost.text,
    })
    .with_note("limit", format!("the last {MAX_RECORDINGS} recordings are kept"))
}
