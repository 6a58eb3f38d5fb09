//! Zones and sums of zones that authors put into their kernels: those that take most of a RISC's time.

use crate::{
    awaited::Awaited,
    finding::percent,
    op::{CoreRun, OpView},
    risc_wait::{cycle_percent, kernel_cycles},
    roles::Roles,
    threshold::KERNEL_ZONE,
};
use analysis::MOST_PERCENT;
use reader::{lane::ZoneIndex, mesh::Noc0Coord, names::ZoneTable};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wire::Risc;

/// Maximum number of zones that are kept of one run.
const KEPT: usize = 4;

/// Cycles of the zones with one name in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZoneCycles {
    pub(crate) zone: ZoneIndex,
    /// Number of zones; 0 for a sum of zones.
    pub(crate) count: u32,
    /// Cycles in the zones, without the zones within them.
    pub(crate) cycles: u64,
    /// True if other zones are within some of the zones, whose time is theirs.
    pub(crate) has_inner: bool,
    /// What the RISC waits for in the zones; `None` if their name is not that of a wait at a circular buffer.
    pub(crate) awaited: Option<Awaited>,
}

/// Number and cycles of the zones with one name.
#[derive(Clone, Copy, Debug, Default)]
struct ZoneTally {
    count: u32,
    cycles: u64,
    has_inner: bool,
}

impl ZoneTally {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.cycles = self.cycles.saturating_add(other.cycles);
        self.has_inner |= other.has_inner;
    }
}

/// Zones of one run while its records are read.
#[derive(Debug, Default)]
pub(crate) struct OpenZones {
    /// Open zones, outermost first: name, start, and cycles of the zones within.
    open: Vec<(ZoneIndex, u64, u64)>,
    sums: BTreeMap<ZoneIndex, ZoneTally>,
    /// True if a zone had no end before the zone around it ended.
    has_open: bool,
}

impl OpenZones {
    pub(crate) fn start(&mut self, zone: ZoneIndex, time: u64) {
        self.open.push((zone, time, 0));
    }

    /// Ends the innermost zone of this name. Zones within it that have no end are left out.
    pub(crate) fn end(&mut self, zone: ZoneIndex, time: u64) {
        let Some(at) = self.open.iter().rposition(|(of, ..)| *of == zone) else { return };
        self.has_open |= self.open.len() > at.saturating_add(1);
        self.open.truncate(at.saturating_add(1));
        let Some((_, start, within)) = self.open.pop() else { return };
        let cycles = time.saturating_sub(start);
        if let Some((.., within)) = self.open.last_mut() {
            *within = within.saturating_add(cycles);
        }
        let own = cycles.saturating_sub(within);
        self.add(zone, ZoneTally { count: 1, cycles: own, has_inner: within > 0 });
    }

    /// Returns the innermost zone that is open.
    pub(crate) fn innermost(&self) -> Option<ZoneIndex> {
        self.open.last().map(|(zone, ..)| *zone)
    }

    /// Returns true if any zone has no end.
    pub(crate) fn is_cut(&self) -> bool {
        self.has_open || !self.open.is_empty()
    }

    /// Adds a sum of zones.
    pub(crate) fn sum(&mut self, zone: ZoneIndex, cycles: u64) {
        self.add(zone, ZoneTally { count: 0, cycles, has_inner: false });
    }

    fn add(&mut self, zone: ZoneIndex, more: ZoneTally) {
        self.sums.entry(zone).or_default().add(more);
    }

    /// Returns the zones with the most cycles, those of one name together.
    pub(crate) fn longest(self, names: &NamedZones) -> Vec<ZoneCycles> {
        let mut sums: BTreeMap<ZoneIndex, ZoneTally> = BTreeMap::new();
        for (zone, tally) in self.sums {
            sums.entry(names.first_of(zone)).or_default().add(tally);
        }
        let mut zones: Vec<ZoneCycles> = sums
            .into_iter()
            .map(|(zone, ZoneTally { count, cycles, has_inner })| {
                let awaited = names.awaited.get(&zone).copied();
                ZoneCycles { zone, count, cycles, has_inner, awaited }
            })
            .filter(|of| of.cycles > 0)
            .collect();
        zones.sort_by_key(|of| std::cmp::Reverse(of.cycles));
        zones.truncate(KEPT);
        zones
    }
}

/// What the names of zones say.
#[derive(Debug)]
pub(crate) struct NamedZones {
    /// Zones with the name of another one, and that one: those of one name on several lines, as of a loop that is
    /// unrolled or of a compiler that gives each line its zone.
    firsts: HashMap<ZoneIndex, ZoneIndex>,
    /// Zones around waits at circular buffers.
    awaited: HashMap<ZoneIndex, Awaited>,
}

