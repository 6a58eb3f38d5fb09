//! A device log after reading, and the unpacking of its lanes.

use super::{
    error::LogError,
    packed::{ChunkNumbers, PackedLane},
    read::read_packed,
    row::LaunchKey,
    runs::{PlaceRoles, RepairedLabels, SplitRuns, split_runs},
};
use crate::problem::counted;
use rayon::prelude::*;
use reader::{
    anomaly::{AnomalyKind, AnomalyLog},
    from_lanes::fold_lanes,
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    packed_bytes::{PackedError, PackedMemory},
    readout::Readout,
};
use std::{borrow::Borrow, collections::BTreeSet, fs::File, io::Read, path::Path, sync::Arc};
use wire::ZoneId;

/// A device log with packed records of a few bytes each.
///
/// [`Self::into_readout`] returns all records at once. [`PackedLanes::unpack`] unpacks lane by
/// lane, with little memory.
///
/// ```
/// use recording::device_log::PackedLog;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
/// 0,1,2,NCRISC,8,100,0,1024,NCRISC-FW,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END
/// ";
/// let mut log = PackedLog::read(log.as_bytes(), "my log")?;
/// let (counts, anomalies) = log.lanes.unpack(|count: &mut usize, lane| {
///     *count += lane.record_count();
/// })?;
/// assert_eq!(counts.into_iter().sum::<usize>(), 3);
/// assert!(anomalies.is_empty());
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[derive(Debug)]
pub struct PackedLog {
    /// Everything except the lanes and the anomalies found by unpacking.
    pub readout: Readout,
    /// Packed lanes.
    pub lanes: PackedLanes,
}

impl PackedLog {
    /// Reads a device log from a stream; `file` is the name of the log in messages.
    ///
    /// # Errors
    /// The errors of [`read_device_log`](crate::device_log::read_device_log).
    pub fn read(input: impl Read, file: &str) -> Result<Self, LogError> {
        Self::read_within(input, file, &PackedMemory::unlimited())
    }

    /// Reads a device log from a stream. If the records exceed the limit of `memory`, they are
    /// written to the temporary file of `memory`.
    ///
    /// # Errors
    /// The errors of [`Self::read`]; also if the temporary file cannot be written.
    pub fn read_within(
        input: impl Read,
        file: &str,
        memory: &Arc<PackedMemory>,
    ) -> Result<Self, LogError> {
        read_packed(input, file, memory)
    }

    /// Reads a device log from a file.
    ///
    /// # Errors
    /// The errors of [`read_device_log_file`](crate::device_log::read_device_log_file).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LogError> {
        Self::open_within(path, &PackedMemory::unlimited())
    }

    /// Reads a device log from a file, with the memory limit of [`Self::read_within`].
    ///
    /// # Errors
    /// The errors of [`Self::open`]; also if the temporary file cannot be written.
    pub fn open_within(
        path: impl AsRef<Path>,
        memory: &Arc<PackedMemory>,
    ) -> Result<Self, LogError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        match File::open(path) {
            Ok(input) => Self::read_within(input, &file, memory),
            Err(source) => Err(LogError::Io { file, action: "open", source }),
        }
    }

    /// Unpacks all lanes.
    ///
    /// # Errors
    /// If records cannot be read back from the temporary file.
    pub fn into_readout(self) -> Result<Readout, PackedError> {
        let Self { mut readout, mut lanes } = self;
        let (lanes, anomalies) = lanes.unpack(|lanes: &mut Vec<Lane>, lane| lanes.push(lane))?;
        let mut lanes: Vec<_> = lanes.into_iter().flatten().collect();
        lanes.sort_by_key(|lane| lane.id);
        let mut lanes = lanes.into_iter().peekable();
        for device in &mut readout.devices {
            let chip_id = device.chip.chip_id;
            while let Some(lane) = lanes.next_if(|lane| lane.id.chip_id == chip_id) {
                device.lanes.push(lane);
            }
        }
        readout.anomalies.merge(anomalies);
        Ok(readout)
    }
}

/// The lanes of a log, packed.
#[derive(Debug)]
pub struct PackedLanes {
    /// Lanes, ordered by id.
    pub(super) lanes: Vec<PackedLane>,
    pub(super) numbers: LogNumbers,
    /// Anomalies that are reported after the anomalies found by unpacking.
    pub(super) late: AnomalyLog,
    pub(super) memory: Arc<PackedMemory>,
}

/// Tables that translate the numbers in packed records: numbers of launches and of source
/// locations.
#[derive(Debug)]
pub(super) struct LogNumbers {
    pub(super) chunks: Vec<ChunkNumbers>,
    /// Keys of launches, by number.
    pub(super) keys: Vec<LaunchKey>,
    /// True for each source location of a firmware zone.
    pub(super) is_firmware: Vec<bool>,
    /// True for each source location of a kernel zone.
    pub(super) is_kernel: Vec<bool>,
    /// True for each source location of readings of hardware counters.
    pub(super) is_reading: Vec<bool>,
    /// Marker ids of all records.
    pub(super) marker_ids: BTreeSet<u16>,
    /// Zone index of each source location, by number of the source location.
    pub(super) zone_of: Vec<ZoneIndex>,
    /// Chips whose times have begun again within the log.
    pub(super) wrapped_chips: BTreeSet<u32>,
}

impl PackedLanes {
    /// Returns true if there are records with this marker id.
    #[must_use]
    pub fn has_marker(&self, id: ZoneId) -> bool {
        self.numbers.marker_ids.contains(&id.0)
    }

    /// Adds anomalies that are reported after the anomalies of the lanes.
    pub fn add_anomalies(&mut self, anomalies: AnomalyLog) {
        self.late.merge(anomalies);
    }

