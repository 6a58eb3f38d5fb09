//! Comparison of the readout with the pushed records, one by one, and with the emitted records.

use super::scenario::{FaultKind, Pushed, Scenario};
use crate::{
    accounting::{RUNTIMES_OWN_ZONE, left_out},
    support::Outcome,
};
use host_reader::{
    lane::{Lane, LaneId, ZoneIndex},
    ledger::{LossCause, LossTotals},
    mesh::Noc0Coord,
};
use sim::{
    fault::{FaultEffect, Site},
    program::Emission,
    truth::RiscKey,
};
use std::collections::{BTreeMap, BTreeSet};
use tests::pushed::{PushedLaunch, PushedRecord, unexplained_noc_event};
use wire::RunHostId;

/// Checks everything; the error describes the difference.
pub(super) fn check(scenario: &Scenario, outcome: &Outcome, pushed: &Pushed) -> Result<(), String> {
    let failures: Vec<_> = outcome.failures.iter().map(ToString::to_string).collect();
    ensure(failures.is_empty(), || format!("object code failed: {failures:?}"))?;
    let (left_out, idle) = (left_out(&outcome.readout), &outcome.truth.idle_launches);
    ensure(left_out == *idle, || {
        format!("launches without kernels: {left_out:?}, truth {idle:?}")
    })?;
    let keys: BTreeSet<RiscKey> = pushed
        .keys()
        .chain(outcome.truth.launches.keys())
        .copied()
        .chain(outcome.readout.lanes().map(|lane| key_of(lane.id)))
        .collect();
    check_noc_events(outcome, pushed)?;
    let damage = Damage::from_outcome(outcome);
    for key in keys {
        let lane = LaneCheck::new(scenario, outcome, pushed, &damage, key);
        lane.check().map_err(|what| format!("{}: {what}", lane.id))?;
    }
    Ok(())
}

/// Checks that every pushed NoC event matches the NoC's requests, in order.
fn check_noc_events(outcome: &Outcome, pushed: &Pushed) -> Result<(), String> {
    for (key, launches) in pushed {
        let records = launches.iter().flat_map(|launch| &launch.records);
        let requests = outcome.truth.noc_requests.get(key).map_or(&[][..], Vec::as_slice);
        // Records without room in L1 or DRAM were never pushed.
        if let Some(error) = unexplained_noc_event(records, requests, true) {
            return Err(format!("{key:?}: {error}"));
        }
    }
    Ok(())
}

fn ensure(is_so: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(what()) }
}

fn key_of(id: LaneId) -> RiscKey {
    let core = sim::arch::TileCoord { x: id.core.x, y: id.core.y };
    RiscKey { chip_id: id.chip_id, core, risc: id.risc }
}

/// Launches with damaged words, by chip, core and launch.
struct Damage {
    lost: BTreeSet<(u32, (u16, u16), u64)>,
    flipped: BTreeSet<(u32, (u16, u16), u64)>,
    /// Launches that ended on a RISC after the RISC that pushes for all RISCs had stopped waiting.
    late: BTreeSet<(RiscKey, u64)>,
}

impl Damage {
    fn from_outcome(outcome: &Outcome) -> Self {
        let mut damage =
            Self { lost: BTreeSet::new(), flipped: BTreeSet::new(), late: BTreeSet::new() };
        for fault in &outcome.truth.faults {
            let Some(site) = fault.site else { continue };
            let key = (site.chip_id, (site.core.x, site.core.y), site.launch_index);
            match fault.effect {
                FaultEffect::WriteLost { .. } => damage.lost.insert(key),
                FaultEffect::WordCorrupted { .. } => damage.flipped.insert(key),
                FaultEffect::SubordinateLate { .. } => {
                    let Site { chip_id, core, risc, launch_index, .. } = site;
                    damage.late.insert((RiscKey { chip_id, core, risc }, launch_index))
                }
                _ => false,
            };
        }
        damage
    }
}

/// A launch as it was read.
#[derive(Debug)]
struct ReadLaunch {
    program: RunHostId,
    trace_counter: u32,
    records: Vec<PushedRecord>,
}

struct LaneCheck<'a> {
    scenario: &'a Scenario,
    outcome: &'a Outcome,
    damage: &'a Damage,
    id: LaneId,
    key: RiscKey,
    read: Vec<ReadLaunch>,
    pushed: &'a [PushedLaunch],
    /// Entries of the ledger: cause, program and losses.
    losses: Vec<(LossCause, Option<RunHostId>, LossTotals)>,
}

