//! Whether the NoC events of a recording can be read at all, from a bounded part of the known ones.

use crate::noc_events::{trace::is_event, version::VersionEvidence};
use reader::{lane::Lane, names::ZoneTable};

/// Events of the lanes, and what shows their layout. Lanes are added one by one.
#[derive(Debug, Default)]
pub(crate) struct LayoutEvidence {
    event_count: u64,
    version: VersionEvidence,
}

/// Events of a lane that are looked at, unless they leave the layout open. A layout shows after a few events.
const LOOKED_AT: u64 = 1 << 10;

impl LayoutEvidence {
    /// Adds the events of a lane.
    pub(crate) fn add_lane(&mut self, lane: &Lane, zones: &ZoneTable) {
        // The words of all data records are in `lane.data`.
        if lane.data.is_empty() {
            return;
        }
        let mut own = VersionEvidence::default();
        for record in lane.records().filter(|record| is_event(record, zones)) {
            self.event_count = self.event_count.saturating_add(1);
            let is_shown = own.total() >= LOOKED_AT && own.version().is_some();
            if let Some(&bits) = record.data.first().filter(|_| !is_shown) {
                own.add(bits);
            }
        }
        self.version.merge(&own);
    }

    /// Adds the events of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.event_count = self.event_count.saturating_add(other.event_count);
        self.version.merge(&other.version);
    }

    /// Returns the number of events whose kinds and bytes are unknown, because they have the layout of no
    /// known version of TT-Metal, or of several; 0 if the layout is known.
    pub(crate) fn unread_count(&self) -> u64 {
        let is_unread = self.version.total() > 0 && self.version.version().is_none();
        if is_unread { self.event_count } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use captures::read_capture;
    use reader::readout::Readout;

    fn unread(readout: &Readout) -> u64 {
        let mut all = LayoutEvidence::default();
        for lane in readout.lanes() {
            let mut own = LayoutEvidence::default();
            own.add_lane(lane, &readout.zones);
            all.merge(&own);
        }
        all.unread_count()
    }

    #[test]
    fn events_in_a_layout_of_no_version_are_counted() {
        let mut readout = read_capture("wormhole-noc-256");
        assert_eq!(unread(&readout), 0, "TT-Metal wrote them");
        for lane in readout.devices.iter_mut().flat_map(|device| &mut device.lanes) {
            lane.data.iter_mut().for_each(|bits| *bits = u64::MAX);
        }
        // The capture holds 50 NoC events, and no version has a kind of this number.
        assert_eq!(unread(&readout), 50);
    }
}
