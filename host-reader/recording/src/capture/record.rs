//! Recording of reads: all words that are read from a mesh are captured before they are decoded.
//!
//! The reader determines what is read, and when. No data is kept in memory.

use super::{
    error::CaptureError,
    host_clock::{HostClock, unix_time_ns},
    label::ChipLabels,
    section::{ClockSamples, FailedAccess, MemoryWords, Payload, ReadBegin, ReadEnd},
    sync::MeshSamples,
    writer::CaptureWriter,
};
use host_events::monotonic_ns;
use reader::{
    mesh::{AccessError, AccessResult, Device, DeviceDescription, L1Read, Memory, Mesh, Noc0Coord},
    names::ZoneTable,
    read::{ReadError, ReadOptions, Reader},
};
use std::{borrow::Cow, collections::BTreeMap};

/// A capture of everything that a [`Reader`] reads.
///
/// If the capture cannot be written, reads continue. Failed reads are captured, so a replay of the
/// capture fails in the same way.
#[derive(Debug)]
pub(super) struct RunCapture {
    pub(super) writer: CaptureWriter,
    /// True if the reads belong to a repetition of the previous run that records other hardware
    /// counters.
    pub(super) is_counter_pass: bool,
    chips: BTreeMap<u32, DeviceDescription>,
    zones: ZoneTable,
    is_fresh: bool,
    /// Host time at which the host's clock was last captured, in ns.
    ///
    /// `None` if not captured yet, or if the host times do not come from the machine's monotonic
    /// clock.
    clock_captured_ns: Option<u64>,
    /// Clock samples in the capture.
    samples: MeshSamples,
}

impl RunCapture {
    pub(super) fn new(writer: CaptureWriter) -> Self {
        Self {
            writer,
            is_counter_pass: false,
            chips: BTreeMap::new(),
            zones: ZoneTable::new(),
            is_fresh: true,
            clock_captured_ns: None,
            samples: MeshSamples::default(),
        }
    }

    /// Calls `read` and captures the words that it reads. Returns the result of `read`, and the
    /// first error of writing the capture.
    pub(super) fn read<M: Mesh + ?Sized, T>(
        &mut self,
        reader: &mut Reader,
        mesh: &mut M,
        read: impl FnOnce(&mut Reader, &mut RecordedMesh<'_, M>) -> Result<T, ReadError>,
    ) -> (Result<T, ReadError>, Result<(), CaptureError>) {
        let options = reader.options_mut().clone();
        let begin = ReadBegin {
            read_number: self.writer.next_read_number(),
            is_fresh: self.is_fresh,
            is_counter_pass: self.is_counter_pass,
            chips: Vec::new(),
            options,
        };
        let clocked = self.capture_host_clock(mesh);
        let prepared = self.describe(mesh, &begin.options);
        let mut recorded = RecordedMesh::begin(mesh, &mut self.writer, begin);
        recorded.log.note(clocked);
        recorded.log.note(prepared);
        let readout = read(reader, &mut recorded);
        let captured = recorded.finish();
        self.is_fresh = false;
        (readout, captured)
    }

    /// Writes the clock samples that are not in the capture yet.
    pub(super) fn append_new_samples(&mut self, samples: &MeshSamples) -> Result<(), CaptureError> {
        let new = samples.since(&self.samples);
        let tiles = new.bursts().map(ClockSamples::TwoWay);
        let mut all = tiles.chain(new.link_bursts().map(ClockSamples::Ethernet));
        all.try_for_each(|samples| self.writer.append(&samples))?;
        self.samples = samples.clone();
        Ok(())
    }

    /// Marks the end of the recording; see [`CaptureWriter::finish`].
    pub(super) fn finish(mut self) -> Result<(), CaptureError> {
        if self.clock_captured_ns.is_some() {
            self.writer.append(&HostClock::now())?;
        }
        self.writer.finish()
    }

    /// Captures the host's clock.
    ///
    /// Does nothing if the clock was captured within the last second, or if the mesh has its own
    /// host clock, such as a simulated mesh.
    pub(super) fn capture_host_clock<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
    ) -> Result<(), CaptureError> {
        const INTERVAL_NS: u64 = 1_000_000_000;
        let now = monotonic_ns();
        if self.clock_captured_ns.is_none_or(|last| now.saturating_sub(last) >= INTERVAL_NS)
            && mesh.device(0).is_some_and(HostClock::is_of)
        {
            self.writer.append(&HostClock::now())?;
            self.clock_captured_ns = Some(now);
        }
        Ok(())
    }

