//! Signals of an op, grouped by the object that they act on, and the search for the signal that
//! ended a wait.
//!
//! A signal to another core travels over a NoC. Its minimum travel time is given by the hops
//! between the tiles; other traffic makes the travel time longer. A wait for a semaphore ends at
//! most one polling interval after the signal arrives. The candidates for the signal that ended the
//! wait are therefore the signals whose earliest possible arrival is at most
//! [`SIGNAL_DELAY`](crate::threshold::SIGNAL_DELAY) before the wait's end. This bound is widened by
//! the possible difference between the clocks of the two tiles. If all candidates come from one
//! RISC, that RISC ended the wait. If there are no candidates, or if they come from several RISCs,
//! it is unknown which RISC ended the wait.

use crate::{op::OpView, roles::Roles, threshold::SIGNAL_DELAY};
use analysis::{SignalAt, Wait};
use reader::{lane::LaneId, mesh::Noc0Coord};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use wire::{
    Risc,
    wait::{Signal, SignalKind, WaitKind},
};

/// Target of a signal: the tiles in a core's buffer, the free space in the buffer, or a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Object {
    Tiles(u64),
    Room(u64),
    Semaphore(u64),
}

/// One recorded signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// Cycle of the signal's record.
    pub(crate) sent: u64,
    /// Cycle at which the signal would arrive if the NoC had no other traffic.
    arrives: u64,
}

/// Maximum difference in cycles between the time of an event and the time in its record. The event
/// is a signal, or the last poll of a wait.
const RECORD_CYCLES: u64 = 64;

/// Signals of one op, grouped by the object that they act on.
pub(crate) struct Signals<'a> {
    /// For each object, the lanes that signal it, with their signals in time order.
    object_signals: HashMap<(Noc0Coord, Object), BTreeMap<LaneId, Vec<Given>>>,
    /// For each object, the lanes that are known from their own waits to signal the object.
    ///
    /// A RISC that waits for tiles also frees space, and a RISC that waits for space also provides
    /// tiles.
    by_waits: HashMap<(Noc0Coord, Object), BTreeSet<LaneId>>,
    /// Objects for which a signal may have no record.
    doubted: HashSet<(Noc0Coord, Object)>,
    /// True if the object of at least one signal is unknown. Such a signal may be for any
    /// semaphore.
    has_unknown_object: bool,
    roles: Roles,
    view: &'a OpView<'a>,
}

impl<'a> Signals<'a> {
    pub(crate) fn from_view(view: &'a OpView<'a>) -> Self {
        let mut signals = Self {
            object_signals: HashMap::new(),
            by_waits: HashMap::new(),
            doubted: HashSet::new(),
            has_unknown_object: false,
            roles: Roles::from_view(view),
            view,
        };
        let awaited = awaited_semaphores(view);
        let mut targets = Targets { view, awaited: &awaited, known: HashMap::new() };
        for run in &view.runs {
            let Some(sync) = run.evidence.sync() else { continue };
            sync.signals.iter().for_each(|signal| signals.add(run.lane, signal, &mut targets));
            let totals = sync.totals.iter().map(|total| (total.kind, total.key));
            let waits = sync.waits.iter().map(|wait| (wait.kind, wait.key));
            for (kind, key) in totals.chain(waits) {
                // A RISC that waits for tiles frees space; a RISC that waits for space provides
                // tiles.
                let object = match kind {
                    WaitKind::CB_WAIT => Object::Room(key.into()),
                    WaitKind::CB_RESERVE => Object::Tiles(key.into()),
                    _ => continue,
                };
                signals.by_waits.entry((run.lane.core, object)).or_default().insert(run.lane);
            }
        }
        signals
    }

    fn add(&mut self, lane: LaneId, at: &SignalAt, targets: &mut Targets<'_>) {
        let local = |object| Some((lane.core, object));
        let own = match (at.kind, at.signal) {
            (SignalKind::CbPush, Signal::Local { key }) => local(Object::Tiles(key)),
            (SignalKind::CbPop, Signal::Local { key }) => local(Object::Room(key)),
            (SignalKind::SemSet, Signal::Local { key }) => local(Object::Semaphore(key)),
            (_, Signal::Remote { noc, address }) => {
                self.add_remote(lane, at.time, targets.find(noc, address), noc);
                return;
            }
            // This signal may have ended any wait for a semaphore.
            (SignalKind::SemSetRemote, Signal::Local { .. }) => None,
        };
        match own {
            Some(target) => self.give(target, lane, Given { sent: at.time, arrives: at.time }),
            None => self.has_unknown_object = true,
        }
    }