impl NamedZones {
    pub(crate) fn from_names(zones: &ZoneTable) -> Self {
        let mut known: HashMap<&str, ZoneIndex> = HashMap::new();
        let mut named = Self { firsts: HashMap::new(), awaited: HashMap::new() };
        for (zone, name) in zones.named_indices() {
            let first = *known.entry(name).or_insert(zone);
            if first != zone {
                named.firsts.insert(zone, first);
            } else if let Some(awaited) = Awaited::from_name(name) {
                named.awaited.insert(zone, awaited);
            }
        }
        named
    }

    /// Returns the first zone with the name of a zone.
    fn first_of(&self, zone: ZoneIndex) -> ZoneIndex {
        self.firsts.get(&zone).copied().unwrap_or(zone)
    }
}

/// Zone in kernels that takes most of the time of a RISC's kernels.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct KernelZone {
    /// Index of the zone's name.
    #[serde(skip)]
    pub(crate) zone: ZoneIndex,
    /// RISC.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: Risc,
    /// What the RISC does: \"reader\" or \"writer\"; `None` if unknown.
    pub role: Option<&'static str>,
    /// Number of cores on which the RISC has the zone.
    pub core_count: u64,
    /// Number of cores on which the RISC ran a kernel.
    pub kernel_core_count: u64,
    /// Number of zones; 0 for a sum of zones.
    pub count: u64,
    /// Cycles in the zone, without the zones within it, summed over the cores.
    pub cycles: u64,
    /// `cycles` in percent of the time of the RISC's kernels, summed over the cores.
    pub percent: f64,
    /// True if `cycles` and `percent` may be larger, because zones are missing or have no end.
    pub is_lower_bound: bool,
    /// What the RISC waits for in the zone; `None` if its name is not that of a wait at a circular buffer.
    #[serde(skip)]
    pub(crate) awaited: Option<Awaited>,
    /// True if other zones are within the zone on any core: their time is not in `cycles`.
    #[serde(skip)]
    pub(crate) has_inner: bool,
    /// True if the RISC may have shorter zones of other names that were not kept.
    #[serde(skip)]
    pub(crate) has_more: bool,
    /// Cycles in the zone on the core with the fewest and on that with the most, and the latter core.
    #[serde(skip)]
    pub(crate) core_cycles: (u64, u64, Noc0Coord),
}

impl KernelZone {
    /// Returns the zone's name and, if other zones are within it, that their time is not in its figures.
    pub(crate) fn label(&self, names: &ZoneTable) -> String {
        let outside = if self.has_inner { " outside of its inner zones" } else { "" };
        format!("{}{outside}", names.label(self.zone))
    }
}

/// Zone of a RISC in a launch without any zone of a kernel, as in benchmarks of single functions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BareZone {
    pub(crate) zone: ZoneIndex,
    pub(crate) risc: Risc,
    /// Number of cores on which the RISC has the zone.
    pub(crate) core_count: u64,
    /// Nanoseconds in the zone, without the zones within it, in the mean of the cores.
    pub(crate) ns: f64,
}

impl BareZone {
    /// Returns the zones of a launch, in the order of RISCs; empty if any RISC has a zone of a kernel, or if the
    /// clock is unknown.
    pub(crate) fn all(view: &OpView<'_>) -> Vec<Self> {
        let is_bare = |run: &CoreRun<'_>| kernel_cycles(run.evidence) == 0;
        if view.is_open() || !view.runs.iter().all(is_bare) {
            return Vec::new();
        }
        let mut zones: BTreeMap<(Risc, ZoneIndex), (u64, u64)> = BTreeMap::new();
        for run in &view.runs {
            for of in run.evidence.zones() {
                let (cores, sum) = zones.entry((run.lane.risc, of.zone)).or_default();
                *cores = cores.saturating_add(1);
                *sum = sum.saturating_add(of.cycles);
            }
        }
        let zones = zones.into_iter().filter_map(|((risc, zone), (core_count, cycles))| {
            let mean = cycles.checked_div(core_count)?;
            let ns = analysis::cycles_to_ns(mean, view.aiclk_mhz)? as f64;
            Some(Self { zone, risc, core_count, ns })
        });
        zones.collect()
    }
}

/// Sum of zones of a RISC that is longer than the kernel that it is in, so that one of both is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongSum {
    pub(crate) zone: ZoneIndex,
    pub(crate) risc: Risc,
    /// Cycles of the sum and of the kernel.
    pub(crate) cycles: (u64, u64),
}

