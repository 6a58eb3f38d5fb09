//! State of one client: loaded recordings, and handles of answers with more rows.

use super::{
    arguments::{Call, DiffArguments, DiffPart, RecordingsArguments},
    causes, changes,
    loaded::{Loaded, Lost, Part},
    losses, ops, path,
    root::Root,
    table::{Table, shortened, table},
    zones,
};
use crate::failure::{Failure, failure};
use host_reader::diff::Diff;
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
    /// The last comparison, kept for its further pages.
    diff: Option<(DiffArguments, Arc<Diff>)>,
}

impl Session {
    /// Creates the state of a client that may read a folder and has no recordings.
    pub(super) fn new(root: Root) -> Self {
        Self { root, state: Mutex::default() }
    }

    /// Loads a recording permitted by the user or the root, and returns its name.
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

    /// Answers a call with one JSON text of bounded size.
    ///
    /// # Errors
    /// One sentence, if the requested data does not exist.
    pub(super) fn answer(&self, call: Call) -> Result<String, Failure> {
        match call {
            Call::Load(arguments) => {
                let path = Path::new(&arguments.path);
                let recording = Some(self.load(&self.root.resolve(path)?)?);
                self.page(Call::Recordings(RecordingsArguments { recording }), 0)
            }
            Call::More(arguments) => {
                let (call, from) = self.state().continuation(&arguments.handle)?;
                self.page(call, from)
            }
            call => self.page(call, 0),
        }
    }

    fn page(&self, mut call: Call, from: usize) -> Result<String, Failure> {
        match &call {
            Call::Recordings(arguments) => {
                let listed = self.state().listed(arguments)?;
                let table = recordings_table(&listed);
                return Ok(self.finish(&call, &Map::new(), &table, from));
            }
            Call::Diff(arguments) => {
                let (head, diff) = self.compared(arguments)?;
                let table = changes::table(&diff, arguments.part);
                return Ok(self.finish(&call, &head, &table, from));
            }
            _ => {}
        }
        let loaded = self.chosen(&mut call)?;
        let (number, part) = loaded.1.part(call.run())?;
        let mut head = Map::new();
        head.insert("recording".to_owned(), loaded.0.into());
        head.insert("run".to_owned(), number.into());
        head.insert("lost".to_owned(), json!(part.lost()));
        let table = match &call {
            Call::Ops(arguments) => ops::table(part, arguments)?,
            Call::Zones(arguments) => zones::table(part, arguments)?,
            Call::Explain(arguments) => causes::table(part, arguments.part),
            Call::CriticalPath(arguments) => path::table(part, arguments)?,
            Call::Losses(arguments) => losses::table(part, arguments.part),
            Call::Load(_) | Call::Recordings(_) | Call::Diff(_) | Call::More(_) => {
                return Err(failure!("expected a question about a recording"));
            }
        };
        Ok(self.finish(&call, &head, &table, from))
    }

    /// Returns the recording of a call. Its name is stored in the call, so that a handle refers to
    /// the same recording even if others are loaded later.
    fn chosen(&self, call: &mut Call) -> Result<(String, Arc<Loaded>), Failure> {
        let state = self.state();
        let (name, loaded) = match call.recording_mut().and_then(|name| name.as_ref()) {
            Some(name) => (name.clone(), state.recording(name)?),
            None => state.newest()?,
        };
        if let Some(asked) = call.recording_mut() {
            *asked = Some(name.clone());
        }
        Ok((name, loaded))
    }

    /// Returns the comparison of two recordings, with the losses of both.
    fn compared(
        &self,
        arguments: &DiffArguments,
    ) -> Result<(Map<String, Value>, Arc<Diff>), Failure> {
        let (a, b, known) = {
            let state = self.state();
            let known = state.diff.as_ref().map(|(of, diff)| (of.clone(), Arc::clone(diff)));
            (state.recording(&arguments.a)?, state.recording(&arguments.b)?, known)
        };
        let key = DiffArguments { part: DiffPart::default(), ..arguments.clone() };
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
        call: &Call,
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
            state.handles.push_back((handle, call.clone(), next));
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
    Lost::together(loaded.parts().into_iter().map(Part::lost))
}

impl State {
    fn recording(&self, name: &str) -> Result<Arc<Loaded>, Failure> {
        let number = name.strip_prefix('r').and_then(|digits| digits.parse().ok());
        let found = number.and_then(|number: u64| self.recordings.get(&number));
        found.cloned().ok_or_else(|| self.no_recording(&format!("`{}`", short(name))))
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
        let is_lower_bound = runs.iter().any(|lost| lost.is_lower_bound);
        let records = (records > 0 || !is_lower_bound).then_some(records);
        let text = "all runs together; recordings tells those of each".to_owned();
        Self { records, is_lower_bound, text }
    }
}

fn name_of(number: u64) -> String {
    format!("r{number}")
}

fn short(text: &str) -> String {
    shortened(text, HEAD_TEXT_BYTES).unwrap_or_else(|| text.to_owned())
}

/// Returns the kind of a part, its number of ops, and its number of zones; an ops CSV has no zones.
fn contents(part: Part<'_>) -> (&'static str, usize, Option<u64>) {
    match part {
        Part::OpsCsv(figures) => ("ops CSV", figures.report.rows.len(), None),
        Part::Run(figures) => {
            let kept = figures.report.summary.kept;
            let zones = kept.zones.saturating_add(kept.open_zones);
            ("records", figures.report.ops.len(), Some(zones))
        }
    }
}

fn recordings_table(listed: &[(String, Arc<Loaded>)]) -> Table<'_> {
    let runs = listed.iter().flat_map(|(name, loaded)| {
        (1_usize..).zip(loaded.parts()).map(move |(run, part)| (name, loaded, run, part))
    });
    table!(runs, |(name, loaded, run, part)| {
        let (kind, ops, zones) = contents(*part);
        let lost = part.lost();
        "recording" => name,
        "path" => short(&loaded.path),
        "run" => run,
        "title" => short(part.title()),
        "kind" => kind,
        "ops" => ops,
        "zones" or "an ops CSV has no zones" => zones,
        "problems" => loaded.problem_count,
        "lost_records" or "nobody counted them: see lost" => lost.records,
        "lost" => lost.text,
    })
    .with_note("limit", format!("the last {MAX_RECORDINGS} recordings are kept"))
}
