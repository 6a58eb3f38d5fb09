//! Beginning and options of a read.
//!
//! Kind 2, version 1.0:
//!
//! ```text
//!  0  u32  number of the read, from 0     16  u32  chip count
//!  4  u32  flags                          20  u32  chosen chip count
//!  8  u32  program support count          24  u32  chosen core kind count
//! 12  u8   generation: 0 = detected,      28  u32  chosen core count
//!          1 = current, 2 = legacy        32  u32  chip ids, in the order of the mesh ...
//! 13  u8   number of time bits in marker  ..  u32  chosen chip ids ...
//!          headers; 0 = default           ..  u32  chosen kinds ...
//! 14  u8   mode: 0 = workers,             ..  u16  chosen cores: NoC-0 x, y ...
//!          1 = dispatch cores,
//!          2 = trace only,
//!          3 = accumulate
//! 15  u8   host ids: 0 = base, 1 = encoded
//! ```
//!
//! Flags: bit 0 = last read: no launch will follow it, bit 1 = lanes have space for the totals of
//! sum zones, bit 2 = first read of the reader, bit 3 = nothing was written to the chips, bit 4 =
//! repetition of the previous run for other hardware counters. Kinds of cores are numbered as in
//! the core records of a device section. If the count of chosen chips, kinds or cores is
//! 0xFFFFFFFF, all of them are chosen and the list is empty.

use super::{
    Payload, SectionKind,
    device::CORE_KINDS,
    fields::{Fields, Record, field_count, number_of, put_u16s, put_u32s},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::{
    decode::{CaptureMode, HostIdForm},
    mesh::{CoreSelection, Noc0Coord},
    names::ZoneTable,
    read::{GenerationChoice, ReadOptions},
};
use std::collections::BTreeSet;
use wire::marker::HeaderLayout;

/// The beginning of a read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBegin {
    /// Number of the read in the capture, counted from 0.
    pub read_number: u32,
    /// True if this was the first read of the reader, which did not have any lane state yet.
    pub is_fresh: bool,
    /// True if the read belongs to a run that repeats the previous run in order to record other
    /// hardware counters.
    pub is_counter_pass: bool,
    /// Chip ids in the order of the mesh.
    pub chips: Vec<u32>,
    /// Options of the read, without zone names, which are in separate sections.
    pub options: ReadOptions,
}

impl<'file> Payload<'file> for ReadBegin {
    const KIND: SectionKind = SectionKind::READ_BEGIN;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let options = &self.options;
        let flags = [
            options.last_read,
            options.sums_enabled,
            self.is_fresh,
            options.read_only,
            self.is_counter_pass,
        ];
        let flags = (0..).zip(flags).map(|(bit, is_set)| u32::from(is_set) << bit).sum();
        let time_high_bits = options.header_layout.map_or(0, |layout| layout.time_high_bits);
        let CoreSelection { chips, kinds, cores } = &options.cores;
        put_u32s(buffer, [self.read_number, flags, options.program_support_count]);
        buffer.extend([
            number_of(&GENERATIONS, &options.generation),
            u8::try_from(time_high_bits).unwrap_or(u8::MAX),
            number_of(&MODES, &options.mode),
            number_of(&HOST_IDS, &options.host_ids),
        ]);
        put_u32s(buffer, [field_count(self.chips.len())?, chosen_count(chips.as_ref())?]);
        put_u32s(buffer, [chosen_count(kinds.as_ref())?, chosen_count(cores.as_ref())?]);
        put_u32s(buffer, self.chips.iter().chain(chips.iter().flatten()).copied());
        let kinds = kinds.iter().flatten().map(|kind| number_of(&CORE_KINDS, kind));
        put_u32s(buffer, kinds.map(u32::from));
        put_u16s(buffer, cores.iter().flatten().flat_map(|core| [core.x, core.y]));
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let mut head = fields.record("head", 32)?;
        let [read_number, flags, program_support_count] = head.u32s();
        let [generation, time_high_bits, mode, host_ids] = head.u8s();
        let [chip_count, chosen_chips, chosen_kinds, chosen_cores] = head.u32s();
        let number = |mut record: Record<'_>| record.u32s::<1>()[0];
        let chips = fields.records("chips", 4, [chip_count, 4])?.map(number).collect();
        let chosen_chips = chosen(&mut fields, "chosen chips", chosen_chips)?;
        let kinds = chosen(&mut fields, "chosen kinds", chosen_kinds)?;
        let cores = chosen(&mut fields, "chosen cores", chosen_cores)?;
        let kinds = kinds.map(|kinds| {
            let kinds = kinds.map(|kind| fields.item("core kind", &CORE_KINDS, number(kind)));
            kinds.collect::<Result<BTreeSet<_>, _>>()
        });
        let place = |mut record: Record<'_>| {
            let [x, y] = record.u16s();
            Noc0Coord { x, y }
        };
        let cores = CoreSelection {
            chips: chosen_chips.map(|ids| ids.map(number).collect()),
            kinds: kinds.transpose()?,
            cores: cores.map(|places| places.map(place).collect()),
        };
        let time_high_bits = u32::from(time_high_bits);
        let options = ReadOptions {
            program_support_count,
            sums_enabled: flags & SUMS_ENABLED != 0,
            cores,
            generation: fields.item("generation", &GENERATIONS, generation.into())?,
            header_layout: (time_high_bits != 0).then_some(HeaderLayout { time_high_bits }),
            last_read: flags & LAST_READ != 0,
            read_only: flags & READ_ONLY != 0,
            host_ids: fields.item("host ids", &HOST_IDS, host_ids.into())?,
            mode: fields.item("mode", &MODES, mode.into())?,
            zones: ZoneTable::new(),
        };
        let (is_fresh, is_counter_pass) = (flags & FRESH != 0, flags & COUNTER_PASS != 0);
        Ok(Self { read_number, is_fresh, is_counter_pass, chips, options })
    }
}

const LAST_READ: u32 = 1;
const SUMS_ENABLED: u32 = 2;
const READ_ONLY: u32 = 8;
const FRESH: u32 = 4;
const COUNTER_PASS: u32 = 16;
const ALL_CHOSEN: u32 = u32::MAX;

/// The possible values of the option `generation`. A capture stores a value as its index in this
/// list. `MODES` and `HOST_IDS` are such lists for two other options.
const GENERATIONS: [GenerationChoice; 3] =
    [GenerationChoice::Auto, GenerationChoice::Current, GenerationChoice::Legacy];
const MODES: [CaptureMode; 4] = [
    CaptureMode::Workers,
    CaptureMode::DispatchCores,
    CaptureMode::TraceOnly,
    CaptureMode::Accumulate,
];
const HOST_IDS: [HostIdForm; 2] = [HostIdForm::Base, HostIdForm::Encoded];

fn chosen_count<T>(chosen: Option<&BTreeSet<T>>) -> Result<u32, CaptureError> {
    chosen.map_or(Ok(ALL_CHOSEN), |chosen| field_count(chosen.len()))
}

/// Reads a list of chosen chips, kinds or cores, with four bytes for each. Returns `None` if all of
/// them are chosen.
fn chosen<'file>(
    fields: &mut Fields<'file>,
    field: &'static str,
    count: u32,
) -> Result<Option<impl Iterator<Item = Record<'file>> + use<'file>>, MalformedPayload> {
    (count != ALL_CHOSEN).then(|| fields.records(field, 4, [count, 4])).transpose()
}
