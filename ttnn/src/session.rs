//! Recording of a program's chips: several reads form one capture.

use crate::{
    mesh::{ChipError, CopiedChip, CopiedMesh},
    outside::ChipLink,
    streamed::{REST_INTERVAL, StreamLink, StreamedChips, are_at_rest, is_rest_overdue},
};
use chip::{
    facts::FactsError,
    mesh::ChipMesh,
    shared::{ShareError, SharedChip},
};
use reader::{
    InitError, ProfilerOptions, ReadOptions,
    clock::{PingBurst, Tile, TwoWayPing},
    mesh::{AccessError, Device, Noc0Coord},
};
use recording::capture::{
    CaptureError, CaptureWriter, LivePart, MeshRecorder, OpMetadata, RecordError,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    thread,
    time::Instant,
};
use wire::RunHostId;

/// Error in recording a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A copy does not match the description of its chip.
    #[error(transparent)]
    Chip(#[from] ChipError),
    /// The copies do not contain valid profiler data.
    #[error(transparent)]
    Read(#[from] RecordError),
    /// The capture cannot be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The simulated chip of the program cannot be accessed.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// The chip's reported properties are contradictory.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// The cores' ring buffers cannot be initialised.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The chip does not answer.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The process at the socket serves another chip.
    #[error("expected chip {chip_id} at the socket {}, found chip {found}", .socket.display())]
    OtherChip {
        /// The socket.
        socket: PathBuf,
        /// The chip of the session.
        chip_id: u32,
        /// The chip at the socket.
        found: u32,
    },
    /// The simulator of the program's chip refuses a request.
    #[error("{0}")]
    Outside(String),
    /// The session has no chip with this number.
    #[error("expected one of {count} chips of the session, found number {index}")]
    NoSuchChip {
        /// The requested number.
        index: usize,
        /// Number of chips in the session.
        count: usize,
    },
}

/// Reading of a core's wall clock by a kernel, with the host's time before and after the kernel's
/// launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The core.
    pub core: Noc0Coord,
    /// Monotonic host time before the launch was enqueued.
    pub before_ns: i64,
    /// The core's wall clock.
    pub cycles: u64,
    /// Monotonic host time at which the host had learned that the launch was over, in nanoseconds.
    pub after_ns: i64,
}

/// The chips of a program, and all data read from these chips.
///
/// A process has one session; chips are added when they are opened.
#[derive(Debug)]
pub struct Session {
    /// Recorder of all reads.
    pub recorder: MeshRecorder,
    mesh: CopiedMesh,
    /// How the simulated chips can be reached, by their numbers in the session.
    links: BTreeMap<usize, ChipLink>,
    /// Programs that have a description, by chip.
    described: BTreeSet<(u32, RunHostId)>,
    streamed: StreamedChips,
    /// True if records are read from the cores' ring buffers ("rings") instead of from copies.
    is_streaming: bool,
    /// First failure of [`Session::read_meanwhile`] that was not returned yet.
    failure: Option<SessionError>,
    visitor: Option<Visitor>,
}

/// Function that is called with the data of each read of the rings.
struct Visitor(Box<dyn FnMut(LivePart) + Send>);

impl std::fmt::Debug for Visitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Visitor")
    }
}

impl Session {
    /// Creates a session that keeps all data in memory and also writes them to `capture`, if given.
    #[must_use]
    pub fn new(options: ReadOptions, capture: Option<CaptureWriter>) -> Self {
        let streamed = StreamedChips::new(ProfilerOptions {
            program_support_count: options.program_support_count,
            sums_enabled: options.sums_enabled,
            ..ProfilerOptions::default()
        });
        Self {
            recorder: MeshRecorder::new(options, capture),
            mesh: CopiedMesh::default(),
            links: BTreeMap::new(),
            described: BTreeSet::new(),
            streamed,
            is_streaming: false,
            failure: None,
            visitor: None,
        }
    }

    /// Adds a chip and returns its number in the session. If a chip with the same id was added
    /// before, the new one replaces it.
    pub fn add_chip(&mut self, chip: CopiedChip) -> usize {
        let id = chip.description().chip_id;
        let known = self.mesh.chips.iter().position(|known| known.description().chip_id == id);
        match known.and_then(|index| Some((index, self.mesh.chips.get_mut(index)?))) {
            Some((index, known)) => {
                *known = chip;
                index
            }
            None => {
                self.mesh.chips.push(chip);
                self.mesh.chips.len().saturating_sub(1)
            }
        }
    }

    /// Returns a chip into which copies can be loaded.
    ///
    /// # Errors
    /// If there is no such chip.
    pub fn chip_mut(&mut self, index: usize) -> Result<&mut CopiedChip, SessionError> {
        let count = self.mesh.chips.len();
        self.mesh.chips.get_mut(index).ok_or(SessionError::NoSuchChip { index, count })
    }

