//! Tests of relays: both simulators leave the same cells in frames, and a reader decodes the same
//! records from these frames. The tests decode frames by the tables of `docs/streaming.md`.
//!
//! The number of cells in a frame depends on times, so frames are not compared one by one.

use crate::{
    accounting::assert_honest,
    cells::{Numbered, assert_same_cells, decode},
    scripts::cores,
    streams::{
        RUNTIMES_OWN_ZONES, drain_ours, drain_ttsim, drain_ttsim_with, launches, start_ours,
        start_ttsim, streaming,
    },
    support::{assert_same, assert_same_beside, assert_same_records, libraries},
};
use host_reader::{
    ReadOptions,
    anomaly::AnomalyKind,
    ledger::LossCause,
    mesh::{Mesh, Noc0Coord},
    names::ZoneTable,
    read::Reader,
    timeline::Timeline,
};
use sim::{kernel::script::ScriptShape, program::Launch};
use std::collections::BTreeMap;
use wire::stream::Policy;

const RELAYS: u32 = 2;
const SHORT: ScriptShape = ScriptShape { step_max: 120, depth_max: 8, has_pushes: false };
/// Policy under which kernels wait for their relay, so that nothing is lost.
const PATIENT: Policy = Policy::Block { cycles_log2: 24 };

/// The cells of each RISC of each streaming core, from the first cell on, without times.
type Gathered = BTreeMap<(Noc0Coord, usize), Vec<Numbered>>;

/// Cells that a chip's relays have left in DRAM, with the numbers of frames and fillers.
struct Frames {
    cells: BTreeMap<(Noc0Coord, usize), Vec<[u32; 2]>>,
    frame_count: u32,
    filler_count: u32,
}

fn control(mesh: &mut dyn Mesh, core: Noc0Coord) -> Vec<u32> {
    let device = mesh.device(0).unwrap();
    let described = device.description().cores.iter().find(|other| other.noc0 == core).unwrap();
    let address = described.control_address;
    let mut words = vec![0; 64];
    device.read_l1(core, address, &mut words).unwrap();
    words
}

/// Returns the Tensix cores that have this signature in their control vector. Relays and streaming
/// cores have different signatures.
fn signed(mesh: &mut dyn Mesh, signature: u32) -> Vec<Noc0Coord> {
    let all = mesh.device(0).unwrap().description().cores.clone();
    let tensix = all.iter().filter(|core| core.kind == wire::CoreKind::Tensix);
    let coords: Vec<Noc0Coord> = tensix.map(|core| core.noc0).collect();
    coords.into_iter().filter(|core| control(mesh, *core)[5] == signature).collect()
}

const RELAY: u32 = 0x4B52_1000;
const PRODUCER: u32 = 0x4B53_1000;

/// Returns true if the relays have marked every cell of every streaming core as read.
fn all_is_gathered(mesh: &mut dyn Mesh) -> bool {
    let producers = signed(mesh, PRODUCER);
    producers.into_iter().all(|core| {
        let words = control(mesh, core);
        words[24..29] == words[59..64]
    })
}

/// Computes a CRC-32 bit by bit.
fn crc32(words: &[u32]) -> u32 {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    !bytes.fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (if crc & 1 == 1 { 0xEDB8_8320 } else { 0 })
        })
    })
}

fn sum(words: impl IntoIterator<Item = u32>) -> u32 {
    words.into_iter().fold(0, u32::wrapping_add)
}

impl Frames {
    /// Reads the DRAM rings of all relays; the rings have not wrapped around yet.
    #[track_caller]
    fn read(mesh: &mut dyn Mesh, what: &str) -> Self {
        let (cells, frame_count, filler_count) = (BTreeMap::new(), 0, 0);
        let mut frames = Self { cells, frame_count, filler_count };
        let relays = signed(mesh, RELAY);
        assert_eq!(relays.len(), RELAYS as usize, "{what}");
        for relay in relays {
            let words = control(mesh, relay);
            assert_eq!(words[34], 0, "{what}: term");
            for own in [&words[14..24], &words[24..34]] {
                let [heartbeat, state, bank, address, ring_bytes, written, sweeps, full_waits] =
                    own[..8].try_into().unwrap();
                assert!(heartbeat > 0 && sweeps > 0, "{what}: {own:x?}");
                assert_eq!((state, full_waits), (1, 0), "{what}: {own:x?}");
                assert!(written <= ring_bytes && written.is_multiple_of(64), "{what}: {own:x?}");
                let mut ring = vec![0; written as usize / 4];
                let device = mesh.device(0).unwrap();
                device.read_dram(bank, address.into(), &mut ring).unwrap();
                frames.add_ring(&ring, what);
            }
        }
        frames
    }