    /// Writes the chip descriptions and zone names that are not in the capture yet.
    fn describe<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
        options: &ReadOptions,
    ) -> Result<(), CaptureError> {
        for index in 0..mesh.device_count() {
            let Some(device) = mesh.device(index) else { continue };
            let chip = device.description();
            if self.chips.get(&chip.chip_id) != Some(chip) {
                self.writer.append(chip)?;
                self.chips.insert(chip.chip_id, chip.clone());
            }
        }
        if self.zones != options.zones {
            self.writer.append(&options.zones)?;
            self.zones = options.zones.clone();
        }
        Ok(())
    }
}

/// A mesh that captures all words read through it. As a [`Device`], it represents the chip of the
/// mesh that is currently accessed.
pub(super) struct RecordedMesh<'a, M: ?Sized> {
    mesh: &'a mut M,
    log: AccessLog<'a>,
    /// One entry for each index of the mesh; `None` if there is no chip with this index.
    chips: Vec<Option<ChipLabels>>,
    /// Index of the accessed chip.
    index: usize,
}

/// Writer that appends the words and failed accesses of one read to the capture.
struct AccessLog<'a> {
    writer: &'a mut CaptureWriter,
    read_number: u32,
    is_last: bool,
    words_read: u64,
    first_error: Result<(), CaptureError>,
}

impl<'a, M: Mesh + ?Sized> RecordedMesh<'a, M> {
    /// Captures the beginning of a read.
    fn begin(mesh: &'a mut M, writer: &'a mut CaptureWriter, mut begin: ReadBegin) -> Self {
        let chips: Vec<_> = (0..mesh.device_count())
            .map(|index| {
                let chip = mesh.device(index)?.description().clone();
                Some(ChipLabels::new(chip, &begin.options))
            })
            .collect();
        begin.chips = chips.iter().flatten().map(|labels| labels.chip().chip_id).collect();
        let (read_number, is_last) = (begin.read_number, begin.options.last_read);
        let mut log =
            AccessLog { writer, read_number, is_last, words_read: 0, first_error: Ok(()) };
        log.append(&begin);
        Self { mesh, log, chips, index: 0 }
    }

    /// Captures the end of the read. Returns the first error of writing the capture.
    fn finish(self) -> Result<(), CaptureError> {
        let Self { mesh, mut log, .. } = self;
        let end = ReadEnd {
            read_number: log.read_number,
            is_last: log.is_last,
            host_time_ns: mesh.device(0).map_or(0, |device| device.host_time_ns()),
            words_read: log.words_read,
            unix_time_ns: unix_time_ns(),
        };
        let finished = log.writer.finish_read(&end);
        log.note(finished);
        log.first_error
    }
}

impl AccessLog<'_> {
    fn append<'file>(&mut self, payload: &impl Payload<'file>) {
        let appended = self.writer.append(payload);
        self.note(appended);
    }

    fn note(&mut self, result: Result<(), CaptureError>) {
        if self.first_error.is_ok() {
            self.first_error = result;
        }
    }
}

impl<M: Mesh + ?Sized> Mesh for RecordedMesh<'_, M> {
    fn device_count(&self) -> usize {
        self.chips.len()
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        self.chips.get(index)?.as_ref()?;
        self.index = index;
        Some(self)
    }
}

/// Description of an access, captured if the access fails.
#[derive(Clone, Copy)]
struct Attempt {
    memory: Memory,
    address: u64,
    word_count: usize,
    is_write: bool,
}