impl LongSum {
    /// Returns the sums of a launch that are too long, in the order of RISCs and cores.
    pub(crate) fn all(view: &OpView<'_>) -> Vec<Self> {
        let of_run = |run: &CoreRun<'_>| {
            let (risc, kernel) = (run.lane.risc, kernel_cycles(run.evidence));
            let zones = run.evidence.zones().iter();
            let long = zones.filter(move |of| is_too_long(of, kernel));
            long.map(move |of| Self { zone: of.zone, risc, cycles: (of.cycles, kernel) })
                .collect::<Vec<_>>()
        };
        view.runs.iter().flat_map(of_run).collect()
    }
}

/// Returns true if a sum of zones is longer than its kernel, by more than clocks explain. The sums of
/// the zones that a kernel begins and ends are never longer.
fn is_too_long(of: &ZoneCycles, kernel_cycles: u64) -> bool {
    let is_known = of.count == 0 && kernel_cycles > 0;
    is_known && percent(of.cycles as f64, kernel_cycles as f64) > MOST_PERCENT
}

/// Zones of one name in the kernels of one RISC, over the cores.
struct OverCores {
    core_count: u64,
    count: u64,
    /// Cycles of all cores.
    sum: u64,
    has_inner: bool,
    awaited: Option<Awaited>,
    /// Cycles on the core with the fewest and on that with the most, and the latter core.
    spread: (u64, u64, Noc0Coord),
}

/// Returns the zones of an op with their shares of the kernels, in the order of RISCs.
pub(crate) fn kernel_zones(view: &OpView<'_>) -> Vec<KernelZone> {
    let roles = Roles::from_view(view);
    let mut cut: BTreeSet<Risc> = BTreeSet::new();
    let mut full: BTreeSet<Risc> = BTreeSet::new();
    let mut kernels: BTreeMap<Risc, (u64, u64)> = BTreeMap::new();
    let mut zones: BTreeMap<(Risc, ZoneIndex), OverCores> = BTreeMap::new();
    for run in &view.runs {
        let cycles = kernel_cycles(run.evidence);
        if cycles == 0 {
            continue;
        }
        let (cores, sum) = kernels.entry(run.lane.risc).or_default();
        (*cores, *sum) = (cores.saturating_add(1), sum.saturating_add(cycles));
        if run.evidence.are_zones_cut() {
            cut.insert(run.lane.risc);
        }
        if run.evidence.zones().len() >= KEPT {
            full.insert(run.lane.risc);
        }
        let known = run.evidence.zones().iter();
        for of in known.filter(|of| !is_too_long(of, cycles)) {
            let (core, own) = (run.lane.core, of.cycles.min(cycles));
            let spread = (own, own, core);
            let awaited = of.awaited;
            let none =
                OverCores { core_count: 0, count: 0, sum: 0, has_inner: false, awaited, spread };
            let all = zones.entry((run.lane.risc, of.zone)).or_insert(none);
            all.core_count = all.core_count.saturating_add(1);
            all.count = all.count.saturating_add(of.count.into());
            all.sum = all.sum.saturating_add(own);
            all.has_inner |= of.has_inner;
            let (least, most, _) = &mut all.spread;
            *least = (*least).min(own);
            if own > *most {
                (all.spread.1, all.spread.2) = (own, core);
            }
        }
    }
    let shares = zones.iter().filter_map(|(&(risc, zone), all)| {
        let &OverCores { core_count, count, sum: cycles, has_inner, awaited, spread: core_cycles } =
            all;
        let &(kernel_core_count, kernel) = kernels.get(&risc)?;
        let percent = cycle_percent(cycles, kernel);
        let role = match risc {
            _ if roles.reader == Some(risc) => Some("reader"),
            _ if roles.writer == Some(risc) => Some("writer"),
            _ => None,
        };
        Some(KernelZone {
            zone,
            risc,
            role,
            core_count,
            kernel_core_count,
            count,
            cycles,
            percent,
            is_lower_bound: cut.contains(&risc),
            awaited,
            has_inner,
            has_more: full.contains(&risc),
            core_cycles,
        })
    });
    shares.collect()
}

/// Returns the zones that take most of a RISC's kernels, that which explains most first.
///
/// A zone that is the only one of its RISC and takes all of the kernel explains nothing, and neither does one of
/// a RISC whose kernels end long before the op: shorter, it would make the op no shorter. A wait explains less
/// than the work that others wait for.
pub(crate) fn largest_zones(zones: &[KernelZone], riscs_ns: &[(Risc, f64)]) -> Vec<KernelZone> {
    let longest_ns = riscs_ns.iter().map(|(_, ns)| *ns).fold(0.0, f64::max);
    let lasts = |risc: Risc| {
        let own = riscs_ns.iter().find(|(of, _)| *of == risc);
        own.is_none_or(|(_, ns)| *ns >= longest_ns * LASTS)
    };
    let names = |risc: Risc| zones.iter().filter(|of| of.risc == risc).count();
    let explains = |of: &&KernelZone| names(of.risc) > 1 || of.percent <= WHOLE;
    let large = zones.iter().filter(|of| of.percent >= KERNEL_ZONE.value && lasts(of.risc));
    let mut large: Vec<KernelZone> = large.filter(explains).copied().collect();
    // A sum is of a part of the kernel that its author chose to measure.
    let rank = |of: &KernelZone| (of.awaited.is_none(), of.count == 0);
    large.sort_by(|one, other| {
        rank(other).cmp(&rank(one)).then(other.percent.total_cmp(&one.percent))
    });
    large
}

