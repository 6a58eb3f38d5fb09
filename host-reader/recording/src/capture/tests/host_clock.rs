//! Tests that a recording contains the clock of the host that made it.

use super::{sample::device, *};
use host_events::monotonic_ns;
use reader::{
    mesh::{AccessError, Device, DeviceDescription, DeviceImage, Mesh},
    read::ReadOptions,
};

/// A chip in memory with the given host clock.
struct ClockedChip {
    image: DeviceImage,
    clock: fn() -> u64,
}

impl Device for ClockedChip {
    fn description(&self) -> &DeviceDescription {
        self.image.description()
    }

    fn read_l1(&mut self, at: Noc0Coord, from: u64, words: &mut [u32]) -> Result<(), AccessError> {
        self.image.read_l1(at, from, words)
    }

    fn write_l1(&mut self, at: Noc0Coord, from: u64, words: &[u32]) -> Result<(), AccessError> {
        self.image.write_l1(at, from, words)
    }

    fn read_dram(&mut self, bank: u32, from: u64, words: &mut [u32]) -> Result<(), AccessError> {
        self.image.read_dram(bank, from, words)
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.image.read_wall_clock(core)
    }

    fn host_time_ns(&mut self) -> u64 {
        (self.clock)()
    }
}

impl Mesh for ClockedChip {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        (index == 0).then_some(self)
    }
}

/// Returns the clocks in the capture of a recording with two reads.
fn captured_clocks(clock: fn() -> u64) -> Vec<HostClock> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clocked.kprof");
    let mut chip = ClockedChip { image: DeviceImage::new(device()), clock };
    let writer = CaptureWriter::create(&path).unwrap();
    let mut reader = CapturingReader::new(ReadOptions::default(), writer);
    for _ in 0..2 {
        reader.read(&mut chip).capture.unwrap();
    }
    reader.capture.finish().unwrap();
    let capture = Capture::open(&path).unwrap();
    assert!(capture.is_finished().unwrap() && capture.check().is_clean());
    capture.host_clocks().collect()
}

#[test]
fn a_recording_on_the_machines_clock_names_the_machine_at_both_ends() {
    let begun = monotonic_ns();
    let clocks = captured_clocks(monotonic_ns);
    let ended = monotonic_ns();
    // Normally the reads are less than a second apart and share one captured clock. Otherwise a
    // clock is captured for each read.
    assert!((2..=3).contains(&clocks.len()), "{clocks:?}");
    let now = HostClock::now();
    let mut last = begun;
    for clock in clocks {
        assert_eq!((clock.boot_id, clock.namespace_ns), (now.boot_id, now.namespace_ns));
        let [reading] = clock.readings[..] else { panic!("one reading") };
        assert!(last <= reading.before_ns && reading.before_ns <= reading.after_ns);
        last = reading.after_ns;
    }
    assert!(last <= ended);
}

#[test]
fn a_recording_on_another_clock_names_no_machine() {
    assert_eq!(captured_clocks(|| 5), []);
    let an_hour_ahead = || monotonic_ns() + 3_600_000_000_000;
    assert_eq!(captured_clocks(an_hour_ahead), []);
    let a_second_behind = || monotonic_ns() - 1_000_000_000;
    assert_eq!(captured_clocks(a_second_behind), []);
}