impl<M: Mesh + ?Sized> RecordedMesh<'_, M> {
    /// Performs an access on the chip. If it fails, captures the failure.
    fn ask<T>(
        &mut self,
        access: Attempt,
        ask: impl FnOnce(&mut dyn Device) -> Result<T, AccessError>,
    ) -> Result<T, AccessError> {
        let result = match self.mesh.device(self.index) {
            Some(device) => ask(device),
            None => Err(self.has_left()),
        };
        self.log_failure(access, &result);
        result
    }

    fn has_left(&self) -> AccessError {
        let chip_id = self.description().chip_id;
        AccessError::Unreachable { chip_id, reason: "it has left the mesh".into() }
    }

    /// Captures an access if its result is an error.
    fn log_failure<T>(&mut self, access: Attempt, result: &Result<T, AccessError>) {
        let chip_id = self.description().chip_id;
        if let Err(error) = result {
            let Attempt { memory, address, word_count, is_write } = access;
            self.log.append(&FailedAccess {
                read_number: self.log.read_number,
                chip_id,
                memory,
                address,
                word_count: word_count as u64,
                is_write,
                error: error.clone(),
            });
        }
    }

    /// Captures words that were read. Words of different lanes are captured separately.
    fn keep(&mut self, memory: Memory, address: u64, words: &[u32]) {
        let Some(Some(labels)) = self.chips.get_mut(self.index) else { return };
        for label in labels.label(memory, address, words.len()) {
            let words = words.get(label.range.clone()).unwrap_or(&[]);
            labels.learn(&label, words);
            self.log.append(&MemoryWords {
                read_number: self.log.read_number,
                chip_id: labels.chip().chip_id,
                memory,
                address: address.saturating_add((label.range.start as u64).saturating_mul(4)),
                content: label.content,
                lane: label.lane,
                first_word: label.first_word,
                words: Cow::Borrowed(words),
            });
        }
    }

    fn read(
        &mut self,
        memory: Memory,
        address: u64,
        words: &mut [u32],
        read: impl FnOnce(&mut dyn Device, &mut [u32]) -> AccessResult,
    ) -> AccessResult {
        let access = Attempt { memory, address, word_count: words.len(), is_write: false };
        self.ask(access, |device| read(device, words))?;
        self.keep_read(memory, address, words);
        Ok(())
    }

    fn keep_read(&mut self, memory: Memory, address: u64, words: &[u32]) {
        self.log.words_read = self.log.words_read.saturating_add(words.len() as u64);
        self.keep(memory, address, words);
    }
}

impl<M: Mesh + ?Sized> Device for RecordedMesh<'_, M> {
    fn description(&self) -> &DeviceDescription {
        let labels = self.chips.get(self.index).and_then(Option::as_ref);
        labels.expect("a device is given out only where there is one").chip()
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        self.read(Memory::L1(core), address, words, |device, words| {
            device.read_l1(core, address, words)
        })
    }

    fn read_l1_pair(&mut self, [mut first, mut second]: [L1Read<'_>; 2]) -> [AccessResult; 2] {
        let results = match self.mesh.device(self.index) {
            Some(device) => device.read_l1_pair([again(&mut first), again(&mut second)]),
            None => [(); 2].map(|()| Err(self.has_left())),
        };
        for (read, result) in [first, second].into_iter().zip(&results) {
            let L1Read { core, address, words } = read;
            let memory = Memory::L1(core);
            let access = Attempt { memory, address, word_count: words.len(), is_write: false };
            self.log_failure(access, result);
            if result.is_ok() {
                self.keep_read(memory, address, words);
            }
        }
        results
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        let memory = Memory::L1(core);
        let access = Attempt { memory, address, word_count: words.len(), is_write: true };
        self.ask(access, |device| device.write_l1(core, address, words))
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        self.read(Memory::Dram(bank), address, words, |device, words| {
            device.read_dram(bank, address, words)
        })
    }

    fn read_host_memory(&mut self, address: u64, words: &mut [u32]) -> AccessResult {
        self.read(Memory::Host, address, words, |device, words| {
            device.read_host_memory(address, words)
        })
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        let memory = Memory::WallClock(core);
        let access = Attempt { memory, address: 0, word_count: 2, is_write: false };
        let cycles = self.ask(access, |device| device.read_wall_clock(core))?;
        let clock = wire::Cycles(cycles);
        self.keep(memory, 0, &[clock.low_word(), clock.high_word()]);
        Ok(cycles)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.mesh.device(self.index).map_or(0, |device| device.host_time_ns())
    }
}

/// Returns a second `L1Read` that borrows the words of `read`. A device fills the words through the
/// returned `L1Read`, and the caller can capture the words afterwards.
const fn again<'a>(read: &'a mut L1Read<'_>) -> L1Read<'a> {
    L1Read { core: read.core, address: read.address, words: &mut *read.words }
}
