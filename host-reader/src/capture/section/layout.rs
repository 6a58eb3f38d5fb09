//! How a chip's lanes lie in DRAM and how their words are to be taken.
//!
//! Kind 2, version 1.0:
//!
//! ```text
//!  0  u32  chip id                       20  u8   1 if lanes have room for sums
//!  4  u32  program support count         21  u8   bits of a marker header that are time
//!  8  u32  core count                    22  u8   mode: 0 = workers, 1 = dispatch cores,
//! 12  u32  DRAM bank count                         2 = trace only
//! 16  u32  words of one lane             23  u8   host ids: 0 = base, 1 = encoded
//!                                        24  u32  bytes of the generation's name
//!                                        28  u32  0
//!                                        32  ...  the name
//! ```

use super::{
    Payload, SectionKind, VERSION_1_0,
    fields::{Fields, field_count, put},
    sealed::Sealed,
};
use crate::{
    capture::{error::CaptureError, frame::SectionVersion, problem::MalformedPayload},
    decode::{CaptureMode, HostIdForm},
};
use wire::{Generation, generation, marker::HeaderLayout};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U32};

/// How a chip's lanes lie in DRAM and how their words are to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneLayout {
    /// Number of the chip.
    pub chip_id: u32,
    /// Programs that a lane was asked to hold.
    pub program_support_count: u32,
    /// Whether lanes have room for sums.
    pub sums_enabled: bool,
    /// Cores that were dealt to banks.
    pub core_count: u32,
    /// Banks that they were dealt to.
    pub bank_count: u32,
    /// Words of one lane.
    pub lane_words: u32,
    /// The format of the words, with any override of its header layout applied.
    pub generation: Generation,
    /// What the device was built to record.
    pub mode: CaptureMode,
    /// How launches carried their program ids.
    pub host_ids: HostIdForm,
}

impl Sealed for LaneLayout {}

impl<'file> Payload<'file> for LaneLayout {
    const KIND: SectionKind = SectionKind::LAYOUT;
    const VERSION: SectionVersion = VERSION_1_0;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let time_high_bits = self.generation.header.time_high_bits;
        put(
            buffer,
            &RawLayout {
                chip_id: U32::new(self.chip_id),
                program_support_count: U32::new(self.program_support_count),
                core_count: U32::new(self.core_count),
                bank_count: U32::new(self.bank_count),
                lane_words: U32::new(self.lane_words),
                sums_enabled: u8::from(self.sums_enabled),
                time_high_bits: u8::try_from(time_high_bits).unwrap_or(u8::MAX),
                mode: self.mode as u8,
                host_ids: self.host_ids as u8,
                name_bytes: U32::new(field_count(self.generation.name.len())?),
                reserved: U32::ZERO,
            },
        );
        buffer.extend_from_slice(self.generation.name.as_bytes());
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawLayout = fields.record("head")?;
        let mode = match head.mode {
            0 => CaptureMode::Workers,
            1 => CaptureMode::DispatchCores,
            2 => CaptureMode::TraceOnly,
            other => return Err(fields.fault("mode", "0 to 2", &other)),
        };
        let host_ids = match head.host_ids {
            0 => HostIdForm::Base,
            1 => HostIdForm::Encoded,
            other => return Err(fields.fault("host ids", "0 or 1", &other)),
        };
        Ok(Self {
            chip_id: head.chip_id.get(),
            program_support_count: head.program_support_count.get(),
            sums_enabled: head.sums_enabled != 0,
            core_count: head.core_count.get(),
            bank_count: head.bank_count.get(),
            lane_words: head.lane_words.get(),
            generation: head.generation(&mut fields)?,
            mode,
            host_ids,
        })
    }
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawLayout {
    chip_id: U32,
    program_support_count: U32,
    core_count: U32,
    bank_count: U32,
    lane_words: U32,
    sums_enabled: u8,
    time_high_bits: u8,
    mode: u8,
    host_ids: u8,
    name_bytes: U32,
    reserved: U32,
}

impl RawLayout {
    fn generation(&self, fields: &mut Fields<'_>) -> Result<Generation, MalformedPayload> {
        let time_high_bits = u32::from(self.time_high_bits);
        // A wider time would leave no bit for the id.
        if time_high_bits >= MARKER_BITS {
            return Err(fields.fault("time bits", "fewer than 28", &time_high_bits));
        }
        let name = fields.text("generation", self.name_bytes.get())?;
        let known = generation::ALL.into_iter().find(|known| known.name == name);
        let Some(known) = known else {
            let names = generation::ALL.map(|known| known.name).join(" or ");
            return Err(fields.fault("generation", &names, name));
        };
        Ok(Generation { header: HeaderLayout { time_high_bits }, ..known })
    }
}

/// Bits that id and time share.
const MARKER_BITS: u32 = 28;

const _: () = assert!(size_of::<RawLayout>() == 32);
const _: () = assert!(CaptureMode::TraceOnly as u8 == 2 && CaptureMode::DispatchCores as u8 == 1);
const _: () = assert!(HostIdForm::Encoded as u8 == 1);