    /// Lets [`Session::read_from_outside`] read a chip.
    pub fn reach_chip(&mut self, index: usize, link: ChipLink) {
        self.links.insert(index, link);
    }

    /// Returns how a simulated chip can be reached; `None` if no chip can.
    #[must_use]
    pub fn link(&self) -> Option<&ChipLink> {
        self.links.values().next()
    }

    /// Adds metadata of ops.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn add_ops(&mut self, ops: Vec<OpMetadata>) -> Result<(), SessionError> {
        self.described.extend(ops.iter().map(|op| (op.chip_id, op.run_host_id)));
        Ok(self.recorder.add_ops(ops)?)
    }

    /// Names the ops that have no description yet, by their programs.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn name_ops(&mut self, names: &BTreeMap<u32, Arc<str>>) -> Result<(), SessionError> {
        let chips: Vec<_> = self.mesh.chips.iter().map(|chip| chip.description().chip_id).collect();
        let ops = chips.into_iter().flat_map(|chip_id| {
            names.iter().map(move |(&program, name)| OpMetadata {
                chip_id,
                run_host_id: RunHostId::encode(program, chip_id),
                fields: [(OpMetadata::NAME.to_owned(), name.to_string())].into(),
            })
        });
        let new =
            ops.filter(|op| !self.described.contains(&(op.chip_id, op.run_host_id))).collect();
        self.add_ops(new)
    }

    /// Reads the chips for the last time, without a launch: a launch of the program never ends. What
    /// its kernels have recorded is then still in L1. Returns the ids of the chips that cannot be
    /// reached, whose records since the last read are missing.
    ///
    /// # Errors
    /// The errors of [`Session::read`].
    pub fn read_from_outside(&mut self) -> Result<Vec<u32>, SessionError> {
        if self.is_streaming {
            return self.end_streams().map(|()| Vec::new());
        }
        let mut reached = CopiedMesh::default();
        let mut missing = Vec::new();
        for (index, chip) in self.mesh.chips.iter().enumerate() {
            let mut copy = chip.clone();
            match self.links.get(&index).map(|link| link.copy(&mut copy)).transpose()? {
                Some(true) => reached.chips.push(copy),
                Some(false) | None => missing.push(chip.description().chip_id),
            }
        }
        if !reached.chips.is_empty() {
            self.recorder.options_mut().last_read = true;
            let read = self.recorder.read(&mut reached);
            self.recorder.options_mut().last_read = false;
            read?;
        }
        Ok(missing)
    }

    /// Makes all later reads use the rings of the chip's cores instead of copies. After this call,
    /// programs can be launched.
    ///
    /// # Errors
    /// If the chip cannot be accessed.
    pub fn stream_chip(&mut self, index: usize, link: &StreamLink) -> Result<(), SessionError> {
        let description = self.chip_mut(index)?.description().clone();
        self.streamed.connect(description, link)?;
        self.is_streaming = true;
        self.read()
    }

    /// Reads all chips. If the session streams, reads the rings of the cores, otherwise the copies
    /// of the chips' memory.
    ///
    /// # Errors
    /// If nothing can be read, or if the capture cannot be written. In either case, data that was
    /// already read is kept.
    pub fn read(&mut self) -> Result<(), SessionError> {
        if !self.is_streaming {
            return Ok(self.recorder.read(&mut self.mesh)?);
        }
        if self.streamed.is_empty() {
            return Ok(());
        }
        let mesh = &mut self.streamed.mesh;
        match &mut self.visitor {
            Some(Visitor(visit)) => self.recorder.read_live(mesh, visit)?,
            None => self.recorder.read(mesh)?,
        }
        Ok(())
    }

    /// Calls `visit` with the data found by each read of the rings, including finished zones of
    /// launches that are still running. A read returns only after `visit` has returned.
    pub fn visit_reads(&mut self, visit: impl FnMut(LivePart) + Send + 'static) {
        self.visitor = Some(Visitor(Box::new(visit)));
    }

    /// Returns the mesh of the chips whose rings are read.
    pub const fn streamed_mesh(&mut self) -> &mut ChipMesh<SharedChip> {
        &mut self.streamed.mesh
    }

    /// Reads the rings between two calls of ttnn by the program. A failure is stored until
    /// [`Session::take_failure`] returns it.
    ///
    /// Does nothing if only a few cycles have passed on the first chip since the last read. A
    /// simulated chip is slow compared with the host, so very frequent reads would find no new
    /// records.
    pub fn read_meanwhile(&mut self) {
        if self.is_streaming
            && self.failure.is_none()
            && self.streamed.has_progress()
            && let Err(failure) = self.read()
        {
            self.failure = Some(failure);
        }
    }

    /// Returns the first failure of [`Session::read_meanwhile`] that has not been returned yet.
    /// After a failure, `read_meanwhile` does nothing until this method has returned the failure.
    pub const fn take_failure(&mut self) -> Option<SessionError> {
        self.failure.take()
    }

    /// Reads the rings until each RISC has published all of its records, but for no longer than
    /// five seconds.
    ///
    /// Call this method only after the last launch has ended. RISCs may still be publishing records
    /// of the launch then.
    ///
    /// # Errors
    /// The errors of [`Session::read`].
    pub fn read_at_rest(&mut self) -> Result<(), SessionError> {
        let begun = Instant::now();
        loop {
            let is_over = are_at_rest(&mut self.streamed.mesh)? || is_rest_overdue(begun);
            self.read()?;
            if is_over {
                return Ok(());
            }
            thread::sleep(REST_INTERVAL);
        }
    }

    /// Reads the rings for the last time, and disconnects the streaming chips. Kernels that run
    /// later discard their records.
    ///
    /// # Errors
    /// The errors of [`Session::read`]. Also if the chips cannot be disconnected.
    pub fn end_streams(&mut self) -> Result<(), SessionError> {
        if self.streamed.is_empty() {
            return Ok(());
        }
        self.read_at_rest()?;
        self.recorder.options_mut().last_read = true;
        let read = self.read();
        self.recorder.options_mut().last_read = false;
        read?;
        // Read only one clock: the launch that found the cores has already read the clocks of all
        // cores. A simulated chip does not advance while the host reads it, so clocks that are read
        // one after the other cannot be compared.
        if let Some(burst) = self.streamed.ping() {
            self.recorder.add_clock_readings(burst)?;
        }
        self.streamed.disconnect()
    }

    /// Adds clock readings of a chip's cores.
    ///
    /// # Errors
    /// If there is no such chip, or the capture cannot be written.
    pub fn add_clocks(
        &mut self,
        index: usize,
        readings: &[ClockReading],
    ) -> Result<(), SessionError> {
        let chip_id = self.chip_mut(index)?.description().chip_id;
        for reading in readings {
            let (x, y) = (u8::try_from(reading.core.x), u8::try_from(reading.core.y));
            let (Ok(x), Ok(y)) = (x, y) else { continue };
            let ping = TwoWayPing {
                host_send_ns: reading.before_ns,
                device_cycles: reading.cycles,
                host_receive_ns: reading.after_ns,
            };
            let burst = PingBurst { tile: Tile::new(chip_id, x, y), pings: vec![ping] };
            self.recorder.add_clock_readings(burst)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{WorkerCore, description};
    use reader::mesh::LogicalCoord;
    use recording::Recording;

    const WORKERS: [WorkerCore; 2] = [
        WorkerCore { noc0: Noc0Coord { x: 1, y: 1 }, logical: LogicalCoord { x: 0, y: 0 } },
        WorkerCore { noc0: Noc0Coord { x: 2, y: 1 }, logical: LogicalCoord { x: 1, y: 0 } },
    ];

    /// Tests readings of a chip's clock by kernels. The chip runs at 1 GHz, and the program runs
    /// for ten seconds.
    #[test]
    fn readings_by_launches_relate_a_chip_to_the_host_within_their_bound() {
        // Times by which the clocks of the two cores lag behind the host's clock.
        let lags_ns = [1_000_000, 1_004_000];
        let mut session = Session::new(ReadOptions::default(), None);
        let chip = CopiedChip::new(description(0, 4800), &WORKERS).unwrap();
        session.add_chip(chip);
        let read = |core: usize, at_ns: i64, before_ns: i64, after_ns: i64| ClockReading {
            core: WORKERS[core].noc0,
            before_ns: at_ns - before_ns,
            cycles: u64::try_from(at_ns - lags_ns[core]).unwrap(),
            after_ns: at_ns + after_ns,
        };
        // The set-up launch reads the clocks of all cores; each later launch reads only the clock
        // of the first core.
        let first = [read(0, 2_000_000, 300_000, 90_000), read(1, 2_001_000, 301_000, 89_000)];
        session.add_clocks(0, &first).unwrap();
        for number in 1..=100 {
            let late_ns = 40_000 + number * 7_919 % 60_000;
            let reading = read(0, 2_000_000 + number * 100_000_000, late_ns, 130_000 - late_ns);
            session.add_clocks(0, &[reading]).unwrap();
        }
        let recording = Recording::from_captured_run(session.recorder.finish().unwrap());
        let clock = recording.clock.unwrap();
        assert!(clock.problems().is_empty(), "{:?}", clock.problems());
        let first = clock.reference_clock(0).unwrap();
        for seconds in 0..10 {
            let cycles = 1_000_000_000 * seconds + 5_000_000;
            let told = first.to_host_ns(cycles);
            let off_ns = told.ns - (i64::try_from(cycles).unwrap() + lags_ns[0]);
            // The bound is half of the 130 us between the two readings of the host's clock.
            assert!(told.bound_ns <= 65_000.0 + 1.0, "{}", told.bound_ns);
            assert!((off_ns as f64).abs() <= told.bound_ns, "{off_ns} of {}", told.bound_ns);
        }
    }
}
