//! Zone statistics from words, for those who keep no records.
//!
//! Lanes are decoded and paired one after the other, each thread's in the same memory, and
//! nothing is kept of them but durations and the last launch, which the next read may continue.

use super::{
    ZoneGrouping, ZoneStatistics,
    tally::{Chip, GroupKey, statistics_of, work_through},
    zones::Pairer,
};
use crate::{
    anomaly::AnomalyLog,
    decode::{DecodedLane, LaneState, Leaves, UndecodedLane},
    lane::{Lane, LaneId, Run},
    ledger::LossLedger,
    names::ZoneTable,
    readout::ChipSummary,
    timeline::LanePart,
};
use std::{collections::BTreeMap, ops::Range};
use wire::Risc;

/// What decoding lanes gave, besides their zones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatheredLanes {
    /// Records that were decoded.
    pub record_count: u64,
    /// What is missing.
    pub losses: LossLedger,
    /// What was odd, and what was repaired.
    pub anomalies: AnomalyLog,
    /// From where each lane's next words are to be decoded, in the order of the lanes.
    pub states: Vec<(LaneId, LaneState)>,
}

/// Gathers durations of zones over any number of reads, and makes statistics of them.
///
/// They are those of [`zone_statistics`](super::zone_statistics) over everything that was
/// read: launches and zones that go on from one read to the next are whole.
/// [`Reader::read_zones`](crate::Reader::read_zones) fills it from a mesh.
///
/// ```
/// use host_reader::{analysis::*, decode::*, lane::LaneId, mesh::Noc0Coord};
/// use host_reader::{names::ZoneTable, readout::ChipSummary};
/// use wire::{Risc, generation};
/// let core = Noc0Coord { x: 1, y: 2 };
/// let context = LaneContext {
///     lane: LaneId { chip_id: 0, core, risc: Risc::Brisc },
///     risc_index: 0,
///     flat_id: 7,
///     generation: generation::CURRENT,
///     has_trailers: false,
///     mode: CaptureMode::Workers,
///     host_ids: HostIdForm::Base,
///     read_at: None,
/// };
/// let words = [
///     0, 0, 7 << 5, 3, // run header: core 7, RISC 0, program 3
///     0x8FC0_D001, 0x1000, 0x9FC0_D001, 0x1700, // FW
///     0x8E42_7001, 0x1100, 0x9E42_7001, 0x1600, // KERNEL
/// ];
/// let chip = ChipSummary {
///     chip_id: 0, arch: "wormhole_b0".into(), aiclk_mhz: 1000, max_compute_cores: None,
/// };
/// let lane = UndecodedLane { context, state: LaneState::default(), pieces: vec![(0, &words)] };
///
/// let names = ZoneTable::new();
/// let mut gathering = ZoneGathering::new(ZoneGrouping::ByRisc);
/// let lanes = gathering.decode(&chip, vec![lane], &names);
/// assert_eq!((lanes.record_count, lanes.losses.is_empty()), (4, true));
/// let (zones, anomalies) = gathering.statistics(&names);
/// assert_eq!((zones[0].name.as_str(), zones[0].cycles.total_cycles), ("id 64525", 0x700));
/// assert_eq!((zones[1].name.as_str(), zones[1].self_total_cycles), ("id 58407", 0x500));
/// assert!(anomalies.is_empty());
/// ```
///
/// # Cost
/// Memory: 2 bytes for each zone, for exact percentiles, 4 for zones of 2^16 cycles and more and
/// 8 for those of 2^32 and more; the last launch of each lane; and on each thread the records of
/// one lane, without those of zones without zones inside unless the lane is damaged.
#[derive(Debug)]
pub struct ZoneGathering {
    grouping: ZoneGrouping,
    chips: Vec<Chip>,
    workers: Vec<Worker>,
    lanes: BTreeMap<LaneId, LaneProgress>,
    /// Open zones and orphan ends of launches that have ended.
    anomalies: AnomalyLog,
}

