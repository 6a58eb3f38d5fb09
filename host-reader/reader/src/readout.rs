//! Result of one read of a mesh, or of one log: lanes, losses, anomalies and names.

use crate::{
    anomaly::AnomalyLog,
    lane::Lane,
    ledger::{LossLedger, UncountedSource},
    mesh::Noc0Coord,
    names::ZoneTable,
    probe_cost::ProbeCosts,
    read::Watermarks,
    recorded_options::RecordedOptions,
    simulated_time::SimulatedTime,
};
use std::collections::{BTreeMap, BTreeSet};

/// Chip properties that reports show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipSummary {
    /// Number of the chip.
    pub chip_id: u32,
    /// Lower-case name of the architecture.
    pub arch: String,
    /// Clock frequency of the tiles, in MHz; 0 if unknown.
    pub aiclk_mhz: u32,
    /// Number of worker cores, if known.
    pub max_compute_cores: Option<u32>,
    /// Map from row numbers in translated coordinates to rows of the worker grid (Wormhole), or
    /// from column numbers to columns (Blackhole).
    ///
    /// Rows and columns of the worker grid are counted from 0. Translated numbers that do not
    /// appear in the host's files are missing.
    pub known_lines: BTreeMap<u16, u16>,
}

/// Results of a read for one chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceReadout {
    /// The chip.
    pub chip: ChipSummary,
    /// Records, ordered by core x, core y and RISC. Lanes without records are left out.
    pub lanes: Vec<Lane>,
    /// Number of finished runs that are not yet pushed; the next launch pushes them.
    pub pending_runs: u64,
    /// Number of launches that the firmware discarded because a core ran no kernel.
    pub discarded_launches: u64,
}

impl DeviceReadout {
    /// Adds a lane. If the readout already has a lane with this id, appends the records to that
    /// lane.
    pub(crate) fn add_lane(&mut self, lane: Lane) {
        match self.lanes.binary_search_by_key(&lane.id, |lane| lane.id) {
            Ok(index) => {
                if let Some(earlier) = self.lanes.get_mut(index) {
                    earlier.append(lane);
                }
            }
            Err(index) => self.lanes.insert(index, lane),
        }
    }

    fn append(&mut self, later: Self) {
        later.lanes.into_iter().for_each(|lane| self.add_lane(lane));
        self.pending_runs = later.pending_runs;
        self.discarded_launches = self.discarded_launches.saturating_add(later.discarded_launches);
    }
}

/// A launch that was removed from a readout because the user did not select it, or because it is the
/// profiler's own. Its times are on the reference clock of its chip.
///
/// Reports must not count the time of this launch as idle time between ops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenLaunch {
    /// Number of the chip.
    pub chip_id: u32,
    /// True if it is a launch of the profiler itself, which no user selects.
    pub is_of_profiler: bool,
    /// Cores of the launch.
    pub cores: BTreeSet<Noc0Coord>,
    /// Time of the launch's earliest record.
    pub first_cycle: u64,
    /// Time of the launch's latest record.
    pub last_cycle: u64,
}

/// Time of a chip in which a log that was joined from several logs goes from one to another: between
/// both, or in which both have records.
///
/// The logs are of different runs, so no time is known between their launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSeam {
    /// Number of the chip.
    pub chip_id: u32,
    /// Cycle of the last record before, or of the first one in both.
    pub first_cycle: u64,
    /// Cycle of the first record after, or of the last one in both.
    pub last_cycle: u64,
}

/// The result of one read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readout {
    /// Chips, in the order of the mesh.
    pub devices: Vec<DeviceReadout>,
    /// Names of the zones in the lanes.
    pub zones: ZoneTable,
    /// Launches that were removed because the user did not select them.
    pub hidden: Vec<HiddenLaunch>,
    /// Where logs of different runs meet; empty but for joined logs.
    pub seams: Vec<LogSeam>,
    /// Records that are lost, or that could not be read yet.
    pub losses: LossLedger,
    /// Anomalies and repairs.
    pub anomalies: AnomalyLog,
    /// Fill levels of the lanes at the time of the read. For several reads, the maxima. Empty for
    /// logs.
    pub watermarks: Watermarks,
    /// Number of words read from the device, including control vectors; 0 for logs.
    pub words_read: u64,
    /// Costs of the probes on this mesh, if measured.
    pub probe_costs: ProbeCosts,
    /// Statement that the times are simulated; `None` if they come from chips, or if it is unknown
    /// where they come from.
    pub simulated: Option<SimulatedTime>,
    /// Options of the profiler with which the recording was made; unknown options are missing.
    pub options: RecordedOptions,
}

