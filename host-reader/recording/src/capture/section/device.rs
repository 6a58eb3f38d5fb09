//! Description of a chip, as reported by the chip.
//!
//! Kind 1, version 1.0:
//!
//! ```text
//!  0  u32  chip id                       32  u32  core count
//!  4  u32  clock of the tiles, MHz       36  u32  bytes of one core record
//!  8  u32  size of the worker grid       40  u32  bytes of the architecture's name
//! 12  u32  DRAM bank count               44  u32  0
//! 16  u64  DRAM region address           48  ...  the name, padded
//! 24  u64  DRAM region bytes per bank    ..  ...  core records
//! ```
//!
//! Layout of a core record:
//!
//! ```text
//!  0  u16  NoC-0 x          8  u8   kind: 0 = Tensix, 1 = active, 2 = idle Ethernet
//!  2  u16  NoC-0 y          9  u8   0, three times
//!  4  u16  logical x       12  u32  flat id
//!  6  u16  logical y       16  u64  L1 address of the control vector
//!                          24  u64  L1 address of the first RISC's vector
//! ```
//!
//! Addresses and sizes have at most 48 bits.

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, pad, put, raw_records},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::mesh::{CoreDescription, DeviceDescription, DramDescription, LogicalCoord, Noc0Coord};
use wire::CoreKind;
use zerocopy::little_endian::{U16, U32, U64};

impl<'file> Payload<'file> for DeviceDescription {
    const KIND: SectionKind = SectionKind::DEVICE;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put(
            buffer,
            &RawDevice {
                chip_id: U32::new(self.chip_id),
                aiclk_mhz: U32::new(self.aiclk_mhz),
                max_compute_cores: U32::new(self.max_compute_cores),
                bank_count: U32::new(self.dram.bank_count),
                region_address: U64::new(self.dram.region_address),
                region_bytes: U64::new(self.dram.region_bytes),
                core_count: U32::new(field_count(self.cores.len())?),
                core_bytes: U32::new(CORE_BYTES),
                arch_bytes: U32::new(field_count(self.arch.len())?),
                reserved: U32::ZERO,
            },
        );
        buffer.extend_from_slice(self.arch.as_bytes());
        pad(buffer);
        for core in &self.cores {
            put(buffer, &RawCore::from_description(core));
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawDevice = fields.record("head")?;
        let arch = fields.text("architecture", head.arch_bytes.get())?.to_owned();
        fields.align();
        let (count, stride) = (head.core_count.get(), head.core_bytes.get());
        let cores = fields.records::<RawCore>("cores", count, stride)?;
        Ok(Self {
            chip_id: head.chip_id.get(),
            arch,
            aiclk_mhz: head.aiclk_mhz.get(),
            max_compute_cores: head.max_compute_cores.get(),
            cores: cores.map(|core| core.description(&fields)).collect::<Result<_, _>>()?,
            dram: DramDescription {
                bank_count: head.bank_count.get(),
                region_address: address("DRAM region", head.region_address, &fields)?,
                region_bytes: address("DRAM region's size", head.region_bytes, &fields)?,
            },
        })
    }
}

/// Reads an address of at most 48 bits, so that adding offsets cannot overflow.
fn address(
    field: &'static str,
    address: U64,
    fields: &Fields<'_>,
) -> Result<u64, MalformedPayload> {
    let found = address.get();
    let is_plausible = found >> ADDRESS_BITS == 0;
    is_plausible
        .then_some(found)
        .ok_or_else(|| fields.fault(field, "an address of at most 48 bits", &format!("{found:#x}")))
}

const ADDRESS_BITS: u32 = 48;

/// Returns the number with which a capture stores a kind of core.
pub(super) const fn core_kind_number(kind: CoreKind) -> u8 {
    match kind {
        CoreKind::Tensix => 0,
        CoreKind::ActiveEth => 1,
        CoreKind::IdleEth => 2,
    }
}

/// Returns the kind of core with the given number.
pub(super) fn core_kind_of_number(
    number: u32,
    fields: &Fields<'_>,
) -> Result<CoreKind, MalformedPayload> {
    match number {
        0 => Ok(CoreKind::Tensix),
        1 => Ok(CoreKind::ActiveEth),
        2 => Ok(CoreKind::IdleEth),
        other => Err(fields.fault("core kind", "0 to 2", &other)),
    }
}

raw_records! {
    RawDevice: 48 => {
        chip_id: U32,
        aiclk_mhz: U32,
        max_compute_cores: U32,
        bank_count: U32,
        region_address: U64,
        region_bytes: U64,
        core_count: U32,
        core_bytes: U32,
        arch_bytes: U32,
        reserved: U32,
    }
    RawCore: CORE_BYTES as usize => {
        noc0_x: U16,
        noc0_y: U16,
        logical_x: U16,
        logical_y: U16,
        kind: u8,
        reserved: [u8; 3],
        flat_id: U32,
        control_address: U64,
        vector_address: U64,
    }
}

impl RawCore {
    fn from_description(core: &CoreDescription) -> Self {
        Self {
            noc0_x: U16::new(core.noc0.x),
            noc0_y: U16::new(core.noc0.y),
            logical_x: U16::new(core.logical.x),
            logical_y: U16::new(core.logical.y),
            kind: core_kind_number(core.kind),
            reserved: [0; 3],
            flat_id: U32::new(core.flat_id),
            control_address: U64::new(core.control_address),
            vector_address: U64::new(core.vector_address),
        }
    }

    fn description(&self, fields: &Fields<'_>) -> Result<CoreDescription, MalformedPayload> {
        Ok(CoreDescription {
            noc0: Noc0Coord { x: self.noc0_x.get(), y: self.noc0_y.get() },
            logical: LogicalCoord { x: self.logical_x.get(), y: self.logical_y.get() },
            kind: core_kind_of_number(u32::from(self.kind), fields)?,
            flat_id: self.flat_id.get(),
            control_address: address("control vector", self.control_address, fields)?,
            vector_address: address("first vector", self.vector_address, fields)?,
        })
    }
}

const CORE_BYTES: u32 = 32;
