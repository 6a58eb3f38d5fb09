//! A loss ledger, for captures without the raw words from which losses could be recomputed.
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
//!          8 = unreadable, 9 = not read
//! 10  u8   bit 0: the program is known, bit 1: the first and the last launch are
//! 11  u8   1 if more may be missing
//! ```
//!
//! If a ledger has no runs and launches, its entries have 56 bytes and omit these fields.

use super::{
    Payload, SectionKind,
    fields::{Fields, put_entries, raw_records},
    memory::{risc_number, risc_of_number},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::{
    lane::LaneId,
    ledger::{LossCause, LossKey, LossLedger, LossTotals, ProgramSpan},
    mesh::Noc0Coord,
};
use wire::RunHostId;
use zerocopy::little_endian::{U16, U32, U64};

impl<'file> Payload<'file> for LossLedger {
    const KIND: SectionKind = SectionKind::LEDGER;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let count = self.entries().count();
        if self.entries().all(|(_, totals)| totals.runs == 0 && totals.programs.is_none()) {
            let entries = self.entries().map(|(key, totals)| RawCounts::new(key, totals));
            return put_entries(buffer, count, entries);
        }
        let entries = self.entries().map(|(key, totals)| RawEntry::new(key, totals));
        put_entries(buffer, count, entries)
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let [count, stride_bytes]: &[U32; 2] = fields.record("head")?;
        let (count, stride_bytes) = (count.get(), stride_bytes.get());
        let mut ledger = Self::default();
        if (stride_bytes as usize) < size_of::<RawEntry>() {
            for entry in fields.records::<RawCounts>("entries", count, stride_bytes)? {
                ledger.record(entry.key(&fields)?, entry.totals());
            }
        } else {
            for entry in fields.records::<RawEntry>("entries", count, stride_bytes)? {
                ledger.record(entry.counts.key(&fields)?, entry.totals());
            }
        }
        Ok(ledger)
    }
}

raw_records! {
    /// An entry of a ledger with runs and launches, which has additional fields.
    RawEntry: 72 => {
        counts: RawCounts,
        runs: U64,
        first_program: U32,
        last_program: U32,
    }
    RawCounts: 56 => {
        chip_id: U32,
        x: U16,
        y: U16,
        risc: u8,
        cause: u8,
        known_programs: u8,
        is_lower_bound: u8,
        program: U32,
        zones: U64,
        data: U64,
        events: U64,
        sums: U64,
        unknown_markers: U64,
    }
}

const HAS_PROGRAM: u8 = 1;
const HAS_SPAN: u8 = 2;

impl RawEntry {
    fn new(key: &LossKey, totals: &LossTotals) -> Self {
        let [first, last] =
            totals.programs.map_or([0; 2], |span| [span.first.0, span.last.0]).map(U32::new);
        Self {
            counts: RawCounts::new(key, totals),
            runs: U64::new(totals.runs),
            first_program: first,
            last_program: last,
        }
    }

    fn totals(&self) -> LossTotals {
        let [first, last] = [&self.first_program, &self.last_program].map(|id| RunHostId(id.get()));
        let has_span = self.counts.known_programs & HAS_SPAN != 0;
        LossTotals {
            runs: self.runs.get(),
            programs: has_span.then_some(ProgramSpan { first, last }),
            ..self.counts.totals()
        }
    }
}

impl RawCounts {
    fn new(key: &LossKey, totals: &LossTotals) -> Self {
        let cause = LossCause::ALL.iter().position(|&cause| cause == key.cause);
        Self {
            chip_id: U32::new(key.lane.chip_id),
            x: U16::new(key.lane.core.x),
            y: U16::new(key.lane.core.y),
            risc: risc_number(key.lane.risc),
            cause: cause.and_then(|cause| u8::try_from(cause).ok()).unwrap_or(u8::MAX),
            known_programs: key.program.map_or(0, |_| HAS_PROGRAM)
                | totals.programs.map_or(0, |_| HAS_SPAN),
            is_lower_bound: u8::from(totals.is_lower_bound),
            program: U32::new(key.program.map_or(0, |program| program.0)),
            zones: U64::new(totals.zones),
            data: U64::new(totals.data),
            events: U64::new(totals.events),
            sums: U64::new(totals.sums),
            unknown_markers: U64::new(totals.unknown_markers),
        }
    }

    fn key(&self, fields: &Fields<'_>) -> Result<LossKey, MalformedPayload> {
        let core = Noc0Coord { x: self.x.get(), y: self.y.get() };
        let risc = risc_of_number(self.risc, fields)?;
        let cause = LossCause::ALL.get(usize::from(self.cause)).copied();
        Ok(LossKey {
            lane: LaneId { chip_id: self.chip_id.get(), core, risc },
            cause: cause.ok_or_else(|| fields.fault("cause", "0 to 8", &self.cause))?,
            program: (self.known_programs & HAS_PROGRAM != 0)
                .then_some(RunHostId(self.program.get())),
        })
    }

    fn totals(&self) -> LossTotals {
        LossTotals {
            zones: self.zones.get(),
            data: self.data.get(),
            events: self.events.get(),
            sums: self.sums.get(),
            unknown_markers: self.unknown_markers.get(),
            is_lower_bound: self.is_lower_bound != 0,
            ..LossTotals::default()
        }
    }
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
