//! Matching of the ops that the host announced with the programs that ran on chips.

use host_events::OpMetadata;
use reader::{
    anomaly::{AnomalyKind, AnomalyLog},
    lane::Lane,
};
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};
use wire::RunHostId;

/// Programs that ran on chips, with the number of launches outside of traces.
///
/// The launches are counted separately for each RISC that ran the program, and the smallest of
/// these counts is used. The counts of dispatch cores would be too high, because there the records
/// of one program appear as several runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchedPrograms(BTreeMap<(u32, RunHostId), u64>);

impl LaunchedPrograms {
    /// Adds the runs of a lane. Runs without a program are ignored, because they belong to no op.
    pub fn add(&mut self, lane: &Lane) {
        let mut counts: BTreeMap<RunHostId, u64> = BTreeMap::new();
        for run in lane.runs.iter().filter(|run| run.program.0 != 0) {
            let count = counts.entry(run.program).or_default();
            *count = count.saturating_add(u64::from(run.trace.is_none()));
        }
        for (program, count) in counts {
            self.lower((lane.id.chip_id, program), count);
        }
    }

    /// Adds the programs of other lanes. For a program in both sets, the smaller number of launches
    /// is used.
    pub fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(key, count)| self.lower(key, count));
    }

    fn lower(&mut self, key: (u32, RunHostId), count: u64) {
        match self.0.entry(key) {
            Entry::Vacant(unknown) => {
                unknown.insert(count);
            }
            Entry::Occupied(mut known) => *known.get_mut() = count.min(*known.get()),
        }
    }

    /// Adds an anomaly for each program without an op, and for each op without a launch or with too
    /// many launches.
    ///
    /// An op must have one launch, or one launch per replay of its trace.
    pub(super) fn note_joins(
        &self,
        ops: &[OpMetadata],
        captured_only: &BTreeSet<(u32, RunHostId)>,
        anomalies: &mut AnomalyLog,
    ) {
        let mut announced = BTreeSet::new();
        for op in ops {
            let key = (op.chip_id, op.run_host_id);
            announced.insert(key);
            match self.0.get(&key) {
                None if captured_only.contains(&key) => {}
                None => anomalies.record(AnomalyKind::UnjoinedOp, None, 0, || {
                    format!("{}, has no launch on the chip", op_text(op))
                }),
                Some(0 | 1) => {}
                Some(count) => anomalies.record(AnomalyKind::RepeatedOp, None, 0, || {
                    format!("{}, has {count} launches outside of traces", op_text(op))
                }),
            }
        }
        for (chip_id, program) in self.0.keys().filter(|key| !announced.contains(*key)) {
            anomalies.record(AnomalyKind::UnjoinedOp, None, 0, || {
                format!("chip {chip_id}: no message of the host describes op {}", program.0)
            });
        }
    }
}

fn op_text(op: &OpMetadata) -> String {
    let name = op.value(OpMetadata::NAME).unwrap_or("without a name");
    format!("chip {}: op {} of the host, {name}", op.chip_id, op.run_host_id.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{
        lane::{LaneId, TraceReplay},
        mesh::Noc0Coord,
    };
    use wire::Risc;

    /// A lane of chip 0 with runs of the given programs, each with or without a replay.
    fn lane(risc: Risc, runs: &[(u32, Option<u64>)]) -> Lane {
        let mut lane = Lane::new(LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc });
        for &(program, replay) in runs {
            lane.begin_run(RunHostId(program));
            let run = lane.runs.last_mut().unwrap();
            run.trace = replay.map(|counter| TraceReplay { trace_id: 5, counter });
        }
        lane
    }

    fn noted(lanes: &[Lane], ops: &[(u32, u32)], captured: &[u32]) -> Vec<(AnomalyKind, String)> {
        let mut halves = [LaunchedPrograms::default(), LaunchedPrograms::default()];
        for (at, lane) in lanes.iter().enumerate() {
            halves[at % 2].add(lane);
        }
        let [mut all, other] = halves;
        all.merge(other);
        let ops: Vec<_> = ops
            .iter()
            .map(|&(chip_id, id)| OpMetadata {
                chip_id,
                run_host_id: RunHostId(id),
                fields: [("name".to_owned(), format!("Op{id}"))].into(),
            })
            .collect();
        let captured = captured.iter().map(|&id| (0, RunHostId(id))).collect();
        let mut anomalies = AnomalyLog::default();
        all.note_joins(&ops, &captured, &mut anomalies);
        anomalies.kept().iter().map(|found| (found.kind, found.detail.clone())).collect()
    }

    #[test]
    fn what_is_joined_once_or_once_for_each_replay_is_no_anomaly() {
        let lanes = [
            lane(Risc::Brisc, &[(0, None), (1024, None), (2048, Some(1)), (2048, Some(2))]),
            lane(Risc::Ncrisc, &[(1024, None)]),
        ];
        assert_eq!(noted(&lanes, &[(0, 1024), (0, 2048), (0, 3072)], &[3072]), []);
    }

    #[test]
    fn what_is_joined_twice_or_not_at_all_is_said_with_its_name() {
        use AnomalyKind::{RepeatedOp, UnjoinedOp};
        let again = [(1024, None), (2048, None), (1024, None)];
        let lanes = [lane(Risc::Brisc, &again), lane(Risc::Ncrisc, &again)];
        let expected = [
            (RepeatedOp, "chip 0: op 1024 of the host, Op1024, has 2 launches outside of traces"),
            (UnjoinedOp, "chip 1: op 1024 of the host, Op1024, has no launch on the chip"),
            (UnjoinedOp, "chip 0: no message of the host describes op 2048"),
        ];
        let expected = expected.map(|(kind, text)| (kind, text.to_owned()));
        assert_eq!(noted(&lanes, &[(0, 1024), (1, 1024)], &[]), expected);
        // A program that only one RISC names repeatedly counts as one launch.
        let lanes = [lane(Risc::Brisc, &again), lane(Risc::Ncrisc, &[(1024, None)])];
        let said = noted(&lanes, &[(0, 1024), (0, 2048)], &[]);
        assert_eq!(said, []);
    }
}