impl<'a> LaneCheck<'a> {
    fn new(
        scenario: &'a Scenario,
        outcome: &'a Outcome,
        pushed: &'a Pushed,
        damage: &'a Damage,
        key: RiscKey,
    ) -> Self {
        let core = Noc0Coord { x: key.core.x, y: key.core.y };
        let id = LaneId { chip_id: key.chip_id, core, risc: key.risc };
        let lane = outcome.readout.lanes().find(|lane| lane.id == id);
        let entries = outcome.readout.losses.entries();
        let losses = entries
            .filter(|(entry, _)| entry.lane == id && entry.cause != LossCause::ValidateOff)
            .map(|(entry, totals)| (entry.cause, entry.program, *totals))
            .collect();
        Self {
            scenario,
            outcome,
            damage,
            id,
            key,
            read: lane.map(launches_of).unwrap_or_default(),
            pushed: pushed.get(&key).map_or(&[], Vec::as_slice),
            losses,
        }
    }

    /// Checks the lane.
    ///
    /// If the words of the lane's core are undamaged, the records must be equal. If words were lost
    /// or flipped, any difference must at least be reported. A flipped bit may also produce another
    /// valid record.
    fn check(&self) -> Result<(), String> {
        let exact = self.match_launches().and_then(|kept| self.check_accounts(&kept));
        let core = (self.key.chip_id, (self.key.core.x, self.key.core.y));
        let happened_to_core = |set: &BTreeSet<(u32, (u16, u16), u64)>| {
            set.iter().any(|&(chip_id, place, _)| (chip_id, place) == core)
        };
        let [has_lost, has_flipped] =
            [&self.damage.lost, &self.damage.flipped].map(happened_to_core);
        let is_noticed = !self.losses.is_empty() || !self.anomalies().is_empty();
        match exact {
            Err(_) if has_flipped || (has_lost && is_noticed) => Ok(()),
            exact => exact,
        }
    }

    fn is_damaged(&self, set: &BTreeSet<(u32, (u16, u16), u64)>, launch: &PushedLaunch) -> bool {
        set.contains(&(self.key.chip_id, (self.key.core.x, self.key.core.y), launch.launch_index))
    }

    /// Matches every launch that was read with a pushed launch, in order; all other pushed launches
    /// must be damaged or lost. Returns the numbers of the matched launches.
    fn match_launches(&self) -> Result<BTreeSet<usize>, String> {
        let mut kept = BTreeSet::new();
        let mut next = 0;
        for (number, read) in self.read.iter().enumerate() {
            let is_it = |launch: &PushedLaunch| self.is_same(read, launch);
            let found = self.pushed[next..].iter().position(is_it).map(|offset| next + offset);
            if let Some(found) = found {
                kept.insert(found);
                next = found + 1;
                continue;
            }
            // A flipped bit only changes a record, an id or a run into a different valid value.
            let flipped = self.pushed[next..]
                .iter()
                .position(|launch| self.is_damaged(&self.damage.flipped, launch));
            let Some(flipped) = flipped.map(|offset| next + offset) else {
                return Err(self.explain(number, next));
            };
            kept.insert(flipped);
            next = flipped + 1;
        }
        let has_loss =
            |causes: &[LossCause]| self.losses.iter().any(|(cause, ..)| causes.contains(cause));
        for (index, launch) in self.pushed.iter().enumerate() {
            if kept.contains(&index) {
                continue;
            }
            let is_lost = self.is_damaged(&self.damage.lost, launch);
            let is_flipped = self.is_damaged(&self.damage.flipped, launch);
            // A RISC's own push may time out, so the RISC may end its launch too late.
            let is_late = self.damage.late.contains(&(self.key, launch.launch_index));
            let is_said = match (is_lost, is_flipped) {
                (false, false) if is_late && has_loss(&[LossCause::NotPublished]) => true,
                (false, false) => has_loss(&[LossCause::DramFull, LossCause::PushTimedOut]),
                _ => has_loss(&[
                    LossCause::NeverArrived,
                    LossCause::Damaged,
                    LossCause::DramFull,
                    LossCause::PushTimedOut,
                ]),
            };
            ensure(is_said, || {
                format!(
                    "launch {} (program {}) is missing without a word; lost {is_lost}, flipped \
                     {is_flipped}, ledger {:?}, anomalies {:?}",
                    launch.launch_index,
                    launch.program_id,
                    self.losses,
                    self.anomalies()
                )
            })?;
        }
        Ok(kept)
    }

