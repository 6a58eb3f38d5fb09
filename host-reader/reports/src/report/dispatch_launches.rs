//! Assignment of the dispatch cores' work to launches, by program id.
//!
//! # Compatibility
//! `cq_dispatch.cpp` of 0.81.1 records the low 16 bits of a program's id. Until the end of 2025,
//! TT-Metal's dispatcher recorded the full encoded id. `process_ops_logs.py` still compares ids
//! with the full encoded id.

#![expect(clippy::indexing_slicing, reason = "indices are positions of the launches themselves")]

use super::{
    device_op::{DeviceOp, DeviceOps},
    dispatch::{COLUMNS, DispatchOp, DispatchOps, DispatchRow, dispatch_rows, ops_of_core},
    launched::Launched,
    value::whole_text,
};
use crate::problem::ProblemLog;
use reader::packed_bytes::PackedError;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wire::RunHostId;

/// Name of the input file, and the log of the problems found in this file.
type Told<'log> = (&'log str, &'log mut ProblemLog);

/// Adds dispatch durations as TT-Metal's scripts do: those of each op are added to the first launch
/// with the same id on the op's chip.
pub(super) fn attach_equal(
    ops: &mut DeviceOps,
    dispatch: &BTreeMap<u64, DispatchOps>,
    aiclk_mhz: f64,
    (file, problems): Told<'_>,
) {
    for (&chip_id, dispatch_ops) in dispatch {
        let mut launches = launches_of(ops, chip_id);
        let work = dispatch_ops.values().copied().collect();
        let mut first_of = HashMap::new();
        for (position, launch) in launches.iter().enumerate() {
            first_of.entry(launch.run_host_id).or_insert(position);
        }
        let unknown_count =
            set_durations(&mut launches, work, |op| first_of.get(&op.id).copied(), aiclk_mhz);
        note_unknown(chip_id, unknown_count, (file, &mut *problems));
    }
}

/// Adds the dispatch durations of each op to the first launch of its program on its chip.
/// Dispatchers may have recorded full encoded ids, or only the low bits of ids.
///
/// # Errors
/// If packed records cannot be read back from the temporary file.
pub(super) fn attach_dispatch(
    ops: &mut DeviceOps,
    Launched { lanes, .. }: Launched<'_>,
    (file, problems): Told<'_>,
) -> Result<(), PackedError> {
    let mut rows = dispatch_rows(lanes)?;
    for chip in lanes.readout.devices.iter().map(|device| &device.chip) {
        let chip_id = chip.chip_id.into();
        let Some(cores) = rows.remove(&chip_id) else { continue };
        let mut launches = launches_of(ops, chip_id);
        let unknown_count = attach_to_chip(&mut launches, cores, chip.aiclk_mhz.into());
        note_unknown(chip_id, unknown_count, (file, &mut *problems));
    }
    Ok(())
}

/// Adds the durations recorded by a chip's dispatch cores to the chip's launches. Returns the
/// number of ops for which no launch was found.
fn attach_to_chip(
    launches: &mut [&mut DeviceOp],
    mut cores: Vec<Vec<DispatchRow>>,
    aiclk_mhz: f64,
) -> u64 {
    let programs = Programs::new(launches, &cores);
    if !programs.are_encoded {
        cores.iter_mut().for_each(|rows| unwrap_ids(rows));
    }
    let mut work: Vec<_> = cores.iter_mut().flat_map(|rows| ops_of_core(rows)).collect();
    work.sort_by_key(|op| op.begin);
    set_durations(launches, work, |op| programs.launch_of(op), aiclk_mhz)
}

fn launches_of(ops: &mut DeviceOps, chip_id: u64) -> Vec<&mut DeviceOp> {
    let mut launches: Vec<_> = ops.get_mut(&chip_id).into_iter().flatten().collect();
    launches.sort_by_key(|launch| launch.begin_cycle);
    launches
}

/// Adds the dispatch durations of each op in `work` to the launch at the index returned by
/// `position_of`. Returns the number of ops for which no launch was found.
///
/// A later op with the same id replaces the durations of an earlier one.
fn set_durations(
    launches: &mut [&mut DeviceOp],
    work: Vec<DispatchOp>,
    position_of: impl Fn(&DispatchOp) -> Option<usize>,
    aiclk_mhz: f64,
) -> u64 {
    let mut by_launch: BTreeMap<usize, DispatchOp> = BTreeMap::new();
    let mut unknown_count = 0_u64;
    for op in work {
        let launch = position_of(&op).map(|position| by_launch.entry(position).or_insert(op));
        match launch {
            Some(known) if known.id == op.id => *known = op,
            // No launch was found, or the launch already belongs to an op with another id.
            _ => unknown_count = unknown_count.saturating_add(1),
        }
    }
    for (position, op) in by_launch {
        for (column, (start, end)) in
            COLUMNS.iter().zip(op.spans).filter_map(|(column, span)| Some((column, span?)))
        {
            let cycles = end.saturating_sub(start) as f64;
            launches[position].set(*column, whole_text(cycles * 1000.0 / aiclk_mhz));
        }
    }
    unknown_count
}