impl Readout {
    /// Returns the number of records in all lanes.
    #[must_use]
    pub fn record_count(&self) -> usize {
        self.lanes().map(Lane::record_count).sum()
    }

    /// Appends a later readout of the same mesh to this readout.
    ///
    /// Both readouts must be reads of chips, because only their zone indices are marker ids, which
    /// are the same in all readouts. Logs cannot be appended, because each log has its own zone
    /// indices.
    ///
    /// ```
    /// use reader::{lane::*, mesh::Noc0Coord, readout::*};
    /// use wire::{PacketKind, Risc};
    /// let chip = ChipSummary { chip_id: 0, arch: "x".into(), aiclk_mhz: 1, max_compute_cores: None, known_lines: [].into() };
    /// let read = |time| {
    ///     let id = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
    ///     let mut lane = Lane::new(id);
    ///     lane.push(RecordHead::new(PacketKind::TimestampedEvent, ZoneIndex(7)), time, &[]);
    ///     let lanes = vec![lane];
    ///     let device =
    ///         DeviceReadout { chip: chip.clone(), lanes, pending_runs: 0, discarded_launches: 0 };
    ///     Readout { devices: vec![device], ..Readout::default() }
    /// };
    /// let mut both = read(10);
    /// both.append(read(20));
    /// assert_eq!(both.devices[0].lanes[0].times, [10, 20]);
    /// ```
    pub fn append(&mut self, later: Self) {
        for device in later.devices {
            let id = device.chip.chip_id;
            match self.devices.iter_mut().find(|device| device.chip.chip_id == id) {
                Some(earlier) => earlier.append(device),
                None => self.devices.push(device),
            }
        }
        self.zones.merge(&later.zones);
        self.hidden.extend(later.hidden);
        self.seams.extend(later.seams);
        self.losses.append_read(&later.losses);
        self.anomalies.merge(later.anomalies);
        self.watermarks.merge(later.watermarks);
        self.words_read = self.words_read.saturating_add(later.words_read);
        self.probe_costs.merge(later.probe_costs);
        self.add_simulated(later.simulated);
        self.options.merge(later.options);
    }

    /// Adds the statement of another part of the same recording that its times are simulated.
    pub fn add_simulated(&mut self, simulated: Option<SimulatedTime>) {
        if let Some(simulated) = simulated {
            self.simulated.get_or_insert_default().merge(simulated);
        }
    }

    /// Adds options of the profiler. Kernels that ran without profiling have recorded nothing, so what
    /// they would have recorded is unknown.
    ///
    /// ```
    /// use reader::{ledger::UncountedSource, readout::Readout, recorded_options::RecordedOptions};
    /// let mut readout = Readout::default();
    /// readout.add_options(RecordedOptions::from_pairs([("waits", "totals")]));
    /// assert_eq!(readout.losses.uncounted().count(), 0);
    /// let kernel = (RecordedOptions::UNPROFILED, "k.cpp: error: a conflict");
    /// readout.add_options(RecordedOptions::from_pairs([kernel]));
    /// assert_eq!(readout.losses.uncounted().next(), Some(UncountedSource::UnprofiledKernel));
    /// assert_eq!(readout.options.value("waits"), Some("totals"));
    /// ```
    pub fn add_options(&mut self, options: RecordedOptions) {
        if options.values(RecordedOptions::UNPROFILED).next().is_some() {
            self.losses.note_uncounted(UncountedSource::UnprofiledKernel);
        }
        self.options.merge(options);
    }

    /// Iterates over all lanes of all chips.
    pub fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.devices.iter().flat_map(|device| &device.lanes)
    }
}