/// How far a lane has been gathered.
#[derive(Debug)]
struct LaneProgress {
    group: GroupKey,
    /// The last launch, which the next words may continue.
    last: Lane,
    /// Records before that launch.
    records_before: u64,
}

/// What one thread has gathered, and the memory that it works in.
#[derive(Debug, Default)]
struct Worker {
    pairer: Pairer,
    memory: Option<Lane>,
    /// Zones that the lane at hand leaves out.
    leaves: Leaves,
    done: Vec<Done>,
}

/// A lane that was decoded and gathered.
#[derive(Debug)]
struct Done {
    number: usize,
    id: LaneId,
    progress: LaneProgress,
    record_count: usize,
    state: LaneState,
    losses: LossLedger,
    anomalies: AnomalyLog,
    pairing: AnomalyLog,
}

/// A lane to be decoded.
struct Job<'words> {
    number: usize,
    words: UndecodedLane<'words>,
    progress: LaneProgress,
}

impl ZoneGathering {
    /// A gathering without zones.
    #[must_use]
    pub fn new(grouping: ZoneGrouping) -> Self {
        let (chips, workers, lanes) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { grouping, chips, workers, lanes, anomalies: AnomalyLog::default() }
    }

    /// Decodes lanes of a chip and takes their zones; `names` are for what is odd about them,
    /// and for matching zones of [`Risc::TensixAggregate`](wire::Risc::TensixAggregate).
    pub fn decode(
        &mut self,
        chip: &ChipSummary,
        lanes: Vec<UndecodedLane<'_>>,
        names: &ZoneTable,
    ) -> GatheredLanes {
        let chip = self.chip(chip);
        let is_parallel = UndecodedLane::are_many_words(&lanes);
        let jobs: Vec<_> = lanes
            .into_iter()
            .enumerate()
            .map(|(number, words)| {
                let progress = self.progress(chip, words.context.lane);
                Job { number, words, progress }
            })
            .collect();
        let threads = if is_parallel { rayon::current_num_threads() } else { 1 };
        work_through(jobs.into_iter(), (&mut self.workers, threads), |worker, job| {
            worker.enter(job, names);
        });
        self.collect()
    }

    /// Statistics of all zones so far, by chip and RISC, those with the most cycles first, and
    /// the open zones and orphan ends among them. Zones of each lane's last launch that have
    /// not ended yet are open.
    ///
    /// # Cost
    /// Linear in the zones.
    #[must_use]
    pub fn statistics(&self, names: &ZoneTable) -> (Vec<ZoneStatistics>, AnomalyLog) {
        let mut rest = Pairer::default();
        let mut anomalies = self.anomalies.clone();
        for progress in self.lanes.values() {
            progress.pair(&mut rest, names, &mut anomalies);
        }
        let tallies = self.workers.iter().map(|worker| &worker.pairer.tally);
        let tallies: Vec<_> = tallies.chain([&rest.tally]).collect();
        (statistics_of(&tallies, &self.chips, names), anomalies)
    }

    fn chip(&mut self, chip: &ChipSummary) -> usize {
        let known = self.chips.iter().position(|known| known.chip_id == chip.chip_id);
        known.unwrap_or_else(|| {
            self.chips.push(Chip::of(chip));
            self.chips.len() - 1
        })
    }

    fn progress(&mut self, chip: usize, lane: LaneId) -> LaneProgress {
        self.lanes.remove(&lane).unwrap_or_else(|| LaneProgress {
            group: GroupKey::new(chip, lane, self.grouping),
            last: Lane::new(lane),
            records_before: 0,
        })
    }

    /// Takes what the workers have done, in the order of the lanes.
    fn collect(&mut self) -> GatheredLanes {
        let mut done: Vec<_> =
            self.workers.iter_mut().flat_map(|worker| worker.done.drain(..)).collect();
        done.sort_by_key(|done| done.number);
        let mut gathered = GatheredLanes::default();
        for done in done {
            gathered.record_count += done.record_count as u64;
            gathered.losses.merge(&done.losses);
            gathered.anomalies.merge(done.anomalies);
            gathered.states.push((done.id, done.state));
            self.anomalies.merge(done.pairing);
            self.lanes.insert(done.id, done.progress);
        }
        gathered
    }
}