/// Part of the longest RISC's time from which on the kernels of a RISC last as long as the op.
const LASTS: f64 = 0.9;

/// Percentage of a kernel from which a zone is around all of it.
const WHOLE: f64 = 98.0;

#[cfg(test)]
mod tests {
    use super::*;
    use reader::names::ZoneSource;
    use wire::ZoneId;

    /// Figures of tt-metal pull request 37446: NCRISC has read all weights long before the op ends.
    #[test]
    fn a_zone_of_a_risc_that_ends_early_sets_no_pace() {
        let zone = |risc, zone, percent| KernelZone {
            zone: ZoneIndex(zone),
            risc,
            role: None,
            core_count: 1,
            kernel_core_count: 1,
            count: 1,
            cycles: 1,
            percent,
            is_lower_bound: false,
            awaited: None,
            has_inner: false,
            has_more: false,
            core_cycles: (1, 1, Noc0Coord { x: 1, y: 1 }),
        };
        let [weights, gate] = [zone(Risc::Ncrisc, 1, 85.0), zone(Risc::Trisc1, 2, 58.0)];
        let chosen = |zones: &[KernelZone], riscs_ns: &[(Risc, f64)]| {
            largest_zones(zones, riscs_ns).first().map(|of| of.zone.0)
        };
        let riscs_ns =
            [(Risc::Ncrisc, 15_800.0), (Risc::Trisc1, 25_900.0), (Risc::Brisc, 26_100.0)];
        assert_eq!(chosen(&[weights, gate], &riscs_ns), Some(2));
        assert_eq!(chosen(&[weights], &riscs_ns), None);
        assert_eq!(chosen(&[weights, gate], &[]), Some(1), "lengths are unknown");
        let equal = [(Risc::Ncrisc, 24_000.0), (Risc::Trisc1, 26_100.0)];
        assert_eq!(chosen(&[weights, gate], &equal), Some(1));
        let blocked = KernelZone { awaited: Some(Awaited::Room), ..weights };
        assert_eq!(chosen(&[blocked, gate], &equal), Some(2), "work before a wait");
        assert_eq!(chosen(&[blocked], &equal), Some(1));
    }

    #[test]
    fn a_zone_has_the_time_of_no_zone_within_it() {
        let [outer, inner, lost] = [1, 2, 3].map(ZoneIndex);
        let mut open = OpenZones::default();
        open.start(outer, 100);
        open.start(inner, 110);
        open.start(lost, 120);
        open.end(inner, 150);
        open.end(outer, 200);
        open.end(outer, 300);
        open.sum(lost, 7);
        let names = NamedZones::from_names(&ZoneTable::default());
        let found: Vec<_> = open
            .longest(&names)
            .iter()
            .map(|of| (of.zone, of.count, of.cycles, of.has_inner))
            .collect();
        assert_eq!(found, [(outer, 1, 60, true), (inner, 1, 40, false), (lost, 0, 7, false)]);
    }

    /// Five lines of one name are longer than a sixth zone, each of them shorter.
    #[test]
    fn zones_of_one_name_on_several_lines_are_one() {
        let mut table = ZoneTable::default();
        let mut zone = |name: &str, line| {
            let source = ZoneSource { name: name.into(), file: "k.cpp".into(), line };
            table.add(ZoneId(u16::try_from(line).unwrap()), source);
            ZoneIndex(line)
        };
        let lines = [11, 12, 13, 14, 15].map(|line| zone("dma_read", line));
        let other = zone("reserve", 20);
        let mut open = OpenZones::default();
        let mut time = 0;
        for zone in lines.into_iter().chain([other]) {
            open.start(zone, time);
            time += if zone == other { 25 } else { 10 };
            open.end(zone, time);
        }
        let found: Vec<_> = open
            .longest(&NamedZones::from_names(&table))
            .iter()
            .map(|of| (of.zone, of.count, of.cycles))
            .collect();
        assert_eq!(found, [(lines[0], 5, 50), (other, 1, 25)]);
    }
}
