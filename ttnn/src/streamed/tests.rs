//! Tests with a simulated chip of one core. Its RISC 0 ends a launch only after the host has read
//! the announcement word several times.
//!
//! The words of the core are written as `docs/streaming.md` specifies them.

use super::*;
use crate::{CopiedChip, Session, WorkerCore, mesh::description};
use chip::{
    access::{AccessFailure, ChipAccess, NocResult, NocTile},
    facts::ChipFacts,
    shared::ChipServer,
};
use reader::{
    ReadOptions,
    architecture::Arch,
    mesh::{LogicalCoord, Noc0Coord},
};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const CONTROL: u64 = 0x4000;
const TOLD: u64 = CONTROL + 4 * 14;
/// Control words of RISC 0.
const SIGNATURE: usize = 5;
const TOLD_WORD: usize = 14;
const WRITTEN: usize = 24;
const PROGRAM: usize = 44;
const LAUNCHES: usize = 51;
const HAS_ENDED: u32 = 1 << 15;

/// Worker (1,1) of a Wormhole, on NoC 1.
const TILE: NocTile = NocTile { x: 8, y: 10 };
const CORE: WorkerCore =
    WorkerCore { noc0: Noc0Coord { x: 1, y: 1 }, logical: LogicalCoord { x: 0, y: 0 } };

/// The memory of the core, beginning with the control vector.
struct Core {
    words: Vec<u32>,
    /// Remaining number of reads of the announcement word before RISC 0 ends its launch.
    asks_left: u32,
    /// Number of writes by the host to the words 0 to 58 while the launch was running.
    disturbed: usize,
    clock: u32,
}

impl Core {
    fn is_running(&self) -> bool {
        !matches!(self.words[TOLD_WORD], 0) && self.words[TOLD_WORD] & HAS_ENDED == 0
    }

    /// Writes a cell into the ring of RISC 0.
    fn add_cell(&mut self, number: usize, words: [u32; 2]) {
        let at = 64 + 2 * number;
        self.words[at..at + 2].copy_from_slice(&words);
    }

    /// Makes RISC 0 announce launch 1 of program 7 at cycle 1,000, and publish the launch cell.
    fn begin_launch(&mut self) {
        (self.words[SIGNATURE], self.words[LAUNCHES], self.words[PROGRAM]) = (0x4B53_1000, 1, 7);
        self.add_cell(0, [0xFFF5_0001, 1_000]);
        self.add_cell(1, [7, 0]);
        (self.words[WRITTEN], self.words[TOLD_WORD]) = (2, 1 << 16);
    }

    /// Makes RISC 0 publish three zones with id 5, of 10 cycles each, and end the launch.
    fn end_launch(&mut self) {
        for number in 2..5_u16 {
            let end = 1_000 + 100 * u32::from(number);
            self.add_cell(number.into(), [0x0005_000A, end]);
        }
        self.words[WRITTEN] = 5;
        self.words[TOLD_WORD] |= HAS_ENDED;
    }
}

#[derive(Clone)]
struct LateChip(Arc<Mutex<Core>>);

impl LateChip {
    /// Returns a chip with RISC 0 in a launch. The RISC ends the launch after the host has read the
    /// announcement word `asks` times.
    fn in_launch(asks: u32) -> Self {
        let mut core = Core { words: vec![0; 4096], asks_left: asks, disturbed: 0, clock: 0 };
        core.begin_launch();
        Self(Arc::new(Mutex::new(core)))
    }

    fn idle() -> Self {
        let words = vec![0; 4096];
        Self(Arc::new(Mutex::new(Core { words, asks_left: 0, disturbed: 0, clock: 0 })))
    }

    fn words(&self, tile: NocTile, address: u64, size: usize) -> Result<usize, AccessFailure> {
        let first = address.checked_sub(CONTROL).and_then(|byte| usize::try_from(byte / 4).ok());
        let first = first.filter(|first| tile == TILE && first + size.div_ceil(4) <= 4096);
        first.ok_or_else(|| AccessFailure(format!("nothing at {tile}, {address:#x}")))
    }
}

