//! Applies a filter to the launches of a readout, before tables are computed from the readout.

#![expect(clippy::arithmetic_side_effects, reason = "counts are of records that are in memory")]

use crate::{Recording, TraceFilter, clocks_of, names_of};
use analysis::launches_of;
use reader::{
    lane::{Annotated, Lane, LaneId, RecordHead, Run},
    readout::HiddenLaunch,
};
use std::collections::{BTreeSet, HashMap};
use wire::RunHostId;

/// Counts of the data that [`Recording::retain`] removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct HiddenLaunches {
    /// Number of launches that were removed completely.
    pub launch_count: u64,
    /// Number of removed lanes.
    pub lane_count: u64,
    /// Number of records in the removed lanes and launches.
    pub record_count: u64,
    /// Number of lost records that were removed from the ledger.
    pub lost_record_count: u64,
    /// Chip id and run host id of each op without any remaining launch.
    #[serde(skip)]
    pub ops: BTreeSet<(u32, u32)>,
    /// The removed launches. Empty after they have been moved to the list `hidden` of the readout.
    #[serde(skip)]
    launches: Vec<HiddenLaunch>,
}

impl HiddenLaunches {
    /// Returns true if nothing was removed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.launch_count == 0
            && self.lane_count == 0
            && self.record_count == 0
            && self.lost_record_count == 0
    }
}

impl Recording {
    /// Removes the lanes and the launches that a filter does not select.
    ///
    /// Each launch is kept or removed as a whole. A launch is in a window of time if it overlaps
    /// the window. This method ignores the filter's zone names; code that computes tables of zones
    /// must call [`TraceFilter::selects_zone`].
    ///
    /// ```
    /// use analysis::ops_of;
    /// use recording::device_log::read_device_log;
    /// use recording::{Recording, TraceFilter};
    /// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
    /// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
    /// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
    /// 0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END
    /// 0,1,2,BRISC,7,300,0,2048,BRISC-FW,ZONE_START
    /// 0,1,2,BRISC,7,360,0,2048,BRISC-FW,ZONE_END
    /// ";
    /// let mut recording = Recording::from_readout(read_device_log(log.as_bytes(), "my log")?);
    /// let filter: TraceFilter = "time=100ns..".parse()?;
    /// let hidden = recording.retain(&filter);
    /// assert_eq!((hidden.launch_count, hidden.record_count), (1, 2));
    /// assert_eq!(ops_of(&recording.readout)[0].run_host_id, 2048);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retain(&mut self, filter: &TraceFilter) -> HiddenLaunches {
        if filter.is_empty() {
            return HiddenLaunches::default();
        }
        let (wanted, mut hidden) = self.wanted_runs(filter);
        let Self { readout, ops, .. } = self;
        readout.hidden.append(&mut hidden.launches);
        for device in &mut readout.devices {
            device.lanes.retain_mut(|lane| {
                let id = lane.id;
                let before = lane.record_count();
                let is_wanted = filter.selects_lane(id);
                hidden.lane_count += u64::from(!is_wanted);
                if is_wanted {
                    *lane = with_runs(std::mem::replace(lane, Lane::new(id)), |run| {
                        wanted.get(&(id, run)) == Some(&true)
                    });
                    hidden.record_count += (before - lane.record_count()) as u64;
                } else {
                    hidden.record_count += before as u64;
                }
                is_wanted && lane.record_count() > 0
            });
        }
        let names = names_of(ops);
        readout.losses.retain(|key, totals| {
            let program = key.program.unwrap_or_default();
            let name = names.get(&(key.lane.chip_id, program)).copied();
            let is_wanted =
                filter.selects_lane(key.lane) && filter.selects_op(program.base(), name);
            hidden.lost_record_count += if is_wanted { 0 } else { totals.record_count() };
            is_wanted
        });
        hidden
    }

    /// Returns, for each run, whether the run belongs to a selected launch. Also returns the hidden
    /// launches.
    fn wanted_runs(
        &self,
        filter: &TraceFilter,
    ) -> (HashMap<(LaneId, usize), bool>, HiddenLaunches) {
        let readout = &self.readout;
        let (clocks, origin_ns) = clocks_of(self);
        let filter = filter.resolved(&self.signposts_since(origin_ns));
        let names = self.op_names();
        let mut hidden = HiddenLaunches::default();
        let mut wanted = HashMap::new();
        let mut kept = BTreeSet::new();
        for launch in launches_of(readout) {
            let (chip_id, id) = (launch.op.chip_id, launch.op.run_host_id);
            let chips = readout.devices.iter().zip(&clocks);
            let clock = chips.into_iter().find(|(device, _)| device.chip.chip_id == chip_id);
            let is_in_window = clock.is_none_or(|(_, clock)| {
                filter.selects_time(
                    clock.time_ns(launch.first_cycle),
                    clock.time_ns(launch.last_cycle),
                )
            });
            let program = RunHostId(id);
            let is_wanted = is_in_window
                && filter.selects_op(program.base(), names.get(&(chip_id, program)).copied())
                && launch.runs.iter().any(|run| filter.selects_lane(run.lane));
            if !is_wanted {
                hidden.launch_count += 1;
                hidden.launches.push(HiddenLaunch {
                    chip_id,
                    is_of_profiler: false,
                    cores: launch.runs.iter().map(|run| run.lane.core).collect(),
                    first_cycle: launch.first_cycle,
                    last_cycle: launch.last_cycle,
                });
            }
            let set = if is_wanted { &mut kept } else { &mut hidden.ops };
            set.insert((chip_id, id));
            wanted.extend(launch.runs.iter().map(|run| ((run.lane, run.run), is_wanted)));
        }
        hidden.ops.retain(|op| !kept.contains(op));
        (wanted, hidden)
    }

    /// Returns the signposts with their times since the trace's origin, in time order. `origin_ns`
    /// is `None` if times are not host times; the list is then empty.
    fn signposts_since(&self, origin_ns: Option<i64>) -> Vec<(u64, &str)> {
        let Some(origin_ns) = origin_ns.and_then(|origin| u64::try_from(origin).ok()) else {
            return Vec::new();
        };
        let since = |(time_ns, name): (u64, _)| (time_ns.saturating_sub(origin_ns), name);
        let mut signposts: Vec<_> = self.signposts().map(since).collect();
        signposts.sort_unstable();
        signposts
    }
}

