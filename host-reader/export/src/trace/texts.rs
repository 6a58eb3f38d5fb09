//! Metadata that a device log attaches to zone records.

use super::{NameId, TraceNames, zones::TraceZone};
use reader::lane::Lane;
use std::{borrow::Cow, collections::BTreeMap};
use wire::PacketKind;

/// Metadata of the zones of one lane. A key consists of a zone's name and the cycle of the record
/// that starts or ends the zone.
///
/// Several zones with the same name may start or end at the same cycle. Each of these zones then
/// has the metadata of all records at this cycle, because the log does not state which zone a
/// record belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneTexts<'a> {
    starts: BTreeMap<(NameId, u64), Cow<'a, str>>,
    ends: BTreeMap<(NameId, u64), Cow<'a, str>>,
}

/// Separator of metadata from several records.
const SEPARATOR: &str = " | ";

impl<'a> ZoneTexts<'a> {
    pub(super) fn from_lane(lane: &'a Lane, names: &TraceNames<'_>) -> Self {
        let mut found = Self::default();
        for (record, text) in &lane.metadata {
            let head_and_time = lane.heads.get(*record).zip(lane.times.get(*record));
            let Some((head, &time)) = head_and_time else { continue };
            let texts = match head.kind() {
                PacketKind::ZoneStart => &mut found.starts,
                PacketKind::ZoneEnd => &mut found.ends,
                // Points store their texts themselves.
                _ => continue,
            };
            let texts = texts.entry((names.number(head.zone()), time));
            texts.and_modify(|texts| add(texts, text)).or_insert(Cow::Borrowed(text));
        }
        found
    }

    /// Returns the metadata of the record that starts a zone.
    #[must_use]
    pub fn start(&self, zone: &TraceZone) -> Option<&str> {
        self.starts.get(&(zone.name, zone.start_cycle)).map(|text| &**text)
    }

    /// Returns the metadata of the record that ends a zone.
    #[must_use]
    pub fn end(&self, zone: &TraceZone) -> Option<&str> {
        // A clipped zone ends later than drawn.
        let end_cycle = zone.start_cycle.saturating_add(zone.duration_cycles);
        let text = self.ends.get(&(zone.name, end_cycle));
        text.filter(|_| !zone.has_synthetic_end).map(|text| &**text)
    }
}

/// Appends the metadata of another record, unless `texts` already contains it.
fn add(texts: &mut Cow<'_, str>, text: &str) {
    if !texts.split(SEPARATOR).any(|known| known == text) {
        let texts = texts.to_mut();
        texts.push_str(SEPARATOR);
        texts.push_str(text);
    }
}
