//! Figures of lanes, collected lane by lane, so that no lane has to stay in memory.

use super::{
    Report,
    data::{DataGroups, EventGroups},
    figures::lane_runs,
    noc_events::LayoutEvidence,
    op::{Launch, Op, chip_launches, packed_chip_launches},
    packed_launches::PackedLaunches,
    packed_runs::ChipRuns,
    run_numbers::{NumberedLaunches, RunNumbers},
    summary::{LaneCounts, Summary},
    sums::SumTotals,
    sync::SyncNames,
    waits::WaitTotals,
    zones::Pairer,
};
use reader::{
    from_lanes::{FromLanes, LanesContext},
    lane::Lane,
    names::ZoneTable,
    packed_bytes::PackedMemory,
    readout::Readout,
    role::RoleTable,
};
use std::{collections::BTreeMap, sync::Arc};

/// Parts of a readout that the figures of a lane need: names and roles of zones, and chips.
#[derive(Debug)]
pub struct LaneContext<'readout> {
    names: &'readout ZoneTable,
    roles: RoleTable,
    sync: SyncNames,
    /// Index of each chip in the readout, by chip id.
    chips: BTreeMap<u32, usize>,
    memory: Arc<PackedMemory>,
}

impl<'readout> LanesContext<'readout> for LaneContext<'readout> {
    fn new(readout: &'readout Readout, memory: &Arc<PackedMemory>) -> Self {
        let chips = readout.devices.iter().enumerate();
        Self {
            names: &readout.zones,
            roles: RoleTable::from_names(&readout.zones),
            sync: SyncNames::from_names(&readout.zones),
            chips: chips.map(|(index, device)| (device.chip.chip_id, index)).collect(),
            memory: Arc::clone(memory),
        }
    }
}

/// Figures of one or more lanes, from which a [`Report`] is computed.
///
/// # Cost
/// Memory: 1 to 10 bytes for each zone, for exact percentiles; about 20 bytes for each launch of a
/// lane; the values of sum zones; and 8 bytes for each wait.
#[derive(Debug, Default)]
pub struct LaneFigures {
    counts: LaneCounts,
    pairer: Pairer,
    runs: LaneRuns,
    sums: SumTotals,
    waits: WaitTotals,
    data: DataGroups,
    events: EventGroups,
    layout: LayoutEvidence,
}

impl FromLanes for LaneFigures {
    type Context<'readout> = LaneContext<'readout>;

    /// Adds a lane, unless its chip is missing in the context.
    fn add(&mut self, context: &LaneContext<'_>, lane: &Lane) {
        let Some(&chip) = context.chips.get(&lane.id.chip_id) else { return };
        self.counts.add_lane(lane, &context.roles);
        self.pairer.add((chip, lane.id.risc), lane, (context.names, &context.memory));
        self.runs.add(context, lane);
        self.sums.add_lane(lane);
        self.waits.add_lane(lane, &context.sync);
        self.data.add_lane(lane);
        self.events.add_lane(lane);
        self.layout.add_lane(lane, context.names);
    }
}

impl Report {
    /// Computes all figures. Zones are paired lane by lane, and no timeline is kept.
    ///
    /// ```
    /// use analysis::Report;
    /// use recording::device_log::read_device_log;
    /// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
    /// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
    /// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
    /// 0,1,2,BRISC,8,110,0,1024,BRISC-KERNEL,ZONE_START
    /// 0,1,2,BRISC,8,150,0,1024,BRISC-KERNEL,ZONE_END
    /// 0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END
    /// ";
    /// let readout = read_device_log(log.as_bytes(), "my log")?;
    /// let report = Report::new(&readout);
    /// let op = report.ops.ops().next().unwrap();
    /// assert_eq!(op.kernel.unwrap().duration_cycles, 40);
    /// assert_eq!(report.zones[0].cycles.max_ns, Some(60));
    /// assert_eq!(report.summary.kept.zones, 2);
    /// # Ok::<(), recording::device_log::LogError>(())
    /// ```
    #[must_use]
    pub fn new(readout: &Readout) -> Self {
        let figures = LaneFigures::parts_of_readout(readout);
        Self::from_lanes(readout, figures, &PackedMemory::unlimited())
    }

    /// Computes all figures from the figures of all lanes, and stores ops in `memory`. `readout`
    /// need not contain its lanes.
    ///
    /// ```
    /// use analysis::{LaneFigures, Report};
    /// use reader::packed_bytes::PackedMemory;
    /// use recording::{OpenedLog, device_log::PackedLog};
    /// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
    /// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
    /// 0,1,2,BRISC,7,100,0,1024,LoadData,ZONE_START
    /// 0,1,2,BRISC,7,160,0,1024,LoadData,ZONE_END
    /// ";
    /// let log = OpenedLog::from(PackedLog::read(log.as_bytes(), "my log")?);
    /// let (recording, figures) = log.collect::<LaneFigures>()?;
    /// let report = Report::from_lanes(&recording.readout, figures, &PackedMemory::unlimited());
    /// assert_eq!(report.zones[0].cycles.total_cycles, 60);
    /// # Ok::<(), recording::device_log::LogError>(())
    /// ```
    #[must_use]
    pub fn from_lanes(
        readout: &Readout,
        figures: Vec<LaneFigures>,
        memory: &Arc<PackedMemory>,
    ) -> Self {
        let mut all = LaneFigures::default();
        let mut pairers = Vec::with_capacity(figures.len());
        for LaneFigures { counts, pairer, runs, sums, waits, data, events, layout } in figures {
            all.counts.merge(counts);
            pairers.push(pairer);
            all.runs.merge(runs);
            all.sums.merge(sums);
            all.waits.merge(waits);
            all.data.merge(data);
            all.events.merge(events);
            all.layout.merge(&layout);
        }
        let (zones, pairing) = Pairer::finish(pairers, readout);
        let summary = Summary::new(readout, &all.counts, &zones, &pairing);
        Self {
            summary: Summary { unread_noc_event_count: all.layout.unread_count(), ..summary },
            ops: all.runs.packed_launches(readout, (memory, None)),
            zones,
            sums: all.sums.statistics(readout),
            waits: all.waits.statistics(readout),
            data: all.data.statistics(&readout.zones),
            events: all.events.statistics(&readout.zones),
            probe_cost: None,
            pairing,
        }
    }
}

