//! Beginning and options of a read.
//!
//! Kind 2, version 1.0:
//!
//! ```text
//!  0  u32  number of the read, from 0     16  u32  chips of the mesh
//!  4  u32  flags                          20  u32  chosen chips
//!  8  u32  program support count          24  u32  chosen kinds of core
//! 12  u8   generation: 0 = found,         28  u32  chosen cores
//!          1 = current, 2 = legacy        32  u32  chip ids, in the order of the mesh ...
//! 13  u8   bits of a marker header that   ..  u32  chosen chip ids ...
//!          are time; 0 = as usual         ..  u32  chosen kinds ...
//! 14  u8   mode: 0 = workers,             ..  u16  chosen cores: NoC-0 x, y ...
//!          1 = dispatch cores,
//!          2 = trace only
//! 15  u8   host ids: 0 = base, 1 = encoded
//! ```
//!
//! Flags: bit 0 = no launch will follow, bit 1 = lanes have space for sums, bit 2 = first read of
//! the reader, bit 3 = nothing was written to the chips, bit 4 = repetition of the previous run for
//! other hardware counters. Kinds of cores are numbered as in the core records of a device section.
//! A count of 0xFFFFFFFF means that all items are selected; the list of items is then empty.

use super::{
    Payload, SectionKind,
    device::{core_kind_number, core_kind_of_number},
    fields::{Fields, RawRecord, field_count, put, raw_records},
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
use zerocopy::little_endian::{U16, U32};

/// The beginning of a read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBegin {
    /// Number of the read, from 0.
    pub read_number: u32,
    /// True if this was the first read of the reader, which did not have any lane state yet.
    pub is_fresh: bool,
    /// True if the read belongs to a repetition of the previous run, made to record other hardware
    /// counters.
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
        put(
            buffer,
            &RawHead {
                read_number: U32::new(self.read_number),
                flags: U32::new(flags),
                program_support_count: U32::new(options.program_support_count),
                generation: options.generation as u8,
                time_high_bits: u8::try_from(time_high_bits).unwrap_or(u8::MAX),
                mode: options.mode as u8,
                host_ids: options.host_ids as u8,
                chips: U32::new(field_count(self.chips.len())?),
                chosen_chips: chosen_count(chips.as_ref())?,
                chosen_kinds: chosen_count(kinds.as_ref())?,
                chosen_cores: chosen_count(cores.as_ref())?,
            },
        );
        let kinds = kinds.iter().flatten().map(|&kind| u32::from(core_kind_number(kind)));
        let numbers = self.chips.iter().chain(chips.iter().flatten()).copied().chain(kinds);
        numbers.for_each(|number| put(buffer, &U32::new(number)));
        for core in cores.iter().flatten() {
            put(buffer, &[U16::new(core.x), U16::new(core.y)]);
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawHead = fields.record("head")?;
        let chips = fields.records::<U32>("chips", head.chips.get(), 4)?;
        let chips = chips.map(|id| id.get()).collect();
        let chosen_chips = chosen::<U32>(&mut fields, "chosen chips", head.chosen_chips)?;
        let kinds = chosen::<U32>(&mut fields, "chosen kinds", head.chosen_kinds)?;
        let cores = chosen::<[U16; 2]>(&mut fields, "chosen cores", head.chosen_cores)?;
        let kinds = kinds.map(|kinds| {
            let kinds = kinds.map(|kind| core_kind_of_number(kind.get(), &fields));
            kinds.collect::<Result<BTreeSet<_>, _>>()
        });
        let cores = CoreSelection {
            chips: chosen_chips.map(|ids| ids.map(|id| id.get()).collect()),
            kinds: kinds.transpose()?,
            cores: cores
                .map(|places| places.map(|[x, y]| Noc0Coord { x: x.get(), y: y.get() }).collect()),
        };
        Ok(Self {
            read_number: head.read_number.get(),
            is_fresh: head.flags.get() & FRESH != 0,
            is_counter_pass: head.flags.get() & COUNTER_PASS != 0,
            chips,
            options: head.options(cores, &fields)?,
        })
    }
}

const LAST_READ: u32 = 1;
const SUMS_ENABLED: u32 = 2;
const READ_ONLY: u32 = 8;
const FRESH: u32 = 4;
const COUNTER_PASS: u32 = 16;
const ALL_CHOSEN: u32 = u32::MAX;

fn chosen_count<T>(chosen: Option<&BTreeSet<T>>) -> Result<U32, CaptureError> {
    chosen.map_or(Ok(ALL_CHOSEN), |chosen| field_count(chosen.len())).map(U32::new)
}

/// Returns the selected items; `None` if all items are selected.
fn chosen<'file, T: RawRecord + 'file>(
    fields: &mut Fields<'file>,
    field: &'static str,
    count: U32,
) -> Result<Option<impl Iterator<Item = &'file T> + use<'file, T>>, MalformedPayload> {
    if count.get() == ALL_CHOSEN {
        return Ok(None);
    }
    let stride = u32::try_from(size_of::<T>()).unwrap_or(u32::MAX);
    Ok(Some(fields.records::<T>(field, count.get(), stride)?))
}

raw_records! {
    RawHead: 32 => {
        read_number: U32,
        flags: U32,
        program_support_count: U32,
        generation: u8,
        time_high_bits: u8,
        mode: u8,
        host_ids: u8,
        chips: U32,
        chosen_chips: U32,
        chosen_kinds: U32,
        chosen_cores: U32,
    }
}

impl RawHead {
    fn options(
        &self,
        cores: CoreSelection,
        fields: &Fields<'_>,
    ) -> Result<ReadOptions, MalformedPayload> {
        let time_high_bits = u32::from(self.time_high_bits);
        Ok(ReadOptions {
            program_support_count: self.program_support_count.get(),
            sums_enabled: self.flags.get() & SUMS_ENABLED != 0,
            cores,
            generation: match self.generation {
                0 => GenerationChoice::Auto,
                1 => GenerationChoice::Current,
                2 => GenerationChoice::Legacy,
                other => return Err(fields.fault("generation", "0 to 2", &other)),
            },
            header_layout: (time_high_bits != 0).then_some(HeaderLayout { time_high_bits }),
            last_read: self.flags.get() & LAST_READ != 0,
            read_only: self.flags.get() & READ_ONLY != 0,
            host_ids: match self.host_ids {
                0 => HostIdForm::Base,
                1 => HostIdForm::Encoded,
                other => return Err(fields.fault("host ids", "0 or 1", &other)),
            },
            mode: match self.mode {
                0 => CaptureMode::Workers,
                1 => CaptureMode::DispatchCores,
                2 => CaptureMode::TraceOnly,
                3 => CaptureMode::Accumulate,
                other => return Err(fields.fault("mode", "0 to 3", &other)),
            },
            zones: ZoneTable::new(),
        })
    }
}

const _: () = assert!(CaptureMode::TraceOnly as u8 == 2 && CaptureMode::DispatchCores as u8 == 1);
const _: () = assert!(CaptureMode::Accumulate as u8 == 3);
const _: () = assert!(HostIdForm::Encoded as u8 == 1);
const _: () = assert!(GenerationChoice::Current as u8 == 1 && GenerationChoice::Legacy as u8 == 2);
