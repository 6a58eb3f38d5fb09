//! Programs that calls of ops built: which calls found theirs in the program cache, which built one
//! although they had one before, and which of their arguments had changed.

use super::{
    argument_change::{ArgumentChange, argument_changes},
    cell,
    row::{OpRow, Tensor},
};
use crate::report::{CALL_LOCATION, MODULE};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
    sync::Arc,
};
use wire::RunHostId;

/// Number of distinct arguments of a call, the latest ones, with which new arguments are compared.
const MOST_COMPARED: usize = 256;

/// Why a call built a program although an earlier one had built or found one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "changes")]
pub enum RebuildReason {
    /// These arguments differ from those of the most similar earlier call.
    Arguments(Vec<ArgumentChange>),
    /// An earlier call had the same recorded arguments, and the program has cleared its cache since.
    CacheCleared,
    /// An earlier call had the same recorded arguments, and no call from there on has found a program: the
    /// cache is switched off or was cleared, or what differs was not recorded.
    NoCallFound,
    /// An earlier call had the same recorded arguments. What differs was not recorded.
    NotRecorded,
}

impl RebuildReason {
    /// Returns true if both are of the same kind, and the same arguments differ, with whatever values.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Arguments(own), Self::Arguments(others)) => {
                own.iter().map(|change| &change.name).eq(others.iter().map(|change| &change.name))
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for RebuildReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(changes) => {
                for (at, change) in changes.iter().enumerate() {
                    let separator = if at == 0 { "" } else { ", " };
                    write!(out, "{separator}{change}")?;
                }
                Ok(())
            }
            Self::CacheCleared => out.write_str("the program has cleared the cache"),
            Self::NoCallFound => out.write_str(
                "no recorded argument differs, and no call in between found its program: the program cache \
                 is off or was cleared, or what differs was not recorded",
            ),
            Self::NotRecorded => {
                out.write_str("no recorded argument differs; what differs was not recorded")
            }
        }
    }
}

/// A call that built a program although an earlier call of the same place had one.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Rebuild {
    /// Id of the row.
    pub row_id: u64,
    /// Id of the program, with the chip encoded in it; `None` if the file does not name it.
    pub run_host_id: Option<u32>,
    /// Id of the row of the most similar earlier call.
    pub compared_row_id: u64,
    /// Id of that call's program; `None` if the file does not name it.
    pub compared_run_host_id: Option<u32>,
    /// Why the program was built.
    pub reason: RebuildReason,
}

/// Sums over calls. A call on several chips counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct BuildSums {
    /// Number of calls.
    pub call_count: u64,
    /// Number of calls that built a program.
    pub built_count: u64,
    /// Number of those that had built or found a program before.
    pub rebuilt_count: u64,
    /// Number of those of which this is unknown: the file does not tell their place, and no earlier call
    /// of the op had their arguments, so they may be the first at their place.
    pub unplaced_count: u64,
    /// Number of calls of which the file does not say whether they built a program.
    pub unknown_count: u64,
    /// Time of the host in calls; `None` if it is known of no call.
    pub host_time_ns: Option<f64>,
    /// Time of the host in calls that built a program; `None` if it is known of none.
    pub built_host_time_ns: Option<f64>,
    /// Part of `built_host_time_ns` in which ops made their programs; `None` if it is known of no call.
    pub build_ns: Option<f64>,
    /// Part of `built_host_time_ns` in which kernels were compiled, or compiled ones were found; `None`
    /// if it is known of no call.
    pub compile_ns: Option<f64>,
    /// Time in which programs were sent to the chips; `None` if it is known of no call.
    pub dispatch_ns: Option<f64>,
    /// Number of calls without a host time. They are in no sum.
    pub without_host_time_count: u64,
    /// Number of calls that built a program and have no time of compilation.
    pub without_compile_count: u64,
}

/// Calls of an op at one place of a program.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct CallSite {
    /// Op code.
    pub op_code: Arc<str>,
    /// Path of the module that calls the op; `None` if unknown.
    pub module: Option<Arc<str>>,
    /// File and line of the call; `None` if unknown.
    pub location: Option<Arc<str>>,
    /// Id of the row of the first call.
    pub first_row_id: u64,
    /// Sums over the calls.
    #[serde(flatten)]
    pub sums: BuildSums,
    /// Calls that built a program again, in their order.
    pub rebuilds: Vec<Rebuild>,
}