impl ChipAccess for LateChip {
    fn noc_read(&self, _: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult {
        let mut core = self.0.lock().unwrap();
        if address >= 0xFFB1_21F0 {
            core.clock += 100_000;
            let clock = u64::from(core.clock).to_le_bytes();
            let first = usize::try_from(address - 0xFFB1_21F0).unwrap();
            bytes.copy_from_slice(&clock[first..first + bytes.len()]);
            return Ok(());
        }
        if address == TOLD && core.is_running() {
            match core.asks_left.checked_sub(1) {
                Some(left) => core.asks_left = left,
                None => core.end_launch(),
            }
        }
        let first = self.words(tile, address, bytes.len())?;
        for (bytes, word) in bytes.chunks_mut(4).zip(&core.words[first..]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }

    fn noc_write(&self, _: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult {
        let first = self.words(tile, address, bytes.len())?;
        let mut core = self.0.lock().unwrap();
        // The host may write its own words, from word 59 on, at any time.
        let is_running = core.is_running() && first < 59;
        core.disturbed += usize::from(is_running);
        for (bytes, index) in bytes.as_chunks().0.iter().zip(first..) {
            core.words[index] = u32::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

/// Returns a session that streams the chip, the server of the chip, and the folder of the socket.
fn streaming(chip: &LateChip) -> (Session, ChipServer, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let link = StreamLink {
        socket: folder.path().join("chip"),
        control_address: CONTROL,
        policy: Policy::DropNewest,
    };
    let facts = ChipFacts {
        chip_id: 0,
        arch: Arch::WormholeB0,
        harvest_mask: 0,
        dram_harvest_mask: 0,
        aiclk_mhz: 1000,
        is_translated: true,
        active_ethernet: None,
    };
    let server = ChipServer::start(&link.socket, &facts, chip.clone()).unwrap();
    let mut session = Session::new(ReadOptions::default(), None);
    let mut description = description(0, 1 << 20);
    (description.max_compute_cores, description.dram.bank_count) = (1, 12);
    let index = session.add_chip(CopiedChip::new(description, &[CORE]).unwrap());
    session.stream_chip(index, &link).unwrap();
    (session, server, folder)
}

/// Returns the times of all records.
fn times(session: Session) -> Vec<u64> {
    let readout = session.recorder.finish().unwrap().readout;
    readout.lanes().flat_map(|lane| lane.times.clone()).collect()
}

/// Starts and ends of the zones that RISC 0 publishes last.
const TIMES: [u64; 6] = [1_190, 1_200, 1_290, 1_300, 1_390, 1_400];

#[test]
fn a_read_at_rest_waits_for_the_cells_that_a_risc_publishes_late() {
    for asks in [0, 3, 20] {
        let chip = LateChip::idle();
        let (mut session, _server, _folder) = streaming(&chip);
        {
            let mut core = chip.0.lock().unwrap();
            core.begin_launch();
            core.asks_left = asks;
        }
        session.read_at_rest().unwrap();
        assert!(!chip.0.lock().unwrap().is_running(), "after {asks} asks");
        assert_eq!(session.recorder.readout().record_count(), 6, "after {asks} asks");
        assert_eq!(times(session), TIMES);
    }
}

#[test]
fn the_last_read_waits_for_the_cells_that_a_risc_publishes_late() {
    let chip = LateChip::idle();
    let (mut session, _server, _folder) = streaming(&chip);
    {
        let mut core = chip.0.lock().unwrap();
        core.begin_launch();
        core.asks_left = 7;
    }
    session.end_streams().unwrap();
    assert_eq!(times(session), TIMES);
    assert_eq!(chip.0.lock().unwrap().disturbed, 0);
}

#[test]
fn rings_are_emptied_only_when_the_launch_before_has_ended() {
    let chip = LateChip::in_launch(5);
    let (session, _server, _folder) = streaming(&chip);
    let core = chip.0.lock().unwrap();
    assert_eq!((core.asks_left, core.disturbed), (0, 0), "nothing was zeroed in the launch");
    assert_eq!(core.words[WRITTEN], 0, "the vector was zeroed afterwards");
    drop(core);
    assert_eq!(times(session), [0; 0]);
}

#[test]
fn a_visitor_receives_the_finished_zones_of_a_launch_that_still_runs() {
    let chip = LateChip::idle();
    let (mut session, _server, _folder) = streaming(&chip);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let visited = Arc::clone(&seen);
    session.visit_reads(move |part| {
        let times = part.run.readout.lanes().flat_map(|lane| lane.times.clone());
        visited.lock().unwrap().extend(times);
    });
    {
        let mut core = chip.0.lock().unwrap();
        core.begin_launch();
        core.add_cell(2, [0x0005_000A, 1_200]);
        (core.words[WRITTEN], core.asks_left) = (3, 4);
    }
    session.read_meanwhile();
    assert_eq!(*seen.lock().unwrap(), TIMES[..2]);
    assert_eq!(session.recorder.readout().record_count(), 0, "the launch is still running");
    session.read_at_rest().unwrap();
    assert_eq!(*seen.lock().unwrap(), TIMES);
    assert_eq!(times(session), TIMES);
}
