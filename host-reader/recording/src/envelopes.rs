//! Envelopes of trace-only mode.
//!
//! In this mode, a core records one zone around the firmware of all its RISCs and one zone around
//! all their kernels. These two zones are called envelopes. The start and the end of an envelope
//! may be recorded by different RISCs, under the zone names of these RISCs. This module gives the
//! start and the end the same name.
//!
//! # Compatibility
//! tt-metal's `profiler.cpp` names the envelopes `TRACE-FW` and `TRACE-KERNEL` when it reads the
//! records. Device logs therefore already contain these names.

use reader::{
    lane::{Lane, RecordHead, ZoneIndex},
    names::{ZoneSource, ZoneTable},
    readout::Readout,
    role::ZoneRole,
};
use std::collections::BTreeMap;
use wire::{PacketKind, Risc, ZoneId};

/// Names the envelopes of all aggregate lanes. Ids and source locations are unchanged.
pub(crate) fn name_envelopes(readout: &mut Readout) {
    let Readout { devices, zones, .. } = readout;
    let mut named = BTreeMap::new();
    let lanes = devices.iter_mut().flat_map(|device| &mut device.lanes);
    for lane in lanes.filter(|lane| lane.id.risc == Risc::TensixAggregate) {
        name_lane(lane, zones, &mut named);
    }
}

fn name_lane(lane: &mut Lane, zones: &mut ZoneTable, named: &mut BTreeMap<ZoneIndex, ZoneIndex>) {
    for head in &mut lane.heads {
        if matches!(head.kind(), PacketKind::ZoneStart | PacketKind::ZoneEnd) {
            let zone = head.zone();
            let envelope = *named.entry(zone).or_insert_with(|| envelope_of(zone, zones));
            *head = RecordHead::new(head.kind(), envelope);
        }
    }
}

/// Returns the index of the zone under its envelope name, or `zone` if the zone is not an envelope.
fn envelope_of(zone: ZoneIndex, zones: &mut ZoneTable) -> ZoneIndex {
    let name = ZoneRole::from_name(zones.name(zone)).envelope_name();
    let Some((name, source)) = name.zip(zones.sources(zone).first()) else { return zone };
    let Ok(id) = u16::try_from(zones.id(zone)) else { return zone };
    let source = ZoneSource { name: name.to_owned(), ..source.clone() };
    zones.intern(ZoneId(id), source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{
        lane::LaneId,
        mesh::Noc0Coord,
        readout::{ChipSummary, DeviceReadout},
    };

    fn lane(risc: Risc, zones: &[u32]) -> Lane {
        let mut lane = Lane::new(LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc });
        for (time, &zone) in (0..).zip(zones) {
            lane.push(RecordHead::new(PacketKind::ZoneStart, ZoneIndex(zone)), time, &[]);
        }
        lane
    }

    #[test]
    fn envelopes_have_upstreams_names_and_keep_their_ids_and_other_lanes_their_names() {
        let mut zones = ZoneTable::new();
        let texts = ["BRISC-FW", "BRISC-KERNEL", "TRISC-KERNEL", "Load"];
        for (id, name) in (1..).zip(texts) {
            let source = ZoneSource { name: name.into(), file: "/k.cpp".into(), line: id.into() };
            zones.add(ZoneId(id), source);
        }
        let lanes = vec![lane(Risc::Brisc, &[1, 2]), lane(Risc::TensixAggregate, &[1, 2, 3, 4, 9])];
        let chip = ChipSummary {
            chip_id: 0,
            arch: "x".into(),
            aiclk_mhz: 1,
            max_compute_cores: None,
            known_lines: [].into(),
        };
        let device = DeviceReadout { chip, lanes, pending_runs: 0, discarded_launches: 0 };
        let mut readout = Readout { devices: vec![device], zones, ..Readout::default() };
        name_envelopes(&mut readout);
        let facts = |lane: usize| -> Vec<_> {
            let heads = readout.devices[0].lanes[lane].heads.iter();
            let places = heads.map(|head| {
                let line = readout.zones.sources(head.zone()).first().map(|source| source.line);
                (readout.zones.name(head.zone()), readout.zones.id(head.zone()), line)
            });
            places.collect()
        };
        assert_eq!(facts(0), [("BRISC-FW", 1, Some(1)), ("BRISC-KERNEL", 2, Some(2))]);
        let expected = [
            ("TRACE-FW", 1, Some(1)),
            ("TRACE-KERNEL", 2, Some(2)),
            ("TRACE-KERNEL", 3, Some(3)),
            ("Load", 4, Some(4)),
            ("", 9, None),
        ];
        assert_eq!(facts(1), expected);
    }
}