/// Returns the lane without the runs that are not selected.
fn with_runs(lane: Lane, is_wanted: impl Fn(usize) -> bool) -> Lane {
    if (0..lane.runs.len()).all(&is_wanted) {
        return lane;
    }
    let mut kept = Lane { goes_on: lane.goes_on, ..Lane::new(lane.id) };
    let mut runs = lane.runs.iter().enumerate().filter(|(run, _)| is_wanted(*run)).peekable();
    for Annotated { record, run: of, text, .. } in lane.annotated_records() {
        while let Some((_, run)) = runs.next_if(|(run, _)| Some(*run) <= of) {
            kept.runs.push(Run { first_record: kept.record_count(), ..*run });
        }
        if of.is_some_and(&is_wanted) {
            kept.metadata.extend(text.map(|text| (kept.record_count(), text.into())));
            kept.push(RecordHead::new(record.kind, record.zone), record.time, record.data);
        }
    }
    let first_record = kept.record_count();
    kept.runs.extend(runs.map(|(_, run)| Run { first_record, ..*run }));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{
        lane::{RecordHead, ZoneIndex},
        mesh::Noc0Coord,
    };
    use wire::{PacketKind, Risc};

    /// Returns a lane of three runs. Each run has an event, a data value of two words with a
    /// metadata text, and a total.
    fn lane() -> Lane {
        let core = Noc0Coord { x: 1, y: 1 };
        let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
        for run in 0..3_u32 {
            let first_record = lane.record_count();
            let program = RunHostId(run);
            lane.runs.push(Run {
                program,
                trace_counter: 0,
                trace: None,
                first_record,
                origin: 0,
                is_unfinished: false,
            });
            let (time, value) = (u64::from(run) * 100, u64::from(run));
            let head = |kind| RecordHead::new(kind, ZoneIndex(7));
            lane.push(head(PacketKind::TimestampedEvent), time, &[]);
            lane.metadata.push((lane.record_count(), format!("run {run}").into()));
            lane.push(head(PacketKind::TimestampedData16B), time + 1, &[value, value + 10]);
            lane.push(head(PacketKind::ZoneTotal), time + 2, &[value + 20]);
        }
        lane
    }

    #[test]
    fn runs_keep_their_values_and_texts() {
        assert_eq!(with_runs(lane(), |_| true), lane());
        let kept = with_runs(lane(), |run| run != 1);
        assert_eq!(kept.times, [0, 1, 2, 200, 201, 202]);
        assert_eq!(kept.data, [0, 10, 20, 2, 12, 22]);
        let texts: Vec<_> = kept.metadata.iter().map(|(at, text)| (*at, &**text)).collect();
        assert_eq!(texts, [(1, "run 0"), (4, "run 2")]);
        let runs: Vec<_> = kept.runs.iter().map(|run| (run.program.0, run.first_record)).collect();
        assert_eq!(runs, [(0, 0), (2, 3)]);
        assert_eq!(with_runs(lane(), |_| false), Lane::new(lane().id));
    }
}
