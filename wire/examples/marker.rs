//! Decodes the two words of a marker.

use wire::{PacketKind, RunHostId, ZoneId, marker::Header};

/// Returns a description of a marker; `None` if the word is not a marker's header or its kind is
/// unknown.
fn describe(header: u32, low: u32) -> Option<String> {
    let header = Header(header);
    let kind = header.is_marker().then(|| header.kind()).flatten()?;
    let (id, time) = (header.id(), header.time(low));
    Some(format!("{kind:?} of zone {:#06x} at cycle {}", id.0, time.0))
}

fn main() {
    for (header, low) in [(0x8FC0_D001, 0x1000), (0x9FC0_D001, 0x1700), (7, 0)] {
        println!("{header:#010x}: {}", describe(header, low).unwrap_or_else(|| "no marker".into()));
    }
    println!("program 3 on chip 1: {}", RunHostId::encode(3, 1).0);
    println!("{:#010x}", Header::prefix(PacketKind::ZoneStart, ZoneId(0xFC0D)));
}

#[test]
fn a_zone_opens_at_its_time() {
    let expected = "ZoneStart of zone 0xfc0d at cycle 4294971392";
    assert_eq!(describe(0x8FC0_D001, 0x1000).as_deref(), Some(expected));
    assert_eq!(describe(7, 0), None);
}
