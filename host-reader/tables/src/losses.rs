//! Two tables of missing records: `losses` by lane, and `loss_groups` summed over cores and
//! programs.

use crate::{Column, DATASET_FOLDERS, RecordingKey, Table};
use analysis::LossGroup;
use reader::ledger::{LossKey, LossLedger, LossTotals};
use wire::RunHostId;

/// Table of missing records.
pub struct Losses;

/// Table of missing records, summed over cores and programs.
pub struct LossGroups;

/// Missing records of one lane, cause and program.
#[derive(Clone, Copy, Debug)]
pub struct LossRow<'a> {
    /// Lane, cause and program.
    pub key: LossKey,
    /// Numbers of missing records, by kind of record.
    pub totals: LossTotals,
    /// Recording; used only in datasets.
    pub recording: RecordingKey<'a>,
    /// Time at which traces show the loss; used only in datasets.
    pub time_ns: Option<i64>,
}

impl LossRow<'static> {
    /// Creates the rows for the losses in a ledger, for outputs other than datasets.
    #[must_use]
    pub fn from_ledger(losses: &LossLedger) -> Vec<Self> {
        losses
            .entries()
            .map(|(&key, &totals)| Self {
                key,
                totals,
                recording: RecordingKey::default(),
                time_ns: None,
            })
            .collect()
    }
}

const ONE_PROGRAM: &str = "the records belong to one program, or the range is unknown";
const CAUSE: &str = "L1 full, DRAM full, never arrived, damaged, host overwrote, validate off, push timed out, not published in time, unreadable, not read, ring full, overwritten or skipped";
const NO_RUNS: &str = "the device does not count runs";

type LossColumn = Column<Losses>;
type GroupColumn = Column<LossGroups>;

/// Returns the number of runs with lost records. If the number is 0, the device does not count such
/// runs, and `None` is returned.
fn runs(totals: LossTotals) -> Option<u64> {
    Some(totals.runs).filter(|&runs| runs > 0)
}

impl Table for Losses {
    type Row<'a> = LossRow<'a>;
    const NAME: &'static str = "losses";
    const ROW: &'static str = "missing records of one RISC, program and cause";
    const PARTITIONS: &'static [&'static str] = DATASET_FOLDERS;
    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        LossColumn::text("host", super::HOST, |row| row.recording.host.into()).in_dataset(),
        LossColumn::text("recording", super::RECORDING, |row| row.recording.recording.into()).in_dataset(),
        LossColumn::small("chip_id", super::CHIP_ID, |row| row.key.lane.chip_id).in_summary(),
        LossColumn::small("core_x", super::CORE_X, |row| row.key.lane.core.x.into()).in_summary(),
        LossColumn::small("core_y", super::CORE_Y, |row| row.key.lane.core.y.into()).in_summary(),
        LossColumn::text("risc", super::RISC, |row| row.key.lane.risc.label().into()).in_summary(),
        LossColumn::text("cause", CAUSE, |row| row.key.cause.label().into()).in_summary(),
        LossColumn::optional_small("run_host_id", super::RUN_HOST_ID, "unknown program", |row| row.key.program.map(|RunHostId(id)| id)).in_summary(),
        LossColumn::number("zones", "missing zones", |row| row.totals.zones).in_summary(),
        LossColumn::number("data", "missing data markers", |row| row.totals.data).in_summary(),
        LossColumn::number("events", "missing events", |row| row.totals.events).in_summary(),
        LossColumn::number("sums", "missing sums", |row| row.totals.sums).in_summary(),
        LossColumn::number("unknown_markers", "missing markers of unknown kind", |row| row.totals.unknown_markers).in_summary(),
        LossColumn::flag("is_lower_bound", "whether more may be missing", |row| row.totals.is_lower_bound).in_summary(),
        LossColumn::flag("is_intended", "whether a setting omits the records on purpose", |row| row.key.cause.is_intended()),
        LossColumn::optional_number("runs", "runs that lost records", NO_RUNS, |row| runs(row.totals)).in_summary(),
        LossColumn::optional_small("first_run_host_id", "id of the first program in the range whose programs lost records", ONE_PROGRAM, |row| row.totals.programs.map(|span| span.first.0)).in_summary(),
        LossColumn::optional_small("last_run_host_id", "id of the last program in this range", ONE_PROGRAM, |row| row.totals.programs.map(|span| span.last.0)).in_summary(),
        LossColumn::optional_signed("time_ns", "time at which traces show the loss, relative to the recording's first record", "the chip has no records", |row| row.time_ns).in_dataset(),
    ];
}

impl Table for LossGroups {
    type Row<'a> = LossGroup;
    const NAME: &'static str = "loss_groups";
    const ROW: &'static str = "missing records of one cause and RISC of one chip";
    const PARTITIONS: &'static [&'static str] = &[];
    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        GroupColumn::text("cause", CAUSE, |row| row.cause.label().into()).titled("cause"),
        GroupColumn::small("chip_id", super::CHIP_ID, |row| row.chip_id).titled("chip"),
        GroupColumn::text("risc", super::RISC, |row| row.risc.label().into()).titled("RISC"),
        GroupColumn::text("programs", "ids of the programs, without the chip, as at most three ranges", |row| (&*row.programs).into()).titled("programs"),
        GroupColumn::number("core_count", "cores that lost records", |row| row.core_count as u64).titled("cores"),
        GroupColumn::optional_number("runs", "runs that lost records", NO_RUNS, |row| runs(row.totals)).titled("runs"),
        GroupColumn::number("zones", "missing zones", |row| row.totals.zones).titled("zones").bounded(),
        GroupColumn::number("data", "missing data markers", |row| row.totals.data).titled("data").bounded(),
        GroupColumn::number("events", "missing events", |row| row.totals.events).titled("events").bounded(),
        GroupColumn::number("sums", "missing sums", |row| row.totals.sums).titled("sums").bounded(),
        GroupColumn::number("unknown_markers", "missing markers of unknown kind", |row| row.totals.unknown_markers).titled("markers").bounded(),
        GroupColumn::flag("is_lower_bound", "whether more may be missing", |row| row.totals.is_lower_bound).in_summary(),
    ];
}
