//! Reading from a device: control vectors, lanes and acknowledgements.
//!
//! | question | file |
//! |---|---|
//! | which options does a read have? why does it fail? | `options` |
//! | which cores answer, and in which format generation? | `prepare` |
//! | what does a control vector contain, and in which format generation? | `control` |
//! | which words of a core are unread? | `plan` |
//! | how are these words read in few transactions? | `dram` |
//! | which losses do a core's counters show? | `counters` |
//! | which words of a core did earlier reads return? | `memory` |
//! | which runs still wait in L1? | `pending` |
//! | which records in L1 belong to a launch that has not ended? | `unpushed` |
//! | how does the device learn what was read? | `acknowledge` |
//! | how is TT-Metal's debug dump read, with two buffers per lane? | `two_buffers` |
//! | how are streaming cores read? | `rings` |
//! | which launches may have lost the records that a streaming RISC counts? | `open_launches` |
//! | how do streamed records reach a consumer while their launches still run? | `live` |
//! | how are the frames of relays read, also after a relay has ended? | `relays` |
//! | how full are the lanes? | `watermark` |
//! | how is a mesh read from a separate thread? | `periodic` |
//!
//! # Order of a read
//!
//! 1. Streaming cores that are known from earlier reads are read. Then the control vectors of all
//!    other selected cores are read.
//! 2. The unread words of the cores' DRAM lanes are read; neighbouring lanes are read in one piece.
//!    The last read also reads the L1 vectors of cores on which a launch has not ended.
//! 3. The read is acknowledged, except with [`ReadOptions::read_only`]. The host writes the number
//!    of launches that were read to cores that run this project's runtime. At the next launch, such
//!    a core resets its lanes to empty, unless another launch has finished in the meantime. A push
//!    that races with the read is therefore neither lost nor read twice. The control vectors of
//!    TT-Metal's runtime are reset. Before the reset of a control vector, the host reads it again,
//!    and also reads the words that were pushed in the meantime. In TT-Metal's debug dump, waiting
//!    RISCs get their other buffer.
//! 4. The words are decoded, on all processors if there are many words.
//!
//! Control words are not trusted. Each word is checked against the size of the memory before
//! anything is read or allocated. A core that cannot be read does not affect the other cores.

mod acknowledge;
mod control;
mod counters;
mod dram;
mod live;
mod memory;
mod open_launches;
mod options;
mod pending;
mod periodic;
mod plan;
mod prepare;
mod relays;
mod rings;
mod session;
#[cfg(test)]
mod tests;
mod two_buffers;
mod unpushed;
mod watermark;

pub use crate::watermark::{LaneWatermark, Watermarks};
pub use live::{Backpressure, LiveRead, LiveReader};
pub use options::{GenerationChoice, ReadError, ReadOptions};
pub use periodic::PeriodicThread;
pub use watermark::Look;

use crate::{
    anomaly::AnomalyKind,
    decode::{CaptureMode, LaneContext, LaneState, UndecodedLane},
    lane::{Lane, LaneId},
    ledger::LossTotals,
    mesh::Mesh,
    readout::{ChipSummary, DeviceReadout, Readout},
};
use memory::CoreMemory;
use plan::{CoreRead, LaneRead};
use prepare::CoreId;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use relays::Relays;
use rings::{Rings, SweptCores};
use session::Session;
use std::collections::BTreeMap;
use watermark::Fill;
use wire::{Generation, dram::DramGeometry};