impl CallSite {
    /// Returns true if the module or the line of the calls is known.
    #[must_use]
    pub const fn has_place(&self) -> bool {
        self.module.is_some() || self.location.is_some()
    }
}

/// Calls of ops, and the programs that they built.
///
/// ```
/// use reports::perf::{PerfOptions, PerfReport, RebuildReason, read_ops_csv};
/// let text = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,DEVICE KERNEL DURATION [ns],PROGRAM CACHE HIT,CALL LOCATION
/// Add,tt_dnn_device,1024,0,{'alpha': 1},700,False,a.py:7
/// Add,tt_dnn_device,2048,0,{'alpha': 1},700,True,a.py:7
/// Add,tt_dnn_device,3072,0,{'alpha': 2},700,False,a.py:7
/// ";
/// let csv = read_ops_csv(text.as_bytes(), "ops.csv")?;
/// let builds = PerfReport::new(vec![csv], &PerfOptions::default())?.builds;
/// assert_eq!((builds.all.call_count, builds.all.built_count, builds.all.rebuilt_count), (3, 2, 1));
/// let RebuildReason::Arguments(changes) = &builds.sites[0].rebuilds[0].reason else { panic!() };
/// assert_eq!(changes[0].to_string(), "alpha: 1 -> 2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ProgramBuilds {
    /// Sums over all calls.
    pub all: BuildSums,
    /// True if the places of calls are known. Otherwise the calls of an op code are together.
    pub has_places: bool,
    /// Places of calls, sorted by the descending time of the host in calls that built programs, then
    /// by their number.
    pub sites: Vec<CallSite>,
}

/// One call, with what its rows say of it.
struct Call<'row> {
    /// The first row.
    row: &'row OpRow,
    /// Ids of all rows.
    row_ids: Vec<u64>,
    is_hit: Option<bool>,
}

/// Arguments of a call, as far as they are recorded.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Arguments<'row> {
    attributes: &'row str,
    inputs: Vec<&'row Tensor>,
}

impl<'row> Arguments<'row> {
    fn new(row: &'row OpRow) -> Self {
        let inputs = row.inputs.iter().chain(&row.more_inputs);
        let inputs = inputs.filter(|tensor| tensor.datatype.is_some()).collect();
        Self { attributes: &row.attributes, inputs }
    }

    fn changes_from(&self, before: &Self) -> Vec<ArgumentChange> {
        let mut changes = argument_changes(before.attributes, self.attributes);
        for at in 0..self.inputs.len().max(before.inputs.len()) {
            let [before, after] = [before, self].map(|of| of.inputs.get(at).copied());
            changes.extend(tensor_changes(at, before, after));
        }
        changes
    }
}

fn tensor_changes(
    at: usize,
    before: Option<&Tensor>,
    after: Option<&Tensor>,
) -> Vec<ArgumentChange> {
    let (Some(before), Some(after)) = (before, after) else {
        let text = |tensor: Option<&Tensor>| tensor.map(|tensor| tensor.shape_text());
        return vec![ArgumentChange::new(&format!("input {at}"), text(before), text(after))];
    };
    let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
    let fields = [
        ("shape", Some(before.shape_text()), Some(after.shape_text())),
        ("data type", text(&before.datatype), text(&after.datatype)),
        ("memory", before.place().map(str::to_owned), after.place().map(str::to_owned)),
        ("layout", text(&before.layout), text(&after.layout)),
    ];
    let changed = fields.into_iter().filter(|(_, before, after)| before != after);
    changed
        .map(|(name, before, after)| {
            ArgumentChange::new(&format!("{name} of input {at}"), before, after)
        })
        .collect()
}

/// The last call with some arguments.
struct Seen<'row> {
    arguments: Arguments<'row>,
    row_id: u64,
    run_host_id: Option<u32>,
    /// First chip of the call. Meshes have caches of their own.
    device: Option<u64>,
    /// What had become of this cache before the call.
    cache: CacheCounts,
}

/// What has become of the cache of a chip up to a call.
#[derive(Clone, Copy, Default)]
struct CacheCounts {
    /// Number of times that it was cleared.
    clear_count: u64,
    /// Number of calls that found their program in it.
    hit_count: u64,
}

/// What a call that built a program is known to be.
enum Built {
    /// The first of its place.
    First,
    /// One of a place that had a program.
    Again(Rebuild),
    /// One of an unknown place, with new arguments.
    Unplaced,
}

