//! Live reads on ttsim: the batches that a `LiveReader` returns while launches run contain the
//! records of the cells in the rings, with their times.

use crate::{
    streamed::Streamed,
    streams::{launches, start_ttsim, streaming},
    support::libraries,
};
use host_reader::{
    ReadOptions,
    ledger::LossCause,
    mesh::{AccessError, AccessResult, Device, DeviceDescription, Mesh, Noc0Coord},
    read::Reader,
    stream::LiveReader,
};
use sim::{
    arch::TileCoord,
    kernel::script::ScriptShape,
    truth::{RiscKey, StreamedCells},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use ttsim::TtsimMesh;
use wire::{CoreKind, stream::Policy};

const LONG: ScriptShape = ScriptShape { step_max: 3000, depth_max: 8, has_pushes: false };
/// Kernels wait for their host, so that nothing is lost.
const PATIENT: Policy = Policy::Block { cycles_log2: 24 };
/// Pause of the host between two reads: some thousand instructions.
const PAUSE_NS: u64 = 4_000;

/// State of the chip, observed independently of the reader.
#[derive(Default)]
struct Seen {
    records: Streamed,
    /// Number of cells (64-bit units of records) that each RISC has published.
    counts: BTreeMap<RiscKey, u32>,
    is_running: bool,
}

/// A chip that runs only between two reads of the host. Copies the cells of its rings before the
/// host marks them as free.
struct WatchedMesh {
    ttsim: TtsimMesh,
    description: DeviceDescription,
    seen: Arc<Mutex<Seen>>,
    was_read: bool,
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WatchedMesh {
    fn chip(&mut self) -> &mut dyn Device {
        self.ttsim.device(0).unwrap()
    }

    /// Copies the cells that the RISCs of a core have published since the last call.
    fn copy_cells(&mut self, coord: Noc0Coord) -> Result<(), AccessError> {
        let core = self.description.cores.iter().find(|core| core.noc0 == coord).unwrap();
        let (control, vector) = (core.control_address, core.vector_address);
        let mut words = vec![0; 64];
        self.chip().read_l1(coord, control, &mut words)?;
        for (index, &written) in words[24..29].iter().enumerate() {
            let mut ring = vec![0; 512];
            self.chip().read_l1(coord, vector + 2048 * index as u64, &mut ring)?;
            let core = TileCoord { x: coord.x, y: coord.y };
            let risc = CoreKind::Tensix.risc(index).unwrap();
            let key = RiscKey { chip_id: 0, core, risc };
            let mut seen = lock(&self.seen);
            let known = seen.counts.insert(key, written).unwrap_or(0);
            let slot = |number: u32| {
                let at = 2 * (number % 256) as usize;
                [ring[at], ring[at + 1]]
            };
            let cells = (known..written).map(slot).collect();
            seen.records.add(StreamedCells::from([(key, cells)]));
        }
        Ok(())
    }
}

impl Mesh for WatchedMesh {
    fn device_count(&self) -> usize {
        1
    }

    /// Runs the chip for a while if it was accessed since the last call. A reader calls this method
    /// at the start of each read.
    fn device(&mut self, _: usize) -> Option<&mut dyn Device> {
        if std::mem::take(&mut self.was_read) {
            let is_running = self.ttsim.run_for(PAUSE_NS).unwrap();
            lock(&self.seen).is_running = is_running;
        }
        Some(self)
    }
}

impl Device for WatchedMesh {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        self.was_read = true;
        self.chip().read_l1(core, address, words)
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        self.copy_cells(core)?;
        self.chip().write_l1(core, address, words)
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        self.chip().read_dram(bank, address, words)
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.chip().read_wall_clock(core)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.chip().host_time_ns()
    }
}

#[test]
fn batches_that_are_read_while_kernels_run_are_the_cells_of_the_rings() {
    for (arch, library) in libraries() {
        let mut ttsim = start_ttsim(&streaming(arch, 3), &library, PATIENT);
        ttsim.set_access_clocks(10);
        launches(3, 9, &LONG).into_iter().for_each(|launch| ttsim.enqueue(launch));
        let description = ttsim.device(0).unwrap().description().clone();
        let seen = Arc::new(Mutex::new(Seen { is_running: true, ..Seen::default() }));
        let mesh = WatchedMesh { ttsim, description, seen: Arc::clone(&seen), was_read: false };
        let reader = Reader::new(ReadOptions::default());
        let mut live = LiveReader::start(mesh, reader, Duration::ZERO, 100).unwrap();
        let (mut read_count, mut record_count, mut is_stopped) = (0, 0, false);
        loop {
            let Some(read) = live.try_next() else {
                if is_stopped {
                    break;
                }
                if lock(&seen).is_running {
                    std::thread::sleep(Duration::from_millis(1));
                } else {
                    is_stopped = live.stop().is_some();
                }
                continue;
            };
            let read = read.unwrap();
            let lost = read.readout.losses.entries();
            let lost = lost.filter(|(key, _)| key.cause != LossCause::ValidateOff);
            assert_eq!(lost.count(), 0, "{arch}: {:?}", read.readout.losses);
            assert_eq!(read.readout.anomalies.anomaly_count(), 0, "{arch}");
            let mut seen = lock(&seen);
            for batch in &read.batches {
                let taken = seen.records.lane(batch.lane).take(batch);
                taken.unwrap_or_else(|error| panic!("{arch}, {}: {error}", batch.lane));
                record_count += batch.record_count();
            }
            let is_running = seen.is_running;
            drop(seen);
            read_count += usize::from(is_running && !read.batches.is_empty());
        }
        let seen = lock(&seen);
        assert_eq!((seen.records.len(), seen.counts.len()), (0, 10), "{arch}");
        let cells: u32 = seen.counts.values().sum();
        eprintln!(
            "{arch}: {record_count} records of {cells} cells, {read_count} reads of launches"
        );
        assert!(cells > 10 * 512 && read_count > 20, "{arch}: {cells} cells, {read_count} reads");
    }
}