    fn is_same(&self, read: &ReadLaunch, launch: &PushedLaunch) -> bool {
        let program = RunHostId::encode(launch.program_id, self.key.chip_id);
        let is_cut = self.losses.iter().any(|(cause, ..)| *cause == LossCause::DramFull);
        read.program == program
            && read.trace_counter == launch.trace_counter
            && (read.records == launch.records
                || is_cut && is_guaranteed_part(&read.records, &launch.records)
                || launch.push_count > 1 && self.has_lost_push(read, launch))
    }

    /// Returns true if all records that are missing in a launch may belong to a push that was lost.
    fn has_lost_push(&self, read: &ReadLaunch, launch: &PushedLaunch) -> bool {
        let has_time_outs = self.scenario.faults().contains(&FaultKind::TimeOut);
        let may_lack =
            self.is_damaged(&self.damage.lost, launch) || has_time_outs || !self.losses.is_empty();
        let mut rest = launch.records.iter();
        may_lack && read.records.iter().all(|record| rest.any(|pushed| pushed == record))
    }

    /// Returns the anomalies of the lane as short texts.
    fn anomalies(&self) -> Vec<String> {
        let kept = self.outcome.readout.anomalies.kept().iter();
        let of_lane = kept.filter(|anomaly| anomaly.lane == Some(self.id));
        of_lane.map(|a| format!("{} at {}: {}", a.kind.label(), a.position, a.detail)).collect()
    }

    fn explain(&self, number: usize, next: usize) -> String {
        let read = &self.read[number];
        let wanted = self.pushed.get(next);
        let differs = wanted.and_then(|launch| {
            let pairs = read.records.iter().zip(&launch.records);
            pairs.enumerate().find(|(_, (one, other))| one != other)
        });
        format!(
            "launch {number} that was read ({}, trace {}, {} records) was never pushed; next is \
             {:?} of {} records, first difference {differs:?}; ledger {:?}; anomalies {:?}",
            read.program,
            read.trace_counter,
            read.records.len(),
            wanted.map(|launch| (launch.launch_index, launch.program_id, launch.trace_counter)),
            wanted.map_or(0, |launch| launch.records.len()),
            self.losses,
            self.anomalies(),
        )
    }

    /// Checks that the kept and the lost records add up to the records that kernels emitted.
    fn check_accounts(&self, kept: &BTreeSet<usize>) -> Result<(), String> {
        let has_flips = self.pushed.iter().any(|l| self.is_damaged(&self.damage.flipped, l));
        let kept_records =
            Counts::from_records(self.read.iter().flat_map(|launch| &launch.records));
        let launches = self.outcome.truth.launches.get(&self.key).map_or(&[][..], Vec::as_slice);
        let mut emitted = launches.iter().fold(Emission::NONE, |sum, launch| sum + launch.emitted);
        // The runtime's own zones around pushes within a launch are pushed, but not counted as
        // emitted.
        let pushed = Counts::from_records(self.pushed.iter().flat_map(|launch| &launch.records));
        let own = self.pushed.iter().flat_map(|launch| &launch.records);
        let is_own = |record: &&PushedRecord| record.kind == 0 && self.is_runtimes_own(record);
        emitted.zones += own.filter(is_own).count() as u64;
        let l1 = self.total_of(|cause| cause == LossCause::L1Full);
        let others = self.total_of(|cause| cause != LossCause::L1Full);
        let context = || {
            format!(
                "kept {kept_records:?}, pushed {pushed:?}, emitted {emitted:?}, ledger {:?}, {} \
                 of {} launches kept",
                self.losses,
                kept.len(),
                self.pushed.len()
            )
        };
        ensure(!l1.is_lower_bound && l1.unknown_markers == 0, || {
            format!("losses in L1 are counted exactly: {}", context())
        })?;
        if has_flips {
            return Ok(());
        }
        let Some(rest) = emitted_less(emitted, &kept_records, &l1) else {
            return Err(format!("more was found than emitted: {}", context()));
        };
        let exact =
            self.total_of(|cause| matches!(cause, LossCause::DramFull | LossCause::PushTimedOut));
        ensure(!exact.is_lower_bound, || format!("DRAM is counted exactly: {}", context()))?;
        let least = 2 * rest.zones + 2 * rest.data + rest.events + rest.sums;
        // A push within a launch records its own zones. It also writes zone starts, and the ends of
        // these zones may be refused later.
        let most = match self.scenario.has_own_zones() {
            true => u64::MAX,
            false => least + rest.data + 4 * exact.runs,
        };
        if others.is_lower_bound {
            let has_cause =
                self.scenario.faults().iter().any(|fault| {
                    matches!(fault, FaultKind::LoseWrite | FaultKind::LateSubordinate)
                });
            ensure(has_cause, || format!("a lower bound without a cause: {}", context()))?;
            return ensure(others.unknown_markers <= most, || {
                format!("more markers are said to be lost than can be: {}", context())
            });
        }
        ensure((least..=most).contains(&others.unknown_markers), || {
            format!("markers in DRAM are not {least} to {most}: {}", context())
        })?;
        self.check_programs()
    }