/// Reads all recorded data of a mesh that no host has read yet.
///
/// # Errors
/// If there is no core to read, no core answers, or the control vectors have no known format.
/// Smaller problems are [anomalies](Readout::anomalies), and missing data is in the
/// [ledger](Readout::losses).
///
/// # Launches that have not ended
/// The records of a running launch stay in L1, and a later read finds them. If a kernel hangs, no
/// later read does: read with [`ReadOptions::last_read`], which also reads the L1 vectors of these
/// cores. Their runs are [unfinished](crate::lane::Run::is_unfinished).
///
/// # Cost
/// Each core's control vector is read once. Apart from that, only pushed words are read.
///
/// ```
/// use reader::{init_device_profiler, read_device_profiler, ProfilerOptions};
/// use reader::mesh::*;
/// use wire::{PacketKind, RunHostId};
///
/// // One core whose memory lies in a vector; see `reader::mesh` for other back ends.
/// let noc0 = Noc0Coord { x: 1, y: 1 };
/// let chip = DeviceDescription {
///     chip_id: 0,
///     arch: "wormhole_b0".into(),
///     aiclk_mhz: 1000,
///     max_compute_cores: 1,
///     cores: vec![CoreDescription {
///         noc0,
///         logical: LogicalCoord { x: 0, y: 0 },
///         kind: wire::CoreKind::Tensix,
///         flat_id: 0,
///         control_address: 0,
///         vector_address: 256,
///     }],
///     dram: DramDescription { bank_count: 1, region_address: 64, region_bytes: 240_000 },
/// };
/// let mut mesh = MeshImage { devices: vec![DeviceImage::new(chip)] };
/// init_device_profiler(&mut mesh, &ProfilerOptions::default())?;
///
/// // What a kernel would have left behind: one run of program 3 on BRISC.
/// let run = [
///     0, 0, 0, 3,
///     0x8FC0_D001, 0x1000, 0x9FC0_D001, 0x1700,
///     0x8E42_7001, 0x1100, 0x9E42_7001, 0x1600,
/// ];
/// mesh.devices[0].write_dram(0, 64, &run)?;
/// mesh.devices[0].write_l1(noc0, 0, &[12])?;
///
/// let readout = read_device_profiler(&mut mesh)?;
/// let lane = &readout.devices[0].lanes[0];
/// assert_eq!(lane.runs[0].program, RunHostId::encode(3, 0));
/// assert_eq!(lane.records().next().unwrap().kind, PacketKind::ZoneStart);
/// assert!(readout.losses.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_device_profiler<M: Mesh + ?Sized>(mesh: &mut M) -> Result<Readout, ReadError> {
    read_device_profiler_with(mesh, &ReadOptions::default())
}

/// Reads like [`read_device_profiler`], but with options.
///
/// # Errors
/// The same as for [`read_device_profiler`]. In addition, invalid options are an error.
pub fn read_device_profiler_with<M: Mesh + ?Sized>(
    mesh: &mut M,
    options: &ReadOptions,
) -> Result<Readout, ReadError> {
    Reader::new(options.clone()).read(mesh)
}

/// Reader for repeated reads of a mesh. It stores the time of the last record of each lane.
///
/// Times therefore keep increasing if a stamp wraps between two reads, and words from an earlier
/// read are recognized. If a launch began in an earlier read,
/// [`Lane::goes_on`](crate::lane::Lane::goes_on) marks the remaining records; no record is
/// repeated.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    options: ReadOptions,
    lanes: BTreeMap<LaneId, LaneMemory>,
    cores: BTreeMap<CoreId, CoreMemory>,
    /// Lanes that could not be read yet, with lower bounds of the numbers of records in them.
    unread: BTreeMap<LaneId, LossTotals>,
    rings: Rings,
    relays: Relays,
    /// Vectors of the last read, whose memory is reused for the words of the next read.
    spare: Vec<Vec<u32>>,
}

/// State of a lane between two reads.
#[derive(Clone, Debug, Default)]
struct LaneMemory {
    decode: LaneState,
    fill: Fill,
}