    fn add_remote(&mut self, lane: LaneId, sent: u64, targets: Option<&TargetList>, noc: u8) {
        let Some(TargetList { address, is_multicast, cores }) = targets else {
            self.has_unknown_object = true;
            return;
        };
        for &core in cores {
            let target = (core, Object::Semaphore(*address));
            // A multicast reaches its sender only if the kernel requests that, which is not
            // recorded.
            if *is_multicast && core == lane.core {
                self.doubted.insert(target);
            }
            let arrives = sent.saturating_add(self.view.way_cycles(noc, lane.core, core));
            self.give(target, lane, Given { sent, arrives });
        }
    }

    fn give(&mut self, target: (Noc0Coord, Object), lane: LaneId, given: Given) {
        self.object_signals.entry(target).or_default().entry(lane).or_default().push(given);
    }

    /// Returns one lane's signals for an object, in time order.
    pub(crate) fn times(&self, target: (Noc0Coord, Object), lane: LaneId) -> &[Given] {
        let lanes = self.object_signals.get(&target);
        lanes.and_then(|lanes| lanes.get(&lane)).map_or(&[], Vec::as_slice)
    }

    /// Returns the lane that ended a wait, and the time at which that lane sent the signal; `None`
    /// if the lane cannot be determined.
    ///
    /// If the time of the signal is unknown, the time is the end of the wait.
    pub(crate) fn releaser(&self, lane: LaneId, wait: &Wait) -> Option<(LaneId, u64)> {
        let key = u64::from(wait.key);
        match wait.kind {
            WaitKind::CB_WAIT => self.buffer(lane, wait, Object::Tiles(key)),
            WaitKind::CB_RESERVE => self.buffer(lane, wait, Object::Room(key)),
            WaitKind::SEM_WAIT => self.semaphore(lane, wait, Object::Semaphore(key)),
            _ => None,
        }
    }

    fn semaphore(&self, lane: LaneId, wait: &Wait, object: Object) -> Option<(LaneId, u64)> {
        let target = (lane.core, object);
        if self.has_unknown_object || self.doubted.contains(&target) {
            return None;
        }
        let lanes = self.object_signals.get(&target)?;
        if let Some((by, given)) = only(lanes.iter())
            && by.core == lane.core
        {
            return Some((*by, latest(given, wait)?));
        }
        let mut found = None;
        for (by, given) in lanes {
            let apart = self.cycles_apart(by.core, lane.core)?;
            let Some(sent) = latest_arrival(given, wait, apart) else { continue };
            if found.replace((*by, sent)).is_some() {
                return None;
            }
        }
        found.filter(|_| !wait.is_open).map(|(by, sent)| (by, sent.min(wait.end)))
    }

    /// Returns the maximum difference between the clocks of two tiles in cycles; `None` if unknown.
    fn cycles_apart(&self, one: Noc0Coord, other: Noc0Coord) -> Option<u64> {
        if one == other {
            return Some(0);
        }
        Some(self.view.clock_bound(one)?.saturating_add(self.view.clock_bound(other)?))
    }

    fn buffer(&self, lane: LaneId, wait: &Wait, object: Object) -> Option<(LaneId, u64)> {
        if let Some(lanes) = self.object_signals.get(&(lane.core, object)) {
            let (by, given) = only(lanes.iter())?;
            let agrees = self
                .by_waits
                .get(&(lane.core, object))
                .is_none_or(|waits| waits.iter().all(|other| other == by));
            return agrees.then(|| release(*by, given, wait)).flatten().map(|at| (*by, at));
        }
        // Without recorded signals, the wait was ended by the only lane that must signal the
        // object. If there is no such lane, it was ended by the RISC at the other end of the
        // buffer. The returned time is the end of the wait.
        let by = match self.by_waits.get(&(lane.core, object)) {
            Some(lanes) => *only(lanes.iter())?,
            None => LaneId { risc: self.opposite(lane.risc, wait.kind)?, ..lane },
        };
        (by != lane).then_some((by, wait.end))
    }

