//! A capture of each version that was ever written stays readable.
//!
//! Write the sample of this version anew, after its format has gained something, with
//!
//! ```text
//! cargo test -p host-reader writes_the_sample_capture -- --ignored
//! ```
//!
//! and keep the samples of older versions as they are.

use super::*;
use crate::{
    clock::{PingBurst, Tile, TwoWayPing},
    decode::{CaptureMode, HostIdForm},
    ledger::{LossCause, LossKey, LossLedger, LossTotals},
    mesh::{CoreDescription, DeviceDescription, DramDescription, LogicalCoord},
    names::{ZoneSource, ZoneTable},
};
use std::path::PathBuf;
use wire::{CoreKind, RunHostId, generation};

const IDENTITY: CaptureIdentity =
    CaptureIdentity { id: 0x6B70_726F_6600_0001, created_unix_ns: 1_767_225_600_000_000_000 };

fn sample_path() -> PathBuf {
    let captures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/captures/kprof");
    captures.join(format!("v{}.kprof", FormatVersion::CURRENT))
}

fn device() -> DeviceDescription {
    let core = CoreDescription {
        noc0: Noc0Coord { x: 3, y: 4 },
        logical: LogicalCoord { x: 2, y: 3 },
        kind: CoreKind::Tensix,
        flat_id: 0,
        control_address: 0x10,
        vector_address: 0x110,
    };
    DeviceDescription {
        chip_id: 2,
        arch: "wormhole_b0".into(),
        aiclk_mhz: 1000,
        max_compute_cores: 1,
        cores: vec![core],
        dram: DramDescription { bank_count: 1, region_address: 0x40, region_bytes: 240_000 },
    }
}

fn layout() -> LaneLayout {
    LaneLayout {
        chip_id: 2,
        program_support_count: 1000,
        sums_enabled: false,
        core_count: 1,
        bank_count: 1,
        lane_words: 12_000,
        generation: generation::CURRENT,
        mode: CaptureMode::Workers,
        host_ids: HostIdForm::Base,
    }
}

fn zones() -> ZoneTable {
    let mut zones = ZoneTable::new();
    for (name, line) in [("BRISC-FW", 418), ("LoadData, all", 12)] {
        let source = ZoneSource { name: name.into(), file: "/k/k.cpp".into(), line };
        zones.add(source.id(), source);
    }
    zones
}

fn clock_samples() -> ClockSamples {
    let ping = |host_send_ns: i64, device_cycles| TwoWayPing {
        host_send_ns,
        device_cycles,
        host_receive_ns: host_send_ns + 900,
    };
    let pings = vec![ping(-5, 1000), ping(2_000_000, 2_001_003)];
    ClockSamples::TwoWay(PingBurst { tile: Tile::new(2, 3, 4), pings })
}

fn ops() -> Vec<OpMetadata> {
    let fields = vec![("name".into(), "Matmul".into()), ("math fidelity".into(), "HiFi4".into())];
    vec![OpMetadata { chip_id: 2, run_host_id: RunHostId::encode(1, 2), fields }]
}

fn ledger() -> LossLedger {
    let mut ledger = LossLedger::default();
    let program = Some(RunHostId::encode(1, 2));
    let key = LossKey { lane: lane_id(Risc::Brisc), cause: LossCause::L1Full, program };
    ledger.enter(key, LossTotals { zones: 25, ..LossTotals::default() });
    ledger
}

/// A run of BRISC whose firmware and kernel zones opened and closed.
const RUN: [u32; 12] = [
    0,
    0,
    0,
    1,
    0x8FC0_D001,
    0x1000,
    0x9FC0_D001,
    0x1700,
    0x8E42_7001,
    0x1100,
    0x9E42_7001,
    0x1600,
];

fn control() -> ControlWords<'static> {
    let mut words = vec![0; 64];
    words[0] = 12;
    words[50] = 0x40;
    words[55] = 1;
    let core = Noc0Coord { x: 3, y: 4 };
    ControlWords { read_number: 0, chip_id: 2, core, words: words.into(), read_at: Some(1 << 33) }
}

fn run() -> LaneWords<'static> {
    LaneWords { lane: lane_id(Risc::Brisc), first_word: 0, ..lane_words(0, &RUN) }
}

fn loss_log() -> LossLogWords<'static> {
    let words = vec![1, 0, 1, 0, 25, 0, 0, 0].into();
    LossLogWords { read_number: 0, lane: lane_id(Risc::Brisc), words }
}

fn boundary() -> ReadBoundary {
    ReadBoundary {
        read_number: 0,
        is_last: true,
        host_time_ns: 123_456_789,
        words_read: 84,
        unix_time_ns: 1_767_225_601_000_000_000,
    }
}

fn sample() -> Vec<u8> {
    let mut draft = Draft::new();
    let header = FileHeader { version: FormatVersion::CURRENT, identity: IDENTITY };
    draft.bytes = header.to_bytes().to_vec();
    draft
        .with(&device())
        .with(&layout())
        .with(&zones())
        .with(&control())
        .with(&run())
        .with(&loss_log())
        .with(&boundary())
        .with(&clock_samples())
        .with(&ops())
        .with(&HostEvents { bytes: vec![1, 2, 3].into() })
        .with(&ledger())
        .bytes
}

#[test]
fn the_sample_of_this_version_is_what_this_version_writes() {
    let committed = std::fs::read(sample_path()).unwrap();
    assert_eq!(committed, sample(), "the bytes of a version that was given out never change");
}

#[test]
fn every_section_of_the_sample_says_what_it_said_when_it_was_written() {
    let capture = Capture::open(sample_path()).unwrap();
    assert_eq!(capture.identity(), Some(IDENTITY));
    assert!(capture.check().is_clean());
    let contents: Vec<_> = capture.sections().map(|s| s.content().unwrap()).collect();
    let expected = [
        Content::Device(device()),
        Content::Layout(layout()),
        Content::ZoneNames(zones()),
        Content::Control(control()),
        Content::Lane(run()),
        Content::LossLog(loss_log()),
        Content::ReadBoundary(boundary()),
        Content::Clock(clock_samples()),
        Content::OpMetadata(ops()),
        Content::HostEvents(HostEvents { bytes: vec![1, 2, 3].into() }),
        Content::Ledger(ledger()),
    ];
    assert_eq!(contents, expected);
}

#[test]
fn the_bytes_of_the_sample_lie_where_the_documents_say() {
    let bytes = sample();
    assert_eq!(bytes[..16], *b"\x8AKPROF\r\n\x01\0\0\0\x40\0\0\0");
    let section = &bytes[FILE_HEADER_BYTES..];
    assert_eq!(section[..16], *b"\xABSECTION\x01\0\0\x01\0\0\0\0");
    // Device: 48 bytes of head, 16 of name and padding, 32 of one core.
    assert_eq!(section[16..24], 96_u64.to_le_bytes());
    assert_eq!(section[32..40], *b"\x02\0\0\0\xE8\x03\0\0");
    assert_eq!(section[80..96], *b"wormhole_b0\0\0\0\0\0");
    assert_eq!(section[96..104], *b"\x03\0\x04\0\x02\0\x03\0");
}

#[test]
#[ignore = "writes the committed sample"]
fn writes_the_sample_capture() {
    let path = sample_path();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, sample()).unwrap();
}