impl Reader {
    /// Creates a reader that has not read anything yet.
    #[must_use]
    pub fn new(options: ReadOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Returns the options of the next read.
    pub const fn options_mut(&mut self) -> &mut ReadOptions {
        &mut self.options
    }

    /// Reads all data recorded since the last read.
    ///
    /// # Errors
    /// The same as for [`read_device_profiler_with`].
    pub fn read<M: Mesh + ?Sized>(&mut self, mesh: &mut M) -> Result<Readout, ReadError> {
        self.options.check()?;
        let options = self.options.clone();
        let geometries = prepare::geometries(mesh, &options)?;
        let mut readout = Readout { zones: options.zones.clone(), ..Readout::default() };
        let mut failures = Vec::new();
        for (index, geometry) in geometries {
            let Some(device) = mesh.device(index) else { continue };
            let mut session = Session::new(device, &options);
            session.unread = std::mem::take(&mut self.unread);
            match self.read_device(&mut session, &geometry) {
                Ok(device) => readout.devices.push(device),
                Err(error) => failures.push(error),
            }
            self.unread = session.unread;
            readout.anomalies.merge(session.anomalies);
            readout.losses.merge(&session.losses);
            readout.watermarks.merge(session.watermarks);
            readout.words_read = readout.words_read.saturating_add(session.words_read);
        }
        if readout.devices.is_empty() {
            return Err(failures.into_iter().next().unwrap_or(ReadError::NothingToRead));
        }
        for error in failures {
            readout.anomalies.record(AnomalyKind::UnreadableCore, None, 0, || error.to_string());
        }
        for (&lane, &totals) in &self.unread {
            readout.losses.add_unread(lane, totals, self.last_time_of(lane));
        }
        Ok(readout)
    }

    /// Adds the streamed records of launches that had not ended at the last read.
    ///
    /// Reads return the records of a launch when it has ended; only a read with
    /// [`ReadOptions::last_read`] also returns the records of running launches. Use this method if
    /// a read with that option is not possible: the chip no longer answers, or the words come from
    /// a recording that was cut off. Records of chips that are not in `readout` are left out.
    pub fn add_running_launches(&mut self, readout: &mut Readout) {
        self.rings.uncounted().for_each(|source| readout.losses.note_uncounted(source));
        for lane in self.rings.take_running_launches() {
            let chip_id = lane.id.chip_id;
            let device = readout.devices.iter_mut().find(|device| device.chip.chip_id == chip_id);
            if let Some(device) = device {
                device.add_lane(lane);
            }
        }
    }

    /// Returns the losses that streaming RISCs had counted before this reader's first read. Only
    /// RISCs whose rings another reader had read before are included.
    ///
    /// These losses are not in the ledger of any read, because the other reader may have reported
    /// them. Skipped cells are counted as markers of unknown kind.
    #[must_use]
    pub const fn earlier_losses(&self) -> LossTotals {
        self.rings.earlier_losses()
    }

    /// Returns the fill levels of the lanes, without reading any marker.
    ///
    /// # Errors
    /// The same as for [`read_device_profiler_with`].
    ///
    /// # Cost
    /// One read of each core's control vector.
    pub fn look<M: Mesh + ?Sized>(&mut self, mesh: &mut M) -> Result<Look, ReadError> {
        self.options.check()?;
        let options = self.options.clone();
        let geometries = prepare::geometries(mesh, &options)?;
        let (mut whole, mut failure) = (None::<Look>, None);
        for (index, geometry) in geometries {
            let Some(device) = mesh.device(index) else { continue };
            let mut session = Session::new(device, &options);
            let none = prepare::KnownVectors::new();
            match self.plan(&mut session, &geometry, (prepare::Care::Quick, &none)) {
                Ok(planned) => self.look_at_cores(&mut session, &planned.cores),
                Err(error) => {
                    let text = error.to_string();
                    session.note(AnomalyKind::UnreadableCore, None, 0, || text);
                    failure.get_or_insert(error);
                    continue;
                }
            }
            whole.get_or_insert_default().add(session);
        }
        whole.ok_or_else(|| failure.unwrap_or(ReadError::NothingToRead))
    }

    /// Returns true if, without a read, markers may be lost within the next `launches` launches.
    ///
    /// The result is an estimate from the launches so far.
    ///
    /// If a host calls this method before each launch, and reads whenever the result is true, no
    /// marker is lost for lack of room in DRAM. The condition is that no launch needs more room
    /// than the largest earlier launch plus one L1 vector.
    ///
    /// # Errors
    /// The same as for [`Reader::look`].
    ///
    /// # Cost
    /// The same as for [`Reader::look`].
    pub fn about_to_overflow<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
        launches: u32,
    ) -> Result<bool, ReadError> {
        Ok(self.look(mesh)?.watermarks.about_to_overflow(launches))
    }

    fn look_at_cores(&mut self, session: &mut Session<'_>, cores: &[CoreRead]) {
        let mode = session.options.mode;
        session.watermarks = watermark::core_watermarks(cores, mode, |id| self.fill(id));
        if mode == CaptureMode::Accumulate {
            return; // Only a read can count the launches in a push.
        }
        for mark in session.watermarks.lanes_mut() {
            self.lanes.entry(mark.lane).or_default().fill.look(mark);
        }
    }

    fn plan(
        &self,
        session: &mut Session<'_>,
        geometry: &DramGeometry,
        read: (prepare::Care, &prepare::KnownVectors),
    ) -> Result<prepare::Planned, ReadError> {
        prepare::plan(session, geometry, read, |core| self.cores.get(&core).copied())
    }

    fn fill(&self, id: LaneId) -> Fill {
        self.lanes.get(&id).map(|memory| memory.fill).unwrap_or_default()
    }

