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
    fields::{
        Fields, Record, field_count, number_of, put_padded_texts, put_u16s, put_u32s, put_u64s,
    },
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::mesh::{CoreDescription, DeviceDescription, DramDescription, LogicalCoord, Noc0Coord};
use wire::CoreKind;

impl<'file> Payload<'file> for DeviceDescription {
    const KIND: SectionKind = SectionKind::DEVICE;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let Self { chip_id, aiclk_mhz, max_compute_cores, dram, .. } = self;
        put_u32s(buffer, [*chip_id, *aiclk_mhz, *max_compute_cores, dram.bank_count]);
        put_u64s(buffer, [dram.region_address, dram.region_bytes]);
        let arch_bytes = field_count(self.arch.len())?;
        put_u32s(buffer, [field_count(self.cores.len())?, CORE_BYTES, arch_bytes, 0]);
        put_padded_texts(buffer, &[&self.arch]);
        for core in &self.cores {
            put_u16s(buffer, [core.noc0.x, core.noc0.y, core.logical.x, core.logical.y]);
            buffer.extend([number_of(&CORE_KINDS, &core.kind), 0, 0, 0]);
            put_u32s(buffer, [core.flat_id]);
            put_u64s(buffer, [core.control_address, core.vector_address]);
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let mut head = fields.record("head", 48)?;
        let [chip_id, aiclk_mhz, max_compute_cores, bank_count] = head.u32s();
        let [region_address, region_bytes] = head.u64s();
        let [core_count, core_bytes, arch_bytes] = head.u32s();
        let [arch] = fields.padded_texts([("architecture", arch_bytes)])?;
        let cores = fields.records("cores", CORE_BYTES, [core_count, core_bytes])?;
        Ok(Self {
            chip_id,
            arch,
            aiclk_mhz,
            max_compute_cores,
            cores: cores.map(|core| core_description(core, &fields)).collect::<Result<_, _>>()?,
            dram: DramDescription {
                bank_count,
                region_address: address("DRAM region", region_address, &fields)?,
                region_bytes: address("DRAM region's size", region_bytes, &fields)?,
            },
        })
    }
}

fn core_description(
    mut core: Record<'_>,
    fields: &Fields<'_>,
) -> Result<CoreDescription, MalformedPayload> {
    let [noc0_x, noc0_y, logical_x, logical_y] = core.u16s();
    let [kind, ..] = core.u8s::<4>();
    let [flat_id] = core.u32s();
    let [control_address, vector_address] = core.u64s();
    Ok(CoreDescription {
        noc0: Noc0Coord { x: noc0_x, y: noc0_y },
        logical: LogicalCoord { x: logical_x, y: logical_y },
        kind: fields.item("core kind", &CORE_KINDS, kind.into())?,
        flat_id,
        control_address: address("control vector", control_address, fields)?,
        vector_address: address("first vector", vector_address, fields)?,
    })
}

/// Checks that an address has at most 48 bits, so that adding offsets cannot overflow.
fn address(field: &'static str, found: u64, fields: &Fields<'_>) -> Result<u64, MalformedPayload> {
    let is_plausible = found >> ADDRESS_BITS == 0;
    is_plausible
        .then_some(found)
        .ok_or_else(|| fields.fault(field, "an address of at most 48 bits", &format!("{found:#x}")))
}

const ADDRESS_BITS: u32 = 48;

/// Kinds of cores. A capture stores a kind as its index in this list.
pub(super) const CORE_KINDS: [CoreKind; 3] =
    [CoreKind::Tensix, CoreKind::ActiveEth, CoreKind::IdleEth];

const CORE_BYTES: u32 = 32;