    #[track_caller]
    fn add_ring(&mut self, mut ring: &[u32], what: &str) {
        let (mut sequence, mut time) = (0, 0);
        while !ring.is_empty() {
            let (header, control) = (&ring[..8], &ring[8..72]);
            sequence += 1;
            assert_eq!(header[..2], [0x4B46_1000, sequence], "{what}");
            assert_eq!(header[7], crc32(&[header[1], header[2], header[6]]), "{what}");
            let byte_count = header[2] as usize;
            assert!(
                byte_count.is_multiple_of(64) && byte_count <= 4 * ring.len(),
                "{what}: {header:x?}"
            );
            let (frame, rest) = ring.split_at(byte_count / 4);
            ring = rest;
            if header[3] == u32::MAX {
                self.filler_count += 1;
                continue;
            }
            let summed = control[14..=45].iter().chain(&control[51..52]).chain(&control[59..]);
            let expected = sum(header[3..6].iter().chain(summed).copied());
            assert_eq!(header[6], expected, "{what}: frame {sequence}");
            assert_eq!(frame.last(), Some(&sequence), "{what}");
            let now = u64::from(header[5]) << 32 | u64::from(header[4]);
            assert!(now > time, "{what}: frame {sequence} is older than the one before");
            time = now;
            assert_eq!(control[5], PRODUCER, "{what}");
            self.add_cells(header[3], control, &frame[72..], what);
            self.frame_count += 1;
        }
    }

    /// Adds the cells of a frame, which must continue the cells of the earlier frames.
    #[track_caller]
    fn add_cells(&mut self, producer: u32, control: &[u32], mut words: &[u32], what: &str) {
        let core = Noc0Coord { x: (producer & 0xFFFF) as u16, y: (producer >> 16) as u16 };
        for risc in 0..5 {
            let (first, end) = (control[59 + risc], control[24 + risc]);
            let known = self.cells.entry((core, risc)).or_default();
            assert_eq!(first as usize, known.len(), "{what}: core {core}, RISC {risc}");
            if first == end {
                continue;
            }
            let (mut even, mut even_end) = (first & !1, (end + 1) & !1);
            let goes_round = even % 256 + (even_end - even) > 256;
            let is_whole = goes_round && even_end - even > 128;
            if is_whole {
                (even, even_end) = (0, 256);
            }
            let (own, rest) = words.split_at(2 * (even_end - even) as usize);
            words = rest;
            let slot = |number: u32| {
                let at = if is_whole { number % 256 } else { number - even };
                [own[2 * at as usize], own[2 * at as usize + 1]]
            };
            known.extend((first..end).map(slot));
        }
    }

    fn untimed(&self) -> Gathered {
        let lanes = self.cells.iter().filter(|(_, cells)| !cells.is_empty());
        lanes.map(|(&lane, cells)| (lane, decode(0, cells))).collect()
    }
}

/// Returns launches on six cores that are spread over the chip and over the relays.
fn spread(seed: u64, count: u32, shape: &ScriptShape) -> Vec<Launch> {
    let on = sim::program::CoreSelection::At(cores());
    launches(seed, count, shape).into_iter().map(|launch| launch.on(on.clone())).collect()
}

/// Waits until all cells are gathered; `wait` lets some time pass.
#[track_caller]
fn await_relays<M: Mesh>(mesh: &mut M, what: &str, mut wait: impl FnMut(&mut M)) {
    for _ in 0..200 {
        if all_is_gathered(mesh) {
            // Relays write the frames before they mark the cells as read.
            return;
        }
        wait(mesh);
    }
    panic!("{what}: cells are left in rings");
}

#[test]
fn frames_of_relays_have_the_same_cells_and_hold_together() {
    let fresh = tests::seed::fresh();
    eprintln!("seeds 1 and {fresh}");
    for (arch, library) in libraries() {
        for seed in [1, fresh] {
            let what = format!("{arch}, seed {seed}");
            let config = streaming(arch, seed).with_relays(RELAYS).with_relay_ring_bytes(1 << 22);
            let launches = spread(seed, 40, &SHORT);
            let mut ttsim = start_ttsim(&config, &library, PATIENT);
            // Each launch begins after all earlier cells were gathered, so that no RISC waits for
            // its relay. The record of such a wait would take a cell, too.
            for launch in &launches {
                ttsim.run(launch).unwrap();
                await_relays(&mut ttsim, &what, |mesh| mesh.advance(5_000).unwrap());
            }
            let found = Frames::read(&mut ttsim, &what);

            let mut ours = start_ours(&config.clone().with_cell_truth(), PATIENT);
            for launch in &launches {
                ours.enqueue_everywhere(launch);
                ours.run_to_completion();
                await_relays(&mut ours, &what, |mesh| mesh.wait_ns(5_000));
            }
            let expected = Frames::read(&mut ours, &what);

            let (cells, expected_cells) = (found.untimed(), expected.untimed());
            assert_eq!(cells.len(), 30, "{what}");
            for (lane, expected) in &expected_cells {
                let name = format!("{what}, core {}, RISC {}", lane.0, lane.1);
                assert_same_cells(&name, &cells[lane], expected);
            }
            for (key, cells) in &ours.take_cells() {
                let core = Noc0Coord { x: key.core.x, y: key.core.y };
                assert_eq!(&expected.cells[&(core, key.risc.index())], cells, "{what}");
            }
            let (frames, ours_frames) = (found.frame_count, expected.frame_count);
            let count: usize = found.cells.values().map(Vec::len).sum();
            eprintln!("{what}: {count} cells, {frames} frames on ttsim, {ours_frames} on ours");
            assert!(count > 30 * 512 && frames > 100, "{what}: {count} cells, {frames} frames");

            let options = || ReadOptions { last_read: true, ..ReadOptions::default() };
            let mut found = Reader::new(options()).read(&mut ttsim).unwrap();
            let expected = Reader::new(options()).read(&mut ours).unwrap();
            assert_same(&found, &expected);
            found.zones = ZoneTable::from_texts(ttsim::runner::zone_texts()).unwrap();
            assert_honest(&found, &Timeline::from_readout(&found), ttsim.truth());
            assert_eq!(found.anomalies.anomaly_count(), 0, "{what}: {:?}", found.anomalies.kept());
            // The host has told the relays to stop.
            for relay in signed(&mut ttsim, RELAY) {
                let words = control(&mut ttsim, relay);
                assert_eq!((words[15], words[25], words[61]), (2, 2, 1), "{what}");
                assert_eq!((words[59], words[60]), (words[19], words[29]), "{what}");
            }
        }
    }
}