    fn read_device(
        &mut self,
        session: &mut Session<'_>,
        geometry: &DramGeometry,
    ) -> Result<DeviceReadout, ReadError> {
        let has_relays = self.relays.has_gatherers(session.device.description().chip_id);
        let mut swept = if has_relays { SweptCores::default() } else { self.rings.sweep(session) };
        let planned = self.plan(session, geometry, (prepare::Care::Whole, &swept.vectors))?;
        let prepare::Planned { chip, generation, mut cores, streams, relays } = planned;
        let mode = session.options.mode;
        session.watermarks = watermark::core_watermarks(&cores, mode, |id| self.fill(id));
        let mut pieces = dram::read_lanes(session, &mut cores, &mut self.spare);
        for core in &mut cores {
            two_buffers::clear_addresses(core, &generation, &pieces);
            self.finish_core(session, core, &generation, &pieces);
        }
        let waits = |core: &CoreRead, lane: &LaneRead| {
            lane.pending.is_none()
                && lane.unpushed.is_none()
                && pending::is_pending(core, lane.risc_index, mode)
        };
        let waiting = |core: &CoreRead| core.lanes.iter().filter(|lane| waits(core, lane)).count();
        let chip = ChipSummary {
            chip_id: chip.chip_id,
            arch: chip.arch,
            aiclk_mhz: chip.aiclk_mhz,
            max_compute_cores: Some(chip.max_compute_cores),
            known_lines: [].into(),
        };
        let undecoded = self.undecoded(session, &cores, &generation, &pieces);
        let mut lanes = self.decode(session, undecoded);
        let relayed = self.relays.read(session, &relays, &mut self.rings);
        let mut discarded_launches: u64 =
            cores.iter().map(|core| u64::from(core.idle_launches)).sum();
        for core in &streams {
            let is_relayed = relayed.contains(&core.core.noc0);
            let swept = swept.streamed.remove(&core.core.noc0);
            let (streamed, idle_launches) =
                swept.unwrap_or_else(|| self.rings.read(session, core, is_relayed));
            lanes.extend(streamed);
            discarded_launches = discarded_launches.saturating_add(idle_launches.into());
        }
        lanes.sort_by_key(|lane| lane.id);
        if mode == CaptureMode::Accumulate {
            self.count_accumulated(session, &cores, &lanes);
        }
        pieces.extend(cores.iter_mut().flat_map(CoreRead::take_own_words));
        // The first piece of the next read is probably as large as the first piece of this read.
        pieces.reverse();
        self.spare = pieces;
        Ok(DeviceReadout {
            chip,
            pending_runs: cores.iter().map(waiting).sum::<usize>() as u64,
            discarded_launches,
            lanes,
        })
    }

    /// Reads a core's loss counters and the runs that wait in L1, and acknowledges the read.
    fn finish_core(
        &mut self,
        session: &mut Session<'_>,
        core: &mut CoreRead,
        generation: &Generation,
        pieces: &[Vec<u32>],
    ) {
        counters::record(session, core);
        // In trace-only mode, a replay is pushed when the next replay begins, so the last replay is
        // never pushed. In accumulate mode, launches are pushed when enough launches have
        // accumulated.
        let mode = session.options.mode;
        if core.control.is_ours() && mode.keeps_in_l1() && session.options.last_read {
            pending::read_runs(session, core, generation, pieces);
            if mode == CaptureMode::Accumulate && !session.options.read_only {
                pending::take_accumulated(session, core);
            }
        }
        if session.options.last_read {
            unpushed::read_launch(session, core, generation);
        }
        if core.control.is_ours() {
            let tells = !session.options.read_only;
            let acknowledged = tells.then(|| acknowledge::acknowledge(session, core)).flatten();
            let id = (session.device.description().chip_id, core.core.noc0);
            self.cores.insert(id, core.memory.after_read(core, acknowledged));
        } else {
            if session.options.last_read {
                pending::read_runs(session, core, generation, pieces);
            }
            if session.options.read_only {
                // Nothing is acknowledged, so the words of this core stay unread on the device.
            } else if core.two_buffers.is_some() {
                two_buffers::hand_over(session, core);
            } else {
                acknowledge::reset(session, core, pieces);
            }
        }
        acknowledge::report_dropped(session, core);
        let is_dated = |lane: &LaneRead| has_words(lane, pieces) || lane.is_unreadable();
        if core.lanes.iter().any(is_dated) {
            core.read_at = session.device.read_wall_clock(core.core.noc0).ok();
        }
        self.forget_time_before_reset(core);
        session.lose_unreadable(core, |lane| self.last_time_of(lane));
        self.remember_fill(session, core);
    }

    fn remember_fill(&mut self, session: &mut Session<'_>, core: &CoreRead) {
        watermark::add_time(&mut session.watermarks, core, |id| self.fill(id));
        for lane in &core.lanes {
            let mark = session.watermarks.lane(lane.id);
            // In accumulate mode, launches are counted after decoding, in `count_accumulated`.
            let mark = mark.filter(|_| session.options.mode != CaptureMode::Accumulate);
            let words_per_launch = mark.map_or(0, |mark| mark.words_per_launch);
            let fill = &mut self.lanes.entry(lane.id).or_default().fill;
            fill.read(core, words_per_launch);
        }
    }

