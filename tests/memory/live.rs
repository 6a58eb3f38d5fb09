//! Live reads of kernels that never end: every zone is read, and the memory in use does not grow.

use super::{CORES, ONE_AT_A_TIME, live_bytes, mesh, place};
use host_reader::{
    ReadOptions,
    mesh::{Device, DeviceImage, Mesh},
    read::Reader,
    stream::{Batch, LiveReader},
};
use std::{sync::PoisonError, time::Duration};
use tests::launch::{CONTROL_ADDRESS, VECTOR_ADDRESS};
use wire::{
    ZoneId,
    control::ext,
    stream::{Cell, Code, LaunchCell, ToldLaunch, words},
};

const LANES: usize = CORES as usize * 5;
const RING_CELLS: u64 = 256;
const LAUNCH_CELLS: u64 = 2;
const PROGRAM: u32 = 7;
const FIRST_TIME: u64 = 1 << 40;
/// Cycles from the end of a zone to the end of the next zone of its lane.
const STEP: u64 = 100;
const MOST_BATCHES: usize = 40;
/// Maximum growth of memory: the columns of the batches that wait for the consumer and of two more
/// reads.
const FLAT_BYTES: i64 = 1 << 20;
/// Number of reads before memory is measured. By then, all buffers have reached their final size.
const WARM_UP: u64 = 100;

/// Returns the id, start and end of the zone with this number in its lane.
fn zone(number: u64) -> (ZoneId, u64, u64) {
    let end = FIRST_TIME + (number + 1) * STEP;
    let id = ZoneId(u16::try_from(1 + number % 200).unwrap());
    (id, end - number % 99, end)
}

/// A chip with one launch on each RISC. Whenever the host has read the rings, all RISCs fill their
/// rings again.
struct Endless {
    image: DeviceImage,
    /// Cells that each RISC has written.
    written: u64,
    last_written: u64,
}

impl Endless {
    fn new(cells_per_lane: u64) -> Self {
        let mut image = mesh().devices.remove(0);
        for core in 0..CORES {
            let told = ToldLaunch { number: 1, has_ended: false, time_high: 1 << 8 };
            let mut control = |word: usize, values: &[u32]| {
                let address = CONTROL_ADDRESS + word as u64 * 4;
                image.write_l1(place(core), address, values).unwrap();
            };
            control(ext::SIGNATURE, &[words::SIGNATURE_VALUE]);
            control(words::LAUNCHES, &[1]);
            control(words::PROGRAM, &[PROGRAM]);
            control(words::TOLD, &[told.to_word(); 5]);
        }
        Self { image, written: 0, last_written: cells_per_lane }
    }

    /// Returns the words of the cell with this number.
    fn cell(number: u64) -> [u32; 2] {
        let low = |time: u64| u32::try_from(time & 0xFFFF_FFFF).unwrap();
        let cell = match number.checked_sub(LAUNCH_CELLS) {
            Some(number) => {
                let (id, start, end) = zone(number);
                Cell::new(Code(id.0), u16::try_from(end - start).unwrap(), low(end))
            }
            None if number == 0 => Cell::new(Code::LAUNCH, 1, low(FIRST_TIME)),
            None => LaunchCell { program: PROGRAM, trace_counter: 0, time_high: 1 << 8 }.to_cell(),
        };
        [cell.head, cell.value]
    }

    fn fill(&mut self) {
        let mut read = [0; 5];
        let address = CONTROL_ADDRESS + words::READ as u64 * 4;
        self.image.read_l1(place(CORES - 1), address, &mut read).unwrap();
        let low = |cells: u64| u32::try_from(cells & 0xFFFF_FFFF).unwrap();
        if read[4] != low(self.written) || self.written == self.last_written {
            return;
        }
        let next = self.written..(self.written + RING_CELLS).min(self.last_written);
        let cells: Vec<u32> = next.clone().flat_map(Self::cell).collect();
        self.written = next.end;
        for core in 0..CORES {
            for risc in 0..5 {
                let ring = VECTOR_ADDRESS + risc * 2048;
                self.image.write_l1(place(core), ring, &cells).unwrap();
            }
            let address = CONTROL_ADDRESS + words::WRITTEN as u64 * 4;
            self.image.write_l1(place(core), address, &[low(self.written); 5]).unwrap();
        }
        self.image.set_wall_clock(FIRST_TIME + self.written * STEP);
    }
}

impl Mesh for Endless {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, _: usize) -> Option<&mut dyn Device> {
        self.fill();
        Some(&mut self.image)
    }
}

/// Checks that the zones of a batch are the next zones of the batch's lane.
fn check(batch: &Batch, taken: &mut [u64; LANES]) {
    assert_eq!(batch.program.map(|program| program.base()), Some(PROGRAM));
    assert_eq!(batch.losses.record_count(), 0);
    let lane = usize::from(batch.lane.core.y - 1) * 5 + batch.lane.risc.index();
    let zones = &batch.zones;
    for ((&id, &start), &end) in zones.ids.iter().zip(&zones.starts).zip(&zones.ends) {
        assert_eq!((id, start, end), zone(taken[lane]));
        taken[lane] += 1;
    }
}

#[test]
fn zones_of_launches_that_never_end_are_read_live_in_flat_memory() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let zones = std::env::var("KPROF_LIVE_ZONES").map_or(2_000_000, |text| text.parse().unwrap());
    let zones_per_lane = zones / LANES as u64;
    let mesh = Endless::new(LAUNCH_CELLS + zones_per_lane);
    let reader = Reader::new(ReadOptions::default());
    let mut live =
        LiveReader::start(mesh, reader, Duration::from_micros(20), MOST_BATCHES).unwrap();
    let mut taken = [0; LANES];
    let (mut reads, mut after_warm_up, mut most) = (0, 0, 0);
    while taken.iter().any(|&count| count < zones_per_lane) {
        let read = live.next().unwrap().unwrap();
        assert!(read.readout.losses.is_empty() && read.readout.anomalies.anomaly_count() == 0);
        read.batches.iter().for_each(|batch| check(batch, &mut taken));
        drop(read);
        reads += 1;
        if reads == WARM_UP {
            after_warm_up = live_bytes();
        }
        most = most.max(live_bytes());
    }
    assert_eq!(taken, [zones_per_lane; LANES]);
    assert!(reads > 2 * WARM_UP, "{reads}");
    let put_off = live.backpressure().put_off_reads;
    assert!(live.stop().is_some() && live.next().is_none());
    let grown = most - after_warm_up;
    println!("{zones} zones, {reads} reads, {put_off} put off, grown by {grown} bytes");
    assert!(grown < FLAT_BYTES, "{grown}");
}