/// Tests the smallest rings, which wrap around several times while the host reads them.
#[test]
fn a_host_that_reads_relays_while_kernels_run_reads_the_same_records() {
    let fresh = tests::seed::fresh();
    eprintln!("seeds 1 and {fresh}");
    let shape = ScriptShape { step_max: 3000, ..SHORT };
    for (arch, library) in libraries() {
        for seed in [1, fresh] {
            let what = format!("{arch}, seed {seed}");
            let config = streaming(arch, seed).with_relays(RELAYS).with_relay_ring_bytes(1 << 16);
            let launches = spread(seed, 6, &shape);
            let mut ttsim = start_ttsim(&config, &library, PATIENT);
            let (found, read_count) = drain_ttsim(&mut ttsim, &launches, 20_000);
            let mut ours = start_ours(&config, PATIENT);
            let expected = drain_ours(&mut ours, &launches, 20_000);
            assert_eq!(assert_same_beside(&RUNTIMES_OWN_ZONES, &found, &expected), 30, "{what}");
            assert_honest(&found, &Timeline::from_readout(&found), ttsim.truth());
            assert_eq!(found.anomalies.anomaly_count(), 0, "{what}: {:?}", found.anomalies.kept());
            let relays = signed(&mut ttsim, RELAY);
            let written = relays.iter().flat_map(|relay| {
                let words = control(&mut ttsim, *relay);
                [words[19], words[29]]
            });
            let written: Vec<u32> = written.collect();
            eprintln!(
                "{what}: {} records in {read_count} reads, {written:?}",
                found.record_count()
            );
            assert!(written.iter().all(|bytes| *bytes > 2 << 16), "{what}: {written:?}");
        }
    }
}

/// Tests a relay that ends in the middle of its work: the host reads its last frames, then the rings.
#[test]
fn a_relay_that_dies_on_ttsim_is_replaced_by_the_host() {
    let shape = ScriptShape { step_max: 3000, ..SHORT };
    for (arch, library) in libraries() {
        let config = streaming(arch, 2).with_relays(RELAYS).with_relay_ring_bytes(1 << 20);
        let launches = spread(2, 6, &shape);
        let mut ttsim = start_ttsim(&config, &library, PATIENT);
        let mut written_at_death = Vec::new();
        let (found, read_count) = drain_ttsim_with(&mut ttsim, &launches, 5_000, |mesh, read| {
            if read == 9 {
                mesh.kill_relay(0).unwrap();
                let relay = signed(mesh, RELAY)[0];
                let words = control(mesh, relay);
                written_at_death = vec![words[19], words[29]];
            }
        });
        let mut ours = start_ours(&config, PATIENT);
        let expected = drain_ours(&mut ours, &launches, 20_000);
        assert_eq!(assert_same_records(&RUNTIMES_OWN_ZONES, &found, &expected), 30, "{arch}");
        assert_honest(&found, &Timeline::from_readout(&found), ttsim.truth());
        // The dead relay is one anomaly, and nothing else is missing.
        let anomalies = &found.anomalies;
        assert_eq!(anomalies.count(AnomalyKind::UnreadableCore), 1, "{arch}");
        assert_eq!(anomalies.anomaly_count(), 1, "{arch}: {:?}", anomalies.kept());
        let lost = found.losses.entries();
        let lost = lost.filter(|(key, _)| key.cause != LossCause::ValidateOff);
        assert_eq!(lost.count(), 0, "{arch}: {:?}", found.losses);
        let relay = signed(&mut ttsim, RELAY)[0];
        let words = control(&mut ttsim, relay);
        assert_eq!([words[19], words[29]], written_at_death[..], "{arch}: it is dead");
        assert_eq!((words[15], words[25]), (1, 1), "{arch}: it had no time to say so");
        assert_eq!([words[59], words[60]], written_at_death[..], "{arch}: all frames are read");
        let records = found.record_count();
        eprintln!("{arch}: {records} records in {read_count} reads, {written_at_death:?} bytes");
        assert!(written_at_death.iter().all(|bytes| *bytes > 0), "{arch}: {written_at_death:?}");
    }
}