/// The latest calls of a place with distinct arguments.
#[derive(Default)]
struct SeenCalls<'row>(VecDeque<Seen<'row>>);

impl<'row> SeenCalls<'row> {
    /// Adds a call; returns what it built, if it did.
    fn add(&mut self, call: &Call<'row>, cache: CacheCounts, has_place: bool) -> Option<Built> {
        let row = call.row;
        let now = Seen {
            arguments: Arguments::new(row),
            row_id: row.id,
            run_host_id: run_host_id(row),
            device: row.device,
            cache,
        };
        let built = (call.is_hit == Some(false)).then(|| match self.rebuild(&now) {
            None => Built::First,
            Some(Rebuild { reason: RebuildReason::Arguments(_), .. }) if !has_place => {
                Built::Unplaced
            }
            Some(rebuild) => Built::Again(rebuild),
        });
        self.0.retain(|known| known.device != now.device || known.arguments != now.arguments);
        if self.0.len() >= MOST_COMPARED {
            self.0.pop_front();
        }
        self.0.push_back(now);
        built
    }

    fn rebuild(&self, now: &Seen<'row>) -> Option<Rebuild> {
        let before = self.0.iter().rev().filter(|known| known.device == now.device);
        let compared = before.map(|known| (now.arguments.changes_from(&known.arguments), known));
        let (changes, known) = compared.min_by_key(|(changes, _)| changes.len())?;
        let reason = match changes.is_empty() {
            false => RebuildReason::Arguments(changes),
            true if known.cache.clear_count < now.cache.clear_count => RebuildReason::CacheCleared,
            true if known.cache.hit_count == now.cache.hit_count => RebuildReason::NoCallFound,
            true => RebuildReason::NotRecorded,
        };
        Some(Rebuild {
            row_id: now.row_id,
            run_host_id: now.run_host_id,
            compared_row_id: known.row_id,
            compared_run_host_id: known.run_host_id,
            reason,
        })
    }
}

impl BuildSums {
    /// Returns the sums over one call.
    fn of_call(call: &Call<'_>, built: Option<&Built>) -> Self {
        let is_built = call.is_hit == Some(false);
        let host_time_ns = call.row.host_duration_ns.filter(|&ns| ns >= 0.0);
        let compile_ns = call.row.compile_duration_ns.filter(|ns| is_built && *ns >= 0.0);
        Self {
            call_count: 1,
            built_count: is_built.into(),
            rebuilt_count: matches!(built, Some(Built::Again(_))).into(),
            unplaced_count: matches!(built, Some(Built::Unplaced)).into(),
            unknown_count: call.is_hit.is_none().into(),
            host_time_ns,
            built_host_time_ns: host_time_ns.filter(|_| is_built),
            build_ns: call.row.build_duration_ns.filter(|_| is_built),
            compile_ns,
            dispatch_ns: call.row.dispatch_duration_ns,
            without_host_time_count: host_time_ns.is_none().into(),
            without_compile_count: (is_built && compile_ns.is_none()).into(),
        }
    }

    fn join(&mut self, other: &Self) {
        let counts = [
            (&mut self.call_count, other.call_count),
            (&mut self.built_count, other.built_count),
            (&mut self.rebuilt_count, other.rebuilt_count),
            (&mut self.unplaced_count, other.unplaced_count),
            (&mut self.unknown_count, other.unknown_count),
            (&mut self.without_host_time_count, other.without_host_time_count),
            (&mut self.without_compile_count, other.without_compile_count),
        ];
        for (count, more) in counts {
            *count = count.saturating_add(more);
        }
        add_known(&mut self.host_time_ns, other.host_time_ns);
        add_known(&mut self.built_host_time_ns, other.built_host_time_ns);
        add_known(&mut self.build_ns, other.build_ns);
        add_known(&mut self.compile_ns, other.compile_ns);
        add_known(&mut self.dispatch_ns, other.dispatch_ns);
    }
}

fn add_known(sum: &mut Option<f64>, more: Option<f64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0.0) + more);
    }
}

/// All calls of the rows, also of those that a report leaves out: what a call built depends on the calls
/// before it.
pub(super) struct AllCalls {
    /// Places without their sums.
    sites: Vec<CallSite>,
    /// Of each call: the index of its place, the ids of its rows, its figures, and its rebuild.
    calls: Vec<(usize, Vec<u64>, BuildSums, Option<Rebuild>)>,
}

