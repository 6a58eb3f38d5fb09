//! A loss ledger. It is stored if the capture lacks the raw words from which the losses could be
//! computed again.
//!
//! Kind 10, version 1.0:
//!
//! ```text
//!  0  u32  entry count
//!  4  u32  bytes of one entry
//!  8  ...  entries
//! ```
//!
//! Layout of an entry:
//!
//! ```text
//!  0  u32  chip id                           12  u32  run host id, if known
//!  4  u16  NoC-0 x                           16  u64  zones
//!  6  u16  NoC-0 y                           24  u64  data
//!  8  u8   RISC, in report order             32  u64  events
//!  9  u8   cause: 0 = L1 full, 1 = DRAM      40  u64  sums
//!          full, 2 = never arrived,          48  u64  markers of unknown kind
//!          3 = damaged, 4 = overwritten,     56  u64  runs
//!          5 = validate off, 6 = push        64  u32  run host id of the first launch
//!          timed out, 7 = not published,     68  u32  run host id of the last launch
//!          8 = unreadable, 9 = not read,
//!          10 = ring full, 11 = ring
//!          overwritten, 12 = ring skipped
//! 10  u8   bit 0: program known; bit 1: first and last launch known
//! 11  u8   1 if the counts are lower bounds
//! ```
//!
//! If no entry of a ledger has runs or launches, all entries have 56 bytes and omit the last three
//! fields.

use super::{
    Payload, SectionKind,
    fields::{Fields, Record, field_count, number_of, put_u16s, put_u32s, put_u64s},
    memory::risc_of_number,
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::{
    lane::LaneId,
    ledger::{LossCause, LossKey, LossLedger, LossTotals, ProgramSpan},
    mesh::Noc0Coord,
};
use wire::{Risc, RunHostId};

impl<'file> Payload<'file> for LossLedger {
    const KIND: SectionKind = SectionKind::LEDGER;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let has_runs =
            self.entries().any(|(_, totals)| totals.runs != 0 || totals.programs.is_some());
        let entry_bytes = if has_runs { ENTRY_BYTES } else { COUNTS_BYTES };
        put_u32s(buffer, [field_count(self.entries().count())?, entry_bytes]);
        for (key, totals) in self.entries() {
            put_counts(buffer, key, totals);
            if has_runs {
                put_u64s(buffer, [totals.runs]);
                let span = totals.programs.map_or([0; 2], |span| [span.first.0, span.last.0]);
                put_u32s(buffer, span);
            }
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let [count, stride] = fields.record("head", 8)?.u32s();
        let has_runs = stride >= ENTRY_BYTES;
        let mut ledger = Self::default();
        for mut entry in fields.records("entries", COUNTS_BYTES, [count, stride])? {
            let (key, mut totals, has_span) = take_counts(&mut entry, &fields)?;
            if has_runs {
                [totals.runs] = entry.u64s();
                let [first, last] = entry.u32s().map(RunHostId);
                totals.programs = has_span.then_some(ProgramSpan { first, last });
            }
            ledger.record(key, totals);
        }
        Ok(ledger)
    }
}

/// Size of an entry without the fields for runs and launches; `ENTRY_BYTES` includes these fields.
const COUNTS_BYTES: u32 = 56;
const ENTRY_BYTES: u32 = 72;

const HAS_PROGRAM: u8 = 1;
const HAS_SPAN: u8 = 2;

/// Appends the fields of an entry, except for runs and launches.
fn put_counts(buffer: &mut Vec<u8>, key: &LossKey, totals: &LossTotals) {
    let LaneId { chip_id, core, risc } = key.lane;
    put_u32s(buffer, [chip_id]);
    put_u16s(buffer, [core.x, core.y]);
    let known_programs =
        key.program.map_or(0, |_| HAS_PROGRAM) | totals.programs.map_or(0, |_| HAS_SPAN);
    let (risc, cause) = (number_of(&Risc::ALL, &risc), number_of(&LossCause::ALL, &key.cause));
    buffer.extend([risc, cause, known_programs, totals.is_lower_bound.into()]);
    put_u32s(buffer, [key.program.map_or(0, |program| program.0)]);
    let LossTotals { zones, data, events, sums, unknown_markers, .. } = *totals;
    put_u64s(buffer, [zones, data, events, sums, unknown_markers]);
}

/// Reads the fields of an entry, except for runs and launches. Also returns true if the entry
/// states its first and last launch.
fn take_counts(
    entry: &mut Record<'_>,
    fields: &Fields<'_>,
) -> Result<(LossKey, LossTotals, bool), MalformedPayload> {
    let [chip_id] = entry.u32s();
    let [x, y] = entry.u16s();
    let [risc, cause, known_programs, is_lower_bound] = entry.u8s();
    let [program] = entry.u32s().map(RunHostId);
    let [zones, data, events, sums, unknown_markers] = entry.u64s();
    let risc = risc_of_number(risc, fields)?;
    let known_cause = LossCause::ALL.get(usize::from(cause)).copied();
    let key = LossKey {
        lane: LaneId { chip_id, core: Noc0Coord { x, y }, risc },
        cause: known_cause.ok_or_else(|| fields.fault("cause", "0 to 8", &cause))?,
        program: (known_programs & HAS_PROGRAM != 0).then_some(program),
    };
    let is_lower_bound = is_lower_bound != 0;
    let totals = LossTotals {
        zones,
        data,
        events,
        sums,
        unknown_markers,
        is_lower_bound,
        ..LossTotals::default()
    };
    Ok((key, totals, known_programs & HAS_SPAN != 0))
}

// A capture stores a cause as its index in this list.
const _: () = assert!(matches!(
    LossCause::ALL,
    [
        LossCause::L1Full,
        LossCause::DramFull,
        LossCause::NeverArrived,
        LossCause::Damaged,
        LossCause::HostOverwritten,
        LossCause::ValidateOff,
        LossCause::PushTimedOut,
        LossCause::NotPublished,
        LossCause::Unreadable,
        LossCause::Unread,
        LossCause::RingFull,
        LossCause::Overwritten,
        LossCause::Skipped,
    ]
));