fn note_unknown(chip_id: u64, unknown_count: u64, (file, problems): Told<'_>) {
    if unknown_count > 0 {
        let detail = format!(
            "device {chip_id}: dispatch cores worked on {unknown_count} ops that no worker core \
             recorded"
        );
        problems.add_to_file(file, detail);
    }
}

/// Number of low bits of a program's id that a dispatcher records.
const ID_BITS: u32 = 16;
const ID_COUNT: u64 = 1 << ID_BITS;
const ID_MASK: u64 = ID_COUNT - 1;

/// Programs launched on a chip, by the ids that a dispatcher records.
#[derive(Debug)]
struct Programs {
    /// True if dispatchers record full encoded ids.
    are_encoded: bool,
    /// Index of each program's first launch, by full encoded id.
    by_encoded_id: HashMap<u64, usize>,
    /// Indices of the programs' first launches, in order of time, by the low bits of the id.
    by_low_bits: HashMap<u64, Vec<usize>>,
    /// Start cycle of each launch.
    begins: Vec<u64>,
}

impl Programs {
    fn new(launches: &[&mut DeviceOp], cores: &[Vec<DispatchRow>]) -> Self {
        let mut by_encoded_id = HashMap::new();
        let mut by_low_bits: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut known = BTreeSet::new();
        for (position, launch) in launches.iter().enumerate() {
            by_encoded_id.entry(launch.run_host_id).or_insert(position);
            let Ok(id) = u32::try_from(launch.run_host_id) else { continue };
            let base = u64::from(RunHostId(id).base());
            if known.insert(base) {
                by_low_bits.entry(base & ID_MASK).or_default().push(position);
            }
        }
        let begins = launches.iter().map(|launch| launch.begin_cycle).collect();
        let ids: BTreeSet<u64> =
            cores.iter().flatten().filter_map(|row| row.workers_id).filter(|&id| id > 0).collect();
        let encoded_count = ids.iter().filter(|id| by_encoded_id.contains_key(id)).count();
        // A short id may equal another program's full id, but this cannot be the case for all short
        // ids.
        let are_encoded =
            encoded_count > ids.iter().filter(|id| by_low_bits.contains_key(id)).count();
        Self { are_encoded, by_encoded_id, by_low_bits, begins }
    }

    /// Returns the index of an op's launch; `None` if it is unknown.
    ///
    /// If the ids of several programs have the same low bits as the op's id, the op belongs to the
    /// first of these programs that begins after the op's dispatch. If at least `ID_COUNT / 2`
    /// other launches begin between the dispatch and this program, the match is not reliable and
    /// the launch is unknown.
    fn launch_of(&self, op: &DispatchOp) -> Option<usize> {
        if self.are_encoded {
            return self.by_encoded_id.get(&op.id).copied();
        }
        let positions = self.by_low_bits.get(&(op.id & ID_MASK))?;
        if let [position] = positions[..] {
            return Some(position);
        }
        let next = self.begins.partition_point(|&begin| begin < op.begin);
        let position = positions.iter().copied().find(|&position| position >= next)?;
        let between = u64::try_from(position.saturating_sub(next)).unwrap_or(u64::MAX);
        (between < ID_COUNT / 2).then_some(position)
    }
}

/// Restores full ids from the low bits that a dispatcher recorded. Of all ids with these low bits,
/// the one nearest to the previous id is used.
///
/// Low bits of 0 are not restored, because id 0 stands for no program.
fn unwrap_ids(rows: &mut [DispatchRow]) {
    let mut last = None;
    for id in rows.iter_mut().filter_map(|row| row.workers_id.as_mut()) {
        if (1..=ID_MASK).contains(id) {
            *id = last.map_or(*id, |last| nearest(last, *id));
            last = Some(*id);
        }
    }
}