    /// Returns the memory manager of the lanes. Other packed records of this log can then use the
    /// same memory limit and temporary file.
    #[must_use]
    pub const fn memory(&self) -> &Arc<PackedMemory> {
        &self.memory
    }

    /// Returns the ids of the lanes, in ascending order.
    pub fn ids(&self) -> impl Iterator<Item = LaneId> {
        self.lanes.iter().map(|lane| lane.id)
    }

    /// Returns one lane unpacked, or `None` if there is no such lane. The packed lane is kept.
    ///
    /// # Errors
    /// If records cannot be read back from the temporary file.
    pub fn lane(&self, id: LaneId) -> Result<Option<Lane>, PackedError> {
        let Some(lane) = self.packed_lane(id) else { return Ok(None) };
        Ok(Some(self.numbers.finish_lane(lane)?.0))
    }

    /// Returns the number of records of a lane; 0 if there is no such lane.
    #[must_use]
    pub fn record_count(&self, id: LaneId) -> usize {
        self.packed_lane(id).map_or(0, PackedLane::record_count)
    }

    fn packed_lane(&self, id: LaneId) -> Option<&PackedLane> {
        let found = self.lanes.binary_search_by_key(&id, |lane| lane.id);
        self.lanes.get(found.ok()?)
    }

    /// Unpacks the lanes on all threads and calls `take` for each lane. The packed lanes are freed.
    ///
    /// `take` also gets the accumulator of the group of lanes that the lane belongs to.
    ///
    /// Returns one accumulator for each group of lanes, and the anomalies in lane order.
    ///
    /// # Errors
    /// If records cannot be read back from the temporary file.
    pub fn unpack<A: Default + Send>(
        &mut self,
        take: impl Fn(&mut A, Lane) + Sync,
    ) -> Result<(Vec<A>, AnomalyLog), PackedError> {
        let lanes = std::mem::take(&mut self.lanes);
        self.unpack_each(lanes.into_par_iter(), take)
    }

    /// Like [`Self::unpack`], but keeps the lanes packed for further use.
    ///
    /// # Errors
    /// If records cannot be read back from the temporary file.
    pub fn visit<A: Default + Send>(
        &self,
        take: impl Fn(&mut A, Lane) + Sync,
    ) -> Result<(Vec<A>, AnomalyLog), PackedError> {
        self.unpack_each(self.lanes.par_iter(), take)
    }

    fn unpack_each<A: Default + Send, L: Borrow<PackedLane>>(
        &self,
        lanes: impl ParallelIterator<Item = L>,
        take: impl Fn(&mut A, Lane) + Sync,
    ) -> Result<(Vec<A>, AnomalyLog), PackedError> {
        let unpack = |(accumulator, repairs): &mut Unpacked<A>, lane: L| {
            let (unpacked, repaired) = self.numbers.finish_lane(lane.borrow())?;
            // If the lane is owned, its packed records are freed here, before the next step.
            drop(lane);
            repairs.extend((!repaired.is_none()).then_some((unpacked.id, repaired)));
            take(accumulator, unpacked);
            Ok::<(), PackedError>(())
        };
        let (accumulators, repairs): (Vec<_>, Vec<_>) =
            fold_lanes(lanes, unpack)?.into_iter().unzip();
        let mut repairs: Vec<_> = repairs.into_iter().flatten().collect();
        repairs.sort_unstable();
        let mut anomalies = AnomalyLog::default();
        for (lane, repaired) in repairs {
            add_repairs(&mut anomalies, lane, repaired);
        }
        anomalies.merge(self.late.clone());
        Ok((accumulators, anomalies))
    }
}

/// An accumulator, and for each lane the records that were assigned to the launch whose firmware zone
/// encloses them.
type Unpacked<A> = (A, Vec<(LaneId, RepairedLabels)>);

impl LogNumbers {
    /// Sorts a lane by time, splits it into runs and sets its zone indices.
    ///
    /// Also returns the numbers of records that were assigned to the enclosing launch.
    fn finish_lane(&self, lane: &PackedLane) -> Result<(Lane, RepairedLabels), PackedError> {
        let mut columns = lane.unpack(&self.chunks)?;
        if self.wrapped_chips.contains(&lane.id.chip_id) {
            columns.extend_times();
        }
        let columns = columns.in_time_order();
        let roles = PlaceRoles {
            is_firmware: &self.is_firmware,
            is_kernel: &self.is_kernel,
            is_reading: &self.is_reading,
        };
        let SplitRuns { runs, repaired } = split_runs(&columns, &self.keys, roles);
        let mut lane = Lane { runs, ..columns.lane };
        for head in &mut lane.heads {
            let zone = self.zone_of.get(head.zone().0 as usize).copied();
            *head = RecordHead::new(head.kind(), zone.unwrap_or_else(|| head.zone()));
        }
        Ok((lane, repaired))
    }
}

fn add_repairs(anomalies: &mut AnomalyLog, lane: LaneId, repaired: RepairedLabels) {
    let RepairedLabels { relabelled_count, untraced_count } = repaired;
    let repairs = [
        (AnomalyKind::RelabelledRecord, relabelled_count, "kept in the launch that encloses them"),
        (
            AnomalyKind::UntracedRecord,
            untraced_count,
            "kept in the replay of which the run's others are",
        ),
    ];
    for (kind, count, what) in repairs.into_iter().filter(|(_, count, _)| *count > 0) {
        let detail = || format!("{} {what}", counted(count, "record", "records"));
        anomalies.record(kind, Some(lane), 0, detail);
        anomalies.count_more(kind, Some(lane), count.saturating_sub(1));
    }
}