impl AllCalls {
    /// Finds the calls of rows, which must be in the order of the calls.
    pub(super) fn new(rows: &[OpRow]) -> Self {
        let mut index: HashMap<_, usize> = HashMap::new();
        let mut found = Self { sites: Vec::new(), calls: Vec::new() };
        let mut seen: Vec<SeenCalls<'_>> = Vec::new();
        let mut caches: HashMap<Option<u64>, CacheCounts> = HashMap::new();
        for call in calls_of(rows) {
            let row = call.row;
            let cache = caches.entry(row.device).or_default();
            cache.clear_count = cache.clear_count.saturating_add(row.is_cache_cleared.into());
            let is_hit = call.is_hit == Some(true);
            cache.hit_count = cache.hit_count.saturating_add(is_hit.into());
            let [module, location] = [MODULE, CALL_LOCATION].map(|title| row.other(title).cloned());
            let has_place = module.is_some() || location.is_some();
            let key = (Arc::clone(&row.op_code), module.clone(), location.clone());
            let at = *index.entry(key).or_insert(seen.len());
            if at == seen.len() {
                let op_code = Arc::clone(&row.op_code);
                let site = CallSite { op_code, module, location, ..CallSite::default() };
                found.sites.push(site);
                seen.push(SeenCalls::default());
            }
            let seen_calls = seen.get_mut(at);
            let built = seen_calls.and_then(|seen| seen.add(&call, *cache, has_place));
            let sums = BuildSums::of_call(&call, built.as_ref());
            let rebuild = match built {
                Some(Built::Again(rebuild)) => Some(rebuild),
                _ => None,
            };
            found.calls.push((at, call.row_ids, sums, rebuild));
        }
        found
    }

    /// Returns the builds of the calls with any of these rows.
    pub(super) fn within(self, rows: &[OpRow]) -> ProgramBuilds {
        let kept: HashSet<u64> = rows.iter().map(|row| row.id).collect();
        let Self { mut sites, calls } = self;
        let mut all = BuildSums::default();
        for (at, row_ids, sums, rebuild) in calls {
            let first_row_id = row_ids.iter().find(|id| kept.contains(id));
            if let (Some(site), Some(first_row_id)) = (sites.get_mut(at), first_row_id) {
                if site.sums.call_count == 0 {
                    site.first_row_id = *first_row_id;
                }
                site.sums.join(&sums);
                site.rebuilds.extend(rebuild);
                all.join(&sums);
            }
        }
        sites.retain(|site| site.sums.call_count > 0);
        sites.sort_by(|one, other| {
            let [one_ns, other_ns] =
                [one, other].map(|site| site.sums.built_host_time_ns.unwrap_or(0.0));
            let by_count = || other.sums.built_count.cmp(&one.sums.built_count);
            other_ns.total_cmp(&one_ns).then_with(by_count)
        });
        ProgramBuilds { all, has_places: sites.iter().any(CallSite::has_place), sites }
    }
}

impl ProgramBuilds {
    /// Returns true if the file says of any call whether it built a program.
    #[must_use]
    pub fn are_known(&self) -> bool {
        self.all.unknown_count < self.all.call_count
    }
}

/// Returns the id of a row's program, with the chip encoded in it.
fn run_host_id(row: &OpRow) -> Option<u32> {
    cell::whole(&row.global_call_count).and_then(|id| u32::try_from(id).ok())
}