/// Computes the ops of all chips, sorted by chip and time.
///
/// Times of different cores are compared directly. So a readout whose tiles have different epochs
/// must first be aligned by its [`TileOrigins`](reader::origins::TileOrigins). A launch is computed
/// from the cores that have records of it.
#[must_use]
pub fn ops_of(readout: &Readout) -> Vec<Op> {
    launches_of(readout).into_iter().map(|launch| launch.op).collect()
}

/// Computes the ops of all chips with their runs, sorted by chip and time.
///
/// Every run with records belongs to exactly one launch, except for runs of dispatch kernels, which
/// belong to none.
#[must_use]
pub fn launches_of(readout: &Readout) -> Vec<Launch> {
    LaneRuns::from_parts(LaneRuns::parts_of_readout(readout)).launches(readout)
}

/// Runs of lanes, joined into launches once all lanes are added.
///
/// # Cost
/// Memory: less than 20 bytes for each launch of a lane.
#[derive(Debug, Default)]
pub struct LaneRuns(BTreeMap<u32, ChipRuns>);

impl FromLanes for LaneRuns {
    type Context<'readout> = LaneContext<'readout>;

    /// Adds a lane, unless its chip is missing in the context.
    fn add(&mut self, context: &LaneContext<'_>, lane: &Lane) {
        if !context.chips.contains_key(&lane.id.chip_id) {
            return;
        }
        let runs = self.0.entry(lane.id.chip_id).or_default();
        runs.add(lane.id, lane_runs(lane, &context.roles), &context.memory);
    }
}

impl LaneRuns {
    /// Merges the parts collected by all threads.
    #[must_use]
    pub fn from_parts(parts: Vec<Self>) -> Self {
        let mut all = Self::default();
        parts.into_iter().for_each(|part| all.merge(part));
        all
    }

    /// Adds the runs of `other`.
    pub fn merge(&mut self, other: Self) {
        for (chip_id, runs) in other.0 {
            self.0.entry(chip_id).or_default().merge(runs);
        }
    }

    /// Joins the runs into launches, like [`launches_of`](super::launches_of). Losses and hidden
    /// launches are read from `readout`, which needs no lanes.
    ///
    /// ```
    /// use analysis::LaneRuns;
    /// use reader::from_lanes::FromLanes;
    /// use recording::device_log::read_device_log;
    /// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
    /// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
    /// 0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
    /// 0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
    /// ";
    /// let readout = read_device_log(log.as_bytes(), "my log")?;
    /// let runs = LaneRuns::from_parts(LaneRuns::parts_of_readout(&readout));
    /// assert_eq!(runs.launches(&readout)[0].op.kernel.unwrap().duration_cycles, 60);
    /// # Ok::<(), recording::device_log::LogError>(())
    /// ```
    #[must_use]
    pub fn launches(self, readout: &Readout) -> Vec<Launch> {
        let mut runs_by_chip = self.0;
        let launches = readout.devices.iter().flat_map(|device| {
            let runs = runs_by_chip.remove(&device.chip.chip_id).unwrap_or_default();
            chip_launches(runs, &device.chip, readout)
        });
        launches.collect()
    }

    /// Joins the runs into launches, and stores for each run the index of its launch. The launches
    /// do not list their runs. Launches and indices are stored in `memory`.
    ///
    /// ```
    /// use analysis::{LaneRuns, NumberedLaunches};
    /// use reader::{from_lanes::FromLanes, packed_bytes::PackedMemory};
    /// use recording::device_log::read_device_log;
    /// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
    /// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
    /// 0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
    /// 0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
    /// ";
    /// let readout = read_device_log(log.as_bytes(), "my log")?;
    /// let runs = LaneRuns::from_parts(LaneRuns::parts_of_readout(&readout));
    /// let memory = PackedMemory::unlimited();
    /// let NumberedLaunches { launches, numbers } = runs.numbered_launches(&readout, &memory);
    /// let lane = readout.lanes().next().unwrap().id;
    /// let mut found = Vec::new();
    /// numbers.for_each_run(lane, |run, launch| found.push((run, launch)))?;
    /// assert_eq!((launches.len(), found), (1, vec![(0, 0)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn numbered_launches(
        self,
        readout: &Readout,
        memory: &Arc<PackedMemory>,
    ) -> NumberedLaunches {
        let mut numbers = RunNumbers::new(memory);
        let launches = self.packed_launches(readout, (memory, Some(&mut numbers)));
        NumberedLaunches { launches, numbers }
    }

    fn packed_launches(
        mut self,
        readout: &Readout,
        (memory, mut numbers): (&Arc<PackedMemory>, Option<&mut RunNumbers>),
    ) -> PackedLaunches {
        let chips = readout.devices.iter().map(|device| {
            let runs = self.0.remove(&device.chip.chip_id).unwrap_or_default();
            let kept = (memory, numbers.as_deref_mut());
            packed_chip_launches(runs, &device.chip, readout, kept)
        });
        PackedLaunches::new(chips.collect(), memory)
    }
}