impl Worker {
    fn enter(&mut self, job: Job<'_>, names: &ZoneTable) {
        let Job { number, words, mut progress } = job;
        let mut pairing = AnomalyLog::default();
        let (decoded, state) = self.decode(&words, progress.group);
        let DecodedLane { lane, losses, anomalies } = decoded;
        let record_count = lane.record_count() + self.leaves.record_count();
        progress.enter(&lane, self, names, &mut pairing);
        self.memory = Some(lane);
        let id = words.context.lane;
        let done = Done { number, id, progress, record_count, state, losses, anomalies, pairing };
        self.done.push(done);
    }

    /// Decodes a lane, without records of zones without zones inside where all others are
    /// nested: then the zones of launches that have ended are entered.
    fn decode(&mut self, words: &UndecodedLane<'_>, group: GroupKey) -> (DecodedLane, LaneState) {
        let mut memory = self.memory.take().unwrap_or_else(|| Lane::new(words.context.lane));
        // Others match zones by name.
        if words.context.lane.risc != Risc::TensixAggregate {
            let leaves = std::mem::take(&mut self.leaves);
            let (decoded, state, leaves) = words.decode_leaving_out(memory, leaves);
            self.leaves = leaves;
            let part = LanePart { records: ended(&decoded.lane), ..LanePart::whole(&decoded.lane) };
            let is_sound = self.leaves.are_sound(&decoded.lane);
            if self.leaves.zones.is_empty()
                || is_sound && self.pairer.enter_nested(group, &part, &self.leaves)
            {
                return (decoded, state);
            }
            memory = decoded.lane;
        }
        self.leaves.clear();
        words.decode(memory)
    }
}

/// The records of launches that begin and end in this lane.
fn ended(lane: &Lane) -> Range<usize> {
    let begin = if lane.goes_on { lane.run_records(0).end } else { 0 };
    let last = lane.runs.len().saturating_sub(1);
    begin..lane.run_records(last).start.max(begin)
}

impl LaneProgress {
    /// Takes a later lane of the same RISC: all launches but its last are paired, unless the
    /// worker has entered them already.
    fn enter(
        &mut self,
        lane: &Lane,
        worker: &mut Worker,
        names: &ZoneTable,
        anomalies: &mut AnomalyLog,
    ) {
        let Some(last_run) = lane.runs.len().checked_sub(1) else { return };
        let ended = ended(lane);
        let records_before = self.records_before + self.last.record_count() as u64;
        if lane.goes_on && lane.record_count() > 0 {
            self.last.append(part_of(lane, 0, 0..ended.start));
        }
        if ended.start == lane.record_count() {
            return;
        }
        self.pair(&mut worker.pairer, names, anomalies);
        self.records_before = records_before + (ended.end + worker.leaves.record_count()) as u64;
        self.last = part_of(lane, last_run, ended.end..lane.record_count());
        if worker.leaves.zones.is_empty() {
            let part = LanePart { lane, records: ended, records_before };
            worker.pairer.enter(self.group, &part, names, anomalies);
        }
    }

    /// Pairs the launch that was last so far.
    fn pair(&self, pairer: &mut Pairer, names: &ZoneTable, anomalies: &mut AnomalyLog) {
        let whole = LanePart::whole(&self.last);
        let part = LanePart { records_before: self.records_before, ..whole };
        pairer.enter(self.group, &part, names, anomalies);
    }
}

/// A run of a lane by itself, without values of data.
fn part_of(lane: &Lane, run: usize, records: Range<usize>) -> Lane {
    Lane {
        goes_on: lane.goes_on && run == 0,
        runs: vec![Run { first_record: 0, ..lane.runs[run] }],
        heads: lane.heads[records.clone()].to_vec(),
        times: lane.times[records].to_vec(),
        ..Lane::new(lane.id)
    }
}