    /// Replaces the number of pushes in the watermarks by the number of launches, for accumulate
    /// mode.
    fn count_accumulated(&mut self, session: &mut Session<'_>, cores: &[CoreRead], lanes: &[Lane]) {
        let (marks, zones) = (&mut session.watermarks, &session.options.zones);
        for (id, words_per_launch) in watermark::count_accumulated(marks, cores, lanes, zones) {
            let known = self.lanes.entry(id).or_default().fill.count(words_per_launch);
            if let Some(mark) = marks.lane_mut(id) {
                mark.words_per_launch = known;
            }
        }
    }

    /// Returns the input of the decoder for each lane with new words or losses: the words, the
    /// format, and the decoder's state after the previous read.
    fn undecoded<'words>(
        &self,
        session: &Session<'_>,
        cores: &'words [CoreRead],
        generation: &Generation,
        pieces: &'words [Vec<u32>],
    ) -> Vec<UndecodedLane<'words>> {
        let mut undecoded = Vec::new();
        for core in cores {
            let has_news = |lane: &&LaneRead| has_words(lane, pieces) || !lane.loss.is_none();
            for lane in core.lanes.iter().filter(has_news) {
                let context = context_of(session, core, lane, *generation);
                let state = self.state_of(lane.id);
                let mut words = vec![(lane.begin.into(), lane.words(pieces))];
                let run = lane.pending.as_deref().filter(|run| !run.is_empty());
                words.extend(run.map(|run| (lane.end.end.into(), run)));
                let unpushed = lane.unpushed.as_ref().map(|unpushed| unpushed.behind(lane));
                undecoded.push(UndecodedLane {
                    context,
                    state,
                    pieces: words,
                    unpushed,
                    loss: lane.loss,
                });
            }
        }
        undecoded
    }

    fn decode(
        &mut self,
        session: &mut Session<'_>,
        undecoded: Vec<UndecodedLane<'_>>,
    ) -> Vec<Lane> {
        let decode = |lane: UndecodedLane<'_>| {
            let memory = Lane::new(lane.context.lane);
            lane.decode(memory)
        };
        let decoded: Vec<_> = if UndecodedLane::are_many_words(&undecoded) {
            undecoded.into_par_iter().map(decode).collect()
        } else {
            undecoded.into_iter().map(decode).collect()
        };
        let mut lanes = Vec::new();
        for (decoded, state) in decoded {
            self.lanes.entry(decoded.lane.id).or_default().decode = state;
            session.anomalies.merge(decoded.anomalies);
            session.losses.merge(&decoded.losses);
            if decoded.lane.record_count() > 0 {
                lanes.push(decoded.lane);
            }
        }
        lanes.sort_by_key(|lane| lane.id);
        lanes
    }

    /// Resets the decoder's state for the lanes of a tile whose clock has restarted.
    fn forget_time_before_reset(&mut self, core: &CoreRead) {
        let Some(now) = core.read_at else { return };
        for lane in &core.lanes {
            if let Some(memory) = self.lanes.get_mut(&lane.id)
                && now < memory.decode.last_time()
            {
                memory.decode = LaneState::default();
            }
        }
    }

    fn state_of(&self, id: LaneId) -> LaneState {
        self.lanes.get(&id).map(|memory| memory.decode.clone()).unwrap_or_default()
    }

    /// Returns the time of the last record that was read from a lane.
    fn last_time_of(&self, id: LaneId) -> Option<u64> {
        let decoded = self.lanes.get(&id).map(|memory| memory.decode.last_time());
        decoded.filter(|&time| time > 0).or_else(|| self.rings.last_time_of(id))
    }
}

fn context_of(
    session: &Session<'_>,
    core: &CoreRead,
    lane: &LaneRead,
    generation: Generation,
) -> LaneContext {
    LaneContext {
        lane: lane.id,
        risc_index: u32::try_from(lane.risc_index).unwrap_or(0),
        flat_id: core.core.flat_id,
        generation,
        lane_generation: core.control.lane_generation(),
        mode: session.options.mode,
        host_ids: session.options.host_ids,
        read_at: core.read_at,
    }
}

fn has_words(lane: &LaneRead, pieces: &[Vec<u32>]) -> bool {
    !lane.words(pieces).is_empty()
        || lane.pending.as_ref().is_some_and(|run| !run.is_empty())
        || lane.unpushed.is_some()
}
