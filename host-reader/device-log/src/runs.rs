//! Finding the launches in the lines of one lane.
//!
//! A log names the program of each line but not where a launch begins. The rules, on
//! records in time order:
//!
//! 1. Another program, trace replay or run counter begins a run.
//! 2. So does the start of the firmware zone with which the current run began: the same
//!    program was launched again. Records after the old run's firmware end (data taken
//!    before the next firmware start, totals that share its time) go with the new run.
//! 3. Lines of another program *inside* an open firmware zone do not count. Upstream
//!    relabels zones of dispatch cores with the program that they serve; the firmware end
//!    shows that they all belong to one launch.

use super::chunk::LaneColumns;
use super::row::LaunchKey;
use reader::lane::Run;
use wire::{PacketKind, RunHostId};

/// The runs of a lane, and how many records were put back into their launch by rule 3.
pub(super) struct SplitRuns {
    pub(super) runs: Vec<Run>,
    pub(super) relabelled_count: u64,
}

/// Cuts a lane into runs. `is_firmware` says of each place whether it is a firmware zone.
pub(super) fn split_runs(
    lane: &LaneColumns,
    keys: &[LaunchKey],
    is_firmware: &[bool],
) -> SplitRuns {
    let mut splitter = Splitter { lane, is_firmware, begins: Vec::new(), relabelled_count: 0 };
    for record in 0..lane.heads.len() {
        splitter.enter(record);
    }
    let run_of = |begin: &Begin| run(lane, keys, begin);
    SplitRuns {
        runs: splitter.begins.iter().map(run_of).collect(),
        relabelled_count: splitter.relabelled_count,
    }
}

fn run(lane: &LaneColumns, keys: &[LaunchKey], begin: &Begin) -> Run {
    let key = keys.get(begin.launch as usize);
    Run {
        program: RunHostId(key.map_or(0, |key| key.program)),
        trace_counter: 0,
        trace: key.and_then(|key| key.trace),
        first_record: begin.first_record,
        origin: lane.lines.get(begin.first_record).copied().unwrap_or(0),
    }
}

/// Where a run begins and how far its firmware zone has come.
struct Begin {
    first_record: usize,
    launch: u32,
    firmware: Firmware,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Firmware {
    Unseen,
    Open { place: u32 },
    Closed { place: u32, end_time: u64, next_run: Option<usize> },
}

struct Splitter<'lane> {
    lane: &'lane LaneColumns,
    is_firmware: &'lane [bool],
    begins: Vec<Begin>,
    relabelled_count: u64,
}

impl Splitter<'_> {
    #[inline]
    fn enter(&mut self, record: usize) {
        let launch = self.lane.launches[record];
        let continues = self.begins.last().is_some_and(|run| run.launch == launch);
        let head = self.lane.heads[record];
        let place = head.zone().0;
        let is_firmware = self.is_firmware.get(place as usize).is_some_and(|&is| is);
        if !continues {
            self.begin(record, launch);
        }
        match head.kind() {
            PacketKind::ZoneStart if is_firmware => self.enter_start(record, place),
            PacketKind::ZoneEnd if is_firmware => self.enter_end(record, place),
            _ => self.enter_other(record),
        }
    }

    fn begin(&mut self, first_record: usize, launch: u32) {
        self.begins.push(Begin { first_record, launch, firmware: Firmware::Unseen });
    }

    fn enter_start(&mut self, record: usize, started: u32) {
        let Some(run) = self.begins.last() else { return };
        let relaunch_at = match run.firmware {
            Firmware::Open { place } if place == started => Some(record),
            Firmware::Closed { place, next_run, .. } if place == started => {
                Some(next_run.unwrap_or(record))
            }
            _ => None,
        };
        let is_first = run.firmware == Firmware::Unseen;
        if let Some(first_record) = relaunch_at {
            self.begin(first_record, run.launch);
        }
        if is_first || relaunch_at.is_some() {
            self.set_firmware(Firmware::Open { place: started });
        }
    }

    fn enter_end(&mut self, record: usize, ended: u32) {
        self.join_detour(record, ended);
        if self.begins.last().is_some_and(|run| run.firmware == Firmware::Open { place: ended }) {
            let end_time = self.lane.times[record];
            self.set_firmware(Firmware::Closed { place: ended, end_time, next_run: None });
        }
    }

    /// Rule 3: runs since the launch that this firmware end closes were no launches.
    fn join_detour(&mut self, record: usize, ended: u32) {
        let launch = self.lane.launches[record];
        let mut candidates = self.begins.iter().enumerate().rev();
        let opener = candidates.find(|(_, run)| run.firmware != Firmware::Unseen);
        let Some((index, run)) = opener else { return };
        if run.launch != launch || run.firmware != (Firmware::Open { place: ended }) {
            return;
        }
        let Some(detour) = self.begins.get(index + 1) else { return };
        let others = self.lane.launches[detour.first_record..record].iter();
        self.relabelled_count += others.filter(|&&other| other != launch).count() as u64;
        self.begins.truncate(index + 1);
    }

    /// Remembers the first record that is later than the firmware's end.
    #[inline]
    fn enter_other(&mut self, record: usize) {
        let time = self.lane.times[record];
        if let Some(Begin { firmware: Firmware::Closed { end_time, next_run, .. }, .. }) =
            self.begins.last_mut()
            && next_run.is_none()
            && time > *end_time
        {
            *next_run = Some(record);
        }
    }

    fn set_firmware(&mut self, firmware: Firmware) {
        if let Some(run) = self.begins.last_mut() {
            run.firmware = firmware;
        }
    }
}
