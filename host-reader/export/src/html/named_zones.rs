//! Zones with the same name, as the page adds them up: over the whole trace, or over an op.

use crate::TraceZone;
use analysis::{ZoneSum, ZoneTime};

/// Zones with the same name. `P` is the position of a zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedZones<P> {
    pub(super) sum: ZoneSum<P>,
    /// Cycles in which it is unknown whether one of the open zones was running. `None` if nothing
    /// limits an open zone: it is an outermost zone.
    pub(super) unknown_cycles: Option<u64>,
}

impl<P> Default for NamedZones<P> {
    fn default() -> Self {
        Self { sum: ZoneSum::default(), unknown_cycles: Some(0) }
    }
}

impl<P: Copy> NamedZones<P> {
    pub(super) fn add(&mut self, zone: &TraceZone, place: P) {
        let unknown_cycles = match zone.time() {
            ZoneTime::Whole { .. } => Some(0),
            ZoneTime::Open { .. } if zone.depth == 0 => None,
            ZoneTime::Open { unknown_cycles } => Some(unknown_cycles),
        };
        let mut sum = ZoneSum::default();
        sum.add(zone.time(), place);
        self.merge(Self { sum, unknown_cycles });
    }

    pub(super) fn merge(&mut self, later: Self) {
        self.sum.merge(later.sum);
        let both = self.unknown_cycles.zip(later.unknown_cycles);
        self.unknown_cycles = both.map(|(one, other)| one.saturating_add(other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NameId;

    fn zone(depth: u16, own_cycles: u64, has_synthetic_end: bool) -> TraceZone {
        TraceZone {
            name: NameId(0),
            start_cycle: 0,
            end_cycle: 100,
            start_ns: 0,
            end_ns: 100,
            duration_cycles: 100,
            own_cycles,
            depth,
            run: None,
            has_synthetic_end,
            is_clipped: false,
        }
    }

    #[test]
    fn an_open_zone_leaves_as_many_cycles_unknown_as_the_zone_around_it_has() {
        let mut zones = NamedZones::default();
        zones.add(&zone(0, 60, false), 0);
        assert_eq!((zones.sum.self_cycles, zones.unknown_cycles), (60, Some(0)));
        zones.add(&zone(1, 40, true), 1);
        assert_eq!((zones.sum.self_cycles, zones.unknown_cycles), (60, Some(40)));
        zones.add(&zone(0, 7, true), 2);
        assert_eq!((zones.sum.self_cycles, zones.unknown_cycles), (60, None));
        zones.add(&zone(1, 5, true), 3);
        assert_eq!(zones.unknown_cycles, None);
    }
}