/// Returns the calls: one for the rows of an op on several chips, and for replays of a trace their
/// capture, because the host calls no op of a replay.
fn calls_of(rows: &[OpRow]) -> Vec<Call<'_>> {
    let mut calls: Vec<Call<'_>> = Vec::new();
    let mut known: HashMap<(usize, u32), usize> = HashMap::new();
    for row in rows.iter().filter(|row| row.is_device_op()) {
        let call = Call { row, row_ids: vec![row.id], is_hit: row.is_cache_hit };
        let Some(id) = run_host_id(row) else {
            calls.push(call);
            continue;
        };
        let at = *known.entry((row.file, RunHostId(id).base())).or_insert(calls.len());
        match calls.get_mut(at) {
            None => calls.push(call),
            // A program is built for each chip: the call built one if it did so for any chip.
            Some(earlier) => {
                let hits = [earlier.is_hit, call.is_hit];
                earlier.is_hit = hits.into_iter().flatten().min();
                earlier.row_ids.push(row.id);
            }
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::{PerfOptions, PerfReport, WindowOptions, read_ops_csv};

    const TITLES: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,INPUT_0_Y_PAD[LOGICAL],\
        INPUT_0_X_PAD[LOGICAL],INPUT_0_DATATYPE,INPUT_0_MEMORY,METAL TRACE REPLAY SESSION ID,PROGRAM CACHE HIT,\
        HOST DURATION [ns],CompileProgram_TT_HOST_FUNC [ns],HOST BUILD DURATION [ns],\
        HOST DISPATCH DURATION [ns],PROGRAM CACHE CLEARED,MODULE,CALL LOCATION\n";

    /// A row of a call: id, chip, alpha, y, memory, session, hit, host times, cleared, module, location.
    fn builds(rows: &[&str]) -> ProgramBuilds {
        let text = rows.iter().fold(TITLES.to_owned(), |text, row| {
            let [id, chip, alpha, y, memory, session, hit, times, cleared, place] =
                <[&str; 10]>::try_from(row.split('|').collect::<Vec<_>>()).unwrap();
            format!(
                "{text}Add,tt_dnn_device,{id},{chip},{{'alpha': {alpha}}},{y},64,BF16,{memory},{session},\
                 {hit},{times},{cleared},{place}\n"
            )
        });
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        PerfReport::new(vec![csv], &PerfOptions::default()).unwrap().builds
    }

    fn reasons(builds: &ProgramBuilds) -> Vec<(u64, u64, Vec<String>)> {
        let rebuilds = builds.sites.iter().flat_map(|site| &site.rebuilds);
        rebuilds
            .map(|rebuild| {
                let reason = match &rebuild.reason {
                    RebuildReason::Arguments(of) => of.iter().map(ToString::to_string).collect(),
                    RebuildReason::CacheCleared => vec!["cleared".to_owned()],
                    RebuildReason::NoCallFound => vec!["none found".to_owned()],
                    RebuildReason::NotRecorded => vec!["?".to_owned()],
                };
                (rebuild.row_id, rebuild.compared_row_id, reason)
            })
            .collect()
    }

    #[test]
    fn a_call_on_two_chips_and_its_replays_count_once() {
        let builds = builds(&[
            "1024|0|1|32[19]|DEV_0_DRAM||False|90,40,10,5||m,a.py:1",
            "1025|1|1|32[19]|DEV_1_DRAM||True|90,40,10,5||m,a.py:1",
            "2048|0|1|32[19]|DEV_0_DRAM|0|True|7,,,||m,a.py:2",
            "2048|0|1|32[19]|DEV_0_DRAM|1|True|,,,||m,a.py:2",
            "3072|0|1|32[19]|DEV_0_DRAM|||,,,||m,a.py:3",
        ]);
        let all = BuildSums {
            call_count: 3,
            built_count: 1,
            rebuilt_count: 0,
            unplaced_count: 0,
            unknown_count: 1,
            host_time_ns: Some(97.0),
            built_host_time_ns: Some(90.0),
            build_ns: Some(10.0),
            compile_ns: Some(40.0),
            dispatch_ns: Some(5.0),
            without_host_time_count: 1,
            without_compile_count: 0,
        };
        assert_eq!(builds.all, all);
        assert!(builds.has_places && builds.are_known());
        let sites: Vec<_> = builds.sites.iter().map(|site| site.location.as_deref()).collect();
        assert_eq!(sites, [Some("a.py:1"), Some("a.py:2"), Some("a.py:3")]);
    }

    #[test]
    fn a_program_that_is_built_again_is_compared_with_the_most_similar_call_of_the_same_place() {
        let builds = builds(&[
            "1024|0|1|32[19]|DEV_0_DRAM||False|,,,||m,a.py:1",
            "2048|0|2|64[64]|DEV_0_L1||False|,,,||m,a.py:1",
            // As similar to the first as to the second, but for its memory.
            "3072|0|2|64[64]|DEV_0_DRAM||False|,,,||m,a.py:1",
            // The same padded shape.
            "4096|0|2|64[60]|DEV_0_DRAM||False|,,,||m,a.py:1",
            // Another module at the same line builds its own program.
            "5120|0|3|64[60]|DEV_0_DRAM||False|,,,||n,a.py:1",
        ]);
        let changes = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(
            reasons(&builds),
            [
                (
                    3,
                    2,
                    changes(&[
                        "alpha: 1 -> 2",
                        "shape of input 0: ?x?x32[19]x64 -> ?x?x64x64",
                        "memory of input 0: DRAM -> L1",
                    ])
                ),
                (4, 3, changes(&["memory of input 0: L1 -> DRAM"])),
                (5, 4, changes(&["shape of input 0: ?x?x64x64 -> ?x?x64[60]x64"])),
            ]
        );
        assert_eq!((builds.all.built_count, builds.all.rebuilt_count), (5, 3));
    }

    /// Six different matmuls of a model are built once each: nothing tells that one place did so.
    #[test]
    fn calls_of_unknown_places_are_not_said_to_build_again() {
        let builds = builds(&[
            "1024|0|1|32|DEV_0_DRAM||False|,,,||,",
            "2048|0|2|64|DEV_0_DRAM||False|,,,||,",
            "3072|0|3|96|DEV_0_DRAM||False|,,,||,",
            "4096|0|2|64|DEV_0_DRAM||False|,,,|True|,",
        ]);
        assert_eq!(reasons(&builds), [(5, 3, vec!["cleared".to_owned()])]);
        let all = builds.all;
        assert_eq!((all.built_count, all.rebuilt_count, all.unplaced_count), (4, 1, 2));
        assert!(!builds.has_places);
    }

    #[test]
    fn calls_before_the_window_are_known_and_not_counted() {
        let text = TITLES.to_owned()
            + "Add,tt_dnn_device,1024,0,{'alpha': 1},32,64,BF16,DRAM,,False,,,,,,m,a.py:1\n\
               warm,signpost,,,,,,,,,,,,,,,,\n\
               Add,tt_dnn_device,2048,0,{'alpha': 2},32,64,BF16,DRAM,,False,,,,,,m,a.py:1\n";
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let window =
            WindowOptions { start_signpost: Some("warm".to_owned()), ..WindowOptions::default() };
        let options = PerfOptions { window, ..PerfOptions::default() };
        let builds = PerfReport::new(vec![csv], &options).unwrap().builds;
        assert_eq!((builds.all.call_count, builds.all.rebuilt_count), (1, 1));
        assert_eq!(reasons(&builds), [(4, 2, vec!["alpha: 1 -> 2".to_owned()])]);
        assert_eq!(builds.sites[0].first_row_id, 4);
    }

    #[test]
    fn each_chip_has_a_cache_of_its_own() {
        let builds = builds(&[
            "1024|0|1|32|DRAM||False|,,,||m,a.py:1",
            "2049|1|1|32|DRAM||False|,,,||m,a.py:1",
            "3073|1|2|32|DRAM||False|,,,||m,a.py:1",
            "4096|0|1|32|DRAM||False|,,,||m,a.py:1",
        ]);
        let [changed, unknown] =
            ["alpha: 1 -> 2", "none found"].map(|reason| vec![reason.to_owned()]);
        assert_eq!(reasons(&builds), [(4, 3, changed), (5, 2, unknown)]);
        let rebuild = &builds.sites[0].rebuilds[0];
        assert_eq!((rebuild.run_host_id, rebuild.compared_run_host_id), (Some(3073), Some(2049)));
    }

    #[test]
    fn equal_arguments_blame_a_cache_that_was_cleared_or_nothing() {
        let builds = builds(&[
            "1024|0|1|32|DEV_0_DRAM||False|,,,||m,a.py:1",
            "2048|0|1|32|DEV_0_DRAM||False|,,,||m,a.py:1",
            "3072|0|1|32|DEV_0_DRAM||True|,,,|True|m,b.py:9",
            "4096|0|1|32|DEV_0_DRAM||False|,,,||m,a.py:1",
            "5120|0|1|32|DEV_0_DRAM||False|,,,||m,a.py:1",
            "6144|0|1|32|DEV_0_DRAM||True|,,,||m,b.py:9",
            "7168|0|1|32|DEV_0_DRAM||False|,,,||m,a.py:1",
        ]);
        // A call in between found its program, so the cache was in use.
        let [off, cleared, unknown] =
            ["none found", "cleared", "?"].map(|reason| vec![reason.to_owned()]);
        assert_eq!(
            reasons(&builds),
            [(3, 2, off.clone()), (5, 3, cleared), (6, 5, off), (8, 6, unknown)]
        );
    }
}