    /// Returns the RISC at the other end of a buffer. That RISC did not record the buffer, so it is
    /// derived from the roles of the RISCs.
    fn opposite(&self, risc: Risc, kind: WaitKind) -> Option<Risc> {
        match (risc, kind) {
            (Risc::Trisc0, WaitKind::CB_WAIT) => self.roles.reader,
            (Risc::Trisc2, WaitKind::CB_RESERVE) => self.roles.writer,
            (mover, WaitKind::CB_WAIT) if Some(mover) == self.roles.writer => Some(Risc::Trisc2),
            (mover, WaitKind::CB_RESERVE) if Some(mover) == self.roles.reader => Some(Risc::Trisc0),
            _ => None,
        }
    }
}

/// Returns the semaphores that any RISC has waited for, by core and address.
fn awaited_semaphores(view: &OpView<'_>) -> HashSet<(Noc0Coord, u64)> {
    let runs = view.runs.iter().filter_map(|run| Some((run.lane.core, run.evidence.sync()?)));
    let waits = runs.flat_map(|(core, sync)| sync.waits.iter().map(move |wait| (core, wait)));
    let semaphores = waits.filter(|(_, wait)| wait.kind == WaitKind::SEM_WAIT);
    semaphores.map(|(core, wait)| (core, wait.key.into())).collect()
}

/// Semaphore at a NoC address: its L1 address, and the target cores with a RISC that waits for it.
struct TargetList {
    address: u64,
    is_multicast: bool,
    cores: Vec<Noc0Coord>,
}

/// Cache of the [`TargetList`] of each NoC address.
struct Targets<'a> {
    view: &'a OpView<'a>,
    awaited: &'a HashSet<(Noc0Coord, u64)>,
    known: HashMap<(u8, u64), Option<TargetList>>,
}

impl Targets<'_> {
    /// Returns the semaphores at a NoC address; `None` if the tiles of the address are unknown.
    fn find(&mut self, noc: u8, address: u64) -> Option<&TargetList> {
        let Self { view, awaited, known } = self;
        let list = known.entry((noc, address)).or_insert_with(|| {
            let (mut cores, local) = view.remote(noc, address)?;
            let is_multicast = cores.len() > 1;
            cores.retain(|&core| awaited.contains(&(core, local)));
            Some(TargetList { address: local, is_multicast, cores })
        });
        list.as_ref()
    }
}

/// Returns the time at which a lane sent the signal that ended a wait; `None` if the lane sent no
/// such signal.
///
/// For a TRISC, the end of the wait is returned: the record shows when the TRISC passed the signal
/// to its engine, but the engine sends the signal later.
fn release(by: LaneId, given: &[Given], wait: &Wait) -> Option<u64> {
    match by.risc {
        Risc::Trisc0 | Risc::Trisc1 | Risc::Trisc2 => {
            given.first().filter(|given| given.sent <= wait.end).map(|_| wait.end)
        }
        _ => latest(given, wait),
    }
}

/// Returns the time of the latest signal during a wait. Only a signal during the wait can have
/// ended a wait that blocked.
fn latest(given: &[Given], wait: &Wait) -> Option<u64> {
    let at = given.partition_point(|given| given.sent <= wait.end).checked_sub(1)?;
    given.get(at).map(|given| given.sent).filter(|&sent| sent >= wait.start)
}

/// Returns the time of the latest signal whose arrival may have ended a wait. `apart` is the
/// maximum difference between the two tiles' clocks in cycles.
fn latest_arrival(given: &[Given], wait: &Wait, apart: u64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, reason = "a constant")]
    let delay = SIGNAL_DELAY.value as u64;
    let first = wait.end.saturating_sub(delay.saturating_add(apart));
    let last = wait.end.saturating_add(RECORD_CYCLES.saturating_add(apart));
    let found = given.iter().rev().find(|given| (first..=last).contains(&given.arrives));
    found.map(|given| given.sent)
}

/// Returns the only item; `None` if there are none or several.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}