    /// Checks that no program has more losses in L1 than emitted records.
    fn check_programs(&self) -> Result<(), String> {
        let launches = self.outcome.truth.launches.get(&self.key).map_or(&[][..], Vec::as_slice);
        let mut emitted = BTreeMap::<RunHostId, Emission>::new();
        for launch in launches {
            let program = RunHostId::encode(launch.program_id, self.key.chip_id);
            *emitted.entry(program).or_default() += launch.emitted;
        }
        for (cause, program, totals) in &self.losses {
            let (LossCause::L1Full, Some(program)) = (cause, program) else { continue };
            let of_program = self.read.iter().filter(|launch| launch.program == *program);
            let kept = Counts::from_records(of_program.flat_map(|launch| &launch.records));
            let emitted = emitted.get(program).copied().unwrap_or_default();
            let is_within = totals.data + kept.data <= emitted.data
                && totals.events + kept.events <= emitted.events
                && totals.zones <= emitted.zones;
            ensure(is_within, || {
                format!("{program} lost {totals:?} in L1 and kept {kept:?} of {emitted:?}")
            })?;
        }
        Ok(())
    }

    /// Returns true if a record belongs to the runtime's own zone around a push within a launch.
    fn is_runtimes_own(&self, record: &PushedRecord) -> bool {
        let zone = ZoneIndex(record.id.into());
        self.outcome.readout.zones.name(zone) == RUNTIMES_OWN_ZONE
    }

    fn total_of(&self, wanted: impl Fn(LossCause) -> bool) -> LossTotals {
        let mut total = LossTotals::default();
        self.losses
            .iter()
            .filter(|(cause, ..)| wanted(*cause))
            .for_each(|(.., totals)| total.add(*totals));
        total
    }
}

/// Returns the records of each launch of a lane.
fn launches_of(lane: &Lane) -> Vec<ReadLaunch> {
    let records: Vec<_> = lane
        .records()
        .map(|record| PushedRecord {
            kind: record.kind as u8,
            id: u16::try_from(record.zone.0).unwrap_or(u16::MAX),
            cycle: record.time,
            values: record.data.to_vec(),
        })
        .collect();
    let launch = |(index, run): (usize, &host_reader::lane::Run)| ReadLaunch {
        program: run.program,
        trace_counter: run.trace_counter,
        records: records[lane.run_records(index)].to_vec(),
    };
    lane.runs.iter().enumerate().map(launch).collect()
}

/// Returns true if these records are exactly a launch's guaranteed slots.
fn is_guaranteed_part(read: &[PushedRecord], pushed: &[PushedRecord]) -> bool {
    let ends = read.len() / 2;
    read.len().is_multiple_of(2)
        && read.len() <= 4
        && read.len() <= pushed.len()
        && read[..ends] == pushed[..ends]
        && read[ends..] == pushed[pushed.len() - ends..]
}

/// Numbers of records by kind; zones are counted by their starts.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    zones: u64,
    data: u64,
    events: u64,
    sums: u64,
}

impl Counts {
    fn from_records<'a>(records: impl Iterator<Item = &'a PushedRecord>) -> Self {
        let mut counts = Self::default();
        for record in records {
            match record.kind {
                0 => counts.zones += 1,
                2 => counts.sums += 1,
                3 | 5 => counts.data += 1,
                4 => counts.events += 1,
                _ => {}
            }
        }
        counts
    }
}

/// Subtracts the kept and lost records from the emitted ones; `None` if more records were kept and
/// lost than emitted.
fn emitted_less(emitted: Emission, kept: &Counts, l1: &LossTotals) -> Option<Emission> {
    Some(Emission {
        zones: emitted.zones.checked_sub(kept.zones)?.checked_sub(l1.zones)?,
        data: emitted.data.checked_sub(kept.data)?.checked_sub(l1.data)?,
        events: emitted.events.checked_sub(kept.events)?.checked_sub(l1.events)?,
        sums: emitted.sums.checked_sub(kept.sums)?.checked_sub(l1.sums)?,
    })
}
