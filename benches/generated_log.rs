//! Device logs of 1.87 million lines: few launches with many zones, or many with few.

use host_reader::{
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    log::write_device_log,
    mesh::Noc0Coord,
    names::{ZoneSource, ZoneTable},
    readout::{ChipSummary, DeviceReadout, Readout},
};
use wire::{PacketKind, Risc, RunHostId};

const CORES: u16 = 64;
const RISCS: usize = 5;

/// Size of a generated log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSize {
    pub(crate) launches: u32,
    /// Number of user zones per launch, in addition to the kernel zone and the firmware zone.
    pub(crate) zones_per_launch: u64,
}

impl LogSize {
    /// Log with as many zones per launch as fit into TT-Metal's buffers.
    pub(crate) const FEW_LAUNCHES: Self = Self { launches: 23, zones_per_launch: 125 };

    /// Returns the number of lines that are records.
    pub(crate) fn line_count(self) -> u64 {
        let lanes = u64::from(CORES) * RISCS as u64;
        lanes * u64::from(self.launches) * (self.zones_per_launch + 2) * 2
    }
}

/// The zones of one RISC: firmware, kernel, and five user zones.
struct RiscZones {
    risc: Risc,
    indices: Vec<ZoneIndex>,
}

fn risc_zones(risc: Risc, zones: &mut ZoneTable) -> RiscZones {
    let prefix = risc.label().split('_').next().unwrap_or_default();
    let names = ["-FW", "-KERNEL"].map(|kind| format!("{prefix}{kind}"));
    let own = ["cb-wait", "noc-read", "math", "pack", "noc-write"].map(str::to_owned);
    let indices = (1_u32..).zip(names.into_iter().chain(own)).map(|(line, name)| {
        let file = format!("/proj/kernels/{}.cpp", prefix.to_lowercase());
        let source = ZoneSource { name, file, line };
        let id = source.id();
        zones.add(id, source);
        ZoneIndex(u32::from(id.0))
    });
    RiscZones { risc, indices: indices.collect() }
}

fn lane(core: Noc0Coord, zones: &RiscZones, size: LogSize) -> Lane {
    let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: zones.risc });
    let mut time = 11_231_607_914_496 + u64::from(core.x) * 7;
    let mut push = |lane: &mut Lane, kind, zone: usize, pause| {
        time += pause;
        lane.push(RecordHead::new(kind, zones.indices[zone]), time, &[]);
    };
    for launch in 1..=size.launches {
        lane.begin_run(RunHostId::encode(launch, 0));
        push(&mut lane, PacketKind::ZoneStart, 0, 900);
        push(&mut lane, PacketKind::ZoneStart, 1, 60);
        for zone in 0..size.zones_per_launch {
            let kind = usize::try_from(zone % 5).unwrap_or(0) + 2;
            push(&mut lane, PacketKind::ZoneStart, kind, 30);
            push(&mut lane, PacketKind::ZoneEnd, kind, 40 + zone % 17);
        }
        push(&mut lane, PacketKind::ZoneEnd, 1, 25);
        push(&mut lane, PacketKind::ZoneEnd, 0, 35);
    }
    lane
}

/// Returns the readout of a log of this size.
pub(crate) fn generated_readout(size: LogSize) -> Readout {
    let mut zones = ZoneTable::new();
    let riscs: Vec<_> =
        Risc::ALL[..RISCS].iter().map(|&risc| risc_zones(risc, &mut zones)).collect();
    let cores = (0..CORES).map(|core| Noc0Coord { x: core / 8 + 1, y: core % 8 + 1 });
    let lanes = cores.flat_map(|core| riscs.iter().map(move |zones| lane(core, zones, size)));
    let chip = ChipSummary {
        chip_id: 0,
        arch: "wormhole_b0".into(),
        aiclk_mhz: 1000,
        max_compute_cores: Some(64),
        known_lines: [].into(),
    };
    let lanes = lanes.collect();
    let device = DeviceReadout { chip, lanes, pending_runs: 0, discarded_launches: 0 };
    Readout { devices: vec![device], zones, ..Readout::default() }
}

/// Formats a readout of this size as the text of a log.
pub(crate) fn written(readout: &Readout, size: LogSize) -> Vec<u8> {
    let mut text = Vec::new();
    let report = write_device_log(readout, &mut text).expect("a vector takes all bytes");
    assert_eq!((report.row_count, report.replaced_character_count), (size.line_count(), 0));
    text
}