/// Returns the number with these low bits that is nearest to `last`.
fn nearest(last: u64, low: u64) -> u64 {
    let ahead = low.wrapping_sub(last) & ID_MASK;
    let after = last.saturating_add(ahead);
    let before = after.checked_sub(ID_COUNT).filter(|&id| id > 0);
    if ahead < ID_COUNT / 2 { after } else { before.unwrap_or(after) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Risc;

    const CHIP: u32 = 1;

    /// Returns the durations of launches by program, and the number of ops without a launch.
    ///
    /// `launched` contains programs with their start times. `dispatched` contains the ids that a
    /// dispatcher records, each with the time of the first command. The dispatch of the n-th op,
    /// counted from 0, takes 100 + n cycles.
    fn attached(launched: &[(u32, u64)], dispatched: &[(u64, u64)]) -> (Vec<(u32, String)>, u64) {
        let launch = |&(program, begin_cycle): &(u32, u64)| {
            let run_host_id = RunHostId::encode(program, CHIP).0.into();
            DeviceOp { run_host_id, begin_cycle, ..DeviceOp::default() }
        };
        let mut launches: Vec<DeviceOp> = launched.iter().map(launch).collect();
        let row = |time, is_end, metadata: &str| {
            DispatchRow::new(time, Risc::Brisc, is_end, "CQ-DISPATCH", metadata.as_bytes())
        };
        let rows = dispatched.iter().zip(100..).flat_map(|(&(id, time), cycles)| {
            let notify = "CQ_DISPATCH_NOTIFY_SUBORDINATE_GO_SIGNAL";
            [
                row(time, false, &format!(r#"{{"workers_runtime_id":{id}}}"#)),
                row(time, false, &format!(r#"{{"dispatch_command_type":"{notify}"}}"#)),
                row(time + cycles, true, ""),
            ]
        });
        let mut chip_launches: Vec<&mut DeviceOp> = launches.iter_mut().collect();
        chip_launches.sort_by_key(|launch| launch.begin_cycle);
        let unknown_count = attach_to_chip(&mut chip_launches, vec![rows.collect()], 1000.0);
        let text = |launch: &DeviceOp| launch.cells.get(COLUMNS[0]).map(ToString::to_string);
        let known = launched.iter().zip(&launches);
        let known = known.filter_map(|((program, _), launch)| Some((*program, text(launch)?)));
        (known.collect(), unknown_count)
    }

    /// Returns programs that run one after the other, each dispatched 500 cycles before its start.
    fn in_turn(programs: impl Iterator<Item = u32>) -> Vec<(u32, u64)> {
        programs.zip((1_000..).step_by(1_000)).collect()
    }

    fn cut(launched: &[(u32, u64)]) -> Vec<(u64, u64)> {
        launched.iter().map(|&(id, begin)| (u64::from(id & 0xFFFF), begin - 500)).collect()
    }

    fn durations(programs: impl Iterator<Item = u32>) -> Vec<(u32, String)> {
        programs.zip(100..).map(|(program, cycles)| (program, cycles.to_string())).collect()
    }

    #[test]
    fn a_programs_id_is_no_other_programs_encoded_one() {
        // 1025 is the encoded id of program 1 on chip 1.
        let launched = in_turn(1..=1_100);
        assert_eq!(attached(&launched, &cut(&launched)), (durations(1..=1_100), 0));
        let encoded = launched
            .iter()
            .map(|&(id, begin)| (u64::from(RunHostId::encode(id, CHIP).0), begin - 500));
        let encoded: Vec<_> = encoded.collect();
        assert_eq!(attached(&launched, &encoded), (durations(1..=1_100), 0));
        let (launched, encoded) = (&launched[1_000..], &encoded[990..]);
        let known: Vec<_> =
            durations(991..=1_100).into_iter().filter(|(id, _)| *id > 1_000).collect();
        assert_eq!(attached(launched, encoded), (known, 10));
    }

    #[test]
    fn programs_beyond_16_bits_are_matched_in_the_order_of_time() {
        let programs = || (60_000..140_000).filter(|id| id & 0xFFFF != 0);
        let launched = in_turn(programs());
        let (known, unknown_count) = attached(&launched, &cut(&launched));
        assert_eq!(unknown_count, 0);
        let different = known.iter().zip(durations(programs())).find(|(known, all)| *known != all);
        assert_eq!((different, known.len()), (None, launched.len()));
    }

    #[test]
    fn a_program_whose_low_bits_are_0_is_unknown() {
        let launched = in_turn(65_534..=65_538);
        let mut all = durations(65_534..=65_538);
        all.remove(2);
        assert_eq!(attached(&launched, &cut(&launched)), (all, 0));
    }

    #[test]
    fn replays_and_gaps_do_not_count_as_a_turn() {
        // The first two programs run again as a trace. Later, the records of 30,000 programs are
        // lost.
        let ids = [65_530, 65_531, 65_540, 65_541, 65_530, 65_531, 65_542, 95_540];
        let launched = in_turn(ids.into_iter());
        let known: Vec<_> = launched.iter().copied().filter(|&(id, _)| id != 65_541).collect();
        let (known, unknown_count) = attached(&known, &cut(&launched));
        let expected = [(65_530, 100), (65_531, 101), (65_540, 102), (65_542, 106), (95_540, 107)];
        let expected = expected.map(|(id, cycles): (u32, u32)| (id, cycles.to_string()));
        assert_eq!(known, expected);
        assert_eq!(unknown_count, 1, "65,541, whose launch is not there");
    }

    #[test]
    fn one_launch_is_not_that_of_two_programs() {
        // The launch of the second op is missing.
        let dispatched = [(7, 500), (40_000, 1_500), (7, 2_500)];
        let (known, unknown_count) = attached(&[(7, 1_000), (40_000, 2_000)], &dispatched);
        assert_eq!(known, [(7, "100".to_owned()), (40_000, "101".to_owned())]);
        assert_eq!(unknown_count, 1);
        // With this many programs in between, the ids have wrapped around once more before the
        // launch.
        let mut launched = in_turn(300..=131_600);
        let (_, begin) = launched.remove(66_000 - 300);
        let (known, unknown_count) = attached(&launched, &[(66_000 & 0xFFFF, begin - 500)]);
        assert_eq!((known, unknown_count), (vec![], 1));
    }
}
